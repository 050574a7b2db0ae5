//! Tests programs with deadlines, readers of a filesystem, schedulers, and the lab's background
//! programs.

use crate::place;
use crate::startup::{lab_trials, measure, outcomes};
use disklab_config::read::{TomlReader, TomlTable};
use disklab_config::{Lab, Trial, Workload};
use disklab_record::{Outcome, Status};
use libtest_mimic::Trial as Test;

pub fn tests() -> Vec<Test> {
    vec![
        crate::test("frames_come_in_time_or_are_lost", frames_come_in_time_or_are_lost),
        crate::test("raw_readers_have_one_window", raw_readers_have_one_window),
        crate::test("a_scheduler_heeds_priorities", a_scheduler_heeds_priorities),
        crate::test("real_programs_run_beside", real_programs_run_beside),
    ]
}

/// Returns trials of the lab with additional workloads.
fn trials(workloads: &[(&str, String)], axes: &str) -> Vec<Trial> {
    let mut lab = Lab::load(&place::share().lab()).unwrap();
    for (name, text) in workloads {
        let read = |table: &TomlTable| Workload::read(name, table);
        lab.workloads.insert((*name).to_owned(), TomlReader::new(name, text).read(read).unwrap());
    }
    lab_trials(&lab, axes)
}

fn film(frames: u32, rate: &str, rw: &str) -> String {
    format!(
        "summary = \"a film\"\nfilesize = \"600 MiB\"\n[player]\nframes = {frames}\nrate = \
         \"{rate}\"\nrw = \"{rw}\"\nbs = \"64k\"\n"
    )
}

fn frames_come_in_time_or_are_lost() {
    // The disk reads at most 125 MB/s, and needs some ms to reach another place.
    let films = [
        ("slow", film(25, "2 MB/s", "read")),
        ("fast", film(25, "250 MB/s", "read")),
        ("game", film(500, "31250 kB/s", "randread")),
    ];
    let all = trials(&films, "array = [\"bfq-hdd\"]\nworkload = [\"slow\", \"fast\", \"game\"]");
    let (first, again) = (outcomes(&all), outcomes(&all));
    let numbers = |outcome: &Outcome| {
        ["first frame", "frames lost", "frames late", "longest stall"]
            .map(|name| measure(outcome, name))
    };
    for ((one, _), (other, _)) in first.iter().zip(&again) {
        assert_eq!(numbers(one).map(f64::to_bits), numbers(other).map(f64::to_bits));
    }
    let [(slow, _), (fast, _), (game, steps)] = &first[..] else { panic!("three trials") };
    let [begun, lost, late, stall] = numbers(slow);
    assert!((1e6..100e6).contains(&begun), "{begun} ns");
    assert_eq!((lost, late, stall), (0.0, 0.0, 0.0), "{:?}", slow.measures);
    // Half of the film can be read in time. Late data is lost, and from some moment on all of it.
    let [_, lost, _, stall] = numbers(fast);
    assert!(lost > 40.0 && stall > 0.5e9, "{:?}", fast.measures);
    // The game reads a place each 2 ms. Most reads are too late, and the others still come, since
    // nothing waits for lost ones.
    let [_, lost, _, stall] = numbers(game);
    assert!((50.0..100.0).contains(&lost) && stall < 1e9, "{:?}", game.measures);
    let played = &steps.iter().find(|step| step["step"] == "player").unwrap()["played"];
    assert_eq!(played["due"].as_u64(), Some(1000), "{played}");
}

fn raw_readers_have_one_window() {
    let readers = "summary = \"raw\"\nfilesize = \"64 MiB\"\nown_files = true\nraw = true\nrw = \
        \"read\"\nbs = \"64k\"\n\
                   ioengine = \"psync\"\nnumjobs = 3\n";
    let axes =
        "array = [\"bfq-ssd\", \"single-constant\"]\nworkload = [\"raw\"]\nscheduler = [\"none\"]";
    for (outcome, _) in outcomes(&trials(&[("raw", readers.to_owned())], axes)) {
        assert_eq!(outcome.status, Status::Ok, "{:?}", outcome.reason);
        let read = measure(&outcome, "read from disks");
        // The sum is no more than fio's readers had, since the window is no longer than their run
        // time.
        let fio = outcome.sample.as_ref().unwrap().read.as_ref().unwrap().bw_bytes as f64;
        assert!(read > 10e6 && read < 1.3 * fio, "disks {read}, fio {fio}");
    }
}

fn a_scheduler_heeds_priorities() {
    let reader = |more: &str| {
        format!(
            "summary = \"one\"\nfilesize = \"64 MiB\"\nrw = \"randread\"\nbs = \"4k\"\nioengine = \
             \"psync\"\ndirect = true\n{more}"
        )
    };
    let readers = [
        ("plain", reader("")),
        ("heavy", reader("weight = 1000\n")),
        ("light", reader("weight = 10\n")),
        ("idle", reader("ioprio = \"idle\"\n")),
        ("beside", reader("numjobs = 4\n")),
    ];
    // bfq favours new queues, whatever their weight. The suite turns that off.
    let axes = "array = [\"bfq-hdd\"]\nworkload = [\"plain\", \"heavy\", \"light\", \
        \"idle\"]\nbackground = [\"beside\"]\n\
                scheduler = [\"bfq:low_latency=0\"]";
    let all = outcomes(&trials(&readers, axes));
    let iops: Vec<f64> =
        all.iter().map(|(outcome, _)| outcome.sample.as_ref().unwrap().iops).collect();
    let [plain, heavy, light, idle] = iops[..] else { panic!("four trials") };
    assert!(
        heavy > 1.2 * plain && plain > 1.2 * light,
        "heavy {heavy}, plain {plain}, light {light}"
    );
    assert!(idle < plain / 2.0, "plain {plain}, idle {idle}");
}

fn real_programs_run_beside() {
    let axes = |array: &str, backgrounds: &str| {
        format!("array = [\"{array}\"]\nworkload = [\"login-shell\"]\nbackground = [{backgrounds}]")
    };
    for (array, backgrounds) in [
        ("bfq-ssd", "\"bursts\", \"git-checkout\", \"package\", \"copy\""),
        ("ssd-raid1", "\"scrub\""),
        ("hdd-md-raid1-ext4", "\"md-check\""),
    ] {
        for (outcome, steps) in outcomes(&trials(&[], &axes(array, backgrounds))) {
            assert_eq!(outcome.status, Status::Ok, "{}: {:?}", outcome.trial, outcome.reason);
            let beside = steps.iter().find(|step| step["step"] == "background").expect("it ran");
            assert_eq!(beside["stopped"].as_bool(), Some(true), "{beside}");
        }
    }
}
