//! What can be typed, and what it leads to.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::exit::{Exit, Failure};
use crate::screen::{Screen, When};
use crate::{
    array, audit, bisect, calibrate, clean, compare, completions, devices, doctor, export, gate,
    gather, import, kernel, list, man, merge, plan, predict, record_startup, report, run, same,
    show, trace, validate, watch,
};

/// The real Linux kernel, on disks you describe, in virtual time.
///
/// disklab boots the kernel in question as a process, gives it modelled disks, runs real fio on a
/// real filesystem in it, and lets time advance only when a disk or a timer says so. The same
/// experiment twice gives the same bytes.
#[derive(Debug, Parser)]
#[command(name = "disklab", version, max_term_width = 100, after_long_help = AFTER)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,

    /// Print JSON instead of tables.
    #[arg(long, global = true)]
    json: bool,

    /// Colours: never also where NO_COLOR is set; auto asks whether standard output is a terminal.
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    color: When,
}

const AFTER: &str = "\
First steps:
  disklab doctor                    what this machine lacks, and how to get it
  disklab kernel build              the guest kernel, once
  disklab plan read-policy-quick    what a suite would do
  disklab run read-policy-quick     do it; the results are in ./records

Exit status:
  0 all is well    1 a trial failed, two records differ, results cannot be true, or a model \
  misses its bar
  2 mistaken input
  3 a regression   4 undecided
  5 this machine cannot (yet)    130 interrupted; what was done is kept";

#[derive(Debug, Subcommand)]
enum Verb {
    Doctor(doctor::Args),
    Kernel(kernel::Args),
    List(list::Args),
    Plan(plan::Args),
    Run(run::Args),
    Show(show::Args),
    Watch(watch::Args),
    Trace(trace::Args),
    Compare(compare::Args),
    Gate(gate::Args),
    Bisect(bisect::Args),
    Report(report::Args),
    Export(export::Args),
    Import(import::Args),
    Audit(audit::Args),
    Same(same::Args),
    Merge(merge::Args),
    Gather(gather::Args),
    Predict(predict::Args),
    Validate(validate::Args),
    Calibrate(calibrate::Args),
    Array(array::Args),
    Devices(devices::Args),
    RecordStartup(record_startup::Args),
    Clean(clean::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Verb {
    fn carry_out(self, screen: &Screen) -> Result<Exit, Failure> {
        match self {
            Self::Doctor(args) => doctor::doctor(&args, screen),
            Self::Kernel(args) => kernel::kernel(args, screen),
            Self::List(args) => list::list(&args, screen),
            Self::Plan(args) => plan::plan(&args, screen),
            Self::Run(args) => run::run(&args, screen),
            Self::Show(args) => show::show(&args, screen),
            Self::Watch(args) => watch::watch(&args, screen),
            Self::Trace(args) => trace::trace(&args, screen),
            Self::Compare(args) => compare::compare(&args, screen),
            Self::Gate(args) => gate::gate(&args, screen),
            Self::Bisect(args) => bisect::bisect(&args, screen),
            Self::Report(args) => report::report(&args, screen),
            Self::Export(args) => export::export(&args, screen),
            Self::Import(args) => import::import(&args, screen),
            Self::Audit(args) => audit::audit(&args, screen),
            Self::Same(args) => same::same(&args, screen),
            Self::Merge(args) => merge::merge(&args, screen),
            Self::Gather(args) => gather::gather(&args, screen),
            Self::Predict(args) => predict::predict(&args, screen),
            Self::Validate(args) => validate::validate(&args, screen),
            Self::Calibrate(args) => calibrate::calibrate(&args, screen),
            Self::Array(args) => array::array(&args, screen),
            Self::Devices(args) => devices::devices(&args, screen),
            Self::RecordStartup(args) => record_startup::record(&args, screen),
            Self::Clean(args) => clean::clean(&args, screen),
            Self::Completions(args) => completions::completions(&args, Cli::command(), screen),
            Self::Man(args) => man::man(&args, Cli::command(), screen),
        }
    }
}

pub fn main() -> ExitCode {
    let Cli { verb, json, color } = Cli::parse();
    let screen = Screen::new(json, color);
    match verb.carry_out(&screen) {
        Ok(exit) => exit.into(),
        Err(failure) => report(failure, &screen).into(),
    }
}

/// Prints why a verb failed to standard error.
fn report(failure: Failure, screen: &Screen) -> Exit {
    match failure {
        Failure::Said { exit, message } => {
            screen.complain(&message);
            exit
        }
        Failure::Mistakes(mistakes) => {
            screen.remark(&mistakes.to_string());
            Exit::Mistaken
        }
        Failure::Output(error) => {
            screen.complain(&format!("cannot write to standard output: {error}"));
            Exit::Cannot
        }
        Failure::NobodyReads => Exit::Ok,
    }
}
