//! Computes phases and a trace of requests from the kernel's events.

use disklab_block_devices::watch::layout::TraceLayout;
use disklab_block_devices::watch::mark::ObservedMark;
use disklab_block_devices::watch::merge::Merge;
use disklab_block_devices::watch::pages::{BlockEvent, Pages};
use disklab_block_devices::watch::pairs::{Open, Pairs, RequestStep};
use disklab_block_devices::watch::place::WatchedDisk;
use disklab_block_devices::watch::stat::Stat;
use disklab_block_devices::watch::{WatchAccount, file_name};
use disklab_disks::Op;
use disklab_files::TRACE;
use disklab_guest::meter::Meter;
use disklab_guest::order::Arrival;
use disklab_guest::trace_file::TraceFile;
use disklab_protocol::closing::PhaseCounts;
use disklab_protocol::{Mark, names};
use disklab_trace::{Arrived, Served};
use serde_json::Value;
use std::io::{self, BufReader};
use std::path::Path;

/// Bytes of a CPU's file that are read at a time.
const BUFFER: usize = 256 << 10;

pub struct Traced {
    pub phases: Vec<PhaseCounts>,
    /// Number of requests that ended while the disks were watched.
    pub requests: u64,
    /// SHA-256 of [`names::REQUESTS`].
    pub sha256: String,
    /// Counts of these requests for each disk, as far as the kernel counts the same.
    pub ended: Vec<Stat>,
}

/// Reads the pages of all CPUs, and writes [`names::REQUESTS`].
pub fn read(
    folder: &Path,
    watched: &WatchAccount,
    marks: &[ObservedMark],
    layout: &TraceLayout,
    cpus: &[u32],
) -> Result<Traced, String> {
    let open = |cpu: &u32| {
        let path = folder.join(file_name(*cpu));
        let file = disklab_files::open(&path, &TRACE.inside(0)).map_err(|error| {
            format!("cannot open the kernel's events, {}: {error}", path.display())
        })?;
        Ok(Pages::new(layout, BufReader::with_capacity(BUFFER, file)))
    };
    let cpus = cpus.iter().map(open).collect::<Result<Vec<_>, String>>()?;
    let path = folder.join(names::REQUESTS);
    let at = |error: io::Error| format!("cannot write the trace {}: {error}", path.display());
    let mut counting =
        Counting::new(watched, TraceFile::create(&path, watched.disks.len()).map_err(at)?);
    let mut marks = marks.iter().filter(|mark| mark.mark != Mark::Begun).peekable();
    for event in Merge::new(cpus) {
        let event = event.map_err(|error| format!("cannot read the kernel's events: {error}"))?;
        while let Some(mark) = marks.next_if(|mark| mark.at_ns < event.at) {
            counting.mark(mark);
        }
        counting.take(&event).map_err(at)?;
    }
    marks.for_each(|mark| counting.mark(mark));
    counting.trace.write().map_err(at)?;
    Ok(Traced {
        phases: counting.meter.phases().to_vec(),
        requests: counting.requests,
        sha256: counting.trace.sha256(),
        ended: counting.ended,
    })
}

struct Counting<'a> {
    watched: &'a WatchAccount,
    pairs: Pairs<Arrived>,
    meter: Meter,
    trace: TraceFile,
    requests: u64,
    /// Time at which each disk's last request ended.
    last: Vec<u64>,
    ended: Vec<Stat>,
}

impl<'a> Counting<'a> {
    fn new(watched: &'a WatchAccount, trace: TraceFile) -> Self {
        let count = watched.disks.len();
        Self {
            watched,
            pairs: Pairs::new(watched.disks.iter().map(WatchedDisk::place).collect()),
            meter: Meter::new(watched.disks.iter().map(|disk| disk.name.clone()).collect()),
            trace,
            requests: 0,
            last: vec![0; count],
            ended: vec![Stat::default(); count],
        }
    }

    /// Returns the time in ns since the watch began.
    fn time(&self, at: u64) -> u64 {
        at.saturating_sub(self.watched.began_ns)
    }

    fn mark(&mut self, observed: &ObservedMark) {
        let at = self.time(observed.at_ns);
        self.trace.mark(at, &observed.mark.to_string());
        match &observed.mark {
            Mark::Begin { phase, ramp_ns } => self.meter.announce(phase.clone(), *ramp_ns),
            Mark::End => {
                let began_ns = self.watched.began_ns;
                let present =
                    self.pairs.open().map(|(disk, at)| (disk, at.saturating_sub(began_ns)));
                self.meter.end(&models(self.last.len()), present);
            }
            _ => {}
        }
    }

    fn take(&mut self, event: &BlockEvent) -> io::Result<()> {
        let now = self.time(event.at);
        match self.pairs.take(event, self.trace.arrived()) {
            Some(RequestStep::Arrived(Open { disk, op, fua, sector, sectors, .. })) => {
                let arrival = Arrival { disk, tag: 0, op, fua, sector, sectors };
                let disks = self.last.len();
                self.meter.arrived(&arrival, now, || models(disks));
                Ok(())
            }
            Some(RequestStep::Ended(open)) => self.ended(&open, now),
            None => Ok(()),
        }
    }

    fn ended(&mut self, open: &Open<Arrived>, ended: u64) -> io::Result<()> {
        let Open { disk, op, fua, sector, sectors, kept, .. } = *open;
        let submitted = self.time(open.at).min(ended);
        // No disk reports when it begins to serve a request. A disk with an arm serves one at a
        // time, and begins after it has ended the last one. For other disks the begin is unknown.
        let started = if self.watched.disks[disk].rotational {
            submitted.max(self.last[disk])
        } else {
            submitted
        };
        let served = Served { disk, op, fua, sector, sectors, submitted, started, ended };
        self.last[disk] = ended;
        self.requests += 1;
        let stat = &mut self.ended[disk];
        match op {
            Op::Read => {
                stat.reads += 1;
                stat.read_sectors += u64::from(sectors);
            }
            Op::Write | Op::WriteZeroes => {
                stat.writes += 1;
                stat.write_sectors += u64::from(sectors);
            }
            Op::Flush => stat.flushes += 1,
            Op::Discard => stat.discards += 1,
        }
        let disks = self.last.len();
        self.meter.ended(&served, || models(disks));
        self.trace.served(&served, kept)
    }
}

/// Returns empty counts, since real disks have no model that counts.
fn models(disks: usize) -> Vec<Value> {
    vec![Value::Null; disks]
}
