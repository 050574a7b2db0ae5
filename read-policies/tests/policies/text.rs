//! Tests the texts that may be written to sysfs.

use disklab_read_policies::{Choice, Policy, policies};
use proptest::prelude::*;

use crate::{BITS, any, choice};

/// Returns a first value that the policy takes, or any value if it takes none.
fn value(policy: &'static Policy) -> String {
    let text = Choice::parse(format!("{}:1", policy.name), BITS).map(|_| "1".to_owned());
    let shown = Choice::default_of(policy).to_string();
    let first = shown
        .split_once(':')
        .map(|(_, values)| values.split(',').next().unwrap_or_default().to_owned());
    first.or(text).unwrap_or_else(|| "4096".to_owned())
}

/// Tests the texts that xfstests btrfs/329 requires to be refused, and similar ones.
#[test]
fn junk_is_refused() {
    for policy in policies() {
        let (p, v) = (policy.name, value(policy));
        let takes_it = Choice::parse(format!("{p}:{v}"), BITS).is_some();
        assert_eq!(takes_it, !policy.parameters.is_empty(), "{p}:{v}");
        assert!(Choice::parse(p, BITS).is_some(), "{p}");
        for junk in [
            format!("'{p}'"),
            format!("\"{p}\""),
            format!("'{p} {p}'"),
            format!("{p} {p}"),
            format!("{p} t"),
            " ".to_owned(),
            String::new(),
            "\n".to_owned(),
            " \n".to_owned(),
            format!("{p} n"),
            format!("n {p}"),
            format!("{p}\n{p}"),
            format!("{p}\n\n"),
            format!("\n{p}"),
            format!(" {p}"),
            format!(" {p} "),
            format!("{p} "),
            format!("{p} \n"),
            format!("{p}\t"),
            format!("{p}\0"),
            format!("_{p}"),
            format!("{p}_"),
            format!("_{p}_"),
            format!("[{p}]"),
            p.to_uppercase(),
            p[1..].to_owned(),
            p[..p.len() - 1].to_owned(),
            format!("{p}{}", "x".repeat(33)),
            "x".repeat(33),
            format!("{p}:"),
            format!("{p}:\n"),
            format!("{p}::{v}"),
            format!("{p}:{v}:"),
            format!("{p}:{v}:{v}"),
            format!("{p}: {v}"),
            format!("{p}:{v} "),
            format!("{p}:{v} \n"),
            format!("{p}:{v} typo"),
            format!("{p}:{v}typo"),
            format!("{p}:typo{v}"),
            format!("{p} :{v}"),
            format!("{p}:{v},"),
            format!("{p}:,{v}"),
            format!("{p}:{v},{v}"),
            format!("{p}:-{v}"),
            format!("{p}:+{v}"),
            format!("{p}:0x{v}"),
            format!("{p}:={v}"),
            format!("{p}:no-such-key={v}"),
        ] {
            assert!(Choice::parse(&junk, BITS).is_none(), "{junk:?} is taken");
        }
        assert!(Choice::parse(format!("{p}\n"), BITS).is_some(), "what echo writes");
    }
}

#[test]
fn values() {
    for (text, shown) in [
        ("pid", "pid"),
        ("round-robin", "round-robin:262144"),
        ("round-robin:1", "round-robin:4096"),
        ("round-robin:4k", "round-robin:4096"),
        ("round-robin:4K", "round-robin:4096"),
        ("round-robin:1m", "round-robin:1048576"),
        ("round-robin:bytes=1G", "round-robin:1073741824"),
        ("devid", "devid"),
        ("devid:2", "devid:2"),
        ("latency", "latency:1"),
        ("latency-rr", "latency-rr:125,bytes=262144,burst=1"),
        ("latency-rr:120", "latency-rr:120,bytes=262144,burst=1"),
        ("latency-rr:burst=100", "latency-rr:125,bytes=262144,burst=100"),
        ("latency-rr:burst=100,margin=120", "latency-rr:120,bytes=262144,burst=100"),
        ("queue", "queue:all,ties=first"),
        ("queue:reads", "queue:reads,ties=first"),
        ("queue:ties=spread,count=reads", "queue:reads,ties=spread"),
        ("md-raid1", "md-raid1"),
        ("zfs-mirror", "zfs-mirror"),
    ] {
        assert_eq!(choice(text).to_string(), shown, "{text}");
        assert_eq!(choice(shown), choice(text));
    }
    for text in [
        "round-robin:0",
        "round-robin:1048577k",
        "round-robin:2G",
        "round-robin:1T",
        "round-robin:k",
        "round-robin:1.5k",
        "round-robin:18446744073709551616",
        "round-robin:17179869184G",
        "round-robin:999999999999999999G",
        "devid:0",
        "devid:1k",
        "latency:0",
        "latency:101",
        "latency-rr:99",
        "latency-rr:1001",
        "latency-rr:1k",
        "latency-rr:120,100",
        "latency-rr:120,margin=120",
        "latency-rr:burst=1,120",
        "queue:",
        "queue:read",
        "queue:reads ",
        "queue:all reads",
        "queue:0",
    ] {
        assert!(Choice::parse(text, BITS).is_none(), "{text} is taken");
    }
}

proptest! {
    #[test]
    fn what_is_shown_can_be_written(choice in any::choice()) {
        prop_assert_eq!(Choice::parse(choice.to_string(), BITS), Some(choice));
    }

    #[test]
    fn no_bytes_crash(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        prop_assert!(Choice::parse(&bytes, BITS).is_none());
    }

    /// Tests texts that are nearly right, which get further.
    #[test]
    fn damage_is_refused_or_understood(
        text in any::text(),
        at in 0..60_usize,
        patch in "[a-z0-9=,:kKmMgG \n\0-]{0,4}",
        cut in 0..4_usize,
    ) {
        let at = at.min(text.len());
        let damaged = format!("{}{patch}{}", &text[..at], &text[(at + cut).min(text.len())..]);
        if let Some(choice) = Choice::parse(&damaged, BITS) {
            prop_assert_eq!(Choice::parse(choice.to_string(), BITS), Some(choice));
            let line = damaged.strip_suffix('\n').unwrap_or(&damaged);
            let printable = line.bytes().all(|byte| byte.is_ascii_graphic());
            prop_assert!(printable, "{:?} is taken", damaged);
        }
    }
}
