//! The disks of one guest: models, data, trace and counts, behind the calls of
//! [`crate::interface`].

use crate::data::Data;
use crate::heartbeat::HeartbeatPage;
use crate::meter::Meter;
use crate::order::Arrival;
use crate::power_cut::{OnTheWay, PowerCuts};
use crate::trace_file::TraceFile;
use crate::volatile::BLOCK;
use disklab_disks::{Bank, Completion, Op, Request};
use disklab_protocol::machine::{GuestMachine, MachineDisk};
use disklab_protocol::{Closing, Mark, names};
use disklab_trace::{Arrived, MOST_DISKS, Served};
use disklab_units::{Nanos, Random};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::path::{Path, PathBuf};

/// A request that has ended and was not reported to the kernel yet: `struct disklab_done`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct EndedRequest {
    pub disk: u32,
    pub tag: u32,
    /// Result: 0 or -errno.
    pub error: i32,
}

struct OpenDisk {
    data: Data,
    bytes: u64,
    /// Requests at the disk, by tag.
    present: Vec<Option<RequestAtDisk>>,
}

#[derive(Debug, Clone, Copy)]
struct RequestAtDisk {
    arrival: Arrival,
    /// Time of submission, in virtual ns.
    submitted: u64,
    /// Position of the trace at that time.
    arrived: Arrived,
}

/// The disks of one guest; see the module.
pub struct Library {
    folder: PathBuf,
    pub machine: GuestMachine,
    disks: Vec<OpenDisk>,
    bank: Bank,
    done: VecDeque<EndedRequest>,
    /// Buffer that `advance` reuses.
    completions: Vec<(usize, Completion)>,
    trace: Option<TraceFile>,
    meter: Meter,
    pub heartbeat: HeartbeatPage,
    random: Random,
    power_cuts: Option<PowerCuts>,
    requests: u64,
    /// First failure on the host's side. Such a trial is not complete.
    fault: Option<String>,
}

/// Reason why the disks could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot open or create {0}: {1}")]
    File(PathBuf, io::Error),
    #[error("{0}: cannot be parsed as a description of disks: {1}")]
    Description(PathBuf, serde_json::Error),
    #[error("this disk library is of another build ({ours}) than the program ({0}); build both \
        with `cargo build --release`", ours = crate::BUILD)]
    Build(String),
    #[error("{0} disks are too many: a guest can have at most {most}", most = MOST_DISKS)]
    TooMany(usize),
    #[error(
        "{disk}: a size of {bytes} bytes is out of range (a multiple of 4096 bytes, more than 0)"
    )]
    Size { disk: String, bytes: u64 },
}

impl Library {
    /// Sets up the disks that [`names::MACHINE`] in `folder` describes.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let at = |name: &str| folder.join(name);
        let text = std::fs::read(at(names::MACHINE))
            .map_err(|e| OpenError::File(at(names::MACHINE), e))?;
        let machine: GuestMachine = serde_json::from_slice(&text)
            .map_err(|e| OpenError::Description(at(names::MACHINE), e))?;
        if machine.build != crate::BUILD {
            return Err(OpenError::Build(machine.build));
        }
        if machine.disks.len() > MOST_DISKS {
            return Err(OpenError::TooMany(machine.disks.len()));
        }
        let disks = machine.disks.iter();
        let disks: Vec<_> = disks.map(|d| OpenDisk::open(folder, d)).collect::<Result<_, _>>()?;
        let model = |(i, disk): (usize, &MachineDisk)| {
            disklab_disks::build_checked(
                &disk.model,
                disk.size,
                machine.seed.derive(&format!("disk {i}")),
            )
        };
        let models = machine.disks.iter().enumerate().map(model).collect();
        let trace = if machine.trace {
            let path = at(names::REQUESTS);
            Some(TraceFile::create(&path, disks.len()).map_err(|e| OpenError::File(path, e))?)
        } else {
            None
        };
        let power_cuts = machine.power_cuts.clone().map(|plan| {
            let caches = machine.disks.iter().map(|disk| disk.model.volatile());
            PowerCuts::new(plan, caches, machine.seed.derive("power cuts"))
        });
        Ok(Self {
            power_cuts,
            heartbeat: HeartbeatPage::create(folder)
                .map_err(|e| OpenError::File(at(names::HEARTBEAT), e))?,
            random: Random::new(machine.seed.derive("kernel randomness")),
            folder: folder.to_owned(),
            meter: Meter::new((0..disks.len()).map(disklab_config::places::disk_name).collect()),
            done: VecDeque::new(),
            completions: Vec::new(),
            requests: 0,
            fault: None,
            trace,
            disks,
            bank: Bank::new(models, machine.controller, machine.host),
            machine,
        })
    }

    /// Returns the folders that the guest must be able to write to: its own, that of each disk's
    /// data, and that of power cuts.
    pub fn folders(&self) -> Vec<&Path> {
        let images = self.machine.disks.iter().filter_map(|disk| Path::new(&disk.image).parent());
        let cuts = self.machine.power_cuts.iter().map(|plan| plan.folder.as_path());
        // The parent of a bare name is empty.
        let mut folders: Vec<&Path> = images.chain(cuts).collect();
        folders.retain(|folder| !folder.as_os_str().is_empty());
        folders.push(&self.folder);
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// Handles a request that arrives. `Err` means that the guest kernel made an impossible
    /// request, and must end.
    pub fn submit(&mut self, now: Nanos, arrival: Arrival) -> Result<(), String> {
        let Arrival { disk, tag, op, fua, sector, sectors } = arrival;
        let count = self.disks.len();
        let Some(running) = self.disks.get_mut(disk) else {
            return Err(format!("a request for disk {disk} of {count}"));
        };
        let arrived = self.trace.as_ref().map(TraceFile::arrived).unwrap_or_default();
        match running.present.get_mut(tag as usize) {
            Some(slot @ None) => *slot = Some(RequestAtDisk { arrival, submitted: now.0, arrived }),
            Some(Some(_)) => {
                return Err(format!("a second request with tag {tag} while the first runs"));
            }
            None => return Err(format!("a request with tag {tag} of {}", running.present.len())),
        }
        let end = sector.checked_add(u64::from(sectors));
        if end.is_none_or(|end| end > running.bytes / 512) {
            return Err(format!("{sectors} sectors at sector {sector} of disk {disk}"));
        }
        if op == Op::Flush
            && let Some(power_cuts) = &mut self.power_cuts
        {
            power_cuts.flush_came(disk, tag);
        }
        self.bank.submit(now, disk, Request { id: tag, op, sector, sectors, fua });
        let bank = &self.bank;
        self.meter.arrived(&arrival, now.0, || counters(bank));
        if self.meter.counts() {
            self.heartbeat.measuring();
        }
        Ok(())
    }

    /// Lets time pass in the disks. The kernel calls again until [`Library::ended`] has no more
    /// requests.
    pub fn advance(&mut self, now: Nanos) {
        // Otherwise the data of an ended request is not here yet.
        if self.done.is_empty() {
            self.cut_power_if_due(now);
        }
        let mut completions = std::mem::take(&mut self.completions);
        self.bank.advance(now, &mut completions);
        for (disk, completion) in completions.drain(..) {
            self.served(disk, completion);
        }
        self.completions = completions;
    }

    /// Returns the next ended request. The kernel then moves its data.
    pub fn ended(&mut self) -> Option<EndedRequest> {
        self.done.pop_front()
    }

    /// Returns the time of the next event.
    pub fn next_event(&self) -> Option<Nanos> {
        let power = self.power_cuts.as_ref().and_then(PowerCuts::next_event);
        self.bank.next_event().into_iter().chain(power).min()
    }

    fn cut_power_if_due(&mut self, now: Nanos) {
        let Some(power_cuts) = &mut self.power_cuts else { return };
        let data: Vec<&Data> = self.disks.iter().map(|running| &running.data).collect();
        let present = |(disk, running): (usize, &OpenDisk)| {
            let arrivals = running.present.iter().flatten().map(|present| present.arrival);
            let changes = arrivals.filter(|arrival| !matches!(arrival.op, Op::Read | Op::Flush));
            let on_the_way = |arrival: Arrival| OnTheWay {
                disk,
                tag: arrival.tag,
                blocks: blocks(arrival.sector, arrival.sectors.into()),
            };
            changes.map(on_the_way).collect::<Vec<_>>()
        };
        let present = self.disks.iter().enumerate().flat_map(present);
        if let Err(error) = power_cuts.advance(now, present, &data) {
            self.fault(&format!("what a power cut would leave could not be written: {error}"));
        }
    }

    fn served(&mut self, disk: usize, completion: Completion) {
        let Some(present) = self.disks[disk].present[completion.id as usize].take() else {
            let device = &self.machine.disks[disk].device;
            self.fault(&format!("{device}: a model ended a request that was not there"));
            return;
        };
        let RequestAtDisk { arrival, submitted, arrived } = present;
        let Arrival { op, fua, sector, sectors, .. } = arrival;
        let (started, ended) = (completion.started.0, completion.at.0);
        let served = Served { disk, op, fua, sector, sectors, submitted, started, ended };
        let bank = &self.bank;
        self.meter.ended(&served, || counters(bank));
        if let Some(trace) = &mut self.trace
            && let Err(error) = trace.served(&served, arrived)
        {
            self.trace_fault(&error);
        }
        if let Some(power_cuts) = &mut self.power_cuts {
            power_cuts.ended(disk, completion.id, op == Op::Flush);
        }
        self.requests += 1;
        self.heartbeat.count_request();
        self.done.push_back(EndedRequest { disk: disk as u32, tag: completion.id, error: 0 });
    }

    /// Returns true if a transfer stays on its disk. A correct kernel makes no other transfer.
    pub fn holds(&self, disk: usize, sector: u64, bytes: u64) -> bool {
        let end = sector.checked_mul(512).and_then(|at| at.checked_add(bytes));
        self.disks.get(disk).is_some_and(|disk| end.is_some_and(|end| end <= disk.bytes))
    }

    /// Fills `pieces` with the data of disk `disk` from `sector` on. An error is -errno.
    pub fn read(&mut self, disk: usize, sector: u64, pieces: &mut [IoSliceMut]) -> i32 {
        let result = self.disks[disk].data.read(sector * 512, pieces);
        self.transferred(disk, "read", result)
    }

    pub fn write(&mut self, disk: usize, sector: u64, pieces: &mut [IoSlice]) -> i32 {
        let bytes: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
        let blocks = || blocks(sector, bytes.div_ceil(512)).collect();
        let result = self.change(disk, blocks, |data| data.write(sector * 512, pieces));
        self.transferred(disk, "write", result)
    }

    /// Handles discard and write-zeroes.
    pub fn zero(&mut self, disk: usize, sector: u64, sectors: u32) -> i32 {
        let (start, bytes) = (sector * 512, u64::from(sectors) * 512);
        let written = self.disks[disk].data.written_blocks(start, start + bytes, BLOCK);
        let result = self.change(disk, || written, |data| data.zero(start, bytes));
        self.transferred(disk, "discard", result)
    }

    /// Changes `blocks` of a disk's data. The power cuts see the old and the new data.
    fn change(
        &mut self,
        disk: usize,
        blocks: impl FnOnce() -> Vec<u64>,
        change: impl FnOnce(&mut Data) -> io::Result<()>,
    ) -> io::Result<()> {
        let data = &mut self.disks[disk].data;
        let Some(power_cuts) = &mut self.power_cuts else { return change(data) };
        let blocks = blocks();
        power_cuts.before_change(disk, &blocks, data)?;
        change(data)?;
        power_cuts.after_change(disk, &blocks, data)
    }

    fn transferred(&mut self, disk: usize, what: &str, result: io::Result<()>) -> i32 {
        let Err(error) = result else { return 0 };
        let image = self.folder.join(&self.machine.disks[disk].image);
        self.fault(&format!("{what} of the disk's data failed: {}: {error}", image.display()));
        -error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error())
    }

    /// Handles a mark of the first process. Returns false if the mark is unknown, or ends a phase
    /// that had not begun.
    pub fn mark(&mut self, now: Nanos, text: &str) -> bool {
        let mark = text.parse();
        // These marks are frequent, and useless in a trace.
        let is_count = matches!(mark, Ok(Mark::Fsynced(_) | Mark::Promised(_)));
        if let Some(trace) = self.trace.as_mut().filter(|_| !is_count) {
            trace.mark(now.0, text);
        }
        match (mark, &mut self.power_cuts) {
            (Ok(Mark::Begin { phase, ramp_ns }), power_cuts) => {
                self.meter.announce(phase, ramp_ns);
                if let Some(power_cuts) = power_cuts {
                    power_cuts.announced(now, ramp_ns);
                }
                true
            }
            (Ok(Mark::End), _) => {
                let present = self.disks.iter().enumerate().flat_map(|(disk, running)| {
                    let present = running.present.iter().flatten();
                    present.map(move |present| (disk, present.submitted))
                });
                self.meter.end(&counters(&self.bank), present)
            }
            (Ok(Mark::Fsynced(record)), Some(power_cuts)) => {
                power_cuts.acknowledged(record);
                true
            }
            (Ok(Mark::Promised(note)), Some(power_cuts)) => {
                power_cuts.promised(note);
                true
            }
            (Ok(Mark::Note(_)), _) => true,
            _ => false,
        }
    }

    pub fn random(&mut self, buffer: &mut [u8]) {
        for bytes in buffer.chunks_mut(8) {
            bytes.copy_from_slice(&self.random.next_u64().to_le_bytes()[..bytes.len()]);
        }
    }

    /// Writes the closing record. Without it, or with a wrong checksum, the trial is not complete.
    pub fn close(&mut self, now: Nanos) -> io::Result<()> {
        if let Some(Err(error)) = self.trace.as_mut().map(TraceFile::write) {
            self.trace_fault(&error);
        }
        let violation = self.bank.violations().next().map(|(disk, what)| {
            format!(
                "{}: the model did what no such disk can ({what}); this is a bug of disklab: \
                please report it with \
                 the suite, the trial and its seed",
                self.machine.disks[disk].device
            )
        });
        if let Some(violation) = violation {
            self.fault(&violation);
        }
        let data: Vec<&Data> = self.disks.iter().map(|running| &running.data).collect();
        let cuts =
            self.power_cuts.as_mut().map_or(Ok(Vec::new()), |power_cuts| power_cuts.close(&data));
        let power_cuts = cuts.unwrap_or_else(|error| {
            self.fault(&format!("what a power cut would leave could not be written: {error}"));
            Vec::new()
        });
        let closing = Closing {
            virtual_ns: now,
            requests: self.requests,
            devices: self.machine.disks.iter().map(|disk| disk.device.clone()).collect(),
            phases: self.meter.phases().to_vec(),
            trace_sha256: self.trace.as_ref().map(TraceFile::sha256),
            power_cuts,
        };
        closing.write(&self.folder, self.fault.as_deref())
    }

    fn trace_fault(&mut self, error: &io::Error) {
        let path = self.folder.join(names::REQUESTS);
        self.fault(&format!("write of {} failed: {error}", path.display()));
    }

    /// Before the closing record, or if it cannot be written, the console is the only output.
    fn fault(&mut self, what: &str) {
        if self.fault.is_none() {
            eprintln!("disklab: {what}");
            self.fault = Some(what.to_owned());
        }
    }
}

impl OpenDisk {
    fn open(folder: &Path, disk: &MachineDisk) -> Result<Self, OpenError> {
        let bytes = disk.bytes.0;
        if bytes == 0 || !bytes.is_multiple_of(4096) || disk.size < disk.bytes {
            return Err(OpenError::Size { disk: disk.device.clone(), bytes });
        }
        let image = folder.join(&disk.image);
        let data = Data::open(&image, bytes).map_err(|e| OpenError::File(image, e))?;
        let tags = disk.model.tags() as usize;
        Ok(Self { data, bytes, present: vec![None; tags] })
    }
}

/// Returns the blocks that contain these sectors.
fn blocks(sector: u64, sectors: u64) -> std::ops::Range<u64> {
    sector * 512 / BLOCK..((sector + sectors) * 512).div_ceil(BLOCK)
}

fn counters(bank: &Bank) -> Vec<Value> {
    bank.counters().map(|counters| serde_json::to_value(counters).unwrap_or_default()).collect()
}
