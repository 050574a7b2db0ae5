//! A private trace of block requests: an instance of the kernel's tracing with its own buffers,
//! events and filters.

use std::fs;
use std::io;
use std::path::Path;

use crate::machine::memory;
use crate::watch::account::WatchTrace;
use crate::watch::copy::{self, Cpu};
use crate::watch::layout::{EVENTS, EventLayout, TraceLayout};
use crate::watch::thread::WatchThread;
use crate::watch::tracefs::{self, Folder};

/// Largest number of bytes of a CPU's buffer. The buffer is copied long before it is full.
const MOST: u64 = 32 << 20;
const LEAST: u64 = 1 << 20;
/// Divisor of the available memory: all CPUs' buffers together take no more than that part.
const PART: u64 = 16;

/// The folder of instances, where tracefs is usually mounted.
pub const TRACING: &str = "/sys/kernel/tracing/instances";
/// The same folder within tracefs.
const INSTANCES: &str = "instances";
const CLOCK: &str = "mono";

/// Returns the name of the instance of a process. `process` is its number outside of all
/// namespaces, because instances belong to the whole machine.
pub fn instance_name(process: u32) -> String {
    format!("disklab-{process}")
}

/// Removes an instance that a killed process left. Returns true if the instance existed.
pub fn remove_instance(name: &str) -> io::Result<bool> {
    let instances = tracefs::open()?.folder(INSTANCES)?;
    match instances.remove(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// A running trace of events to files.
#[derive(Debug)]
pub struct Instance {
    instances: Folder,
    folder: Folder,
    name: String,
    copier: Option<WatchThread<()>>,
    layout: TraceLayout,
    cpus: Vec<u32>,
}

/// Returns the name of the file with a CPU's pages.
pub fn file_name(cpu: u32) -> String {
    format!("block.{cpu}.raw")
}

impl Instance {
    /// Traces the disks with these numbers ([`crate::watch::pages::BlockEvent::dev`]) to files in
    /// `folder`. Fails with `AlreadyExists` if there is an instance of that name.
    pub fn start(name: &str, folder: &Path, numbers: &[u32]) -> io::Result<Self> {
        let instances = tracefs::open()?.folder(INSTANCES)?;
        let made = instances.make(name)?;
        let layout = read_layout(&made).inspect_err(|_| drop(instances.remove(name)))?;
        let mut instance = Self {
            instances,
            folder: made,
            name: name.to_owned(),
            copier: None,
            layout,
            cpus: Vec::new(),
        };
        // If this fails, dropping the instance removes it.
        instance.set_up(folder, numbers)?;
        Ok(instance)
    }

    fn set_up(&mut self, folder: &Path, numbers: &[u32]) -> io::Result<()> {
        self.cpus = cpus(&self.folder)?;
        self.folder.write("trace_clock", CLOCK)?;
        let clock = self.folder.read("trace_clock")?;
        if !clock.contains("[mono]") {
            return Err(io::Error::other(format!(
                "cannot set the trace's clock to {CLOCK}: it is still {}",
                clock.trim()
            )));
        }
        // If the buffer is full, the kernel drops and counts new events, and keeps the old ones
        // whole.
        self.folder.write("options/overwrite", "0")?;
        let bytes = (available()? / PART / self.cpus.len().max(1) as u64).clamp(LEAST, MOST);
        self.folder.write("buffer_size_kb", &(bytes >> 10).to_string())?;
        let each = |number: &u32| format!("dev == {number}");
        let filter = numbers.iter().map(each).collect::<Vec<_>>().join(" || ");
        for (event, _) in EVENTS {
            self.folder.write(&format!("events/block/{event}/filter"), &filter)?;
        }
        let cpu = |cpu: &u32| {
            let pipe = self.folder.pipe(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"))?;
            Cpu::new(pipe, &folder.join(file_name(*cpu)))
        };
        let cpus = self.cpus.iter().map(cpu).collect::<io::Result<_>>()?;
        self.copier = Some(copy::start(cpus, self.layout.clone())?);
        self.enable("1")
    }

    fn enable(&self, on: &str) -> io::Result<()> {
        EVENTS.iter().try_for_each(|(event, _)| {
            self.folder.write(&format!("events/block/{event}/enable"), on)
        })
    }

    /// Ends the trace and removes the instance; the files have the trace.
    pub fn end(mut self) -> io::Result<WatchTrace> {
        self.enable("0")?;
        if let Some(copier) = self.copier.take() {
            copier.end()?;
        }
        let lost = self.cpus.iter().try_fold(0, |sum: u64, cpu| {
            let stats = self.folder.read(&format!("per_cpu/cpu{cpu}/stats"))?;
            Ok::<_, io::Error>(sum.saturating_add(lost(&stats)))
        })?;
        Ok(WatchTrace::Files { layout: self.layout.clone(), cpus: self.cpus.clone(), lost })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // The copier's open files would keep the instance. Its errors do not matter any more.
        let _ = self.enable("0");
        if let Some(copier) = self.copier.take() {
            let _ = copier.end();
        }
        let _ = self.instances.remove(&self.name);
    }
}

fn read_layout(folder: &Folder) -> io::Result<TraceLayout> {
    let refused = |file: &str, why: String| io::Error::other(format!("events/{file}: {why}"));
    let header = folder.read("events/header_page")?;
    let mut layout =
        TraceLayout::of_page(&header, page(folder)?).map_err(|why| refused("header_page", why))?;
    let header = folder.read("events/header_event")?;
    TraceLayout::check_event_header(&header).map_err(|why| refused("header_event", why))?;
    for (event, kind) in EVENTS {
        let file = format!("block/{event}/format");
        let text = folder.read(&format!("events/{file}"))?;
        layout.events.push(EventLayout::parse(kind, &text).map_err(|why| refused(&file, why))?);
    }
    Ok(layout)
}

/// Returns the bytes of a page of the buffer.
fn page(folder: &Folder) -> io::Result<usize> {
    // Since Linux 6.8 it may differ from the processor's page.
    let Ok(kib) = folder.read("buffer_subbuf_size_kb") else {
        return Ok(rustix::param::page_size());
    };
    let kib = kib.trim().parse::<usize>().ok().filter(|kib| (1..=1 << 10).contains(kib));
    kib.map(|kib| kib << 10)
        .ok_or_else(|| io::Error::other("buffer_subbuf_size_kb: expected a number from 1 to 1024"))
}

/// Returns the numbers of all possible CPUs, including those that are offline.
fn cpus(folder: &Folder) -> io::Result<Vec<u32>> {
    let names = folder.names("per_cpu")?;
    let mut cpus: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    cpus.sort_unstable();
    Ok(cpus)
}

/// Returns the bytes of memory that are available to programs.
fn available() -> io::Result<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo")?;
    memory(&meminfo, "MemAvailable")
        .ok_or_else(|| io::Error::other("/proc/meminfo has no MemAvailable"))
}

fn lost(stats: &str) -> u64 {
    let counts = stats.lines().filter_map(|line| {
        let (what, count) = line.split_once(": ")?;
        matches!(what, "overrun" | "commit overrun" | "dropped events")
            .then(|| count.trim().parse::<u64>().ok())?
    });
    counts.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_of_losing_events_count() {
        let stats = "entries: 43\noverrun: 1\ncommit overrun: 20\nbytes: 2664\noldest event ts:   \
            631.448063\n\
             now ts:   632.237256\ndropped events: 300\nread events: 5\n";
        assert_eq!(lost(stats), 321);
        assert_eq!(lost("entries: 43\n"), 0);
    }
}
