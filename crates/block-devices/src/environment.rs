//! The state of this machine and of the disks, read before and after a trial: everything else that
//! could show in a result. A value that cannot be read is left out; nothing is written.

mod mounts;
mod rest;
mod smart;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::machine;
pub use mounts::wholes;
pub use rest::{Activity, rest};
pub use smart::{COMMAND as ASKS_HEALTH, Smart};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Time in seconds since 1970.
    pub at: u64,
    /// Release of the kernel, and the time at which it was built.
    pub kernel: String,
    pub processor: Processor,
    /// Load averages over 1, 5 and 15 minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<[f64; 3]>,
    /// Pressure of `io`, `cpu` and `memory`: the kernel's own lines about how long tasks waited.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pressure: BTreeMap<String, String>,
    /// Bytes of memory, and bytes that are available to programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub temperatures: Vec<Temperature>,
    pub disks: Vec<DiskState>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub online: usize,
    /// Number of processors with each frequency governor.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub governors: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Temperature {
    /// The driver's name and its label for the place: `drivetemp`, `nvme Composite`.
    pub sensor: String,
    pub celsius: f64,
}

/// The state of a disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskState {
    /// The kernel's name of the disk.
    pub name: String,
    /// Files of the disk's queue, by name, with their values.
    pub queue: BTreeMap<String, String>,
    /// The report of smartctl, if it is installed and may be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smart: Option<Smart>,
    /// Mount points of all filesystems on the same whole disk, including ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<String>,
}

/// Files of a disk's queue that change the disk's behaviour.
const QUEUE: [&str; 12] = [
    "scheduler",
    "nr_requests",
    "read_ahead_kb",
    "write_cache",
    "fua",
    "rotational",
    "max_sectors_kb",
    "nomerges",
    "rq_affinity",
    "wbt_lat_usec",
    "iostats",
    "io_poll",
];

impl Environment {
    pub fn look(disks: &[Disk]) -> Self {
        let system = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let pressure = ["io", "cpu", "memory"]
            .map(|what| (what, said(Path::new("/proc/pressure").join(what))));
        let pressure =
            pressure.into_iter().filter_map(|(what, said)| Some((what.to_owned(), said?)));
        let mounted = mounts::read();
        Self {
            at,
            kernel: format!("{} {}", text(system.release()), text(system.version())),
            processor: processor(),
            load: said("/proc/loadavg").and_then(|text| load(&text)),
            pressure: pressure.collect(),
            memory: said("/proc/meminfo").and_then(|text| memory(&text)),
            temperatures: temperatures(Path::new("/sys/class/hwmon")),
            disks: disks.iter().map(|disk| state(disk, &mounted)).collect(),
        }
    }
}

fn said(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn processor() -> Processor {
    let info = said("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let mut governors = BTreeMap::new();
    for entry in fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten() {
        if let Some(governor) = said(entry.path().join("cpufreq/scaling_governor")) {
            *governors.entry(governor).or_insert(0) += 1;
        }
    }
    Processor {
        model: model.map(|(_, model)| model.to_owned()),
        online: std::thread::available_parallelism().map_or(1, usize::from),
        governors,
    }
}

fn load(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split(' ').map_while(|word| word.parse().ok());
    Some([words.next()?, words.next()?, words.next()?])
}

fn memory(meminfo: &str) -> Option<(u64, u64)> {
    let bytes = |name| machine::memory(meminfo, name);
    Some((bytes("MemTotal")?, bytes("MemAvailable")?))
}

/// Returns the temperature of each sensor, in the order of names.
fn temperatures(folder: &Path) -> Vec<Temperature> {
    let mut found = Vec::new();
    for chip in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = said(chip.join("name")).unwrap_or_default();
        for entry in fs::read_dir(&chip).into_iter().flatten().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some(place) = file.strip_suffix("_input").filter(|file| file.starts_with("temp"))
            else {
                continue;
            };
            let millis = said(entry.path()).and_then(|text| text.parse::<f64>().ok());
            let label = said(chip.join(format!("{place}_label")))
                .map_or_else(String::new, |label| format!(" {label}"));
            let sensor = format!("{name}{label}");
            found.extend(millis.map(|millis| Temperature { sensor, celsius: millis / 1000.0 }));
        }
    }
    found.sort_by(|one, other| {
        one.sensor.cmp(&other.sensor).then(one.celsius.total_cmp(&other.celsius))
    });
    found
}

fn state(disk: &Disk, mounted: &[mounts::DiskMount]) -> DiskState {
    let own = wholes(&disk.name);
    // Only whole disks have a queue.
    let whole = own.first().map_or(disk.name.as_str(), String::as_str);
    let queue = Path::new("/sys/class/block").join(whole).join("queue");
    let file = |name: &str| Some((name.to_owned(), said(queue.join(name))?));
    let on_it = mounted.iter().filter(|mount| mount.disks.iter().any(|name| own.contains(name)));
    DiskState {
        name: disk.name.clone(),
        queue: QUEUE.into_iter().filter_map(file).collect(),
        smart: smart::ask(whole),
        mounts: on_it.map(|mount| mount.place.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_become_numbers() {
        assert_eq!(load("2.17 2.63 1.99 3/114 28346"), Some([2.17, 2.63, 1.99]));
        assert_eq!(load("2.17 x"), None);
        let text =
            "MemTotal:       24683656 kB\nMemFree:        22 kB\nMemAvailable:   23000000 kB\n";
        assert_eq!(memory(text), Some((24_683_656 << 10, 23_000_000 << 10)));
        assert_eq!(memory("MemTotal: 5 kB"), None);
    }

    #[test]
    fn temperatures_are_told_with_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let chip = folder.path().join("hwmon0");
        fs::create_dir(&chip).unwrap();
        for (file, text) in [
            ("name", "nvme\n"),
            ("temp1_input", "41850\n"),
            ("temp1_label", "Composite\n"),
            ("temp2_input", "no number"),
            ("fan1_input", "900"),
        ] {
            fs::write(chip.join(file), text).unwrap();
        }
        let expected = Temperature { sensor: "nvme Composite".to_owned(), celsius: 41.85 };
        assert_eq!(temperatures(folder.path()), [expected]);
        assert!(temperatures(Path::new("/nonexistent")).is_empty());
    }
}
