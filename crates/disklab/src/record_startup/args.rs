//! Arguments of `disklab record-startup`: the command and its environment.

use clap::builder::NonEmptyStringValueParser;
use disklab_guest::init::startup::ENVIRONMENT;

/// Record the start of a program as a workload.
///
/// The workload has the files that the program reads, their order and the parts that are read, and
/// the computing time between the reads. The program must end by itself: the time until then is its
/// start-up time.
///
/// disklab runs the program here four times: once under strace, and then with all files in memory,
/// of which the shortest time counts. It also runs the program in guests, on copies of its files,
/// where the kernel reports the parts of the files that are read, and which thread waits for which.
/// The program gets PATH, LC_ALL=C, TERM=dumb, an empty HOME and no other variables, here and in
/// guests, and /dev/null as its input and output. Files in /proc, /sys, /dev, /run and /tmp are not
/// recorded.
///
/// The workload is a new file in the lab. Any machine can replay it, with files of the same sizes.
/// The workload `NAME:program` runs the program itself, on copies of the files of the machine that
/// runs the trial.
#[derive(Debug, clap::Args)]
pub struct RecordStartupArgs {
    /// The name of the new workload.
    #[arg(value_parser = name)]
    pub name: String,

    /// An environment variable for the program, such as DISPLAY=:9. Can be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<String>,

    /// A program that must run beside it, such as "Xvfb :9". It is not recorded.
    ///
    /// The words of the command are split at spaces. The program is started 2 s earlier, in guests
    /// too, where it runs from the files of this machine.
    #[arg(long, value_name = "COMMAND", default_value = "", hide_default_value = true)]
    server: String,

    /// The program to record and its arguments, after `--`.
    #[arg(last = true, required = true, value_parser = NonEmptyStringValueParser::new())]
    pub command: Vec<String>,
}

fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with(['-', '_', '.']) {
        Ok(text.to_owned())
    } else {
        Err("a workload's name has lower-case letters, digits, `-`, `_` and `.`, a letter or \
            digit first"
            .to_owned())
    }
}

fn variable(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((name, _)) if !name.is_empty() => Ok(text.to_owned()),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

impl RecordStartupArgs {
    /// Returns the command's variables without HOME, which is new for each start.
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        ENVIRONMENT
            .into_iter()
            .chain(self.env.iter().filter_map(|variable| variable.split_once('=')))
    }

    /// Returns the words of the server's command. The list is empty without a server.
    pub fn server_words(&self) -> Vec<String> {
        self.server.split_whitespace().map(str::to_owned).collect()
    }
}
