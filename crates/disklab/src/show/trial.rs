//! Prints everything about one trial: its numbers, the steps of its guest, the settings that were
//! read back, the work of its disks, and the place of its raw output.

use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use disklab_compare::answer;
use disklab_compare::metric::both_directions;
use disklab_files::RAW;
use disklab_protocol::closing::{self, Closing, DeviceCounts, Kept, PhaseCounts, PowerCut};
use disklab_protocol::names;
use disklab_protocol::step::{PhaseEnd, ProgramEnd, Step};
use disklab_record::{Outcome, Record, Status};
use disklab_report::merge::validity;
use disklab_results::Sample;
use disklab_results::sample::{DirectionSample, LatencyKind};
use disklab_runner::evidence::examined;
use disklab_units::prose::{digits, in_shell};
use disklab_units::{Bytes, Nanos, Rate};
use itertools::Itertools;
use serde_json::{Value, json};

use super::{curve, phases, warm_up};
use crate::exit::Failure;
use crate::home::from_here;
use crate::records;
use crate::screen::{Paint, Screen};
use crate::table::TextTable;
use crate::words::{self, or_dash};

/// Number of last lines of a failed guest's console that are shown.
const LAST_WORDS: usize = 12;

/// Raw output of a trial, as far as it can be read.
struct Left {
    /// Steps of the guest's first process, in order.
    steps: Vec<Step>,
    closing: Result<Closing, String>,
    /// For each state after a power cut, the closing record of the guest that examined it, or the
    /// reason why the state was not survived. It is None if the state was not examined.
    checks: Vec<Option<Result<Closing, String>>>,
    /// End of the guest's console.
    console: Vec<String>,
}

pub fn print(record: &Record, outcome: &Outcome, screen: &Screen) -> Result<(), Failure> {
    let raw = record.raw(outcome);
    let left = raw.as_deref().map(Left::read);
    let changed = disklab_record::changed(record, outcome)?;
    if screen.json {
        let validity = validity(record);
        let document = as_json(validity, outcome, raw.as_deref(), left.as_ref(), &changed);
        return screen.json_named("show-trial", &document);
    }
    let mut out = screen.out();
    head(outcome, record.manifest().on_host.is_some(), screen, &mut out)?;
    if let Some(sample) = &outcome.sample {
        numbers(sample, screen, &mut out)?;
        if let Some(raw) = &raw {
            curve::print(raw, screen, &mut out)?;
        }
    }
    if !outcome.measures.is_empty() {
        section("measured", screen, &mut out)?;
        for (name, measure) in &outcome.measures {
            let more = if measure.censored { "> " } else { "" };
            let value = answer::value(measure.value, &measure.unit);
            screen.prose(&format!("{name}: {more}{value}"), "", &mut out)?;
        }
    }
    for remark in &outcome.remarks {
        screen.prose(&format!("remark: {remark}"), "", &mut out)?;
    }
    if let Some(left) = &left {
        let closing = left.closing.as_ref().ok();
        let phases = phases::table(&left.steps, outcome, closing, screen.color);
        table_section("phases", phases, screen, &mut out)?;
        let title = "settings, as the guest read them back";
        table_section(title, left.settings(screen.color), screen, &mut out)?;
        if let Some(how) = warm_up::sentence(&left.steps) {
            section("warm-up", screen, &mut out)?;
            screen.prose(&how, "", &mut out)?;
        }
        left.commands(screen, &mut out)?;
        left.phases(screen, &mut out)?;
        table_section("power cuts", left.power_cuts(screen.color), screen, &mut out)?;
        for (number, check) in (1_usize..).zip(&left.checks) {
            if let Some(Err(reason)) = check {
                screen.prose(
                    &format!("row {number}, raw files in cut-{number}: {reason}"),
                    "",
                    &mut out,
                )?;
            }
        }
        if outcome.status != Status::Ok {
            left.last_words(screen, &mut out)?;
        }
    }
    screen.prose(validity(record), "", &mut out)?;
    if let Some(found) = &outcome.found {
        writeln!(out, "found in {}, {}", record.folder().join(&found.file).display(), found.place)?;
    }
    if let Some(raw) = &raw {
        files(raw, screen, &mut out)?;
    }
    if !changed.is_empty() {
        let text =
            format!("changed or removed after the numbers were taken: {}", changed.join(", "));
        writeln!(out, "{}", screen.paint(&text, Paint::Bad))?;
    }
    if let Some(raw) = &raw {
        let run = records::name_in_shell(record.folder());
        if disklab_trace::find(raw).is_some() {
            writeln!(out, "every request: disklab trace {run} {}", in_shell(&outcome.trial))?;
        }
    }
    Ok(out.flush()?)
}

fn section(title: &str, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out)?;
    Ok(writeln!(out, "{}", screen.paint(title, Paint::Strong))?)
}

/// Prints a table below its title, unless the table has no rows.
fn table_section(
    title: &str,
    table: TextTable,
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if table.is_empty() {
        return Ok(());
    }
    section(title, screen, out)?;
    table.print(screen, "", out)
}

fn head(
    outcome: &Outcome,
    on_host: bool,
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let paint = if outcome.status == Status::Ok { Paint::Good } else { Paint::Bad };
    let status = screen.paint(&outcome.status.to_string(), paint);
    writeln!(out, "{} {status}", screen.paint(&outcome.trial, Paint::Strong))?;
    if let Some(reason) = &outcome.reason {
        screen.prose(&format!("reason: {reason}"), "", out)?;
    }
    for (axis, value) in &outcome.cell.0 {
        writeln!(out, "{axis}: {value}")?;
    }
    if outcome.found.is_some() {
        return Ok(writeln!(out, "repeat: {}", outcome.seed_index)?);
    }
    writeln!(out, "seed: s{}, {}", outcome.seed_index, outcome.seed)?;
    let wall = words::wall(Duration::from_millis(outcome.wall_ms));
    if on_host {
        return screen.prose(&format!("time: {wall} on this machine"), "", out);
    }
    let time = match outcome.virtual_ns {
        Some(time) => format!("{time} of virtual time from the guest's boot to its end"),
        None => "none in the guest, whose clock never moved".to_owned(),
    };
    screen.prose(&format!("time: {time}, {wall} here"), "", out)
}

fn numbers(sample: &Sample, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    section("measured by fio", screen, out)?;
    let of = match sample.percentiles_of {
        Some(LatencyKind::Clat) => " (percentiles of clat)",
        Some(LatencyKind::Lat) | None => "",
    };
    let mut direction = |name: &str, sample: &DirectionSample| -> Result<(), Failure> {
        let rate = Rate(sample.bw_bytes);
        screen.prose(
            &format!("{name}{} requests, {} IOPS, {rate}", sample.requests, digits(sample.iops)),
            "",
            out,
        )?;
        let mean = Nanos(sample.lat_mean_ns.round() as u64);
        let percentiles =
            [("p50", sample.p50_ns), ("p99", sample.p99_ns), ("p99.9", sample.p99_9_ns)];
        let told =
            percentiles.iter().filter_map(|(name, time)| Some(format!(", {name} {}", (*time)?)));
        screen.prose(
            &format!("{name}latency: mean {mean}{}{of}", told.collect::<String>()),
            "",
            out,
        )
    };
    direction("", &both_directions(sample))?;
    if let (Some(read), Some(write)) = (&sample.read, &sample.write) {
        direction("reads: ", read)?;
        direction("writes: ", write)?;
    }
    let title = "btrfs's read_stats over the measurement";
    table_section(title, read_stats(sample, screen.color), screen, out)
}

/// Returns btrfs's own counts of each device's reads, if it counted any.
fn read_stats(sample: &Sample, color: bool) -> TextTable {
    let heads = "disk|>ios|>mean wait|>checkpoints|>ignored|>age|>checkpoint avg";
    let mut table = TextTable::with_heads(heads, color);
    for disk in &sample.devices {
        let Some(stats) = &disk.read_stats else { continue };
        table.row([
            disk.name.clone(),
            stats.ios.to_string(),
            or_dash(stats.avg_ns),
            stats.checkpoints.to_string(),
            stats.ignored.to_string(),
            stats.age.to_string(),
            stats.checkpoint_avg_ns.to_string(),
        ]);
    }
    table
}

impl Left {
    fn read(raw: &Path) -> Self {
        let text = |name: &str| {
            let bytes = disklab_files::read(&raw.join(name), &RAW).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let steps =
            Step::read_all(&disklab_files::read(&raw.join(names::STEPS), &RAW).unwrap_or_default());
        let closing = disklab_files::read(&raw.join(names::CLOSING), &RAW)
            .map_err(|error| format!("{}: {error}", names::CLOSING))
            .and_then(|bytes| closing::parse(&bytes).map_err(|error| error.to_string()));
        let cuts = closing.as_ref().map(|closing| closing.power_cuts.len()).unwrap_or_default();
        let checks = (0..cuts).map(|number| examined(raw, number)).collect();
        let console = text(names::CONSOLE);
        let lines: Vec<&str> = console.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_WORDS)..].iter();
        let console = last.map(|&line| line.to_owned()).collect();
        Self { steps, closing, checks, console }
    }

    fn settings(&self, color: bool) -> TextTable {
        let mut table = TextTable::with_heads("file|written|read back", color);
        for step in &self.steps {
            if let Step::Set { path, value, says } = step {
                table.row([path, value, says]);
            }
        }
        table
    }

    fn commands(&self, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
        for step in &self.steps {
            let (name, end) = match step {
                Step::Program { step, end } => (step.clone(), end.clone()),
                Step::Phase { went: PhaseEnd { phase, .. }, program: Some(end) } => {
                    (format!("{} {phase}", step.name()), end.clone())
                }
                Step::Background { command, status, said, .. } => {
                    let (command, status, said) = (command.clone(), status.clone(), said.clone());
                    (step.name(), ProgramEnd { command, status, said })
                }
                Step::Failed { error } => {
                    section("failed", screen, out)?;
                    writeln!(out, "{error}")?;
                    continue;
                }
                _ => continue,
            };
            section(&format!("{name}: {}", end.status), screen, out)?;
            screen.prose(&end.command.join(" "), "", out)?;
            if let Step::Background { passes, ran_ns, .. } = step {
                let (ran, times) = (Nanos(*ran_ns), words::count(*passes as usize, "time"));
                writeln!(out, "  ran for {ran}, to its end {times}")?;
            }
            end.said.lines().try_for_each(|line| writeln!(out, "  says: {line}"))?;
        }
        Ok(())
    }

    fn phases(&self, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
        let closing = match &self.closing {
            Ok(closing) => closing,
            Err(error) => {
                section("disks", screen, out)?;
                return Ok(writeln!(out, "{error}")?);
            }
        };
        for phase in &closing.phases {
            let length = phase.length();
            section(
                &format!(
                    "disks in phase {} ({} to {}: {length})",
                    phase.name, phase.begin, phase.end
                ),
                screen,
                out,
            )?;
            phase_table(closing, phase, screen).print(screen, "", out)?;
            // Older records have no depths.
            if phase.devices.iter().any(|disk| disk.depth.is_some()) {
                arrivals_table(phase, screen).print(screen, "", out)?;
            }
            if let Some(switched) = phase.switched() {
                writeln!(
                    out,
                    "{:.1} % of consecutive reads went to another disk",
                    switched * 100.0
                )?;
            }
            for DeviceCounts { name: disk, model, .. } in &phase.devices {
                let counts = model.as_ref().map(model_counts).unwrap_or_default();
                if !counts.is_empty() {
                    screen.prose(&format!("{disk}: {}", counts.join(", ")), "", out)?;
                }
            }
        }
        Ok(())
    }

    fn power_cuts(&self, color: bool) -> TextTable {
        let heads = ">cut|>at|>fsynced records|>unflushed blocks|>of them lost\
                     |>writes on their way|kept|survived";
        let mut table = TextTable::with_heads(heads, color);
        let mut number = 0;
        let cuts = self.closing.iter().flat_map(|closing| &closing.power_cuts);
        for (cut, check) in cuts.zip(&self.checks) {
            number += usize::from(cut.kept.is_none());
            let kept = cut.kept.unwrap_or(Kept::SomeBlocks);
            let PowerCut { at, acknowledged, unsure, lost, on_the_way, .. } = cut;
            let survived = match check {
                None => "-",
                Some(Ok(_)) => "yes",
                Some(Err(_)) => "no",
            };
            let cells: [&dyn Display; 8] =
                [&number, at, acknowledged, unsure, lost, on_the_way, &kept, &survived];
            table.row(cells);
        }
        table
    }

    fn last_words(&self, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
        if self.console.is_empty() {
            return Ok(());
        }
        section("the end of the guest's console", screen, out)?;
        self.console.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        Ok(())
    }
}

fn phase_table(closing: &Closing, phase: &PhaseCounts, screen: &Screen) -> TextTable {
    let heads = "disk|device|>reads|>of all, %|>read|>writes|>written|>flushes|>busy, %|>mean wait\
                 |>mean service";
    let mut table = TextTable::with_heads(heads, screen.color);
    let reads: u64 = phase.devices.iter().map(|disk| disk.reads).fold(0, u64::saturating_add);
    let length = phase.length().0;
    for (index, disk) in phase.devices.iter().enumerate() {
        table.row([
            disk.name.clone(),
            closing.devices.get(index).cloned().unwrap_or_default(),
            disk.reads.to_string(),
            percent(disk.reads, reads),
            Bytes(disk.read_bytes).to_string(),
            disk.writes.to_string(),
            Bytes(disk.write_bytes).to_string(),
            disk.flushes.to_string(),
            percent(disk.busy.0, length),
            or_dash(disk.mean_wait()),
            or_dash(disk.mean_service()),
        ]);
    }
    table
}

/// Returns the order in which requests came to each disk, as policy and scheduler made it.
fn arrivals_table(phase: &PhaseCounts, screen: &Screen) -> TextTable {
    let heads = "disk|>mean depth|>not sequential, %|>mean distance";
    let mut table = TextTable::with_heads(heads, screen.color);
    let tenths = |value: f64| format!("{value:.1}");
    for disk in &phase.devices {
        table.row([
            disk.name.clone(),
            or_dash(disk.mean_depth(phase).map(tenths)),
            or_dash(disk.not_sequential().map(|part| tenths(part * 100.0))),
            or_dash(disk.mean_distance().map(|bytes| Bytes(bytes.round() as u64))),
        ]);
    }
    table
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}", part as f64 * 100.0 / whole as f64) }
}

/// Lists counts that only this kind of model has, as in `seeks 118, cache.hits 7`.
fn model_counts(model: &Value) -> Vec<String> {
    fn collect(prefix: &str, value: &Value, into: &mut Vec<String>) {
        match value {
            Value::Object(entries) => entries.iter().for_each(|(name, value)| {
                let name =
                    if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                collect(&name, value, into);
            }),
            Value::Null => {}
            value if value.as_u64() == Some(0) => {}
            value => into.push(format!("{prefix} {value}")),
        }
    }
    let mut counts = Vec::new();
    collect("", model, &mut counts);
    counts
}

fn files(raw: &Path, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    section("raw output", screen, out)?;
    writeln!(out, "{}", from_here(raw).display())?;
    let entries = fs::read_dir(raw).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            Some((entry.file_name().into_string().ok()?, Bytes(entry.metadata().ok()?.len())))
        })
        .collect();
    files.sort_unstable();
    let files = files.iter().map(|(name, size)| format!("{name} ({size})")).join(", ");
    let lines = words::filled(files.split_whitespace(), screen.width, "", "");
    Ok(lines.iter().try_for_each(|line| writeln!(out, "{line}"))?)
}

fn as_json(
    validity: &str,
    outcome: &Outcome,
    raw: Option<&Path>,
    left: Option<&Left>,
    changed: &[String],
) -> Value {
    let phases = left.and_then(|left| left.closing.as_ref().ok()).map(|closing| {
        let device = |index: usize| closing.devices.get(index);
        let disk = |(index, disk): (usize, &DeviceCounts)| {
            json!({
                "name": disk.name, "device": device(index), "reads": disk.reads,
                "writes": disk.writes, "flushes": disk.flushes, "discards": disk.discards,
                "read_bytes": disk.read_bytes, "write_bytes": disk.write_bytes,
                "busy_ns": disk.busy, "wait_ns": disk.wait, "service_ns": disk.service,
                "depth_ns": disk.depth,
                "followers": disk.followers.unwrap_or(0), "apart": disk.apart.unwrap_or(0),
                "apart_sectors": disk.apart_sectors.unwrap_or(0), "model": disk.model,
            })
        };
        let phase = |phase: &PhaseCounts| {
            let disks: Vec<_> = phase.devices.iter().enumerate().map(disk).collect();
            json!({
                "name": phase.name, "begin_ns": phase.begin, "end_ns": phase.end,
                "read_followers": phase.read_followers.unwrap_or(0),
                "read_switches": phase.read_switches.unwrap_or(0), "disks": disks,
            })
        };
        closing.phases.iter().map(phase).collect::<Vec<_>>()
    });
    json!({
        "outcome": outcome,
        "validity": validity,
        "raw": raw,
        "raw_changed": changed,
        "steps": left.map(|left| &left.steps),
        "phases": phases,
        "console_end": left.map(|left| &left.console),
    })
}
