//! The steps of a plan.

use super::{Failure, Steps, setting};
use crate::names;
use crate::plan::{Measure, Mount, POOL, Plan, Setting, TRIAL, Touch, ZeroFile};
use rustix::fs::OFlags;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

/// The kernel's parameter that tells the disk library of phases.
const MARK: &str = "/sys/module/disklab/parameters/mark";
/// A filesystem's block, and what direct I/O is aligned to.
const BLOCK: usize = 4096;
/// As much of a program's words as goes into the record.
const MOST_WORDS: usize = 4000;

pub fn carry_out(plan: &Plan, steps: &mut Steps) -> Result<(), Failure> {
    for _ in 0..plan.burn_pids {
        std::thread::spawn(|| ()).join().map_err(|_| "a thread that does nothing failed".to_owned())?;
    }
    apply(&plan.device_settings, steps)?;
    if let Some(command) = &plan.mkfs {
        run(command, "mkfs", steps)?;
    }
    if let Some(m) = &plan.mount {
        mount_pool(m)?;
        steps.say(&json!({"step": "mounted", "filesystem": m.filesystem}));
    }
    apply(&plan.mount_settings, steps)?;
    for file in &plan.files {
        write_zeroes(file)?;
        steps.say(&json!({"step": "written", "file": file.name, "bytes": file.bytes}));
    }
    if let Some(t) = &plan.touch {
        let blocks = touch(t)?;
        steps.say(&json!({"step": "touched", "file": t.name, "blocks": blocks}));
    }
    if let Some(measure) = &plan.measure {
        self::measure(measure, steps)?;
    }
    if plan.unmount && plan.mount.is_some() {
        unmount(POOL, UnmountFlags::empty()).map_err(|e| format!("unmounting {POOL}: {e}"))?;
        steps.say(&json!({"step": "unmounted"}));
    }
    Ok(())
}

fn apply(settings: &[Setting], steps: &mut Steps) -> Result<(), Failure> {
    for s in settings {
        let says = setting::apply(s)?;
        steps.say(&json!({"step": "set", "path": s.path, "value": s.value, "says": says}));
    }
    Ok(())
}

fn mount_pool(m: &Mount) -> Result<(), Failure> {
    let data = std::ffi::CString::new(m.data.as_str()).map_err(|e| e.to_string())?;
    let flags = if m.noatime { MountFlags::NOATIME } else { MountFlags::empty() };
    mount(m.source.as_str(), POOL, m.filesystem.as_str(), flags, data.as_c_str())
        .map_err(|e| format!("mounting {} ({}) on {POOL} with {:?}: {e}", m.source, m.filesystem, m.data))
}

/// Direct, so that the page cache stays as it is; sequential, as the seeds' script lays out its file.
fn write_zeroes(file: &ZeroFile) -> Result<(), Failure> {
    const LENGTH: usize = 1 << 20;
    let path = Path::new(POOL).join(&file.name);
    let failed = |e| format!("writing {} of zeroes to {}: {e}", file.bytes, path.display());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).custom_flags(OFlags::DIRECT.bits().cast_signed());
    let mut out = options.open(&path).map_err(failed)?;
    let mut buffer = vec![0; LENGTH + BLOCK];
    let zeroes = aligned(&mut buffer, LENGTH);
    let mut left = file.bytes.0;
    while left > 0 {
        let length = left.min(LENGTH as u64) as usize;
        out.write_all(&zeroes[..length]).map_err(failed)?;
        left -= length as u64;
    }
    out.sync_all().map_err(failed)
}

/// Reads the blocks; returns how many.
fn touch(touch: &Touch) -> Result<u64, Failure> {
    let path = Path::new(POOL).join(&touch.name);
    let failed = |e| format!("reading {}: {e}", path.display());
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::DIRECT.bits().cast_signed());
    let file = options.open(&path).map_err(failed)?;
    let blocks = file.metadata().map_err(failed)?.len() / touch.every.0.max(BLOCK as u64);
    let mut buffer = vec![0; 2 * BLOCK];
    let block = aligned(&mut buffer, BLOCK);
    for i in 0..blocks {
        file.read_exact_at(block, i * touch.every.0).map_err(failed)?;
    }
    Ok(blocks)
}

/// `length` bytes of a buffer of at least `length + BLOCK` that begin where direct I/O wants them.
fn aligned(buffer: &mut [u8], length: usize) -> &mut [u8] {
    let skip = buffer.as_ptr().align_offset(BLOCK);
    &mut buffer[skip..skip + length]
}

fn measure(measure: &Measure, steps: &mut Steps) -> Result<(), Failure> {
    mark(&format!("begin {} {}", measure.phase, measure.ramp_ns))?;
    run(&measure.command, &measure.phase, steps)?;
    mark("end").map_err(|e| format!("{e}; no request of the {} reached a disk", measure.phase))
}

fn mark(text: &str) -> Result<(), Failure> {
    fs::write(MARK, text).map_err(|e| format!("writing {text:?} to {MARK}: {e}"))
}

/// Runs a program; its words go into the record, cut to [`MOST_WORDS`].
fn run(command: &[String], step: &str, steps: &mut Steps) -> Result<(), Failure> {
    let [program, arguments @ ..] = command else { return Err(format!("{step}: an empty command")) };
    let words = Path::new("/tmp").join(step);
    let out = File::create(&words).map_err(|e| format!("{}: {e}", words.display()))?;
    let err = out.try_clone().map_err(|e| format!("{}: {e}", words.display()))?;
    let status = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/tmp")
        .env("LC_ALL", "C")
        // Else the host's /etc/localtime would show in fio's report.
        .env("TZ", "UTC")
        .current_dir(TRIAL)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .status()
        .map_err(|e| format!("{step}: {program} cannot be run: {e}"))?;
    let mut said = Vec::new();
    let read = File::open(&words).and_then(|f| f.take(MOST_WORDS as u64).read_to_end(&mut said));
    read.map_err(|e| format!("{}: {e}", words.display()))?;
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    steps.say(&json!({"step": step, "command": command, "status": status.to_string(), "said": said}));
    if status.success() {
        return Ok(());
    }
    let last = said.lines().last().unwrap_or("it said nothing");
    Err(format!("{step}: {program} failed ({status}): {last}; its output is in {}", names::STEPS))
}
