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

/// Declares the verbs: each has a module with its arguments and the function that runs it.
macro_rules! verbs {
    ($($verb:ident($module:ident::$args:ident) => $run:ident $(, $more:expr)?;)+) => {
        #[derive(Debug, Subcommand)]
        enum Verb {
            $($verb($module::$args),)+
        }

        impl Verb {
            fn run(&self, screen: &Screen) -> Result<Exit, Failure> {
                match self {
                    $(Self::$verb(args) => $module::$run(args, $($more,)? screen),)+
                }
            }
        }
    };
}

verbs! {
    Doctor(doctor::DoctorArgs) => doctor;
    Kernel(kernel::KernelArgs) => kernel;
    List(list::ListArgs) => list;
    Plan(plan::PlanArgs) => plan;
    Run(run::RunArgs) => run;
    Show(show::Args) => show;
    Watch(watch::Args) => watch;
    Trace(trace::TraceArgs) => trace;
    Compare(compare::Args) => compare;
    Gate(gate::Args) => gate;
    Bisect(bisect::BisectArgs) => bisect;
    Report(report::Args) => report;
    Export(export::ExportArgs) => export;
    Import(import::ImportArgs) => import;
    Audit(audit::Args) => audit;
    Same(same::Args) => same;
    Merge(merge::Args) => merge;
    Gather(gather::GatherArgs) => gather;
    Predict(predict::PredictArgs) => predict;
    Validate(validate::ValidateArgs) => validate;
    Calibrate(calibrate::CalibrateArgs) => calibrate;
    Array(array::ArrayArgs) => array;
    Devices(devices::DevicesArgs) => devices;
    RecordStartup(record_startup::RecordStartupArgs) => record;
    Clean(clean::CleanArgs) => clean;
    Completions(completions::CompletionsArgs) => completions, Cli::command();
    Man(man::ManArgs) => man, Cli::command();
}

pub fn main() -> ExitCode {
    let Cli { verb, json, color } = Cli::parse();
    let screen = Screen::new(json, color);
    match verb.run(&screen) {
        Ok(exit) => exit.into(),
        Err(failure) => report(&failure, &screen).into(),
    }
}

/// Prints why a verb failed to standard error.
fn report(failure: &Failure, screen: &Screen) -> Exit {
    let message = failure.to_string();
    let exit = match failure {
        Failure::NobodyReads => return Exit::Ok,
        // Each line of mistakes begins with its file.
        Failure::Diagnostics(_) => {
            screen.remark(&message);
            return Exit::Mistaken;
        }
        Failure::Said { exit, .. } => *exit,
        Failure::Output(_) => Exit::Cannot,
    };
    screen.complain(&message);
    exit
}
