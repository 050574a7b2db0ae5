//! Tests snapshots of a background and the replica of an array: their trials in a suite, and every
//! mistake with them.

use crate::small_lab::SmallLab;
use disklab_config::{Lab, Trial};
use disklab_units::{Bytes, Nanos};

const REPLICATION: &str = "\
summary = \"snapshots, replicated\"
lead = { rotational = \"1s\", solid_state = \"1s\" }
[snapshots]
every = \"5s\"
keep = 24
replicate_every = \"20s\"
";
const ALONE: &str = "\
summary = \"snapshots\"
lead = { rotational = \"1s\", solid_state = \"1s\" }
[snapshots]
every = \"5s\"
keep = 24
";
const TWO_POOLS: &str = "\
summary = \"two pools\"
join = \"btrfs-raid1\"
devices = [\"plain\", \"plain\"]
[replica]
join = \"btrfs-single\"
part = \"4 GiB\"
devices = [\"turning\"]
";

fn lab_with(array: &str, replication: &str) -> SmallLab {
    let lab = SmallLab::new();
    lab.write("arrays/two-pools.toml", array);
    lab.write(
        "arrays/plain-xfs.toml",
        "summary = \"xfs\"\njoin = \"xfs\"\ndevices = [\"plain\"]\n",
    );
    lab.write("backgrounds/snapshots.toml", ALONE);
    lab.write("backgrounds/replication.toml", replication);
    lab
}

/// Returns the mistakes of the lab if a piece of one of the two files is replaced.
fn mistakes(from: &str, to: &str) -> String {
    let (array, replication) = (TWO_POOLS.replacen(from, to, 1), REPLICATION.replacen(from, to, 1));
    assert!(array != TWO_POOLS || replication != REPLICATION, "{from}");
    let lab = lab_with(&array, &replication);
    lab.relative(&Lab::load(lab.path()).expect_err("no mistake was found"))
}

/// Returns the trials of a suite with these arrays and backgrounds, and the parts that are left
/// out.
fn ask(arrays: &str, backgrounds: &str) -> Result<(Vec<Trial>, Vec<String>), String> {
    let lab = lab_with(TWO_POOLS, REPLICATION);
    let text = crate::small_lab::SUITE
        .replace("baseline = { policy = \"pid\" }\n", "")
        .replace("array = [\"pair\", \"turning-pair\"]", &format!("array = [{arrays}]"))
        .replace(
            "policy = [\"pid\", \"round-robin:4k\"]\n",
            &format!("background = [{backgrounds}]\n"),
        );
    lab.write("suites/question.toml", &text);
    let suite = lab.load().suite("question").map_err(|mistakes| lab.relative(&mistakes))?;
    Ok((lab.trials(&suite)?, suite.left_out(&lab.load())))
}

#[test]
fn the_disks_of_a_replica_are_the_last_of_a_trial() {
    let (trials, left_out) = ask("\"two-pools\"", "\"none\", \"replication\"").unwrap();
    assert_eq!((trials.len(), left_out), (4, Vec::new()));
    for trial in &trials {
        let names: Vec<_> = trial.devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["plain", "plain", "turning"]);
        assert_eq!(trial.array.replica_disks(), 2..3);
        assert_eq!(trial.devices[2].used, Bytes::gib(4));
    }
    let snapshots = trials[1].background.as_ref().unwrap().snapshots.unwrap();
    assert_eq!((snapshots.every, snapshots.keep), (Nanos::from_secs(5), 24));
    assert_eq!(snapshots.replicate_every, Some(Nanos::from_secs(20)));
}

#[test]
fn what_makes_no_sense_is_left_out_and_said() {
    let all = "\"none\", \"snapshots\", \"replication\"";
    let (trials, left_out) = ask("\"pair\", \"plain-xfs\"", all).unwrap();
    let ids: Vec<_> = trials.iter().map(|trial| trial.id.as_str()).collect();
    assert_eq!(ids.len(), 6, "{ids:?}");
    assert_eq!(
        &ids[..3],
        ["pair+random+none+s1", "pair+random+snapshots+s1", "plain-xfs+random+none+s1"]
    );
    assert_eq!(
        left_out,
        [
            "replication on pair is left out: its array has no [replica]",
            "snapshots on plain-xfs is left out: xfs has no snapshots",
            "replication on plain-xfs is left out: xfs has no snapshots",
        ]
    );
}

#[test]
fn a_suite_of_which_nothing_is_left_is_a_mistake() {
    let said = ask("\"plain-xfs\"", "\"snapshots\"").unwrap_err();
    assert!(
        said.ends_with(
            "no trial is left: snapshots on plain-xfs is left out: xfs has no snapshots"
        ),
        "{said}"
    );
}

#[test]
fn a_file_that_the_replica_cannot_hold() {
    let lab = lab_with(&TWO_POOLS.replace("4 GiB", "1 GiB"), REPLICATION);
    let text = crate::small_lab::SUITE.replace(
        "array = [\"pair\", \"turning-pair\"]",
        "array = [\"two-pools\"]\nbackground = [\"replication\"]",
    );
    lab.write("suites/question.toml", &text);
    let suite = lab.load().suite("question").unwrap();
    let said = lab.trials(&suite).unwrap_err();
    assert!(
        said.contains("files of 1 GiB are more than the replica of array `two-pools` holds: "),
        "{said}"
    );
}

#[test]
fn mistakes_with_a_replica() {
    assert!(
        mistakes("join = \"btrfs-single\"", "join = \"ext4\"")
            .contains("arrays/two-pools.toml:5:8: replica.join: `ext4` cannot receive snapshots"),
    );
    assert!(
        mistakes("devices = [\"turning\"]", "devices = [\"turing\"]")
            .contains("unknown device `turing`; did you mean `turning`?")
    );
    assert!(mistakes("part = \"4 GiB\"", "part = \"4 MiB\"").contains("is too little for btrfs"));
    assert!(
        mistakes("join = \"btrfs-single\"", "join = \"btrfs-raid1\"")
            .contains("needs at least 2 devices")
    );
    let said = mistakes(
        "join = \"btrfs-raid1\"\ndevices = [\"plain\", \"plain\"]",
        "join = \"xfs\"\ndevices = [\"plain\"]",
    );
    assert!(said.contains("replica: a replica needs snapshots, and `xfs` has none"), "{said}");
    let said = mistakes(
        "join = \"btrfs-raid1\"\ndevices = [\"plain\", \"plain\"]",
        "join = \"zfs-mirrors\"\ndevices = [\"plain\", \"plain\"]",
    );
    assert!(
        said.contains("replica.join: `btrfs-single` cannot receive what `zfs-mirrors` sends"),
        "{said}"
    );
    let said = mistakes("join = \"btrfs-single\"", "joint = \"btrfs-single\"");
    assert!(said.contains("replica.joint: "), "{said}");
}

#[test]
fn mistakes_with_snapshots() {
    assert!(mistakes("every = \"5s\"\n", "").contains("snapshots.every: is missing"));
    assert!(
        mistakes("every = \"5s\"", "every = \"5ms\"").contains("5 ms is out of range (10 ms to")
    );
    assert!(mistakes("keep = 24", "keep = 0").contains("0 is out of range (1 to 100000)"));
    assert!(
        mistakes("replicate_every = \"20s\"", "replicate_every = 20")
            .contains("snapshots.replicate_every")
    );
    let without = REPLICATION.split("[snapshots]").next().unwrap();
    let lab = lab_with(TWO_POOLS, without);
    let said = lab.relative(&Lab::load(lab.path()).expect_err("no mistake was found"));
    assert!(said.contains("needs a `workload`, [snapshots], or programs"), "{said}");
}
