//! Tests backgrounds: a background runs during the whole measurement and does its work, and a trial
//! whose background was missing is no result. Also tests several jobs, and reads and writes apart.

use crate::place::{self, TestGuest};
use crate::repeatable::{run, summary_on, trials_of};
use disklab_config::background;
use disklab_config::read::TomlReader;
use disklab_config::{Lab, Trial};
use disklab_protocol::action::{Action, Pids, RepeatedProgram, StartBackground};
use disklab_protocol::names;
use disklab_record::outcome::Fault;
use disklab_record::{Record, Status, compare};
use disklab_results::Sample;
use disklab_runner::Installation;
use disklab_units::Nanos;
use libtest_mimic::Trial as Test;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

pub fn tests() -> Vec<Test> {
    vec![
        crate::test("a_background_runs_all_the_time", a_background_runs_all_the_time),
        crate::test("a_background_whose_trees_are_used_up", a_background_whose_trees_are_used_up),
        crate::test("a_background_that_fails", a_background_that_fails),
        crate::test("a_background_that_takes_no_time", a_background_that_takes_no_time),
        crate::test("a_background_that_is_missing", a_background_that_is_missing),
        crate::test("a_background_that_attacks_its_trial", attacks_its_trial),
        crate::test("defrag_moves_data", defrag_moves_data),
        crate::test("a_background_may_open_the_test_file_first", opens_the_test_file_first),
        crate::test("pids_beside_a_background_are_a_matter_of_luck", pids_beside_a_background),
        crate::test(
            "jobs_have_pids_and_offsets_of_their_own",
            jobs_have_pids_and_offsets_of_their_own,
        ),
        crate::test("reads_and_writes_are_told_apart", reads_and_writes_are_told_apart),
    ]
}

/// Makes a guest that measures a second of sleep, beside a program that begins 50 ms earlier.
fn beside(command: &[&str], trees: Option<u32>) -> TestGuest {
    let mut place = TestGuest::shell("sleep 1");
    let process = RepeatedProgram {
        command: command.iter().map(|&word| word.to_owned()).collect(),
        trees,
        pause_ns: 0,
    };
    place.background = Some(StartBackground {
        lead_ns: 50_000_000,
        processes: vec![process],
        ..StartBackground::default()
    });
    place
}

fn reason(place: &TestGuest) -> String {
    let reason = place.run().expect_err("this should have failed");
    assert_eq!(place.processes(), Vec::<String>::new(), "processes are left after: {reason}");
    reason
}

/// Returns the steps of a kind that a guest's first process wrote.
fn steps(folder: &Path, kind: &str) -> Vec<Value> {
    let steps = std::fs::read_to_string(folder.join(names::STEPS)).unwrap();
    let steps = steps.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    steps.filter(|step| step["step"] == kind).collect()
}

fn a_background_runs_all_the_time() {
    let place = beside(&["sh", "-c", "echo a word; sleep 0.1"], None);
    place.run().unwrap();
    let [step] = &steps(place.folder.path(), "background")[..] else { panic!("one program") };
    // 1.05 s are ten complete runs and half of another.
    assert_eq!(
        (step["passes"].as_u64(), step["stopped"].as_bool()),
        (Some(10), Some(true)),
        "{step}"
    );
    let ran = step["ran_ns"].as_u64().unwrap();
    assert!((1_050_000_000..1_100_000_000).contains(&ran), "{ran}");
    assert_eq!(step["status"], "signal: 15 (SIGTERM)");
    assert_eq!(step["said"].as_str().unwrap().lines().count(), 11, "{step}");
    assert_eq!(place.processes(), Vec::<String>::new());
}

fn a_background_whose_trees_are_used_up() {
    let reason = reason(&beside(&["sh", "-c", "sleep 0.1; : {tree}"], Some(3)));
    assert!(
        reason.starts_with(
            "background: all 3 trees are used up; raise `count` in the background's file; it had \
             run for 3"
        ),
        "{reason}"
    );
    assert!(reason.contains("less than the measurement"), "{reason}");
}

fn a_background_that_fails() {
    let place = beside(&["sh", "-c", "sleep 0.1; echo why; exit 3"], None);
    let reason = reason(&place);
    assert!(reason.starts_with("background: sh failed (exit status: 3): why;"), "{reason}");
    assert_eq!(steps(place.folder.path(), "background")[0]["stopped"], false);
    // The background ends before the measurement, so that nothing is measured at all.
    let place = beside(&["sh", "-c", "exit 4"], None);
    let reason = self::reason(&place);
    assert!(
        reason.starts_with("background: sh failed (exit status: 4): it printed nothing;"),
        "{reason}"
    );
    assert!(reason.ends_with("and the measurement had not begun"), "{reason}");
    assert_eq!(steps(place.folder.path(), "measure").len(), 0);
}

fn a_background_that_takes_no_time() {
    let reason = reason(&beside(&["true"], None));
    assert!(
        reason.starts_with("background: the program ended at once, and would do so each time;"),
        "{reason}"
    );
}

fn a_background_that_is_missing() {
    let reason = reason(&beside(&["no-such-program"], None));
    assert!(
        reason.starts_with("background: no-such-program cannot be run: No such file"),
        "{reason}"
    );
}

const WORKLOADS: [(&str, &str); 2] = [
    (
        "read",
        "summary = \"random reads\"\nrw = \"randread\"\nbs = \"4k\"\nfilesize = \"128 \
         MiB\"\nioengine = \"libaio\"\n\
         iodepth = 1\ndirect = true\nnorandommap = true\n",
    ),
    (
        "both",
        "summary = \"reads and writes\"\nrw = \"randrw\"\nbs = \"16k\"\nfilesize = \"128 \
         MiB\"\nioengine = \"libaio\"\n\
         iodepth = 4\ndirect = true\nnorandommap = true\nrefill_buffers = true\nrwmixread = 70\n",
    ),
];

/// Gives the lab's defragmentation fewer trees, which suffice for a shorter measurement.
fn small_defrag(lab: &mut Lab) {
    let defrag = lab.backgrounds.get_mut("defrag").unwrap();
    defrag.trees = Some(background::Trees { count: 6, ..defrag.trees.unwrap() });
}

fn trials(axes: &str) -> Vec<Trial> {
    let suite = format!(
        "question = \"?\"\nseeds = 1\nmemory = \"256 MiB\"\nkernel = \"newest\"\n\
         runtime = {{ rotational = \"3s\", solid_state = \"20ms\" }}\n[axes]\n{axes}\n"
    );
    let mut lab = Lab::load(&place::share().lab()).unwrap();
    small_defrag(&mut lab);
    for (name, text) in WORKLOADS {
        let read =
            |table: &disklab_config::read::TomlTable| disklab_config::Workload::read(name, table);
        lab.workloads.insert(name.to_owned(), TomlReader::new(name, text).read(read).unwrap());
    }
    trials_of(&suite, &lab)
}

/// Returns the sample of a trial, by a part of its id.
fn sample<'a>(record: &'a Record, part: &str) -> &'a Sample {
    let line = record.lines().iter().find(|line| line.trial.contains(part)).expect(part);
    assert_eq!(line.remarks.iter().filter(|remark| remark.voids()).count(), 0);
    line.sample.as_ref().unwrap()
}

fn moved(sample: &Sample) -> (u64, u64) {
    let sum = |of: fn(&disklab_results::sample::DeviceSample) -> u64| {
        sample.devices.iter().map(of).sum::<u64>()
    };
    (sum(|disk| disk.read_bytes), sum(|disk| disk.write_bytes))
}

/// Disks of both kinds give the same result again.
fn defrag_moves_data() {
    let trials = trials(
        "array = [\"hdd-raid1\", \"ssd-raid10\"]\nbackground = [\"none\", \"defrag\"]\nworkload = \
         [\"read\"]",
    );
    let places = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (first, second) = (run(&trials, places[0].path(), 1), run(&trials, places[1].path(), 2));
    let differences: Vec<String> =
        compare(&first, &second).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(differences, Vec::<String>::new());
    let record = Record::open(&first).unwrap();
    for array in ["hdd-raid1", "ssd-raid10"] {
        let (without, with) = (
            sample(&record, &format!("{array}+none")),
            sample(&record, &format!("{array}+defrag")),
        );
        let (read, written) = moved(with);
        assert_eq!(moved(without).1, 0, "{array}: a load that only reads");
        // Defragmentation writes the data that it reads, to both mirrors.
        assert!(
            read > moved(without).0 / 2 && written > 1 << 20,
            "{array}: {read} read, {written} written"
        );
        assert!(with.iops < without.iops * 0.9, "{array}: {} and {} IOPS", without.iops, with.iops);
        let line = record
            .lines()
            .iter()
            .find(|line| line.trial.contains(&format!("{array}+defrag")))
            .unwrap();
        let [step] = &steps(&record.raw(line).unwrap(), "background")[..] else {
            panic!("one program")
        };
        assert_eq!(step["stopped"], true, "{step}");
    }
}

/// A background's program is root in the guest. What it leaves fails its own trial alone, and it
/// cannot change the trial's virtual time.
fn attacks_its_trial() {
    let outcomes = |script: &str| {
        let mut trials = trials(
            "array = [\"ssd-raid10\"]\nbackground = [\"none\", \"defrag-pool\"]\nworkload = \
             [\"read\"]",
        );
        for background in trials.iter_mut().filter_map(|trial| trial.background.as_mut()) {
            background.lead.solid_state = Nanos::from_millis(10);
            background.processes[0].command =
                ["sh", "-c", &format!("cd /mnt/trial; {script}; sleep 9")]
                    .map(str::to_owned)
                    .into();
        }
        let place = tempfile::tempdir().unwrap();
        let (_, folder) = summary_on(
            place::kernel(),
            &Installation::find().unwrap(),
            &place::cache(),
            &trials,
            place.path(),
            1,
        );
        let lines = Record::open(&folder).unwrap().lines().to_vec();
        let of = |part: &str| lines.iter().find(|line| line.trial.contains(part)).unwrap().clone();
        let (alone, attacked) = (of("+none"), of("+defrag-pool"));
        assert_eq!((alone.status, &alone.reason), (Status::Ok, &None), "{script}");
        attacked
    };
    for (script, what) in [
        ("truncate -s 200G hole", "files of more than 1 GiB"),
        ("rm guest.jsonl; mkdir guest.jsonl", "something that is no file as `guest.jsonl`"),
        ("rm heartbeat; mkdir heartbeat", "something that is no file as `heartbeat`"),
    ] {
        let attacked = outcomes(script);
        let reason = attacked.reason.unwrap_or_default();
        assert!(reason.contains(what), "{script}: {reason}");
        assert_eq!((attacked.status, attacked.fault), (Status::Failed, Some(Fault::Trial)));
    }
    let forged = "while rm heartbeat; do printf '\\1\\0\\0\\0\\0\\0\\0\\0' >heartbeat; \
                  sleep 0.001; done";
    let attacked = outcomes(forged);
    assert_eq!((attacked.status, &attacked.reason), (Status::Ok, &None));
    assert!(attacked.virtual_ns > Some(Nanos::from_millis(30)), "{:?}", attacked.virtual_ns);
}

/// fio's start is detected in any case, and the program's pause of a day ends with the measurement.
fn opens_the_test_file_first() {
    let mut trials = trials(
        "array = [\"hdd-raid1\"]\nbackground = [\"none\", \"defrag-pool\"]\nworkload = \
         [\"read\"]",
    );
    // The program still has the file open when fio starts.
    for background in trials.iter_mut().filter_map(|trial| trial.background.as_mut()) {
        background.lead.rotational = Nanos::from_millis(50);
    }
    let place = tempfile::tempdir().unwrap();
    let record = Record::open(&run(&trials, place.path(), 1)).unwrap();
    let line = record.lines().iter().find(|line| line.trial.contains("+defrag-pool")).unwrap();
    let [step] = &steps(&record.raw(line).unwrap(), "background")[..] else {
        panic!("one program")
    };
    assert_eq!((&step["stopped"], &step["passes"]), (&true.into(), &1.into()), "{step}");
    let (without, with) = (sample(&record, "+none"), sample(&record, "+defrag-pool"));
    assert!(moved(with).0 > 2 * moved(without).0, "it reads the file: {:?}", moved(with));
    assert!(with.iops < without.iops, "{} and {} IOPS", without.iops, with.iops);
}

fn jobs_have_pids_and_offsets_of_their_own() {
    let trials = trials(
        "array = [\"ssd-raid10\"]\nworkload = [\"read\"]\njobs = [1, 4]\npolicy = [\"pid\"]",
    );
    let place = tempfile::tempdir().unwrap();
    let record = Record::open(&run(&trials, place.path(), 1)).unwrap();
    // A process reads one of two mirrors of each pair. Four processes with successive pids read
    // half from each.
    let shares = |part: &str| -> Vec<f64> {
        sample(&record, part).devices.iter().filter_map(|disk| disk.read_share).collect()
    };
    assert!(shares("+1+pid").iter().any(|&share| share > 0.4), "{:?}", shares("+1+pid"));
    assert!(
        shares("+4+pid").iter().all(|&share| (0.2..0.3).contains(&share)),
        "{:?}",
        shares("+4+pid")
    );
    let (one, four) = (sample(&record, "+1+pid"), sample(&record, "+4+pid"));
    assert!(four.iops > one.iops * 3.0, "{} and {}", one.iops, four.iops);
    // If the jobs had the same offsets, each block would be read four times.
    let line = record.lines().iter().find(|line| line.trial.contains("+4+pid")).unwrap();
    let reads: Vec<(usize, u64)> = place::entries(&record.raw(line).unwrap())
        .into_iter()
        .filter_map(|entry| match entry {
            disklab_trace::TraceEntry::Served(served) if served.sectors == 8 => {
                Some((served.disk, served.sector))
            }
            _ => None,
        })
        .collect();
    let distinct = reads.iter().collect::<BTreeSet<_>>().len();
    assert!(distinct * 10 > reads.len() * 9, "{distinct} of {}", reads.len());
}

/// Four seeds cover all cases of a policy that chooses one of two mirrors by pid: the background's
/// mirror, and whether the measured load gets the same.
fn pids_beside_a_background() {
    const SAY: &str = "#!/bin/sh\necho $$\nsleep 60";
    let mut met = BTreeSet::new();
    let axes = "array = [\"hdd-raid1\"]\nworkload = [\"read\"]\nbackground = [\"defrag\"]";
    for seed_index in 1..=4 {
        let plan = disklab_runner::plan(&Trial { seed_index, ..trials(axes)[0].clone() });
        let pids = plan.actions.into_iter().filter_map(|action| match action {
            Action::Pids(Pids::Consume(pids)) => Some(pids),
            _ => None,
        });
        let [before, between] = pids.collect::<Vec<_>>()[..] else { panic!("twice") };
        let mut place = beside(&["sh", "-c", SAY], None);
        place.what = place::program(&["sh", "-c", "head -c 4096 /dev/vda >/dev/null; echo $$"]);
        place.before.push(Action::Pids(Pids::Consume(before)));
        place.pids = between;
        place.run().unwrap();
        let pid =
            |text: &str| text.trim().parse::<u32>().unwrap_or_else(|_| panic!("{text} is no pid"));
        let [step] = &steps(place.folder.path(), "background")[..] else { panic!("one program") };
        let (beside, measured) = (pid(step["said"].as_str().unwrap()), pid(&place.said()));
        met.insert((beside % 2, (measured - beside) % 2));
    }
    assert_eq!(met.len(), 4, "{met:?}");
}

fn reads_and_writes_are_told_apart() {
    let trials = trials("array = [\"hdd-raid1\", \"ssd-raid10\"]\nworkload = [\"both\"]");
    let place = tempfile::tempdir().unwrap();
    let record = Record::open(&run(&trials, place.path(), 2)).unwrap();
    for array in ["hdd-raid1", "ssd-raid10"] {
        let sample = sample(&record, array);
        let (read, write) = (sample.read.as_ref().unwrap(), sample.write.as_ref().unwrap());
        assert_eq!(read.requests + write.requests, sample.requests);
        let share = read.requests as f64 / sample.requests as f64;
        assert!((0.6..0.8).contains(&share), "{array}: {share} reads instead of 0.7");
        assert!((read.iops + write.iops - sample.iops).abs() < 1e-6 * sample.iops);
        assert!(read.lat_mean_ns > 0.0 && write.p99_ns > write.p50_ns);
        // Both mirrors are written. btrfs adds checksums and commits, and reads checksums.
        let (on_disks_read, on_disks_written) = moved(sample);
        let factor = |disks: u64, fio: u64| disks as f64 / (fio as f64 * 16384.0);
        let (read, written) =
            (factor(on_disks_read, read.requests), factor(on_disks_written, write.requests));
        assert!(
            (0.97..1.25).contains(&read),
            "{array}: the disks read {read} times as much as fio"
        );
        assert!(
            (1.9..2.5).contains(&written),
            "{array}: the disks wrote {written} times as much as fio"
        );
    }
}
