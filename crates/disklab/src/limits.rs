//! Limits of this machine. Requests beyond them are refused before anything begins.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use disklab_config::Trial;
use disklab_units::Bytes;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::SIGXFSZ;

use crate::exit::{Failure, cannot, mistaken};

/// More guests or compilers for each processor only take memory: each keeps one processor busy.
const FOR_EACH_PROCESSOR: usize = 4;

/// Raises the soft limit of open files to the hard limit, which every process may do. Several
/// guests and a trace need more files than some shells allow.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // With fewer files, the first trial that lacks one fails with that message.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Turns a write beyond the limit on file sizes (`ulimit -f`) into an error, as on a full disk.
/// Without a handler, the signal would end the program without a message.
pub fn survive_long_files() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Smallest limit of open files. A guest opens a file of the machine for each such file that its
/// programs open. With fewer, the programs fail as if the trial were wrong.
const OPEN_FILES: u64 = 256;

/// Refuses to start guests if a process may have only few files open.
pub fn check_open_files() -> Result<(), Failure> {
    match getrlimit(Resource::Nofile).maximum {
        Some(most) if most < OPEN_FILES => Err(cannot!(
            "a process may open at most {most} files here, and a guest needs {OPEN_FILES}: raise \
             the limit (`ulimit -n`), then try again"
        )),
        _ => Ok(()),
    }
}

/// Refuses trials with disks larger than the largest file allowed here: each disk is one sparse
/// file.
pub fn check_file_size(trials: &[Trial]) -> Result<(), Failure> {
    let Some(most) = getrlimit(Resource::Fsize).current.map(Bytes) else { return Ok(()) };
    let sizes = |trial: &Trial| trial.devices.iter().map(|device| device.used).max();
    let largest = trials
        .iter()
        .filter_map(|trial| Some((sizes(trial)?, trial)))
        .max_by_key(|(size, _)| *size);
    match largest {
        Some((size, trial)) if size.max(trial.memory) > most => Err(cannot!(
            "a file may have at most {most} here, and a guest of {} needs a file of {} (as large \
             as its disk or memory, mostly holes): run `ulimit -f unlimited`, then try again",
            trial.id,
            size.max(trial.memory)
        )),
        _ => Ok(()),
    }
}

/// Number of things that run at a time, as `--jobs` takes it.
#[derive(Debug, Clone, Copy)]
pub struct AtATime(usize);

impl AtATime {
    pub fn get(self) -> usize {
        self.0
    }
}

/// The default is the number of processors.
impl Default for AtATime {
    fn default() -> Self {
        Self(processors())
    }
}

impl FromStr for AtATime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number: usize = text.parse().map_err(|_| "expected a whole number, such as 4")?;
        let (processors, most) = (processors(), processors() * FOR_EACH_PROCESSOR);
        if !(1..=most).contains(&number) {
            return Err(format!(
                "{number} is out of range (1 to {most}): each keeps a processor busy, and this \
                 machine has {processors}"
            ));
        }
        Ok(Self(number))
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Refuses guests with more memory than the machine has. Such a guest would run until the memory is
/// full. `file` is the suite's.
pub fn check_memory(file: &str, wanted: Bytes) -> Result<(), Failure> {
    let system = rustix::system::sysinfo();
    let machine = Bytes(system.totalram.saturating_mul(u64::from(system.mem_unit)));
    if wanted <= machine {
        return Ok(());
    }
    Err(mistaken!(
        "{file}: memory: the suite asks for {wanted} for a guest, and this machine has {machine}; \
         ask for less"
    ))
}
