//! The steps of the first process: the lines of [`crate::names::STEPS`].

use crate::action::When;
use disklab_units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A step of a first process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "lowercase")]
pub enum Step {
    /// A file of sysfs was written, and says this since.
    Set { path: String, value: String, says: String },
    /// This machine's kernel does not offer a choice that the trial is about.
    Lacking { path: String, value: String, has: String },
    /// A filesystem was mounted.
    Mounted {
        filesystem: String,
        /// Records of older programs do not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took_ns: Option<u64>,
    },
    /// Filesystems were unmounted.
    Unmounted,
    /// A test file was written.
    Written { file: String, bytes: Bytes },
    /// Fragmented trees were written. Extents are of all files, as the filesystem reports them.
    Scattered { fragments: u64, extents: u64 },
    /// The file workload's files were laid out.
    #[serde(rename = "laid out")]
    LaidOut { files: u64, bytes: u64 },
    /// Files, folders and links of a program that starts were made.
    Entries { made: u64 },
    /// Dropping what of the disks is in memory; `error` says why it was not dropped.
    Caches { dropped: bool, error: Option<String> },
    /// Blocks of a file were read, for the filesystem's metadata.
    Touched { file: String, blocks: u64 },
    /// All that was promised before a power cut is there.
    Found { records: u64, files: u64 },
    /// The witness of power cuts has ended.
    Witnessed { records: u64 },
    /// bcache is in front of disks.
    Cached { disks: Vec<String>, cache: String, states: Vec<String> },
    /// bcache has ended.
    Uncached,
    /// md has made a device; the words are those of `/proc/mdstat`.
    Joined { says: String },
    /// The contents of a file of sysfs at a moment.
    Kept { when: When, path: PathBuf, says: String },
    /// How full the filesystems are.
    Space { used: SpaceUsed },
    /// The load ran until its rate was steady, or for as long as it might.
    Warmed {
        steady: bool,
        took_ns: u64,
        every_ns: u64,
        /// How far a sample of the last window was off their mean, and how much their line rose or
        /// fell, per cent of the mean.
        off_percent: f64,
        rise_percent: f64,
        /// Requests a second of each sample.
        rates: Vec<f64>,
    },
    /// A program of the background has ended.
    Background {
        command: Vec<String>,
        /// How many times it ran to its end.
        passes: u32,
        ran_ns: u64,
        status: String,
        /// The first process ended it.
        stopped: bool,
        said: String,
    },
    /// The measured file workload's files are as they were written.
    Fsload { files_as_written: u64, bytes: u64 },
    /// The file workload of the background has ended, and its files are as they were written.
    #[serde(rename = "background fsload")]
    BackgroundFsload { operations: u64, ran_ns: u64, files_as_written: u64, bytes: u64 },
    /// The outcome of one snapshot.
    Snapshot { seen: Snapshot },
    /// Counts of all snapshots together.
    Snapshots { seen: SnapshotSummary },
    /// A program that needs data by deadlines has ended.
    Player { played: PlayerSummary },
    /// A start-up has ended.
    Startup { ready: StartupEnd, said: String },
    /// A phase has begun.
    #[serde(rename = "phase begun")]
    PhaseBegun { phase: String },
    /// A phase has ended.
    Phase {
        went: PhaseEnd,
        /// The program that was measured, if the phase had one.
        #[serde(flatten)]
        program: Option<ProgramEnd>,
    },
    /// All actions of the plan were run.
    Finished,
    /// The plan ended with this error.
    Failed { error: String },
    /// A program has ended; the step is the program's name in the plan.
    #[serde(untagged)]
    Program {
        step: String,
        #[serde(flatten)]
        end: ProgramEnd,
    },
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramEnd {
    pub command: Vec<String>,
    pub status: String,
    /// The beginning of its output.
    pub said: String,
}

/// Writes the step's line, without its end.
impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As a value, whose keys are sorted.
        write!(out, "{}", serde_json::to_value(self).map_err(|_| fmt::Error)?)
    }
}

impl Step {
    /// Returns a line's step, unless the line was cut off or is of another program's version.
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Returns the steps of a trial, in order, without lines that [`Self::read`] does not know.
    pub fn read_all(text: &[u8]) -> Vec<Self> {
        String::from_utf8_lossy(text).lines().filter_map(Self::read).collect()
    }

    /// The step's name, as it is in its line.
    pub fn name(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        value["step"].as_str().unwrap_or_default().to_owned()
    }
}

/// The end of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseEnd {
    pub phase: String,
    /// From its begin until it was done, in virtual ns.
    pub took_ns: u64,
    /// The phase timed out then.
    #[serde(rename = "given_up")]
    pub timed_out: bool,
}

/// A line of [`crate::names::PHASES`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseAccount {
    pub phase: String,
    /// The end of what its program said.
    pub said: String,
    /// fio's report, if the phase was one of fio's.
    pub fio: Option<String>,
    /// The report of its reader.
    pub reader: Option<String>,
}

/// Frames of a program that needs data by deadlines, in virtual ns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayerSummary {
    /// From its start until the first frame could be shown. None: it never could.
    pub first_frame_ns: Option<u64>,
    /// How many were due in the time that it played.
    pub due: u64,
    /// Shown after their time.
    pub late: u64,
    /// Their data came when the next was due already, or never.
    pub lost: u64,
    /// For how long one was shown beyond its own time.
    pub longest_stall_ns: u64,
}

/// The outcome of one snapshot. Times are virtual ns from the beginning of the schedule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its name: which of those that were due it is, from 1. 0 is the one that was there to begin
    /// with.
    pub number: u64,
    pub due_ns: u64,
    /// When the program that takes it was started, and when it had ended.
    pub begun_ns: u64,
    pub there_ns: u64,
    /// When the replica had it.
    pub replicated_ns: Option<u64>,
    /// When it was deleted; its space is given back later.
    pub deleted_ns: Option<u64>,
}

/// All snapshots of a trial together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotSummary {
    /// From the beginning until it was told to stop: what was not done by then does not count.
    pub ran_ns: u64,
    pub due: u64,
    pub taken: u64,
    /// From when one was due until it was there.
    pub mean_delay_ns: u64,
    pub longest_delay_ns: u64,
    pub deleted: u64,
    /// Deleted in the end, with space that was not given back yet: of the pool, and of the replica.
    pub uncleaned: u64,
    pub uncleaned_on_replica: u64,
    pub replication: Option<ReplicationSummary>,
}

/// Replications of a trial's snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicationSummary {
    pub due: u64,
    /// Replications that had sent all that was there when they began.
    pub done: u64,
    pub replicated: u64,
    /// Snapshots that were deleted before they could be sent.
    pub lost: u64,
    /// From when a snapshot was there until the replica had it.
    pub mean_lag_ns: u64,
    pub longest_lag_ns: u64,
}

/// Bytes in use of each mounted filesystem, every copy counted once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceUsed {
    pub when: When,
    pub pool: u64,
    pub replica: Option<u64>,
}

/// The end of a start-up, in virtual ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartupEnd {
    /// The start took this time.
    After { ns: u64 },
    /// The start timed out after this time.
    NotWithin { ns: u64 },
    /// The program cannot be started, or failed.
    Never { reason: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of records, which have to be read and written the same for ever.
    #[test]
    fn lines_are_read_and_written_the_same() {
        let lines = [
            r#"{"path":"/sys/a/scheduler","says":"[none]","step":"set","value":"none"}"#,
            r#"{"filesystem":"btrfs","step":"mounted","took_ns":700000}"#,
            r#"{"filesystem":"btrfs","step":"mounted"}"#,
            r#"{"step":"unmounted"}"#,
            r#"{"bytes":4096,"files":7,"step":"laid out"}"#,
            r#"{"dropped":true,"error":null,"step":"caches"}"#,
            r#"{"path":"/sys/a","says":"1","step":"kept","when":"before"}"#,
            r#"{"step":"space","used":{"pool":1,"replica":null,"when":"after"}}"#,
            concat!(
                r#"{"command":["a"],"passes":1,"ran_ns":2,"said":"","status":"x","#,
                r#""step":"background","stopped":true}"#
            ),
            r#"{"phase":"one","step":"phase begun"}"#,
            r#"{"step":"phase","went":{"given_up":false,"phase":"mount","took_ns":5}}"#,
            concat!(
                r#"{"command":["b"],"said":"","status":"ok","step":"phase","went":{"#,
                r#""given_up":true,"phase":"a","took_ns":5}}"#
            ),
            r#"{"ready":{"not-within":{"ns":3}},"said":"","step":"startup"}"#,
            r#"{"command":["fio","--a"],"said":"","status":"exit status: 0","step":"measure"}"#,
            concat!(
                r#"{"every_ns":1,"off_percent":0.5,"rates":[1.5],"rise_percent":-2.0,"#,
                r#""steady":true,"step":"warmed","took_ns":3}"#
            ),
            r#"{"step":"finished"}"#,
            r#"{"error":"why","step":"failed"}"#,
        ];
        for line in lines {
            let step = Step::read(line).expect(line);
            assert_eq!(step.to_string(), line);
            assert!(line.contains(&format!("\"step\":\"{}\"", step.name())), "{step:?}");
        }
    }

    #[test]
    fn unknown_and_cut_lines_are_left_out() {
        let text = "{\"step\":\"new\",\"of\":1}\n{\"step\":\"finished\"}\n{\"step\":\"cut o";
        assert_eq!(Step::read_all(text.as_bytes()), [Step::Finished]);
    }
}
