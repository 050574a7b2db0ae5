//! What disks of this machine do during a trial: their counts at each mark, and, where the kernel
//! can be asked for it, every request.
//!
//! While the trial runs, the kernel's own pages of events are copied to files and nothing else is
//! done with them. What is in them is read when it is over ([`Watch::end`] says how; `merge` and
//! `pairs` make requests of them).

mod beginning;
mod clock;
mod copy;
mod instance;
pub mod layout;
pub mod mark;
pub mod merge;
mod own;
pub mod pages;
pub mod pairs;
pub mod place;
pub mod stat;
mod tracefs;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use beginning::{Beginning, has_arrived};
pub use clock::monotonic;
use disklab_protocol::Mark;
use instance::Instance;
pub use instance::{file_name, instance_name, remove_instance};
use layout::TraceLayout;
use mark::ObservedMark;
use place::WatchedDisk;
use stat::{Counters, Stat};

/// In a trial's folder: what was watched, and how ([`WatchAccount`]). Without it, the watch did not
/// end.
pub const WATCHED: &str = "watched.json";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{disk} cannot be watched: {error}")]
    Disk { disk: String, error: io::Error },
    #[error(
        "the tracing instance {name} is there already: another disklab uses it, or a killed one left it; \
         `disklab clean` removes what is left"
    )]
    Exists { name: String },
    #[error("disks cannot be watched: {what}: {error}")]
    Io { what: String, error: io::Error },
}

impl Error {
    fn io(what: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { what: what.display().to_string(), error }
    }
}

/// What a watch left in a trial's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchAccount {
    /// ns of the kernel's monotonic clock.
    pub began_ns: u64,
    pub ended_ns: u64,
    pub disks: Vec<WatchedDisk>,
    /// What they had done when it began and when it ended.
    pub before: Vec<Stat>,
    pub after: Vec<Stat>,
    /// Of each that is a partition: what was done meanwhile on its disk beside those that are
    /// watched.
    pub beside: Vec<Stat>,
    pub trace: WatchTrace,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchTrace {
    /// Nobody asked for it.
    None,
    /// It could not be made, or not to its end.
    Failed(String),
    /// The files of these CPUs hold it, but for so many events that found no room.
    Files { layout: TraceLayout, cpus: Vec<u32>, lost: u64 },
}

/// Disks that are watched.
#[derive(Debug)]
pub struct Watch {
    folder: PathBuf,
    began_ns: u64,
    disks: Vec<WatchedDisk>,
    counters: Arc<Counters>,
    before: Vec<Stat>,
    /// Of the whole disks, and what they had done when it began.
    wholes: (Counters, Vec<Stat>),
    instance: Option<Instance>,
    /// Why there is none that was asked for.
    untraced: Option<String>,
    marks: Mutex<Marks>,
}

#[derive(Debug)]
struct Marks {
    file: File,
    /// Of the phase that was announced last, and has not ended.
    phase: Option<Beginning>,
}

impl Watch {
    /// Watches `disks`, in this order; what is seen goes to `folder`. With the name of an instance
    /// ([`instance_name`]) requests are traced by one of that name, which is in nobody's journal
    /// but the caller's: where that is not possible, [`WatchAccount::trace`] says why in the end.
    pub fn start(folder: &Path, disks: &[Disk], instance: Option<&str>) -> Result<Self, Error> {
        let find = |disk: &Disk| {
            WatchedDisk::find(disk).map_err(|error| Error::Disk { disk: disk.name.clone(), error })
        };
        let watched: Vec<WatchedDisk> = disks.iter().map(find).collect::<Result<_, _>>()?;
        let (counters, wholes) = Counters::open(watched.iter().map(|disk| disk.name.as_str()))
            .and_then(|own| {
                Ok((own, Counters::open(watched.iter().map(|disk| disk.disk.as_str()))?))
            })
            .map_err(counts)?;
        let path = folder.join(mark::MARKS);
        let file = File::create(&path).map_err(Error::io(&path))?;
        let numbers: Vec<u32> = watched.iter().map(|disk| disk.place().dev).collect();
        let (instance, untraced) =
            match instance.map(|name| (name, Instance::start(name, folder, &numbers))) {
                None => (None, None),
                Some((_, Ok(instance))) => (Some(instance), None),
                Some((name, Err(error))) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(Error::Exists { name: name.to_owned() });
                }
                Some((_, Err(error))) => (None, Some(error.to_string())),
            };
        let before = counters.read().map_err(counts)?;
        let of_wholes = wholes.read().map_err(counts)?;
        Ok(Self {
            folder: folder.to_owned(),
            began_ns: monotonic(),
            disks: watched,
            counters: Arc::new(counters),
            before,
            wholes: (wholes, of_wholes),
            instance,
            untraced,
            marks: Mutex::new(Marks { file, phase: None }),
        })
    }

    /// Reads and writes that the disks have finished, since each is there.
    pub fn finished(&self) -> io::Result<u64> {
        Ok(self.counters.read()?.iter().map(|stat| stat.reads.saturating_add(stat.writes)).sum())
    }

    /// Takes what the first process says of the trial. As in a guest, a phase ends with an error if
    /// no request came to a disk in it.
    pub fn mark(&self, mark: Mark) -> Result<(), String> {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let wrong = |error: io::Error| format!("mark `{mark}`: {error}");
        let disks = self.counters.read().map_err(wrong)?;
        let own_read = own::read_bytes();
        let now = ObservedMark { at_ns: monotonic(), mark: mark.clone(), disks, own_read };
        let result = match &mark {
            Mark::Begin { ramp_ns, .. } => {
                let counters = Arc::clone(&self.counters);
                let ramp = Duration::from_nanos(*ramp_ns);
                let phase = Beginning::await_it(counters, now.clone(), ramp);
                marks.phase = Some(phase.map_err(wrong)?);
                Ok(())
            }
            Mark::End => {
                let begun =
                    marks.phase.take().map(Beginning::end).transpose().map_err(wrong)?.flatten();
                if let Some(begun) = &begun {
                    begun.write(&marks.file).map_err(wrong)?;
                }
                let arrived = |begun: &ObservedMark| {
                    let mut pairs = now.disks.iter().zip(&begun.disks);
                    // Those that were there when it began count, too, as long as they end in it.
                    pairs.any(|(now, before)| has_arrived(now, before) || now.in_flight > 0)
                };
                if begun.as_ref().is_some_and(arrived) { Ok(()) } else { Err(self.nothing_came()) }
            }
            Mark::Note(_) => Ok(()),
            Mark::Begun | Mark::Fsynced(_) | Mark::Promised(_) => {
                return Err(format!("mark `{mark}`: disks of this machine cannot be told that"));
            }
        };
        now.write(&marks.file).map_err(wrong)?;
        result
    }

    fn nothing_came(&self) -> String {
        let names: Vec<&str> = self.disks.iter().map(|disk| disk.name.as_str()).collect();
        format!("none of {} had a request", names.join(", "))
    }

    /// Ends the watch, and says what it left in the folder.
    pub fn end(self) -> Result<WatchAccount, Error> {
        // A request of the trial's may still be under way; its end is waited for by nobody.
        let ended_ns = monotonic();
        // Before the trace ends: others go on, and it takes a moment.
        let after = self.counters.read().map_err(counts)?;
        let (wholes, before) = &self.wholes;
        let wholes = wholes.read().map_err(counts)?;
        let trace = match (self.instance.map(Instance::end), self.untraced) {
            (Some(Ok(traced)), _) => {
                WatchTrace::Files { layout: traced.layout, cpus: traced.cpus, lost: traced.lost }
            }
            (Some(Err(error)), _) => WatchTrace::Failed(error.to_string()),
            (None, Some(why)) => WatchTrace::Failed(why),
            (None, None) => WatchTrace::None,
        };
        let wholes: Vec<Stat> =
            wholes.iter().zip(before).map(|(after, before)| after.since(before)).collect();
        let own: Vec<Stat> =
            after.iter().zip(&self.before).map(|(after, before)| after.since(before)).collect();
        let account = WatchAccount {
            began_ns: self.began_ns,
            ended_ns,
            beside: beside(&self.disks, &wholes, &own),
            disks: self.disks,
            before: self.before,
            after,
            trace,
        };
        let path = self.folder.join(WATCHED);
        let text = serde_json::to_vec(&account).map_err(io::Error::from);
        text.and_then(|text| fs::write(&path, text)).map_err(Error::io(&path))?;
        Ok(account)
    }
}

/// What was done on each partition's disk but not on any that is watched.
fn beside(disks: &[WatchedDisk], wholes: &[Stat], own: &[Stat]) -> Vec<Stat> {
    let of_one = |(disk, whole): (&WatchedDisk, &Stat)| {
        if !disk.is_part() {
            return Stat::default();
        }
        let parts = disks.iter().zip(own).filter(|(other, _)| other.disk == disk.disk);
        parts.fold(*whole, |left, (_, part)| left.since(part))
    };
    disks.iter().zip(wholes).map(of_one).collect()
}

fn counts(error: io::Error) -> Error {
    Error::Io { what: "their counts".to_owned(), error }
}

impl WatchAccount {
    /// Reads what [`Watch::end`] left.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(WATCHED);
        let text = fs::read(&path).map_err(Error::io(&path))?;
        serde_json::from_slice(&text).map_err(|error| Error::io(&path)(error.into()))
    }
}
