//! Decides if the machine or the trial is at fault for a trial without a result. A fault of the
//! trial recurs on every machine; after a fault of the machine, another machine is worth a try.

use super::end::End;
use super::evidence::{
    LEAST_ROOM, OURS, UNREAD, failed_step, has_last_words, has_lost_process, tail, virtual_time,
};
use crate::describe::machine::DISKS;
use crate::error::Error;
use crate::room::check_room;
use disklab_protocol::names;
use disklab_record::outcome::Fault;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// Endings of the library's messages about a full filesystem or quota of the host: ENOSPC and
/// EDQUOT.
const FULL: [&str; 2] = ["(os error 28)", "(os error 122)"];
/// Part of the library's messages about errors of the host's system.
const OF_THE_HOST: &str = "(os error ";
/// Prefix of the messages of a guest's first process. If it finds a filesystem full, that is the
/// trial's own.
const OF_THE_GUEST: &str = "guest: ";
/// Messages of a guest kernel whose memory file could not grow.
const NO_MEMORY: [&str; 2] = ["Bus error - the host", "Kernel mode signal 7"];
/// Message about a program whose memory could not grow.
const BUS_ERROR: &str = "SIGBUS";

/// Returns the fault of a guest with this end that left no result in `folder` for this reason, if
/// it is known. The disks must still exist.
pub fn of_guest(folder: &Path, end: &End, reason: Option<&str>) -> Fault {
    let is_machines = match end {
        _ if reason.is_some_and(is_unread) => true,
        // The machine may also be too slow.
        End::Silent(_) | End::PastWall(_) => true,
        // After an error message, the library ends by SIGABRT. A guest that ends badly without a
        // message got a signal from outside.
        End::Exited(status) => {
            let is_silent =
                || tail(folder, names::CONSOLE).is_ok_and(|text| !has_last_words(&text));
            was_killed(end)
                || !matches!(virtual_time(folder), Ok(Some(_)))
                || !status.success() && is_silent()
        }
        End::PastTime(_) | End::Talkative | End::Overfull(_) | End::Stopped => false,
    };
    if is_machines { Fault::Machine } else { of_what_is_left(folder) }
}

/// Returns the fault of a trial's first process on this machine.
pub fn of_first(end: &End, reason: Option<&str>) -> Fault {
    let is_machines = was_killed(end) || reason.is_some_and(is_unread);
    if is_machines { Fault::Machine } else { Fault::Trial }
}

/// Returns true if raw output could not be read back.
fn is_unread(reason: &str) -> bool {
    reason.starts_with(UNREAD)
}

/// Returns true if a filesystem of the machine has no room for a trial's output in a folder.
pub fn has_no_room(folder: &Path) -> bool {
    check_room("", folder, LEAST_ROOM).is_err()
}

/// Returns true if a signal ended the guest's kernel that a machine without memory sends.
pub fn was_killed(end: &End) -> bool {
    let End::Exited(status) = end else { return false };
    status.signal().is_some_and(|signal| signal != Signal::ABORT.as_raw())
}

/// Returns the fault of disks that could not be prepared, or of a trial that never began.
pub fn of_error(error: &Error) -> Fault {
    match error {
        Error::Prepare { fault, .. } => *fault,
        _ => Fault::Machine,
    }
}

/// Returns true if a guest in `folder` found a filesystem of the machine full. The disks must still
/// exist.
pub fn is_full(folder: &Path) -> bool {
    let console = tail(folder, names::CONSOLE).unwrap_or_default();
    let disks = folder.join(DISKS);
    console.lines().any(says_full) || has_no_room(folder) || (disks.exists() && has_no_room(&disks))
}

/// Returns true if a line of the console reports that a filesystem of the machine is full.
fn says_full(line: &str) -> bool {
    let ours = line.strip_prefix(OURS).filter(|what| !what.starts_with(OF_THE_GUEST));
    ours.is_some_and(|what| FULL.iter().any(|code| what.contains(code)))
}

fn of_what_is_left(folder: &Path) -> Fault {
    let (Ok(console), Ok(step)) = (tail(folder, names::CONSOLE), failed_step(folder)) else {
        return Fault::Machine;
    };
    let is_hosts = |line: &str| {
        let is_full = FULL.iter().any(|code| line.contains(code));
        line.contains(OF_THE_HOST) && (!is_full || says_full(line))
    };
    let says = |line: &str| {
        (line.starts_with(OURS) && is_hosts(line))
            || NO_MEMORY.iter().any(|words| line.contains(words))
    };
    // No message can be written to a full disk.
    if console.lines().any(says)
        || has_lost_process(&console)
        || step.is_some_and(|step| step.contains(BUS_ERROR))
        || is_full(folder)
    {
        Fault::Machine
    } else {
        Fault::Trial
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;
    use std::time::Duration;

    fn fault(files: &[(&str, &str)], end: &End) -> Fault {
        let folder = tempfile::tempdir().unwrap();
        // The clock has moved.
        std::fs::write(folder.path().join(names::HEARTBEAT), [1; 64]).unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        of_guest(folder.path(), end, None)
    }

    fn exited(status: i32) -> End {
        End::Exited(ExitStatus::from_raw(status))
    }

    #[test]
    fn what_comes_again_everywhere_is_the_trials() {
        let failed =
            "{\"step\":\"failed\",\"error\":\"measure: fio failed: No space left on device\"}\n";
        assert_eq!(fault(&[(names::STEPS, failed)], &exited(0)), Fault::Trial);
        let full = (names::CONSOLE, "disklab: guest: write a: No space left (os error 28)\n");
        assert_eq!(fault(&[full], &exited(0)), Fault::Trial);
        let panicked =
            (names::CONSOLE, "[ 1.0] Kernel panic - not syncing: sysrq triggered crash\n");
        assert_eq!(fault(&[panicked], &exited(1 << 8)), Fault::Trial);
        let wild = (names::CONSOLE, "disklab: guest: a request with tag 9 of 4\n");
        assert_eq!(fault(&[wild], &exited(Signal::ABORT.as_raw())), Fault::Trial);
        assert_eq!(fault(&[], &End::Talkative), Fault::Trial);
    }

    #[test]
    fn a_full_disk_is_told_from_other_errors_of_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let says = |text: &str| {
            std::fs::write(folder.path().join(names::CONSOLE), text).unwrap();
            is_full(folder.path())
        };
        assert!(says("disklab: write: 0.img: No space left on device (os error 28)\n"));
        assert!(says("disklab: write: 0.img: Disk quota exceeded (os error 122)\n"));
        assert!(!says("disklab: read: 0.img: Input/output error (os error 5)\n"));
        assert!(!says("measure: No space left on device (os error 28)\n"));
        assert!(!says("disklab: guest: fsload: write a: No space left on device (os error 28)\n"));
    }

    #[test]
    fn what_another_machine_may_not_have_is_the_machines() {
        for signal in [Signal::KILL, Signal::BUS, Signal::TERM] {
            assert_eq!(fault(&[], &exited(signal.as_raw())), Fault::Machine, "{signal:?}");
        }
        assert_eq!(fault(&[], &End::Silent(Duration::from_secs(60))), Fault::Machine);
        let full = "disklab: write of the disk's data failed: 0.img: No space left on device (os \
            error 28)\n";
        assert_eq!(fault(&[(names::CONSOLE, full)], &exited(0)), Fault::Machine);
        let memory = "[ 1.0] Kernel panic - not syncing: Kernel mode signal 7\n";
        assert_eq!(fault(&[(names::CONSOLE, memory)], &exited(1 << 8)), Fault::Machine);
        let program =
            "{\"step\":\"failed\",\"error\":\"measure: fio failed (signal: 7 (SIGBUS))\"}\n";
        assert_eq!(fault(&[(names::STEPS, program)], &exited(0)), Fault::Machine);
        let lost = "[ 0.9] wait_stub_done_seccomp : failed to wait for stub, pid = -1, errno = 11\n\
            disklab: guest: measure: fio failed (signal: 11 (SIGSEGV)): it printed nothing\n";
        assert_eq!(fault(&[(names::CONSOLE, lost)], &exited(0)), Fault::Machine);
        // SIGINT and SIGABRT from outside.
        for end in [exited(1 << 8), exited(Signal::ABORT.as_raw())] {
            assert_eq!(fault(&[(names::CONSOLE, "[ 0.1] booted\n")], &end), Fault::Machine);
        }
        // The guest ended well, and the machine fails to read its output.
        let (folder, end) = (tempfile::tempdir().unwrap(), exited(0));
        std::fs::write(folder.path().join(names::HEARTBEAT), [1; 64]).unwrap();
        let unread = Some("cannot read back guest.jsonl: Input/output error (os error 5)");
        let refused = Some(
            "guest.jsonl was not read: it is a folder, and a file of a trial is a regular file",
        );
        assert_eq!(of_guest(folder.path(), &end, unread), Fault::Machine);
        assert_eq!(of_guest(folder.path(), &end, refused), Fault::Trial);
        assert_eq!(of_first(&end, unread), Fault::Machine);
        assert_eq!(of_first(&end, refused), Fault::Trial);
        // The guest's clock never moved.
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(of_guest(folder.path(), &exited(1 << 8), None), Fault::Machine);
    }
}
