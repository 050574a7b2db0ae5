//! Records the reads of a program from its files, by the kernel's own events: each access to their
//! pages, in order, and which of its threads and processes waits for which.

use super::filesystem::mounted;
use super::steps::{self, Failure, on};
use disklab_config::startup::StartupEntry;
use disklab_protocol::names;
use disklab_protocol::pages::{PageAccess, PageLine};
use disklab_protocol::places::{ROOT, TRIAL};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const TRACING: &str = "/sys/kernel/tracing";
/// Events: a read(2) of cached or uncached pages, a fault on a mapped page that is not mapped yet,
/// and a fault that the kernel serves by mapping neighbours in memory. A lookup of a name whose
/// inode and neighbouring inodes are not in memory, by ext4, on which starts are recorded. Starts,
/// wake-ups, waits for the end, and ends of processes.
const EVENTS: [&str; 8] = [
    "filemap/mm_filemap_get_pages",
    "filemap/mm_filemap_fault",
    "filemap/mm_filemap_map_pages",
    "ext4/ext4_load_inode",
    "sched/sched_process_fork",
    "sched/sched_waking",
    "sched/sched_process_wait",
    "sched/sched_process_exit",
];
/// Size of the kernel's own buffer: more than any start-up fills.
const BUFFER_KIB: &str = "65536";
const PAGE: u64 = 4096;

/// Begins recording.
pub fn begin() -> Result<(), Failure> {
    if !Path::new(TRACING).join("trace").exists() {
        mounted("tracefs", TRACING, "")?;
    }
    put("buffer_size_kb", BUFFER_KIB)?;
    EVENTS.iter().try_for_each(|event| put(&format!("events/{event}/enable"), "1"))
}

/// Writes the events about these files and about the program with this first process, as
/// [`names::PAGES`].
pub fn end(entries: &[StartupEntry], program: Pid) -> Result<(), Failure> {
    EVENTS.iter().try_for_each(|event| put(&format!("events/{event}/enable"), "0"))?;
    let trace = Path::new(TRACING).join("trace");
    let trace = fs::read(&trace).map_err(on(&trace))?;
    // A program may have any name.
    let trace = String::from_utf8_lossy(&trace);
    let mut text = String::new();
    let mut known: BTreeMap<u64, &str> = BTreeMap::new();
    for entry in entries {
        // A file that the program removed no longer exists.
        if let Ok(found) = fs::symlink_metadata(format!("{ROOT}{}", entry.path)) {
            known.insert(found.ino(), &entry.path);
        }
    }
    let mut add = |line: PageLine<'_>| {
        let _ = writeln!(text, "{line}");
    };
    for (&inode, path) in &known {
        add(PageLine::File { inode, path });
    }
    let mut threads = BTreeMap::from([(program.as_raw_nonzero().get(), 0)]);
    let mut speaker = 0;
    for event in trace.lines().filter_map(Event::read) {
        let Some(&thread) = threads.get(&event.pid) else { continue };
        let line = match event.what {
            What::Line(line) => Some(line).filter(|line| match line {
                PageLine::Access { inode, .. } | PageLine::Look { inode } => {
                    known.contains_key(inode)
                }
                _ => true,
            }),
            What::Starts(pid) => {
                let number = threads.len() as u32;
                threads.insert(pid, number);
                Some(PageLine::Starts(number))
            }
            What::Wakes(pid) => threads.get(&pid).map(|&other| PageLine::Wakes(other)),
            What::Waits(0) => Some(PageLine::Waits(None)),
            What::Waits(pid) => threads.get(&pid).map(|&other| PageLine::Waits(Some(other))),
        };
        let Some(line) = line else { continue };
        if thread != speaker {
            add(PageLine::Thread(thread));
            speaker = thread;
        }
        add(line);
    }
    let path = Path::new(TRIAL).join(names::PAGES);
    fs::write(&path, text).map_err(on(&path))
}

/// An event of a thread.
struct Event {
    pid: i32,
    what: What,
}

enum What {
    /// An act that involves no other process.
    Line(PageLine<'static>),
    /// A process was started.
    Starts(i32),
    /// A process was woken.
    Wakes(i32),
    /// This process's end is waited for; 0 is any child.
    Waits(i32),
}

impl Event {
    /// Parses ` name-12 [000] ..s1. 0.001234: sched_waking: comm=other pid=13 prio=120
    /// target_cpu=000`. Acts during an interrupt belong to no process.
    fn read(line: &str) -> Option<Self> {
        // The name takes 16 characters, and may hold any text.
        let (pid, rest) = line.get(16..)?.strip_prefix('-')?.split_once(' ')?;
        let pid = pid.parse().ok()?;
        let (flags, rest) = rest.split_once("] ")?.1.split_once(' ')?;
        let what = if let Some(access) = access(rest) {
            What::Line(access)
        } else if rest.contains(" ext4_load_inode: ") {
            let inode = rest.rsplit_once(" ino ")?.1.trim().parse().ok()?;
            What::Line(PageLine::Look { inode })
        } else if rest.contains(" sched_process_fork: ") {
            What::Starts(rest.rsplit_once(" child_pid=")?.1.trim().parse().ok()?)
        } else if rest.contains(" sched_waking: ") {
            if flags.contains(['h', 'H', 's', 'Z', 'z']) {
                return None;
            }
            What::Wakes(whom(rest)?)
        } else if rest.contains(" sched_process_wait: ") {
            What::Waits(whom(rest)?)
        } else if rest.contains(" sched_process_exit: ") {
            What::Line(PageLine::Ends)
        } else {
            return None;
        };
        Some(Self { pid, what })
    }
}

/// Parses the process in `... comm=other pid=13 prio=120 ...`.
fn whom(text: &str) -> Option<i32> {
    text.rsplit_once(" prio=")?.0.rsplit_once(" pid=")?.1.parse().ok()
}

/// Parses `... mm_filemap_fault: dev=254:0 ino=c ofs=8192` as `map`, inode, first byte and end.
fn access(line: &str) -> Option<PageLine<'static>> {
    let (_, rest) = line.split_once(" ino=")?;
    let (inode, rest) = rest.split_once(" ofs=")?;
    let inode = u64::from_str_radix(inode, 16).ok()?;
    let page = |how, from| PageLine::Access { how, inode, from, end: from + PAGE };
    if line.contains("mm_filemap_fault:") {
        return Some(page(PageAccess::Map, rest.trim().parse().ok()?));
    }
    let (from, last) = rest.trim().split_once('-')?;
    let (from, last): (u64, u64) = (from.parse().ok()?, last.parse().ok()?);
    if line.contains("mm_filemap_map_pages:") {
        return Some(page(PageAccess::Around, from));
    }
    // The event has the page after the last one, and its last byte.
    let end = last.saturating_add(1).saturating_sub(PAGE).max(from + PAGE);
    Some(PageLine::Access { how: PageAccess::Read, inode, from, end })
}

fn put(name: &str, value: &str) -> Result<(), Failure> {
    steps::put(Path::new(TRACING).join(name), value)
}
