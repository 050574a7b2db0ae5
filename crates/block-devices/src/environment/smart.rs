//! The health of a disk, as smartctl(8) reports it.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::program::PATH;

/// The parts of smartctl's report that show whether a disk has changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Smart {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_on_hours: Option<u64>,
    /// Counters by the disk's own names: attributes of ATA, the health log of NVMe.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, i64>,
}

/// The command that asks a disk; the disk's path follows. Some disks never answer.
pub const COMMAND: [&str; 8] = [
    "timeout",
    "20",
    "smartctl",
    "--json",
    "--nocheck=standby",
    "--info",
    "--health",
    "--attributes",
];

/// Asks a disk by the kernel's name, without waking it if it sleeps. Returns None if there is no
/// smartctl, or if smartctl learns nothing.
pub fn ask(name: &str) -> Option<Smart> {
    let device = format!("/dev/{name}");
    let [program, arguments @ ..] = COMMAND;
    let said = Command::new(program)
        .args(arguments)
        .arg(&device)
        .env("PATH", PATH)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    // The exit status is ignored: it encodes the disk's health too.
    parse(&said.stdout)
}

fn parse(report: &[u8]) -> Option<Smart> {
    let report: Value = serde_json::from_slice(report).ok()?;
    let mut counters = BTreeMap::new();
    for attribute in report["ata_smart_attributes"]["table"].as_array().into_iter().flatten() {
        if let (Some(name), Some(raw)) =
            (attribute["name"].as_str(), attribute["raw"]["value"].as_i64())
        {
            counters.insert(name.to_owned(), raw);
        }
    }
    for (name, value) in
        report["nvme_smart_health_information_log"].as_object().into_iter().flatten()
    {
        counters.extend(value.as_i64().map(|value| (name.clone(), value)));
    }
    let smart = Smart {
        passed: report["smart_status"]["passed"].as_bool(),
        celsius: report["temperature"]["current"].as_i64(),
        power_on_hours: report["power_on_time"]["hours"].as_u64(),
        counters,
    };
    (smart != Smart::default()).then_some(smart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_both_kinds_of_disks_are_read() {
        let ata = br#"{"smart_status":{"passed":true},"temperature":{"current":31},
            "power_on_time":{"hours":12345},"ata_smart_attributes":{"table":[
            {"id":5,"name":"Reallocated_Sector_Ct","raw":{"value":8}},{"id":9}]}}"#;
        let smart = parse(ata).unwrap();
        assert_eq!(
            (smart.passed, smart.celsius, smart.power_on_hours),
            (Some(true), Some(31), Some(12345))
        );
        assert_eq!(smart.counters["Reallocated_Sector_Ct"], 8);
        let nvme = br#"{"nvme_smart_health_information_log":
            {"media_errors":3,"temperature_sensors":[1,2]}}"#;
        assert_eq!(parse(nvme).unwrap().counters, BTreeMap::from([("media_errors".to_owned(), 3)]));
        assert_eq!(parse(br#"{"smartctl":{"exit_status":2}}"#), None, "it could not open the disk");
        assert_eq!(parse(b"no JSON"), None);
    }
}
