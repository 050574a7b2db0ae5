//! What this machine has, where a user asks for more: refused before anything begins.

use std::num::NonZeroUsize;
use std::str::FromStr;

use disklab_units::Bytes;

use crate::exit::{Failure, mistaken};

/// More than this for each processor only take memory: each guest, and each compiler, keeps one
/// busy.
const FOR_EACH_PROCESSOR: usize = 4;

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
