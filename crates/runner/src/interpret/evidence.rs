//! Judges the raw output of a guest: a complete result, or the nearest cause of its failure.

use super::end::End;
use crate::room::check_room;
use disklab_files::{TRACE, TRIAL};
use disklab_protocol::closing::{self, Closing};
use disklab_protocol::machine::cut_images;
use disklab_protocol::names;
use disklab_protocol::step::Step;
use disklab_record::fingerprint::sha256_of;
use disklab_units::{Bytes, Nanos};
use rustix::process::Signal;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

/// Number of bytes at the end of a console or of the steps that are read.
const TAIL: u64 = 256 << 10;
/// Free room on the host below which missing output is blamed on the host.
pub(crate) const LEAST_ROOM: Bytes = Bytes::mib(1);
/// Prefix of messages from the library and the first process.
pub(crate) const OURS: &str = "disklab: ";
/// Signal to a process that writes beyond the limit on file sizes.
const XFSZ: i32 = Signal::XFSZ.as_raw();
const PANIC: &str = "Kernel panic - not syncing: ";
/// Messages of a guest kernel whose program lost its process on the host, from
/// arch/um/os-Linux/skas/process.c. The program gets a SIGSEGV.
const LOST: [&str; 2] = ["failed to wait for stub", "failed to wait for SIGTRAP"];
/// Reason of a trial with such a message, whatever its results.
const LOST_PROCESS: &str = "a process of the guest was killed on the host, for example because \
                            memory ran out; run fewer trials at a time (`--jobs`), or free memory";

/// The process that executes a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A guest, whose clock its disks move.
    Guest,
    /// The first process of a trial on this machine.
    First,
}

impl Who {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::First => "trial's first process",
        }
    }
}

/// Returns the closing record of a trial that completed its plan, or else the reason, for people.
pub fn judge(folder: &Path, end: &End, who: Who) -> Result<Closing, String> {
    ended_well(folder, end, who)?;
    let console = tail(folder, names::CONSOLE)?;
    let closing = raw_file(folder, names::CLOSING, || {
        said(&console).map_or_else(
            || {
                let who = who.name();
                format!(
                    "the {who} ended without the disks' closing record, so its results are not \
                     complete"
                )
            },
            str::to_owned,
        )
    })?;
    let closing = closing::parse(&closing).map_err(|incomplete| incomplete.to_string())?;
    did_all(folder, who)?;
    check_trace(folder, &closing)?;
    Ok(closing)
}

/// Judges the guest that examined state `number` after a trial's power cuts, from the trial's raw
/// files. Returns None if that state was not examined.
pub fn examined(raw: &Path, number: usize) -> Option<Result<Closing, String>> {
    let place = cut_images(raw, number);
    let kind = disklab_files::type_at(&place).ok().flatten()?;
    kind.is_dir().then(|| judge(&place, &End::Exited(ExitStatus::default()), Who::Guest))
}

/// Checks that a plan without a measurement ran to its end.
pub fn finished(folder: &Path, end: &End, who: Who) -> Result<(), String> {
    ended_well(folder, end, who)?;
    did_all(folder, who)
}

fn ended_well(folder: &Path, end: &End, who: Who) -> Result<(), String> {
    let what = match end {
        End::Exited(status) => return exited_well(folder, *status, who),
        End::Stopped => return Err("interrupted".to_owned()),
        End::PastTime(limit) if who == Who::First => {
            return Err(format!(
                "timed out after {limit}, much longer than the trial takes (the last step that it \
                 finished: {})",
                step_name(last_step(folder)?)
            ));
        }
        End::PastTime(limit) => format!(
            "the guest never ends: its clock is past {limit}, much more than the trial takes"
        ),
        End::Silent(silence) => format!(
            "the guest hangs: its clock stood still and no request ended for {} s",
            silence.as_secs()
        ),
        End::PastWall(wall) => format!(
            "the guest never ends: it ran for {} h, and its clock hardly moved",
            wall.as_secs_f64() / 3600.0
        ),
        End::Overfull(most) => format!(
            "the guest wrote more than {most} into its trial's folder, without the trace of \
             requests"
        ),
        End::Talkative => {
            "the guest wrote too much to its console, which is a sign of an error".to_owned()
        }
    };
    Err(explained(folder, &what))
}

fn exited_well(folder: &Path, status: ExitStatus, who: Who) -> Result<(), String> {
    let console = tail(folder, names::CONSOLE)?;
    if who == Who::Guest && has_lost_process(&console) {
        return Err(LOST_PROCESS.to_owned());
    }
    if let Some(panic) = console.lines().rev().find_map(|line| line.split_once(PANIC)) {
        return Err(format!("the guest kernel panicked: {}", panic.1.trim()));
    }
    if let Some(error) = failed_step(folder)? {
        // A message of the library is nearer to the cause: the guest sees a full disk of the host
        // as an I/O error.
        let cause = said(&console).filter(|cause| !cause.starts_with("guest: ") && *cause != error);
        return Err(cause.map_or(error.clone(), |cause| format!("{cause}; in the guest: {error}")));
    }
    if !status.success() {
        let last = said(&console).or_else(|| console.lines().last()).map(str::to_owned);
        let last = last.unwrap_or_else(|| no_words(folder));
        let why = match status.signal() {
            Some(XFSZ) => "; the limit of the size of files (`ulimit -f`) is too low",
            _ => "",
        };
        return Err(format!("the {}'s process died ({status}): {last}{why}", who.name()));
    }
    Ok(())
}

/// Returns true if a process of the guest was killed on the host.
pub(super) fn has_lost_process(console: &str) -> bool {
    console.lines().any(|line| LOST.iter().any(|words| line.contains(words)))
}

/// Returns true if the guest kernel or its first process said why it ended.
pub(super) fn has_last_words(console: &str) -> bool {
    console.contains(PANIC) || said(console).is_some()
}

fn did_all(folder: &Path, who: Who) -> Result<(), String> {
    match last_step(folder)? {
        Some(Step::Finished) => Ok(()),
        _ => Err(format!(
            "the {} ended before its plan was done; its console, {}, may say why",
            who.name(),
            names::CONSOLE
        )),
    }
}

/// Returns true if the measurement has begun, for trials on this machine.
pub fn has_marked(folder: &Path) -> bool {
    folder.join(names::MARKS).metadata().is_ok_and(|file| file.len() > 0)
}

/// Returns the reason for an empty console: on a full disk, no message can be written to it.
fn no_words(folder: &Path) -> String {
    match check_room("a console", folder, LEAST_ROOM) {
        Ok(()) => "its console is empty".to_owned(),
        Err(_) => {
            format!(
                "its console could not be written: No space left on device in {}",
                folder.display()
            )
        }
    }
}

/// Checks that the trace is the one that the library wrote.
fn check_trace(folder: &Path, closing: &Closing) -> Result<(), String> {
    let Some(expected) = &closing.trace_sha256 else { return Ok(()) };
    if folder.join(names::REQUESTS_PACKED).exists() && !folder.join(names::REQUESTS).exists() {
        // The trace was checked before it was packed, and the trial's line has the digest of the
        // packed file.
        return Ok(());
    }
    let found = sha256_of(&folder.join(names::REQUESTS), &TRACE.inside(0))
        .map_err(unread(names::REQUESTS))?;
    if found.as_ref() == Some(expected) {
        Ok(())
    } else {
        Err(format!("{} is not what the disk library wrote: its SHA-256 differs", names::REQUESTS))
    }
}

/// Returns the guest's clock at its end, if the guest got that far.
pub fn virtual_time(folder: &Path) -> io::Result<Option<Nanos>> {
    match disklab_protocol::heartbeat::Heartbeat::read(folder) {
        Ok(beat) => Ok(Some(Nanos(beat.now)).filter(|now| now.0 > 0)),
        // The heartbeat had not been made, or did not have its length yet.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the time of mounting, if the guest mounted.
pub fn mount_time(folder: &Path) -> Option<Nanos> {
    let steps = Step::read_all(tail(folder, names::STEPS).unwrap_or_default().as_bytes());
    steps.into_iter().find_map(|step| match step {
        Step::Mounted { took_ns, .. } => took_ns.map(Nanos),
        _ => None,
    })
}

fn explained(folder: &Path, what: &str) -> String {
    let time = virtual_time(folder).ok().flatten().unwrap_or_default();
    let last = last_step(folder).ok().flatten();
    if let Some(Step::PhaseBegun { phase }) = last {
        return format!(
            "phase {phase}: {what} (virtual time {time}); a program that only computes takes no \
             virtual time, and so reaches no limit"
        );
    }
    let after = step_name(last);
    format!("{what} (virtual time {time}; the last step that it finished: {after})")
}

fn step_name(step: Option<Step>) -> String {
    step.map_or_else(|| "start".to_owned(), |step| step.name())
}

fn last_step(folder: &Path) -> Result<Option<Step>, String> {
    Ok(tail(folder, names::STEPS)?.lines().last().and_then(Step::read))
}

pub(crate) fn failed_step(folder: &Path) -> Result<Option<String>, String> {
    Ok(match last_step(folder)? {
        Some(Step::Failed { error }) => Some(error),
        _ => None,
    })
}

/// Begins the reason of a trial whose raw output exists and cannot be read back.
pub(crate) const UNREAD: &str = "cannot read back ";

/// Refused files, such as files that are too large, are the trial's own fault.
fn unread(name: &str) -> impl FnOnce(io::Error) -> String {
    move |error| match error.raw_os_error() {
        Some(_) => format!("{UNREAD}{name}: {error}"),
        None => format!("{name} was not read: {error}"),
    }
}

/// Reads a file of a trial's raw output; `missing` is the reason if the trial left none.
pub(crate) fn raw_file(
    folder: &Path,
    name: &str,
    missing: impl FnOnce() -> String,
) -> Result<Vec<u8>, String> {
    disklab_files::read(&folder.join(name), &TRIAL).map_err(|error| match error.kind() {
        ErrorKind::NotFound => missing(),
        _ => unread(name)(error),
    })
}

/// Returns the first message of disklab's on a console, since later ones are often its
/// consequences. A library whose memory was overwritten names the line that noticed it.
fn said(console: &str) -> Option<&str> {
    let ours = console.lines().find_map(|line| line.strip_prefix(OURS));
    ours.or_else(|| console.lines().find(|line| line.contains(" panicked at ")))
}

/// Returns the end of a file, or an empty string if there is no file.
pub(crate) fn tail(folder: &Path, name: &str) -> Result<String, String> {
    let read = || {
        let mut file = disklab_files::open(&folder.join(name), &TRIAL)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes).map(|_| bytes)
    };
    match read() {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(unread(name)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::time::Duration;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn reason(files: &[(&str, &str)], end: &End) -> String {
        judge(folder(files).path(), end, Who::Guest).unwrap_err()
    }

    fn exited(code: i32) -> End {
        End::Exited(ExitStatus::from_raw(code << 8))
    }

    #[test]
    fn the_nearest_cause_is_told() {
        let failed = (
            names::STEPS,
            "{\"step\":\"mounted\"}\n{\"step\":\"failed\",\"error\":\"measure: fio failed\"}\n",
        );
        assert_eq!(reason(&[failed], &exited(0)), "measure: fio failed");
        let full = (names::CONSOLE, "disklab: write of disks/0.img: No space left on device\n");
        assert_eq!(
            reason(&[failed, full], &exited(0)),
            "write of disks/0.img: No space left on device; in the guest: measure: fio failed"
        );
        let panicked = (
            names::CONSOLE,
            "[ 1.0] Kernel panic - not syncing: sysrq triggered crash\n[ 1.0] CPU: 0\n",
        );
        assert_eq!(
            reason(&[panicked], &exited(1)),
            "the guest kernel panicked: sysrq triggered crash"
        );
        let killed = End::Exited(ExitStatus::from_raw(11));
        assert!(reason(&[], &killed).starts_with("the guest's process died (signal: 11"));
        assert!(reason(&[], &exited(0)).contains("without the disks' closing record"));
    }

    #[test]
    fn a_guest_that_timed_out_says_where() {
        let steps = (names::STEPS, "{\"step\":\"mounted\",\"filesystem\":\"btrfs\"}\n");
        let text = reason(&[steps], &End::Silent(Duration::from_secs(60)));
        assert!(
            text.contains("hangs") && text.contains("60 s") && text.contains("finished: mounted"),
            "{text}"
        );
        let begun = (
            names::STEPS,
            "{\"step\":\"mounted\"}\n{\"step\":\"phase begun\",\"phase\":\"loop\"}\n",
        );
        let text = reason(&[begun], &End::Silent(Duration::from_secs(60)));
        assert!(
            text.starts_with("phase loop: the guest hangs") && text.contains("reaches no limit"),
            "{text}"
        );
    }

    #[test]
    fn a_cut_closing_record_is_no_result() {
        let finished = (names::STEPS, "{\"step\":\"finished\"}\n");
        let text = reason(&[finished, (names::CLOSING, "{\"schema\":1")], &exited(0));
        assert!(!text.is_empty());
    }
}
