//! Tests messages about OpenZFS that come before any action: trials that `plan` leaves out, and
//! commands of `run --on host`. Nothing is run, so that only ZFS's programs are needed, and no
//! module.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::guests::place;
use crate::loops::{LoopDisk, loops};
use crate::on_host::{devices, on_host, with_programs};
use crate::{done, run};

const SUITE: &str = r#"
question = "What would be done?"
seeds = 1
memory = "256 MiB"
runtime = { rotational = "300ms", solid_state = "300ms" }
mount_options = ["noatime"]
[axes]
array = ["constant-zfs-mirrors"]
workload = ["smoke-randread"]
"#;

/// The kernel of the newest package has no ZFS. Trials that will be skipped take no time.
#[test]
fn what_wants_zfs_is_planned_as_skipped() {
    let Some(here) = place() else { return };
    fs::write(here.path().join("mine.toml"), SUITE).expect("a file");
    let plan = run(here.path(), &["plan", "mine.toml"]);
    assert_eq!(plan.status, Some(0), "{}", plan.err);
    let why = if is_installed() { "has no OpenZFS" } else { "not installed here: zfs, zpool" };
    let remark =
        plan.out.lines().find(|line| line.starts_with("skipped: 1 trial, constant-zfs-mirrors"));
    assert!(remark.is_some_and(|line| line.contains(why)), "{}", plan.out);
    assert!(
        plan.out.contains("1 trial (1 combination, 1 seed each), 0 ns of virtual time"),
        "{}",
        plan.out
    );
}

#[test]
fn a_dry_run_has_each_command_of_zfs() {
    let here = tempfile::tempdir().expect("a folder");
    let Some((loops, allow)) = loops(here.path(), 2) else { return };
    fs::write(here.path().join("mine.toml"), SUITE).expect("a file");
    let allow = allow.display().to_string();
    let mut asked =
        on_host(here.path(), &["--devices", &devices(&loops), "--allow", &allow, "--dry-run"]);
    if !is_installed() {
        let done = done(asked.output().expect("it starts"));
        assert_eq!(done.status, Some(5), "{}{}", done.out, done.err);
        assert!(
            done.err.contains("cannot run zfs") && done.err.contains("install it"),
            "{}",
            done.err
        );
    }
    let done = done(with_zfs(here.path(), &asked).output().expect("unshare"));
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert!(!here.path().join("state").exists() && !here.path().join("records").exists());
    let [first, second] = [&loops[0].path, &loops[1].path].map(|path| path.display().to_string());
    let options = "-o ashift=12 -o cachefile=none -O compression=off -O atime=off -m none";
    // The pool has a unique name. Whole disks would get a partition table, so that its nodes have
    // other names.
    let pool = "disklab-00000000-0000-4000-8000-000000000000";
    let node = |disk: &str| format!("/dev/{pool}/{}", disk.trim_start_matches("/dev/"));
    let (one, other) = (node(&first), node(&second));
    let in_order = [
        format!("mkdir /dev/{pool}"),
        format!("mknod {one} b 7 "),
        format!("mknod {other} b "),
        format!("zpool create -f {options} {pool} mirror {one} {other}"),
        format!("zfs create -o mountpoint=legacy {pool}/data"),
        format!("mount -t zfs -o noatime {pool}/data /mnt/pool"),
        "umount /mnt/pool".to_owned(),
        format!("zpool export {pool}"),
        format!("zpool import -N -o cachefile=none -d {one} -d {other} {pool}"),
        format!("mount -t zfs -o noatime {pool}/data /mnt/pool"),
        "fio ".to_owned(),
        "umount /mnt/pool".to_owned(),
        format!("zpool export {pool}"),
        format!("zpool destroy -f {pool}"),
        format!("rm -r /dev/{pool}"),
        format!("wipefs --all --quiet {second}"),
        format!("wipefs --all --quiet {first}"),
    ];
    let mut lines = done.out.lines();
    for said in in_order {
        assert!(
            lines.any(|line| line.starts_with(&said)),
            "{said} is not in the order of\n{}",
            done.out
        );
    }
    assert!(loops.iter().all(LoopDisk::is_blank), "something was done");
}

/// Makes programs with the names of ZFS's visible, which a dry run looks for and does not use.
fn with_zfs(here: &Path, run: &Command) -> Command {
    let programs = here.join("programs");
    fs::create_dir(&programs).expect("a folder");
    for name in ["zpool", "zfs"] {
        fs::write(programs.join(name), "#!/bin/sh\necho none\n").expect("a file");
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755))
            .expect("a file");
    }
    with_programs(&programs, run)
}

fn is_installed() -> bool {
    let there = |name: &&str| {
        disklab_block_devices::PATH.split(':').any(|folder| Path::new(folder).join(name).is_file())
    };
    ["zpool", "zfs"].iter().all(there)
}
