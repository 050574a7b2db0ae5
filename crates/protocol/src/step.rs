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
    /// A value was written to a file of sysfs, which then read `says`.
    Set { path: String, value: String, says: String },
    /// This machine's kernel lacks a choice that the trial is about.
    Lacking { path: String, value: String, has: String },
    /// A filesystem was mounted.
    Mounted {
        filesystem: String,
        /// Duration of the mount in virtual ns. Records of older programs lack this field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took_ns: Option<u64>,
    },
    /// Filesystems were unmounted.
    Unmounted,
    /// A test file was written.
    Written { file: String, bytes: Bytes },
    /// Fragmented trees were written. `extents` counts the extents of all files, as the filesystem
    /// reports them.
    Scattered { fragments: u64, extents: u64 },
    /// The file workload's files were laid out.
    #[serde(rename = "laid out")]
    LaidOut { files: u64, bytes: u64 },
    /// The files, folders and links that a program needs to start were made.
    Entries { made: u64 },
    /// Cached data of the disks was dropped from memory; `error` says why it was not.
    Caches { dropped: bool, error: Option<String> },
    /// Blocks of a file were read, so that the filesystem's metadata is in memory.
    Touched { file: String, blocks: u64 },
    /// Everything that was promised before a power cut was found.
    Found { records: u64, files: u64 },
    /// The witness of power cuts has ended.
    Witnessed { records: u64 },
    /// bcache was put in front of disks.
    Cached { disks: Vec<String>, cache: String, states: Vec<String> },
    /// bcache was ended.
    Uncached,
    /// md made a device; `says` is its text in `/proc/mdstat`.
    Joined { says: String },
    /// The contents of a file of sysfs were copied at a moment of the trial.
    Kept { when: When, path: PathBuf, says: String },
    /// The used bytes of the filesystems were read.
    Space { used: SpaceUsed },
    /// The load of the warm-up ran until its rate was steady, or until its time limit.
    Warmed {
        steady: bool,
        took_ns: u64,
        every_ns: u64,
        /// Largest difference between a sample of the last window and the window's mean, and rise
        /// or fall of the line through its samples, both in per cent of the mean.
        off_percent: f64,
        rise_percent: f64,
        /// Requests per second in each sample.
        rates: Vec<f64>,
    },
    /// A program of the background has ended.
    Background {
        command: Vec<String>,
        /// Number of times that the program ran to its end.
        passes: u32,
        ran_ns: u64,
        status: String,
        /// Whether the first process ended the program.
        stopped: bool,
        said: String,
    },
    /// The files of the measured file workload were compared, and are as they were written.
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

/// The way in which a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramEnd {
    pub command: Vec<String>,
    pub status: String,
    /// The beginning of its output.
    pub said: String,
}

/// Writes the step's line, without the newline.
impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The keys of a `Value` are sorted.
        write!(out, "{}", serde_json::to_value(self).map_err(|_| fmt::Error)?)
    }
}

impl Step {
    /// Returns the step of a line. Returns None if the line was cut off or another version of the
    /// program wrote it.
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Returns the steps of a trial, in order. Lines that [`Self::read`] cannot read are left out.
    pub fn read_all(text: &[u8]) -> Vec<Self> {
        String::from_utf8_lossy(text).lines().filter_map(Self::read).collect()
    }

    /// Returns the step's name, as it is in its line.
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
    /// Time from the phase's begin until it was done, in virtual ns.
    pub took_ns: u64,
    /// Whether the phase timed out, after `took_ns`.
    #[serde(rename = "given_up")]
    pub timed_out: bool,
}

/// A line of [`crate::names::PHASES`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseAccount {
    pub phase: String,
    /// The end of the program's output.
    pub said: String,
    /// fio's report, if the phase ran fio.
    pub fio: Option<String>,
    /// fio's report of the reader, if the phase had one.
    pub reader: Option<String>,
}

/// Counts of the frames of a program that needs data by deadlines. Times are in virtual ns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayerSummary {
    /// Time from the program's start until the first frame could be shown. It is None if it never
    /// could.
    pub first_frame_ns: Option<u64>,
    /// Number of frames that were due while the program played.
    pub due: u64,
    /// Number of frames that were shown after their time.
    pub late: u64,
    /// Number of frames whose data came when the next frame was due already, or never.
    pub lost: u64,
    /// Longest time for which a frame was shown beyond its own time.
    pub longest_stall_ns: u64,
}

/// The outcome of one snapshot. Times are virtual ns from the beginning of the schedule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The snapshot's name: its number among the snapshots that were due, from 1. The snapshot that
    /// is taken before the schedule begins is 0.
    pub number: u64,
    pub due_ns: u64,
    /// Times at which the program that takes the snapshot was started and had ended.
    pub begun_ns: u64,
    pub there_ns: u64,
    /// Time at which the replica had the snapshot.
    pub replicated_ns: Option<u64>,
    /// Time at which the snapshot was deleted. Its space becomes free later.
    pub deleted_ns: Option<u64>,
}

/// Counts of all snapshots of a trial. Times are in virtual ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotSummary {
    /// Time from the beginning of the schedule until it was stopped. Snapshots that were not done
    /// by then do not count.
    pub ran_ns: u64,
    pub due: u64,
    pub taken: u64,
    /// Mean time from the moment at which a snapshot was due until it was there.
    pub mean_delay_ns: u64,
    pub longest_delay_ns: u64,
    pub deleted: u64,
    /// Snapshots that were deleted but whose space was not free at the end, on the pool and on the
    /// replica.
    pub uncleaned: u64,
    pub uncleaned_on_replica: u64,
    pub replication: Option<ReplicationSummary>,
}

/// Counts of the replications of a trial's snapshots. Times are in virtual ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicationSummary {
    pub due: u64,
    /// Replications that sent everything that was there when they began.
    pub done: u64,
    pub replicated: u64,
    /// Snapshots that were deleted before they could be sent.
    pub lost: u64,
    /// Mean time from when a snapshot was there until the replica had it.
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
    /// The program was ready after this time.
    After { ns: u64 },
    /// The start timed out after this time.
    NotWithin { ns: u64 },
    /// The program cannot be started, or failed.
    Never { reason: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks lines of records, which have to be read and written unchanged by all versions.
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
