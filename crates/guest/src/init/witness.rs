//! A witness of power cuts. It writes records, fsyncs each, and notes the promised ones; after the
//! cut it looks for them.
//!
//! Programs rely on three ways to keep data, and records use them in turn. The first appends to a
//! file and fsyncs it. The second makes a new file, and fsyncs it and then its folder. The third
//! replaces a file by rename, with an fsync of the file before and of the folder after.

use super::environment::Environment;
use super::perform::{Beside, Perform, Session};
use super::steps::{Failure, Steps};
use super::threads::spawn;
use crate::site::Site;
use disklab_protocol::Mark;
use disklab_protocol::action::{CheckSurvival, StartWitness, StopWitness};
use disklab_protocol::places::{FSLOAD, POOL};
use disklab_protocol::step::Step;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Folder in the pool.
const FOLDER: &str = "witness";
/// File with all appended records.
const LOG: &str = "log";
/// File with the newest of the records that replace each other.
const CURRENT: &str = "current";
const NEXT: &str = "next";
/// Size of a record. It is not a multiple of a block, so that an append changes an existing block.
const RECORD: usize = 1000;
/// Pause between two records, so that the disks are mostly the workload's.
const PAUSE: Duration = Duration::from_millis(2);
/// Largest number of records. Their new files fit into [`disklab_config::power_cut::WITNESS`] with
/// room to spare.
const MOST_RECORDS: u64 = 30_000;

impl Perform for StartWitness {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        vec![format!("# write records below {POOL}/{FOLDER} and fsync each &")]
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        session.witness = Some(Box::new(Witness::start(&session.environment)?));
        Ok(())
    }
}

impl Perform for StopWitness {
    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let witness = session.witness.take();
        witness.map_or(Ok(()), |witness| witness.stop(true, &mut session.steps))
    }
}

impl Perform for CheckSurvival {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        let (records, files) = (self.promised, self.files.len());
        vec![format!("# look for {records} records and {files} files that were fsynced")]
    }

    /// Each promise is checked by itself.
    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let looks = [
            look_in(&Path::new(POOL).join(FOLDER), self.promised),
            disklab_fsload::promises::look(Path::new(FSLOAD), &self.files),
        ];
        let lost: Vec<Failure> = looks.into_iter().filter_map(Result::err).collect();
        if !lost.is_empty() {
            return Err(lost.join("; "));
        }
        let files = self.files.len() as u64;
        session.steps.say(&Step::Found { records: self.promised, files });
        Ok(())
    }
}

/// A witness that runs.
struct Witness {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, Failure>>,
}

impl Witness {
    /// Starts it in the pool. After its fsync, the number of each record, from 1, is marked.
    fn start(environment: &Arc<dyn Environment>) -> Result<Self, Failure> {
        let environment = Arc::clone(environment);
        let promised = move |record| {
            environment.mark(Mark::Fsynced(record)).map_err(|e| format!("witness: {e}"))
        };
        let folder = Path::new(POOL).join(FOLDER);
        let failed = |e: io::Error| format!("witness: {}: {e}", folder.display());
        fs::create_dir(&folder).map_err(failed)?;
        File::open(POOL).and_then(|pool| pool.sync_all()).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = spawn("witness", move || testify(&folder, &seen, &promised))?;
        Ok(Self { stop, thread })
    }
}

impl Beside for Witness {
    fn stop(self: Box<Self>, _: bool, steps: &mut Steps) -> Result<(), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        let records = self.thread.join().map_err(|_| "witness: its thread failed".to_owned())??;
        steps.say(&Step::Witnessed { records });
        Ok(())
    }
}

fn testify(
    folder: &Path,
    stop: &AtomicBool,
    promised: &impl Fn(u64) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let failed = |number| {
        move |e: io::Error| format!("witness: record {number} in {}: {e}", folder.display())
    };
    let mut log = OpenOptions::new()
        .append(true)
        .create_new(true)
        .open(folder.join(LOG))
        .map_err(failed(0))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(0))?;
    for number in 1..=MOST_RECORDS {
        if stop.load(Ordering::Relaxed) {
            return Ok(number - 1);
        }
        keep(folder, &mut log, number).map_err(failed(number))?;
        promised(number)?;
        std::thread::sleep(PAUSE);
    }
    Ok(MOST_RECORDS)
}

fn keep(folder: &Path, log: &mut File, number: u64) -> io::Result<()> {
    let record = record(number);
    let write = |path: &Path| {
        let mut file = File::create(path)?;
        file.write_all(&record)?;
        file.sync_all()
    };
    match way(number) {
        Way::Append => {
            log.write_all(&record)?;
            log.sync_all()
        }
        Way::New => {
            write(&new_file(folder, number))?;
            File::open(folder)?.sync_all()
        }
        Way::Replace => {
            write(&folder.join(NEXT))?;
            fs::rename(folder.join(NEXT), folder.join(CURRENT))?;
            File::open(folder)?.sync_all()
        }
    }
}

/// Way in which a record is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Append,
    New,
    Replace,
}

/// Returns the way in which the record of this number is kept.
fn way(number: u64) -> Way {
    match number % 3 {
        0 => Way::Append,
        1 => Way::New,
        _ => Way::Replace,
    }
}

fn new_file(folder: &Path, number: u64) -> PathBuf {
    folder.join(number.to_string())
}

/// Returns the contents of a record, which no other number has.
fn record(number: u64) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    let mut word = number;
    for bytes in record.chunks_mut(8) {
        bytes.copy_from_slice(&word.to_le_bytes());
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    record
}

/// Looks for all records up to `promised`. The error names those that differ.
fn look_in(folder: &Path, promised: u64) -> Result<(), Failure> {
    // If nothing was promised, the folder was not promised either.
    let missing: Vec<(u64, String)> = (1..=promised)
        .filter_map(|number| Some((number, wrong(folder, number, promised)?)))
        .collect();
    let Some((first, why)) = missing.first() else { return Ok(()) };
    let count = |by| missing.iter().filter(|(number, _)| way(*number) == by).count();
    Err(format!(
        "of {promised} records that were fsynced, {} are lost or damaged ({} appended, {} new \
         files, {} replacements); the first is {first}: {why}",
        missing.len(),
        count(Way::Append),
        count(Way::New),
        count(Way::Replace)
    ))
}

/// Returns the fault of a record, if it has one.
fn wrong(folder: &Path, number: u64, promised: u64) -> Option<String> {
    let found = match way(number) {
        Way::Append => in_log(folder, number),
        Way::New => fs::read(new_file(folder, number)).map(|bytes| bytes == record(number)),
        // A later record, promised or about to be, has replaced it.
        Way::Replace if number + 3 <= promised => return None,
        Way::Replace => current(folder).map(|newest| newest.is_some_and(|newest| newest >= number)),
    };
    match found {
        Ok(true) => None,
        Ok(false) => Some("other bytes".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

fn in_log(folder: &Path, number: u64) -> io::Result<bool> {
    let log = File::open(folder.join(LOG))?;
    let mut found = [0; RECORD];
    // Records 3, 6, 9, ...
    log.read_exact_at(&mut found, (number / 3 - 1) * RECORD as u64)?;
    Ok(found == record(number))
}

/// Returns the number of the record that has replaced all others, if its contents are a record.
fn current(folder: &Path) -> io::Result<Option<u64>> {
    let bytes = fs::read(folder.join(CURRENT))?;
    let number = bytes.first_chunk().map(|first| u64::from_le_bytes(*first));
    Ok(number.filter(|&number| bytes == record(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a folder with the first `count` records.
    fn folder(count: u64) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut log = File::create(folder.path().join(LOG)).unwrap();
        (1..=count).for_each(|number| keep(folder.path(), &mut log, number).unwrap());
        folder
    }

    #[test]
    fn what_is_there_is_found() {
        let folder = folder(100);
        for promised in [0, 1, 2, 3, 50, 99, 100] {
            look_in(folder.path(), promised).unwrap();
        }
    }

    #[test]
    fn what_is_lost_is_named() {
        let error = look_in(folder(20).path(), 29).unwrap_err();
        let said = "of 29 records that were fsynced, 7 are lost or damaged (3 appended, 3 new \
                    files, 1 replacements); the first is 21: ";
        assert!(error.starts_with(said), "{error}");
        let empty = tempfile::tempdir().unwrap();
        assert!(
            look_in(empty.path(), 3).unwrap_err().contains("of 3 records that were fsynced, 3 are")
        );
        look_in(empty.path(), 0).unwrap();
    }

    #[test]
    fn one_changed_byte_is_seen() {
        for (file, at) in [(LOG, 2999u64), ("13", 500), (CURRENT, 999)] {
            let folder = folder(20);
            let file = OpenOptions::new().write(true).open(folder.path().join(file)).unwrap();
            file.write_all_at(&[0x55], at).unwrap();
            look_in(folder.path(), 20).unwrap_err();
        }
    }
}
