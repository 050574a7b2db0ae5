//! Tests `disklab devices`: the disks that it lists and permits, and the allow files that it
//! trusts.

use disklab_testkit::skipped_without_root;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::{json, run};

/// An image on a loop device, which is detached on drop.
struct AttachedImage(String);

impl AttachedImage {
    fn new(here: &Path) -> Option<Self> {
        let file = here.join("image");
        File::create(&file).unwrap().set_len(256 << 20).unwrap();
        let said = Command::new("losetup").args(["--find", "--show"]).arg(&file).output().ok()?;
        said.status
            .success()
            .then(|| Self(String::from_utf8(said.stdout).unwrap().trim().to_owned()))
    }
}

impl Drop for AttachedImage {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

fn device(listed: &serde_json::Value, path: &str) -> Option<serde_json::Value> {
    listed["devices"].as_array().unwrap().iter().find(|device| device["path"] == path).cloned()
}

#[test]
fn the_lines_that_it_prints_are_those_that_permit_a_disk() {
    let place = tempfile::tempdir().unwrap();
    let here = place.path();
    let Some(AttachedImage(path)) = &AttachedImage::new(here) else {
        skipped_without_root("losetup makes no loop device here");
        return;
    };
    fs::write(here.join("allow.toml"), "").unwrap();
    let listed =
        || device(&json(here, &["devices", "--allow", "allow.toml", "--json"]), path).unwrap();
    let before = listed();
    assert_eq!(
        (&before["writable"], &before["bytes"]),
        (&false.into(), &(256 << 20).into()),
        "{before}"
    );
    assert!(
        before["why_not"].as_str().unwrap().starts_with("allow.toml does not list it"),
        "{before}"
    );
    let table = run(here, &["devices", "--allow", "allow.toml"]);
    let lines = before["allow_lines"].as_str().unwrap();
    assert!(
        table.out.contains(lines.trim_end()) && table.out.contains("if listed"),
        "{}",
        table.out
    );
    fs::write(here.join("allow.toml"), lines).unwrap();
    let after = listed();
    assert_eq!(after["writable"], true, "{after}");
    assert!(after["why_not"].is_null() && after["allow_lines"].is_null(), "{after}");
    // The data on the disk is detected although the disk is listed.
    fs::write(here.join("mark"), b"_BHRfS_M").unwrap();
    let mark = ["conv=notrunc,fsync", "oflag=seek_bytes", "seek=65600"];
    let dd = Command::new("dd")
        .arg("if=mark")
        .arg(format!("of={path}"))
        .args(mark)
        .current_dir(here)
        .output();
    assert!(dd.unwrap().status.success());
    let holding = listed();
    assert!(
        holding["why_not"].as_str().unwrap().contains("it holds a btrfs filesystem"),
        "{holding}"
    );
}

#[test]
fn a_list_with_mistakes_or_of_others_is_not_believed() {
    let place = tempfile::tempdir().unwrap();
    let here = place.path();
    let file = here.join("allow.toml");
    for (text, mode, said) in [
        (
            "[[device]]\npath = \"sdb\"\n",
            0o600,
            "allow.toml:2:8: device.path: it must begin with `/`",
        ),
        ("", 0o666, "is refused, since others may write it (mode 666)"),
    ] {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let done = run(here, &["devices", "--allow", "allow.toml"]);
        assert_eq!((done.status, done.out.as_str()), (Some(2), ""), "{}", done.err);
        assert!(done.err.contains(said), "{}", done.err);
    }
    let none = run(here, &["devices", "--allow", "none"]);
    assert_eq!(none.status, Some(2));
    assert!(none.err.contains("none: cannot be read: No such file"), "{}", none.err);
}
