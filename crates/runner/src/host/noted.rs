//! What there is to say of a trial by the steps that its first process wrote.

use crate::evidence;
use disklab_protocol::names;
use disklab_results::{Remark, device_errors};
use disklab_units::Nanos;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Of a trial that has ended in `folder`.
pub fn remarks(folder: &Path) -> Vec<Remark> {
    let steps = fs::read(folder.join(names::STEPS)).unwrap_or_default();
    let warmed = evidence::step(&steps, "warmed").filter(|step| step["steady"] == false);
    let not_steady = warmed.map(|step| Remark::NotSteady {
        within: Nanos(step["took_ns"].as_u64().unwrap_or_default()),
        off_percent: step["off_percent"].as_f64().unwrap_or_default(),
        rise_percent: step["rise_percent"].as_f64().unwrap_or_default(),
    });
    let kept = evidence::step(&steps, "caches").filter(|step| step["dropped"] == false);
    let kept = kept.map(|step| Remark::CachesKept { why: word(&step, "error") });
    not_steady.into_iter().chain(kept).chain(device_errors::remarks(&steps)).collect()
}

/// A choice that this machine's kernel does not have, and why a trial that wants it cannot be.
pub fn lacking(folder: &Path) -> Option<(String, String)> {
    let steps = fs::read(folder.join(names::STEPS)).unwrap_or_default();
    let step = evidence::step(&steps, "lacking")?;
    let value = word(&step, "value");
    let reason = not_had(&value, &word(&step, "path"), &word(&step, "has"));
    Some((choice(&value).to_owned(), reason))
}

/// That of what a file of the kernel's offers, none is what is asked for.
pub fn not_had(value: &str, path: &str, has: &str) -> String {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    format!("the kernel that runs (Linux {release}) has no {value}: {path} has {has:?}")
}

/// `round-robin` of `round-robin:4096`.
pub fn choice(value: &str) -> &str {
    value.split(':').next().unwrap_or(value)
}

fn word(step: &Value, key: &str) -> String {
    step[key].as_str().unwrap_or_default().to_owned()
}
