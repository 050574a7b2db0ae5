//! What can be typed, and what it leads to.

use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::{Exit, Failure};
use crate::screen::{Screen, When};
use crate::{
    array, audit, bisect, calibrate, clean, compare, completions, device, devices, doctor,
    document, examples, export, gate, gather, history, import, kernel, limits, list, man, merge,
    plan, predict, record_startup, repair, report, run, same, schema, show, signals, trace,
    validate, watch,
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
    History(history::HistoryArgs) => history;
    Gate(gate::Args) => gate;
    Bisect(bisect::BisectArgs) => bisect;
    Report(report::Args) => report;
    Export(export::ExportArgs) => export;
    Import(import::ImportArgs) => import;
    Audit(audit::Args) => audit;
    Same(same::Args) => same;
    Repair(repair::RepairArgs) => repair;
    Merge(merge::Args) => merge;
    Gather(gather::GatherArgs) => gather;
    Predict(predict::PredictArgs) => predict;
    Validate(validate::ValidateArgs) => validate;
    Calibrate(calibrate::CalibrateArgs) => calibrate;
    Array(array::ArrayArgs) => array;
    Device(device::DeviceArgs) => device;
    Devices(devices::DevicesArgs) => devices;
    RecordStartup(record_startup::RecordStartupArgs) => record;
    Clean(clean::CleanArgs) => clean;
    Schema(schema::SchemaArgs) => schema;
    Completions(completions::CompletionsArgs) => completions;
    Man(man::ManArgs) => man, command();
}

/// The command line with its examples, and with what a shell completes.
pub fn command() -> Command {
    completions::with_values(examples::with_examples(Cli::command()))
}

pub fn main() -> ExitCode {
    completions::answer_a_shell(command);
    limits::raise_open_files();
    limits::survive_long_files();
    let words = std::env::args_os().take_while(|word| word != "--");
    let wants_json = words.into_iter().any(|word| word == "--json");
    let read = command().try_get_matches().and_then(|matches| {
        let verb = verb(&matches);
        Cli::from_arg_matches(&matches).map(|cli| (verb, cli))
    });
    let (path, Cli { verb, json, color }) = match read {
        Ok(read) => read,
        Err(error) => {
            if wants_json && error.use_stderr() {
                document::print_error(Exit::Mistaken, &Failure::mistaken(in_short(&error)));
            }
            error.exit()
        }
    };
    let screen = Screen::new(json, color).of_verb(path);
    if let Some(failure) = json.then(signals::end_with_document).and_then(Result::err) {
        return report(&failure, &screen).into();
    }
    match verb.run(&screen) {
        Ok(exit) => {
            if json && exit != Exit::Ok {
                let message = format!("{}; standard error says why", exit.kind());
                screen.json_error(exit, &Failure::said(exit, message));
            }
            exit.into()
        }
        Err(failure) => report(&failure, &screen).into(),
    }
}

/// The verb and the verbs below it: `kernel-list`.
fn verb(matches: &ArgMatches) -> String {
    let mut names = Vec::new();
    let mut rest = matches;
    while let Some((name, below)) = rest.subcommand() {
        names.push(name);
        rest = below;
    }
    names.join("-")
}

/// A mistake on the command line, without the usage that clap adds.
fn in_short(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.split("\n\nUsage:").next().unwrap_or_default();
    let text = text.split("\n\nFor more information").next().unwrap_or_default();
    text.trim().trim_start_matches("error: ").to_owned()
}

/// Prints why a verb failed to standard error, and as a document if JSON is wanted.
fn report(failure: &Failure, screen: &Screen) -> Exit {
    let exit = failure.exit();
    if matches!(failure, Failure::NobodyReads) {
        return exit;
    }
    let message = failure.to_string();
    if matches!(failure, Failure::Diagnostics(_)) {
        // Each line begins with its file.
        screen.remark(&message);
    } else {
        screen.complain(&message);
    }
    if screen.json {
        screen.json_error(exit, failure);
    }
    exit
}

#[cfg(test)]
mod tests;
