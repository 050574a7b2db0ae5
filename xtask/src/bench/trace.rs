//! Measures the writing, packing, reading and summarizing of ten million requests: time, bytes per
//! request, and memory.
//!
//! The requests are random reads of eight hard disks, 256 in flight, which are the least
//! predictable of all traces.

use super::figure::{Figure, status_kib};
use anyhow::Context;
use disklab_trace::timeline::Shape;
use disklab_trace::{
    Arrived, PLAIN, Served, Survey, Timeline, TracePhase, TraceWriter, find, open, pack,
};
use disklab_units::{Random, Seed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

const REQUESTS: u64 = 10_000_000;
const DISKS: usize = 8;
/// Largest depth of the suites: 32 for each of four jobs.
const IN_FLIGHT: usize = 128;
const SHAPE: Shape = Shape { bins: 180, columns: 360, rows: 120 };

/// Requests at the disks, the first to end on top: end, slot, disk, submitted, started.
type Flying = BinaryHeap<Reverse<(u64, u64, usize, u64, u64)>>;

pub fn run() -> anyhow::Result<Vec<Figure>> {
    let place = tempfile::tempdir()?;
    write(&place.path().join(PLAIN))?;
    let start = Instant::now();
    pack(place.path())?;
    let packing = start.elapsed().as_secs_f64();
    let path = find(place.path()).context("bench trace: packing the requests wrote no trace")?;
    let each = std::fs::metadata(&path)?.len() as f64 / REQUESTS as f64;
    // The peak is counted from now on.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let before = status_kib("self", "VmRSS:")?;
    let start = Instant::now();
    let survey = Survey::read(open(&path)?);
    let reading = start.elapsed().as_secs_f64();
    let phase: &TracePhase =
        &survey.measure().context("bench trace: the trace has no measured phase")?;
    let line = Timeline::read(open(&path)?, &survey, phase, SHAPE)?;
    let both = start.elapsed().as_secs_f64();
    let mib = status_kib("self", "VmHWM:")?.saturating_sub(before) as f64 / 1024.0;
    let counted: u64 = line.disks.iter().flat_map(|disk| &disk.bins).map(|bin| bin.requests).sum();
    anyhow::ensure!(
        counted == REQUESTS,
        "bench trace: the timeline has {counted} of the trace's {REQUESTS} requests"
    );
    let what = |what: &str| format!("trace of 10 million requests: {what}");
    Ok(vec![
        // Everything is random here; traces of the suites take fewer bytes.
        Figure::number(what("bytes a request where nothing can be foreseen"), each, 2),
        Figure::number(what("packing, s"), packing, 2),
        Figure::number(what("reading once, s"), reading, 2),
        Figure::number(what("survey and timeline, s"), both, 2),
        Figure::number(what("memory of these two, MiB"), mib, 1).at_most(mib, 300.0, None, " MiB"),
    ])
}

fn write(path: &Path) -> anyhow::Result<()> {
    let mut random = Random::new(Seed(1));
    let mut writer = TraceWriter::new(DISKS);
    let mut file = File::create(path)?;
    writer.mark(0, "begin measure 0");
    // A disk serves one request at a time, in 4 to 20 ms.
    let mut flying = Flying::new();
    let mut arrived: Vec<Arrived> = Vec::new();
    let mut free = [0_u64; DISKS];
    let mut ended = 0;
    for number in 0..REQUESTS + IN_FLIGHT as u64 {
        if number >= IN_FLIGHT as u64 {
            let Reverse((end, slot, disk, submitted, started)) =
                flying.pop().context("bench trace: no request is in flight")?;
            let sector = random.next_u64() % (50 << 21) / 8 * 8;
            let served = Served {
                disk,
                op: disklab_disks::Op::Read,
                fua: false,
                sector,
                sectors: 8,
                submitted,
                started,
                ended: end,
            };
            writer.served(&served, arrived[slot as usize]);
            ended = end;
            if writer.pending().len() > 1 << 16 {
                file.write_all(writer.pending())?;
                writer.clear();
            }
            arrived[slot as usize] = writer.arrived();
            fly(&mut flying, &mut free, &mut random, slot, ended);
        } else {
            arrived.push(writer.arrived());
            fly(&mut flying, &mut free, &mut random, number, 0);
        }
    }
    writer.mark(ended, "end");
    file.write_all(writer.pending())?;
    Ok(())
}

/// Submits another request, to any of the disks.
fn fly(flying: &mut Flying, free: &mut [u64; DISKS], random: &mut Random, slot: u64, now: u64) {
    let disk = (random.next_u64() % DISKS as u64) as usize;
    let started = now.max(free[disk]);
    free[disk] = started + 4_000_000 + random.next_u64() % 16_000_000;
    flying.push(Reverse((free[disk], slot, disk, now, started)));
}
