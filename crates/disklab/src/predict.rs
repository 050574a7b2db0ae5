//! `disklab predict`: how far virtual time may be believed for a machine. The suite of a record from real disks runs on models of
//! them, and each cell's prediction is held against what was measured.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use disklab_collect::Spread;
use disklab_compare::noise::{self, Noise, Pair};
use disklab_compare::{Metric, Trust};
use disklab_exec::run::Event;
use disklab_report::measures::Measured;
use disklab_report::merge::{CellRow, Numbers, Report};
use disklab_report::source::TERMS;
use disklab_spec::{Array, Lab};
use disklab_store::outcome::Cell;
use disklab_store::{Outcome, Record, Retry, Status, StoreError};
use disklab_units::prose::digits;
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::home::Home;
use crate::plan::Jobs;
use crate::question::Question;
use crate::run::manifest::{self, By};
use crate::run::on_host::here::HERE;
use crate::run::progress::Progress;
use crate::run::{on_host, ready};
use crate::screen::{Paint, Screen};
use crate::table::{Side, Table};
use crate::{records, signals, words};

/// Run the suite of a record from real disks on models of them, and compare.
///
/// The models are devices of the lab, such as `disklab calibrate` makes of those disks. Each cell's prediction is told beside what was
/// measured, with its error; the predictions are a record of their own.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A record of `run --on host`, by its name in ./records or by its path.
    run: String,

    /// The lab's devices that stand for its disks, in their order; one stands for all.
    #[arg(long, value_name = "DEVICE,...", value_delimiter = ',', required = true)]
    devices: Vec<String>,

    /// Of a record of a filesystem that was there (`--at`): the lab's array that is made like it, such as `disklab array new
    /// --from-machine` drafts.
    #[arg(long, value_name = "NAME")]
    array: Option<String>,

    /// The kernel that predicts, by a name that a suite's could have [default: newest].
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,

    #[command(flatten)]
    jobs: Jobs,

    /// The folder of the predictions' record [default: ./records/<RUN>-predicted]. One that exists is continued.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// A metric, how it is called, its spreads in both records, and how a value of it is printed.
type Both<'a> = (Metric, &'static str, Option<(Spread, Spread)>, &'a dyn Fn(f64) -> String);

/// A number of a cell, in both.
#[derive(Debug, Serialize)]
struct Row {
    cell: String,
    metric: String,
    measured: f64,
    predicted: f64,
    /// By which part of the measured one the predicted one is more, or less. None of nothing, nor where either was given up.
    error: Option<f64>,
    /// By which part the same differs from itself on this machine; of cells that were measured twice.
    noise: Option<f64>,
    #[serde(skip)]
    shown: [String; 2],
}

pub fn predict(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let folder = records::find(&args.run)?;
    let measured = Record::open(&folder)?;
    let home = Home::open()?;
    let lab = on_models(&home.lab, &measured, args)?;
    let mut question = with_numbers(Question::recorded(&lab, &folder, measured.manifest())?, &measured)?;
    if let Some(kernel) = &args.kernel {
        question.trials.iter_mut().for_each(|trial| trial.kernel.clone_from(kernel));
        question.set.push(format!("kernel={kernel}"));
    }
    let run = ready::check(&home, &question.trials, args.jobs.get(), signals::watch()?, screen)?;
    let by = By::Guests(run);
    let manifest = manifest::describe(&home, &question, &by)?;
    let run = by.as_executor();
    let name = format!("{}-predicted", records::name_of(&folder));
    let out = args.out.clone().unwrap_or_else(|| Path::new(records::FOLDER).join(name));
    let writer = if out.exists() {
        match Record::resume(&out, &manifest, Retry::Nothing) {
            Err(StoreError::Mismatch { .. }) => {
                return Err(Failure::mistaken(format!(
                    "predict: {} has another prediction, of other devices, another kernel or another lab; name another folder: --out",
                    out.display()
                )));
            }
            continued => continued?.0,
        }
    } else {
        Record::create_at(&out, &manifest)?
    };
    let progress = Progress::new(screen, &question.trials, &writer.remaining(), run, None);
    let events = &|event: Event| progress.event(&event);
    let done = run.carry_out(&question.trials, &writer, events);
    progress.end();
    drop(writer);
    done?;
    if run.stop().load(std::sync::atomic::Ordering::Relaxed) {
        let message =
            format!("interrupted; to continue: disklab predict {} --out {}", args.run, out.display());
        return Err(Failure::Said { exit: Exit::Interrupted, message });
    }
    let predicted = Record::open(&out)?;
    let (rows, lacking) = held_against(&measured, &predicted);
    let told = Told { rows: &rows, lacking: &lacking, doubtful: &in_doubt(&measured) };
    tell(told, &kernels(&measured, &predicted), &out, screen)?;
    Ok(if rows.is_empty() || !lacking.is_empty() { Exit::Failed } else { Exit::Ok })
}

/// Without cells that the machine could not do, of which there is nothing to be right or wrong about.
fn with_numbers(question: Question, measured: &Record) -> Result<Question, Failure> {
    let is_known = |id: &str| measured.outcome(id).is_some_and(|outcome| outcome.status == Status::Ok);
    let at: Vec<usize> =
        question.trials.iter().enumerate().filter(|(_, it)| is_known(&it.id)).map(|(at, _)| at).collect();
    if at.is_empty() {
        return Err(Failure::mistaken(
            "predict: the record has no trial with a result: there is nothing to predict",
        ));
    }
    Ok(question.only(&at))
}

/// Cells with measurements that no verdict rests on: others used the disks, say. With how many of how many, and the first reason.
fn in_doubt(measured: &Record) -> Vec<String> {
    let mut cells: Vec<(String, Vec<&Outcome>)> = Vec::new();
    for outcome in measured.outcomes().into_iter().filter_map(|(_, outcome)| outcome) {
        let values: Vec<&str> = outcome.cell.0.iter().map(|(_, value)| value.as_str()).collect();
        let name = values.join(", ");
        match cells.iter_mut().find(|(known, _)| *known == name) {
            Some((_, own)) => own.push(outcome),
            None => cells.push((name, vec![outcome])),
        }
    }
    let told = cells.into_iter().filter_map(|(name, own)| {
        let ok = own.iter().filter(|it| it.status == Status::Ok);
        let doubtful: Vec<&&Outcome> = ok.clone().filter(|it| !it.is_sound()).collect();
        let why = doubtful.first()?.remarks.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        Some(format!("{name}: {} of {}: {why}", doubtful.len(), words::count(ok.count(), "trial")))
    });
    told.collect()
}

/// What was measured on which kernel, and predicted with which: another one may well do something else.
fn kernels(measured: &Record, predicted: &Record) -> [String; 2] {
    [measured, predicted].map(|record| {
        let versions: BTreeSet<&str> =
            record.manifest().kernels.iter().map(|kernel| kernel.version.as_str()).collect();
        versions.into_iter().collect::<Vec<_>>().join(", ")
    })
}

/// The lab, where the record's arrays are made of models.
fn on_models(lab: &Lab, record: &Record, args: &Args) -> Result<Lab, Failure> {
    let devices = &args.devices;
    let manifest = record.manifest();
    let on = manifest.on_host.as_ref().ok_or_else(|| {
        Failure::mistaken(
            "predict: this record is not of disks of a machine (run --on host): there is nothing to predict",
        )
    })?;
    if let Some(unknown) = devices.iter().find(|name| !lab.devices.contains_key(*name)) {
        return Err(Failure::mistaken(format!(
            "--devices: the lab has no device `{unknown}`; `disklab calibrate` makes one of a disk, `disklab list devices` lists them"
        )));
    }
    let models: Vec<String> = match (devices.len(), on.disks.len()) {
        (1, disks) => vec![devices[0].clone(); disks],
        (named, disks) if named == disks => devices.clone(),
        (named, disks) => {
            return Err(Failure::mistaken(format!(
                "--devices: {} for {}: name one for each, in their order, or one for all",
                words::count(named, "device"),
                words::count(disks, "disk")
            )));
        }
    };
    match (&on.at, &args.array) {
        (None, None) => {
            let arrays = on_host::arrays(&manifest.suite.set).unwrap_or_default();
            Ok(on_host::made_of(lab, &arrays, &models))
        }
        (None, Some(_)) => Err(Failure::mistaken(
            "--array is for a record of a filesystem that was there (--at); this one says itself what was made: leave it out",
        )),
        (Some(at), None) => Err(Failure::mistaken(format!(
            "predict: this record is of a filesystem that was there, {}: name the lab's array that is made like it, --array NAME; \
             `disklab array new --from-machine` drafts one",
            at.display()
        ))),
        (Some(_), Some(name)) => {
            let array = lab.arrays.get(name).ok_or_else(|| {
                Failure::mistaken(format!(
                    "--array: the lab has no array `{name}`; `disklab list arrays` lists them"
                ))
            })?;
            let mut lab = lab.clone();
            let array = Array {
                name: HERE.to_owned(),
                part: None,
                devices: models,
                spares: Vec::new(),
                cache: None,
                controller: None,
                replica: None,
                ..array.clone()
            };
            lab.arrays.insert(HERE.to_owned(), array);
            Ok(lab)
        }
    }
}

/// And the cells that have numbers on one side only.
fn held_against(measured: &Record, predicted: &Record) -> (Vec<Row>, Vec<String>) {
    let twice = noise::pairs(measured, Trust::Sound);
    let (measured, predicted) = (Report::of(measured), Report::of(predicted));
    let (mut rows, mut lacking) = (Vec::new(), Vec::new());
    for group in &measured.groups {
        for cell in &group.cells {
            let name = name_of(&group.head.0, cell);
            let same = |other: &&CellRow| name_of(&group.head.0, other) == name;
            let groups = predicted.groups.iter().filter(|other| other.head == group.head);
            let other = groups.flat_map(|group| &group.cells).find(same);
            let before = rows.len();
            if let Some(other) = other {
                let both = cell.measured.as_ref().zip(other.measured.as_ref());
                let is_own = |known: &Cell| cell.outcomes.iter().any(|outcome| outcome.cell == *known);
                let pairs = twice.iter().find(|(known, _)| is_own(known)).map_or(&[][..], |(_, pairs)| pairs);
                let fio =
                    both.into_iter().flat_map(|(one, other)| of_fio(&name, &one.all, &other.all, pairs));
                rows.extend(fio);
                rows.extend(of_others(&name, &cell.measures, &other.measures, pairs));
            }
            if rows.len() == before {
                lacking.push(name);
            }
        }
    }
    (rows, lacking)
}

/// Of a cell's trials that were measured twice, as a share.
fn noise_of(pairs: &[Pair], metric: &Metric) -> Option<f64> {
    Noise::of(pairs, metric, TERMS).map(|noise| noise.percent / 100.0)
}

fn name_of(head: &[(String, String)], cell: &CellRow) -> String {
    let values = head.iter().map(|(_, value)| value.as_str()).chain(cell.values.iter().map(String::as_str));
    values.collect::<Vec<_>>().join(", ")
}

/// What cells have that is not fio's, such as how long a program takes to start; by name.
fn of_others<'a>(
    cell: &'a str,
    measured: &'a [Measured],
    predicted: &'a [Measured],
    pairs: &'a [Pair],
) -> impl Iterator<Item = Row> + 'a {
    measured.iter().filter_map(move |one| {
        let other = predicted.iter().find(|other| (&other.name, &other.unit) == (&one.name, &one.unit))?;
        let value = |it: &Measured| it.sum.map_or(it.spread.median, |(sum, of)| sum / of);
        let (measured, predicted) = (value(one), value(other));
        let known = one.censored + other.censored == 0;
        Some(Row {
            cell: cell.to_owned(),
            metric: one.name.clone(),
            measured,
            predicted,
            error: Some(predicted / measured - 1.0).filter(|error| known && error.is_finite()),
            noise: noise_of(pairs, &Metric::Other(one.name.clone())),
            shown: [one.median(), other.median()],
        })
    })
}

fn of_fio<'a>(
    cell: &'a str,
    measured: &'a Numbers,
    predicted: &'a Numbers,
    pairs: &'a [Pair],
) -> impl Iterator<Item = Row> + 'a {
    let both = |one: &Option<Spread>, other: &Option<Spread>| Some(((*one)?, (*other)?));
    let count = |value: f64| digits(value);
    let time = |value: f64| disklab_units::Nanos(value as u64).to_string();
    let told: [Both; 4] = [
        (Metric::Iops, "IOPS", Some((measured.iops, predicted.iops)), &count),
        (Metric::Mean, "mean", Some((measured.lat_mean_ns, predicted.lat_mean_ns)), &time),
        (Metric::P50, "p50", both(&measured.p50_ns, &predicted.p50_ns), &time),
        (Metric::P99, "p99", both(&measured.p99_ns, &predicted.p99_ns), &time),
    ];
    let row = |(metric, called, pair, show): Both| {
        let (one, other) = pair.map(|(one, other)| (one.median, other.median))?;
        let shown = [show(one), show(other)];
        (one > 0.0).then(|| Row {
            cell: cell.to_owned(),
            metric: called.to_owned(),
            measured: one,
            predicted: other,
            error: Some(other / one - 1.0),
            noise: noise_of(pairs, &metric),
            shown,
        })
    };
    told.into_iter().filter_map(row).collect::<Vec<_>>().into_iter()
}

struct Told<'a> {
    rows: &'a [Row],
    /// Without numbers on one side.
    lacking: &'a [String],
    doubtful: &'a [String],
}

fn tell(
    Told { rows, lacking, doubtful }: Told,
    [here, there]: &[String; 2],
    out: &Path,
    screen: &Screen,
) -> Result<(), Failure> {
    let size = |row: &Row| row.error.map(f64::abs);
    let worst = rows.iter().filter_map(size).reduce(f64::max);
    let mut errors: Vec<f64> = rows.iter().filter(|row| row.metric == "IOPS").filter_map(size).collect();
    errors.sort_by(f64::total_cmp);
    let middle = errors.get(errors.len() / 2).copied();
    if screen.json {
        return screen.json(&serde_json::json!({
            "record": out, "kernels": { "measured": here, "predicted": there }, "cells": rows, "without_numbers": lacking, "in_doubt": doubtful, "worst_error": worst, "median_error_of_iops": middle,
        }));
    }
    let heads = [
        ("cell", Side::Left),
        ("", Side::Left),
        ("measured", Side::Right),
        ("predicted", Side::Right),
        ("error", Side::Right),
        ("noise", Side::Right),
    ];
    let is_twice = rows.iter().any(|row| row.noise.is_some());
    let heads = &heads[..if is_twice { 6 } else { 5 }];
    let mut table = Table::new(heads, screen.color);
    let mut last = "";
    for row in rows {
        let cell = if row.cell == last { "" } else { row.cell.as_str() };
        let [measured, predicted] = row.shown.clone();
        let error = row.error.map_or_else(|| "-".to_owned(), |error| format!("{:+.1} %", error * 100.0));
        let noise = row.noise.map_or_else(String::new, |noise| format!("{:.1} %", noise * 100.0));
        let values = [cell.to_owned(), row.metric.clone(), measured, predicted, error, noise];
        table.row(values.into_iter().take(heads.len()));
        last = &row.cell;
    }
    let mut to = screen.out();
    table.print(screen, "", &mut to)?;
    if is_twice {
        writeln!(
            to,
            "noise: what the same may differ by from itself on this machine, by what was measured twice"
        )?;
    }
    for cell in lacking {
        writeln!(to, "without numbers on one side: {cell}")?;
    }
    for cell in doubtful {
        writeln!(to, "in doubt as measured, and so how far off the prediction is: {cell}")?;
    }
    if let Some(worst) = worst {
        let middle = middle.map_or_else(String::new, |middle| {
            format!("IOPS are predicted to {:.1} % in the middle of the cells. ", middle * 100.0)
        });
        let sentence = format!("{middle}The worst number of all is predicted to {:.1} %.", worst * 100.0);
        writeln!(to, "\n{}", screen.paint(&sentence, Paint::Strong))?;
    }
    writeln!(
        to,
        "Medians over seeds; measured on Linux {here}, predicted with Linux {there}. The predictions: {}",
        out.display()
    )?;
    Ok(to.flush()?)
}

#[cfg(test)]
mod tests {
    use disklab_store::manifest::{Manifest, Suite};
    use disklab_store::outcome::again;
    use serde_json::{Value, json};

    use super::*;

    /// A trial of one of two cells, and what it had of operations.
    fn outcome(trial: &str, cell: &str, ops: f64, remarks: &Value) -> Outcome {
        let line = json!({
            "trial": trial, "cell": { "policy": cell }, "seed_index": 1, "seed": 1, "status": "ok", "reason": null,
            "virtual_ns": null, "wall_ms": 0, "sample": null, "remarks": remarks, "raw": null,
            "measures": { "ops": { "value": ops, "unit": "1/s", "better": "higher" } }
        });
        serde_json::from_value(line).expect("an outcome")
    }

    fn record(folder: &Path, outcomes: Vec<Outcome>) -> Record {
        let (seconds, ids): (Vec<String>, Vec<String>) =
            outcomes.iter().map(|it| it.trial.clone()).partition(|id| *id == again("pid+s1"));
        let mut manifest = Manifest::new("", "", Suite::new("mine", "", Vec::new()), ids);
        manifest.again = seconds;
        let writer = Record::create_at(folder, &manifest).expect("a record");
        outcomes.into_iter().for_each(|outcome| writer.note(outcome).expect("room"));
        Record::open(folder).expect("a record")
    }

    /// The error is beside what the same differs by from itself where that is known; what is in doubt is named.
    #[test]
    fn errors_are_told_beside_the_noise_of_what_was_measured() {
        let folder = tempfile::tempdir().expect("a folder");
        let sound = json!([]);
        let disturbed = json!([{ "kind": "disturbed", "device": "sdb", "requests": 90, "bytes": 4096, "within": 1_000_000_000 }]);
        let measured = record(
            &folder.path().join("measured"),
            vec![
                outcome("pid+s1", "pid", 100.0, &sound),
                outcome(&again("pid+s1"), "pid", 104.0, &sound),
                outcome("queue+s1", "queue", 200.0, &disturbed),
            ],
        );
        let predicted = record(
            &folder.path().join("predicted"),
            vec![outcome("pid+s1", "pid", 110.0, &sound), outcome("queue+s1", "queue", 100.0, &sound)],
        );
        let (rows, lacking) = held_against(&measured, &predicted);
        assert!(lacking.is_empty(), "{lacking:?}");
        let near = |one: Option<f64>, other: f64| one.is_some_and(|one| (one - other).abs() < 1e-9);
        let row =
            |cell: &str| rows.iter().find(|row| row.cell == cell).unwrap_or_else(|| panic!("no {cell}"));
        assert!(near(row("pid").noise, 0.04), "{:?}", row("pid"));
        assert!(near(row("queue").error, -0.5) && row("queue").noise.is_none(), "{:?}", row("queue"));
        let doubtful = in_doubt(&measured);
        assert_eq!(doubtful.len(), 1, "{doubtful:?}");
        assert!(doubtful[0].starts_with("queue: 1 of 1 trial: disturbed by others: sdb"), "{doubtful:?}");
    }

    fn measured(name: &str, value: f64, censored: usize) -> Measured {
        let spread = Spread::of([value]).expect("a value");
        Measured { name: name.to_owned(), unit: "s".to_owned(), spread, censored, sum: None }
    }

    #[test]
    fn what_is_not_fios_has_an_error_where_both_sides_are_known() {
        let here = [
            measured("start-up", 2.0, 0),
            measured("late", 0.0, 0),
            measured("boot", 60.0, 1),
            measured("own", 1.0, 0),
        ];
        let there = [measured("boot", 50.0, 0), measured("late", 1.0, 0), measured("start-up", 1.5, 0)];
        let rows: Vec<Row> = of_others("cell", &here, &there, &[]).collect();
        let told: Vec<(&str, Option<f64>)> =
            rows.iter().map(|row| (row.metric.as_str(), row.error)).collect();
        assert_eq!(told, [("start-up", Some(-0.25)), ("late", None), ("boot", None)]);
        assert_eq!(rows[2].shown, ["> 60.0 s", "50.0 s"]);
    }
}
