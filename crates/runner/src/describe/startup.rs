//! The start of a program: the contents of its disks, and its steps.

use crate::error::{Error, Result};
use disklab_config::Trial;
use disklab_config::startup::{EntryKind, Startup, StartupEntry, Way};
use disklab_protocol::action::MakeEntries;
use disklab_protocol::digest::sha256_hex;
use disklab_protocol::measure::{Measured, StartupWay};
use disklab_record::fingerprint;
use disklab_units::{Bytes, Seed};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns the files of a program that starts, with data drawn from `contents`, or zeroes without
/// it.
pub fn entries(trial: &Trial, contents: Option<Seed>) -> Option<MakeEntries> {
    let startup = trial.workload.startup()?;
    let modified = || startup.files.iter().map(modified).collect();
    Some(MakeEntries {
        all: startup.files.clone(),
        modified: (startup.way == Way::Program).then(modified),
        contents,
    })
}

/// Returns the time of an entry's last change, in ns since 1970, or 0 if the entry is absent, which
/// the guest reports.
fn modified(entry: &StartupEntry) -> i64 {
    let found = fs::symlink_metadata(&entry.path);
    found.map_or(0, |found| {
        found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec())
    })
}

/// Returns the digest of this machine's files that are copied to the disks. Returns None if the
/// files are zeroes.
pub fn contents(trial: &Trial) -> Result<Option<String>> {
    let Some(MakeEntries { all, modified: Some(modified), .. }) = entries(trial, None) else {
        return Ok(None);
    };
    let digest = |(entry, modified): (&StartupEntry, i64)| {
        let path = Path::new(&entry.path);
        let digest = match entry.kind {
            EntryKind::File(bytes) if bytes.0 > 0 => {
                fingerprint::sha256_of(path, &disklab_files::PROGRAM)
                    .map_err(Error::io("put on the modelled disks", path))?
            }
            _ => None,
        };
        Ok(format!("{} {modified} {}\n", digest.unwrap_or_default(), entry.path))
    };
    let all: String = all.iter().zip(modified).map(digest).collect::<Result<_>>()?;
    Ok(Some(sha256_hex(all.as_bytes())))
}

/// Returns the room that those files take on the host.
pub fn room(trial: &Trial) -> Bytes {
    let startup = trial.workload.startup().filter(|startup| startup.way == Way::Program);
    startup.map(Startup::bytes).unwrap_or_default()
}

pub fn measured(startup: &Startup) -> Measured {
    let way = match startup.way {
        Way::Replay => {
            StartupWay::Replay { entries: startup.files.clone(), threads: startup.threads.clone() }
        }
        Way::Program => StartupWay::Program {
            command: startup.command.clone(),
            entries: startup.files.clone(),
            environment: startup.environment.clone(),
            server: startup.server.clone(),
        },
    };
    Measured::Startup { way, limit_ns: startup.limit.0 }
}
