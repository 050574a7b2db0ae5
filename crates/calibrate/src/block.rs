//! A real disk, or a file, as the disk under test. Reads and writes bypass the page cache, and the
//! kernel's monotonic clock times them.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use disklab_disks::Op;
use disklab_units::{Bytes, Nanos, Random, Sectors, Seed};
use rustix::fs::OFlags;

use crate::error::{Error, Result};
use crate::target::{Probe, Target, Timed};

/// The largest alignment that the kernel requires of buffers, places and lengths, in bytes.
const ALIGNED: usize = 4096;

pub struct BlockTarget<'a> {
    path: PathBuf,
    file: File,
    bytes: Bytes,
    begun: Instant,
    stop: &'a AtomicBool,
    /// A buffer for each request under way.
    buffers: Vec<NoiseBuffer>,
}

impl<'a> BlockTarget<'a> {
    /// Opens a block device or a file. For writing, the kernel refuses a device that is mounted or
    /// belongs to another one. `stop` ends a measurement in progress.
    pub fn open(path: &Path, to_write: bool, stop: &'a AtomicBool) -> Result<Self> {
        let fail = |what: &str, error: io::Error| {
            let advice = match error.kind() {
                ErrorKind::PermissionDenied => "be root, or of the group that owns it",
                ErrorKind::NotFound => "lsblk lists this machine's disks",
                ErrorKind::InvalidInput => {
                    "its filesystem may not read past the page cache (O_DIRECT), as tmpfs does \
                     not; use another"
                }
                ErrorKind::ResourceBusy => {
                    "it is mounted, or a part of something else; only reading needs no --write"
                }
                ErrorKind::Unsupported => "name a disk, or a large file on it",
                _ => "is the disk well? The kernel's log says more",
            };
            Error::Io { file: path.to_owned(), what: what.to_owned(), error, advice }
        };
        let kind = path.metadata().map_err(|error| fail("open it", error))?.file_type();
        if !kind.is_block_device() && !kind.is_file() {
            let error =
                io::Error::new(ErrorKind::Unsupported, "it is neither a block device nor a file");
            return Err(fail("measure it", error));
        }
        let mut flags = OFlags::DIRECT;
        if to_write && kind.is_block_device() {
            flags |= OFlags::EXCL;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(to_write)
            .custom_flags(flags.bits().cast_signed())
            .open(path)
            .map_err(|error| fail("open it", error))?;
        let bytes = file.seek(SeekFrom::End(0)).map_err(|error| fail("find its size", error))?;
        let bytes = Bytes(bytes / ALIGNED as u64 * ALIGNED as u64);
        let (path, begun) = (path.to_owned(), Instant::now());
        Ok(Self { path, file, bytes, begun, stop, buffers: Vec::new() })
    }

    /// Runs probes until there are none left. Returns the index and the times of each.
    fn work(
        &self,
        next: &AtomicUsize,
        probes: &[Probe],
        buffer: &mut NoiseBuffer,
    ) -> Result<Vec<(usize, Timed)>> {
        let mut timed = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(probe) = probes.get(index) else { return Ok(timed) };
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let submitted = self.now();
            self.run(*probe, buffer)?;
            timed.push((index, Timed { submitted, done: self.now() }));
        }
    }

    fn run(&self, probe: Probe, buffer: &mut NoiseBuffer) -> Result<()> {
        let Probe { op, sector, sectors } = probe;
        let at = Sectors(sector).bytes().0;
        let bytes = Sectors(u64::from(sectors)).bytes().0 as usize;
        let data = buffer.aligned(bytes);
        let (what, done) = match op {
            Op::Read => ("read", self.file.read_exact_at(data, at)),
            Op::Write => ("write", self.file.write_all_at(data, at)),
            _ => ("flush", self.file.sync_data()),
        };
        done.map_err(|error| Error::Io {
            file: self.path.clone(),
            what: format!("{what} {bytes} bytes at {at}"),
            error,
            advice: "the kernel's log says more",
        })
    }
}

impl Target for BlockTarget<'_> {
    fn bytes(&self) -> Bytes {
        self.bytes
    }

    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn idle(&mut self, time: Nanos) {
        let end = self.now() + time;
        // The kernel may wake a sleeping thread late, by its timer slack. The last 200 us are
        // therefore a busy wait.
        let asleep = time.saturating_sub(Nanos::from_micros(200));
        if asleep > Nanos::ZERO {
            thread::sleep(Duration::from_nanos(asleep.0));
        }
        while self.now() < end {
            std::hint::spin_loop();
        }
    }

    fn serve(&mut self, depth: usize, probes: &[Probe]) -> Result<Vec<Timed>> {
        let depth = depth.min(probes.len()).max(1);
        let mut buffers = std::mem::take(&mut self.buffers);
        let more = buffers.len() as u64..depth as u64;
        buffers.extend(more.map(NoiseBuffer::new));
        let next = AtomicUsize::new(0);
        let this = &*self;
        let parts = if depth == 1 {
            buffers.iter_mut().take(1).map(|buffer| this.work(&next, probes, buffer)).collect()
        } else {
            // Each thread waits for its own request, so that as many requests are under way as
            // there are threads.
            thread::scope(|scope| {
                let start = |buffer| scope.spawn(|| this.work(&next, probes, buffer));
                let threads: Vec<_> = buffers.iter_mut().take(depth).map(start).collect();
                let ends = threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or(Err(Error::Interrupted)));
                ends.collect::<Result<Vec<_>>>()
            })
        };
        self.buffers = buffers;
        let mut timed = vec![Timed::NEVER; probes.len()];
        for (index, its) in parts?.into_iter().flatten() {
            timed[index] = its;
        }
        Ok(timed)
    }
}

/// Memory that is aligned for direct I/O. It holds noise, because some disks write zeroes faster.
struct NoiseBuffer {
    memory: Vec<u8>,
    random: Random,
}

impl NoiseBuffer {
    fn new(number: u64) -> Self {
        Self { memory: Vec::new(), random: Random::new(Seed(number).derive("written")) }
    }

    fn aligned(&mut self, bytes: usize) -> &mut [u8] {
        if self.memory.len() < bytes + ALIGNED {
            let random = &mut self.random;
            self.memory = (0..(bytes + ALIGNED).div_ceil(8))
                .flat_map(|_| random.next_u64().to_le_bytes())
                .collect();
        }
        let skip = self.memory.as_ptr().align_offset(ALIGNED).min(ALIGNED);
        &mut self.memory[skip..skip + bytes]
    }
}
