//! `disklab completions`: prints the script with which a shell completes disklab's command line.
//! The script asks this program for each word, so that suites, axes, values and records are
//! completed too.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::{Arg, Command};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use disklab_compare::Metric;
use disklab_config::Suite;
use disklab_config::scheduler::Scheduler;
use disklab_config::suite::Axis;
use disklab_record::Record;

use crate::exit::{Exit, Failure, cannot};
use crate::home::Home;
use crate::records;
use crate::screen::Screen;

/// The environment variable by which a shell's script asks.
const ASKED_BY: &str = "DISKLAB_COMPLETE";

/// Print completions for a shell.
///
/// They complete verbs, options, suites, axes and their values, devices, records and trials.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    #[arg(value_enum)]
    shell: Shell,
}

pub fn completions(args: &CompletionsArgs, screen: &Screen) -> Result<Exit, Failure> {
    let name = args.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name);
    let shell = shell.ok_or_else(|| cannot!("there are no completions for {name}"))?;
    let mut script = Vec::new();
    shell.write_registration(ASKED_BY, "disklab", "disklab", "disklab", &mut script)?;
    screen.print(|out| Ok(out.write_all(&script)?))?;
    Ok(Exit::Ok)
}

/// Answers a shell's script, if one asks: prints the candidates for a word, and ends the process.
pub fn answer_a_shell(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(ASKED_BY).complete();
}

/// Returns the values of an argument that clap does not know itself.
type Values = fn(&str) -> Vec<String>;

/// Returns the function that lists the values of an argument, by the argument's id.
fn values_for(id: &str) -> Option<Values> {
    Some(match id {
        "run" | "runs" | "others" | "against" | "resume" => |_| records::names(),
        "suite" => |_| suites(),
        "targets" => |_| [suites(), records::names()].concat(),
        "set" => |word| axis_values(word, true),
        "baseline" | "cell" => |word| axis_values(word, false),
        "trial" => |_| trials(),
        "trials" => |word| listed(word, &trials()),
        "metric" => |word| listed(word, &metrics()),
        "policy" => |_| policies(),
        "devices" => |word| listed(word, &devices()),
        "like" => |_| devices(),
        _ => return None,
    })
}

/// Returns the command line with arguments that are completed from the lab and the records.
pub fn with_values(command: Command) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command =
        names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_values));
    command.mut_args(|arg| match values_for(arg.get_id().as_str()) {
        Some(values) => with_completer(arg, values),
        None => arg,
    })
}

fn with_completer(arg: Arg, values: Values) -> Arg {
    arg.add(ArgValueCompleter::new(move |word: &OsStr| {
        let word = word.to_string_lossy();
        let fitting = values(&word).into_iter().filter(|value| value.starts_with(&*word));
        fitting.map(CompletionCandidate::new).collect::<Vec<_>>()
    }))
}

/// Returns the values that complete the text behind the last comma of a list.
fn listed(word: &str, values: &[String]) -> Vec<String> {
    let (before, _) = word.rfind(',').map_or(("", word), |comma| word.split_at(comma + 1));
    values.iter().map(|value| format!("{before}{value}")).collect()
}

fn suites() -> Vec<String> {
    lab(|home| home.lab.suites.keys().cloned().collect())
}

fn devices() -> Vec<String> {
    lab(|home| home.lab.devices.keys().cloned().collect())
}

fn policies() -> Vec<String> {
    lab(|home| home.lab.policies.keys().cloned().collect())
}

fn metrics() -> Vec<String> {
    Metric::known().split(", ").map(str::to_owned).collect()
}

/// Returns values of the lab; an empty list if no lab is found.
fn lab(list: impl FnOnce(&Home) -> Vec<String>) -> Vec<String> {
    Home::open().map(|home| list(&home)).unwrap_or_default()
}

/// Returns the words of the command line that is being completed.
fn words() -> Vec<String> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Returns the trials of the record on the command line that is being completed.
fn trials() -> Vec<String> {
    let known: BTreeSet<String> = records::names().into_iter().collect();
    let is_record = |word: &String| known.contains(word) || records::is_record(word.as_ref());
    let record = words().into_iter().skip(1).find(is_record);
    let record = record.and_then(|run| Record::open(&records::find(&run).ok()?).ok());
    record.map(|record| record.manifest().trials.clone()).unwrap_or_default()
}

/// Returns `axis=` for each axis, and `axis=value` once an axis is typed. The values are those of
/// the lab and of the suite on the command line.
fn axis_values(word: &str, is_list: bool) -> Vec<String> {
    lab(|home| {
        let lab = &home.lab;
        let suite = words().iter().find_map(|word| lab.suite(word).ok());
        let Some((axis, rest)) = word.split_once('=') else {
            let mut axes: Vec<String> = Axis::ALL.iter().map(|axis| format!("{axis}=")).collect();
            let own = suite.iter().flat_map(Suite::axes);
            axes.extend(own.map(|values| format!("{}=", values.axis)));
            axes.sort_unstable();
            axes.dedup();
            return axes;
        };
        let mut values: Vec<String> = match axis {
            "array" => lab.arrays.keys().cloned().collect(),
            "workload" => lab.workloads.keys().cloned().collect(),
            "background" => lab.backgrounds.keys().cloned().chain(["none".to_owned()]).collect(),
            "policy" => lab.policies.keys().cloned().collect(),
            "scheduler" => Scheduler::ALL.iter().map(ToString::to_string).collect(),
            "kernel" => lab
                .kernels
                .iter()
                .map(|kernel| kernel.series.clone())
                .chain(["newest".to_owned()])
                .collect(),
            _ => Vec::new(),
        };
        let own = suite.iter().flat_map(Suite::axes);
        let own = own.filter(|values| values.axis.to_string() == axis);
        values.extend(own.flat_map(|own| own.values.iter().map(|value| value.value.clone())));
        values.sort_unstable();
        values.dedup();
        let values = if is_list { listed(rest, &values) } else { values };
        values.into_iter().map(|value| format!("{axis}={value}")).collect()
    })
}
