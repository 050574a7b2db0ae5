//! Runs one load on one modelled disk, in virtual time.
//!
//! All jobs together keep depth times jobs requests under way, and issue each at the moment at
//! which an earlier one completes. Requests beyond the disk's queue wait outside in order of
//! arrival: there is no I/O scheduler.

use disklab_config::device::{Device, Model};
use disklab_config::host::HostTime;
use disklab_disks::{Bank, Completion, Op, Request, build};
use disklab_foreign::matrix::MatrixPoint;
use disklab_units::{Bytes, Nanos, Random, Sectors, Seed};

/// The order of the requests' addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Pattern {
    Random,
    /// Each job reads or writes sequentially from the beginning of the disk, as fio does without
    /// `offset_increment`.
    Sequential,
}

/// A load that the runner can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatrixLoad {
    op: OpKind,
    pattern: Pattern,
    block: u64,
    /// Number of requests under way.
    outstanding: u32,
    /// Number of sequential streams; 1 for random requests, where jobs make no difference.
    streams: u32,
    /// Number of bytes used, from the beginning of the disk.
    span: u64,
    /// Longest run, in whole seconds of virtual time.
    seconds: u64,
}

/// Reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum OpKind {
    Read,
    Write,
}

/// Runtime in seconds of a point that names none: the default of fio-plot.
const USUAL_SECONDS: u64 = 60;
const SEARCHED: u64 = 4 << 30;
/// Most seconds of a run; longer ones only reduce the noise.
const MOST_SECONDS: u64 = 600;

impl MatrixLoad {
    /// Returns the load of a point on a disk of `bytes`, or the reason why it cannot be run.
    pub fn new(point: &MatrixPoint, bytes: Bytes) -> Result<Self, String> {
        let (op, pattern) = match point.rw.as_str() {
            "randread" => (OpKind::Read, Pattern::Random),
            "randwrite" => (OpKind::Write, Pattern::Random),
            "read" => (OpKind::Read, Pattern::Sequential),
            "write" => (OpKind::Write, Pattern::Sequential),
            other => {
                return Err(format!(
                    "`{other}` cannot be run on a model; randread, randwrite, read and write can"
                ));
            }
        };
        let block = point.block;
        if !block.is_multiple_of(Sectors::SIZE) || block == 0 || block > 32 << 20 {
            return Err(format!(
                "requests of {block} bytes cannot be run: expected a multiple of 512 bytes, \
                 at most 32 MiB"
            ));
        }
        let span = point.span.unwrap_or(bytes.0);
        if span > bytes.0 {
            let (span, bytes) = (Bytes(span), bytes);
            return Err(format!(
                "the measurement used {span}, and the device has {bytes}; name a larger device"
            ));
        }
        if span < block {
            return Err(format!(
                "the measured range, {}, is shorter than one request of {block} bytes",
                Bytes(span)
            ));
        }
        let seconds = point.runtime.map_or(USUAL_SECONDS, |runtime| runtime.0.div_ceil(SECOND));
        let streams = if pattern == Pattern::Random { 1 } else { point.jobs.max(1) };
        Ok(Self {
            op,
            pattern,
            block,
            outstanding: point.outstanding().max(1),
            streams,
            span,
            seconds: seconds.clamp(1, MOST_SECONDS),
        })
    }

    /// Returns the number of requests under way.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Returns the load as a search runs it: for the usual time and, on an SSD, where places do not
    /// matter, within a part of the disk, so that the model touches less memory.
    pub(crate) fn for_search(self, model: &Model) -> Self {
        let span = match model {
            Model::Ssd(_) => self.span.min(SEARCHED),
            _ => self.span,
        };
        Self { seconds: USUAL_SECONDS, span, ..self }
    }
}

const SECOND: u64 = 1_000_000_000;

/// The numbers of a load that was served.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedLoad {
    pub iops: f64,
    /// Mean time from the submission of a request to its completion, in ns.
    pub mean: f64,
    /// The latencies that fio calls clat, in ns, in ascending order.
    latencies: Vec<u64>,
}

impl ServedLoad {
    /// Returns the completion latency that `percent` of the requests did not exceed, in ns.
    pub fn percentile(&self, percent: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        // The subtraction removes rounding errors: 99.9 % of 1000 are 999.
        let rank = percent * self.latencies.len() as f64 / 100.0 - 1e-6;
        let index = rank.ceil().max(1.0) as usize;
        self.latencies.get(index.saturating_sub(1).min(last)).map_or(0.0, |&ns| ns as f64)
    }
}

/// Least number of requests between two checks whether the rate is steady.
const LEAST_CHUNK: usize = 4096;
/// Number of requests after which a run always ends.
const MOST: usize = 2_000_000;
/// Greatest relative difference between two successive quarters of a run whose rate is steady.
const STEADY: f64 = 0.005;

/// A disk, and the time of the machine that it is in; `None` counts as no time.
#[derive(Debug, Clone)]
pub struct HostedDevice {
    pub device: Device,
    pub host: Option<HostTime>,
}

/// Serves a load. `least` is the number of requests before a rate may count as steady.
///
/// The run ends after as much virtual time as the measurement took. It ends earlier once many
/// requests were served at a steady rate; then its first half is left out.
pub fn serve(hosted: &HostedDevice, load: &MatrixLoad, least: usize, seed: Seed) -> ServedLoad {
    let HostedDevice { device, host } = hosted;
    let model = host.map_or_else(|| device.model.clone(), |host| device.model.connected_to(&host));
    let disk = build(&model, device.bytes, seed);
    let mut run = Run::new(Bank::new(vec![disk], None, *host), load, seed);
    let chunk = LEAST_CHUNK.max(load.outstanding as usize * 4);
    // While a buffer fills, requests are faster than all later ones.
    let least = least + 3 * (buffer(&device.model).0 / load.block.max(1)) as usize;
    let end = Nanos(load.seconds * SECOND);
    while run.now < end && run.done.len() < MOST {
        if !run.serve(chunk, end) {
            break;
        }
        if run.done.len() >= least && run.is_steady() {
            return run.numbers(run.done.len() / 2, *host);
        }
    }
    run.numbers(0, *host)
}

fn buffer(model: &Model) -> Bytes {
    match model {
        Model::Hdd(hdd) => hdd.write_buffer,
        Model::Ssd(ssd) => ssd.write_buffer,
        Model::Card(_) | Model::Constant(_) => Bytes::ZERO,
    }
}

struct Run<'a> {
    bank: Bank,
    load: &'a MatrixLoad,
    random: Random,
    now: Nanos,
    /// Submission time of each request that is under way, by its id.
    submitted: Vec<Nanos>,
    /// The next block of each stream.
    next: Vec<u64>,
    /// Completion time and latency (ns) of each request, in order of completion.
    done: Vec<(Nanos, u64)>,
    fresh: Vec<(usize, Completion)>,
}

impl<'a> Run<'a> {
    fn new(bank: Bank, load: &'a MatrixLoad, seed: Seed) -> Self {
        let mut run = Self {
            bank,
            load,
            random: Random::new(seed.derive("matrix")),
            now: Nanos::ZERO,
            submitted: vec![Nanos::ZERO; load.outstanding as usize],
            next: vec![0; load.streams as usize],
            done: Vec::new(),
            fresh: Vec::new(),
        };
        (0..load.outstanding).for_each(|id| run.submit(id));
        run
    }

    fn submit(&mut self, id: u32) {
        let blocks = (self.load.span / self.load.block).max(1);
        let block = match self.load.pattern {
            Pattern::Random => self.random.below(blocks),
            Pattern::Sequential => {
                let stream = (id % self.load.streams) as usize;
                let block = self.next[stream];
                self.next[stream] = (block + 1) % blocks;
                block
            }
        };
        let op = match self.load.op {
            OpKind::Read => Op::Read,
            OpKind::Write => Op::Write,
        };
        let sectors = self.load.block / Sectors::SIZE;
        let request =
            Request { id, op, sector: block * sectors, sectors: sectors as u32, fua: false };
        self.submitted[id as usize] = self.now;
        self.bank.submit(self.now, 0, request);
    }

    /// Serves `requests` more, or as many as complete by `end`. Returns false if the disk has no
    /// next event.
    fn serve(&mut self, requests: usize, end: Nanos) -> bool {
        let enough = self.done.len() + requests;
        let mut fresh = std::mem::take(&mut self.fresh);
        while self.done.len() < enough && self.now < end {
            let Some(next) = self.bank.next_event() else { return false };
            self.now = next;
            self.bank.advance(next, &mut fresh);
            for (_, completion) in fresh.drain(..) {
                let latency = completion.at.0 - self.submitted[completion.id as usize].0;
                self.done.push((completion.at, latency));
                self.submit(completion.id);
            }
        }
        self.fresh = fresh;
        true
    }

    /// Returns the rate from request number `from` to `to`, in requests a second.
    fn rate(&self, from: usize, to: usize) -> f64 {
        let time = |index: usize| index.checked_sub(1).map_or(0, |last| self.done[last].0.0);
        (to - from) as f64 * 1e9 / (time(to) - time(from)).max(1) as f64
    }

    fn is_steady(&self) -> bool {
        let count = self.done.len();
        let (third, fourth) =
            (self.rate(count / 2, count / 4 * 3), self.rate(count / 4 * 3, count));
        (fourth / third - 1.0).abs() <= STEADY
    }

    /// Returns the numbers of all requests but the first `first`.
    fn numbers(&self, first: usize, host: Option<HostTime>) -> ServedLoad {
        let count = self.done.len();
        if count <= first {
            return ServedLoad { iops: 0.0, mean: 0.0, latencies: Vec::new() };
        }
        let iops = self.rate(first, count);
        let whole = self.done[first..].iter().map(|(_, latency)| *latency);
        let sum: u128 = whole.clone().map(u128::from).sum();
        let completion = |ns| host.map_or(ns, |host| host.completion_latency(Nanos(ns)).0);
        let mut latencies: Vec<u64> = whole.map(completion).collect();
        latencies.sort_unstable();
        ServedLoad { iops, mean: sum as f64 / latencies.len() as f64, latencies }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_config::device::Constant;

    fn constant(servers: u32) -> HostedDevice {
        let device = Device {
            name: "c".to_owned(),
            summary: String::new(),
            bytes: Bytes::gib(1),
            used: Bytes::gib(1),
            model: Model::Constant(Constant {
                latency: Nanos::from_millis(1),
                servers,
                rotational: false,
                queue_depth: 32,
            }),
            estimated: Vec::new(),
            inherited: None,
            host: None,
        };
        HostedDevice { device, host: None }
    }

    fn point(rw: &str, depth: u32, jobs: u32) -> MatrixPoint {
        MatrixPoint { rw: rw.to_owned(), block: 4096, depth, jobs, ..MatrixPoint::default() }
    }

    #[test]
    fn a_closed_loop_obeys_littles_law() {
        for (servers, depth, jobs, iops) in [(1, 1, 1, 1000.0), (1, 4, 2, 1000.0), (8, 4, 2, 8e3)] {
            let device = constant(servers);
            let load =
                MatrixLoad::new(&point("randread", depth, jobs), device.device.bytes).unwrap();
            let served = serve(&device, &load, 40_000, Seed(1));
            assert!((served.iops / iops - 1.0).abs() < 1e-3, "{}", served.iops);
            let in_flight = served.iops * served.mean / 1e9;
            assert!((in_flight / f64::from(depth * jobs) - 1.0).abs() < 1e-3, "{in_flight}");
            assert_eq!(served, serve(&device, &load, 40_000, Seed(1)));
        }
    }

    #[test]
    fn loads_that_cannot_be_run_say_why() {
        let bytes = Bytes::gib(1);
        let wrong = |point: &MatrixPoint| MatrixLoad::new(point, bytes).unwrap_err();
        assert!(wrong(&point("randrw", 1, 1)).starts_with("`randrw` cannot be run on a model"));
        let large = MatrixPoint { span: Some(2 << 30), ..point("randread", 1, 1) };
        let why = "the measurement used 2 GiB, and the device has 1 GiB; name a larger device";
        assert_eq!(wrong(&large), why);
        let odd = MatrixPoint { block: 1000, ..point("randread", 1, 1) };
        assert!(wrong(&odd).contains("1000 bytes"));
    }

    #[test]
    fn percentiles_are_of_sorted_latencies() {
        let served = ServedLoad { iops: 1.0, mean: 1.0, latencies: (1..=1000).collect() };
        assert_eq!(
            [50.0, 99.0, 99.9, 100.0].map(|percent| served.percentile(percent) as u64),
            [500, 990, 999, 1000]
        );
    }

    #[test]
    fn the_host_takes_its_time() {
        let host = HostTime {
            submit: Nanos::from_micros(300),
            complete: Nanos::from_micros(700),
            requests_per_second: Some(2000),
            link: None,
        };
        let device = HostedDevice { host: Some(host), ..constant(8) };
        for (depth, iops) in [(1, 500.0), (8, 2000.0)] {
            let load = MatrixLoad::new(&point("randread", depth, 1), Bytes::gib(1)).unwrap();
            let served = serve(&device, &load, 40_000, Seed(1));
            assert!((served.iops / iops - 1.0).abs() < 1e-3, "{}", served.iops);
            let there = served.mean - served.percentile(50.0);
            assert!((there - 300e3).abs() < 1e3, "percentiles begin after {there} ns");
        }
    }

    /// Sequential jobs follow each other through the same places.
    #[test]
    fn sequential_jobs_are_streams() {
        let load = MatrixLoad::new(&point("read", 2, 3), Bytes::gib(1)).unwrap();
        assert_eq!((load.streams, load.outstanding()), (3, 6));
        let served = serve(&constant(6), &load, 40_000, Seed(1));
        assert!((served.iops / 6000.0 - 1.0).abs() < 1e-3, "{}", served.iops);
    }
}
