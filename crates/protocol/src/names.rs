//! File names inside a record's folder and inside a trial's.

/// The description of a record: what was to be run, and with what.
pub const MANIFEST: &str = "manifest.toml";
/// The results of a record's trials, one JSON object a line.
pub const TRIALS: &str = "trials.jsonl";
/// The file of a record that counts its lines and has the digest of the last one.
pub const LAST: &str = "trials.last";
/// The folder of a record that holds a folder of raw output for each trial.
pub const RAW: &str = "raw";
/// The file of a record that the process that writes it locks.
pub const LOCK: &str = "lock";

/// The machine description; the program writes it before the guest starts.
pub const MACHINE: &str = "machine.json";
/// The plan of the first process; the program writes it before the guest starts.
pub const PLAN: &str = "plan.json";
/// Every request of every disk (crate `disklab-trace`), while the guest runs and in trials of
/// earlier versions.
pub const REQUESTS: &str = "requests.trace";
/// The requests' trace, compressed as in RFC 1952 without a name or a time: equal traces give equal
/// files.
pub const REQUESTS_PACKED: &str = "requests.trace.gz";
/// The closing record of the disk library. A trial is complete if its checksum is right.
pub const CLOSING: &str = "disks.json";
/// The steps of the first process, one JSON object a line.
pub const STEPS: &str = "guest.jsonl";
/// The report of the measured fio.
pub const FIO: &str = "fio.json";
/// The output of the programs of phases, and fio's reports of them, one JSON object a line.
pub const PHASES: &str = "phases.jsonl";
/// The results of the file workload.
pub const FSLOAD: &str = "fsload.json";
/// The ranges of its files that a program read while it started, in order.
pub const PAGES: &str = "pages.txt";
/// The guest's console.
pub const CONSOLE: &str = "console.log";
/// Virtual time and the number of completed requests.
pub const HEARTBEAT: &str = "heartbeat";
/// The state of the processes of a guest that hung. If the trial has a result all the same, the
/// guest hung at its start and was started again.
pub const STALLED: &str = "stalled.log";
/// Marks, each with the counts of this machine's disks at that moment, one JSON object a line.
pub const MARKS: &str = "marks.jsonl";
/// The results of a watch of this machine's disks. If it is missing, the watch did not end.
pub const WATCHED: &str = "watched.json";
/// The state of this machine before and after a trial on its disks.
pub const SURROUNDINGS: &str = "environment.json";
/// The commands that the first process ran and the files that it wrote, one a line, in the form
/// that `run --on host --dry-run` prints.
pub const ACTIONS: &str = "actions.log";
/// The description of a trial on a real machine, which the program writes for the first process.
pub const HOST: &str = "host.json";
