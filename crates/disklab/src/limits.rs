//! What this machine has, where a user asks for more: refused before anything begins.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use disklab_config::Trial;
use disklab_units::Bytes;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::SIGXFSZ;

use crate::exit::{Failure, cannot, mistaken};

/// More than this for each processor only take memory: each guest, and each compiler, keeps one
/// busy.
const FOR_EACH_PROCESSOR: usize = 4;

/// Raises the soft limit of open files to the hard one, which every process may do: several guests
/// and a trace need more than some shells allow.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // With fewer files the first trial that lacks one says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Makes a write beyond the limit of the size of files (`ulimit -f`) an error, as on a full disk.
/// Without a handler its signal would end the program without a word.
pub fn survive_long_files() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// A guest has a file of the machine open for each file of the machine that a program in it has
/// open. With fewer, programs in it fail as if the trial were wrong.
const OPEN_FILES: u64 = 256;

/// Refuses to start guests where a process may have only few files open.
pub fn check_open_files() -> Result<(), Failure> {
    match getrlimit(Resource::Nofile).maximum {
        Some(most) if most < OPEN_FILES => Err(cannot!(
            "a process may have at most {most} files open here, and a guest needs {OPEN_FILES}: \
             raise it (`ulimit -n`), then try again"
        )),
        _ => Ok(()),
    }
}

/// Refuses trials with disks that are larger than files may be here: their data is one sparse file
/// for each disk.
pub fn check_file_size(trials: &[Trial]) -> Result<(), Failure> {
    let Some(most) = getrlimit(Resource::Fsize).current.map(Bytes) else { return Ok(()) };
    let sizes = |trial: &Trial| trial.devices.iter().map(|device| device.used).max();
    let largest = trials
        .iter()
        .filter_map(|trial| Some((sizes(trial)?, trial)))
        .max_by_key(|(size, _)| *size);
    match largest {
        Some((size, trial)) if size.max(trial.memory) > most => Err(cannot!(
            "a file may have at most {most} here, and a guest of {} needs one of {} (as long as \
             its disk or memory, mostly holes): run `ulimit -f unlimited`, then try again",
            trial.id,
            size.max(trial.memory)
        )),
        _ => Ok(()),
    }
}

/// How many of something run at a time: what `--jobs` takes.
#[derive(Debug, Clone, Copy)]
pub struct AtATime(usize);

impl AtATime {
    pub fn get(self) -> usize {
        self.0
    }
}

/// One for each processor.
impl Default for AtATime {
    fn default() -> Self {
        Self(processors())
    }
}

impl FromStr for AtATime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number: NonZeroUsize = text.parse().map_err(|error| format!("{error}"))?;
        let (processors, most) = (processors(), processors() * FOR_EACH_PROCESSOR);
        if number.get() > most {
            return Err(format!(
                "each keeps a processor busy, and this machine has {processors}: {most} at most"
            ));
        }
        Ok(Self(number.get()))
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// A guest that is to have more memory than the machine would run until that is full. `file` is the
/// suite's.
pub fn check_memory(file: &str, wanted: Bytes) -> Result<(), Failure> {
    let system = rustix::system::sysinfo();
    let machine = Bytes(system.totalram.saturating_mul(u64::from(system.mem_unit)));
    if wanted <= machine {
        return Ok(());
    }
    Err(mistaken!(
        "{file}: memory: a guest is to have {wanted}, and this machine has {machine}; write less"
    ))
}
