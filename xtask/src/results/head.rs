//! The beginning of a page: the question, the conditions, and facts about the arrays.

use std::collections::BTreeSet;
use std::fmt::Write;

use disklab_record::manifest::Suite;
use disklab_record::{Manifest, Record};
use disklab_units::Nanos;
use disklab_units::prose::{count, digits, listed};
use itertools::Itertools;

use super::kind::Kind;
use super::merged::Merged;
use super::published::{LITTLE, Published};
use super::words::{RANGE, code, escaped, shell};

const GIST: &str = "https://gist.github.com/kakra/ce99896e5915f9b26d13c5637f56ff37";

pub fn asked(kind: &Kind) -> String {
    let what = match kind.name {
        "read-policy" => {
            "They measure 4 KiB random reads at depths 1 and 32, and 1 MiB sequential reads at \
             depth 16. Each is measured with one job and with four, alone and beside a \
             defragmentation."
        }
        _ => {
            "They measure random and sequential reads and writes. The comments publish a mix of \
             half reads and half writes, and ask for a mix with 70 % reads."
        }
    };
    format!(
        "A [gist of kakra's]({GIST}) and its comments ask which btrfs read policy serves which \
         disks. {what} They compare five policies. Three of these (`latency`, `latency-rr`, \
         `queue`) are in no mainline kernel. The records of this page measure the same loads on a \
         real kernel with modelled disks ([how far that holds](../VALIDITY.md)). The tables have \
         the published numbers beside those from here.\n\n"
    )
}

pub fn conditions(kind: &Kind, records: &[Record], merged: &Merged) -> String {
    let names = (0..records.len()).map(place).join(" ");
    let mut text = String::from(
        "These commands make the records and this page. All sentences of the page are made from \
         the records.\n\n",
    );
    for (index, record) in records.iter().enumerate() {
        let command = run_command(&record.manifest().suite, &[], &place(index));
        let _ = writeln!(text, "    {command}");
    }
    let _ = writeln!(text, "    cargo xtask results {} {names}\n", kind.name);
    for (index, record) in records.iter().enumerate() {
        let manifest = record.manifest();
        let suite: toml::Table = toml::from_str(manifest.suite.text()).unwrap_or_default();
        let name =
            if records.len() == 1 { "Record".to_owned() } else { format!("Record {}", index + 1) };
        let _ = writeln!(
            text,
            "- {name}: suite {} (SHA-256 {})",
            code(&manifest.suite.name),
            short(manifest.suite.sha256())
        );
        for kernel in &manifest.kernels {
            let _ = writeln!(
                text,
                "  - Linux {}, key {}",
                escaped(&kernel.version),
                short(&kernel.key)
            );
        }
        let tool = |fact: &disklab_record::manifest::Fact| {
            format!("{} {}", fact.name, fact.value.split(", ").map(short).join(", "))
        };
        let disklab = format!("disklab {}", manifest.disklab);
        let mut programs = std::iter::once(disklab).chain(manifest.tools.iter().map(tool));
        let _ = writeln!(text, "  - {}", escaped(&programs.join("; ")));
        let mut settings = ["runtime", "ramp", "metadata", "memory", "mount_options"]
            .iter()
            .filter_map(|key| Some(format!("{key} {}", suite.get(*key)?)));
        let _ = writeln!(text, "  - {}", escaped(&settings.join("; ")));
        let _ = writeln!(text, "  - {}", trials(record));
    }
    if merged.twice > 0 {
        let _ = writeln!(
            text,
            "- Trials in two records: {}. The record named first counts, unless only the other has \
             a result.",
            merged.twice
        );
    }
    if let [first, others @ ..] = records {
        let differ: BTreeSet<&str> = others
            .iter()
            .flat_map(|other| differences(first.manifest(), other.manifest()))
            .collect();
        if !differ.is_empty() {
            let differ: Vec<_> = differ.into_iter().map(escaped).collect();
            let _ = writeln!(
                text,
                "- **The records do not have the same {}: compare them with care.**",
                listed(&differ)
            );
        }
    }
    let _ = write!(
        text,
        "\nAll times are virtual: they contain the time of the disks and timers, and none of the \
         processor. Each number is the median over the seeds. The range of the seeds is in \
         parentheses if it is more than {} %. The best number of each test is bold.\n\n",
        100.0 * RANGE
    );
    text
}

/// Lists the programs and files in which two records differ. A program that one of them did not use
/// is not a difference.
fn differences<'a>(one: &'a Manifest, other: &'a Manifest) -> Vec<&'a str> {
    let keys = |manifest: &'a Manifest| manifest.kernels.iter().map(|kernel| &kernel.key);
    let kernels = (!keys(one).eq(keys(other))).then_some("kernel");
    let tools = one.tools.iter().filter(|tool| {
        other.tools.iter().any(|known| known.name == tool.name && known.value != tool.value)
    });
    kernels.into_iter().chain(tools.map(|tool| tool.name.as_str())).collect()
}

/// Returns the first digits of a digest, which identify it.
fn short(text: &str) -> String {
    let digest = text.len() > 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digest { text[..12].to_owned() } else { text.to_owned() }
}

/// Returns the path where the page's commands put and find a record.
fn place(index: usize) -> String {
    format!("records/results-{}", index + 1)
}

/// Returns the command that makes a record, for a shell.
pub fn run_command(suite: &Suite, more: &[&str], place: &str) -> String {
    let mut words = vec!["target/release/disklab", "run", &suite.name];
    words.extend(more);
    for set in &suite.set {
        words.extend(match set.split_once('=') {
            Some(("seeds", number)) => ["--seeds", number],
            _ => ["--set", set],
        });
    }
    words.extend(["--out", place]);
    words.into_iter().map(shell).join(" ")
}

fn trials(record: &Record) -> String {
    let all = record.outcomes();
    let ran: Vec<_> = all.iter().filter_map(|(_, outcome)| *outcome).collect();
    let ok = ran.iter().filter(|outcome| outcome.status == disklab_record::Status::Ok).count();
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

pub fn broken(published: &Published) -> String {
    let mut text = format!(
        "IOPS times mean latency is the number of requests in flight. fio keeps this number at \
         depth times jobs. Rows in which the two differ by more than {} % are marked {}. Their \
         latencies are neither compared nor bold.\n\n",
        100.0 * LITTLE,
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

#[cfg(test)]
mod tests {
    use disklab_record::manifest::{Fact, Kernel};

    use super::*;

    #[test]
    fn a_command_is_for_a_shell() {
        let set = [
            "policy=latency:burst=100,pid",
            "kernel=/boot/my kernel",
            "array=it's",
            "seeds=2",
            "a=b\nc",
        ];
        let suite = Suite::new("read-policy", "", set.map(str::to_owned).into());
        let command = run_command(&suite, &[], &place(0));
        assert_eq!(
            command,
            "target/release/disklab run read-policy --set policy=latency:burst=100,pid --set \
             'kernel=/boot/my kernel' --set 'array=it'\\''s' --seeds 2 --set $'a=b\\nc' --out \
             records/results-1"
        );
        let said = std::process::Command::new("bash")
            .args(["-c", &format!("printf '%s\\0' {command}")])
            .output()
            .expect("bash");
        let words: Vec<_> =
            said.stdout.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
        for set in set.iter().filter(|set| !set.starts_with("seeds")) {
            assert!(words.iter().any(|word| word == set), "{set}: {words:?}");
        }
    }

    #[test]
    fn only_what_both_records_have_can_differ() {
        let manifest = |key: &str, tools: &[(&str, &str)]| {
            let mut manifest =
                disklab_testkit::manifest(disklab_testkit::suite(""), Vec::<String>::new());
            let kernel = disklab_testkit::kernel("newest", "7.3.4");
            manifest.kernels = vec![Kernel { key: key.to_owned(), ..kernel }];
            manifest.tools = tools.iter().map(|(name, value)| Fact::new(*name, *value)).collect();
            manifest
        };
        let one = manifest("a", &[("fio", "3.33"), ("btrfs", "6.2")]);
        let more = manifest("a", &[("make-bcache", "1.0"), ("fio", "3.33")]);
        assert_eq!(differences(&one, &more), [""; 0]);
        let other = manifest("b", &[("make-bcache", "1.0"), ("fio", "3.36")]);
        assert_eq!(differences(&one, &other), ["kernel", "fio"]);
    }
}
