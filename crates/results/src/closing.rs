//! The closing record of the guest's library, `disks.json`: what each disk model did, and proof
//! that the guest finished.
//!
//! Two lines: one of JSON, and `sha256 <hex>`, the checksum of the first without its newline. The
//! library writes both as its last act. A guest that crashed, was killed or wrote over its own
//! memory leaves no such pair, and its trial does not count.

use disklab_units::Nanos;
use serde::Deserialize;
use serde_json::Value;

use crate::digest::sha256_hex;
use crate::sample::MEASURED_PHASE;

/// The version of the record read here.
pub const SCHEMA: u32 = 1;

/// What the library counted over the guest's life.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Closing {
    /// The guest's virtual clock when the library closed.
    pub virtual_ns: Nanos,
    /// Requests of all disks, from boot to the end.
    pub requests: u64,
    /// What each disk is a model of, by the lab's name, in the order of the devices of each phase.
    #[serde(default)]
    pub devices: Vec<String>,
    /// In the order they were begun.
    pub phases: Vec<Phase>,
    /// Of `requests.trace`, when it was written.
    #[serde(default)]
    pub trace_sha256: Option<String>,
    /// In their order; of those that were wanted, the ones whose moment came.
    #[serde(default)]
    pub power_cuts: Vec<PowerCut>,
}

/// What the disks would have been left with if the power had gone.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PowerCut {
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// The number of the witness's last record that had been fsynced.
    pub acknowledged: u64,
    /// That of the last note of our own workload engine.
    #[serde(default)]
    pub promised: u64,
    /// Blocks of all disks that the media might have held otherwise.
    pub unsure: u64,
    /// Of those, the ones that are not as they were last written.
    pub lost: u64,
    /// Writes that were on their way to the disks.
    pub on_the_way: u64,
}

impl Closing {
    /// What results are of: the phase of that name, or all phases as if each had begun when the one
    /// before it ended.
    pub fn measured(&self) -> Option<Phase> {
        if let Some(phase) = self.phase(MEASURED_PHASE) {
            return Some(phase.clone());
        }
        let (first, others) = self.phases.split_first()?;
        Some(others.iter().fold(first.clone(), Phase::followed_by))
    }

    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }
}

/// A stretch of the guest's life, by name: `measure` is the one that a sample is made of.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Phase {
    pub name: String,
    #[serde(rename = "begin_ns")]
    pub begin: Nanos,
    #[serde(rename = "end_ns")]
    pub end: Nanos,
    /// Reads in order of arrival that followed another read, and those of them that went to another
    /// disk.
    #[serde(default)]
    pub read_followers: u64,
    #[serde(default)]
    pub read_switches: u64,
    pub devices: Vec<Device>,
}

impl Phase {
    /// Zero when it ends before it begins.
    pub fn length(&self) -> Nanos {
        Nanos(self.end.0.saturating_sub(self.begin.0))
    }

    /// Both in one, under the first one's name.
    fn followed_by(mut self, next: &Self) -> Self {
        self.end = Nanos(self.end.0.saturating_add(next.length().0));
        self.read_followers = self.read_followers.saturating_add(next.read_followers);
        self.read_switches = self.read_switches.saturating_add(next.read_switches);
        self.devices.iter_mut().zip(&next.devices).for_each(|(device, next)| device.add(next));
        self
    }

    /// The part of consecutive reads, 0 to 1, of which the second went to another disk.
    pub fn switched(&self) -> Option<f64> {
        part(self.read_switches, self.read_followers)
    }
}

/// What one disk did in one phase.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Device {
    /// As the guest's kernel calls it: `vda`.
    pub name: String,
    pub reads: u64,
    pub writes: u64,
    #[serde(default)]
    pub flushes: u64,
    #[serde(default)]
    pub discards: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// How long at least one request was outstanding.
    #[serde(rename = "busy_ns")]
    pub busy: Nanos,
    /// Over all requests, from submission to completion.
    #[serde(rename = "wait_ns")]
    pub wait: Nanos,
    /// Over all requests, from the start of service to completion. `None`: nobody knows when a disk
    /// began with a request.
    #[serde(default, rename = "service_ns")]
    pub service: Option<Nanos>,
    /// Over all requests, the time within the phase from submission to completion. `None`: it was
    /// not counted yet.
    #[serde(default, rename = "depth_ns")]
    pub depth: Option<Nanos>,
    /// Reads and writes that followed another in order of arrival.
    #[serde(default)]
    pub followers: u64,
    /// Of those, the ones that did not begin where the one before ended.
    #[serde(default)]
    pub apart: u64,
    /// How far from there all of them began, in sectors of 512 bytes.
    #[serde(default)]
    pub apart_sectors: u64,
    /// What only this kind of model counts: seeks, cache hits.
    #[serde(default)]
    pub model: Value,
}

impl Device {
    /// What it did later, too.
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
            (&mut self.followers, later.followers),
            (&mut self.apart, later.apart),
            (&mut self.apart_sectors, later.apart_sectors),
        ] {
            *own = own.saturating_add(more);
        }
        let both = |(own, later): (Nanos, Nanos)| Nanos(own.0.saturating_add(later.0));
        self.service = self.service.zip(later.service).map(both);
        self.depth = self.depth.zip(later.depth).map(both);
        self.model = sum(&self.model, &later.model);
    }

    /// All that ended in the phase.
    pub fn requests(&self) -> u64 {
        [self.reads, self.writes, self.flushes, self.discards]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Mean from the start of service to completion.
    pub fn mean_service(&self) -> Option<Nanos> {
        self.service?.0.checked_div(self.requests()).map(Nanos)
    }

    /// Mean from submission to completion.
    pub fn mean_wait(&self) -> Option<Nanos> {
        self.wait.0.checked_div(self.requests()).map(Nanos)
    }

    /// Mean number of requests at the disk.
    pub fn mean_depth(&self, phase: &Phase) -> Option<f64> {
        Some(self.depth?.0 as f64 / phase.length().0 as f64).filter(|depth| depth.is_finite())
    }

    /// The part of requests, 0 to 1, that did not begin where the one before ended.
    pub fn not_sequential(&self) -> Option<f64> {
        part(self.apart, self.followers)
    }

    /// How far from there requests began on average, the sequential ones included: bytes.
    pub fn mean_distance(&self) -> Option<f64> {
        part(self.apart_sectors, self.followers).map(|sectors| sectors * 512.0)
    }
}

/// Number by number.
fn sum(one: &Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let each = other.iter().map(|(key, value)| match one.get(key) {
                Some(known) => (key.clone(), sum(known, value)),
                None => (key.clone(), value.clone()),
            });
            Value::Object(one.clone().into_iter().chain(each).collect())
        }
        (Value::Number(one), Value::Number(other)) => match (one.as_u64(), other.as_u64()) {
            (Some(one), Some(other)) => one.saturating_add(other).into(),
            _ => Value::Number(other.clone()),
        },
        _ => other.clone(),
    }
}

fn part(some: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| some as f64 / all as f64)
}

/// Why a record does not prove that the guest finished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Incomplete {
    #[error("the guest did not finish: its disks left no closing record")]
    Empty,
    #[error(
        "the guest did not finish: the closing record of its disks is cut off after {bytes} bytes"
    )]
    Cut { bytes: usize },
    #[error(
        "the guest did not finish: its disks' closing record does not end in `sha256 <64 hex digits>`"
    )]
    NoChecksum,
    #[error(
        "the guest went wild: its disks' closing record says that its SHA-256 is {said}, but it is {found}"
    )]
    WrongChecksum { said: String, found: String },
    #[error(
        "the disks' closing record is whole but of another disklab ({0}); build the disk library of this one"
    )]
    Content(String),
    #[error("the guest's disks did not work to the end: {0}")]
    Fault(String),
}

#[derive(Deserialize)]
struct Head {
    schema: u32,
    complete: bool,
    #[serde(default)]
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
        return Err(Incomplete::Fault(
            head.fault.unwrap_or_else(|| "they do not say why".to_owned()),
        ));
    }
    serde_json::from_slice(json).map_err(content)
}

/// The first line, once the second has vouched for it.
fn checked(bytes: &[u8]) -> Result<&[u8], Incomplete> {
    if bytes.is_empty() {
        return Err(Incomplete::Empty);
    }
    let cut = Incomplete::Cut { bytes: bytes.len() };
    let Some(lines) = bytes.strip_suffix(b"\n") else {
        return Err(cut);
    };
    let Some(end) = lines.iter().position(|&byte| byte == b'\n') else {
        return Err(cut);
    };
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
        r#"{"schema":1,"complete":true,"fault":null,"virtual_ns":9,"requests":3,"devices":["hdd-8tb"],"#,
        r#""phases":[{"name":"measure","begin_ns":2,"end_ns":8,"devices":[{"name":"vda","reads":3,"writes":0,"#,
        r#""flushes":0,"discards":0,"read_bytes":12288,"write_bytes":0,"busy_ns":5,"wait_ns":7,"service_ns":4,"#,
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
        assert_eq!(phase.devices[0].model["cache"]["hits"], 1);
        assert_eq!(closing.devices, ["hdd-8tb"]);
        assert_eq!(closing.phase("prepare"), None);
    }

    #[test]
    fn phases_are_measured_together() {
        let mut closing = parse(&sealed(JSON)).expect("a whole record");
        assert_eq!(closing.measured().as_ref(), closing.phase("measure"));
        closing.phases[0].name = "create".to_owned();
        let next = Phase {
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
        assert_eq!(
            (&device.model["seeks"], &device.model["cache"]["hits"]),
            (&4.into(), &2.into())
        );
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
