//! Copies the kernel's pages to files while a trial runs, and leaves all parsing for later.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;

use rustix::fs::fstatvfs;

use crate::watch::layout::TraceLayout;
use crate::watch::pages;
use crate::watch::thread::WatchThread;

/// Interval between fetches of pages. A CPU's buffer of 1 MiB holds the events of 150,000 requests
/// per second for that long.
const EVERY: Duration = Duration::from_millis(50);
/// Free space that is left to the rest of the record, and how many fetches pass between two looks
/// at the free space.
const ROOM: u64 = 512 << 20;
const LOOKS: u32 = 20;
/// Largest number of bytes of one write.
const BUFFER: usize = 256 << 10;

/// The pages of a CPU, and the file for them.
#[derive(Debug)]
pub struct Cpu {
    pipe: File,
    output: File,
    buffer: Vec<u8>,
}

impl Cpu {
    pub fn new(pipe: File, output: &Path) -> io::Result<Self> {
        Ok(Self { pipe, output: File::create(output)?, buffer: Vec::with_capacity(BUFFER) })
    }

    /// Copies until the buffer is empty or, unless `all`, until a page is so little filled that the
    /// CPU is still writing it.
    fn fetch(&mut self, layout: &TraceLayout, all: bool) -> io::Result<()> {
        loop {
            let from = self.buffer.len();
            self.buffer.resize(from + layout.page, 0);
            let page = &mut self.buffer[from..];
            let read = match self.pipe.read(page) {
                Err(error) if error.kind() == ErrorKind::Interrupted => None,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Some(0),
                read => Some(read?),
            };
            let is_last = read == Some(0) || !all && pages::used(layout, page) < layout.page / 2;
            self.buffer
                .truncate(from + if read.is_some_and(|read| read > 0) { layout.page } else { 0 });
            if is_last || self.buffer.len() + layout.page > BUFFER {
                self.output.write_all(&self.buffer)?;
                self.buffer.clear();
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

fn leave_room(output: &File) -> io::Result<()> {
    let there = fstatvfs(output)?;
    if there.f_bavail.saturating_mul(there.f_frsize) < ROOM {
        let what = format!(
            "less than {} MiB are free where the record is; name a place with more by --out",
            ROOM >> 20
        );
        return Err(io::Error::other(what));
    }
    Ok(())
}

/// Starts a thread that copies until it is ended, and then copies the rest.
pub fn start(mut cpus: Vec<Cpu>, layout: TraceLayout) -> io::Result<WatchThread<()>> {
    WatchThread::start("block trace", move |over| {
        for look in 0u32.. {
            let is_over = over.within(EVERY);
            if look % LOOKS == 0
                && let Some(cpu) = cpus.first()
            {
                leave_room(&cpu.output)?;
            }
            cpus.iter_mut().try_for_each(|cpu| cpu.fetch(&layout, is_over))?;
            if is_over {
                break;
            }
        }
        Ok(())
    })
}
