//! A thread of the load, and its counts.

use crate::Failure;
use crate::books::{Taken, TakenFor};
use crate::choice::Chooser;
use crate::latency::Latency;
use crate::layout::made_folder;
use crate::shared::Shared;
use crate::size::draw;
use disklab_config::fsload::{FileAction, FileThreads, Operation, ThreadLoop};
use disklab_units::{Random, Seed};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Counts of operations and loops.
#[derive(Debug, Clone)]
pub struct ThreadTally {
    operations: Vec<(Latency, u64)>,
    pub loops: u64,
    pub idle: u64,
}

impl Default for ThreadTally {
    fn default() -> Self {
        Self { operations: vec![(Latency::default(), 0); Operation::ALL.len()], loops: 0, idle: 0 }
    }
}

impl ThreadTally {
    pub fn merge(&mut self, other: &Self) {
        for ((latency, bytes), (more, more_bytes)) in
            self.operations.iter_mut().zip(&other.operations)
        {
            latency.merge(more);
            *bytes += more_bytes;
        }
        self.loops += other.loops;
        self.idle += other.idle;
    }

    pub fn operation(&self, operation: Operation) -> (&Latency, u64) {
        let (latency, bytes) = &self.operations[operation as usize];
        (latency, *bytes)
    }
}

/// A thread of the load.
pub struct Worker<'a> {
    shared: &'a Shared<'a>,
    threads: &'a FileThreads,
    /// A chooser for each set, in the order of the sets.
    choosers: Vec<Chooser>,
    random: Random,
    open: Option<(Taken, File)>,
    /// Number of the folder in which the thread works.
    inside: Option<u64>,
    buffer: Vec<u8>,
    tally: ThreadTally,
}

impl<'a> Worker<'a> {
    pub fn new(
        shared: &'a Shared<'a>,
        threads: &'a FileThreads,
        choosers: Vec<Chooser>,
        seed: Seed,
    ) -> Self {
        Self {
            shared,
            threads,
            choosers,
            random: Random::new(seed),
            open: None,
            inside: None,
            buffer: vec![0; threads.io.0 as usize],
            tally: ThreadTally::default(),
        }
    }

    /// Runs loops until the time is over or a thread failed.
    pub fn work(mut self) -> (ThreadTally, Option<Failure>) {
        self.shared.run.surroundings.thread_begins();
        let mut failure = None;
        while failure.is_none() && !self.shared.is_over() {
            failure = self.once().err();
        }
        self.put_down();
        (self.tally, failure)
    }

    fn once(&mut self) -> Result<(), Failure> {
        let threads = self.threads;
        for step in &self.drawn().steps {
            if self.shared.is_over() {
                return Ok(());
            }
            if step.percent < 100 && self.random.below(100) >= u64::from(step.percent) {
                continue;
            }
            if !self.act(step.does)? {
                self.put_down();
                self.tally.idle += u64::from(self.counts());
                self.sleep(Duration::from_nanos(threads.idle.0));
                return Ok(());
            }
        }
        self.put_down();
        self.tally.loops += u64::from(self.counts());
        Ok(())
    }

    fn drawn(&mut self) -> &'a ThreadLoop {
        let loops = &self.threads.loops;
        let mut drawn = match loops.len() {
            1 => 0,
            _ => self.random.below(loops.iter().map(|one| u64::from(one.weight)).sum()),
        };
        let found = loops.iter().position(|one| {
            let is_drawn = drawn < u64::from(one.weight);
            drawn = drawn.saturating_sub(u64::from(one.weight));
            is_drawn
        });
        &loops[found.unwrap_or(0)]
    }

    /// Sleeps, but not beyond the end of the window.
    fn sleep(&self, time: Duration) {
        std::thread::sleep(
            time.min(self.shared.window.1.saturating_duration_since(Instant::now())),
        );
    }

    /// Returns whether an operation that ends now is counted.
    fn counts(&self) -> bool {
        (self.shared.window.0..=self.shared.window.1).contains(&Instant::now())
    }

    /// Closes the open file, if any, and gives it back.
    fn put_down(&mut self) {
        if let Some((taken, file)) = self.open.take() {
            drop(file);
            self.shared.books().leave(&taken);
        }
    }

    /// Does one action. Returns false if there was nothing to work on.
    fn act(&mut self, act: FileAction) -> Result<bool, Failure> {
        match act {
            FileAction::Open { set, writes } => self.open(set, writes),
            FileAction::Create { set } => self.create(set),
            FileAction::Delete { set } => self.delete(set),
            FileAction::Stat { set } | FileAction::List { set } => {
                self.look(set, matches!(act, FileAction::List { .. }))
            }
            FileAction::Replace { set } => {
                let Some(taken) = self.take(set, true) else { return Ok(false) };
                let size = taken.own;
                self.replace(&taken, size)
            }
            FileAction::Pause(time) => {
                self.sleep(Duration::from_nanos(time.0));
                Ok(true)
            }
            FileAction::MakeFolder => {
                let number = self.shared.books().next_folder();
                self.timed(Operation::MakeFolder, &made_folder(number), |_, path| {
                    Ok((fs::create_dir(path)?, 0))
                })?;
                self.shared.books().made_folder(number);
                self.inside = Some(number);
                Ok(true)
            }
            FileAction::EnterFolder => {
                self.inside = self.shared.books().any_folder(&mut self.random);
                Ok(self.inside.is_some())
            }
            FileAction::ReplaceAny { .. }
            | FileAction::ReplaceDown { .. }
            | FileAction::ReadAll { .. } => self.in_folder(act),
            FileAction::ReadWhole
            | FileAction::ReadRandom(_)
            | FileAction::Append(_)
            | FileAction::WriteWhole
            | FileAction::Fsync
            | FileAction::Close => {
                // The description is checked: a file is open wherever one is needed.
                let Some((taken, mut file)) = self.open.take() else { return Ok(false) };
                let went = self.on_file(act, &taken, &mut file);
                if matches!(act, FileAction::Close) {
                    return went;
                }
                self.open = Some((taken, file));
                went
            }
        }
    }

    /// Times an operation, whose bytes it returns, and counts it.
    fn timed<T>(
        &mut self,
        operation: Operation,
        path: &Path,
        does: impl FnOnce(&mut Vec<u8>, &Path) -> io::Result<(T, u64)>,
    ) -> Result<T, Failure> {
        let begun = self.shared.run.surroundings.processor();
        let whole = self.shared.run.root.join(path);
        let (value, bytes) = does(&mut self.buffer, &whole)
            .map_err(|e| format!("fsload: {operation} {}: {e}", path.display()))?;
        let took = begun.elapsed();
        if self.counts() {
            let (latency, all) = &mut self.tally.operations[operation as usize];
            latency.add(took.as_nanos() as u64);
            *all += bytes;
        }
        Ok(value)
    }

    /// Takes a file that the thread draws from a set. If `alone` is set, nobody may have it open.
    fn take(&mut self, set: usize, alone: bool) -> Option<Taken> {
        self.shared.books().take(set, alone, &mut self.choosers[set], &mut self.random)
    }

    fn open(&mut self, set: usize, writes: bool) -> Result<bool, Failure> {
        let Some(taken) = self.take(set, writes) else { return Ok(false) };
        let file = self.timed(Operation::Open, &taken.path, |_, path| {
            Ok((File::options().read(true).write(writes).open(path)?, 0))
        })?;
        self.open = Some((taken, file));
        Ok(true)
    }

    fn create(&mut self, set: usize) -> Result<bool, Failure> {
        let Some(taken) = self.shared.books().take_free(set) else { return Ok(false) };
        let file = self.timed(Operation::Create, &taken.path, |_, path| {
            Ok((File::options().read(true).write(true).create_new(true).open(path)?, 0))
        })?;
        self.shared.books().wrote_anew(&taken, 0);
        self.open = Some((Taken { size: 0, ..taken }, file));
        Ok(true)
    }

    fn delete(&mut self, set: usize) -> Result<bool, Failure> {
        let Some(taken) = self.take(set, true) else { return Ok(false) };
        self.take_back(&taken)?;
        self.timed(Operation::Delete, &taken.path, |_, path| Ok((fs::remove_file(path)?, 0)))?;
        let mut books = self.shared.books();
        books.deleted(&taken);
        books.leave(&taken);
        Ok(true)
    }

    /// Reads the entry of a drawn file or, if `lists` is set, lists the file's folder.
    fn look(&mut self, set: usize, lists: bool) -> Result<bool, Failure> {
        let Some(taken) = self.take(set, false) else { return Ok(false) };
        if lists {
            let folder = taken.path.parent().map_or_else(PathBuf::new, Path::to_owned);
            self.timed(Operation::List, &folder, |_, path| {
                fs::read_dir(path)?.try_for_each(|entry| entry.map(drop))?;
                Ok(((), 0))
            })?;
        } else {
            self.timed(Operation::Stat, &taken.path, |_, path| Ok((path.symlink_metadata()?, 0)))?;
        }
        self.shared.books().leave(&taken);
        Ok(true)
    }

    /// Does an operation on the open file.
    fn on_file(
        &mut self,
        act: FileAction,
        taken: &Taken,
        file: &mut File,
    ) -> Result<bool, Failure> {
        let path = &taken.path;
        match act {
            FileAction::ReadWhole => {
                let size =
                    self.timed(Operation::ReadWhole, path, |buffer, _| read_whole(file, buffer))?;
                let expected = self.shared.books().size(taken);
                if size != expected {
                    return Err(format!(
                        "fsload: {} had {size} bytes instead of {expected}",
                        path.display()
                    ));
                }
            }
            FileAction::ReadRandom(bytes) => {
                let places = self.shared.books().size(taken).saturating_sub(bytes.0) + 1;
                let at = self.random.below(places);
                self.timed(Operation::ReadRandom, path, |buffer, _| {
                    buffer.resize(buffer.len().max(bytes.0 as usize), 0);
                    let read = file.read_at(&mut buffer[..bytes.0 as usize], at)?;
                    Ok(((), read as u64))
                })?;
            }
            FileAction::Append(size) => {
                let size = draw(size, &mut self.random);
                let (key, from) = {
                    let books = self.shared.books();
                    (books.key(taken.set, taken.slot, false), books.size(taken))
                };
                self.timed(Operation::Append, path, |buffer, _| {
                    file.seek(SeekFrom::Start(from))?;
                    Ok((key.write(file, buffer, from, size)?, size))
                })?;
                self.shared.books().appended(taken, size);
            }
            FileAction::WriteWhole => {
                self.take_back(taken)?;
                let (key, size) = (self.shared.books().key(taken.set, taken.slot, true), taken.own);
                self.timed(Operation::WriteWhole, path, |buffer, _| {
                    file.rewind()?;
                    key.write(file, buffer, 0, size)?;
                    if taken.size > size {
                        file.set_len(size)?;
                    }
                    Ok(((), size))
                })?;
                self.shared.books().wrote_anew(taken, size);
            }
            FileAction::Fsync => {
                self.timed(Operation::Fsync, path, |_, _| Ok((file.sync_all()?, 0)))?;
                let number = self.shared.books().promise(taken);
                number.map_or(Ok(()), |number| self.shared.run.surroundings.promised(number))?;
            }
            _ => {
                // Dropping the copy closes the file, which nobody uses after this.
                let own =
                    file.try_clone().map_err(|e| format!("fsload: {}: {e}", path.display()))?;
                self.timed(Operation::Close, path, |_, _| Ok((drop(own), 0)))?;
                self.shared.books().leave(taken);
            }
        }
        Ok(true)
    }

    fn take_back(&mut self, taken: &Taken) -> Result<(), Failure> {
        let number = self.shared.books().take_back(taken);
        number.map_or(Ok(()), |number| self.shared.run.surroundings.promised(number))
    }

    /// Does an operation on the files of the folder that the thread is in.
    fn in_folder(&mut self, act: FileAction) -> Result<bool, Failure> {
        let Some(folder) = self.inside else { return Ok(false) };
        match act {
            FileAction::ReplaceAny { set } => {
                let most = self.shared.books().most_in_folder(set);
                let number = 1 + self.random.below(u64::from(most)) as u32;
                self.replace_in(folder, set, number)?;
            }
            FileAction::ReplaceDown { set, from, to } => {
                let drawn = from + self.random.below(u64::from(to - from) + 1) as u32;
                let most = self.shared.books().most_in_folder(set);
                for number in (1..=drawn.min(most)).rev() {
                    if self.shared.is_over() {
                        break;
                    }
                    self.replace_in(folder, set, number)?;
                }
            }
            FileAction::ReadAll { set } => {
                for number in 1.. {
                    let taken =
                        self.shared.books().take_in_folder(set, folder, number, TakenFor::ToRead);
                    let Some(taken) = taken.filter(|_| !self.shared.is_over()) else { break };
                    self.timed(Operation::ReadWhole, &taken.path, |buffer, path| {
                        read_whole(&mut File::open(path)?, buffer)
                    })?;
                    self.shared.books().leave(&taken);
                }
            }
            _ => {}
        }
        Ok(true)
    }

    /// Replaces a file of a folder, unless another thread is writing it.
    fn replace_in(&mut self, folder: u64, set: usize, number: u32) -> Result<(), Failure> {
        let taken = self.shared.books().take_in_folder(set, folder, number, TakenFor::ToReplace);
        let Some(taken) = taken else { return Ok(()) };
        let size = draw(self.shared.run.load.files[set].size, &mut self.random);
        self.replace(&taken, size).map(drop)
    }

    /// Writes a whole file under another name, and then renames it.
    fn replace(&mut self, taken: &Taken, size: u64) -> Result<bool, Failure> {
        self.take_back(taken)?;
        let key = self.shared.books().key(taken.set, taken.slot, true);
        self.timed(Operation::Replace, &taken.path, |buffer, path| {
            let beside = path.with_extension("new");
            let mut file = File::create(&beside)?;
            key.write(&mut file, buffer, 0, size)?;
            drop(file);
            Ok((fs::rename(&beside, path)?, size))
        })?;
        let mut books = self.shared.books();
        books.wrote_anew(taken, size);
        books.leave(taken);
        Ok(true)
    }
}

/// Reads a file from its beginning. Returns its size in bytes twice: as the result, and as the
/// bytes to count.
fn read_whole(file: &mut File, buffer: &mut [u8]) -> io::Result<(u64, u64)> {
    file.rewind()?;
    let mut size = 0;
    loop {
        match file.read(buffer)? {
            0 => return Ok((size, size)),
            read => size += read as u64,
        }
    }
}
