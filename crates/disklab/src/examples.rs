//! Examples for the help of each verb. A test parses all of them.

use std::fmt::Write as _;

use clap::Command;

use crate::words;

/// Examples by verb, with the verbs above it: a command line without `disklab`, and its purpose.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    ("doctor", &[("doctor", "Check this machine")]),
    (
        "kernel build",
        &[
            ("kernel build", "Build the newest supported kernel"),
            ("kernel build --source ~/linux@v7.4", "Build a revision of your own tree"),
        ],
    ),
    ("kernel list", &[("kernel list", "List the built kernels")]),
    ("kernel patch", &[("kernel patch --kernel 7.3 --out patches", "Write patches for `git am`")]),
    ("kernel path", &[("kernel path newest", "Print the path of the newest built kernel")]),
    (
        "list",
        &[
            ("list suites", "List the suites of the lab"),
            ("list runs --json", "List the records as JSON"),
        ],
    ),
    (
        "plan",
        &[(
            "plan read-policy-quick --set array=hdd-raid1",
            "Show the trials of one array, and their time",
        )],
    ),
    (
        "run",
        &[
            (
                "run read-policy-quick --set array=hdd-raid1 --seeds 6",
                "Run one array with six seeds",
            ),
            ("run read-policy --on model --seeds 20", "Run the fast model, to search for policies"),
            ("run read-policy-quick --until-decided", "Add seeds until every verdict is decided"),
            ("run --resume read-policy-quick-20260102-030405", "Continue a run that was stopped"),
        ],
    ),
    (
        "show",
        &[
            ("show read-policy-quick-20260102-030405", "Print the table of a record"),
            ("show nightly hdd-raid1+randread-4k-qd1+pid+s1", "Print everything about one trial"),
        ],
    ),
    ("watch", &[("watch read-policy-quick-20260102-030405", "Watch a run")]),
    (
        "trace",
        &[(
            "trace nightly hdd-raid1+randread-4k-qd1+pid+s1 -o requests.csv",
            "Write all requests of a trial to a file",
        )],
    ),
    (
        "compare",
        &[
            ("compare nightly", "Compare every cell with the suite's baseline"),
            ("compare before after --metric iops,p99", "Compare two records in two metrics"),
            ("compare nightly --format csv", "Write a table for a spreadsheet"),
        ],
    ),
    (
        "history",
        &[
            ("history read-policy-quick --metric p99", "Show one metric of all records of a suite"),
            (
                "history read-policy-quick --against previous -o history.svg",
                "Draw a picture, each record against the previous one",
            ),
            (
                "history monday tuesday --by kernel --format csv",
                "Write a table of two records, by their kernels",
            ),
        ],
    ),
    (
        "gate",
        &[(
            "gate after --against before --max-regression 3%",
            "In CI: exit with status 3 if a cell is more than 3 % worse",
        )],
    ),
    (
        "bisect",
        &[(
            "bisect --kernel ~/linux --good v7.3 --bad v7.4 --suite smoke --cell policy=pid",
            "Find the commit that changed a cell",
        )],
    ),
    ("report", &[("report nightly -o nightly.html", "Write a page with verdicts and pictures")]),
    (
        "export",
        &[
            (
                "export nightly --flat --format csv -o tables",
                "Write one wide table, with a row for each trial",
            ),
            (
                "export nightly -o tables --table metrics,traces",
                "Write some of the tables, as Parquet",
            ),
        ],
    ),
    ("import", &[("import results/*.json --out theirs", "Make a record of fio's own reports")]),
    ("audit", &[("audit results/", "List the results that cannot be true or are implausible")]),
    ("same", &[("same before after", "Compare two records byte for byte")]),
    ("repair", &[("repair nightly --dry-run", "List the damaged lines that can be rebuilt")]),
    ("merge", &[("merge part-1 part-2 --out whole", "Merge two parts of a suite")]),
    (
        "gather",
        &[("gather read-policy-quick --out whole", "Collect trials that other machines run")],
    ),
    (
        "predict",
        &[
            (
                "predict measured --devices nas-4tb,nas-4tb",
                "Predict a record of real disks on models of them",
            ),
            ("predict nightly --on model", "Predict a record of guests in the fast model"),
            (
                "predict nightly --on model --oracle",
                "Show what share of the best possible choice its policies reach",
            ),
        ],
    ),
    (
        "search",
        &[
            (
                "search read-policy --set background=none --policy streams --over \
                 piece=1MiB..64MiB,margin=100..400",
                "Search for better parameters of a read policy in the fast model",
            ),
            (
                "search read-policy --set background=none --policy streams --over \
                 piece=1MiB..64MiB --on-kernel 3",
                "Run the best three candidates on the kernel too",
            ),
        ],
    ),
    (
        "validate",
        &[
            ("validate drives/", "Compare the models with measured drives"),
            (
                "validate benchmark_data/ --device lab/devices/mine.toml",
                "Compare a device with fio's results at each depth, as fio-plot makes them",
            ),
        ],
    ),
    (
        "calibrate",
        &[
            ("calibrate /dev/sdb -o lab/devices/mine.toml", "Measure a disk of this machine"),
            (
                "calibrate --from-fio benchmark_data/x --like desktop-2tb -o x.toml",
                "Fit a device to published results of fio",
            ),
        ],
    ),
    (
        "array new",
        &[(
            "array new --from-machine -o lab/arrays/mine.toml",
            "Draft an array of this machine's disks",
        )],
    ),
    (
        "device new",
        &[
            (
                "device new ironwolf-10tb --like nas-4tb --size 10TB --rpm 7200 --rate 210MB/s \
                 --seek 8ms --cache 256MiB",
                "Describe a hard disk",
            ),
            (
                "device new mx500-2tb --like sata-ssd-1tb --size 2TB --rate 560MB/s \
                 --write-rate 510MB/s --read-iops 95000",
                "Describe an SSD",
            ),
        ],
    ),
    ("devices", &[("devices", "List this machine's disks, and which may be written")]),
    ("record-startup", &[("record-startup xterm -- xterm -e true", "Record the start of xterm")]),
    ("clean", &[("clean --dry-run", "Print what would be removed")]),
    (
        "schema",
        &[
            ("schema", "List the names of all documents"),
            ("schema compare", "Print the schema of one document"),
        ],
    ),
    (
        "completions",
        &[
            (
                "completions bash > ~/.local/share/bash-completion/completions/disklab",
                "Install completions for bash",
            ),
            ("completions zsh > ~/.zfunc/_disklab", "Install completions for zsh"),
            (
                "completions fish > ~/.config/fish/completions/disklab.fish",
                "Install completions for fish",
            ),
        ],
    ),
    (
        "man",
        &[("man | man -l -", "Read the manual"), ("man man1", "Write all pages into a folder")],
    ),
];

/// Returns the command line with examples at the end of each verb's help.
pub fn with_examples(command: Command) -> Command {
    below(command, "")
}

/// Adds examples to a command; `path` names the command and the verbs above it.
fn below(command: Command, path: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command.mut_subcommand(name, |command| below(command, &path))
    });
    let examples = examples_of(path);
    if examples.is_empty() {
        return command;
    }
    let with = |before: Option<String>| {
        let before = before.map(|text| text + "\n\n").unwrap_or_default();
        before + &in_words(&examples)
    };
    let short = command.get_after_help().map(ToString::to_string);
    let long = command.get_after_long_help().map(ToString::to_string);
    let long = with(long.or_else(|| short.clone()));
    let short = with(short);
    command.after_help(short).after_long_help(long)
}

/// Returns the examples of a verb. A verb with verbs below it has the first example of each.
fn examples_of(path: &str) -> Vec<(&'static str, &'static str)> {
    let is_below = |known: &str| {
        let rest = known.strip_prefix(path).filter(|_| !path.is_empty());
        rest.is_some_and(|rest| rest.starts_with(' '))
    };
    let own = EXAMPLES.iter().filter(|(known, _)| *known == path);
    let own = own.flat_map(|(_, examples)| *examples);
    let below = EXAMPLES.iter().filter(|(known, _)| is_below(known));
    own.chain(below.filter_map(|(_, examples)| examples.first())).copied().collect()
}

fn in_words(examples: &[(&str, &str)]) -> String {
    let mut text = "Examples:".to_owned();
    for (line, purpose) in examples {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  # {purpose}\n{}", command_line(line));
    }
    text
}

/// Number of columns that every terminal has.
const COLUMNS: usize = 78;

/// Returns an example as a shell reads it. A long line is broken before options, since clap would
/// break it anywhere.
fn command_line(line: &str) -> String {
    let parts = parts(&format!("disklab {line}"));
    words::filled(parts, COLUMNS - END.len(), "  ", "      ").join(&format!("{END}\n"))
}

/// End of a line that goes on.
const END: &str = " \\";

/// Cuts a command line before each option, pipe and redirection.
fn parts(line: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match parts.last_mut() {
            Some(last) if !word.starts_with(['-', '|', '>']) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => parts.push(word.to_owned()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::EXAMPLES;
    use crate::cli::{Cli, command};

    /// Returns the paths of all verbs that have no verbs below them.
    fn verbs(command: &clap::Command, path: &str) -> Vec<String> {
        let name = |below: &clap::Command| format!("{path} {}", below.get_name()).trim().to_owned();
        let below: Vec<String> = command
            .get_subcommands()
            .flat_map(|below| {
                let own = name(below);
                if below.has_subcommands() { verbs(below, &own) } else { vec![own] }
            })
            .filter(|path| !path.ends_with("help"))
            .collect();
        below
    }

    #[test]
    fn every_verb_has_an_example_and_every_example_is_right() {
        let verbs = verbs(&command(), "");
        let known: Vec<&str> = EXAMPLES.iter().map(|(verb, _)| *verb).collect();
        let without: Vec<&String> =
            verbs.iter().filter(|verb| !known.contains(&verb.as_str())).collect();
        assert!(without.is_empty(), "verbs without an example: {without:?}");
        let unknown: Vec<&&str> =
            known.iter().filter(|verb| !verbs.iter().any(|known| known == **verb)).collect();
        assert!(unknown.is_empty(), "examples of no verb: {unknown:?}");
        for (verb, examples) in EXAMPLES {
            assert!(!examples.is_empty(), "{verb}");
            for (line, _) in *examples {
                assert!(line.starts_with(verb), "{line} is no example of {verb}");
                // The shell, and not disklab, parses a pipe or a redirection.
                let own = line.split(['|', '>']).next().unwrap_or_default();
                let words = shlex::split(&format!("disklab {own}")).expect(line);
                let matches = command().try_get_matches_from(words);
                let matches = matches.unwrap_or_else(|error| panic!("{line}: {error}"));
                Cli::from_arg_matches(&matches).unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }

    #[test]
    fn a_long_example_can_be_copied_from_the_help() {
        for (_, examples) in EXAMPLES {
            for (line, _) in *examples {
                let shown = super::command_line(line);
                assert!(shown.lines().all(|line| line.len() <= super::COLUMNS), "{shown}");
                let joined = shown.replace("\\\n", "");
                let words: Vec<&str> = joined.split_whitespace().collect();
                assert_eq!(words.join(" "), format!("disklab {line}"));
            }
        }
        let mut command = command();
        let verb = command.find_subcommand_mut("search").expect("a verb");
        let help = verb.render_long_help().to_string();
        let broken = "--policy streams \\\n      --over piece=1MiB..64MiB,margin=100..400\n";
        assert!(help.contains(broken), "{help}");
    }

    #[test]
    fn help_ends_with_examples_beside_what_stood_there() {
        let mut whole = command();
        let report = whole.find_subcommand_mut("report").expect("a verb");
        let help = report.render_long_help().to_string();
        assert!(help.contains("Panels, and the pictures"), "{help}");
        let panels = help.split("Panels, and the pictures").nth(1).unwrap_or_default();
        let mut latency = panels.lines().skip_while(|line| !line.starts_with("  latency "));
        let text = latency.next().and_then(|line| line.find("Latency"));
        let rest = latency.next().and_then(|line| line.find(|letter| letter != ' '));
        assert!(text.is_some() && text == rest, "{panels}");
        let last = help.trim_end().lines().last().unwrap_or_default();
        assert_eq!(last, "  disklab report nightly -o nightly.html");
    }

    #[test]
    fn a_verb_with_verbs_below_it_shows_an_example_of_each() {
        let kernel = super::examples_of("kernel");
        let lines: Vec<&str> = kernel.iter().map(|(line, _)| *line).collect();
        assert!(lines.contains(&"kernel build") && lines.contains(&"kernel list"), "{lines:?}");
        assert!(super::examples_of("").is_empty() && super::examples_of("dev").is_empty());
    }
}
