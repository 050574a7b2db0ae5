//! Tests `run --on host --dry-run` with features that this machine may lack, such as weights. Pools
//! of ZFS are in `zfs`.

use std::fs;

use crate::done;
use crate::loops::loops;
use crate::on_host::{devices, on_host, suite};

#[test]
fn weights_have_cgroups_of_the_runs_own_or_are_left_out() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, allow)) = loops(here, 2) else { return };
    suite(here);
    let home = crate::starting::home(here);
    let workload = home.join("lab/workloads/smoke-randread.toml");
    let text = fs::read_to_string(&workload).expect("a workload");
    fs::write(workload, format!("{text}weight = 500\n")).expect("a file");
    let allow = allow.display().to_string();
    let mut asked = on_host(here, &["--devices", &devices(&loops), "--allow", &allow, "--dry-run"]);
    let done = done(asked.env("DISKLAB_HOME", &home).output().expect("it starts"));
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert!(!here.join("state").exists() && !here.join("records").exists());
    let said = done.out;
    if !disklab_block_devices::cgroups::are_whole() {
        assert!(
            said.contains("left out: it has a weight, which needs cgroups of version 2"),
            "{said}"
        );
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
