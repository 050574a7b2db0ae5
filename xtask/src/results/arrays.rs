//! Lists facts about the arrays: about ours from the records and the lab, about the published ones
//! from their tables.

use std::fmt::Write;

use disklab_config::Lab;
use disklab_results::Spread;
use disklab_units::prose::{digits, listed};
use itertools::Itertools;

use super::axes::CellPlace;
use super::kind::{Is, READS};
use super::merged::Merged;
use super::published::{FIRST_RUN, POOL, Published, Row};
use super::words::test;

/// Rate of a SATA link in bytes per second: 6 Gbit/s, at ten bits a byte.
const SATA: f64 = 600e6;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
const MIB: f64 = 1024.0 * 1024.0;

const NOTHING: &str = "Nothing is published about it.";

pub fn section(merged: &Merged, lab: &Lab) -> anyhow::Result<String> {
    let theirs = Published::read(&READS, &merged.arrays)?;
    let first = Published::of_csv(&READS, FIRST_RUN, &merged.arrays)?;
    let mut text = String::from(
        "The number, sizes and models of the published disks are unknown. No device or constant \
         here was tuned to agree with their numbers.\n\n",
    );
    for array in &merged.arrays {
        let known = match theirs.array_beside(array) {
            Some("hdd-raid1") => pair(&theirs),
            Some(POOL) => pool(&theirs, &first, cached(lab, array)),
            Some("ssd-raid10") => solid_state(&theirs),
            Some(_) => None,
            None => Some(format!("The published pool is compared with {POOL}.")),
        };
        let known = known.unwrap_or_else(|| NOTHING.to_owned());
        let _ = writeln!(
            text,
            "- **{array}**: the array here has {}. {known}",
            disks(merged, lab, array)
        );
    }
    text.push('\n');
    Ok(text)
}

/// Returns true if an array of the lab has a cache in front of its disks.
pub fn cached(lab: &Lab, array: &str) -> bool {
    lab.arrays.get(array).is_some_and(|array| array.cache.is_some())
}

/// Names the disks, as in `2 nas-4tb`, by the first trial with a result.
fn disks(merged: &Merged, lab: &Lab, array: &str) -> String {
    let places = merged.places();
    let mut samples = places
        .iter()
        .filter(|place| place.array == array)
        .flat_map(|place| merged.policies.iter().flat_map(|policy| merged.samples(place, policy)));
    let Some((_, sample)) = samples.next() else { return "no result".to_owned() };
    // The cache is the disk after the array's own.
    let (cache, own) = match sample.devices.split_last() {
        Some((cache, own)) if cached(lab, array) => (Some(cache), own),
        _ => (None, sample.devices.as_slice()),
    };
    let mut disks: Vec<(&str, usize)> = Vec::new();
    for device in own.iter().filter_map(|device| device.device.as_deref()) {
        match disks.iter_mut().find(|(known, _)| *known == device) {
            Some((_, number)) => *number += 1,
            None => disks.push((device, 1)),
        }
    }
    let disks: Vec<_> = disks.iter().map(|(device, number)| format!("{number} {device}")).collect();
    let cache = cache.and_then(|cache| cache.device.as_deref());
    let behind = cache.map(|cache| format!(", behind bcache on 1 {cache}")).unwrap_or_default();
    format!("{}{behind}", listed(&disks))
}

/// Describes the published HDD RAID1.
fn pair(theirs: &Published) -> Option<String> {
    let range = |workload: &str, jobs: u32| {
        iops(theirs, |place| {
            place.array == "hdd-raid1"
                && alone(place)
                && place.jobs == jobs
                && place.workload == workload
        })
    };
    let (one, many, jobs) = (
        range("randread-4k-qd1", 1)?,
        range("randread-4k-qd32", 1)?,
        range("randread-4k-qd32", 4)?,
    );
    Some(format!(
        "The published array, called HDD RAID1, cannot be two bare disks. Its random reads are {} \
         IOPS at depth 1, {} at depth 32, and {} with four jobs at depth 32. No two disks that \
         take {} ms for a single read do so many at any depth. So the array here saturates much \
         earlier. Here a policy chooses between the same two disks for every read, and there \
         between two of many.",
        in_words(&one),
        in_words(&many),
        in_words(&jobs),
        digits(1000.0 / one.max)
    ))
}

fn solid_state(theirs: &Published) -> Option<String> {
    let reads = iops(theirs, |place| {
        place.array == "ssd-raid10" && alone(place) && place.workload == "seqread-1m-qd16"
    })?;
    let gib = |iops: f64| digits(iops * MIB / GIB);
    Some(format!(
        "The published SSDs are of unknown number and model. Their sequential reads of 1 MiB are \
         {} IOPS, which is {} to {} GiB/s. Four SATA links carry {} GiB/s. The SSDs here are SATA \
         SSDs, and the processor takes no time here.",
        in_words(&reads),
        gib(reads.min),
        gib(reads.max),
        digits(4.0 * SATA / GIB)
    ))
}

/// Describes the first author's disks behind bcache.
fn pool(theirs: &Published, first: &Published, cached: bool) -> Option<String> {
    let one_at_a_time = |row: &&Row| {
        row.place.array == POOL && alone(&row.place) && row.place.workload == "randread-4k-qd1"
    };
    let mean = |row: &Row| row.value(&READS, Is::Mean);
    let (fastest, mean) = theirs
        .rows
        .iter()
        .filter(one_at_a_time)
        .filter_map(|row| Some((row, mean(row)?)))
        .min_by(|one, other| one.1.total_cmp(&other.1))?;
    let ours = if cached {
        "The pool here has a real bcache. The size and the write mode of the published cache \
         are unknown, and so is what it held before the runs."
    } else {
        "The pool here has no cache."
    };
    Some(format!(
        "The published pool consists of unequal hard disks behind bcache, an SSD that answers part \
         of the reads. Single reads take {mean} ms on average with `{}`, which no hard disk does. \
         {ours} The gist's script measures each policy once and in one order: `pid` is first, and \
         `queue` is last. Unless `randrepeat` is off, fio's random reads have the same offsets in \
         each run. So a later policy may have found blocks in the cache that an earlier one had \
         read. This is inferred from the script, and the size of the effect is unknown. Here every \
         trial starts from the same prepared disks.{}",
        fastest.policy,
        two_runs(theirs, first)
    ))
}

/// Describes the difference between the gist's two runs of the same policies.
fn two_runs(theirs: &Published, first: &Published) -> String {
    let mut tests: Vec<(&CellPlace, Is, Vec<f64>)> = Vec::new();
    for row in &first.rows {
        let again =
            theirs.rows.iter().find(|again| again.place == row.place && again.policy == row.policy);
        for what in [Is::Iops, Is::Bandwidth] {
            let both = again
                .and_then(|again| Some((row.value(&READS, what)?, again.value(&READS, what)?)));
            // A ratio to zero is undefined.
            let Some((one, other)) = both.filter(|(one, other)| one.min(*other) > 0.0) else {
                continue;
            };
            let ratio = one.max(other) / one.min(other);
            match tests.iter_mut().find(|(place, known, _)| *place == &row.place && *known == what)
            {
                Some((_, _, ratios)) => ratios.push(ratio),
                None => tests.push((&row.place, what, vec![ratio])),
            }
        }
    }
    let range = |(place, what, ratios): (&CellPlace, Is, Vec<f64>)| {
        let Spread { min, max, .. } = Spread::over(ratios)?;
        let what = if what == Is::Iops { "IOPS" } else { "KiB/s" };
        let beside =
            if alone(place) { String::new() } else { format!(" beside {}", place.background) };
        let (min, max) = (digits(min), digits(max));
        let times = if min == max { min } else { format!("{min} to {max}") };
        Some(format!("{times} times the {what} in {}{beside}", test(&place.workload)))
    };
    let ranges: Vec<_> = tests.into_iter().filter_map(range).collect();
    if ranges.is_empty() {
        return String::new();
    }
    format!(
        " The author reports two runs, between which the policies may have changed. For the same \
         policy, the better run has\n{}",
        ranges.iter().map(|range| format!("  - {range}")).join("\n")
    )
}

fn alone(place: &CellPlace) -> bool {
    place.background == "none"
}

/// Returns the spread of IOPS over all published rows of some places.
fn iops(theirs: &Published, wanted: impl Fn(&CellPlace) -> bool) -> Option<Spread> {
    let rows = theirs.rows.iter().filter(|row| wanted(&row.place));
    Spread::over(rows.filter_map(|row| row.value(&READS, Is::Iops)))
}

/// Formats a spread in the published units.
fn in_words(spread: &Spread) -> String {
    format!("{} to {}", spread.min, spread.max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_theirs_are_those_of_the_tables() {
        let arrays = ["hdd-raid1", "hdd-8-mixed", "ssd-raid10"].map(str::to_owned);
        let theirs = Published::read(&READS, &arrays).expect("tables");
        let first = Published::of_csv(&READS, FIRST_RUN, &arrays).expect("a table");
        let told = |text: Option<String>, parts: &[&str]| {
            let text = text.expect("something is published");
            for part in parts {
                assert!(text.contains(part), "{part}: {text}");
            }
        };
        told(
            pair(&theirs),
            &["81 to 103 IOPS", "1459 to 2315 at depth 32", "2423 to 3649 with", "9.71 ms"],
        );
        told(
            solid_state(&theirs),
            &["2594 to 5880 IOPS", "2.53 to 5.74 GiB/s", "links carry 2.24 GiB/s."],
        );
        told(
            pool(&theirs, &first, false),
            &["0.8 ms on average with `queue`", "The pool here has no cache."],
        );
        // The ratios are those of 94 and 65, 161 and 241, 412 and 649, 561 and 702; 763 and 537,
        // 540 and 1180, 1196 and 1706, 1928 and 2477.
        let runs = two_runs(&theirs, &first);
        told(Some(runs.clone()), &["1.25 to 1.58 times the IOPS in RandRead 4 KiB QD1"]);
        told(Some(runs), &["1.28 to 2.19 times the IOPS in RandRead 4 KiB QD32"]);
    }
}
