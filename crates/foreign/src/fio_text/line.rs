//! The lines of fio's normal output, each parsed alone.

use disklab_units::Nanos;

use super::number::{between, nanos_of, scaled};
use disklab_results::fio;

/// The line about a job that is to run: `rnd: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) ...,
/// ioengine=libaio, iodepth=8`.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    pub name: String,
    pub group: u32,
    pub rw: String,
    /// Bytes of a request, if all have the same size.
    pub block: Option<u64>,
    pub engine: String,
    pub iodepth: u32,
}

/// The line that begins the results of a job: `rnd: (groupid=0, jobs=1): err= 0: pid=123: ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    pub name: String,
    pub group: u32,
    pub jobs: u32,
    pub errno: i64,
    pub pid: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
    Trim,
    Mixed,
}

/// The rates of a direction, each in four digits: `read: IOPS=1760, BW=7040KiB/s
/// (7209kB/s)(528KiB/75msec)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    pub direction: Direction,
    pub iops: f64,
    pub bytes_per_second: f64,
    pub bytes: f64,
    /// Running time in milliseconds.
    pub runtime: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintedLatency {
    Slat,
    Clat,
    Lat,
    /// The latency of fsync, or of requests of one priority.
    Other,
}

impl PrintedLatency {
    fn named(name: &str) -> Self {
        match name {
            "slat" => Self::Slat,
            "clat" => Self::Clat,
            "lat" => Self::Lat,
            _ => Self::Other,
        }
    }
}

/// Numbers of reads, writes and trims: `issued rwts: total=132,124,0,0 short=0,0,0,0
/// dropped=0,0,0,0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Issued {
    pub total: [u64; 3],
    pub short: [u64; 3],
    pub dropped: [u64; 3],
}

pub const HEADER: &str = ": (groupid=";
pub const DECLARED: &str = ": (g=";

pub fn declared(line: &str) -> Option<Declared> {
    let (name, rest) = line.split_once(DECLARED)?;
    let (group, rest) = rest.split_once("): rw=")?;
    let (rw, rest) = rest.split_once(", ")?;
    let sizes = rest.split_once("bs=")?.1.split_once(", ioengine=")?.0;
    let engine = between(rest, "ioengine=", ",")?;
    let depth = rest.rsplit_once("iodepth=")?.1.trim();
    Some(Declared {
        name: name.to_owned(),
        group: group.parse().ok()?,
        rw: rw.to_owned(),
        block: block(sizes),
        engine: engine.to_owned(),
        iodepth: depth.parse().ok()?,
    })
}

/// Returns the size of requests in `(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B`, if it is
/// one number.
fn block(sizes: &str) -> Option<u64> {
    let mut only = None;
    for part in sizes.split(", ") {
        let (_, range) = part.trim().split_once(") ")?;
        let (least, most) = range.split_once('-')?;
        if least != most || only.is_some_and(|known| known != least) {
            return None;
        }
        only = Some(least);
    }
    only.and_then(scaled).filter(|bytes| *bytes >= 1.0).map(|bytes| bytes as u64)
}

pub fn header(line: &str) -> Option<Header> {
    let (name, rest) = line.split_once(HEADER)?;
    let (group, rest) = rest.split_once(", jobs=")?;
    let (jobs, rest) = rest.split_once("): err=")?;
    let errno = rest.trim_start().split([':', ' ']).next()?;
    let (_, pid) = rest.rsplit_once(": pid=")?;
    Some(Header {
        name: name.to_owned(),
        group: group.parse().ok()?,
        jobs: jobs.parse().ok()?,
        errno: errno.parse().ok()?,
        pid: pid.split(':').next()?.trim().parse().ok()?,
    })
}

/// Returns whether the line should contain [`Rates`].
pub fn is_rates(line: &str) -> bool {
    line.split_once(": IOPS=").is_some_and(|(word, _)| direction(word).is_some())
}

fn direction(word: &str) -> Option<Direction> {
    Some(match word.trim() {
        "read" => Direction::Read,
        "write" => Direction::Write,
        "trim" => Direction::Trim,
        "mixed" => Direction::Mixed,
        _ => return None,
    })
}

pub fn rates(line: &str) -> Option<Rates> {
    let (word, rest) = line.split_once(": IOPS=")?;
    let (iops, rest) = rest.split_once(", BW=")?;
    let (bandwidth, rest) = rest.split_once(" (")?;
    let (_, rest) = rest.split_once(")(")?;
    let (bytes, rest) = rest.split_once('/')?;
    let (runtime, _) = rest.split_once("msec)")?;
    Some(Rates {
        direction: direction(word)?,
        iops: scaled(iops)?,
        bytes_per_second: scaled(bandwidth)?,
        bytes: scaled(bytes)?,
        runtime: runtime.parse().ok()?,
    })
}

/// Returns whether the line should be a [`latency`]; `lat (usec)   : 50=0.39%` is something else.
pub fn is_latency(line: &str) -> bool {
    line.trim_start().contains("sec): min=")
}

/// Parses a line such as `clat (usec): min=40, max=8979, avg=1775.34, stdev=2442.00`.
pub fn latency(line: &str) -> Option<(PrintedLatency, fio::Latency)> {
    let (name, rest) = line.trim().split_once(" (")?;
    let (unit, rest) = rest.split_once("): min=")?;
    let (min, rest) = rest.split_once(", max=")?;
    let (max, rest) = rest.split_once(", avg=")?;
    let (mean, stdev) = rest.split_once(", stdev=")?;
    let unit = nanos_of(unit)?;
    let ns = |text: &str| scaled(text).map(|value| value * unit).filter(|value| *value < 1e19);
    let (min, max) = (Nanos(ns(min)? as u64), Nanos(ns(max)? as u64));
    let latency = fio::Latency {
        min,
        max: max.max(min),
        mean_ns: ns(mean)?,
        stddev_ns: ns(stdev)?,
        ..fio::Latency::default()
    };
    Some((PrintedLatency::named(name), latency))
}

/// Parses `clat percentiles (usec):` into the kind of latency, and the ns of the unit. Lines that
/// begin with `|` follow.
pub fn percentiles_begin(line: &str) -> Option<(PrintedLatency, f64)> {
    let (name, rest) = line.trim().split_once(" percentiles (")?;
    Some((PrintedLatency::named(name), nanos_of(rest.strip_suffix("):")?)?))
}

/// Parses a line such as `|  1.00th=[   53],  5.00th=[   72],` into (percent, ns). Returns None for
/// other lines.
pub fn percentiles(line: &str, unit: f64) -> Option<Vec<(f64, u64)>> {
    let entries = line.trim().trim_end_matches(',').strip_prefix('|')?;
    entries.split("],").map(|entry| percentile(entry, unit)).collect()
}

fn percentile(entry: &str, unit: f64) -> Option<(f64, u64)> {
    let (percent, value) = entry.trim().split_once("th=[")?;
    let value = value.trim_end_matches(']').trim_start_matches(['>', '=', ' ']);
    let percent: f64 = percent.trim().parse().ok()?;
    let ns = scaled(value)? * unit;
    ((0.0..=100.0).contains(&percent) && ns < 1e19).then_some((percent, ns as u64))
}

/// Returns whether the line should contain [`Issued`].
pub fn is_issued(line: &str) -> bool {
    line.trim_start().starts_with("issued rwt")
}

pub fn issued(line: &str) -> Option<Issued> {
    let counts = |word: &str| -> Option<[u64; 3]> {
        let (_, rest) = line.split_once(word)?;
        let mut numbers = rest.split([',', ' ']).map(str::parse);
        Some([numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?])
    };
    Some(Issued {
        total: counts("total=")?,
        short: counts("short=")?,
        dropped: counts("dropped=")?,
    })
}

/// Parses `IO depths : 1=0.4%, 2=0.8%, ...`. Returns the share of submissions, 0 to 1, with as many
/// requests in flight as a constant depth of `iodepth` gives.
pub fn kept(line: &str, iodepth: u32) -> Option<f64> {
    let shares = line.trim().strip_prefix("IO depths")?.trim_start().strip_prefix(':')?;
    // `>=64=0.0%` splits at its last `=`.
    let named = match iodepth.clamp(1, 64).ilog2() {
        6 => ">=64".to_owned(),
        power => (1_u32 << power).to_string(),
    };
    let mut shares = shares.split(',').filter_map(|part| part.trim().rsplit_once('='));
    let (_, share) = shares.find(|(name, _)| *name == named)?;
    share.trim().strip_suffix('%')?.parse::<f64>().ok().map(|percent| percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_run() {
        let line = "a: b: (g=2): rw=randrw, bs=(R) 64.0KiB-64.0KiB, (W) 64.0KiB-64.0KiB, \
                    (T) 64.0KiB-64.0KiB, ioengine=io_uring, iodepth=12";
        let declared = declared(line).unwrap();
        assert_eq!(
            (declared.name.as_str(), declared.group, declared.rw.as_str()),
            ("a: b", 2, "randrw")
        );
        assert_eq!((declared.block, declared.iodepth), (Some(65_536), 12));
        let several = line.replace("(W) 64.0KiB-64.0KiB", "(W) 4096B-64.0KiB");
        assert_eq!(super::declared(&several).unwrap().block, None);
        assert_eq!(super::declared(&line[..line.len() - 12]), None, "cut short");
    }

    #[test]
    fn a_header_has_an_error_or_none() {
        let header = |line| {
            super::header(line).map(|header| (header.name, header.jobs, header.errno, header.pid))
        };
        assert_eq!(
            header("x: (groupid=0, jobs=4): err= 0: pid=9: Sun Nov 22 07:53:35 2026"),
            Some(("x".into(), 4, 0, 9))
        );
        let failed = "x: (groupid=0, jobs=1): err=28 (file:io_u.c:1876, func=io_u error, \
                      error=No space): pid=16: Sun";
        assert_eq!(header(failed), Some(("x".into(), 1, 28, 16)));
        assert_eq!(header("x: (groupid=0, jobs=1): err="), None);
    }

    #[test]
    fn rates_latencies_and_counts() {
        let found =
            rates("  write: IOPS=12.3k, BW=48.1MiB/s (50.5MB/s)(2889MiB/60001msec); 0 zone resets")
                .unwrap();
        assert_eq!(
            (found.direction, found.iops, found.runtime),
            (Direction::Write, 12_300.0, 60_001)
        );
        assert!(rates("  mixed: IOPS=0, BW=0 (0)(0B/75msec)").is_some());
        assert_eq!(rates("  read: IOPS=12.3k, BW=48.1MiB/s (50.5MB/s)(2889MiB/6000"), None);
        let (kind, latency) =
            latency("     lat (msec): min=2, max=1234.5k, avg= 9.50, stdev= 1.00").unwrap();
        assert_eq!(
            (kind, latency.max, latency.mean_ns),
            (PrintedLatency::Lat, Nanos(1_234_500_000_000), 9.5e6)
        );
        assert!(!is_latency("  lat (usec)   : 50=0.39%, 100=7.81%"));
        let old = issued("     issued rwt: total=4096,0,7, short=1,0,0, dropped=0,0,2").unwrap();
        assert_eq!((old.total, old.short, old.dropped), ([4096, 0, 7], [1, 0, 0], [0, 0, 2]));
    }

    #[test]
    fn percentiles_are_padded() {
        assert_eq!(
            percentiles_begin("    clat percentiles (usec):"),
            Some((PrintedLatency::Clat, 1e3))
        );
        assert_eq!(
            percentiles_begin("    sync percentiles (nsec):"),
            Some((PrintedLatency::Other, 1.0))
        );
        let found =
            percentiles("     | 99.00th=[  123], 99.95th=[>=2000], 99.990th=[1k],", 1e3).unwrap();
        assert_eq!(found, [(99.0, 123_000), (99.95, 2_000_000), (99.99, 1_000_000)]);
        assert_eq!(percentiles("     | 99.00th=[  1x],", 1e3), None);
    }

    #[test]
    fn depths_tell_whether_all_were_in_flight() {
        let line = "  IO depths    : 1=0.4%, 2=0.8%, 4=1.6%, 8=97.3%, 16=0.0%, 32=0.0%, >=64=0.1%";
        assert_eq!(
            [8, 12, 1, 256].map(|depth| kept(line, depth)),
            [0.973, 0.973, 0.004, 0.001].map(Some)
        );
        assert_eq!(kept("     submit    : 0=0.0%", 8), None);
    }
}
