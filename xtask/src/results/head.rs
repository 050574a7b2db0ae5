//! The beginning of a page: the question, the conditions, and what is known of the arrays.

use std::collections::BTreeSet;
use std::fmt::Write;

use disklab_store::Record;
use disklab_units::Nanos;
use disklab_units::prose::{count, digits, listed};

use super::kind::Kind;
use super::merged::Merged;
use super::published::Published;
use super::words::escaped;

const GIST: &str = "https://gist.github.com/kakra/ce99896e5915f9b26d13c5637f56ff37";

pub fn asked(kind: &Kind) -> String {
    let what = match kind.name {
        "read-policy" => {
            "with 4 KiB random reads at depth 1 and 32 and 1 MiB sequential reads at depth 16, by one job and by four, \
             alone and beside a defragmentation"
        }
        _ => {
            "with random and sequential reads and writes; half and half as its comments published them, and 70 % reads \
             as they ask for"
        }
    };
    format!(
        "A [gist of kakra's]({GIST}) and its comments ask which btrfs read policy serves which disks, {what}. They \
         compare five policies, three of which (`latency`, `latency-rr`, `queue`) are in no mainline kernel. Here the \
         same is asked of a real kernel on modelled disks ([what that is worth](../VALIDITY.md)); the published numbers \
         stand beside ours.\n\n"
    )
}

pub fn conditions(kind: &Kind, records: &[Record], merged: &Merged) -> String {
    let mut text = String::new();
    for (index, record) in records.iter().enumerate() {
        let manifest = record.manifest();
        let suite: toml::Table = toml::from_str(manifest.suite.text()).unwrap_or_default();
        let name = if records.len() == 1 { "Record".to_owned() } else { format!("Record {}", index + 1) };
        let _ = writeln!(
            text,
            "- {name}: suite `{}` (SHA-256 {}), made by `{}`",
            escaped(&manifest.suite.name),
            short(manifest.suite.sha256()),
            run_command(record, index)
        );
        for kernel in &manifest.kernels {
            let _ = writeln!(text, "  - Linux {}, key {}", kernel.version, short(&kernel.key));
        }
        let tool = |fact: &disklab_store::manifest::Fact| {
            let value: Vec<_> = fact.value.split(", ").map(short).collect();
            format!("{} {}", fact.name, value.join(", "))
        };
        let mut programs = vec![format!("disklab {}", manifest.disklab)];
        programs.extend(manifest.tools.iter().map(tool));
        let _ = writeln!(text, "  - {}", programs.join("; "));
        let settings: Vec<_> = ["runtime", "ramp", "metadata", "memory", "mount_options"]
            .iter()
            .filter_map(|key| Some(format!("{key} {}", suite.get(*key)?)))
            .collect();
        let _ = writeln!(text, "  - {}", escaped(&settings.join("; ")));
        let _ = writeln!(text, "  - {}", trials(record));
    }
    if merged.twice > 0 {
        let _ =
            writeln!(text, "- {} in two records; the earlier named counts.", count(merged.twice, "trial"));
    }
    if let [first, others @ ..] = records {
        let differ = |record: &Record| {
            let key = |record: &Record| {
                let manifest = record.manifest();
                let kernels: Vec<_> = manifest.kernels.iter().map(|kernel| kernel.key.clone()).collect();
                (kernels, manifest.tools.clone())
            };
            key(record) != key(first)
        };
        if others.iter().any(differ) {
            text.push_str(
                "- **The records are not of the same kernel and tools: compare them with care.**\n",
            );
        }
    }
    let names: Vec<_> = (0..records.len()).map(place).collect();
    let _ = writeln!(text, "- This page: `cargo xtask results {} {}`\n", kind.name, names.join(" "));
    text.push_str(
        "All times are virtual: the disks' and the timers', none of the processor. Each number is the median over the \
         seeds, with their range in parentheses where it is more than 1 %; the best of each test is bold.\n\n",
    );
    text
}

/// A digest's first digits are enough to tell it.
fn short(text: &str) -> String {
    let digest = text.len() > 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digest { text[..12].to_owned() } else { text.to_owned() }
}

/// Where the page's commands put and find a record.
fn place(index: usize) -> String {
    format!("records/results-{}", index + 1)
}

fn run_command(record: &Record, index: usize) -> String {
    let suite = &record.manifest().suite;
    let mut command = format!("target/release/disklab run {}", suite.name);
    for set in &suite.set {
        let _ = match set.split_once('=') {
            Some(("seeds", number)) => write!(command, " --seeds {number}"),
            _ => write!(command, " --set {set}"),
        };
    }
    format!("{command} --out {}", place(index))
}

fn trials(record: &Record) -> String {
    let all = record.outcomes();
    let ran: Vec<_> = all.iter().filter_map(|(_, outcome)| *outcome).collect();
    let ok = ran.iter().filter(|outcome| outcome.status == disklab_store::Status::Ok).count();
    let seeds: BTreeSet<u32> = ran.iter().map(|outcome| outcome.seed_index).collect();
    let time = Nanos(ran.iter().filter_map(|outcome| outcome.virtual_ns).map(|time| time.0).sum());
    format!(
        "{}, {} ok, {} not ok, {} not run; {}; {} of virtual time in all",
        count(all.len(), "trial"),
        ok,
        ran.len() - ok,
        all.len() - ran.len(),
        count(seeds.len(), "seed"),
        minutes(time)
    )
}

fn minutes(time: Nanos) -> String {
    let minutes = time.0 as f64 / 60e9;
    if minutes < 1.0 { time.to_string() } else { format!("{} min", digits(minutes)) }
}

pub fn arrays(merged: &Merged) -> String {
    let mut text = String::from(
        "The published disks' number, sizes and models are not told. No device or constant here was tuned to agree with \
         them.\n\n",
    );
    for array in &merged.arrays {
        let known = match array.as_str() {
            "hdd-raid1" => {
                "Theirs, called HDD RAID1, cannot be a pair: random reads go from 81 to 103 IOPS at depth 1 to 1459 to \
                 2315 at depth 32 and 2423 to 3649 with four jobs of it; no two disks that take 10 ms for one read alone do \
                 so many at any depth. So ours saturates much earlier, and a policy has the same two disks to choose from \
                 for every read instead of two of many."
            }
            "hdd-8-mixed" => {
                "Theirs is a pool of unequal hard disks behind bcache, an SSD that answers part of the reads (one at a \
                 time, they take 0.8 ms on average with `queue`, which no hard disk does). Ours has no cache. Their \
                 author's own two runs of one policy differ by up to a half: IOPS at depth 1 of `pid` 94 and 65, \
                 `round-robin` 161 and 241, `latency` 412 and 649, `latency-rr` 561 and 702."
            }
            "ssd-raid10" => {
                "Theirs are SSDs of unknown number and model: 5.4 GiB/s and more of sequential reads is beyond four SATA \
                 links. Ours are SATA SSDs, and the processor takes no time here."
            }
            _ => "Nothing is published of it.",
        };
        let _ = writeln!(text, "- **{array}**: ours is {}. {known}", disks(merged, array));
    }
    text.push('\n');
    text
}

/// `2 nas-4tb`, as the first trial with a result has them.
fn disks(merged: &Merged, array: &str) -> String {
    let places = merged.places();
    let mut samples = places
        .iter()
        .filter(|place| place.array == array)
        .flat_map(|place| merged.policies.iter().flat_map(|policy| merged.samples(place, policy)));
    let Some((_, sample)) = samples.next() else { return "without a result".to_owned() };
    let mut disks: Vec<(&str, usize)> = Vec::new();
    for device in sample.devices.iter().filter_map(|device| device.device.as_deref()) {
        match disks.iter_mut().find(|(known, _)| *known == device) {
            Some((_, number)) => *number += 1,
            None => disks.push((device, 1)),
        }
    }
    listed(&disks.iter().map(|(device, number)| format!("{number} {device}")).collect::<Vec<_>>())
}

pub fn broken(published: &Published) -> String {
    let mut text = format!(
        "IOPS times mean latency are the requests in flight, which fio keeps at depth times jobs. Rows where the two \
         differ by more than 20 % are marked {}; their latencies are neither compared nor bold.\n\n",
        super::tables::BROKEN
    );
    for source in &published.sources {
        let rows = || published.rows.iter().filter(|row| row.source == *source);
        let broken = rows().filter(|row| row.breaks_littles_law()).count();
        let _ = writeln!(text, "- {source}: {broken} of {}", count(rows().count(), "row"));
    }
    text.push('\n');
    text
}
