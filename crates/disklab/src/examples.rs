//! The examples in each verb's help. A test parses every one.

use std::fmt::Write as _;

use clap::Command;

/// A verb, with the verbs above it, and its examples: a command line without `disklab`, and what it
/// is for.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    ("doctor", &[("doctor", "what this machine lacks")]),
    (
        "kernel build",
        &[
            ("kernel build", "the newest kernel that is supported"),
            ("kernel build --source ~/linux@v7.4", "a revision of a tree of yours"),
        ],
    ),
    ("kernel list", &[("kernel list", "the kernels that are built")]),
    ("kernel patch", &[("kernel patch --kernel 7.3 --out patches", "patches for `git am`")]),
    ("kernel path", &[("kernel path newest", "where the program is")]),
    ("list", &[("list suites", "the suites of the lab"), ("list runs --json", "the records")]),
    (
        "plan",
        &[(
            "plan read-policy-quick --set array=hdd-raid1",
            "the trials of one array, and their time",
        )],
    ),
    (
        "run",
        &[
            ("run read-policy-quick --set array=hdd-raid1 --seeds 6", "one array, six seeds"),
            ("run read-policy --on model --seeds 20", "a fast model, to search for policies"),
            ("run read-policy-quick --until-decided", "more seeds where a verdict is open"),
            ("run --resume read-policy-quick-20260102-030405", "go on with a run that was stopped"),
        ],
    ),
    (
        "show",
        &[
            ("show read-policy-quick-20260102-030405", "the table of a record"),
            ("show nightly hdd-raid1+randread-4k-qd1+pid+s1", "all about one trial"),
        ],
    ),
    ("watch", &[("watch read-policy-quick-20260102-030405", "see a run fill its record")]),
    (
        "trace",
        &[(
            "trace nightly hdd-raid1+randread-4k-qd1+pid+s1 -o requests.csv",
            "all requests of a trial",
        )],
    ),
    (
        "compare",
        &[
            ("compare nightly", "every choice against the suite's baseline"),
            ("compare before after --metric iops,p99", "two records, in two metrics"),
            ("compare nightly --format csv", "a table for a spreadsheet"),
        ],
    ),
    (
        "history",
        &[
            ("history read-policy-quick --metric p99", "all records of a suite, in one metric"),
            ("history read-policy-quick --against previous -o history.svg", "a picture"),
            ("history monday tuesday --by kernel --format csv", "two records, by their kernels"),
        ],
    ),
    (
        "gate",
        &[(
            "gate after --against before --max-regression 3%",
            "for CI: exit status 3 if it got worse",
        )],
    ),
    (
        "bisect",
        &[(
            "bisect --kernel ~/linux --good v7.3 --bad v7.4 --suite smoke --cell policy=pid",
            "the commit that changed a cell",
        )],
    ),
    ("report", &[("report nightly -o nightly.html", "a page with verdicts and pictures")]),
    (
        "export",
        &[
            ("export nightly --flat --format csv -o tables", "one wide table: a row a trial"),
            ("export nightly -o tables --table metrics,traces", "some tables, as Parquet"),
        ],
    ),
    ("import", &[("import results/*.json --out theirs", "fio's own reports as a record")]),
    ("audit", &[("audit results/", "results that cannot be true")]),
    ("same", &[("same before after", "whether two records are the same, byte for byte")]),
    ("repair", &[("repair nightly --dry-run", "which damaged lines can be made again")]),
    ("merge", &[("merge part-1 part-2 --out whole", "parts of a suite as one record")]),
    ("gather", &[("gather read-policy-quick --out whole", "for programs: trials that others run")]),
    (
        "predict",
        &[
            (
                "predict measured --devices nas-4tb,nas-4tb",
                "a record of real disks, on models of them",
            ),
            ("predict nightly --on model", "a record of guests, in the fast model"),
        ],
    ),
    (
        "validate",
        &[
            ("validate drives/", "the model beside drives that were measured"),
            (
                "validate benchmark_data/ --device lab/devices/mine.toml",
                "beside fio's results at each depth, as fio-plot leaves them",
            ),
        ],
    ),
    (
        "calibrate",
        &[
            ("calibrate /dev/sdb -o lab/devices/mine.toml", "a disk of this machine as a device"),
            (
                "calibrate --from-fio benchmark_data/x --like desktop-2tb -o x.toml",
                "a device from published results of fio",
            ),
        ],
    ),
    (
        "array new",
        &[("array new --from-machine -o lab/arrays/mine.toml", "an array of this machine's disks")],
    ),
    (
        "device new",
        &[
            (
                "device new ironwolf-10tb --like nas-4tb --size 10TB --rpm 7200 --rate 210MB/s \
                 --seek 8ms --cache 256MiB",
                "a hard disk from its data sheet",
            ),
            (
                "device new mx500-2tb --like sata-ssd-1tb --size 2TB --rate 560MB/s \
                 --write-rate 510MB/s --read-iops 95000",
                "an SSD",
            ),
        ],
    ),
    ("devices", &[("devices", "this machine's disks, and which may be written")]),
    (
        "record-startup",
        &[("record-startup xterm -- xterm -e true", "a program's start as a workload")],
    ),
    ("clean", &[("clean --dry-run", "what would be removed")]),
    (
        "schema",
        &[("schema", "the names of all documents"), ("schema compare", "the form of one of them")],
    ),
    (
        "completions",
        &[
            ("completions bash > ~/.local/share/bash-completion/completions/disklab", "for bash"),
            ("completions zsh > ~/.zfunc/_disklab", "for zsh"),
            ("completions fish > ~/.config/fish/completions/disklab.fish", "for fish"),
        ],
    ),
    (
        "man",
        &[("man | man -l -", "read the manual"), ("man man1", "write all pages into a folder")],
    ),
];

/// The command line with the examples at the end of each verb's help.
pub fn with_examples(command: Command) -> Command {
    below(command, "")
}

/// `path`: the verbs above the command's own.
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

/// The examples of a verb; of one with verbs below it, the first example of each.
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
        let _ = write!(text, "\n  # {purpose}\n  disklab {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::EXAMPLES;
    use crate::cli::{Cli, command};

    /// The paths of all verbs that have no verbs below them.
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
                // What stands behind is the shell's.
                let own = line.split(['|', '>']).next().unwrap_or_default();
                let words = shlex::split(&format!("disklab {own}")).expect(line);
                let matches = command().try_get_matches_from(words);
                let matches = matches.unwrap_or_else(|error| panic!("{line}: {error}"));
                Cli::from_arg_matches(&matches).unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }

    #[test]
    fn help_ends_with_examples_beside_what_stood_there() {
        let mut whole = command();
        let report = whole.find_subcommand_mut("report").expect("a verb");
        let help = report.render_long_help().to_string();
        assert!(help.contains("Panels, and the pictures"), "{help}");
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
