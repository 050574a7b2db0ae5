//! What trials begin on: a filesystem with its test files, made when it is needed and used for as
//! long as it is what it was.

use super::{Host, Permission, Place, first, order, plan};
use crate::error::{Error, Result};
use crate::executor::Events;
use crate::guest::End;
use crate::prepared::write_json;
use crate::run::Event;
use crate::{estimate, evidence, stack};
use disklab_block_devices::change::{Change, UndoNews};
use disklab_block_devices::sysfs::SysfsBlock;
use disklab_block_devices::watch::instance_name;
use disklab_block_devices::{Disk, Journal, guard};
use disklab_config::workload::FioLoad;
use disklab_config::{Filesystem, Places, Trial};
use disklab_guest::real_machine::RealMachine;
use disklab_protocol::action::Plan;
use disklab_protocol::names;
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
    /// Nothing was made on the disks yet.
    is_first: bool,
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
        Self { host, record: record.to_owned(), now: None, is_first: true }
    }

    /// Where the user's filesystem is that trials run in, if they do.
    pub fn at(&self) -> Option<&Path> {
        self.now.as_ref()?.at.as_deref()
    }

    /// Makes what the trial begins on, unless it is there; the trial with its places.
    pub fn ready(&mut self, trial: &Trial, events: Events) -> Result<Trial> {
        self.check()?;
        let key = order::key(trial);
        let is_there = self.now.as_ref().is_some_and(|now| now.key == key && !now.used);
        if !is_there {
            self.undo(&mut |news| events(Event::Undoing { news }))?;
            events(Event::Preparing { array: &trial.array.name });
            self.make(trial, key)?;
            events(Event::Prepared { array: &trial.array.name, fresh: true });
        }
        Ok(self.placed(trial))
    }

    /// Disks that were taken out, or are others by now, are not touched.
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

    fn make(&mut self, trial: &Trial, key: String) -> Result<()> {
        let host = self.host;
        let overwrite = self.may_be_lost();
        if let Place::Disks { disks, permission } = &host.place {
            for disk in disks {
                guard::may_write(disk, &permission.allow, &overwrite)?;
            }
        }
        if let Place::At { path, .. } = &host.place
            && path.is_dir()
        {
            leave_room(path, trial)?;
        }
        let fresh = fresh_uuid()?;
        let uuid = match &host.place {
            Place::Disks { .. } => Some(fresh.clone()),
            Place::At { uuid, .. } => uuid.clone(),
        };
        let at = at(&host.place, &fresh);
        let placed = places(trial, &host.place, uuid.clone());
        let journal = Journal::create(&host.state, &self.record)?;
        let journal_path = journal.path().to_owned();
        // From here on it is undone whatever happens; until it is whole, no trial begins on it.
        let now = self.now.insert(Now { key, journal, uuid, used: true, at: at.clone() });
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
        self.now.iter_mut().for_each(|now| now.used = false);
        Ok(())
    }

    /// Disks that may hold something. Once they held what we made, there is nothing else to lose.
    fn may_be_lost(&self) -> Vec<PathBuf> {
        match &self.host.place {
            Place::Disks { disks, permission } if self.is_first => named_again(disks, permission),
            _ => Vec::new(),
        }
    }

    fn run(&self, trial: &Trial, plan: &Plan, machine: &RealMachine) -> Result<()> {
        let folder = self.record.join("preparing");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
        write_json(&folder.join(names::PLAN), plan)?;
        write_json(&folder.join(names::HOST), machine)?;
        let room = crate::prepared::room(trial);
        let bytes = (estimate::written(trial) + room).0 as f64 * f64::from(trial.array.copies());
        let limit = Nanos::from_secs_f64(bytes / SLOWEST) + self.host.timeouts.overtime;
        let end = first::run(&self.host.program, &folder, limit, self.host.stop, &mut |_| ())?;
        if matches!(end, End::Stopped) || self.host.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        evidence::finished(&folder, &end, evidence::Who::First).map_err(|reason| {
            Error::Prepare { array: trial.array.name.clone(), reason, kept: folder.clone() }
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
    pub fn undo(&mut self, also: &mut dyn FnMut(UndoNews)) -> Result<()> {
        let Some(now) = self.now.take() else { return Ok(()) };
        let path = now.journal.path().to_owned();
        if now.journal.undo(also)? { Ok(()) } else { Err(Error::NotUndone { journal: path }) }
    }
}

/// A filesystem in use keeps this part of itself free, or this much, whichever is less.
const MARGIN_PART: u64 = 10;
const MARGIN: u64 = 1 << 30;

/// What a trial may fill of a filesystem that is in use, beside what is to stay free there, and
/// that.
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
    trial.workload.fio().is_some_and(FioLoad::only_reads) && trial.background.is_none()
}

/// Whether what is written to its disks while it is measured is others', but for the few lines that
/// a filesystem writes to be read (btrfs: 6 writes a disk in 40 s). What was made just now is not
/// only that: md makes its mirrors alike, ZFS writes by the clock.
pub fn nothing_of_it_writes(trial: &Trial, place: &Place) -> bool {
    let join = trial.array.layout;
    let is_quiet = join.raid().is_none() && join.filesystem() != Some(Filesystem::Zfs);
    only_reads(trial) && (is_quiet || matches!(place, Place::At { .. }))
}

/// Whether what the disks read for it is read by its programs: ZFS, bcache and what the kernel does
/// beside it (a scrub, md's check, a balance) have threads of the kernel for that.
pub fn its_programs_read(trial: &Trial) -> bool {
    trial.background.is_none()
        && trial.workload.phases().is_none()
        && trial.array.cache.is_none()
        && trial.array.layout.filesystem() != Some(Filesystem::Zfs)
}

/// The trial, where this machine has its disks.
pub fn places(trial: &Trial, place: &Place, uuid: Option<String>) -> Trial {
    let disks = place.disks();
    let whole = |disk: &Disk| {
        let block = SysfsBlock::find(disk.number)?;
        Some(block.disk.file_name()?.to_string_lossy().into_owned())
    };
    let wholes =
        disks.iter().map(|disk| whole(disk).unwrap_or_else(|| disk.name.clone())).collect();
    let disks = disks.iter().map(|disk| disk.name.clone()).collect();
    Trial { places: Places { disks, wholes, md: free_md(), uuid }, ..trial.clone() }
}

/// Those of the disks that were named once more, as they were named first.
pub fn named_again(disks: &[Disk], permission: &Permission) -> Vec<PathBuf> {
    let is_again = |disk: &&Disk| {
        let same = |path: &PathBuf| Disk::find(path).is_ok_and(|again| again.number == disk.number);
        permission.overwrite.iter().any(same)
    };
    disks.iter().filter(is_again).map(|disk| disk.named.clone()).collect()
}

/// Where trials are in a filesystem of the user's: a folder of ours, or one file.
pub fn at(place: &Place, uuid: &str) -> Option<PathBuf> {
    let Place::At { path, .. } = place else { return None };
    Some(if path.is_dir() { path.join(format!("{FOLDER}{uuid}")) } else { path.clone() })
}

/// What making it changes, in the order in which it is noted.
pub fn changes(placed: &Trial, place: &Place, at: Option<&Path>) -> Vec<Change> {
    let disks = match place {
        Place::Disks { disks, .. } => disks,
        Place::At { path, .. } => {
            return at.filter(|at| *at != path).map(Change::folder).into_iter().collect();
        }
    };
    let made = |disks: &[Disk], uuid: Option<String>| -> Vec<Change> {
        let uuid = uuid.unwrap_or_default();
        disks.iter().map(|disk| Change::Made { disk: disk.clone(), uuid: uuid.clone() }).collect()
    };
    let mut changes = made(disks, placed.places.uuid.clone());
    changes.extend(made(&disks[placed.array.replica_disks()], placed.places.uuid_of_replica()));
    let pools = stack::pools(placed, true);
    let nodes = pools.first().map(|(_, pool)| pool.nodes.clone());
    // In memory: another boot has none.
    changes.extend(nodes.map(|path| Change::Folder { path, on: None }));
    let names = pools.into_iter().map(|(name, _)| name);
    changes.extend(names.map(|name| Change::Pool { name, disks: disks.clone() }));
    let uuid = placed.places.uuid.clone().filter(|_| placed.array.layout.raid().is_some());
    changes.extend(uuid.map(|uuid| Change::Md { uuid }));
    changes
}

/// The name of a device that md does not have.
fn free_md() -> String {
    let is_free = |name: &String| !Path::new("/sys/block").join(name).exists();
    (100..1000).map(|number| format!("md{number}")).find(is_free).unwrap_or_default()
}

/// For a run on this machine: no other has it, nor had one that was killed.
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
