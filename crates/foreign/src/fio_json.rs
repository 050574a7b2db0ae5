//! Parses anybody's report of fio into rows: one for each name of a job.

use disklab_units::{Bytes, Nanos};

use crate::grouped::grouped;
use crate::row::ResultRow;
use disklab_results::fio::{Fio, Job, Options};
use disklab_results::integrity::Claim;
use disklab_results::sample;

/// Engines that have one request in flight whatever `iodepth` is (`FIO_SYNCIO` in fio's engines/).
const SYNCHRONOUS: [&str; 12] = [
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "mmap",
    "splice",
    "pmemblk",
    "dev-dax",
    "libpmem",
    "falloc",
    "ftruncate",
];
/// fio's default engine on Linux.
const DEFAULT_ENGINE: &str = "psync";
/// Options with which a job waits for more than its requests.
const LIMITING: [&str; 9] = [
    "rate",
    "rate_iops",
    "thinktime",
    "rate_process",
    "iodepth_low",
    "iodepth_batch_complete_min",
    "fsync",
    "fdatasync",
    "latency_target",
];
/// The options that distinguish loads.
const CELL: [&str; 6] = ["rw", "bs", "iodepth", "numjobs", "ioengine", "direct"];
/// Name of the last entry of a report over several machines, which counts all of them again.
const ALL_CLIENTS: &str = "All clients";

/// Returns whether the first bytes of a file have fio's mark; fio's complaints may stand before it.
pub fn is_report(head: &[u8]) -> bool {
    const MARK: &[u8] = b"\"fio version\"";
    head.windows(MARK.len()).any(|window| window == MARK)
}

/// Returns whether an engine has one request in flight whatever `iodepth` is.
pub fn is_synchronous(engine: &str) -> bool {
    SYNCHRONOUS.contains(&engine)
}

/// Returns the rows of a report. Jobs of one name, which `numjobs` makes, are one row: they ran
/// together.
pub fn rows(fio: &Fio) -> Vec<ResultRow> {
    groups(fio).iter().map(|(index, jobs)| row(*index, jobs, &fio.global)).collect()
}

/// Returns the jobs that ran together, and the index of the first of them.
pub(crate) fn groups(fio: &Fio) -> Vec<(usize, Vec<&Job>)> {
    let named = |(_, job): &(usize, &Job)| !job.name.is_empty() && job.name != ALL_CLIENTS;
    let together = grouped(fio.jobs.iter().enumerate().filter(named), |(_, one), (_, other)| {
        (&one.name, &one.hostname, &one.options) == (&other.name, &other.hostname, &other.options)
    });
    let split =
        |group: Vec<(usize, _)>| (group[0].0, group.into_iter().map(|(_, job)| job).collect());
    together.into_iter().map(split).collect()
}

fn row(index: usize, jobs: &[&Job], global: &Options) -> ResultRow {
    let first = jobs[0];
    let load = Load::new(first, global);
    let mut cell = vec![("job".to_owned(), first.name.clone())];
    cell.extend(first.hostname.iter().map(|host| ("host".to_owned(), host.clone())));
    let told = CELL.iter().filter_map(|&name| Some((name.to_owned(), load.get(name)?.to_owned())));
    cell.extend(told);
    let (sample, remarks) = sample::of_jobs(jobs);
    ResultRow {
        place: format!("job {} ({})", index + 1, first.name),
        cell,
        sample: Some(sample),
        claim: load.claim(jobs),
        remarks,
        ..ResultRow::default()
    }
}

/// The options of a job, and the global options.
pub(crate) struct Load<'a> {
    own: &'a Options,
    global: &'a Options,
}

impl<'a> Load<'a> {
    pub(crate) fn new(job: &'a Job, global: &'a Options) -> Self {
        Self { own: &job.options, global }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.own.get(name).or_else(|| self.global.get(name)).map(String::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.trim().parse().ok()
    }

    /// Returns whether any options are known. fio 3.0 and later report them, except for a job that
    /// another machine ran.
    fn is_known(&self) -> bool {
        !self.own.is_empty() || !self.global.is_empty()
    }

    pub(crate) fn claim(&self, jobs: &[&Job]) -> Claim {
        let engine = self.get("ioengine").unwrap_or(DEFAULT_ENGINE);
        let depth =
            if is_synchronous(engine) { Some(1) } else { self.number("iodepth").or(Some(1)) };
        let numjobs = self.number("numjobs").unwrap_or(1).max(jobs.len() as u32);
        // The options of a job with offload threads, or of several sizes, determine its load less
        // well.
        let buffered = !matches!(self.get("direct"), Some("1" | "true"));
        let timed = self.get("time_based").is_some_and(|value| value != "0");
        Claim {
            in_flight: depth
                .filter(|_| self.is_known())
                .map(|depth: u32| depth.saturating_mul(numjobs)),
            limited: buffered || LIMITING.iter().any(|name| self.get(name).is_some()),
            // For a group, fio reports only the options of its first job.
            grouped: self.get("group_reporting").is_some_and(|value| value != "0"),
            block: self.block(),
            asked: self.get("runtime").filter(|_| timed).and_then(seconds),
            ..sample::claim_of(jobs)
        }
    }

    /// Returns the size of all requests, if it is one number.
    fn block(&self) -> Option<u64> {
        let several = ["bssplit", "bsrange", "blocksize_range", "bs_unaligned", "bs_is_seq_rand"];
        if several.iter().any(|name| self.get(name).is_some()) {
            return None;
        }
        let bs = self.get("bs").or_else(|| self.get("blocksize"))?;
        // With `kb_base=1000`, 4k is 4000 bytes.
        let binary = self.get("kb_base").is_none_or(|base| base == "1024");
        binary.then(|| size(bs)).flatten()
    }
}

/// Parses a size as fio does: `4096`, `4k`, `1M`, `1MiB`.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(unit) {
        "" => 0,
        "k" | "ki" => 10,
        "m" | "mi" => 20,
        "g" | "gi" => 30,
        "t" | "ti" => 40,
        _ => return None,
    };
    let bytes: u64 = number.parse().ok()?;
    bytes.checked_mul(1 << shift).filter(|&bytes| bytes > 0).map(|bytes| Bytes(bytes).0)
}

/// Parses a time as fio does: seconds, or a number with a unit.
fn seconds(text: &str) -> Option<Nanos> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let ns: u64 = match unit {
        "" | "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(ns).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_results::fio::parse;
    use disklab_results::integrity::check;

    #[test]
    fn sizes_and_times_are_fios() {
        let sizes =
            ["4096", "4k", "4K", "4KiB", "1M", "2g", "", "k", "4x", "99999999999t"].map(size);
        let expected = [4096, 4096, 4096, 4096, 1 << 20, 2 << 30].map(Some);
        assert_eq!(sizes[..6], expected);
        assert_eq!(sizes[6..], [None; 4]);
        assert_eq!(
            ["20", "20s", "2m", "5ms", "x"].map(seconds),
            [
                Some(Nanos::from_secs(20)),
                Some(Nanos::from_secs(20)),
                Some(Nanos::from_secs(120)),
                Some(Nanos::from_micros(5000)),
                None
            ]
        );
    }

    fn one(options: &str, read: &str) -> ResultRow {
        let text = format!(
            r#"{{"fio version":"fio-3.36","global options":{{"ioengine":"libaio","direct":"1"}},
                "jobs":[{{"jobname":"a","job options":{{{options}}},"read":{{{read}}}}}]}}"#
        );
        rows(&parse(text.as_bytes()).expect("a report")).remove(0)
    }

    const READ: &str = r#""iops":2000.0,"bw_bytes":8192000,"io_bytes":8192000,"total_ios":2000,
        "runtime":1000,"lat_ns":{"mean":4000000.0,"min":1000,"max":9000000,"N":2000}"#;

    #[test]
    fn what_was_asked_is_in_the_options() {
        let sound = one(r#""iodepth":"8","bs":"4k""#, READ);
        assert_eq!((sound.claim.in_flight, sound.claim.limited), (Some(8), false));
        assert_eq!(check(&sound.claim), []);
        let value = |axis: &str| {
            sound.cell.iter().find(|(name, _)| name == axis).map(|(_, value)| value.as_str())
        };
        assert_eq!(
            (value("job"), value("iodepth"), value("ioengine")),
            (Some("a"), Some("8"), Some("libaio"))
        );
        assert_eq!(
            check(&one(r#""iodepth":"32","bs":"4k""#, READ).claim).len(),
            1,
            "rate times latency is 8"
        );
        assert_eq!(check(&one(r#""iodepth":"32","bs":"4k","rate_iops":"2000""#, READ).claim), []);
        assert_eq!(
            check(&one(r#""iodepth":"8","bs":"8k""#, READ).claim).len(),
            1,
            "4 KiB a request"
        );
        assert_eq!(check(&one(r#""iodepth":"8","bssplit":"4k/50:8k/50""#, READ).claim), []);
    }

    /// fio 3.1 has no `bw_bytes` and no `N`.
    #[test]
    fn an_older_report() {
        let read = r#""iops":2000.0,"bw":8000,"io_bytes":8192000,"total_ios":2000,"runtime":1000,
            "lat_ns":{"mean":4000000.0,"min":1000,"max":9000000}"#;
        let row = one(r#""iodepth":"8","bs":"4k""#, read);
        assert_eq!(check(&row.claim), []);
        let sample = row.sample.expect("fio's");
        assert_eq!((sample.bw_bytes, sample.lat_mean_ns), (8_192_000, 4e6));
    }

    /// A report from fio 3.1: fio-plot's of a Samsung F1 with 16 jobs at depth 1
    /// (louwrentius/fio-plot@4445a897, BSD 3-Clause). It pads the percentiles to 20.
    #[test]
    fn padding_of_percentiles_is_no_latency() {
        let read = r#""io_bytes":27414528,"io_kbytes":26772,"bw":445,"iops":111.306980,
            "runtime":60131,"total_ios":6693,"short_ios":0,"drop_ios":0,
            "slat_ns":{"min":9547,"max":9405939,"mean":26816.327357,"stddev":119783.526243},
            "clat_ns":{"min":68032728,"max":771437213,"mean":143305508.252951,
                "stddev":69751727.831982,"percentile":{"1.000000":79167488,"50.000000":104333312,
                "99.000000":396361728,"99.900000":549453824,"99.990000":767557632,
                "0.00":0,"0.00":0,"0.00":0}},
            "lat_ns":{"min":68110574,"max":771456374,"mean":143335166.969969,
                "stddev":69749616.617225}"#;
        let options = r#""rw":"randread","bs":"4k","ioengine":"libaio","iodepth":"1","direct":"1",
            "runtime":"60","numjobs":"16","group_reporting":"1""#;
        let row = one(options, read);
        assert_eq!(check(&row.claim), []);
        assert_eq!(row.remarks, []);
        let percentiles = &row.claim.parts[0].latency.percentiles;
        assert_eq!(
            percentiles.iter().map(|&(percent, _)| percent).collect::<Vec<_>>(),
            [1.0, 50.0, 99.0, 99.9, 99.99]
        );
        let sample = row.sample.expect("fio's");
        assert_eq!(sample.p50_ns.map(|ns| ns.0), Some(104_333_312));
        // A requested percentile of 0 ns is still a contradiction.
        let false_one = read.replace("\"1.000000\":79167488", "\"1.000000\":0");
        assert!(!check(&one(options, &false_one).claim).is_empty());
    }

    /// For jobs that report as a group, fio prints the options of one, but the numbers include the
    /// requests in flight of all.
    #[test]
    fn a_group_may_have_more_in_flight() {
        assert_eq!(check(&one(r#""iodepth":"2","bs":"4k","group_reporting":"1""#, READ).claim), []);
        assert_eq!(
            check(&one(r#""iodepth":"32","bs":"4k","group_reporting":"1""#, READ).claim).len(),
            1
        );
        assert_eq!(check(&one(r#""iodepth":"2","bs":"4k""#, READ).claim).len(), 1);
    }

    #[test]
    fn syncs_are_no_short_reads() {
        let text = format!(
            r#"{{"jobs":[{{"jobname":"a","job options":{{}},"read":{{"short_ios":7}},
                "write":{{{READ}}},"sync":{{"total_ios":7}}}},
                {{"groupid":4294967295,"read":{{{READ}}}}}]}}"#
        );
        let rows = rows(&parse(text.as_bytes()).expect("a report"));
        assert_eq!(rows.len(), 1, "the entry without a name counts the others once more");
        assert!(
            !rows[0].remarks.iter().any(disklab_results::Remark::doubts),
            "{:?}",
            rows[0].remarks
        );
    }

    #[test]
    fn jobs_of_one_name_ran_together() {
        let job = |name: &str| {
            format!(r#"{{"jobname":"{name}","job options":{{"iodepth":"8"}},"read":{{{READ}}}}}"#)
        };
        let text = format!(r#"{{"jobs":[{},{},{}]}}"#, job("a"), job("b"), job("a"));
        let rows = rows(&parse(text.as_bytes()).expect("a report"));
        assert_eq!(rows.len(), 2);
        let iops: Vec<_> =
            rows.iter().map(|row| row.sample.as_ref().expect("fio's").iops).collect();
        assert_eq!(iops, [4000.0, 2000.0]);
        assert_eq!(rows[0].claim.parts.len(), 2);
    }
}
