//! The measurement of an action [`crate::action::Action::Measure`], and the warm-up before it.

use crate::setup::{Mount, Setting, ZeroFile};
use disklab_config::fsload::Fsload;
use disklab_config::player::Player;
use disklab_config::startup::{StartupEntry, StartupThreads};
use disklab_units::{Nanos, Seed};
use serde::{Deserialize, Serialize};

/// A measurement, and what is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    pub what: Measured,
    /// The phase's name in the records.
    pub phase: String,
    /// Time in virtual ns after the first request in which nothing is counted.
    pub ramp_ns: u64,
    /// Interval in virtual ns of sync(2), which writes all that is dirty, while the measurement
    /// runs.
    pub sync_every_ns: Option<u64>,
}

/// A load that runs until its rate is steady by fio's criteria, or until its time limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// The program and its arguments. The program is stopped at the end.
    pub command: Vec<String>,
    /// Interval in virtual ns at which completed requests are counted.
    pub every_ns: u64,
    pub limit_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Measured {
    /// The program and its arguments. The program has to succeed.
    Program {
        command: Vec<String>,
        /// The gate that reports when the program begins, if a background makes requests too.
        /// Without it, all requests from the program's start to its end are the program's.
        gate: Option<Gate>,
    },
    /// A start-up, whose time is measured. Every outcome, a timeout or a failure too, is a result.
    Startup { way: StartupWay, limit_ns: u64 },
    /// A program that needs data of a file by deadlines. Every outcome is a result.
    Player { player: Player, file: String, length: Nanos, seed: Seed },
    /// Phases, one after the other.
    Phases(Vec<PlannedPhase>),
    /// The file workload, on the files that were laid out below [`crate::places::FSLOAD`].
    Fsload {
        load: Fsload,
        seed: Seed,
        ramp: Nanos,
        length: Nanos,
        /// Whether each fsynced file is noted and marked for the disk library.
        notes: bool,
    },
}

/// A file that announces the phase: the phase begins when the program opens it, and ends after this
/// length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub file: String,
    pub length_ns: u64,
}

/// The way in which a program is started, from [`crate::places::ROOT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum StartupWay {
    /// Replays the recorded steps, on the plan's entries.
    Replay { entries: Vec<StartupEntry>, threads: StartupThreads },
    /// Runs the program itself, with [`crate::places::ROOT`] as its root.
    Program {
        command: Vec<String>,
        entries: Vec<StartupEntry>,
        /// Variables of the environment, as `NAME=value`, in addition to those of all programs.
        environment: Vec<String>,
        /// A program that runs before it, with the host's files. It is empty if there is none.
        server: Vec<String>,
    },
}

/// A phase of a measurement. Its end, and whether it timed out, are results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedPhase {
    pub name: String,
    /// Whether all that is dirty is written before the phase, and cached data of the disks is
    /// dropped.
    pub cold: bool,
    /// Timeout of the phase in virtual ns. After a phase that timed out, no further phase is run.
    pub limit_ns: u64,
    /// Virtual time in ns that each system call takes while the phase is measured.
    pub system_call_ns: u64,
    pub what: PhaseWork,
    /// A fio that runs beside the phase, from its begin to its end.
    pub reader: Option<PhaseFio>,
}

impl PlannedPhase {
    /// Returns the fio that is measured, unless the phase measures something else.
    pub fn measured_fio(&self) -> Option<&PhaseFio> {
        if let PhaseWork::Fio(fio) = &self.what { Some(fio) } else { None }
    }

    /// Returns the fio that is measured and the reader, if the phase has them.
    pub fn fios(&self) -> impl Iterator<Item = &PhaseFio> {
        self.measured_fio().into_iter().chain(&self.reader)
    }
}

/// The work of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum PhaseWork {
    /// Jobs that end when all their bytes are done.
    Fio(PhaseFio),
    /// A program and its arguments. The program has to succeed.
    Program(Vec<String>),
    /// An unmount and a mount: the filesystem is unmounted first, mounted, and then gets its
    /// settings again.
    Remount { mount: Mount, settings: Vec<Setting> },
}

/// A fio whose jobs report that they are [`crate::places::ready`] and wait for
/// [`crate::places::GO`], and report when they are [`crate::places::over`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseFio {
    /// The program and its arguments.
    pub command: Vec<String>,
    pub jobs: u32,
    /// Number of jobs that do not wait for any other.
    pub first: u32,
    /// Path of the fio's report.
    pub report: String,
    /// Files that have to be in [`crate::places::POOL`] with at least these sizes: fio creates
    /// missing files silently.
    pub files: Vec<ZeroFile>,
}
