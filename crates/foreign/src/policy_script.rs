//! Parses the result folder of a published script that compares btrfs read policies with and
//! without a background `defrag`: `btrfs read policy benchmarks`, a gist of kakra's, as of May
//! 2025.
//!
//! For each load, the folder has fio's text in `defrag_off_policy_pid_fio_randread_4k_qd1_fio.txt`.
//! If the kernel counts reads, `..._readstats.txt` has the counts before and after. `benchmark.log`
//! has the active settings. Lines of `read_stats` must have the form of the patches to Linux 6.12;
//! others give a remark.

use std::collections::BTreeMap;

use crate::fio_text;
use crate::format::{Claimed, File, Unreadable};
use crate::row::ResultRow;
use disklab_results::measure::Measure;
use disklab_results::read_stats;
use disklab_results::remark::Remark;
use disklab_results::sample::ReadStatsChange;

const FIO: &str = "_fio.txt";
const READ_STATS: &str = "_readstats.txt";
const LOG: &str = "benchmark.log";
/// The output of the background load.
const DEFRAG_LOG: &str = "defrag.log";
const SETTING: &str = " - Setting read policy to: ";
const CURRENT: &str = " - Current policy: ";
const STARTING: &str = "Starting tests with Defrag ";

/// The parts of the name of a file.
#[derive(Debug, PartialEq, Eq)]
struct Test<'a> {
    /// Name without [`FIO`] or [`READ_STATS`].
    id: &'a str,
    /// Whether the background runs: `on` or `off`.
    defrag: &'a str,
    policy: &'a str,
    workload: &'a str,
}

impl<'a> Test<'a> {
    fn parse(name: &'a str, ending: &str) -> Option<Self> {
        let id = name.strip_suffix(ending)?;
        let (defrag, rest) = id.strip_prefix("defrag_")?.split_once("_policy_")?;
        let (policy, workload) = rest.split_once("_fio_")?;
        let whole = matches!(defrag, "on" | "off") && !policy.is_empty() && !workload.is_empty();
        whole.then_some(Self { id, defrag, policy, workload })
    }
}

pub fn claims(file: &File) -> Claimed {
    let name = file.name();
    if Test::parse(name, FIO).is_some() {
        return Claimed::Results;
    }
    let beside = match name {
        LOG => String::from_utf8_lossy(file.bytes).contains(SETTING),
        DEFRAG_LOG => {
            (file.beside)(LOG).is_some_and(|log| String::from_utf8_lossy(&log).contains(SETTING))
        }
        _ => Test::parse(name, READ_STATS).is_some(),
    };
    if beside { Claimed::Beside } else { Claimed::No }
}

pub fn read(file: &File) -> Result<Vec<ResultRow>, Unreadable> {
    let test = Test::parse(file.name(), FIO).ok_or_else(|| {
        Unreadable::whole("its name is not `defrag_on_policy_NAME_fio_LOAD_fio.txt`")
    })?;
    let mut rows = fio_text::parse(file.bytes)?;
    let active =
        (file.beside)(LOG).and_then(|log| not_active(&String::from_utf8_lossy(&log), &test));
    let stats = (file.beside)(&format!("{}{READ_STATS}", test.id));
    let (changes, remarks) =
        stats.map(|stats| changes(&String::from_utf8_lossy(&stats))).unwrap_or_default();
    let background = if test.defrag == "on" { "defrag" } else { "none" };
    for row in &mut rows {
        let own =
            [("background", background), ("policy", test.policy), ("workload", test.workload)];
        let own = own.map(|(axis, value)| (axis.to_owned(), value.to_owned()));
        row.cell.retain(|(axis, _)| axis != "job");
        row.cell.splice(0..0, own);
        // The script asks for direct requests, and nothing in it limits them.
        row.claim.limited = false;
        row.remarks.extend(active.iter().cloned());
        row.remarks.extend(remarks.iter().cloned());
        for (id, change) in &changes {
            let reads = Measure::rate(change.ios as f64, "requests");
            row.measures.insert(format!("device {id} reads"), reads);
            if let Some(mean) = change.avg_ns {
                row.measures.insert(format!("device {id} mean"), Measure::time(mean.0 as f64));
            }
        }
    }
    Ok(rows)
}

/// Returns a remark if another policy was active in the log than the tested one.
fn not_active(log: &str, test: &Test) -> Option<Remark> {
    let (mut defrag, mut set) = ("", "");
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once(STARTING) {
            defrag = rest.split_whitespace().next().unwrap_or_default();
        } else if let Some((_, policy)) = line.split_once(SETTING) {
            set = policy.trim();
        } else if let Some((_, current)) = line.split_once(CURRENT)
            && (defrag, name_of(set)) == (test.defrag, name_of(test.policy))
            && let Some(active) = other_than(current, test.policy)
        {
            let what = "read policy".to_owned();
            return Some(Remark::NotActive { what, asked: test.policy.to_owned(), active });
        }
    }
    None
}

/// Returns the name of a policy without its values: `round-robin` for `round-robin:262144`.
fn name_of(policy: &str) -> &str {
    policy.split(':').next().unwrap_or(policy)
}

/// Returns the active policy, if it is not `asked`. The kernel puts it in brackets: `pid
/// [round-robin:262144]`. Without brackets, only a list that lacks `asked` proves that another is
/// active.
fn other_than(current: &str, asked: &str) -> Option<String> {
    let bracketed = current.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    if let Some((active, _)) = bracketed {
        let is = name_of(active.trim()) == name_of(asked);
        return (!is).then(|| active.trim().to_owned());
    }
    let listed = current.split_whitespace().any(|policy| name_of(policy) == name_of(asked));
    (!listed && !current.trim().is_empty()).then(|| current.trim().to_owned())
}

type Changes = BTreeMap<u64, ReadStatsChange>;

/// Returns the change of each device between the last two dumps.
fn changes(text: &str) -> (Changes, Vec<Remark>) {
    let mut dumps: Vec<BTreeMap<u64, &str>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("--- Timestamp:") {
            dumps.push(BTreeMap::new());
        } else if let Some((path, says)) = line.split_once("/read_stats:")
            && let Some((_, id)) = path.rsplit_once("/devinfo/")
            && let Ok(id) = id.parse()
            && let Some(dump) = dumps.last_mut()
        {
            dump.insert(id, says);
        }
    }
    let (mut changes, mut remarks) = (Changes::new(), Vec::new());
    let (Some(after), Some(before)) = (dumps.pop(), dumps.pop()) else { return (changes, remarks) };
    for (id, says) in after {
        match read_stats::change(before.get(&id).copied(), Some(says)) {
            Ok(change) => drop(changes.insert(id, change)),
            Err(problem) => remarks.push(Remark::ReadStats { device_id: id, problem }),
        }
    }
    (changes, remarks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGGED: &str = "\
2025-05-04 10:50:33 - ===== Starting tests with Defrag off =====
2025-05-04 10:50:33 - ----- Testing Policy: pid -----
2025-05-04 10:50:33 - Setting read policy to: pid
2025-05-04 10:50:34 - Current policy: [pid] round-robin:262144 queue
2025-05-04 10:55:33 - Setting read policy to: queue
2025-05-04 10:55:34 - Current policy: [pid] round-robin:262144 queue
2025-05-04 11:55:33 - Setting read policy to: round-robin
2025-05-04 11:55:34 - Current policy: pid [round-robin:262144] queue
2025-05-04 12:00:00 - ===== Starting tests with Defrag on =====
2025-05-04 12:00:01 - Setting read policy to: queue
2025-05-04 12:00:02 - Current policy: pid round-robin queue
2025-05-04 12:00:03 - Setting read policy to: latency
2025-05-04 12:00:04 - Current policy: pid round-robin queue
";
    const STATS: &str = "\
--- Timestamp: 2025-05-04 10:50:40.1 ---
/sys/fs/btrfs/u/devinfo/1/read_stats:cumulative ios 10 wait 1000 avg 100 \
checkpoint ios 4 wait 480 avg 120 age 3 count 1 ignored 7
/sys/fs/btrfs/u/devinfo/2/read_stats:ios 10 wait 1000 avg 100
--- End Stats ---
--- Timestamp: 2025-05-04 10:52:41.1 ---
/sys/fs/btrfs/u/devinfo/1/read_stats:cumulative ios 30 wait 9000 avg 300 \
checkpoint ios 2 wait 100 avg 50 age 5 count 2 ignored 9
/sys/fs/btrfs/u/devinfo/2/read_stats:ios 20 wait 3000 avg 150
--- End Stats ---
";
    const TEXT: &str = "\
RandRead_4k_QD1: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
ioengine=libaio, iodepth=1
RandRead_4k_QD1: (groupid=0, jobs=1): err= 0: pid=7: Sun May  4 10:52:41 2025
  read: IOPS=100, BW=400KiB/s (410kB/s)(46.9MiB/120000msec)
     lat (usec): min=58, max=32000, avg=9990.22, stdev=2436.54
     issued rwts: total=12000,0,0,0 short=0,0,0,0 dropped=0,0,0,0
";

    fn beside(name: &str) -> Option<Vec<u8>> {
        match name {
            LOG => Some(LOGGED.as_bytes().to_vec()),
            "defrag_off_policy_pid_fio_randread_4k_qd1_readstats.txt" => {
                Some(STATS.as_bytes().to_vec())
            }
            _ => None,
        }
    }

    #[test]
    fn the_folder_is_read_as_one() {
        let path = "results/defrag_off_policy_pid_fio_randread_4k_qd1_fio.txt";
        let file = File { path, bytes: TEXT.as_bytes(), beside: &beside };
        assert_eq!(claims(&file), Claimed::Results);
        let rows = read(&file).unwrap();
        let [row] = rows.as_slice() else { panic!("one row") };
        let cell: Vec<_> =
            row.cell.iter().take(3).map(|(axis, value)| (axis.as_str(), value.as_str())).collect();
        assert_eq!(
            cell,
            [("background", "none"), ("policy", "pid"), ("workload", "randread_4k_qd1")]
        );
        let value = |name: &str| row.measures.get(name).map(|measure| measure.value);
        assert_eq!((value("device 1 reads"), value("device 1 mean")), (Some(20.0), Some(400.0)));
        assert_eq!(value("device 2 reads"), None);
        assert!(
            matches!(row.remarks.as_slice(), [.., Remark::ReadStats { device_id: 2, .. }]),
            "{:?}",
            row.remarks
        );
        assert_eq!(disklab_results::integrity::check(&row.claim), []);
        let claimed = |path| claims(&File { path, bytes: LOGGED.as_bytes(), beside: &beside });
        assert_eq!(
            claimed("a/defrag_on_policy_queue_fio_seqread_1M_qd16_readstats.txt"),
            Claimed::Beside
        );
        assert_eq!(
            [LOG, "defrag.log", "other.log"].map(claimed),
            [Claimed::Beside, Claimed::Beside, Claimed::No]
        );
    }

    #[test]
    fn what_was_not_active_is_told() {
        let active = |defrag, policy| {
            let test = Test { id: "", defrag, policy, workload: "" };
            not_active(LOGGED, &test).map(|remark| match remark {
                Remark::NotActive { active, .. } => active,
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(
            [active("off", "pid"), active("off", "round-robin"), active("on", "queue")],
            [None, None, None]
        );
        assert_eq!(active("off", "queue"), Some("pid".into()));
        assert_eq!(active("on", "latency"), Some("pid round-robin queue".into()));
        assert_eq!(active("on", "pid"), None, "the log does not say");
    }
}
