//! btrfs's statistics of each device's reads, `devinfo/<id>/read_stats`, as the guest's first
//! process read them before and after the measurement. Only kernels with read policies that measure
//! have the file.
//!
//! The file has one line: `cumulative ios N wait NS avg NS checkpoint ios N wait NS avg NS age A
//! count C ignored I`.

use std::collections::BTreeMap;

use disklab_protocol::action::When;
use disklab_protocol::step::Step;
use disklab_units::Nanos;

use crate::remark::Remark;
use crate::sample::{ReadStatsChange, Sample};

/// The statistics of one device at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReadStats {
    /// Reads since the mount, and their total time in ns.
    ios: u64,
    wait: u64,
    /// Mean time of the reads since the last checkpoint in ns, by which policies decide.
    checkpoint_avg: u64,
    /// Number of times that the device was passed over since it was last chosen.
    age: i64,
    /// Number of checkpoints.
    count: u64,
    /// Number of times that the device was passed over minus the number of times that it was
    /// chosen.
    ignored: i64,
}

/// Adds the changes of the statistics to the sample's devices, which btrfs counts from 1. `steps`
/// are the first process's. Statistics that cannot be parsed give a remark.
pub fn add(steps: &[Step], sample: &mut Sample) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (id, [before, after]) in kept(steps, "read_stats") {
        match change(before.as_deref(), after.as_deref()) {
            Ok(change) => {
                let index = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
                if let Some(device) = index.and_then(|index| sample.devices.get_mut(index)) {
                    device.read_stats = Some(change);
                }
            }
            Err(problem) => remarks.push(Remark::ReadStats { device_id: id, problem }),
        }
    }
    remarks
}

/// Returns the contents of a file of each device before and after the measurement, by device id.
pub(crate) fn kept(steps: &[Step], file: &str) -> BTreeMap<u64, [Option<String>; 2]> {
    let mut kept: BTreeMap<u64, [Option<String>; 2]> = BTreeMap::new();
    for step in steps {
        let Step::Kept { when, path, says } = step else { continue };
        let folder = path
            .to_str()
            .unwrap_or_default()
            .strip_suffix(file)
            .and_then(|folder| folder.strip_suffix('/')?.rsplit_once("/devinfo/"));
        let Some(id) = folder.and_then(|(_, id)| id.parse().ok()) else { continue };
        kept.entry(id).or_default()[usize::from(*when == When::After)] = Some(says.clone());
    }
    kept
}

/// Returns the change of a device's line between two moments, or the problem with it.
pub fn change(before: Option<&str>, after: Option<&str>) -> Result<ReadStatsChange, String> {
    let (before, after) =
        before.zip(after).ok_or("they were read only once, before or after the trial")?;
    let (before, after) = (parse(before)?, parse(after)?);
    let more = |what: &str, before: u64, after: u64| {
        after
            .checked_sub(before)
            .ok_or_else(|| format!("{what} went from {before} back to {after}"))
    };
    let ios = more("ios", before.ios, after.ios)?;
    let wait = more("wait", before.wait, after.wait)?;
    Ok(ReadStatsChange {
        ios,
        wait_ns: Nanos(wait),
        avg_ns: wait.checked_div(ios).map(Nanos),
        checkpoints: more("count", before.count, after.count)?,
        ignored: after.ignored.saturating_sub(before.ignored),
        age: after.age,
        checkpoint_avg_ns: Nanos(after.checkpoint_avg),
    })
}

/// Form of the line; `N` stands for a number.
const FORM: &str =
    "cumulative ios N wait N avg N checkpoint ios N wait N avg N age N count N ignored N";

fn parse(line: &str) -> Result<ReadStats, String> {
    let mut words = line.split_whitespace();
    let (mut numbers, mut read, mut name) = ([0_i128; 9], 0, "");
    for (place, expected) in FORM.split(' ').enumerate() {
        let word = words.next();
        if expected == "N" {
            let number = word.and_then(|word| word.parse().ok());
            numbers[read] = number.ok_or_else(|| format!("no number for `{name}` in {line:?}"))?;
            read += 1;
        } else if word == Some(expected) {
            name = expected;
        } else {
            return Err(format!("expected `{expected}` as word {} of {line:?}", place + 1));
        }
    }
    if words.next().is_some() {
        return Err(format!("unknown words at the end of {line:?}"));
    }
    let beyond = |_| format!("a number beyond 64 bits in {line:?}");
    let [ios, wait, _, _, _, checkpoint_avg, age, count, ignored] = numbers;
    Ok(ReadStats {
        ios: ios.try_into().map_err(beyond)?,
        wait: wait.try_into().map_err(beyond)?,
        checkpoint_avg: checkpoint_avg.try_into().map_err(beyond)?,
        age: age.try_into().map_err(beyond)?,
        count: count.try_into().map_err(beyond)?,
        ignored: ignored.try_into().map_err(beyond)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BEFORE: &str = "cumulative ios 10 wait 1000 avg 100 checkpoint ios 4 wait 480 \
                          avg 120 age 3 count 1 ignored 7";
    const AFTER: &str = "cumulative ios 30 wait 9000 avg 300 checkpoint ios 2 wait 100 \
                         avg 50 age -98 count 2 ignored -5\n";

    fn change(before: &str, after: &str) -> Result<ReadStatsChange, String> {
        super::change(Some(before), Some(after))
    }

    #[test]
    fn two_moments_make_a_change() {
        let change = change(BEFORE, AFTER).unwrap();
        assert_eq!(
            (change.ios, change.wait_ns, change.avg_ns),
            (20, Nanos(8000), Some(Nanos(400)))
        );
        assert_eq!((change.checkpoints, change.ignored, change.age), (1, -12, -98));
        assert_eq!(change.checkpoint_avg_ns, Nanos(50));
        assert_eq!(
            super::change(Some(BEFORE), Some(BEFORE)).unwrap().avg_ns,
            None,
            "without reads there is no mean"
        );
    }

    #[test]
    fn what_cannot_be_is_told() {
        let wrong = |after: &str| change(BEFORE, after).unwrap_err();
        assert_eq!(wrong(&AFTER.replace("ios 30", "ios 9")), "ios went from 10 back to 9");
        assert!(wrong(&AFTER.replace("age", "years")).starts_with("expected `age` as word"));
        assert!(wrong(&AFTER.replace("9000", "many")).starts_with("no number for `wait`"));
        assert!(wrong(&AFTER.replace("ios 30", "ios -1")).starts_with("a number beyond 64 bits"));
        assert!(wrong(&format!("{} more 1", AFTER.trim())).starts_with("unknown words at the end"));
        assert!(wrong("").starts_with("expected `cumulative`"));
    }

    #[test]
    fn they_go_to_the_devices_by_btrfs_id() {
        let step = |id: u64, when: &str, says: &str| {
            let path = format!("/sys/fs/btrfs/u/devinfo/{id}/read_stats");
            serde_json::json!({"step": "kept", "when": when, "path": path, "says": says})
                .to_string()
                + "\n"
        };
        let steps = [
            step(2, "before", BEFORE),
            step(2, "after", AFTER),
            step(1, "before", BEFORE),
            step(9, "before", BEFORE),
            step(9, "after", AFTER),
            "half a li".to_owned(),
        ];
        let mut sample: Sample = serde_json::from_str(
            r#"{"iops":1,"bw_bytes":1,"requests":1,"lat_mean_ns":1,"percentiles_of":null,
                "p50_ns":null,"p99_ns":null,"p99_9_ns":null,"devices":[
                {"name":"vda","device":null,"reads":0,"writes":0,"read_share":null,"utilisation":0},
                {"name":"vdb","device":null,"reads":0,"writes":0,
                "read_share":null,"utilisation":0}]}"#,
        )
        .expect("a sample of before there were these statistics");
        let remarks = add(&Step::read_all(steps.concat().as_bytes()), &mut sample);
        assert_eq!(sample.devices[0].read_stats, None);
        assert_eq!(sample.devices[1].read_stats, Some(change(BEFORE, AFTER).unwrap()));
        let once = Remark::ReadStats {
            device_id: 1,
            problem: "they were read only once, before or after the trial".to_owned(),
        };
        assert_eq!(remarks, [once]);
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "[a-z0-9 -]{0,200}", number in any::<i128>()) {
            let _ = change(&line, AFTER);
            let _ = change(BEFORE, &AFTER.replace("-98", &number.to_string()));
        }
    }
}
