//! Tests the files that are written from the C files: `read-policies/registry.h` and
//! `lab/policies/*.toml`. A stale file is written anew, and the test fails once, so that nobody
//! commits a stale file or overlooks a change.

use std::fs;
use std::path::Path;

use disklab_read_policies::{Policy, policies, registry};

use crate::{lab, repository};

/// Writes the file unless it has this text already. Returns a message if it did.
fn write(path: &Path, text: &str) -> Option<String> {
    let old = fs::read_to_string(path).unwrap_or_default();
    if old == text {
        return None;
    }
    fs::write(path, text).unwrap_or_else(|error| panic!("{} is stale: {error}", path.display()));
    Some(format!("{} was stale and is written anew", path.display()))
}

fn done(changes: &[String]) {
    assert!(changes.is_empty(), "look at the difference, and commit it:\n{}", changes.join("\n"));
}

#[test]
fn the_registry_lists_every_c_file() {
    let folder = repository("read-policies");
    let names = registry::policies(&folder).unwrap();
    done(&Vec::from_iter(write(&folder.join("registry.h"), &registry::header(&names))));
}

#[test]
fn a_policy_is_named_as_its_file() {
    let files: Vec<String> = policies().iter().map(Policy::file).collect();
    let folder = repository("read-policies");
    let names = |folder: &Path, before: &str| {
        let names = registry::policies(folder).unwrap().into_iter();
        names.map(|name| format!("{before}{name}.c")).collect::<Vec<_>>()
    };
    let mainline = names(&folder.join(registry::OF_MAINLINE), "mainline/");
    assert_eq!(files, [mainline, names(&folder, "")].concat());
}

#[test]
fn the_lab_knows_every_policy() {
    let folder = repository("lab/policies");
    let mut changes = Vec::new();
    for policy in policies() {
        let path = folder.join(lab::name(policy));
        let by_hand = fs::read_to_string(&path).is_ok_and(|old| !old.starts_with(lab::HEADER));
        assert!(
            !by_hand,
            "{} is written by hand, but {} defines this policy: remove one of the two",
            path.display(),
            policy.file()
        );
        changes.extend(write(&path, &lab::text(policy)));
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let is_known = policies().iter().any(|policy| path.ends_with(lab::name(policy)));
        if !is_known && fs::read_to_string(&path).is_ok_and(|text| text.starts_with(lab::HEADER)) {
            fs::remove_file(&path).unwrap();
            changes.push(format!("{} had no C file any more and is removed", path.display()));
        }
    }
    done(&changes);
}
