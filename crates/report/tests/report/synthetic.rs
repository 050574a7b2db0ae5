//! Writes a synthetic record of any size, for tests and the bench. Each trial has a histogram and a
//! trace of its own, some have remarks, and one write is far beyond all other requests.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use disklab_disks::Op;
use disklab_record::manifest::Suite;
use disklab_record::outcome::Cell;
use disklab_record::{Chain, Manifest, Outcome, Status};
use disklab_results::sample::{DeviceSample, LatencyKind};
use disklab_results::{Remark, Sample};
use disklab_trace::{Served, TraceWriter};
use disklab_units::{Nanos, Seed};

/// Writes into `place` a record of all cells of these axes (name, values), with `seeds` seeds and
/// `disks` disks. Policies are compared with the first.
pub fn write_record(
    place: &Path,
    axes: &[(&str, &[&str])],
    seeds: u32,
    disks: u64,
) -> io::Result<()> {
    let mut cells: Vec<Vec<&str>> = vec![Vec::new()];
    for (_, values) in axes {
        cells = cells
            .iter()
            .flat_map(|cell| values.iter().map(|value| [cell.as_slice(), &[*value]].concat()))
            .collect();
    }
    let (mut ids, mut lines, mut chain) = (Vec::new(), String::new(), Chain::new(true));
    for seed in 1..=seeds {
        for (number, cell) in cells.iter().enumerate() {
            let id = format!("{}+s{seed}", cell.join("+"));
            let raw = format!("raw/{id}");
            fs::create_dir_all(place.join(&raw))?;
            let shift = 1.0 + number as f64 / 50.0 + f64::from(seed) / 20.0;
            fs::write(place.join(&raw).join("fio.json"), report(shift))?;
            fs::write(
                place.join(&raw).join(disklab_trace::PLAIN),
                trace(number as u64 + u64::from(seed), disks),
            )?;
            let pairs = axes
                .iter()
                .zip(cell)
                .map(|((axis, _), value)| ((*axis).to_owned(), (*value).to_owned()));
            let (cell, drawn) = (Cell(pairs.collect()), Seed(u64::from(seed)));
            let outcome = Outcome {
                virtual_ns: Some(Nanos(1)),
                wall_ms: 1,
                sample: Some(sample(shift, disks)),
                remarks: remarks(number as u64 + u64::from(seed)),
                raw: Some(raw),
                ..Outcome::new(id.clone(), cell, seed, drawn, Status::Ok)
            };
            lines += &outcome.to_line(&mut chain)?;
            ids.push(id);
        }
    }
    let suite = Suite::new("large", suite(axes, seeds), Vec::new());
    let manifest = Manifest::new("0.1.0", "2026-11-21T21:00:00Z", suite, ids);
    fs::write(place.join("manifest.toml"), manifest.to_toml().map_err(io::Error::other)?)?;
    fs::write(place.join("trials.jsonl"), lines)
}

fn suite(axes: &[(&str, &[&str])], seeds: u32) -> String {
    let policy =
        axes.iter().find(|(axis, _)| *axis == "policy").and_then(|(_, values)| values.first());
    let mut text = format!(
        "question = \"Which?\"\nseeds = {seeds}\nmemory = \"512 MiB\"\n\
         runtime = {{ rotational = \"15s\", solid_state = \"150ms\" }}\nkernel = \"newest\"\n\
         baseline = {{ policy = \"{}\" }}\n\n[axes]\n",
        policy.unwrap_or(&"")
    );
    for (axis, values) in axes {
        // Writing to a string does not fail.
        let _ = match *axis {
            "jobs" => writeln!(text, "{axis} = [{}]", values.join(", ")),
            _ => writeln!(text, "{axis:?} = {values:?}"),
        };
    }
    text
}

/// Returns remarks on one of five trials, each with a number of its own.
fn remarks(number: u64) -> Vec<Remark> {
    number
        .is_multiple_of(5)
        .then_some(Remark::FewRequests { requests: 400 + number, what: None })
        .into_iter()
        .collect()
}

fn sample(shift: f64, disks: u64) -> Sample {
    let disk = |index: u64| DeviceSample {
        name: format!("vd{}", char::from(b'a' + index as u8)),
        device: Some("nas-4tb".to_owned()),
        reads: REQUESTS / disks,
        read_share: Some(1.0 / disks as f64),
        utilisation: (shift / 4.0).min(1.0),
        service_mean_ns: Some(Nanos((8e5 * shift) as u64)),
        depth_mean: Some(shift),
        ..DeviceSample::default()
    };
    Sample {
        devices: (0..disks).map(disk).collect(),
        iops: 1e4 / shift,
        // The numbers are as wide as they get: thousands of MiB/s.
        bw_bytes: (4e9 / shift) as u64,
        requests: 5000,
        lat_mean_ns: 1e6 * shift,
        percentiles_of: Some(LatencyKind::Lat),
        p50_ns: Some(Nanos((8e5 * shift) as u64)),
        p99_ns: Some(Nanos((5e6 * shift) as u64)),
        p99_9_ns: Some(Nanos((9e6 * shift) as u64)),
        ..Sample::default()
    }
}

/// Number of requests of a trace.
const REQUESTS: u64 = 2000;
/// Sectors of each disk that hold all requests but one.
const DATA: u64 = 64 << 21;
/// Sector of that request: the copy of a superblock at 256 GiB.
const COPY: u64 = 256 << 21;

/// Writes a trace of reads all over the first 64 GiB of each disk, one after the other.
fn trace(seed: u64, disks: u64) -> Vec<u8> {
    let mut writer = TraceWriter::new(disks as usize);
    writer.mark(0, "begin measure 0");
    let (mut now, mut place) = (0, seed);
    for at in 0..REQUESTS {
        place =
            place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let service = 3_000_000 + (place >> 40) % 6_000_000;
        let served = Served {
            disk: ((place >> 33) % disks) as usize,
            op: if at % 8 == 0 { Op::Write } else { Op::Read },
            fua: false,
            sector: if at == REQUESTS / 2 { COPY } else { ((place >> 33) & !7) % DATA },
            sectors: 8,
            submitted: now,
            started: now,
            ended: now + service,
        };
        let arrived = writer.arrived();
        now = served.ended;
        writer.served(&served, arrived);
    }
    writer.mark(now, "end");
    writer.pending().to_vec()
}

/// Writes latencies over three decades that change direction at each bin, so that no curve is a
/// line.
fn report(shift: f64) -> String {
    let mut bins = String::new();
    for bin in 0..300_u32 {
        let ns = (1e5 * shift * 10_f64.powf(f64::from(bin) / 100.0)) as u64;
        let comma = if bin > 0 { "," } else { "" };
        let _ = write!(bins, "{comma}\"{ns}\":{}", 1 + (bin * 7919) % 31 + (300 - bin) / 10);
    }
    format!(
        r#"{{"fio version":"fio-3.33","jobs":[{{"jobname":"a","error":0,"read":{{
            "iops":1.0,"total_ios":9,"lat_ns":{{
                "min":1,"max":900000000000,"mean":1.0,"N":9,"bins":{{{bins}}}}}}}}}]}}"#
    )
}
