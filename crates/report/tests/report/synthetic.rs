//! A record that nobody ran, as large as is wanted: each trial with a histogram of its own. Of tests, and of the bench.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use disklab_collect::Sample;
use disklab_collect::sample::LatencyKind;
use disklab_store::manifest::Suite;
use disklab_store::outcome::Cell;
use disklab_store::{Manifest, Outcome, Status};
use disklab_units::{Nanos, Seed};

/// Writes into `place` a record of all cells of these axes (name, values), with so many seeds. Policies are held against
/// the first.
pub fn write_record(place: &Path, axes: &[(&str, &[&str])], seeds: u32) -> io::Result<()> {
    let mut cells: Vec<Vec<&str>> = vec![Vec::new()];
    for (_, values) in axes {
        cells = cells
            .iter()
            .flat_map(|cell| values.iter().map(|value| [cell.as_slice(), &[*value]].concat()))
            .collect();
    }
    let (mut ids, mut lines) = (Vec::new(), String::new());
    for seed in 1..=seeds {
        for (number, cell) in cells.iter().enumerate() {
            let id = format!("{}+s{seed}", cell.join("+"));
            let raw = format!("raw/{id}");
            fs::create_dir_all(place.join(&raw))?;
            let shift = 1.0 + number as f64 / 50.0 + f64::from(seed) / 20.0;
            fs::write(place.join(&raw).join("fio.json"), report(shift))?;
            let pairs =
                axes.iter().zip(cell).map(|((axis, _), value)| ((*axis).to_owned(), (*value).to_owned()));
            let outcome = Outcome {
                trial: id.clone(),
                cell: Cell(pairs.collect()),
                seed_index: seed,
                seed: Seed(u64::from(seed)),
                status: Status::Ok,
                reason: None,
                virtual_ns: Some(Nanos(1)),
                wall_ms: 1,
                sample: Some(sample(shift)),
                remarks: Vec::new(),
                raw: Some(raw),
                files: std::collections::BTreeMap::new(),
                disks: Vec::new(),
                measures: std::collections::BTreeMap::new(),
                found: None,
            };
            lines += &outcome.to_line()?;
            ids.push(id);
        }
    }
    let suite = Suite::new("large", suite(axes, seeds), Vec::new());
    let manifest = Manifest::new("0.1.0", "2026-11-21T21:00:00Z", suite, ids);
    fs::write(place.join("manifest.toml"), manifest.to_toml().map_err(io::Error::other)?)?;
    fs::write(place.join("trials.jsonl"), lines)
}

fn suite(axes: &[(&str, &[&str])], seeds: u32) -> String {
    let policy = axes.iter().find(|(axis, _)| *axis == "policy").and_then(|(_, values)| values.first());
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
            _ => writeln!(text, "{axis} = {values:?}"),
        };
    }
    text
}

fn sample(shift: f64) -> Sample {
    Sample {
        iops: 1e4 / shift,
        bw_bytes: (4e7 / shift) as u64,
        requests: 5000,
        lat_mean_ns: 1e6 * shift,
        percentiles_of: Some(LatencyKind::Lat),
        p50_ns: Some(Nanos((8e5 * shift) as u64)),
        p99_ns: Some(Nanos((5e6 * shift) as u64)),
        p99_9_ns: Some(Nanos((9e6 * shift) as u64)),
        ..Sample::default()
    }
}

/// Latencies over three decades with as many turns as bins, so that no curve is a line.
fn report(shift: f64) -> String {
    let mut bins = String::new();
    for bin in 0..300_u32 {
        let ns = (1e5 * shift * 10_f64.powf(f64::from(bin) / 100.0)) as u64;
        let comma = if bin > 0 { "," } else { "" };
        let _ = write!(bins, "{comma}\"{ns}\":{}", 1 + (bin * 7919) % 31 + (300 - bin) / 10);
    }
    format!(
        r#"{{"fio version":"fio-3.33","jobs":[{{"jobname":"a","error":0,"read":{{"iops":1.0,"total_ios":9,"lat_ns":{{"min":1,"max":900000000000,"mean":1.0,"N":9,"bins":{{{bins}}}}}}}}}]}}"#
    )
}
