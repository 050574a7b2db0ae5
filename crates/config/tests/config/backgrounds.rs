//! Tests backgrounds and jobs: their trials in a suite, and every mistake with them.

use crate::small_lab::SmallLab;
use disklab_config::background;
use disklab_config::{Lab, Trial};
use disklab_units::{Bytes, Nanos};

const NOISE: &str = "\
summary = \"noise\"
lead = { rotational = \"5s\", solid_state = \"75ms\" }
[trees]
count = 2
files = 3
filesize = \"1 MiB\"
fragment = \"4 KiB\"
[[process]]
command = [\"noise\", \"-r\", \"{tree}\"]
[[process]]
command = [\"hum\"]
";

fn lab_with(text: &str) -> SmallLab {
    let lab = SmallLab::new();
    lab.write("backgrounds/noise.toml", text);
    lab
}

/// Returns the mistakes of the lab if a piece of the background is replaced.
fn mistakes(from: &str, to: &str) -> String {
    assert!(NOISE.contains(from), "{from}");
    let lab = lab_with(&NOISE.replacen(from, to, 1));
    let found = Lab::load(lab.path()).expect_err("no mistake was found");
    lab.relative(&found).replace("backgrounds/noise.toml:", "")
}

/// Returns the trials of the suite with these axes added.
fn trials(axes: &str) -> Result<Vec<Trial>, String> {
    let lab = lab_with(NOISE);
    let suite = lab.suite("[axes]\n", &format!("[axes]\n{axes}\n"))?;
    lab.trials(&suite)
}

#[test]
fn a_background_is_part_of_a_trial() {
    let all = trials("background = [\"none\", \"noise\"]\njobs = [1, 4]").unwrap();
    let ids: Vec<_> = all
        .iter()
        .map(|trial| trial.id.as_str())
        .filter(|id| id.contains("+pair+random+pid+s1"))
        .collect();
    let expected =
        ["none+1", "none+4", "noise+1", "noise+4"].map(|cell| format!("{cell}+pair+random+pid+s1"));
    assert_eq!(ids, expected);
    let with = all.iter().find(|trial| trial.id.starts_with("noise+4+turning-pair")).unwrap();
    assert_eq!((with.workload.fio().unwrap().numjobs(), with.lead()), (4, Nanos::from_secs(5)));
    assert!(with.cell.contains(&("jobs".to_owned(), "4".to_owned())));
    let noise = with.background.as_ref().unwrap();
    let trees = noise.trees.unwrap();
    assert_eq!((trees.bytes(), trees.fragments()), (Bytes::mib(6), 1536));
    assert_eq!(
        noise.processes.iter().map(background::Process::uses_trees).collect::<Vec<_>>(),
        [true, false]
    );
    let without = all.iter().find(|trial| trial.id.starts_with("none+1+pair")).unwrap();
    assert_eq!(
        (without.background.as_ref(), without.lead(), without.workload.fio().unwrap().numjobs()),
        (None, Nanos::ZERO, 1)
    );
}

#[test]
fn many_files_can_be_worked_on_beside_a_workload() {
    let lab = lab_with(NOISE);
    let mail = "summary = \"mail\"\n[fsload]\n[[fsload.files]]\nname = \"mail\"\ncount = 1000\n\
    size = \"1 MiB\"\n\
                [[fsload.threads]]\nname = \"mail\"\n\
                loop = [\"open\", \"read whole\", \"close\"]\n";
    lab.write("workloads/mail.toml", mail);
    let trials =
        |axes: &str| lab.trials(&lab.suite("[axes]\n", &format!("[axes]\n{axes}\n")).unwrap());
    let all = trials("background = [\"mail\"]").unwrap();
    let beside = all[0].background.as_ref().unwrap();
    assert!(beside.fsload().is_some() && beside.fio().is_none());
    assert_eq!((beside.bytes(), all[0].unfit.as_ref()), (Bytes::mib(1000), None));
    lab.write("workloads/other.toml", mail);
    let suite = lab
        .suite("workload = [\"random\"]", "workload = [\"other\"]\nbackground = [\"mail\"]")
        .unwrap();
    let found = lab.trials(&suite).unwrap_err();
    assert!(found.contains("works on many files, as workload `other` does"), "{found}");
    lab.write("workloads/mail.toml", &mail.replace("[fsload]", "weight = 10\n[fsload]"));
    let found = trials("background = [\"mail\"]").unwrap_err();
    assert!(found.contains("a `weight` has no meaning here"), "{found}");
}

#[test]
fn values_that_are_not_there() {
    assert_eq!(
        trials("background = [\"nois\"]").unwrap_err(),
        "suites/question.toml:9:15: axes.background: unknown background `nois`; did you mean \
         `noise`?"
    );
    let jobs = |jobs: &str| {
        trials(&format!("jobs = {jobs}")).unwrap_err().replace("suites/question.toml:9:", "")
    };
    assert_eq!(jobs("[0]"), "9: axes.jobs: 0 is out of range (1 to 256)");
    assert_eq!(jobs("[\"4\"]"), "9: axes.jobs: expected a whole number, found a string");
    assert_eq!(jobs("[4, 4]"), "12: axes.jobs: `4` is given twice");
    let lab = lab_with(NOISE);
    let mut suite = lab.suite("", "").unwrap();
    let wrong = suite.set("jobs", "many").unwrap_err().to_string();
    assert_eq!(wrong, "--set: jobs: expected a whole number, found `many`");
}

#[test]
fn a_background_needs_a_filesystem_and_room() {
    let lab = lab_with(NOISE);
    let suite = lab.suite(
        "array = [\"pair\", \"turning-pair\"]",
        "background = [\"noise\"]\narray = [\"alone\"]",
    );
    let suite = suite.unwrap();
    let found = lab.trials(&suite).unwrap_err();
    assert!(
        found.contains("axes.background: needs a filesystem; array `alone` is a bare device"),
        "{found}"
    );
    let large = lab_with(
        &NOISE.replace("filesize = \"1 MiB\"", "filesize = \"1 GiB\"").replace("4 KiB", "64 KiB"),
    );
    let pair = "background = [\"noise\"]\narray = [\"pair\"]";
    let suite = large.suite("array = [\"pair\", \"turning-pair\"]", pair).unwrap();
    let found = large.trials(&suite).unwrap_err();
    assert!(
        found.contains(
            "its files, 12 GiB with room to move them, and those of 1 GiB are more \
        than array `pair` holds: 9 GiB"
        ),
        "{found}"
    );
}

#[test]
fn mistakes_in_a_background() {
    assert_eq!(mistakes("lead", "laed"), "2:1: laed: unknown key; did you mean `lead`?");
    assert_eq!(
        mistakes("files = 3", "files = 0"),
        "5:9: trees.files: 0 is out of range (1 to 256)"
    );
    assert_eq!(
        mistakes("count = 2", "count = 256"),
        "5:9: trees.files: 768 in all trees are too many: at most 512"
    );
    assert_eq!(
        mistakes("filesize = \"1 MiB\"", "filesize = \"1 EiB\""),
        "6:12: trees.filesize: `1 EiB` has an unknown unit `EiB`: \
         use one of B, k, K, KiB, kB, m, M, MiB, MB, g, G, GiB, GB, t, T, TiB, TB"
    );
    assert_eq!(
        mistakes("filesize = \"1 MiB\"", "filesize = \"4 TiB\""),
        "6:12: trees.filesize: 4 TiB is out of range (64 KiB to 1 GiB)"
    );
    assert_eq!(
        mistakes("fragment = \"4 KiB\"", "fragment = \"1 MiB\""),
        "6:12: trees.filesize: less than 16 fragments are not a fragmented file"
    );
    assert_eq!(
        mistakes("fragment = \"4 KiB\"", "fragment = \"5000\""),
        "7:12: trees.fragment: 5000 bytes are not a whole number of 4 KiB"
    );
    assert_eq!(
        mistakes("filesize = \"1 MiB\"", "filesize = \"1 GiB\""),
        "6:12: trees.filesize: 1572864 fragments in all trees are too many: at most 1048576"
    );
    assert_eq!(
        mistakes("\"noise\", \"-r\", \"{tree}\"", "\"\", \"-r\""),
        "\
3:1: trees: no process has `{tree}` in its command: nothing uses them
9:12: process.command: the program's name is empty"
    );
    assert_eq!(
        mistakes("command = [\"hum\"]", "comand = [\"hum\"]"),
        "11:1: process.comand: unknown key; did you mean `command`?"
    );
    let all = NOISE.find("[trees]").unwrap()..NOISE.find("[[process]]").unwrap();
    assert_eq!(
        mistakes(&NOISE[all], ""),
        "4:27: process.command: `{tree}` stands for one of the [trees], and there are none"
    );
    let processes = NOISE.find("[[process]]").unwrap();
    let found = mistakes(&NOISE[processes..], "");
    assert_eq!(
        found,
        "1:1: a background needs a `workload`, [snapshots], or programs, each under a [[process]] \
         of its own"
    );
}

#[test]
fn none_is_no_name_for_a_background() {
    let lab = SmallLab::new();
    lab.write("backgrounds/none.toml", NOISE);
    let found = lab.relative(&Lab::load(lab.path()).unwrap_err());
    assert_eq!(
        found,
        "backgrounds/none.toml:1:1: `none` stands for no background: give the file another name"
    );
}

#[test]
fn mixes_of_reads_and_writes() {
    let with = |text: &str| {
        let lab = SmallLab::new();
        let rest = "bs = \"4k\"\nfilesize = \"1G\"\nioengine = \"libaio\"\n";
        lab.write("workloads/random.toml", &format!("summary = \"x\"\n{text}{rest}"));
        Lab::load(lab.path())
            .map(|lab| lab.workloads["random"].jobs()[0].rwmixread)
            .map_err(|mistakes| lab.relative(&mistakes))
    };
    assert_eq!(with("rw = \"randrw\"\nrwmixread = 70\n"), Ok(70));
    assert_eq!(with("rw = \"rw\"\n"), Ok(50));
    let wrong = |text: &str| with(text).unwrap_err().replace("workloads/random.toml:", "");
    assert_eq!(
        wrong("rw = \"randread\"\nrwmixread = 70\n"),
        "3:13: rwmixread: randread does not mix reads and writes: rw and randrw do"
    );
    assert_eq!(
        wrong("rw = \"rw\"\nrwmixread = 100\n"),
        "3:13: rwmixread: 100 is out of range (1 to 99)"
    );
    assert_eq!(
        wrong("rw = \"rw\"\nzero_buffers = true\nrefill_buffers = true\n"),
        "3:16: zero_buffers: contradicts refill_buffers: what is written is zeroes or new each time"
    );
}
