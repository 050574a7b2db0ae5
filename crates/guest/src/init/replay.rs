//! Replays the recorded start of a program: each of its threads makes its steps in order, and waits
//! where the program waited.

use disklab_config::startup::{StartupAction, StartupEntry, StartupStep, StartupThreads};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

const PAGE: u64 = 4096;
/// Largest number of open files that the kernel allows, fs.nr_open.
const FILES: u64 = 1 << 20;
/// Largest single read.
const BUFFER: usize = 1 << 20;

/// A file, as far as it was used.
#[derive(Default)]
struct Used {
    file: Option<File>,
    /// Address of its mapping, which stays, as in a program.
    mapped: Option<*const u8>,
}

/// Steps of all threads, and their progress.
struct Replay {
    entries: Vec<StartupEntry>,
    threads: StartupThreads,
    /// Number of uses that each thread has done.
    done: Vec<(Mutex<u32>, Condvar)>,
    /// Threads that each thread starts, by the number of its uses before that.
    starts: Vec<BTreeMap<u32, Vec<usize>>>,
    /// Failure of the first thread that could not continue; the others are not waited for.
    failed: Mutex<Option<String>>,
}

/// Replays until the first thread ends, as a command ends whose other processes continue.
pub fn all(entries: &[StartupEntry], threads: &StartupThreads) -> Result<(), String> {
    // Threads inherit this slack. The computing time of a program is exact, but the kernel lets
    // sleepers sleep up to 50 us longer, to wake several at once.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
        .map_err(|e| format!("setting the timer slack: {e}"))?;
    // The recording lacks the times at which a program closes its files. A user with a lower limit
    // gets as many files as allowed, since most programs open fewer.
    let all = Rlimit { current: Some(FILES), maximum: Some(FILES) };
    if setrlimit(Resource::Nofile, all).is_err() {
        let most = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })
            .map_err(|e| format!("raising the limit of open files: {e}"))?;
    }
    let mut starts = vec![BTreeMap::<u32, Vec<usize>>::new(); threads.0.len()];
    for (number, steps) in threads.0.iter().enumerate().skip(1) {
        let Some(StartupStep::After { thread, uses }) = steps.first() else {
            return Err(format!("no thread starts thread {number}"));
        };
        let starter =
            starts.get_mut(*thread as usize).ok_or_else(|| format!("no thread {thread}"))?;
        starter.entry(*uses).or_default().push(number);
    }
    let done = threads.0.iter().map(|_| (Mutex::new(0), Condvar::new())).collect();
    let (entries, threads) = (entries.to_vec(), threads.clone());
    let replay = Arc::new(Replay { entries, threads, done, starts, failed: Mutex::new(None) });
    replay.start(0, 0)?;
    replay.thread(0)?;
    replay.failure().map_or(Ok(()), Err)
}

impl Replay {
    fn thread(self: &Arc<Self>, number: usize) -> Result<(), String> {
        let mut files: BTreeMap<u32, Used> = BTreeMap::new();
        let mut buffer = vec![0; BUFFER];
        let mut uses = 0;
        for step in &self.threads.0[number] {
            let (think, number_of_entry, act) = match *step {
                StartupStep::After { thread, uses } => {
                    self.wait(thread as usize, uses)?;
                    continue;
                }
                StartupStep::Use { think, entry, act } => (think, entry, act),
            };
            if think.0 > 0 {
                std::thread::sleep(Duration::from_nanos(think.0));
            }
            let entry = self.entries.get(number_of_entry as usize);
            let entry = entry.ok_or_else(|| format!("no file {number_of_entry}"))?;
            let file = files.entry(number_of_entry).or_default();
            replay_use(act, entry, file, &mut buffer)
                .map_err(|e| format!("{}: {e}", entry.path))?;
            uses += 1;
            let (done, changed) = &self.done[number];
            *done.lock().map_err(|_| "a thread failed".to_owned())? = uses;
            changed.notify_all();
            self.start(number, uses)?;
        }
        Ok(())
    }

    /// Starts the threads that this thread starts after this number of uses.
    fn start(self: &Arc<Self>, number: usize, uses: u32) -> Result<(), String> {
        for &other in self.starts[number].get(&uses).into_iter().flatten() {
            let replay = Arc::clone(self);
            let run = move || {
                if let Err(reason) = replay.start(other, 0).and_then(|()| replay.thread(other)) {
                    replay.fail(reason);
                }
            };
            std::thread::Builder::new()
                .spawn(run)
                .map_err(|e| format!("starting thread {other}: {e}"))?;
        }
        Ok(())
    }

    fn wait(&self, number: usize, uses: u32) -> Result<(), String> {
        let (done, changed) = self.done.get(number).ok_or_else(|| format!("no thread {number}"))?;
        let failed = |_| "a thread failed".to_owned();
        let mut so_far = done.lock().map_err(failed)?;
        while *so_far < uses {
            if let Some(reason) = self.failure() {
                return Err(reason);
            }
            so_far = changed.wait(so_far).map_err(failed)?;
        }
        Ok(())
    }

    fn fail(&self, reason: String) {
        if let Ok(mut failed) = self.failed.lock() {
            failed.get_or_insert(reason);
        }
        // Waiting threads check again.
        for (done, changed) in &self.done {
            drop(done.lock());
            changed.notify_all();
        }
    }

    fn failure(&self) -> Option<String> {
        self.failed.lock().ok()?.clone()
    }
}

fn replay_use(
    act: StartupAction,
    entry: &StartupEntry,
    used: &mut Used,
    buffer: &mut [u8],
) -> io::Result<()> {
    match act {
        StartupAction::Look => fs::symlink_metadata(&entry.path).map(drop),
        StartupAction::Miss => {
            // No program has a file with this name.
            let name = Path::new(&entry.path).join("\u{1}");
            match fs::symlink_metadata(name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        }
        StartupAction::List => fs::read_dir(&entry.path)?.try_for_each(|entry| entry.map(drop)),
        StartupAction::Read { mut from, bytes } => {
            let file = opened(entry, used)?;
            let end = from + bytes;
            while from < end {
                let length = (end - from).min(buffer.len() as u64) as usize;
                file.read_exact_at(&mut buffer[..length], from)?;
                from += length as u64;
            }
            Ok(())
        }
        StartupAction::Map { from, bytes } => {
            let start = mapping(entry, used)?;
            let size = opened(entry, used)?.metadata()?.len();
            let pages = from / PAGE..(from + bytes).min(size).div_ceil(PAGE);
            // A page that was mapped as a neighbour is mapped anew, as by a program that maps the
            // file again. SAFETY: the page is within the mapping, and the next read comes from the
            // file again.
            unsafe {
                let at = start.add((pages.start * PAGE) as usize).cast_mut().cast();
                madvise(at, ((pages.end - pages.start) * PAGE) as usize, Advice::LinuxDontNeed)?;
            }
            for page in pages {
                // SAFETY: the page is within the file, which is mapped completely, and nobody
                // shortens it.
                unsafe { start.add((page * PAGE) as usize).read_volatile() };
            }
            Ok(())
        }
    }
}

fn opened<'a>(entry: &StartupEntry, used: &'a mut Used) -> io::Result<&'a File> {
    if used.file.is_none() {
        used.file = Some(File::open(&entry.path)?);
    }
    used.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn mapping(entry: &StartupEntry, used: &mut Used) -> io::Result<*const u8> {
    if let Some(start) = used.mapped {
        return Ok(start);
    }
    let file = opened(entry, used)?;
    let length = file.metadata()?.len() as usize;
    // SAFETY: this is a new mapping, at an address that the kernel chooses.
    let start =
        unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, file, 0) }?;
    used.mapped = Some(start.cast());
    Ok(start.cast())
}
