//! Records the state of a guest that hangs, before it is killed.

use disklab_protocol::names;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files of `/proc/PID` that show what a process does. Some of them are readable for root or a
/// tracer only.
const STATE: [&str; 7] = ["cmdline", "status", "schedstat", "wchan", "syscall", "stack", "maps"];
/// Number of `futex(2)`, with which User Mode Linux and its processes wait for each other.
const FUTEX: &str = "202";

/// Writes [`names::STALLED`] in a trial's folder: the heartbeat, and the state of each process in
/// the group of `leader`. Two records at different times distinguish a waiting process from one in
/// a loop.
pub fn keep(folder: &Path, leader: u32) {
    let mut text = String::new();
    for look in 1..=2 {
        let beat = disklab_files::read(&folder.join(names::HEARTBEAT), &disklab_files::TRIAL)
            .unwrap_or_default();
        let words = beat.chunks_exact(8).take(8).map(|word| {
            let word = word.try_into().map(u64::from_le_bytes);
            word.map_or_else(|_| "?".to_owned(), |word| word.to_string())
        });
        let _ = writeln!(text, "== look {look}, heartbeat {}", words.collect::<Vec<_>>().join(" "));
        for process in group(leader) {
            describe(&process, &mut text);
        }
        if look == 1 {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    // The caller reports a full disk when it judges the trial.
    let _ = fs::write(folder.join(names::STALLED), text);
}

/// Least share of a processor of a guest that hangs. A guest with a smaller share that can run is
/// waiting for other programs.
const LEAST_SHARE: u32 = 20;

/// Returns true if this machine is too busy to tell whether the guest hangs: a process of the group
/// can run, and all of them together took only little processor time since they had taken `taken`,
/// `since` ago or more. A guest in a loop takes enough time sooner or later.
pub fn waits_for_a_processor(leader: u32, taken: Option<Duration>, since: Duration) -> bool {
    let can_run = |process: &PathBuf| {
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, after)| after.starts_with('R'))
    };
    let Some(taken) = taken else { return false };
    let now = processor_time(leader);
    // A guest has used some processor time, if the kernel counts it.
    now > Duration::ZERO
        && now.saturating_sub(taken) < since / LEAST_SHARE
        && group(leader).iter().any(can_run)
}

/// Returns the processor time of all processes of a group, or 0 if the kernel does not count it.
pub fn processor_time(leader: u32) -> Duration {
    let taken = |process: PathBuf| {
        let times = fs::read_to_string(process.join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    };
    group(leader).into_iter().filter_map(taken).sum()
}

/// Lists the folders in `/proc` of the processes of a group.
fn group(leader: u32) -> Vec<PathBuf> {
    let is_member = |path: &PathBuf| {
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        // The name may contain spaces and brackets; state, parent and group follow it.
        let after = stat.rsplit_once(')').map(|(_, after)| after);
        let group = after.and_then(|after| after.split_whitespace().nth(2));
        group.is_some_and(|group| group == leader.to_string())
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut processes: Vec<PathBuf> = all.map(|entry| entry.path()).filter(is_member).collect();
    processes.sort();
    processes
}

fn describe(process: &Path, text: &mut String) {
    let _ = writeln!(text, "-- {}", process.display());
    for name in STATE {
        let _ = match fs::read(process.join(name)) {
            Ok(found) => {
                let found = String::from_utf8_lossy(&found).replace('\0', " ");
                writeln!(text, "{name}: {}", found.trim_end())
            }
            Err(error) => writeln!(text, "{name}: {error}"),
        };
    }
    if let Some((place, word)) = awaited(process) {
        let _ = writeln!(text, "futex at {place:#x}: {word}");
    }
}

/// Returns address and value of the word that a process waits for.
fn awaited(process: &Path) -> Option<(u64, u32)> {
    let call = fs::read_to_string(process.join("syscall")).ok()?;
    let mut words = call.split_whitespace();
    let place = words.next().filter(|number| *number == FUTEX).and(words.next())?;
    let place = u64::from_str_radix(place.strip_prefix("0x")?, 16).ok()?;
    let mut word = [0; 4];
    File::open(process.join("mem")).ok()?.read_exact_at(&mut word, place).ok()?;
    Some((place, u32::from_le_bytes(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    /// The group can run all the time, so that only its processor time decides.
    #[test]
    fn a_group_that_goes_round_is_told_from_one_without_a_processor() {
        let mut leader = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .process_group(0)
            .spawn()
            .unwrap();
        let id = leader.id();
        while processor_time(id) < Duration::from_millis(50) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let none = Some(Duration::ZERO);
        assert!(!waits_for_a_processor(id, none, Duration::from_millis(500)), "it took enough");
        assert!(waits_for_a_processor(id, none, Duration::from_secs(3600)), "it took too little");
        assert!(!waits_for_a_processor(id, None, Duration::from_secs(3600)));
        let pid = rustix::process::Pid::from_child(&leader);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waits_for_a_processor(id, none, Duration::from_secs(3600)), "it is stopped");
        rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).unwrap();
        leader.wait().unwrap();
    }

    #[test]
    fn every_process_of_the_group_is_described() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(names::HEARTBEAT), [7u64.to_le_bytes(), [0; 8]].concat())
            .unwrap();
        let mut leader = Command::new("sh")
            .args(["-c", "sleep 1000 & exec sleep 1001"])
            .process_group(0)
            .spawn()
            .unwrap();
        // Both processes need some time to reach their state.
        for _ in 0..500 {
            let is_there = |path: PathBuf| {
                fs::read(path.join("cmdline")).is_ok_and(|line| line.starts_with(b"sleep"))
            };
            if group(leader.id()).into_iter().filter(|path| is_there(path.clone())).count() == 2 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        keep(folder.path(), leader.id());
        let pid = rustix::process::Pid::from_child(&leader);
        rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).unwrap();
        leader.wait().unwrap();
        let text = fs::read_to_string(folder.path().join(names::STALLED)).unwrap();
        for words in ["look 2, heartbeat 7 0", "cmdline: sleep 1000", "cmdline: sleep 1001"] {
            assert!(text.contains(words), "{words} is not in {text}");
        }
        assert_eq!(text.matches("\nstatus: Name:").count(), 4, "{text}");
        assert_eq!(text.matches("\nwchan: ").count(), 4, "{text}");
    }
}
