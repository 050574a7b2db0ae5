//! Says whether the machine or the trial is at fault if a trial has no result. A fault of the trial
//! comes again on every machine; a fault of the machine is worth a try on another one.

use super::end::End;
use super::evidence::{LEAST_ROOM, OURS, failed_step, tail, virtual_time};
use crate::describe::machine::DISKS;
use crate::error::Error;
use crate::room::check_room;
use disklab_protocol::names;
use disklab_record::outcome::Fault;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// How the library ends what the host's system says.
const OF_THE_HOST: &str = "(os error ";
/// Messages of a guest kernel whose memory is a file that could not grow.
const NO_MEMORY: [&str; 2] = ["Bus error - the host", "Kernel mode signal 7"];
/// The same of a program in it.
const BUS_ERROR: &str = "SIGBUS";

/// The fault of a guest that ended so, and left no result in `folder`. Call it while its disks are
/// there.
pub fn of_guest(folder: &Path, end: &End) -> Fault {
    let is_machines = match end {
        // A machine that is too slow looks like this, too.
        End::Silent(_) => true,
        // The library ends itself by SIGABRT, having said why.
        End::Exited(status) => {
            status.signal().is_some_and(|signal| signal != Signal::ABORT.as_raw())
                || virtual_time(folder).is_none()
        }
        End::PastTime(_) | End::Talkative | End::Stopped => false,
    };
    if is_machines { Fault::Machine } else { of_what_is_left(folder) }
}

/// The fault of disks that could not be prepared, or of a trial that never began.
pub fn of_error(error: &Error) -> Fault {
    match error {
        Error::Prepare { kept, .. } => of_what_is_left(kept),
        _ => Fault::Machine,
    }
}

fn of_what_is_left(folder: &Path) -> Fault {
    let console = tail(&folder.join(names::CONSOLE));
    let says = |line: &str| {
        (line.starts_with(OURS) && line.contains(OF_THE_HOST))
            || NO_MEMORY.iter().any(|words| line.contains(words))
    };
    let step = failed_step(folder);
    // Nothing can be said on a full disk.
    let is_full = |place: &Path| check_room("", place, LEAST_ROOM).is_err();
    let disks = folder.join(DISKS);
    if console.lines().any(says)
        || step.is_some_and(|step| step.contains(BUS_ERROR))
        || is_full(folder)
        || (disks.exists() && is_full(&disks))
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
        // A clock that moved.
        std::fs::write(folder.path().join(names::HEARTBEAT), [1; 64]).unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        of_guest(folder.path(), end)
    }

    fn exited(status: i32) -> End {
        End::Exited(ExitStatus::from_raw(status))
    }

    #[test]
    fn what_comes_again_everywhere_is_the_trials() {
        let failed =
            "{\"step\":\"failed\",\"error\":\"measure: fio failed: No space left on device\"}\n";
        assert_eq!(fault(&[(names::STEPS, failed)], &exited(0)), Fault::Trial);
        let panicked =
            (names::CONSOLE, "[ 1.0] Kernel panic - not syncing: sysrq triggered crash\n");
        assert_eq!(fault(&[panicked], &exited(1 << 8)), Fault::Trial);
        let wild = (names::CONSOLE, "disklab: guest: a request with tag 9 of 4\n");
        assert_eq!(fault(&[wild], &exited(Signal::ABORT.as_raw())), Fault::Trial);
        assert_eq!(fault(&[], &End::Talkative), Fault::Trial);
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
        // Its clock never moved.
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(of_guest(folder.path(), &exited(1 << 8)), Fault::Machine);
    }
}
