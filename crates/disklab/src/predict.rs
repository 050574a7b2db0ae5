//! `disklab predict`: compares the results of a record with predictions. The suite of a record from
//! real disks runs on models of them, which shows how far virtual time may be believed for a
//! machine. The suite of a record from guests runs in the fast model, which shows how far the model
//! may be believed for a kernel.

mod errors;
mod ranking;

use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use disklab_config::{Array, Lab, Trial};
use disklab_record::manifest::system;
use disklab_record::outcome::Cell;
use disklab_record::{Record, RecordError, Retry, Status};
use disklab_results::Spread;
use disklab_runner::Model;
use indexmap::IndexMap;

use crate::exit::{Exit, Failure, mistaken};
use crate::home::Home;
use crate::oracle::{ORACLES, POLICY, bounds};
use crate::plan::Jobs;
use crate::question::Question;
use crate::run::manifest::{self, By};
use crate::run::on_host::here::HERE;
use crate::run::progress::run_trials;
use crate::run::{self, on_host, ready};
use crate::screen::{Paint, Screen};
use crate::table::TextTable;
use crate::{records, signals, words};
use errors::{PredictedNumber, held_against, in_doubt};
use ranking::{PolicyRanking, rankings};

/// Predict the results of a record on models of its disks, or in the fast model.
///
/// The suite of the record runs again. A record of real disks runs in guests on models of these
/// disks: devices of the lab, as `disklab calibrate` writes them. With --on model, a record of
/// guests runs in the fast model. The table shows each measured number beside the predicted one,
/// with its error. The predictions are a record of their own.
#[derive(Debug, clap::Args)]
pub struct PredictArgs {
    /// A record of `run --on host`, or with --on model any of btrfs's read policies, by its name in
    /// ./records or by its path.
    run: String,

    /// The executor that predicts: guests, or the fast model without a kernel.
    #[arg(long, value_enum, default_value_t = Predictor::Kernel, value_name = "EXECUTOR")]
    on: Predictor,

    /// Devices of the lab that model the record's disks, in their order; one device models all.
    #[arg(long, value_name = "DEVICE,...", value_delimiter = ',', required_if_eq("on", "kernel"))]
    devices: Vec<String>,

    /// For a record of `run --at`: the array of the lab that models the filesystem, as `disklab
    /// array new --from-machine` drafts it.
    #[arg(long, value_name = "NAME")]
    array: Option<String>,

    /// The kernel of the guests that predict, named as in a suite [default: newest].
    #[arg(long, value_name = "KERNEL", conflicts_with = "on")]
    kernel: Option<String>,

    #[command(flatten)]
    jobs: Jobs,

    /// With --on model: also run the oracle of the model in each cell, into a record <OUT>-oracle,
    /// and show what share of its IOPS was measured.
    #[arg(long)]
    oracle: bool,

    /// The folder of the predictions' record [default: ./records/<RUN>-predicted, or <RUN>-model].
    /// A folder that exists is continued.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The executor that predicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Predictor {
    /// Guests on modelled disks, in virtual time.
    Kernel,
    /// The fast model of the stack, without a kernel.
    Model,
}

pub fn predict(args: &PredictArgs, screen: &Screen) -> Result<Exit, Failure> {
    if args.oracle && args.on != Predictor::Model {
        return Err(mistaken!("--oracle: only the fast model has an oracle; add --on model"));
    }
    let folder = records::find(&args.run)?;
    let measured = records::open_at(&folder, screen)?;
    let home = Home::open()?;
    let lab = on_models(&home.lab, &measured, args)?;
    let mut question =
        with_numbers(Question::recorded(&lab, &folder, measured.manifest())?, &measured)?;
    if let Some(kernel) = &args.kernel {
        question.trials.iter_mut().for_each(|trial| trial.kernel.clone_from(kernel));
        question.set.push(format!("kernel={kernel}"));
    }
    let (jobs, stop) = (args.jobs.get(), signals::watch()?);
    let by = match args.on {
        Predictor::Kernel => By::Guests(ready::check(&home, &question.trials, jobs, stop, screen)?),
        Predictor::Model => {
            question = question.that_model_runs("predict", screen)?;
            By::Model(Model { jobs, deadline: None, stop })
        }
    };
    let bounding =
        args.oracle.then(|| bounding(&lab, &folder, &measured, &question)).transpose()?;
    let manifest = manifest::describe(&home, &question, &by)?;
    let suffix = if args.on == Predictor::Model { "model" } else { "predicted" };
    let name = format!("{}-{suffix}", records::name_of(&folder));
    let out = args.out.clone().unwrap_or_else(|| Path::new(records::FOLDER).join(name));
    let opened = run::open(Some(out.clone()), &manifest, Retry::Nothing);
    let (writer, _) = opened.map_err(|error| match error {
        RecordError::Mismatch { .. } => mistaken!(
            "predict: {} has a prediction with other devices, another kernel or another lab; name \
             another folder with --out",
            out.display()
        ),
        error => error.into(),
    })?;
    let run = by.as_executor();
    let predicted = run_trials(run, &question.trials, writer, screen)?;
    let bounds = match bounding.filter(|_| !run.stop().load(Ordering::Relaxed)) {
        Some(question) => bounds(&run_oracle(&home, &question, &by, &out, screen)?),
        None => IndexMap::new(),
    };
    if run.stop().load(Ordering::Relaxed) {
        let again = format!("disklab predict {} --out {}", args.run, out.display());
        let message = format!("interrupted; to continue: {again}");
        return Err(Failure::said(Exit::Interrupted, message));
    }
    let (rows, lacking) = held_against(&measured, &predicted, &bounds);
    let doubtful = in_doubt(&measured);
    let prediction = Prediction {
        rankings: rankings(&measured, &predicted),
        kernels: kernels(&measured, &predicted),
        rows: &rows,
        lacking: &lacking,
        doubtful: &doubtful,
        out: &out,
    };
    prediction.print(screen)?;
    Ok(if rows.is_empty() || !lacking.is_empty() { Exit::Failed } else { Exit::Ok })
}

/// Returns the oracle's trials in the cells of a question, with the settings of a record.
fn bounding(
    lab: &Lab,
    folder: &Path,
    measured: &Record,
    question: &Question,
) -> Result<Question, Failure> {
    let all = Question::with_values(lab, folder, measured.manifest(), POLICY, ORACLES)?;
    let place = |trial: &Trial| (Cell(trial.cell.clone()).without(POLICY), trial.seed_index);
    let known: Vec<(Cell, u32)> = question.trials.iter().map(place).collect();
    let has = |&index: &usize| known.contains(&place(&all.trials[index]));
    let wanted: Vec<usize> = (0..all.trials.len()).filter(has).collect();
    Ok(all.only(&wanted))
}

/// Runs the oracle's trials, into a record of their own beside the predictions.
fn run_oracle(
    home: &Home,
    question: &Question,
    by: &By,
    out: &Path,
    screen: &Screen,
) -> Result<Record, Failure> {
    let mut folder = out.as_os_str().to_owned();
    folder.push("-oracle");
    let manifest = manifest::describe(home, question, by)?;
    let (writer, _) = run::open(Some(folder.into()), &manifest, Retry::Nothing)?;
    run_trials(by.as_executor(), &question.trials, writer, screen)
}

/// Returns the question without the trials that gave no result on the machine: a prediction of them
/// can be neither right nor wrong.
fn with_numbers(question: Question, measured: &Record) -> Result<Question, Failure> {
    let is_known =
        |id: &str| measured.outcome(id).is_some_and(|outcome| outcome.status == Status::Ok);
    let all = 0..question.trials.len();
    let known: Vec<usize> = all.filter(|&index| is_known(&question.trials[index].id)).collect();
    if known.is_empty() {
        return Err(mistaken!(
            "predict: the record has no trial with a result, so there is nothing to predict"
        ));
    }
    Ok(question.only(&known))
}

/// Returns the versions of the kernels of the measurement and of the prediction. Different kernels
/// may explain an error.
fn kernels(measured: &Record, predicted: &Record) -> [String; 2] {
    [measured, predicted].map(|record| {
        let versions: BTreeSet<&str> =
            record.manifest().kernels.iter().map(|kernel| kernel.version.as_str()).collect();
        versions.into_iter().collect::<Vec<_>>().join(", ")
    })
}

/// Returns the lab, with the record's arrays made of models.
fn on_models(lab: &Lab, record: &Record, args: &PredictArgs) -> Result<Lab, Failure> {
    let devices = &args.devices;
    let manifest = record.manifest();
    if args.on == Predictor::Model && manifest.on_host.is_none() {
        if manifest.is_of_model() {
            return Err(mistaken!(
                "predict: this record was made with the model itself; name a record of guests"
            ));
        }
        if !devices.is_empty() {
            return Err(mistaken!(
                "--devices is for records of real disks, and this record has modelled ones; leave \
                 --devices out"
            ));
        }
        return Ok(lab.clone());
    }
    let on = manifest.on_host.as_ref().ok_or_else(|| {
        mistaken!(
            "predict: this record is not of real disks (run --on host); add --on model to predict \
             it with the fast model"
        )
    })?;
    if let Some(unknown) = devices.iter().find(|name| !lab.devices.contains_key(*name)) {
        return Err(mistaken!(
            "--devices: the lab has no device `{unknown}`; `disklab calibrate` makes one of a \
             disk, `disklab list devices` lists them"
        ));
    }
    let models: Vec<String> = match (devices.len(), on.disks.len()) {
        (1, disks) => vec![devices[0].clone(); disks],
        (named, disks) if named == disks => devices.clone(),
        (named, disks) => {
            return Err(mistaken!(
                "--devices: {} for {}; name one for each, in their order, or one for all",
                words::count(named, "device"),
                words::count(disks, "disk")
            ));
        }
    };
    match (&on.at, &args.array) {
        (None, None) => {
            let arrays = on_host::arrays(&manifest.suite.set).unwrap_or_default();
            Ok(on_host::made_of(lab, &arrays, &models))
        }
        (None, Some(_)) => Err(mistaken!(
            "--array is for records of an existing filesystem (--at); this record says what was \
             made, so leave --array out"
        )),
        (Some(at), None) => Err(mistaken!(
            "predict: this record is of an existing filesystem, {}; name the lab's array that is \
             made like it with --array NAME (`disklab array new --from-machine` drafts one)",
            at.display()
        )),
        (Some(_), Some(name)) => {
            let array = lab.arrays.get(name).ok_or_else(|| {
                mistaken!(
                    "--array: the lab has no array `{name}`; `disklab list arrays` lists them"
                )
            })?;
            let mut lab = lab.clone();
            let array = Array {
                name: HERE.to_owned(),
                partition_size: None,
                devices: models,
                spares: Vec::new(),
                cache: None,
                controller: None,
                host: None,
                replica: None,
                ..array.clone()
            };
            lab.arrays.insert(HERE.to_owned(), array);
            Ok(lab)
        }
    }
}

/// The contents of a prediction's output.
struct Prediction<'a> {
    rows: &'a [PredictedNumber],
    /// Cells that lack numbers in one of the records.
    lacking: &'a [String],
    /// Cells whose measurements are in doubt.
    doubtful: &'a [String],
    rankings: Vec<PolicyRanking>,
    /// The kernels of the measurement, and those of the prediction.
    kernels: [String; 2],
    out: &'a Path,
}

impl Prediction<'_> {
    fn print(&self, screen: &Screen) -> Result<(), Failure> {
        let [here, there] = &self.kernels;
        let size = |row: &PredictedNumber| row.error.map(f64::abs);
        let worst = self.rows.iter().filter_map(size).reduce(f64::max);
        let of_iops = self.rows.iter().filter(|row| row.metric == "IOPS").filter_map(size);
        let middle = Spread::over(of_iops).map(|spread| spread.median);
        let document = json!({
            "record": self.out, "kernels": { "measured": here, "predicted": there },
            "cells": self.rows, "without_numbers": self.lacking, "in_doubt": self.doubtful,
            "worst_error": worst, "median_error_of_iops": middle, "rankings": self.rankings,
        });
        screen.present(&document, |to| {
            let is_twice = self.rows.iter().any(|row| row.noise.is_some());
            table(self.rows, is_twice, screen).print(screen, "", to)?;
            if self.rows.iter().any(|row| row.of_oracle.is_some()) {
                writeln!(
                    to,
                    "of the oracle's: measured IOPS as a share of those of the model's better \
                     oracle"
                )?;
            }
            if is_twice {
                writeln!(
                    to,
                    "noise: how much two measurements of the same trial may differ on this machine"
                )?;
            }
            for cell in self.lacking {
                writeln!(to, "measured or predicted only, not both: {cell}")?;
            }
            for cell in self.doubtful {
                writeln!(to, "the measurement is in doubt, and so is the error: {cell}")?;
            }
            self.print_rankings(to)?;
            if let Some(worst) = worst.map(percent) {
                let middle = middle.map(percent).map_or_else(String::new, |middle| {
                    format!("The median error of IOPS is {middle}. ")
                });
                let sentence = format!("{middle}The largest error of any number is {worst}.");
                writeln!(to, "\n{}", screen.paint(&sentence, Paint::Strong))?;
            }
            let [here, there] = [here, there].map(|version| system(version));
            Ok(writeln!(
                to,
                "Numbers are medians over seeds, measured on {here} and predicted with {there}. \
                 The predictions: {}",
                self.out.display()
            )?)
        })
    }

    fn print_rankings(&self, to: &mut dyn std::io::Write) -> Result<(), Failure> {
        for PolicyRanking { cell, reversed, .. } in &self.rankings {
            for [better, worse] in reversed {
                writeln!(to, "{cell}: measured {better} > {worse}, predicted the other way round")?;
            }
        }
        if !self.rankings.is_empty() {
            let same = self.rankings.iter().filter(|ranking| ranking.reversed.is_empty()).count();
            let all = words::count(self.rankings.len(), "combination");
            writeln!(
                to,
                "\nThe policies are in the predicted order of IOPS in {same} of {all} of disks and \
                 load."
            )?;
        }
        Ok(())
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn table(rows: &[PredictedNumber], is_twice: bool, screen: &Screen) -> TextTable {
    let noise = if is_twice { "|>noise" } else { "" };
    let has_oracle = rows.iter().any(|row| row.of_oracle.is_some());
    let oracle = if has_oracle { "|>of the oracle's" } else { "" };
    let heads = format!("cell||>measured|>predicted|>error{noise}{oracle}");
    let mut table = TextTable::with_heads(&heads, screen.color).with_keys(2);
    let mut last = "";
    for row in rows {
        let cell = if row.cell == last { "" } else { row.cell.as_str() };
        let [measured, predicted] = row.shown.clone();
        let error = words::or_dash(row.error.map(|error| format!("{:+.1} %", error * 100.0)));
        let noise = is_twice.then(|| row.noise.map_or_else(String::new, percent));
        let of_oracle = has_oracle.then(|| row.of_oracle.map_or_else(String::new, percent));
        let fields = [cell.to_owned(), row.metric.clone(), measured, predicted, error];
        table.row(fields.into_iter().chain(noise).chain(of_oracle));
        last = &row.cell;
    }
    table
}
