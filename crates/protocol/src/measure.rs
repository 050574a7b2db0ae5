//! The measurement of an action [`crate::action::Action::Measure`], and the warm-up before it.

use crate::setup::{Mount, Setting, ZeroFile};
use disklab_config::fsload::Fsload;
use disklab_config::player::Player;
use disklab_config::startup::{StartupEntry, StartupThreads};
use disklab_units::{Nanos, Seed};
use serde::{Deserialize, Serialize};

/// A measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    pub what: Measured,
    /// The phase's name in the records.
    pub phase: String,
    /// Virtual ns after the first request in which nothing is counted.
    pub ramp_ns: u64,
    /// Interval of sync(2), which writes all that is dirty, while it runs.
    pub sync_every_ns: Option<u64>,
}

/// A load that runs until its rate is steady, by fio's criteria for that, or for as long as it may.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// The program and its arguments; it is ended.
    pub command: Vec<String>,
    /// Interval at which the requests that the disks finish are counted.
    pub every_ns: u64,
    pub limit_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Measured {
    /// The program and its arguments; it has to end well.
    Program {
        command: Vec<String>,
        /// The gate that tells when the program begins, if a background makes requests too. Without
        /// it, all requests from the program's start to its end are the program's.
        gate: Option<Gate>,
    },
    /// A start-up, of which the time is taken; whatever becomes of it is a result.
    Startup { way: StartupWay, limit_ns: u64 },
    /// A program that needs data of a file by deadlines; whatever becomes of it is a result.
    Player { player: Player, file: String, length: Nanos, seed: Seed },
    /// Phases, one after the other.
    Phases(Vec<PlannedPhase>),
    /// The file workload, on the files that were laid out below [`crate::places::FSLOAD`].
    Fsload {
        load: Fsload,
        seed: Seed,
        ramp: Nanos,
        length: Nanos,
        /// Note each fsynced file and mark it for the disk library.
        notes: bool,
    },
}

/// The phase is announced when the program opens a file, and is over so long after that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub file: String,
    pub length_ns: u64,
}

/// How something starts, from [`crate::places::ROOT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum StartupWay {
    /// Its recorded steps, on the plan's entries.
    Replay { entries: Vec<StartupEntry>, threads: StartupThreads },
    /// The program itself, with that as its root.
    Program {
        command: Vec<String>,
        entries: Vec<StartupEntry>,
        /// `NAME=value`, beside what all have.
        environment: Vec<String>,
        /// A program, with the host's files, that runs before it; empty: there is none.
        server: Vec<String>,
    },
}

/// A phase of several; when it was over, and how, is a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedPhase {
    pub name: String,
    /// All that is dirty is written before it, and what of the disks is in memory is dropped.
    pub cold: bool,
    /// Timeout of the phase; nothing after a phase that timed out is done.
    pub limit_ns: u64,
    /// Virtual time that each system call takes while it is measured.
    pub system_call_ns: u64,
    pub what: PhaseWork,
    /// A fio that runs beside it from its begin to its end.
    pub reader: Option<PhaseFio>,
}

impl PlannedPhase {
    /// The fio that is measured, unless the phase measures something else.
    pub fn measured_fio(&self) -> Option<&PhaseFio> {
        if let PhaseWork::Fio(fio) = &self.what { Some(fio) } else { None }
    }

    /// The fio that is measured and the reader, as far as the phase has them.
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
    /// A program and its arguments; it has to end well.
    Program(Vec<String>),
    /// The filesystem is unmounted before; then it gets its settings again.
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
    /// How many of them wait for nobody else.
    pub first: u32,
    /// The path of its report.
    pub report: String,
    /// Files of [`crate::places::POOL`] that have to be there, with so many bytes at least: fio
    /// makes what is missing, without a word.
    pub files: Vec<ZeroFile>,
}
