//! The closing record of a trial's disks, [`names::CLOSING`]: what each disk did, and proof that
//! the guest finished.
//!
//! The record has two lines: one of JSON, and `sha256 <hex>`, the checksum of the first without its
//! newline. The disk library writes both as its last act. A guest that crashed, was killed or
//! overwrote its own memory leaves no such pair, and its trial does not count.

use crate::digest::sha256_hex;
use crate::mark::MEASURED_PHASE;
use crate::names;
use disklab_units::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::io;
use std::path::Path;

/// The version of the record that is written and read here.
pub const SCHEMA: u32 = 1;

/// Counts of all disks over the guest's life, or over the time in which this machine's disks were
/// watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// The guest's virtual clock when the library closed.
    pub virtual_ns: Nanos,
    /// Requests of all disks, from boot to the end.
    pub requests: u64,
    /// The lab's name of each disk's device, in the order of the devices of each phase.
    #[serde(default)]
    pub devices: Vec<String>,
    /// The phases, in the order in which they began.
    pub phases: Vec<PhaseCounts>,
    /// SHA-256 of the unpacked trace, if one was written.
    #[serde(default)]
    pub trace_sha256: Option<String>,
    /// The states that the disks could have been in after the power cuts whose moments the guest
    /// reached. They are in order, those of a cut together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<PowerCut>,
}

/// A power cut: a state in which the disks could have been left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerCut {
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// The number of the witness's last record that had been fsynced.
    pub acknowledged: u64,
    /// The number of the file workload's last note that had been fsynced.
    #[serde(default)]
    pub promised: u64,
    /// Blocks of all disks of which the media may hold an older version.
    pub unsure: u64,
    /// Unsure blocks that do not have the contents that were written last.
    pub lost: u64,
    /// Writes that the disks had received but not completed.
    pub on_the_way: u64,
    /// The part of the unsure blocks that the disks kept. It is None in the first state of each
    /// cut, where each block was drawn by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
}

/// The part that disks kept of the blocks that they had not promised to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    Nothing,
    Everything,
    /// The disk of this index, from 0, kept nothing, and the others kept everything.
    AllButDisk(usize),
    /// Each disk kept its writes up to one that was drawn, in the order of their completion.
    OldestWrites,
    /// The disks lost one write, which was drawn.
    AllButOneWrite,
    /// The disks kept one write, which was drawn.
    OneWrite,
    /// Each block was drawn by itself.
    SomeBlocks,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Everything => "everything",
            Self::AllButDisk(disk) => return write!(f, "all but disk {}", disk.saturating_add(1)),
            Self::OldestWrites => "the oldest writes",
            Self::AllButOneWrite => "all but one write",
            Self::OneWrite => "one write",
            Self::SomeBlocks => "some blocks",
        })
    }
}

/// A named stretch of the guest's life. [`MEASURED_PHASE`] is the one from which a sample is made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseCounts {
    pub name: String,
    #[serde(rename = "begin_ns")]
    pub begin: Nanos,
    #[serde(rename = "end_ns")]
    pub end: Nanos,
    /// Reads that arrived in the phase after another read, over all disks in one order. It is None
    /// if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_followers: Option<u64>,
    /// Read followers that went to another disk than the read before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_switches: Option<u64>,
    pub devices: Vec<DeviceCounts>,
}

/// Counts of a disk in a phase. Fields that were not counted are `None`: the kernel's own counts of
/// a real disk lack them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// Name of the disk in the guest's kernel, such as `vda`.
    pub name: String,
    pub reads: u64,
    pub writes: u64,
    #[serde(default)]
    pub flushes: u64,
    #[serde(default)]
    pub discards: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Time in ns in which at least one request was outstanding.
    #[serde(rename = "busy_ns")]
    pub busy: Nanos,
    /// Sum over all requests of the time in ns from submission to completion.
    #[serde(rename = "wait_ns")]
    pub wait: Nanos,
    /// Sum over all requests of the time in ns from the start of service to completion.
    #[serde(default, rename = "service_ns", skip_serializing_if = "Option::is_none")]
    pub service: Option<Nanos>,
    /// Sum over all requests, ended or not, of the time in ns that each was at the disk within the
    /// phase. Divided by the phase's length, it is the mean number of requests at the disk.
    #[serde(default, rename = "depth_ns", skip_serializing_if = "Option::is_none")]
    pub depth: Option<Nanos>,
    /// Largest number of requests that were at the disk at one moment of the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// Reads and writes that arrived in the phase, except the disk's first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followers: Option<u64>,
    /// Followers that did not begin where the read or write before them ended, in order of arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<u64>,
    /// Sum over the followers of the distance between their begin and the end of the request before
    /// them, in either direction, in sectors of 512 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_sectors: Option<u64>,
    /// Counters that only this kind of model has (seeks, cache hits): see
    /// `disklab_disks::Counters`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Value>,
}

impl Closing {
    /// Returns the phase from which results are made: [`MEASURED_PHASE`], or all phases as if each
    /// had begun when the one before it ended.
    pub fn measured(&self) -> Option<PhaseCounts> {
        if let Some(phase) = self.phase(MEASURED_PHASE) {
            return Some(phase.clone());
        }
        let (first, others) = self.phases.split_first()?;
        Some(others.iter().fold(first.clone(), PhaseCounts::followed_by))
    }

    pub fn phase(&self, name: &str) -> Option<&PhaseCounts> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Writes the record into a trial's folder, whole or not at all. `fault` says what went wrong
    /// on the host's side; such a trial is not complete.
    pub fn write(&self, folder: &Path, fault: Option<&str>) -> io::Result<()> {
        #[derive(Serialize)]
        struct Record<'a> {
            #[serde(flatten)]
            head: Head,
            #[serde(flatten)]
            closing: &'a Closing,
        }
        let (complete, fault) = (fault.is_none(), fault.map(str::to_owned));
        let head = Head { schema: SCHEMA, complete, fault };
        let mut text = serde_json::to_vec(&Record { head, closing: self })?;
        let sum = sha256_hex(&text);
        text.extend_from_slice(format!("\nsha256 {sum}\n").as_bytes());
        let path = folder.join(names::CLOSING);
        let part = path.with_extension("part");
        std::fs::write(&part, text)?;
        std::fs::rename(part, path)
    }
}

impl PhaseCounts {
    /// Returns the length of the phase, or zero if it ends before it begins.
    pub fn length(&self) -> Nanos {
        Nanos(self.end.0.saturating_sub(self.begin.0))
    }

    /// Joins two phases under the name of the first one.
    fn followed_by(mut self, next: &Self) -> Self {
        self.end = Nanos(self.end.0.saturating_add(next.length().0));
        self.read_followers = both(self.read_followers, next.read_followers);
        self.read_switches = both(self.read_switches, next.read_switches);
        self.devices.iter_mut().zip(&next.devices).for_each(|(device, next)| device.add(next));
        self
    }

    /// Returns the part of consecutive pairs of reads, 0 to 1, of which the second read went to
    /// another disk.
    pub fn switched(&self) -> Option<f64> {
        part(self.read_switches?, self.read_followers?)
    }
}

impl DeviceCounts {
    /// Adds what the disk did in a later phase.
    fn add(&mut self, later: &Self) {
        for (own, more) in [
            (&mut self.reads, later.reads),
            (&mut self.writes, later.writes),
            (&mut self.flushes, later.flushes),
            (&mut self.discards, later.discards),
            (&mut self.read_bytes, later.read_bytes),
            (&mut self.write_bytes, later.write_bytes),
            (&mut self.busy.0, later.busy.0),
            (&mut self.wait.0, later.wait.0),
        ] {
            *own = own.saturating_add(more);
        }
        let times = |one: Option<Nanos>, other: Option<Nanos>| {
            both(one.map(|time| time.0), other.map(|time| time.0)).map(Nanos)
        };
        self.service = times(self.service, later.service);
        self.depth = times(self.depth, later.depth);
        self.most = self.most.zip(later.most).map(|(own, more)| own.max(more));
        self.followers = both(self.followers, later.followers);
        self.apart = both(self.apart, later.apart);
        self.apart_sectors = both(self.apart_sectors, later.apart_sectors);
        let models = self.model.as_ref().zip(later.model.as_ref());
        self.model = models.map(|(own, more)| combine(own, more, u64::saturating_add));
    }

    /// Returns the number of requests that ended in the phase.
    pub fn requests(&self) -> u64 {
        [self.reads, self.writes, self.flushes, self.discards]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Returns the mean time from the start of service to completion.
    pub fn mean_service(&self) -> Option<Nanos> {
        self.service?.0.checked_div(self.requests()).map(Nanos)
    }

    /// Returns the mean time from submission to completion.
    pub fn mean_wait(&self) -> Option<Nanos> {
        self.wait.0.checked_div(self.requests()).map(Nanos)
    }

    /// Returns the mean number of requests at the disk.
    pub fn mean_depth(&self, phase: &PhaseCounts) -> Option<f64> {
        Some(self.depth?.0 as f64 / phase.length().0 as f64).filter(|depth| depth.is_finite())
    }

    /// Returns the part of requests, 0 to 1, that did not begin where the one before them ended.
    pub fn not_sequential(&self) -> Option<f64> {
        part(self.apart?, self.followers?)
    }

    /// Returns the mean distance in bytes between the begin of a request and the end of the one
    /// before it, over all requests, the sequential ones included.
    pub fn mean_distance(&self) -> Option<f64> {
        part(self.apart_sectors?, self.followers?).map(|sectors| sectors * 512.0)
    }
}

/// Combines the counters of a model, number by number.
pub fn combine(one: &Value, other: &Value, with: fn(u64, u64) -> u64) -> Value {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let each = other.iter().map(|(key, value)| match one.get(key) {
                Some(known) => (key.clone(), combine(known, value, with)),
                None => (key.clone(), value.clone()),
            });
            Value::Object(one.clone().into_iter().chain(each).collect())
        }
        (Value::Number(one), Value::Number(number)) => match (one.as_u64(), number.as_u64()) {
            (Some(one), Some(number)) => with(one, number).into(),
            _ => other.clone(),
        },
        _ => other.clone(),
    }
}

fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.saturating_add(other?))
}

fn part(some: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| some as f64 / all as f64)
}

/// A reason why a record does not prove that the guest finished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Incomplete {
    #[error("the guest did not finish: its disks left no closing record")]
    Empty,
    #[error(
        "the guest did not finish: the closing record of its disks is cut off after {bytes} bytes"
    )]
    Cut { bytes: usize },
    #[error(
        "the guest did not finish: its disks' closing record does not end in `sha256 <64 hex \
        digits>`"
    )]
    NoChecksum,
    #[error(
        "the closing record of the guest's disks is damaged: its SHA-256 is {found}, and the \
        record says {said}"
    )]
    WrongChecksum { said: String, found: String },
    #[error(
        "the closing record of the guest's disks is of another version of disklab ({0}); build \
        the program and its disk library together"
    )]
    Content(String),
    #[error("a disk of the guest failed before the end: {0}")]
    Fault(String),
}

/// The fields of the first line that precede those of [`Closing`].
#[derive(Serialize, Deserialize)]
struct Head {
    schema: u32,
    complete: bool,
    fault: Option<String>,
}

/// Reads a closing record.
pub fn parse(bytes: &[u8]) -> Result<Closing, Incomplete> {
    let json = checked(bytes)?;
    let content = |error: serde_json::Error| Incomplete::Content(error.to_string());
    let head: Head = serde_json::from_slice(json).map_err(content)?;
    if head.schema != SCHEMA {
        return Err(Incomplete::Content(format!("its schema is {}, not {SCHEMA}", head.schema)));
    }
    if !head.complete {
        let fault = head.fault.unwrap_or_else(|| "they do not say why".to_owned());
        return Err(Incomplete::Fault(fault));
    }
    serde_json::from_slice(json).map_err(content)
}

/// Returns the first line if its checksum is that of the second.
fn checked(bytes: &[u8]) -> Result<&[u8], Incomplete> {
    if bytes.is_empty() {
        return Err(Incomplete::Empty);
    }
    let cut = Incomplete::Cut { bytes: bytes.len() };
    let Some(lines) = bytes.strip_suffix(b"\n") else { return Err(cut) };
    let Some(end) = lines.iter().position(|&byte| byte == b'\n') else { return Err(cut) };
    let (json, last) = (&lines[..end], &lines[end + 1..]);
    let said =
        last.strip_prefix(b"sha256 ").filter(|hex| is_sha256(hex)).ok_or(Incomplete::NoChecksum)?;
    let found = sha256_hex(json);
    if said == found.as_bytes() {
        return Ok(json);
    }
    Err(Incomplete::WrongChecksum { said: String::from_utf8_lossy(said).into_owned(), found })
}

fn is_sha256(hex: &[u8]) -> bool {
    hex.len() == 64 && hex.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = concat!(
        r#"{"schema":1,"complete":true,"fault":null,"virtual_ns":9,"requests":3,"#,
        r#""devices":["hdd-8tb"],"phases":[{"name":"measure","begin_ns":2,"end_ns":8,"#,
        r#""devices":[{"name":"vda","reads":3,"writes":0,"flushes":0,"discards":0,"#,
        r#""read_bytes":12288,"write_bytes":0,"busy_ns":5,"wait_ns":7,"service_ns":4,"#,
        r#""model":{"seeks":2,"cache":{"hits":1}}}]}],"trace_sha256":null}"#
    );

    fn sealed(json: &str) -> Vec<u8> {
        format!("{json}\nsha256 {}\n", sha256_hex(json.as_bytes())).into_bytes()
    }

    #[test]
    fn a_whole_record_is_read() {
        let closing = parse(&sealed(JSON)).expect("a whole record");
        let phase = closing.phase("measure").expect("the phase");
        assert_eq!(phase.length(), Nanos(6));
        assert_eq!(phase.devices[0].wait, Nanos(7));
        let model = phase.devices[0].model.as_ref().expect("its counters");
        assert_eq!(model["cache"]["hits"], 1);
        assert_eq!(closing.devices, ["hdd-8tb"]);
        assert_eq!(closing.phase("prepare"), None);
    }

    #[test]
    fn phases_are_measured_together() {
        let mut closing = parse(&sealed(JSON)).expect("a whole record");
        assert_eq!(closing.measured().as_ref(), closing.phase("measure"));
        closing.phases[0].name = "create".to_owned();
        let next = PhaseCounts {
            name: "read".to_owned(),
            begin: Nanos(100),
            end: Nanos(110),
            ..closing.phases[0].clone()
        };
        closing.phases.push(next);
        let both = closing.measured().expect("two phases");
        assert_eq!((both.begin, both.length()), (Nanos(2), Nanos(16)));
        let device = &both.devices[0];
        assert_eq!((device.reads, device.read_bytes, device.busy), (6, 24576, Nanos(10)));
        let model = device.model.as_ref().expect("its counters");
        assert_eq!((&model["seeks"], &model["cache"]["hits"]), (&4.into(), &2.into()));
        assert_eq!(Closing { phases: Vec::new(), ..closing }.measured(), None);
    }

    #[test]
    fn every_way_of_cutting_it_is_incomplete() {
        let whole = sealed(JSON);
        for kept in 0..whole.len() {
            let error = parse(&whole[..kept]).expect_err("a cut record");
            assert!(
                matches!(
                    error,
                    Incomplete::Empty | Incomplete::Cut { .. } | Incomplete::NoChecksum
                ),
                "{kept}"
            );
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let whole = sealed(JSON);
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            parse(&changed).expect_err("a changed record");
        }
        let mut longer = whole.clone();
        longer.extend_from_slice(b"more\n");
        assert_eq!(parse(&longer), Err(Incomplete::NoChecksum));
        let mut changed = whole;
        changed[30] ^= 1;
        assert!(matches!(parse(&changed), Err(Incomplete::WrongChecksum { .. })));
    }

    #[test]
    fn a_record_of_another_version_or_of_a_fault_says_so() {
        let other = sealed(&JSON.replace("\"schema\":1", "\"schema\":2"));
        assert_eq!(parse(&other), Err(Incomplete::Content("its schema is 2, not 1".into())));
        let fault =
            JSON.replace("true", "false").replace("\"fault\":null", "\"fault\":\"no space\"");
        assert_eq!(parse(&sealed(&fault)), Err(Incomplete::Fault("no space".into())));
        let missing = sealed(&JSON.replace("\"requests\":3,", ""));
        assert!(
            matches!(parse(&missing), Err(Incomplete::Content(why)) if why.contains("requests"))
        );
    }
}
