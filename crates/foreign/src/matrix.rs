//! Matrices of a measured drive: a row for each depth and number of jobs, from reports of fio in
//! fio-plot's form, or from a table.
//!
//! The columns `drive`, `rw` (or `workload`), `depth` (or `iodepth`) and `iops` are required. These
//! are optional:
//!
//! - `set`: host and controller; it stands before the drive's name;
//! - `device` and `array`: their names in the lab;
//! - `bs` (default 4k), `jobs` or `numjobs` (default 1), `runtime_ms` or `runtime_s`;
//! - `size`: the used part of the disk from its beginning (default: all of it);
//! - latencies: `mean_ms`, `p50_ms`, `p99_ms`, and `p99.9_ms` or `p999_ms`; each also in `_us` and
//!   `_ns`.
//!
//! All other columns are notes for people.

use disklab_results::fio::{self, Job};
use disklab_results::integrity::{self, Claim, DirectionClaim, Latency};
use disklab_results::{Remark, sample};
use disklab_units::{Bytes, Nanos};

use crate::fio_json::{Load, groups, size};
use crate::format::Unreadable;

/// A load on a drive, and its numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatrixPoint {
    /// The place of the numbers in their source: `line 12`, `job 1`.
    pub place: String,
    /// The drive's name in the source. The text is empty if the source has none.
    pub drive: String,
    /// The device of the lab that models the drive.
    pub device: Option<String>,
    /// The array of the lab whose host the drive was measured in.
    pub array: Option<String>,
    /// fio's word for the load: `randread`.
    pub rw: String,
    /// Bytes of a request.
    pub block: u64,
    pub depth: u32,
    pub jobs: u32,
    /// The used part of the disk in bytes, from its beginning, or None for all of it.
    pub span: Option<u64>,
    pub runtime: Option<Nanos>,
    pub iops: f64,
    /// The mean latency in ns.
    pub mean: Option<f64>,
    /// Percentiles as (percent, ns), rising.
    pub percentiles: Vec<(f64, f64)>,
    /// Reasons why the numbers are doubtful. The list is empty if they are sound.
    pub doubts: Vec<Remark>,
}

impl MatrixPoint {
    /// Returns the requests in flight at any moment.
    pub fn outstanding(&self) -> u32 {
        self.depth.saturating_mul(self.jobs)
    }

    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let same = |(known, _): &&(f64, f64)| (known - percent).abs() < 1e-6;
        self.percentiles.iter().find(same).map(|&(_, ns)| ns)
    }
}

/// Returns the remarks that doubt a claim.
fn doubts(claim: &Claim) -> Vec<Remark> {
    integrity::check(claim).into_iter().filter(Remark::doubts).collect()
}

/// The largest number of requests in flight that is accepted; fio takes fewer.
const MOST_IN_FLIGHT: f64 = 1e6;
/// The largest number that is accepted: beyond any rate, or latency in ns, that can be measured.
const LARGEST_NUMBER: f64 = 1e15;
/// The percentiles that fio reports by default.
const PERCENTS: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];
/// The request size of a row that names none.
const USUAL_BLOCK: u64 = 4096;
/// Options that limit the load, so that its rate is not the drive's.
const FIO_LIMITS: [&str; 4] = ["rate", "rate_iops", "thinktime", "latency_target"];

/// Parses a report of fio. If the options of an old report lack the load, `name`, the name of the
/// file, supplies it: fio-plot's `randread-16-1.json` has rw, iodepth and numjobs.
pub fn from_json(bytes: &[u8], name: &str) -> Result<Vec<MatrixPoint>, Unreadable> {
    let report = fio::parse(bytes).map_err(|error| Unreadable::whole(error.to_string()))?;
    let named = NamedPoint::parse(name);
    let mut points = Vec::new();
    for (index, jobs) in groups(&report) {
        let load = Load::new(jobs[0], &report.global);
        let place = format!("job {} ({})", index + 1, jobs[0].name);
        let point = json_point(&jobs, &load, &named)
            .and_then(|point| in_nanoseconds(&report.version, point));
        points.push(MatrixPoint {
            place: place.clone(),
            ..point.map_err(|message| Unreadable::whole(format!("{place}: {message}")))?
        });
    }
    Ok(points)
}

/// Refuses a point whose latencies could not be read, because fio before 3 has other names for
/// them.
fn in_nanoseconds(version: &str, point: MatrixPoint) -> Result<MatrixPoint, String> {
    let is_old = ["fio-1.", "fio-2."].iter().any(|old| version.starts_with(old));
    if is_old && point.mean.is_none() && point.percentiles.is_empty() {
        return Err(format!(
            "{version} gives latencies in microseconds, and disklab reads those of fio 3 in \
             nanoseconds; measure again with fio 3, or write a table with the columns mean_us, \
             p50_us and p99_us"
        ));
    }
    Ok(point)
}

fn json_point(jobs: &[&Job], load: &Load, named: &NamedPoint) -> Result<MatrixPoint, String> {
    if let Some(failed) = jobs.iter().find(|job| job.error != 0) {
        return Err(format!(
            "the job failed (`error` is {}), so its rate is not the disk's",
            failed.error
        ));
    }
    if let Some(limit) = FIO_LIMITS.iter().find(|name| load.get(name).is_some()) {
        return Err(format!("`{limit}` limits the rate, so it is not the disk's"));
    }
    let rw = load.get("rw").or_else(|| load.get("readwrite")).map(str::to_owned);
    let rw = rw.or_else(|| named.rw.clone()).ok_or("its options lack `rw`")?;
    let claim = load.claim(jobs);
    let numjobs = load.number("numjobs").or(named.jobs).unwrap_or(1).max(jobs.len() as u32);
    let depth = claim.in_flight.map(|in_flight| in_flight / numjobs.max(1));
    let depth = depth.or(named.depth).ok_or("its options lack `iodepth`")?;
    let (sample, _) = sample::of_jobs(jobs);
    if sample.requests == 0 {
        return Err("the job made no request".to_owned());
    }
    let latency = sample::latency_of(jobs).map(|(_, latency)| latency);
    let percentile = |&percent: &f64| {
        let ns = latency.as_ref()?.percentile(percent)?;
        Some((percent, ns.0 as f64))
    };
    Ok(MatrixPoint {
        rw,
        block: claim.block.unwrap_or(USUAL_BLOCK),
        depth: depth.max(1),
        jobs: numjobs.max(1),
        span: ["size", "filesize"].iter().find_map(|name| load.get(name)).and_then(size),
        runtime: claim.ran,
        iops: sample.iops,
        mean: Some(sample.lat_mean_ns).filter(|&mean| mean > 0.0),
        percentiles: PERCENTS.iter().filter_map(percentile).collect(),
        doubts: doubts(&claim),
        ..MatrixPoint::default()
    })
}

/// The parts of a load in the name of fio-plot's file.
#[derive(Debug, Default, PartialEq)]
struct NamedPoint {
    rw: Option<String>,
    depth: Option<u32>,
    jobs: Option<u32>,
}

impl NamedPoint {
    fn parse(name: &str) -> Self {
        let stem = name.rsplit('/').next().unwrap_or(name);
        let stem = stem.strip_suffix(".json").unwrap_or(stem);
        let mut parts = stem.rsplit('-');
        let mut number = || parts.next().and_then(|part| part.parse().ok());
        let (jobs, depth) = (number(), number());
        let rw = parts.next().filter(|rw| !rw.is_empty()).map(str::to_owned);
        if rw.is_none() || depth.is_none() { Self::default() } else { Self { rw, depth, jobs } }
    }
}

/// A column of a table of measured numbers.
enum MatrixColumn {
    Set,
    Drive,
    Device,
    Array,
    Rw,
    Block,
    Depth,
    Jobs,
    Span,
    /// Factor to ns.
    Runtime(f64),
    Iops,
    Mean(f64),
    Percentile(f64, f64),
    Other,
}

impl MatrixColumn {
    fn named(head: &str) -> Self {
        match head {
            "set" => Self::Set,
            "drive" => Self::Drive,
            "device" => Self::Device,
            "array" => Self::Array,
            "rw" | "workload" => Self::Rw,
            "bs" => Self::Block,
            "depth" | "iodepth" => Self::Depth,
            "jobs" | "numjobs" => Self::Jobs,
            "size" => Self::Span,
            "runtime_ms" => Self::Runtime(1e6),
            "runtime_s" => Self::Runtime(1e9),
            "iops" => Self::Iops,
            _ => Self::latency(head).unwrap_or(Self::Other),
        }
    }

    fn latency(head: &str) -> Option<Self> {
        let (what, unit) = head.rsplit_once('_')?;
        let scale = match unit {
            "ms" => 1e6,
            "us" => 1e3,
            "ns" => 1.0,
            _ => return None,
        };
        if what == "mean" {
            return Some(Self::Mean(scale));
        }
        let percent = match what.strip_prefix('p')? {
            "999" => 99.9,
            "9999" => 99.99,
            percent => percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))?,
        };
        Some(Self::Percentile(percent, scale))
    }
}

/// Returns whether a table with these columns, the first line of a file, is a matrix.
pub fn is_matrix(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let columns: Vec<&str> = line.trim().split(',').map(str::trim).collect();
    ["drive", "iops"].iter().all(|name| columns.contains(name))
}

/// Parses a table.
pub fn from_csv(bytes: &[u8]) -> Result<Vec<MatrixPoint>, Unreadable> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let unreadable = |error: csv::Error| {
        Unreadable::line(error.position().map_or(1, csv::Position::line), error.to_string())
    };
    let heads = reader.headers().map_err(unreadable)?.clone();
    for (wanted, other) in
        [("drive", "drive"), ("rw", "workload"), ("depth", "iodepth"), ("iops", "iops")]
    {
        if !heads.iter().any(|head| head == wanted || head == other) {
            return Err(Unreadable::whole(format!(
                "it has no column `{wanted}`: a matrix needs drive, rw, depth and iops"
            )));
        }
    }
    let columns: Vec<MatrixColumn> = heads.iter().map(MatrixColumn::named).collect();
    let mut points = Vec::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map_or(0, csv::Position::line);
        let fields = columns.iter().zip(heads.iter().zip(&record));
        points.push(csv_point(fields, line).map_err(|message| Unreadable::line(line, message))?);
    }
    if points.is_empty() {
        return Err(Unreadable::whole("it has only the line of column names"));
    }
    Ok(points)
}

fn csv_point<'a>(
    fields: impl Iterator<Item = (&'a MatrixColumn, (&'a str, &'a str))>,
    line: u64,
) -> Result<MatrixPoint, String> {
    let mut point = MatrixPoint {
        place: format!("line {line}"),
        block: USUAL_BLOCK,
        jobs: 1,
        ..MatrixPoint::default()
    };
    let mut set = String::new();
    for (column, (head, field)) in fields {
        if matches!(field, "" | "-" | "NA") {
            continue;
        }
        let within = |least: f64, most: f64| -> Result<f64, String> {
            let value = field.parse::<f64>().ok();
            match value.filter(|value| (least..=most).contains(value)) {
                Some(value) => Ok(value),
                None if value.is_some_and(|value| !value.is_finite()) => Err(format!(
                    "`{head}`: {field:?} is not a measured number; leave the field empty, or the \
                     row out"
                )),
                None => {
                    Err(format!("`{head}`: {field:?} is not a number from {least:e} to {most:e}"))
                }
            }
        };
        let latency = |scale: f64| Ok::<f64, String>(within(0.0, LARGEST_NUMBER)? * scale);
        // Accepts sizes in the form of device files, or in fio's form.
        let bytes = || -> Result<u64, String> {
            let bytes = field.parse::<Bytes>().map(|bytes| bytes.0);
            bytes.or_else(|error| size(field).ok_or_else(|| format!("`{head}`: {error}")))
        };
        match column {
            MatrixColumn::Set => field.clone_into(&mut set),
            MatrixColumn::Drive => field.clone_into(&mut point.drive),
            MatrixColumn::Device => point.device = Some(field.to_owned()),
            MatrixColumn::Array => point.array = Some(field.to_owned()),
            MatrixColumn::Rw => field.clone_into(&mut point.rw),
            MatrixColumn::Block => point.block = bytes()?,
            MatrixColumn::Depth => point.depth = within(1.0, MOST_IN_FLIGHT)? as u32,
            MatrixColumn::Jobs => point.jobs = within(1.0, MOST_IN_FLIGHT)? as u32,
            MatrixColumn::Span => point.span = Some(bytes()?),
            MatrixColumn::Runtime(scale) => {
                point.runtime = Some(Nanos((within(0.0, LARGEST_NUMBER)? * scale) as u64));
            }
            MatrixColumn::Iops => point.iops = within(1e-3, LARGEST_NUMBER)?,
            MatrixColumn::Mean(scale) => point.mean = Some(latency(*scale)?),
            MatrixColumn::Percentile(percent, scale) => {
                point.percentiles.push((*percent, latency(*scale)?));
            }
            MatrixColumn::Other => {}
        }
    }
    let missing = [
        (point.drive.is_empty(), "drive"),
        (point.rw.is_empty(), "rw"),
        (point.depth == 0, "depth"),
        (point.iops == 0.0, "iops"),
    ];
    if let Some((_, name)) = missing.iter().find(|(missing, _)| *missing) {
        return Err(format!("`{name}` is empty"));
    }
    if f64::from(point.depth) * f64::from(point.jobs) > MOST_IN_FLIGHT {
        return Err(format!(
            "{} jobs of depth {} have too many requests in flight ({MOST_IN_FLIGHT} at most)",
            point.jobs, point.depth
        ));
    }
    if !set.is_empty() {
        point.drive = format!("{set}/{}", point.drive);
    }
    point.percentiles.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    point.doubts = doubts(&csv_claim(&point));
    Ok(point)
}

/// Returns the claim of a row of a table.
fn csv_claim(point: &MatrixPoint) -> Claim {
    let latency =
        Latency { mean: point.mean, percentiles: point.percentiles.clone(), ..Latency::default() };
    let part = DirectionClaim {
        iops: Some(point.iops),
        mean: point.mean,
        latency,
        ..DirectionClaim::default()
    };
    Claim {
        in_flight: Some(point.outstanding()),
        ran: point.runtime,
        parts: vec![part],
        ..Claim::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "drive,device,rw,bs,depth,jobs,iops,p50_ms,p99_ms,p999_ms,mean_ms,source\n\
        F1,desktop-1tb,randread,4k,32,1,131.0,179.3,876.6,1082,244.2,\"fio-plot, file x\"\n\
        F1,desktop-1tb,randread,4k,1,1,72.05,,,,,x\n";

    #[test]
    fn a_table_of_ours() {
        let points = from_csv(OWN.as_bytes()).unwrap();
        let first = &points[0];
        assert_eq!((first.device.as_deref(), first.block), (Some("desktop-1tb"), 4096));
        assert_eq!((first.depth, first.jobs, first.iops), (32, 1, 131.0));
        assert_eq!(first.percentiles, [(50.0, 179.3e6), (99.0, 876.6e6), (99.9, 1082e6)]);
        assert_eq!((first.mean, points[1].mean), (Some(244.2e6), None));
        assert_eq!((points[1].percentiles.len(), points[1].span), (0, None));
        assert!(is_matrix(OWN.as_bytes()) && !is_matrix(b"policy,iops\npid,3\n"));
    }

    #[test]
    fn a_table_of_fio_plot() {
        let text = "set,drive,workload,depth,jobs,iops,mean_ms,p99_ms,p99.9_ms,runtime_ms,size\n\
            G10,F1,randwrite,2,16,149.323,213.543,291.504,367.002,60185,100G\n";
        let point = from_csv(text.as_bytes()).unwrap().remove(0);
        assert_eq!((point.drive.as_str(), point.rw.as_str()), ("G10/F1", "randwrite"));
        assert_eq!((point.outstanding(), point.span), (32, Some(100 << 30)));
        assert_eq!(point.percentile(99.9), Some(367.002e6));
        assert_eq!(point.runtime, Some(Nanos::from_millis(60_185)));
    }

    #[test]
    fn wrong_tables_say_where() {
        let wrong = |text: &str| from_csv(text.as_bytes()).unwrap_err().to_string();
        let missing = wrong("drive,rw,iops\nx,randread,3\n");
        assert!(missing.contains("no column `depth`"), "{missing}");
        let head = "drive,rw,depth,jobs,iops\n";
        for (row, said) in [
            ("x,randread,0,1,3", "line 2: `depth`: \"0\" is not a number from 1e0 to 1e6"),
            ("x,randread,1,1,many", "line 2: `iops`: \"many\" is not a number"),
            ("x,randread,1,1,nan", "line 2: `iops`: \"nan\" is not a measured number; leave"),
            ("x,randread,1,1,-inf", "line 2: `iops`: \"-inf\" is not a measured number"),
            ("x,randread,1,1,", "line 2: `iops` is empty"),
            (",randread,1,1,2", "line 2: `drive` is empty"),
            ("x,randread,90000,90000,2", "line 2: 90000 jobs of depth 90000 have too many"),
        ] {
            let error = wrong(&format!("{head}{row}\n"));
            assert!(error.starts_with(said), "{error}");
        }
        assert!(wrong(head).contains("only the line of column names"), "{}", wrong(head));
    }

    #[test]
    fn sizes_are_those_of_disks() {
        let head = "drive,rw,depth,iops,bs,size\n";
        let table = format!("{head}x,randread,1,3,4 KiB,2 TB\n");
        let point = from_csv(table.as_bytes()).unwrap().remove(0);
        assert_eq!((point.block, point.span), (4096, Some(2_000_000_000_000)));
        let fios = from_csv(format!("{head}x,randread,1,3,4k,50Mi\n").as_bytes()).unwrap();
        assert_eq!(fios[0].span, Some(50 << 20));
        let wrong = from_csv(format!("{head}x,randread,1,3,4k,big\n").as_bytes()).unwrap_err();
        let said = "line 2: `size`: `big` is not a size: write `4k`, `50 GiB` or `4 TB`";
        assert!(wrong.to_string().starts_with(said), "{wrong}");
    }

    #[test]
    fn rows_that_cannot_be_true_are_doubted() {
        let head = "drive,rw,depth,jobs,iops,mean_ms,p50_ms,p99_ms\n";
        for (row, said) in [
            ("100,10,20,5", "p99 is 5 ms, below p50, which is 20 ms"),
            ("100,0.01,,", "requests in flight instead of 1 (Little's law)"),
            ("100,10,9,30", ""),
            ("100,,9,30", ""),
        ] {
            let table = format!("{head}x,randread,1,1,{row}\n");
            let point = from_csv(table.as_bytes()).unwrap().remove(0);
            let doubts = point.doubts.iter().map(ToString::to_string).collect::<Vec<_>>();
            let doubts = doubts.join("; ");
            assert!(doubts.is_empty() == said.is_empty() && doubts.contains(said), "{doubts}");
        }
    }

    /// fio 2 has no latency in nanoseconds; a renamed one contradicts its rate.
    #[test]
    fn latencies_in_microseconds_are_found() {
        let report = |version: &str, unit: &str| {
            format!(
                r#"{{"fio version":"{version}","jobs":[{{"jobname":"a","error":0,
                "job options":{{"rw":"randread","bs":"4k","ioengine":"libaio","iodepth":"1",
                "direct":"1"}},"read":{{"io_bytes":17694720,"bw":288,"iops":72.0,"runtime":60000,
                "total_ios":4320,"clat{unit}":{{"min":3047,"max":24705,"mean":13850.0,
                "percentile":{{"50.000000":13828,"99.000000":22413}}}},
                "lat{unit}":{{"min":3048,"max":24706,"mean":13852.0}}}}}}]}}"#
            )
        };
        let old = from_json(report("fio-2.21", "").as_bytes(), "a.json").unwrap_err().to_string();
        assert!(old.contains("job 1 (a): fio-2.21 gives latencies in microseconds"), "{old}");
        let renamed = from_json(report("fio-3.1", "_ns").as_bytes(), "a.json").unwrap().remove(0);
        let said: Vec<String> = renamed.doubts.iter().map(ToString::to_string).collect();
        assert!(said.iter().any(|doubt| doubt.contains("(Little's law)")), "{said:?}");
    }

    /// A report of fio 3.1 from fio-plot: the options decide, whatever the name of the file.
    #[test]
    fn a_report_of_fio_plot() {
        let report = |options: &str| {
            format!(
                r#"{{"fio version":"fio-3.1","jobs":[{{"jobname":"random-read","error":0,
                "job options":{{{options}}},"read":{{"io_bytes":27320320,"bw":445,
                "iops":111.0,"runtime":60112,"total_ios":6671,"clat_ns":{{"min":1,"max":868056000,
                "mean":144100000.0,"percentile":{{"50.000000":105381888,"99.000000":400556032,
                "99.900000":608174080,"0.00":0,"0.00":0}}}},
                "lat_ns":{{"min":1,"max":868056000,"mean":144133000.0}}}}}}]}}"#
            )
        };
        let full = r#""rw":"randread","bs":"4k","ioengine":"libaio","iodepth":"4","direct":"1",
            "numjobs":"4","group_reporting":"1","size":"30G","filename":"/dev/sdb""#;
        let point = from_json(report(full).as_bytes(), "x/randwrite-16-1.json").unwrap().remove(0);
        assert_eq!((point.rw.as_str(), point.depth, point.jobs), ("randread", 4, 4));
        assert_eq!((point.block, point.span), (4096, Some(30 << 30)));
        assert_eq!(point.percentiles.len(), 3);
        assert_eq!(point.percentile(50.0), Some(105_381_888.0));
        assert_eq!((point.mean, point.iops), (Some(144_133_000.0), 111.0));
        let named = from_json(report("").as_bytes(), "x/randread-16-2.json").unwrap().remove(0);
        assert_eq!((named.rw.as_str(), named.depth, named.jobs), ("randread", 16, 2));
        let nothing = from_json(report("").as_bytes(), "result.json").unwrap_err().to_string();
        assert!(nothing.contains("job 1 (random-read): its options lack `rw`"), "{nothing}");
        let limited = format!(r#"{full},"rate_iops":"10""#);
        let limited = from_json(report(&limited).as_bytes(), "a.json").unwrap_err().to_string();
        assert!(limited.contains("`rate_iops` limits the rate"), "{limited}");
        let failed = report(full).replace("\"error\":0", "\"error\":5");
        let failed = from_json(failed.as_bytes(), "a.json").unwrap_err().to_string();
        assert!(failed.contains("the job failed (`error` is 5)"), "{failed}");
    }
}
