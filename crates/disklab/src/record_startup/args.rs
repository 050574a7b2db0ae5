//! What is recorded, and what it is started with, as it is typed.

use clap::builder::NonEmptyStringValueParser;
use disklab_guest::init::startup::ENVIRONMENT;

/// Make a start-up workload of a command: the files that it uses, in what order and which parts of
/// them, and how long it computes between.
///
/// The command is run here four times, once under strace and then to take its time with all files
/// in memory, of which the shortest counts, and in guests, on copies of its files, where the kernel
/// tells which parts of them it reads, and which of its threads wait for which. It has to end by
/// itself: what it takes until then is its start-up. The workload is a new file in the lab. It is
/// replayed anywhere, with files of the same sizes; `NAME:program` as a workload runs the command
/// itself, on copies of the files of the machine it is run on.
///
/// It is started with PATH, LC_ALL=C, TERM=dumb, a HOME without anything in it, and no other
/// variables, here and in guests, and with /dev/null as its input and output. Not recorded: what is
/// in /proc, /sys, /dev, /run and /tmp.
#[derive(Debug, clap::Args)]
pub struct RecordStartupArgs {
    /// Of the workload.
    #[arg(value_parser = name)]
    pub name: String,

    /// A variable that it is started with, such as DISPLAY=:9; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<String>,

    /// A program that has to be running, such as "Xvfb :9": its words are split at spaces. It is
    /// started 2 s before, from this machine's files in guests too, and is no part of what is
    /// recorded.
    #[arg(long, value_name = "COMMAND", default_value = "", hide_default_value = true)]
    server: String,

    /// What is recorded, after `--`.
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
    /// The variables that the command is started with, without HOME, which is new each time.
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        ENVIRONMENT
            .into_iter()
            .chain(self.env.iter().filter_map(|variable| variable.split_once('=')))
    }

    /// The words of the server's command; none without a server.
    pub fn server_words(&self) -> Vec<String> {
        self.server.split_whitespace().map(str::to_owned).collect()
    }
}
