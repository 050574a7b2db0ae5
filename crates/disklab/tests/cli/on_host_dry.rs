//! `run --on host --dry-run` of what this machine may not have: pools of ZFS, and weights.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::done;
use crate::loops::{Loop, loops};
use crate::on_host::{devices, on_host, suite, with_programs};

const UUID: &str = "00000000-0000-4000-8000-000000000000";

/// What it prints, of an array of its own lab that is joined so, and of a workload that has more.
fn dry(here: &Path, disks: &str, allow: &Path, join: &str, more: &str) -> String {
    let home = crate::starting::home(here);
    let array =
        format!("summary = \"?\"\njoin = \"{join}\"\ndevices = [\"constant-50us\", \"constant-50us\"]\n");
    fs::write(home.join("lab/arrays/mine.toml"), array).expect("a file");
    let workload = home.join("lab/workloads/smoke-randread.toml");
    let text = fs::read_to_string(&workload).expect("a workload");
    fs::write(workload, format!("{text}{more}\n")).expect("a file");
    let asked =
        ["--devices", disks, "--allow", allow.to_str().expect("text"), "--array", "mine", "--dry-run"];
    let mut run = on_host(here, &asked);
    run.env("DISKLAB_HOME", &home);
    let done = done(with_zfs(here, &run).output().expect("unshare"));
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert!(!here.join("state").exists() && !here.join("records").exists());
    done.out
}

/// Where it sees programs of ZFS's names, which a dry run looks for and does not use.
fn with_zfs(here: &Path, run: &Command) -> Command {
    let programs = here.join("programs");
    fs::create_dir_all(&programs).expect("a folder");
    for name in ["zpool", "zfs"] {
        fs::write(programs.join(name), "#!/bin/sh\necho none\n").expect("a file");
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).expect("a file");
    }
    with_programs(&programs, run)
}

#[test]
fn a_pool_is_of_named_nodes_and_of_nobody_elses_name() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let said = dry(here, &devices(&loops), &allow, "zfs-mirrors", "");
    let nodes = format!("/dev/disklab-{UUID}");
    let node = |it: &Loop| format!("{nodes}/{}", it.name());
    let [one, other] = [&loops[0], &loops[1]].map(node);
    let mut lines = said.lines();
    let mut next =
        |wanted: &str| assert!(lines.any(|line| line.starts_with(wanted)), "no `{wanted}` in\n{said}");
    next(&format!("mkdir {nodes}"));
    next(&format!("mknod {one} b 7 "));
    next("zpool create -f ");
    next(&format!("zfs create -o mountpoint=legacy disklab-{UUID}/data"));
    next(&format!("mount -t zfs disklab-{UUID}/data /mnt/pool"));
    next(&format!("zpool export disklab-{UUID}"));
    next(&format!("zpool import -N -o cachefile=none -d {one} -d {other} disklab-{UUID}"));
    next("fio ");
    next(&format!("zpool export disklab-{UUID}"));
    next(&format!("zpool destroy -f disklab-{UUID}"));
    next(&format!("rm -r {nodes}"));
    next(&format!("wipefs --all --quiet {}", loops[1].path.display()));
    assert!(said.contains(&format!("disklab-{UUID} mirror {one} {other}")), "{said}");
}

#[test]
fn weights_have_cgroups_of_the_runs_own_or_are_left_out() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let said = dry(here, &devices(&loops), &allow, "btrfs-raid1", "weight = 500");
    if !disklab_host::cgroups::are_whole() {
        assert!(said.contains("left out: it has a weight, which wants cgroups of version 2"), "{said}");
        return;
    }
    let mut lines = said.lines();
    let mut next = |wanted: &str, end: &str| {
        let is_it = |line: &str| line.starts_with(wanted) && line.ends_with(end);
        assert!(lines.any(is_it), "no `{wanted}...{end}` in\n{said}");
    };
    next("mkdir /sys/fs/cgroup/disklab-", "-measured");
    next("echo 500 > /sys/fs/cgroup/disklab-", "-measured/io.bfq.weight");
    next("fio ", "");
    next("rmdir /sys/fs/cgroup/disklab-", "-measured");
}
