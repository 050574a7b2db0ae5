//! Tests the first process of a trial on this machine, with plans that no run would make. It must
//! check the disks itself before it writes, and programs that it starts must have nothing of the
//! machine to write. The tests need root, and use loop devices.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use disklab_block_devices::{Disk, Journal};
use disklab_config::background::Trees;
use disklab_config::startup::{EntryKind, StartupEntry};
use disklab_guest::real_machine::RealMachine;
use disklab_protocol::action::{
    Action, DropCaches, MakeEntries, Plan, Program, Release, WriteFiles,
};
use disklab_protocol::measure::{Measure, Measured, StartupWay};
use disklab_units::{Bytes, Seed};

use crate::loops::{LoopDisk, loops};
use crate::on_host::made_and_mounted;

/// Runs the plan. Returns whether it succeeded, and its steps with their messages.
fn first(here: &Path, plan: &Plan, machine: &RealMachine) -> (bool, String) {
    let folder = here.join("trial");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("plan.json"), serde_json::to_vec(plan).expect("plain data"))
        .expect("a file");
    fs::write(folder.join("host.json"), serde_json::to_vec(machine).expect("plain data"))
        .expect("a file");
    let done =
        Command::new(env!("CARGO_BIN_EXE_disklab")).arg("host-init").current_dir(&folder).output();
    let done = done.expect("it starts");
    let steps = fs::read_to_string(folder.join("guest.jsonl")).unwrap_or_default();
    (done.status.success(), format!("{steps}{}", String::from_utf8_lossy(&done.stderr)))
}

fn machine(loops: &[LoopDisk], journal: &Journal) -> RealMachine {
    RealMachine {
        disks: loops.iter().map(|disk| Disk::find(&disk.path).expect("it is there")).collect(),
        name: "disklab-test".to_owned(),
        trace: false,
        journal: journal.path().to_owned(),
        overwrite: None,
        at: None,
    }
}

#[test]
fn what_holds_something_by_now_is_not_made_anew() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    let journal = Journal::create(&here.join("state"), here).expect("a journal");
    let disk = loops[0].path.display().to_string();
    // Another program has made this filesystem since the run checked.
    let made = Command::new("mkfs.ext4").args(["-q", "-F", "-L", "precious", &disk]).status();
    assert!(made.expect("mkfs.ext4").success());
    let run = |step: &str, words: [&str; 4]| {
        let command = words.map(str::to_owned).to_vec();
        Action::Run(Program { step: step.to_owned(), command })
    };
    let plan = Plan::new([
        Action::Release(Release {}),
        run("wipe", ["wipefs", "--all", "--quiet", &disk]),
        run("mkfs", ["mkfs.xfs", "-q", "-f", &disk]),
    ]);
    let made = |overwrite: Vec<PathBuf>| {
        let overwrite = Some(overwrite);
        first(here, &plan, &RealMachine { overwrite, ..machine(&loops, &journal) })
    };
    let (well, said) = made(Vec::new());
    assert!(
        !well && said.contains("ext filesystem") && !said.contains("\"step\":\"mkfs\""),
        "{said}"
    );
    let kind = || {
        let out = Command::new("wipefs").args(["--noheadings", "--output", "TYPE", &disk]).output();
        String::from_utf8_lossy(&out.expect("wipefs").stdout).trim().to_owned()
    };
    assert_eq!(kind(), "ext4");
    // A disk in use is refused, even if its data may be lost.
    let place = here.join("mounted");
    fs::create_dir(&place).expect("a folder");
    assert!(Command::new("mount").arg(&disk).arg(&place).status().expect("mount").success());
    let (well, said) = made(vec![loops[0].path.clone()]);
    assert!(Command::new("umount").arg(&place).status().expect("umount").success());
    assert!(!well && said.contains("refuses exclusive access to it"), "{said}");
    // Old signatures are removed first, since some are at places that no mkfs writes. Until it
    // ends, a namespace that another test began meanwhile holds the mount.
    let asked = Instant::now();
    let (well, said) = loop {
        let (well, said) = made(vec![loops[0].path.clone()]);
        let is_elsewhere = said.contains("it is mounted, perhaps elsewhere");
        if !is_elsewhere || asked.elapsed() > Duration::from_secs(60) {
            break (well, said);
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(well && said.contains("\"step\":\"wipe\""), "{said}");
    assert_eq!(kind(), "xfs");
}

#[test]
fn what_starts_can_write_nothing_of_the_machine() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    let journal = Journal::create(&here.join("state"), here).expect("a journal");
    let place = here.join("mounted");
    let _mounted = made_and_mounted(&["mkfs.ext4", "-q"], &loops, &place);
    let file = format!("/sys/block/{}/queue/nr_requests", loops[0].name());
    let script = format!(
        "echo in /dev are /dev/*; echo > /dev/null || echo BROKEN; test -r {file} || echo UNREAD
        for file in {file} /proc/sys/vm/laptop_mode /dev/new; do \
         (echo 1 > $file) 2>/dev/null && echo WROTE $file; done; true"
    );
    let needs = Command::new("ldd").arg("/bin/sh").output().expect("ldd");
    let needs = String::from_utf8_lossy(&needs.stdout).into_owned();
    let libraries = needs.split_whitespace().filter(|word| word.starts_with('/'));
    let files: Vec<StartupEntry> = ["/bin/sh"]
        .into_iter()
        .chain(libraries)
        .map(|path| StartupEntry { path: path.to_owned(), kind: EntryKind::File(Bytes(1)) })
        .collect();
    let way = StartupWay::Program {
        command: ["/bin/sh", "-c", &script].map(str::to_owned).to_vec(),
        entries: files.clone(),
        environment: Vec::new(),
        server: Vec::new(),
    };
    let plan = Plan::new([
        Action::MakeEntries(MakeEntries {
            modified: Some(vec![0; files.len()]),
            all: files,
            contents: Some(Seed(1)),
        }),
        Action::DropCaches(DropCaches { reread: None }),
        Action::Measure(Measure {
            what: Measured::Startup { way, limit_ns: 20_000_000_000 },
            phase: "measure".to_owned(),
            ramp_ns: 0,
            sync_every_ns: None,
        }),
    ]);
    let at = Some(place.clone());
    let (well, said) = first(here, &plan, &RealMachine { at, ..machine(&loops, &journal) });
    assert!(well && said.contains("\"after\""), "{said}");
    let devices = said
        .split("in /dev are ")
        .nth(1)
        .and_then(|rest| rest.split(['\\', '"']).next())
        .expect("what it saw");
    let names = ["full", "null", "ptmx", "pts", "random", "shm", "tty", "urandom", "zero"];
    assert_eq!(
        devices.split(' ').collect::<Vec<_>>(),
        names.map(|name| format!("/dev/{name}")),
        "{said}"
    );
    for word in ["WROTE", "BROKEN", "UNREAD"] {
        assert!(
            !said.contains(&format!("{word} ")) && !said.contains(&format!("{word}\\n")),
            "{said}"
        );
    }
}

/// Drives and filesystems that compress make zeroes cheap.
#[test]
fn what_is_laid_out_is_drawn() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let Some((loops, _)) = loops(here, 1) else { return };
    let journal = Journal::create(&here.join("state"), here).expect("a journal");
    let place = here.join("mounted");
    let _mounted = made_and_mounted(&["mkfs.btrfs", "-q"], &loops, &place);
    let entry =
        StartupEntry { path: "/usr/bin/program".to_owned(), kind: EntryKind::File(Bytes::mib(1)) };
    let trees = Trees { count: 1, files: 4, file_size: Bytes::mib(1), fragment: Bytes(16_384) };
    let contents = Some(Seed(1));
    let plan = Plan::new([
        Action::WriteFiles(WriteFiles { files: Vec::new(), trees: Some(trees), contents }),
        Action::MakeEntries(MakeEntries { all: vec![entry], modified: None, contents }),
    ]);
    let at = Some(place.clone());
    let (well, said) = first(here, &plan, &RealMachine { at, ..machine(&loops, &journal) });
    assert!(well, "{said}");
    let mut pieces = std::collections::BTreeSet::new();
    for file in ["root/usr/bin/program", "trees/0/0", "trees/0/3"] {
        let mut all = Vec::new();
        fs::File::open(place.join(file))
            .and_then(|mut file| file.read_to_end(&mut all))
            .expect(file);
        assert_eq!(all.len(), 1 << 20, "{file}");
        pieces.extend(all.chunks(16_384).map(<[u8]>::to_vec));
    }
    assert_eq!(pieces.len(), 3 * 64, "a drive that finds equal blocks has none to find");
}
