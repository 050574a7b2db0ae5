//! The activity of this machine's disks during a trial: their counters at each mark and, if the
//! kernel can trace them, all requests.
//!
//! While the trial runs, the kernel's own pages of events are only copied to files. They are parsed
//! when the trial is over ([`Watch::end`] describes them; `merge` and `pairs` turn them into
//! requests).

mod account;
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
mod thread;
mod tracefs;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::disk::Disk;
pub use account::{Error, WatchAccount, WatchTrace};
use beginning::{Beginning, await_begin, has_arrived};
use clock::monotonic;
use disklab_protocol::{Mark, names};
use instance::Instance;
pub use instance::{TRACING, file_name, instance_name, remove_instance};
use mark::ObservedMark;
use place::WatchedDisk;
use stat::{Counters, Stat};

/// Disks that are watched.
#[derive(Debug)]
pub struct Watch {
    folder: PathBuf,
    began_ns: u64,
    disks: Vec<WatchedDisk>,
    counters: Arc<Counters>,
    before: Vec<Stat>,
    /// Counters of the whole disks, and their values at the beginning.
    wholes: (Counters, Vec<Stat>),
    tracing: Tracing,
    marks: Mutex<Marks>,
}

/// Whether requests are traced.
#[derive(Debug)]
enum Tracing {
    NotWanted,
    /// Tracing could not begin, for this reason.
    Failed(String),
    On(Instance),
}

#[derive(Debug)]
struct Marks {
    file: File,
    /// The thread that waits for the beginning of the phase announced last, until that phase has
    /// ended.
    phase: Option<Beginning>,
}

impl Watch {
    /// Watches `disks`, in this order, and writes to `folder`. With the name of an instance
    /// ([`instance_name`]), it traces requests in a tracing instance of that name, which only the
    /// caller's journal lists. If that is impossible, [`WatchAccount::trace`] has the reason in the
    /// end.
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
        let path = folder.join(names::MARKS);
        let file = File::create(&path).map_err(Error::io(&path))?;
        let numbers: Vec<u32> = watched.iter().map(|disk| disk.place().dev).collect();
        let tracing = match instance.map(|name| Instance::start(name, folder, &numbers)) {
            None => Tracing::NotWanted,
            Some(Ok(instance)) => Tracing::On(instance),
            Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::Exists { name: instance.unwrap_or_default().to_owned() });
            }
            Some(Err(error)) => Tracing::Failed(error.to_string()),
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
            tracing,
            marks: Mutex::new(Marks { file, phase: None }),
        })
    }

    /// Returns the reads and writes that the disks have finished, counted since each disk exists.
    pub fn finished(&self) -> io::Result<u64> {
        Ok(self.counters.read()?.iter().map(|stat| stat.reads.saturating_add(stat.writes)).sum())
    }

    /// Takes a mark of the first process. As in a guest, a phase ends with an error if no request
    /// came to a disk in it.
    #[expect(clippy::needless_pass_by_value, reason = "a mark is said once")]
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
                let phase = await_begin(counters, now.clone(), ramp);
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
                    // Requests that were at a disk when the phase began count too, if they end in
                    // it.
                    pairs.any(|(now, before)| has_arrived(now, before) || now.in_flight > 0)
                };
                if begun.as_ref().is_some_and(arrived) { Ok(()) } else { Err(self.nothing_came()) }
            }
            Mark::Note(_) => Ok(()),
            Mark::Begun | Mark::Fsynced(_) | Mark::Promised(_) => {
                return Err(format!("mark `{mark}` is for modelled disks, not for this machine's"));
            }
        };
        now.write(&marks.file).map_err(wrong)?;
        result
    }

    fn nothing_came(&self) -> String {
        let names: Vec<&str> = self.disks.iter().map(|disk| disk.name.as_str()).collect();
        format!("none of {} had a request", names.join(", "))
    }

    /// Ends the watch, and returns the description of the files that it left in the folder.
    pub fn end(self) -> Result<WatchAccount, Error> {
        // A request of the trial's may still be at a disk; the watch does not wait for its end.
        let ended_ns = monotonic();
        // Reads the counters before the trace ends, because that takes a moment and others go on.
        let after = self.counters.read().map_err(counts)?;
        let (wholes, before) = &self.wholes;
        let wholes = wholes.read().map_err(counts)?;
        let trace = match self.tracing {
            Tracing::NotWanted => WatchTrace::None,
            Tracing::Failed(why) => WatchTrace::Failed(why),
            Tracing::On(instance) => {
                instance.end().unwrap_or_else(|error| WatchTrace::Failed(error.to_string()))
            }
        };
        let since = |after: &[Stat], before: &[Stat]| -> Vec<Stat> {
            after.iter().zip(before).map(|(after, before)| after.since(before)).collect()
        };
        let (wholes, own) = (since(&wholes, before), since(&after, &self.before));
        let account = WatchAccount {
            began_ns: self.began_ns,
            ended_ns,
            beside: beside(&self.disks, &wholes, &own),
            disks: self.disks,
            before: self.before,
            after,
            trace,
        };
        let path = self.folder.join(names::WATCHED);
        let text = serde_json::to_vec(&account).map_err(io::Error::from);
        text.and_then(|text| fs::write(&path, text)).map_err(Error::io(&path))?;
        Ok(account)
    }
}

/// Returns, for each partition, the activity of its whole disk outside of all watched partitions.
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
