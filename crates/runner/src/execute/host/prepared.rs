//! The filesystem with its test files on which trials begin. It is made when it is needed, and used
//! until a trial changes it.

use super::first;
use super::settings::Host;
use crate::describe::host::order::DiskContents;
use crate::describe::host::place::{HostPlace, changes, named_again, places, test_path};
use crate::describe::host::plan;
use crate::error::{Error, Result};
use crate::estimate;
use crate::execute::executor::{Event, Events};
use crate::execute::prepared::write_json;
use crate::interpret::end::End;
use crate::interpret::evidence::{self, Who};
use disklab_block_devices::change::{Change, UndoNews};
use disklab_block_devices::watch::instance_name;
use disklab_block_devices::{Disk, Journal, guard};
use disklab_config::Trial;
use disklab_guest::real_machine::RealMachine;
use disklab_protocol::action::Plan;
use disklab_protocol::names;
use disklab_record::outcome::Fault;
use disklab_units::{Bytes, Nanos};
use rustix::fs::statvfs;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Slowest rate at which a file is written: that of the slowest disks and cards, in bytes per
/// second.
const SLOWEST: f64 = 5e6;

pub struct Prepared<'a> {
    host: &'a Host,
    /// Folder for the raw output of preparing, beside that of the trials.
    record: PathBuf,
    now: Option<Now>,
    contents: DiskContents,
    /// Whether nothing was made on the disks yet.
    is_first: bool,
}

/// Present contents of the disks.
struct Now {
    journal: Journal,
    uuid: Option<String>,
    at: Option<PathBuf>,
}

impl<'a> Prepared<'a> {
    pub fn new(host: &'a Host, record: &Path) -> Self {
        Self {
            host,
            record: record.to_owned(),
            now: None,
            contents: DiskContents::default(),
            is_first: true,
        }
    }

    /// Returns the path of trials in the user's filesystem, if they run in one.
    pub fn path(&self) -> Option<&Path> {
        self.now.as_ref()?.at.as_deref()
    }

    /// Makes the contents that the trial begins on, unless they exist. Returns the trial with its
    /// places.
    pub fn ready(&mut self, trial: &Trial, events: Events) -> Result<Trial> {
        self.check()?;
        if !self.contents.fit(trial) {
            self.undo(&mut |news| events(Event::Undoing { news }))?;
            events(Event::Preparing { array: &trial.array.name });
            self.make(trial)?;
            events(Event::Prepared { array: &trial.array.name, fresh: true });
        }
        Ok(self.placed(trial))
    }

    /// Refuses disks that were removed or replaced.
    fn check(&self) -> Result<()> {
        for disk in self.host.place.disks() {
            let now = Disk::find(&disk.named).map_err(|cause| Error::NoDisk {
                disk: disk.named.clone(),
                cause: Box::new(cause),
            })?;
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

    fn make(&mut self, trial: &Trial) -> Result<()> {
        let host = self.host;
        // Disks that may hold data. Once disklab's contents are on them, nothing else can be lost.
        let overwrite = if self.is_first { named_again(&host.place) } else { Vec::new() };
        if let HostPlace::Disks { disks, permission } = &host.place {
            for disk in disks {
                guard::may_write(disk, &permission.allow, &overwrite)?;
            }
        }
        if let HostPlace::At { path, .. } = &host.place
            && path.is_dir()
        {
            leave_room(path, trial)?;
        }
        let fresh = fresh_uuid()?;
        let uuid = host.place.uuid(&fresh);
        let at = test_path(&host.place, &fresh);
        let placed = places(trial, &host.place, uuid.clone());
        let journal = Journal::create(&host.state, &self.record)?;
        let journal_path = journal.path().to_owned();
        // From here on, the changes are undone in any case. Until the contents are complete, no
        // trial begins on them.
        let now = self.now.insert(Now { journal, uuid, at: at.clone() });
        for change in changes(&placed, &host.place, at.as_deref()) {
            now.journal.note(&change)?;
            if let Change::Folder { path, .. } = &change {
                fs::create_dir(path).map_err(Error::io("create", path))?;
            }
        }
        let machine = host.machine(&journal_path, Some(overwrite), at);
        if let Some(plan) = plan::preparing(&placed, &machine) {
            self.run(&placed, &plan, &machine)?;
        }
        self.is_first = false;
        self.contents.made(trial);
        Ok(())
    }

    fn run(&self, trial: &Trial, plan: &Plan, machine: &RealMachine) -> Result<()> {
        let folder = self.record.join("preparing");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
        write_json(&folder.join(names::PLAN), plan)?;
        write_json(&folder.join(names::HOST), machine)?;
        let room = estimate::room(trial);
        let bytes = (estimate::written(trial) + room).0 as f64 * f64::from(trial.array.copies());
        let limit = Nanos::from_secs_f64(bytes / SLOWEST) + self.host.timeouts.overtime;
        let end = first::run(&self.host.program, &folder, limit, self.host.stop, &mut |_| ())?;
        if matches!(end, End::Stopped) || self.host.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        evidence::finished(&folder, &end, Who::First).map_err(|reason| Error::Prepare {
            array: trial.array.name.clone(),
            reason,
            fault: Fault::Machine,
            kept: folder.clone(),
        })?;
        fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))
    }

    /// Notes that a trial was measured on these contents.
    pub fn used(&mut self, trial: &Trial) {
        self.contents.measured(trial);
    }

    /// Undoes all changes.
    pub fn undo(&mut self, also: &mut dyn FnMut(UndoNews)) -> Result<()> {
        self.contents = DiskContents::default();
        let Some(now) = self.now.take() else { return Ok(()) };
        let path = now.journal.path().to_owned();
        if now.journal.undo(also)? { Ok(()) } else { Err(Error::NotUndone { journal: path }) }
    }
}

/// A filesystem in use keeps 1/MARGIN_PART of its size free, or MARGIN bytes, whichever is less.
const MARGIN_PART: u64 = 10;

const MARGIN: u64 = 1 << 30;

/// Returns the room that a trial may fill in a filesystem in use, and the margin that stays free.
pub fn room_at(path: &Path) -> Result<(Bytes, Bytes)> {
    let stat = statvfs(path).map_err(|error| Error::io("look how full", path)(error.into()))?;
    let margin = (stat.f_blocks.saturating_mul(stat.f_frsize) / MARGIN_PART).min(MARGIN);
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    Ok((Bytes(free.saturating_sub(margin)), Bytes(margin)))
}

/// Checks the room again: others may have filled it since the run began.
fn leave_room(path: &Path, trial: &Trial) -> Result<()> {
    let (room, margin) = room_at(path)?;
    let needed = estimate::written(trial) + estimate::room(trial);
    if needed > room {
        return Err(Error::NoMargin { path: path.to_owned(), free: room + margin, needed, margin });
    }
    Ok(())
}

/// Draws a name for a run on this machine that no other run has, nor had a killed one.
pub fn name() -> Result<String> {
    let uuid = fresh_uuid()?;
    Ok(format!(
        "{}-{}",
        instance_name(std::process::id()),
        uuid.split('-').next().unwrap_or_default()
    ))
}

fn fresh_uuid() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/random/uuid");
    let uuid = fs::read_to_string(path).map_err(Error::io("read", path))?;
    Ok(uuid.trim().to_owned())
}
