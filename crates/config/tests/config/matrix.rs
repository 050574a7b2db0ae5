//! Tests the order and names of a suite's trials.

use crate::small_lab::SmallLab;
use disklab_config::suite::{Axis, Baseline, Seeds};
use disklab_config::{Scheduler, Trial};
use disklab_units::{Bytes, Nanos};

fn trials(from: &str, to: &str, sets: &[(&str, &str)]) -> Vec<Trial> {
    let lab = SmallLab::new();
    let mut suite = lab.suite(from, to).unwrap();
    for (axis, values) in sets {
        suite.set(axis, values).unwrap();
    }
    lab.trials(&suite).unwrap()
}

fn ids(trials: &[Trial]) -> Vec<&str> {
    trials.iter().map(|trial| trial.id.as_str()).collect()
}

#[test]
fn order_and_ids_are_stable() {
    let all = trials("", "", &[]);
    assert_eq!(
        ids(&all),
        [
            "pair+random+pid+s1",
            "pair+random+round-robin=4096+s1",
            "turning-pair+random+pid+s1",
            "turning-pair+random+round-robin=4096+s1",
            "pair+random+pid+s2",
            "pair+random+round-robin=4096+s2",
            "turning-pair+random+pid+s2",
            "turning-pair+random+round-robin=4096+s2",
        ]
    );
    assert_eq!(all, trials("", "", &[]), "twice the same");
    assert!(all.iter().all(|trial| {
        trial.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+=".contains(&byte))
    }));
}

#[test]
fn axes_cross_in_the_order_of_the_file() {
    let from = "array = [\"pair\", \"turning-pair\"]\nworkload = [\"random\"]\n";
    let to = "workload = [\"random\", \"sequential\"]\narray = [\"pair\"]\n";
    let some = trials(from, to, &[("policy", "pid")]);
    assert_eq!(
        ids(&some),
        [
            "random+pair+pid+s1",
            "sequential+pair+pid+s1",
            "random+pair+pid+s2",
            "sequential+pair+pid+s2"
        ]
    );
    let cell = [("workload", "random"), ("array", "pair"), ("policy", "pid")]
        .map(|(axis, value)| (axis.to_owned(), value.to_owned()));
    assert_eq!(some[0].cell, cell);
}

#[test]
fn a_trial_holds_what_it_needs() {
    let all = trials("[axes]", "[axes]\nscheduler = [\"bfq\"]", &[]);
    let turning =
        all.iter().find(|trial| trial.id == "bfq+turning-pair+random+round-robin=4096+s2").unwrap();
    assert_eq!(turning.policy.as_ref().unwrap().to_string(), "round-robin:4096");
    assert_eq!(turning.needs, ["BTRFS_EXPERIMENTAL", "IOSCHED_BFQ"]);
    assert_eq!(turning.scheduler.scheduler, Scheduler::Bfq);
    assert_eq!(turning.kernel, "newest");
    assert_eq!(turning.runtime, Nanos::from_secs(20));
    assert_eq!(turning.ramp, Nanos::ZERO);
    assert_eq!(turning.memory, Bytes::mib(256));
    assert_eq!(turning.seed_index, 2);
    assert!(turning.rotational());
    assert_eq!(turning.devices.len(), 2);
    assert_eq!(turning.devices[0].used, Bytes::gib(20), "cut to the part");
    assert_eq!(
        turning.devices[0].bytes,
        Bytes(1_000_000_000_000),
        "the whole disk, a multiple of 4 KiB already"
    );
    let solid = &all[0];
    assert_eq!((solid.runtime, solid.rotational()), (Nanos::from_millis(300), false));
    assert_eq!(solid.devices[0].used, solid.devices[0].bytes);
}

#[test]
fn ramps_differ_by_kind_of_disk() {
    let all =
        trials("kernel =", "ramp = { rotational = \"1s\", solid_state = \"0\" }\nkernel =", &[]);
    for trial in all {
        assert_eq!(trial.ramp, if trial.rotational() { Nanos::from_secs(1) } else { Nanos::ZERO });
    }
}

#[test]
fn seeds_depend_on_nothing_but_their_index() {
    let (few, many) = (
        trials("", "", &[("array", "pair")]),
        trials("", "", &[("policy", "devid:1,pid,round-robin")]),
    );
    let seed_of = |trials: &[Trial], index| {
        let mut seeds: Vec<_> = trials
            .iter()
            .filter(|trial| trial.seed_index == index)
            .map(|trial| trial.seed)
            .collect();
        seeds.dedup();
        assert_eq!(seeds.len(), 1, "one seed for all cells");
        seeds[0]
    };
    assert_eq!(seed_of(&few, 1), seed_of(&many, 1));
    assert_eq!(seed_of(&few, 2), seed_of(&many, 2));
    assert_ne!(seed_of(&few, 1), seed_of(&few, 2));
    // Old records stay comparable only while this value stays.
    assert_eq!(seed_of(&few, 1).0, 0x814c_ab47_8737_2063);
}

#[test]
fn more_seeds_and_narrower_axes_keep_ids() {
    let lab = SmallLab::new();
    let mut suite = lab.suite("", "").unwrap();
    let before = lab.trials(&suite).unwrap();
    suite.set_seeds(Seeds::first_ones(5));
    let more = lab.trials(&suite).unwrap();
    assert_eq!(more.len(), 20);
    assert_eq!(more[..8], before[..]);
    suite.set("policy", "round-robin:4k").unwrap();
    let fewer = lab.trials(&suite).unwrap();
    assert_eq!(fewer.len(), 10);
    assert!(fewer.iter().all(|trial| more.contains(trial)));
}

#[test]
fn fixed_values_are_in_ids_only_when_they_are_several() {
    let one = trials("", "", &[("kernel", "7.2")]);
    assert_eq!((one[0].id.as_str(), one[0].kernel.as_str()), ("pair+random+pid+s1", "7.2"));
    let several = trials("", "", &[("kernel", "7.3,7.2"), ("array", "pair"), ("policy", "pid")]);
    assert_eq!(ids(&several)[..2], ["pair+random+pid+7.3+s1", "pair+random+pid+7.2+s1"]);
    let added = trials("", "", &[("scheduler", "none")]);
    assert_eq!(
        (added[0].id.as_str(), added[0].scheduler.scheduler),
        ("pair+random+pid+s1", Scheduler::None)
    );
}

#[test]
fn without_mirrors_a_fixed_policy_is_not_set() {
    let all = trials("\"pair\", ", "\"pair\", \"alone\", ", &[("policy", "round-robin")]);
    let alone = all.iter().find(|trial| trial.array.name == "alone").unwrap();
    assert_eq!(alone.policy, None);
    assert_eq!(alone.needs, ["MQ_IOSCHED_DEADLINE"], "the policy's needs are not its own");
    assert!(
        all.iter().filter(|trial| trial.array.name != "alone").all(|trial| trial.policy.is_some())
    );
}

#[test]
fn the_baseline_goes_with_its_value() {
    let lab = SmallLab::new();
    let mut suite = lab.suite("", "").unwrap();
    assert_eq!(suite.baseline(), Some(&Baseline { axis: Axis::Policy, value: "pid".to_owned() }));
    suite.set("policy", "devid,pid").unwrap();
    assert!(suite.baseline().is_some());
    suite.set("policy", "devid").unwrap();
    assert_eq!(suite.baseline(), None);
}

#[test]
fn trials_come_back_from_json() {
    for trial in trials("kernel", "mount_options = [\"noatime\"]\nkernel", &[]) {
        let json = serde_json::to_string(&trial).unwrap();
        assert_eq!(serde_json::from_str::<Trial>(&json).unwrap(), trial);
    }
}

#[test]
fn suites_are_found_by_name_and_by_path() {
    let lab = SmallLab::new();
    let by_name = lab.load().suite("question").unwrap();
    let by_path =
        lab.load().suite(lab.path().join("suites/question.toml").to_str().unwrap()).unwrap();
    assert_eq!(by_name, by_path);
}

#[test]
fn a_policy_has_one_spelling() {
    let all = trials(
        "",
        "",
        &[("array", "pair"), ("policy", "waiting:count=reads,margin=150,waiting:125,devid,pid")],
    );
    let policies: Vec<_> = all[..4].iter().map(|trial| trial.policy.as_ref().unwrap()).collect();
    let cells: Vec<_> = all[..4].iter().map(|trial| trial.id.as_str()).collect();
    assert_eq!(
        cells,
        [
            "pair+random+waiting=150,count=reads+s1",
            "pair+random+waiting+s1",
            "pair+random+devid+s1",
            "pair+random+pid+s1"
        ]
    );
    let settings: Vec<_> = policies.iter().map(|policy| policy.setting()).collect();
    assert_eq!(settings, ["waiting:150,count=reads", "waiting:125,count=all", "devid", "pid"]);
    assert_eq!(all[0].cell[2].1, policies[0].to_string());
    let default = trials("", "", &[("array", "pair"), ("policy", "round-robin:256k,devid:2")]);
    let settings: Vec<_> =
        default[..2].iter().map(|trial| trial.policy.as_ref().unwrap().setting()).collect();
    assert_eq!(settings, ["round-robin:262144", "devid:2"]);
    assert_eq!(default[0].id, "pair+random+round-robin+s1");
}
