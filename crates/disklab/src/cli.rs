//! The command line: its verbs, and the function that runs each.

use std::process::ExitCode;

use clap::builder::Styles;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::{Exit, Failure};
use crate::screen::{Screen, When};
use crate::{
    array, audit, bisect, calibrate, clean, compare, completions, device, devices, doctor,
    document, examples, export, gate, gather, history, import, kernel, limits, list, man, merge,
    plan, predict, record_startup, repair, report, run, same, schema, search, show, signals, trace,
    validate, watch,
};

/// Run the real Linux kernel on modelled disks, in virtual time.
///
/// disklab boots the kernel as a process, gives it modelled disks, and runs real fio on a real
/// filesystem in it. Time advances only when a disk or a timer says so. The same experiment gives
/// the same bytes again.
#[derive(Debug, Parser)]
#[command(name = "disklab", version, max_term_width = 100, after_long_help = AFTER)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,

    /// Print JSON in place of tables.
    #[arg(long, global = true)]
    json: bool,

    /// When to use colours. auto: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    color: When,
}

const AFTER: &str = "\
First steps:
  disklab doctor                    check what this machine lacks
  disklab kernel build              build the guest kernel, once
  disklab plan read-policy-quick    show what a suite would do
  disklab run read-policy-quick     run it; the results are in ./records

Exit status:
  0    success
  1    a trial failed, two records differ, results are doubtful, or a model misses its bar
  2    mistaken input
  3    a regression
  4    undecided
  5    this machine lacks something: `disklab doctor` says what
  130  interrupted; completed work is kept";

/// Declares the verbs, in the groups in which `--help` lists them. Each verb has a module with its
/// arguments and the function that runs it.
macro_rules! verbs {
    ($($group:literal: {
        $($(#[$attribute:meta])*
        $verb:ident($module:ident::$args:ident) => $run:ident $(, $more:expr)?;)+
    })+) => {
        #[derive(Debug, Subcommand)]
        enum Verb {
            $($($(#[$attribute])* $verb($module::$args),)+)+
        }

        impl Verb {
            fn run(&self, screen: &Screen) -> Result<Exit, Failure> {
                match self {
                    $($(Self::$verb(args) => $module::$run(args, $($more,)? screen),)+)+
                }
            }
        }

        /// The headings of the groups, each with the number of its verbs.
        const GROUPS: &[(&str, usize)] = &[$(($group, [$(stringify!($verb)),+].len())),+];
    };
}

verbs! {
    "Measure": {
        Doctor(doctor::DoctorArgs) => doctor;
        List(list::ListArgs) => list;
        Plan(plan::PlanArgs) => plan;
        Run(run::RunArgs) => run;
        Search(search::SearchArgs) => search;
        Watch(watch::Args) => watch;
        Show(show::Args) => show;
        Trace(trace::TraceArgs) => trace;
        Merge(merge::Args) => merge;
        Repair(repair::RepairArgs) => repair;
        RecordStartup(record_startup::RecordStartupArgs) => record;
        Clean(clean::CleanArgs) => clean;
    }
    "Compare": {
        Compare(compare::Args) => compare;
        Report(report::Args) => report;
        Gate(gate::Args) => gate;
        History(history::HistoryArgs) => history;
        Same(same::Args) => same;
    }
    "Disks": {
        Device(device::DeviceArgs) => device;
        Array(array::ArrayArgs) => array;
        Validate(validate::ValidateArgs) => validate;
    }
    "Kernels": {
        Kernel(kernel::KernelArgs) => kernel;
        Bisect(bisect::BisectArgs) => bisect;
    }
    "Real disks": {
        Devices(devices::DevicesArgs) => devices;
        Calibrate(calibrate::CalibrateArgs) => calibrate;
        #[command(about = "Predict the results of a record on models of its disks")]
        Predict(predict::PredictArgs) => predict;
    }
    "Other programs": {
        Import(import::ImportArgs) => import;
        Audit(audit::Args) => audit;
        Export(export::ExportArgs) => export;
        Gather(gather::GatherArgs) => gather;
        Schema(schema::SchemaArgs) => schema;
        Completions(completions::CompletionsArgs) => completions;
        Man(man::ManArgs) => man, command();
    }
}

/// Returns the command line with its examples, its groups of verbs, and the values that a shell
/// completes.
pub fn command() -> Command {
    grouped(completions::with_values(examples::with_examples(Cli::command())))
}

/// Returns the command whose help lists its verbs in groups. clap lists them without any.
fn grouped(command: Command) -> Command {
    let style = Styles::styled();
    let (header, literal) = (style.get_header(), style.get_literal());
    let about = |verb: &Command| verb.get_about().map(ToString::to_string).unwrap_or_default();
    let verbs: Vec<(String, String)> =
        command.get_subcommands().map(|verb| (verb.get_name().to_owned(), about(verb))).collect();
    let row = |verb: &str, about: &str| format!("  {literal}{verb:VERB$}{literal:#}{about}\n");
    let mut verbs = verbs.iter();
    let groups = GROUPS.iter().map(|&(heading, count)| {
        let rows: String =
            verbs.by_ref().take(count).map(|(verb, about)| row(verb, about)).collect();
        format!("\n{header}{heading}:{header:#}\n{rows}")
    });
    let groups: String = groups.collect();
    // clap adds this verb itself.
    let help = row("help", "Print this help, or the help of a verb");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}{help}\n\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

/// Width of the column of verbs in the help.
const VERB: usize = 16;

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

/// Returns the names of the verb and of the verbs below it, joined: `kernel-list`.
fn verb(matches: &ArgMatches) -> String {
    let mut names = Vec::new();
    let mut rest = matches;
    while let Some((name, below)) = rest.subcommand() {
        names.push(name);
        rest = below;
    }
    names.join("-")
}

/// Returns clap's message about a mistake, without the usage that clap adds.
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
        // Each line begins with the name of its file.
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
