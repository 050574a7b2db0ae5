//! Tests devices that are passed over.

use disklab_read_policies::{CHECKPOINT_AGE, Choice, Mirror, WINDOW, policies};
use proptest::prelude::*;

use crate::{choice, disk, request};

#[test]
fn every_policy_ages_its_devices() {
    for policy in policies() {
        let choice = Choice::default_of(policy);
        for (age, chosen, next) in [
            (0, false, 1),
            (0, true, 0),
            (9999, true, 0),
            (9999, false, 10000),
            (10000, false, -100),
            (10000, true, 0),
            (-100, false, -99),
            (-1, false, 0),
            (-100, true, 0),
            (-1, true, 0),
        ] {
            assert_eq!(choice.age(age, chosen), next, "{choice}: {age}, chosen: {chosen}");
        }
    }
}

#[test]
fn a_burst_is_so_many_reads_in_the_window() {
    for policy in ["latency", "latency-rr"] {
        for burst in 1..=100 {
            let choice = choice(&format!("{policy}:burst={burst}"));
            let (mut age, mut reads) = (-WINDOW, 0);
            while age < 0 {
                let next = choice.age(age, true);
                assert!(next > age, "{choice} stays at {age}");
                (age, reads) = (next, reads + 1);
            }
            assert_eq!((age, reads), (0, burst), "{choice}");
        }
        let by_hand = choice(&format!("{policy}:burst=3"));
        assert_eq!([-100, -66, -33].map(|age| by_hand.age(age, true)), [-66, -33, 0]);
        assert_eq!(by_hand.age(-50, false), -49, "a read of another device takes one step");
    }
}

/// Returns the number of reads of a slow device beside a fast one, and the decision that made the
/// first of them.
fn reads_of_the_slow(policy: &str, decisions: u32) -> (u32, u32) {
    let choice = choice(policy);
    let with = |devid, mean| Mirror { recent_ios: 1, recent_wait: mean, ..disk(devid) };
    let mut mirrors = [with(1, 1_000_000), with(2, 10_000_000)];
    let (mut reads, mut first) = (0, 0);
    for decision in 1..=decisions {
        let chosen = choice.decide(&request(&mirrors));
        if chosen == 1 {
            reads += 1;
            first = if first == 0 { decision } else { first };
        }
        for (i, mirror) in mirrors.iter_mut().enumerate() {
            mirror.age = choice.age(mirror.age, i == chosen);
        }
    }
    (reads, first)
}

#[test]
fn rehabilitation() {
    // 10000 decisions make it 10000 old, the next one is a checkpoint, and the one after that is in
    // the window.
    assert_eq!(reads_of_the_slow("latency", 10_001), (0, 0));
    assert_eq!(reads_of_the_slow("latency", 20_000), (1, 10_002));
    assert_eq!(reads_of_the_slow("latency:100", 20_000), (100, 10_002));
    assert_eq!(reads_of_the_slow("latency:10", 20_000), (10, 10_002));
    // Its next chance is after another 10000 decisions.
    assert_eq!(reads_of_the_slow("latency", 20_004), (2, 10_002));
}

proptest! {
    #[test]
    fn ages_stay_in_their_range(age in any::<i32>(), chosen in any::<bool>(), burst in 1..=100) {
        let bursts = choice(&format!("latency:{burst}"));
        for choice in policies().iter().map(Choice::default_of).chain([bursts]) {
            let next = choice.age(age, chosen);
            prop_assert!((-WINDOW..=CHECKPOINT_AGE).contains(&next), "{choice}: {next}");
        }
    }
}

#[test]
fn the_mean_of_recent_reads() {
    let mean = |age, ios, wait| {
        Mirror { age, recent_ios: ios, recent_wait: wait, ios: 9, wait: 9, ..disk(1) }.latency()
    };
    assert_eq!((mean(0, 4, 100), mean(0, 0, 0), mean(-1, 4, 100)), (25, 0, 0));
    assert_eq!(mean(10_000, 3, 100), 33, "rounded down");
}
