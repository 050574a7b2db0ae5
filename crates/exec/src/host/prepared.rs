//! What trials begin on: a filesystem with its test files, made when it is needed and used for as long as it is what it was.

use super::{Host, Place, first, order, plan};
use crate::error::{Error, Result};
use crate::executor::Events;
use crate::guest::End;
use crate::prepared::write_json;
use crate::run::Event;
use crate::{estimate, evidence, stack};
use disklab_guest::names;
use disklab_guest::plan as guest;
use disklab_host::change::{Change, Undone, is_pool};
use disklab_host::{Disk, Journal, guard};
use disklab_spec::{Places, Trial};
use disklab_units::{Bytes, Nanos};
use rustix::fs::statvfs;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Below a folder of the user's: what is ours begins so, with what nobody else would draw.
pub const FOLDER: &str = "disklab-";
/// Writing a file takes no longer than at this rate, a disk's or a card's slowest.
const SLOWEST: f64 = 5e6;

pub struct Prepared<'a> {
    host: &'a Host,
    /// For raw output of preparing: beside that of the trials.
    record: PathBuf,
    now: Option<Now>,
}

/// What is on the disks.
struct Now {
    key: String,
    journal: Journal,
    uuid: Option<String>,
    /// A trial has changed it.
    used: bool,
    at: Option<PathBuf>,
}

impl<'a> Prepared<'a> {
    pub fn new(host: &'a Host, record: &Path) -> Self {
        Self { host, record: record.to_owned(), now: None }
    }

    /// Where the user's filesystem is that trials run in, if they do.
    pub fn at(&self) -> Option<&Path> {
        self.now.as_ref()?.at.as_deref()
    }

    /// Makes what the trial begins on, unless it is there; the trial with its places.
    pub fn ready(&mut self, trial: &Trial, events: Events) -> Result<Trial> {
        let key = order::key(trial);
        let is_there = self.now.as_ref().is_some_and(|now| now.key == key && !now.used);
        if !is_there {
            self.undo(&mut |undone| events(Event::Undone { undone }))?;
            events(Event::Preparing { array: &trial.array.name });
            self.make(trial, key)?;
            events(Event::Prepared { array: &trial.array.name, fresh: true });
        }
        self.check()?;
        Ok(self.placed(trial))
    }

    /// Disks that were taken out, or are others by now, are not touched.
    fn check(&self) -> Result<()> {
        for disk in self.host.place.disks() {
            let now = Disk::find(&disk.named)?;
            if (now.number, &now.serial, now.bytes) != (disk.number, &disk.serial, disk.bytes) {
                return Err(Error::OtherDisk { disk: disk.named.clone() });
            }
        }
        Ok(())
    }

    fn placed(&self, trial: &Trial) -> Trial {
        let uuid = self.now.as_ref().and_then(|now| now.uuid.clone());
        places(trial, &self.host.place, uuid)
    }

    fn make(&mut self, trial: &Trial, key: String) -> Result<()> {
        let host = self.host;
        let mut journal = Journal::create(&host.state, &self.record)?;
        let (uuid, at) = match &host.place {
            Place::Disks { disks, permission } => {
                for disk in disks {
                    guard::may_write(disk, &permission.allow, &permission.overwrite)?;
                    // The kernel has the last word.
                    drop(guard::hold(disk)?);
                }
                let uuid = fresh_uuid()?;
                self.note_pools(trial, disks, &mut journal)?;
                for disk in disks {
                    journal.note(&Change::Made { disk: disk.clone(), uuid: uuid.clone() })?;
                }
                let other = Places { uuid: Some(uuid.clone()), ..trial.places.clone() }.uuid_of_replica();
                for disk in &disks[trial.array.replica_disks()] {
                    let uuid = other.clone().unwrap_or_default();
                    journal.note(&Change::Made { disk: disk.clone(), uuid })?;
                }
                journal.note(&Change::Md { uuid: uuid.clone() })?;
                (Some(uuid), None)
            }
            Place::At { path, uuid, .. } if path.is_dir() => {
                leave_room(path, trial)?;
                let folder = path.join(format!("{FOLDER}{}", fresh_uuid()?));
                journal.note(&Change::Folder { path: folder.clone() })?;
                fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
                (uuid.clone(), Some(folder))
            }
            Place::At { path, uuid, .. } => (uuid.clone(), Some(path.clone())),
        };
        let journal_path = journal.path().to_owned();
        // From here on it is undone whatever happens; until it is whole, no trial begins on it.
        self.now = Some(Now { key, journal, uuid, used: true, at: at.clone() });
        let placed = self.placed(trial);
        let own = host.of_plan(&journal_path, placed.places.uuid.clone(), at);
        if let Some(plan) = plan::preparing(&placed, own) {
            self.carry_out(&placed, &plan)?;
        }
        self.now.iter_mut().for_each(|now| now.used = false);
        Ok(())
    }

    /// Pools of ZFS are told by their names, which nobody else's may have.
    fn note_pools(&self, trial: &Trial, disks: &[Disk], journal: &mut Journal) -> Result<()> {
        let own = places(trial, &self.host.place, Some(String::new()));
        for name in stack::pools(&own, true).iter().filter_map(|pool| pool.stop.last()) {
            if is_pool(name) {
                return Err(Error::PoolInTheWay { name: name.clone() });
            }
            journal.note(&Change::Pool { name: name.clone(), disks: disks.to_vec() })?;
        }
        Ok(())
    }

    fn carry_out(&self, trial: &Trial, plan: &guest::Plan) -> Result<()> {
        let folder = self.record.join("preparing");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
        write_json(&folder.join(names::PLAN), plan)?;
        let room = crate::prepared::room(trial);
        let bytes = (estimate::written(trial) + room).0 as f64 * f64::from(trial.array.copies());
        let limit = Nanos::from_secs_f64(bytes / SLOWEST) + self.host.patience.overtime;
        let end = first::run(&self.host.program, &folder, limit, self.host.stop, &mut |_| ())?;
        if matches!(end, End::Stopped) || self.host.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        evidence::finished(&folder, &end, evidence::Who::First).map_err(|reason| Error::Prepare {
            array: trial.array.name.clone(),
            reason,
            kept: folder.clone(),
        })?;
        fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))
    }

    /// What a trial did to it.
    pub fn used(&mut self, trial: &Trial) {
        if let Some(now) = &mut self.now
            && !only_reads(trial)
        {
            now.used = true;
        }
    }

    /// Takes it away.
    pub fn undo(&mut self, also: &mut dyn FnMut(&Undone)) -> Result<()> {
        let Some(now) = self.now.take() else { return Ok(()) };
        let path = now.journal.path().to_owned();
        if now.journal.undo(also)? { Ok(()) } else { Err(Error::NotUndone { journal: path }) }
    }
}

/// A filesystem in use keeps this part of itself free, or this much, whichever is less.
const MARGIN_PART: u64 = 10;
const MARGIN: u64 = 1 << 30;

/// What a trial may fill of a filesystem that is in use, beside what is to stay free there, and that.
pub fn room_at(path: &Path) -> Result<(Bytes, Bytes)> {
    let stat = statvfs(path).map_err(|error| Error::io("look how full", path)(error.into()))?;
    let margin = (stat.f_blocks.saturating_mul(stat.f_frsize) / MARGIN_PART).min(MARGIN);
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    Ok((Bytes(free.saturating_sub(margin)), Bytes(margin)))
}

/// Others may have filled it since the run began.
fn leave_room(path: &Path, trial: &Trial) -> Result<()> {
    let (room, margin) = room_at(path)?;
    let needed = estimate::written(trial) + crate::prepared::room(trial);
    if needed > room {
        return Err(Error::NoMargin { path: path.to_owned(), free: room + margin, needed, margin });
    }
    Ok(())
}

/// Whether a trial leaves test files as they were.
pub fn only_reads(trial: &Trial) -> bool {
    trial.workload.is_fio()
        && trial.background.is_none()
        && trial.workload.jobs.iter().all(|job| !job.rw.writes())
}

/// The trial, where this machine has its disks.
pub fn places(trial: &Trial, place: &Place, uuid: Option<String>) -> Trial {
    let disks = place.disks().iter().map(|disk| disk.name.clone()).collect();
    Trial { places: Places { disks, md: free_md(), uuid }, ..trial.clone() }
}

/// The name of a device that md does not have.
fn free_md() -> String {
    let is_free = |name: &String| !Path::new("/sys/block").join(name).exists();
    (100..1000).map(|number| format!("md{number}")).find(is_free).unwrap_or_default()
}

fn fresh_uuid() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/random/uuid");
    let uuid = fs::read_to_string(path).map_err(Error::io("read", path))?;
    Ok(uuid.trim().to_owned())
}
