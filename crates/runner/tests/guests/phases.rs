//! Tests workloads of phases. Each phase takes its time, and repeats are equal. A phase that times
//! out, fails or fills the disks is reported. A reader runs beside a phase, and a spare replaces a
//! disk.

use crate::place;
use crate::repeatable::{run, trials_of};
use crate::startup::{measure, outcomes};
use disklab_config::read::{TomlReader, TomlTable};
use disklab_config::{Array, Lab, Trial, Workload};
use disklab_disks::Op;
use disklab_protocol::closing::{self, Closing};
use disklab_protocol::names;
use disklab_record::{Outcome, Record, Status, compare};
use disklab_trace::TraceEntry;
use libtest_mimic::Trial as Test;

pub fn tests() -> Vec<Test> {
    vec![
        crate::test("phases_take_their_time_and_the_same_again", phases_take_their_time),
        crate::test("a_reader_runs_beside_a_phase", a_reader_runs_beside),
        crate::test("a_phase_that_times_out_is_a_result", a_phase_that_times_out),
        crate::test("a_phase_that_fails_is_told_with_its_words", a_phase_that_fails),
        crate::test("a_phase_fills_its_filesystem_and_says_so", a_full_filesystem),
        crate::test("system_calls_of_a_phase_take_the_time_they_are_given", system_calls_take_time),
        crate::test("fio_of_a_command_keeps_its_rate_and_does_so_again", fio_keeps_its_rate),
        crate::test("phases_that_cannot_be_are_skipped_with_their_reason", phases_that_cannot_be),
        crate::test("a_file_that_a_program_took_is_missed_before_its_phase", a_file_that_was_taken),
        crate::test("a_remount_that_fails_names_its_phase", a_remount_that_fails),
        crate::test("a_spare_takes_the_place_of_a_disk_in_a_phase", a_spare_takes_a_place),
    ]
}

const FILES: &str = r#"
summary = "a file is written and read, a tree searched, all mounted anew"
room = "16 MiB"
[[prepare]]
command = [
    "sh", "-c",
"mkdir {pool}/tree && for i in 1 2 3 4 5 6 7 8; do head -c 8192 /dev/zero >{pool}/tree/$i; done",
]
[[phase]]
name = "create"
filesize = "64 MB"
file = "a"
rw = "write"
bs = "1M"
ioengine = "psync"
[[phase]]
name = "in-turn"
filesize = "8 MiB"
[[phase.job]]
file = "c"
rw = "write"
bs = "1M"
ioengine = "psync"
[[phase.job]]
file = "d"
rw = "write"
bs = "1M"
ioengine = "psync"
stonewall = true
[[phase]]
name = "both"
filesize = "64 MB"
[[phase.job]]
file = "a"
rw = "read"
bs = "1M"
ioengine = "psync"
[[phase.job]]
file = "b"
rw = "randread"
bs = "16k"
ioengine = "libaio"
iodepth = 4
direct = true
[[phase]]
name = "again"
filesize = "32 MiB"
file = "a"
rw = "read"
bs = "1M"
ioengine = "psync"
caches = "warm"
[[phase]]
name = "find"
command = ["sh", "-c", "cat {pool}/tree/* && find {pool} -name 7 | grep tree"]
[[phase]]
name = "mount"
remount = true
[[phase]]
name = "direct"
filesize = "32 MiB"
file = "a"
rw = "write"
bs = "1M"
ioengine = "psync"
direct = true
"#;

/// An array that the lab lacks: only a small part of its two disks is used.
const SMALL: &str = "summary = \"s\"\njoin = \"JOIN\"\npart = \"400 MiB\"\n\
                     devices = [\"constant-50us\", \"constant-50us\"]\nspares = \
                     [\"constant-50us\"]\n";

/// Returns a trial for each array.
fn trials(workload: &str, arrays: &str) -> Vec<Trial> {
    let mut lab = Lab::load(&place::share().lab()).unwrap();
    let read = |table: &TomlTable| Workload::read("phases", table);
    lab.workloads
        .insert("phases".to_owned(), TomlReader::new("phases", workload).read(read).unwrap());
    let catalogue =
        lab.devices.clone().into_iter().map(|(name, device)| (name, Some(device))).collect();
    for (name, join) in [("small-md", "ext4-on-md-raid1"), ("small-btrfs", "btrfs-raid1")] {
        let text = SMALL.replace("JOIN", join);
        let array = TomlReader::new(name, &text)
            .read(|table| Array::read(name, table, &catalogue))
            .unwrap();
        lab.arrays.insert(name.to_owned(), array);
    }
    let suite = format!(
        "question = \"?\"\nseeds = 1\nmemory = \"256 MiB\"\nkernel = \"newest\"\n[axes]\narray = \
         [{arrays}]\n\
         workload = [\"phases\"]\n"
    );
    trials_of(&suite, &lab)
}

/// Returns the outcome of the only trial of a workload with one command.
fn one(phases: &str, array: &str) -> Outcome {
    let text = format!("summary = \"s\"\nroom = \"16 MiB\"\n{phases}");
    outcomes(&trials(&text, &format!("\"{array}\""))).remove(0).0
}

fn closing(record: &Record, outcome: &Outcome) -> Closing {
    let raw = record.raw(outcome).expect("raw output");
    closing::parse(&std::fs::read(raw.join(names::CLOSING)).unwrap()).unwrap()
}

fn phases_take_their_time() {
    let all = trials(FILES, "\"constant-ext4\", \"ssd-raid1\", \"ssd-xfs\"");
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (run(&all, one.path(), 2), run(&all, other.path(), 1));
    assert_eq!(compare(&first, &second).unwrap(), [], "the same bytes");
    let record = Record::open(&first).unwrap();
    for (id, outcome) in record.outcomes() {
        let outcome = outcome.expect("it has run");
        assert_eq!(outcome.status, Status::Ok, "{id}: {:?}", outcome.reason);
        let time = |phase: &str| measure(outcome, &format!("{phase} time")) / 1e9;
        let bytes = |phase: &str| measure(outcome, &format!("{phase} bandwidth")) * time(phase);
        // The size is not a multiple of a request: 62 MiB are written and read.
        let create = f64::from(62 << 20);
        assert!((bytes("create") - create).abs() < 1.0, "{id}: {}", bytes("create"));
        assert!((bytes("in-turn") - f64::from(16 << 20)).abs() < 1.0, "{id}: {}", bytes("in-turn"));
        let both = create + f64::from(3906 * 16384);
        assert!((bytes("both") - both).abs() < 1.0, "{id}: {}", bytes("both"));
        // The data is in memory: no disk is read, and code takes no time.
        assert!(
            time("again") < 1e-3 && time("both") > 5e-3,
            "{id}: {} {}",
            time("again"),
            time("both")
        );
        let copies = if id.contains("raid1") { 2.0 } else { 1.0 };
        let written = measure(outcome, "create written to disks") * time("create");
        assert!((1.0..1.1).contains(&(written / copies / create)), "{id}: {written}");
        assert!(measure(outcome, "both read from disks") * time("both") >= both, "{id}");
        let entries = place::entries(&record.raw(outcome).unwrap());
        let mark = |from: usize, what: &str| {
            let is_mark = |entry: &TraceEntry| match entry {
                TraceEntry::Mark { text, .. } => text.starts_with(what),
                TraceEntry::Served(_) => false,
            };
            from + entries[from..].iter().position(is_mark).expect("a mark")
        };
        let (made, found) = (mark(mark(0, "begin in-turn "), "end"), mark(0, "begin find "));
        let written: u32 = entries[made..found]
            .iter()
            .map(|entry| match entry {
                TraceEntry::Served(request) if request.op == Op::Write => request.sectors,
                _ => 0,
            })
            .sum();
        assert!(written < 2048, "{id}: nobody writes, and fio wrote {written} sectors");
        // Its files are large enough that btrfs does not keep them in its tree, whose root never
        // leaves memory.
        assert!(
            time("mount") > 1e-4 && time("find") > 1e-4,
            "{id}: {} {}",
            time("mount"),
            time("find")
        );
        assert!(!outcome.measures.contains_key("mount bandwidth"), "{:?}", outcome.measures);
        let closing = closing(&record, outcome);
        let phases = &closing.phases;
        let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
        let others: Vec<&str> = names.iter().copied().filter(|name| *name != "again").collect();
        assert_eq!(others, ["create", "in-turn", "both", "find", "mount", "direct"], "{id}");
        // At most the read-ahead of the next part of the file is read.
        let again = closing
            .phase("again")
            .map_or(0, |counts| counts.devices.iter().map(|disk| disk.read_bytes).sum());
        assert!(again < 4 << 20, "{id}: {again}");
        // The disks' phase covers the whole phase, except for fio's work before its first request.
        let disks = phases[2].length().as_secs_f64();
        assert!((time("both") * 0.95..time("both") * 1.001).contains(&disks), "{id}: {disks}");
    }
}

fn a_reader_runs_beside() {
    let text = "[[phase]]\nname = \"copy\"\ncommand = [\"dd\", \"if=/dev/zero\", \"of={pool}/x\", \
        \"bs=1M\", \"count=8\", \"oflag=direct\"]\n\
                [phase.reader]\nfilesize = \"32 MiB\"\nrw = \"randread\"\nbs = \"4k\"\nioengine = \
                \"psync\"\ndirect = true\n";
    let outcome = one(text, "constant-ext4");
    assert_eq!(outcome.status, Status::Ok, "{:?}", outcome.reason);
    // The disk takes 50 us for every request. For written data, ext4 allocates space now and then.
    let [mean, p50, p99] =
        ["mean", "p50", "p99"].map(|name| measure(&outcome, &format!("copy reader {name}")));
    assert!((50e3..200e3).contains(&mean) && p50 >= 49e3 && p99 >= p50, "{mean} {p50} {p99}");
    let iops = measure(&outcome, "copy reader iops");
    assert!((5_000.0..20_100.0).contains(&iops), "{iops}");
    // 8 MiB in pieces of 1 MiB are written in a few milliseconds.
    let said: Vec<String> = outcome.remarks.iter().map(ToString::to_string).collect();
    let few = |remark: &String| {
        remark.starts_with("copy reader p99") && remark.contains(" requests is hardly more than")
    };
    assert!(said.iter().any(few), "{said:?}");
}

fn a_phase_that_times_out() {
    let text = "[[phase]]\nname = \"long\"\ncommand = [\"sh\", \"-c\", \"sleep 1000\"]\nlimit = \
        \"2s\"\n\
                [[phase]]\nname = \"next\"\ncommand = [\"true\"]\n";
    let outcome = one(text, "constant-ext4");
    assert_eq!(outcome.status, Status::Ok, "{:?}", outcome.reason);
    let time = &outcome.measures["long time"];
    assert!(time.censored && (2e9..2.1e9).contains(&time.value), "{time:?}");
    assert!(!outcome.measures.contains_key("next time"), "{:?}", outcome.measures);
    let said = outcome.remarks.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(said, ["long time: timed out after 2 s"]);
}

fn a_phase_that_fails() {
    let text = "[[phase]]\nname = \"bad\"\ncommand = [\"sh\", \"-c\", \"echo one; echo no such \
        luck >&2; exit 3\"]\n";
    let outcome = one(text, "constant-ext4");
    assert_eq!(outcome.status, Status::Failed);
    let reason = outcome.reason.unwrap();
    assert!(reason.contains("phase bad") && reason.contains("no such luck"), "{reason}");
    let outcome = one(
        "[[phase]]\nname = \"bad\"\ncommand = [\"cat\", \"{pool}/nothing\"]\n",
        "constant-ext4",
    );
    assert!(outcome.reason.unwrap().contains("nothing: No such file or directory"));
}

/// Tests files that an earlier phase removed or truncated: fio would make them anew, and read data
/// that nobody wrote.
fn a_file_that_was_taken() {
    let job = "ioengine = \"psync\"\nbs = \"64k\"\nfile = \"a\"\nfilesize = \"4 MiB\"\n";
    let reader = "[phase.reader]\nfilesize = \"4 MiB\"\nrw = \"randread\"\nbs = \"4k\"\nioengine \
        = \"psync\"\n";
    for (command, what, expected) in [
        ("rm {pool}/a", "read", "phase read: `a` does not exist"),
        ("truncate -s 1M {pool}/a", "randwrite", "phase read: `a` has only 1 MiB of the 4 MiB"),
        ("rm {pool}/reader", "read", "phase read: `reader` does not exist"),
    ] {
        let text = format!(
            "[[phase]]\nname = \"create\"\nrw = \"write\"\n{job}[[phase]]\nname = \"take\"\n\
             command = [\"sh\", \"-c\", \"{command}\"]\n[[phase]]\nname = \"read\"\nrw = \
             \"{what}\"\n{job}{reader}"
        );
        let outcome = one(&text, "constant-ext4");
        let reason = outcome.reason.unwrap_or_default();
        assert!(
            outcome.status == Status::Failed && reason.contains(expected),
            "{command}: {reason}"
        );
    }
}

fn a_remount_that_fails() {
    let remount = "[[phase]]\nname = \"again\"\nremount = true\n";
    for (command, expected) in [
        ("umount {pool}", "phase again: unmounting /mnt/pool: "),
        // This mount is unmounted in place of the pool, and the filesystem is already mounted.
        ("mount -t tmpfs none {pool}", "phase again: mounting /dev/vda (ext4) on /mnt/pool with "),
    ] {
        let take = format!(
            "[[phase]]\nname = \"take\"\ncommand = [\"sh\", \"-c\", \"{command}\"]\n{remount}"
        );
        let outcome = one(&take, "constant-ext4");
        let reason = outcome.reason.unwrap_or_default();
        assert!(
            outcome.status == Status::Failed && reason.contains(expected),
            "{command}: {reason}"
        );
    }
}

fn a_full_filesystem() {
    let program = "[[phase]]\nname = \"fill\"\ncommand = [\"dd\", \"if=/dev/zero\", \
        \"of={pool}/x\", \"bs=1M\", \"oflag=direct\"]\n";
    // fio reports the same. The file would fit, but another one has taken the room.
    let job = "rw = \"write\"\nbs = \"1M\"\nioengine = \"psync\"\nzero_buffers = true\n";
    let fio = format!(
        "[[phase]]\nname = \"take\"\ncommand = [\"dd\", \"if=/dev/zero\", \"of={{pool}}/x\", \
         \"bs=1M\", \"count=200\"]\n\
         [[phase]]\nname = \"fill\"\nfile = \"a\"\nfilesize = \"300 MiB\"\n{job}"
    );
    for (phases, array) in [(program, "small-md"), (program, "small-btrfs"), (&fio, "small-md")] {
        let outcome = one(phases, array);
        assert_eq!(outcome.status, Status::Failed, "{array}");
        let reason = outcome.reason.unwrap();
        assert!(
            reason.contains("phase fill") && reason.contains("No space left on device"),
            "{array}: {reason}"
        );
    }
}

fn system_calls_take_time() {
    let text = "[[phase]]\nname = \"loop\"\ncommand = [\"dd\", \"if=/dev/zero\", \
        \"of=/dev/null\", \"bs=1\", \"count=1000\"]\n";
    let free = measure(&one(text, "constant-ext4"), "loop time");
    let outcome = one(&format!("system_call = \"10us\"\n{text}"), "constant-ext4");
    let time = measure(&outcome, "loop time");
    // Each iteration is a read and a write.
    assert!(
        (20e6..30e6).contains(&(time - free)),
        "{free} ns, then {time} ns: {:?}",
        outcome.reason
    );
}

/// Tests that fio keeps its rate. By default, fio takes the processor's counter for its clock.
fn fio_keeps_its_rate() {
    let fio = |name: &str, more: &str| {
        format!(
            "[[phase]]\nname = \"{name}\"\ncommand = [\"fio\", \"--name=rated\", \
             \"--directory={{pool}}\", \"--size=8M\", \"--rw=randread\", \"--bs=4k\", \
             \"--direct=1\", \"--ioengine=psync\", \"--rate_iops=100\", \"--time_based\", \
             \"--runtime=4\", \"--randrepeat=1\"{more}]\n"
        )
    };
    let text = format!(
        "summary = \"s\"\nroom = \"16 MiB\"\n{}{}{}",
        fio("write", ", \"--create_only=1\""),
        fio("counter", ", \"--clocksource=cpu\""),
        fio("own-choice", ""),
    );
    let all = trials(&text, "\"constant-ext4\"");
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (run(&all, one.path(), 1), run(&all, other.path(), 1));
    assert_eq!(compare(&first, &second).unwrap(), [], "the same bytes");
    let record = Record::open(&first).unwrap();
    let (_, outcome) = record.outcomes().into_iter().next().unwrap();
    let outcome = outcome.expect("it has run");
    for phase in ["counter", "own-choice"] {
        let time = measure(outcome, &format!("{phase} time")) / 1e9;
        // fio measures its clock for 64 ms before the 4 s begin.
        assert!((4.0..4.3).contains(&time), "{phase}: {time} s");
        let bytes = measure(outcome, &format!("{phase} read from disks")) * time;
        let requests = bytes / 4096.0;
        assert!((396.0..410.0).contains(&requests), "{phase}: {requests} requests");
    }
}

/// The first of two arrays is too small. A missing program affects only the trials that need it.
fn phases_that_cannot_be() {
    let read = "[[phase]]\nname = \"read\"\nfile = \"a\"\nfilesize = \"1 GiB\"\nrw = \
        \"randread\"\nbs = \"4k\"\nioengine = \"psync\"\n\
                limit = \"1s\"\n";
    let text = |needs: &str| format!("summary = \"s\"\nneeds = [{needs}]\n{read}");
    let statuses = |needs: &str| {
        let all = outcomes(&trials(&text(needs), "\"small-md\", \"constant-ext4\""));
        [0, 1].map(|id: usize| (all[id].0.status, all[id].0.reason.clone().unwrap_or_default()))
    };
    let [small, large] = statuses("\"sh\"");
    assert_eq!((small.0, large.0), (Status::Skipped, Status::Ok), "{} {}", small.1, large.1);
    assert!(
        small.1.contains("its files of 1 GiB together are larger than array `small-md` holds"),
        "{}",
        small.1
    );
    for (status, reason) in statuses("\"sh\", \"no-such-program\"") {
        assert_eq!(status, Status::Skipped);
        assert!(reason.contains("not installed here: no-such-program"), "{reason}");
    }
}

/// A spare replaces a disk in both ways, with a reader beside it.
fn a_spare_takes_a_place() {
    let reader = "[phase.reader]\nfilesize = \"32 MiB\"\nrw = \"randread\"\nbs = \"4k\"\nioengine \
        = \"psync\"\ndirect = true\nrate = \"2 MB/s\"\n";
    let md = format!(
        "[[phase]]\nname = \"fail\"\ncommand = [\"sh\", \"-c\", \"mdadm {{device}} --fail \
         {{last}} && mdadm {{device}} --remove {{last}} && echo 1000000 \
         >/proc/sys/dev/raid/speed_limit_min\"]\n\
         [[phase]]\nname = \"rebuild\"\ncommand = [\"sh\", \"-c\", \"mdadm {{device}} --add \
         {{spare}} && while [ $(cat /sys/block/md0/md/degraded) != 0 ]; do sleep 0.1; \
         done\"]\n{reader}"
    );
    let btrfs = format!(
        "[[phase]]\nname = \"fail\"\ncommand = [\"sh\", \"-c\", \"umount {{pool}} && btrfs device \
         scan --forget && mount -t btrfs -o degraded {{device}} {{pool}}\"]\n\
         [[phase]]\nname = \"rebuild\"\ncommand = [\"btrfs\", \"replace\", \"start\", \"-B\", \
         \"2\", \"{{spare}}\", \"{{pool}}\"]\n{reader}"
    );
    for (text, array) in [(md, "small-md"), (btrfs, "small-btrfs")] {
        let outcome = one(&text, array);
        assert_eq!(outcome.status, Status::Ok, "{array}: {:?}", outcome.reason);
        let written =
            measure(&outcome, "rebuild written to disks") * measure(&outcome, "rebuild time") / 1e9;
        assert!(written > f64::from(32 << 20), "{array}: {written}");
        assert!(measure(&outcome, "rebuild reader p99") >= 49e3, "{array}");
    }
}
