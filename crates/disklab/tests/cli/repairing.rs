//! Tests `disklab repair`: damaged lines rebuilt from raw files.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use disklab_record::{Outcome, Record};

use crate::damaged::{Draws, READERS, copy, damage};
use crate::derived::derived_record;
use crate::{fixture, run};

/// Returns the lines of a record without values that no raw file holds, and without the remark
/// about them.
fn numbers(folder: &Path) -> Vec<Outcome> {
    let record = Record::open(folder).expect("every line can be read");
    let mut lines = record.lines().to_vec();
    lines.sort_by(|one, other| one.trial.cmp(&other.trial));
    for line in &mut lines {
        line.remarks.retain(|remark| *remark != disklab_results::Remark::MadeAgain);
        (line.wall_ms, line.disks) = (0, Vec::new());
    }
    lines
}

fn lines(folder: &Path) -> String {
    fs::read_to_string(folder.join("trials.jsonl")).expect("lines")
}

#[test]
fn a_torn_line_is_remarked_on_by_each_verb() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let folder = derived_record(here, "run", 4);
    copy(&folder, &here.join("whole"));
    fs::write(folder.join("trials.jsonl"), lines(&folder) + "{").expect("room");
    for verb in [
        &["show", "run"][..],
        &["audit", "run"],
        &["same", "run", "whole"],
        &["compare", "run"],
        &["gate", "run", "--against", "whole"],
        &["export", "run", "-o", "made"],
    ] {
        let done = run(here, verb);
        assert!(done.err.contains("the last line of trials.jsonl is incomplete"), "{}", done.err);
    }
}

#[test]
fn a_damaged_line_is_restored_to_the_byte() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let folder = derived_record(here, "run", 4);
    let whole = lines(&folder);
    let done = run(here, &["repair", "run"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert!(done.out.contains("nothing to do"), "{}", done.out);
    let iops =
        Record::open(&folder).expect("a record").lines()[1].sample.clone().expect("one").iops;
    for (from, to) in [
        (format!("\"iops\":{iops}"), "\"iops\":68400.0"),
        ("\"trial\":\"hdd-raid1+randread-4k-qd1+pid".to_owned(), "\"trial\":\"hdd-raid9+rand"),
        ("\"raw\":\"raw/hdd-raid1".to_owned(), "\"raw\":\"raw/hdd-raid9"),
        ("\"status\":\"ok\"".to_owned(), "\"status\":\"ok\u{1}"),
        ("\"remarks\":".to_owned(), "\"remarkz\":"),
        ("\"fio.json\":\"".to_owned(), "\"fio.json\":\"0"),
        ("\"chain\":\"".to_owned(), "\"chain\":\"0"),
        ("}\n{".to_owned(), "}{"),
        ("\"seed\":".to_owned(), "\n\"seed\":"),
    ] {
        assert!(whole.contains(&from), "{from}");
        let damaged = whole.replacen(&from, to, 1);
        fs::write(folder.join("trials.jsonl"), &damaged).expect("room");
        assert_eq!(run(here, &["show", "run"]).status, Some(2), "{from}");
        let dry = run(here, &["repair", "run", "--dry-run"]);
        assert_eq!(dry.status, Some(0), "{from}: {}{}", dry.out, dry.err);
        assert_eq!(lines(&folder), damaged, "a dry run writes nothing");
        let done = run(here, &["repair", "run"]);
        assert_eq!(done.status, Some(0), "{from}: {}{}", done.out, done.err);
        assert!(done.out.contains("as a digest proves"), "{from}: {}", done.out);
        assert_eq!(lines(&folder), whole, "{from}");
        let kept = folder.join("trials.jsonl.damaged");
        assert_eq!(fs::read_to_string(&kept).expect("a copy"), damaged);
        fs::remove_file(kept).expect("a copy");
        let show = run(here, &["show", "run"]);
        assert!(show.status == Some(0) && !show.err.contains("made again"), "{}", show.err);
    }
}

#[test]
fn a_line_without_a_proof_is_marked_in_every_verb() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    derived_record(here, "base", 4);
    let folder = derived_record(here, "run", 4);
    let (whole, before) = (lines(&folder), numbers(&folder));
    // Nothing proves the wall time of a trial.
    fs::write(
        folder.join("trials.jsonl"),
        whole.replacen("\"wall_ms\":1400", "\"wall_ms\":1500", 1),
    )
    .expect("room");
    let done = run(here, &["repair", "run", "--json"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let document: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let trial = "hdd-raid1+randread-4k-qd1+pid+s1";
    assert_eq!(document["made_again"], serde_json::json!([trial]));
    assert_eq!(document["whole"], true);
    assert_eq!(numbers(&folder), before);
    assert_eq!(fs::read_dir(&folder).expect("a folder").flatten().count(), 7);
    for verb in READERS {
        let done = run(here, verb);
        let page = fs::read_to_string(here.join("made.md")).unwrap_or_default();
        let words = format!("{}{}{page}", done.out, done.err);
        assert!(words.contains("made again from raw files"), "{verb:?}: {words}");
        let _ = fs::remove_dir_all(here.join("made"));
    }
    // The rest of the record still has valid digests.
    let again = run(here, &["repair", "run"]);
    assert!(again.status == Some(0) && again.out.contains("nothing to do"), "{}", again.out);
    // A repair was killed between its two files. The next one completes it.
    fs::copy(folder.join("trials.last.damaged"), folder.join("trials.last")).expect("room");
    assert!(run(here, &["show", "run"]).err.contains("differs from the one in trials.last"));
    let again = run(here, &["repair", "run"]);
    assert_eq!(again.status, Some(0), "{}{}", again.out, again.err);
    assert_eq!(numbers(&folder), before);
}

/// After random damage of the lines and their count, the numbers are restored. Each line is as it
/// was written, or has the remark.
#[test]
fn any_damage_of_lines_is_mended() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let folder = derived_record(here, "run", 4);
    let kept = here.join("kept");
    copy(&folder, &kept);
    let (whole, before) = (lines(&folder), numbers(&folder));
    let mut draws = Draws(41);
    let mut restored = 0;
    for _ in 0..60 {
        fs::remove_dir_all(&folder).expect("a folder");
        copy(&kept, &folder);
        let what = damage(&folder, None, &mut draws, |path| {
            path.ends_with("trials.jsonl") || path.ends_with("trials.last")
        });
        let done = run(here, &["repair", "run"]);
        let words = format!("{what}: {}{}", done.out, done.err);
        assert_eq!(done.status, Some(0), "{words}");
        assert_eq!(numbers(&folder), before, "{words}");
        if lines(&folder) == whole {
            restored += 1;
        } else {
            assert!(run(here, &["show", "run"]).err.contains("made again"), "{words}");
        }
    }
    assert!((20..60).contains(&restored), "{restored} of 60 were restored to the byte");
}

/// If the last lines are removed and the count is changed with them, raw files show that they are
/// gone.
#[test]
fn lines_that_are_removed_with_their_count_are_made_again() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let folder = derived_record(here, "run", 4);
    let before = numbers(&folder);
    assert!(!run(here, &["audit", "run"]).err.contains("under raw/"));
    let two: String = lines(&folder).split_inclusive('\n').take(2).collect();
    fs::write(folder.join("trials.jsonl"), two).expect("room");
    disklab_testkit::reseal(&folder);
    let audit = run(here, &["audit", "run"]);
    let named = "records/run: 2 folders under raw/ hold results for which the record has no line";
    assert!(audit.err.contains(named), "{}", audit.err);
    assert!(audit.err.contains("`disklab repair run`"), "{}", audit.err);
    let done = run(here, &["repair", "run"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    assert_eq!(numbers(&folder), before);
    assert!(!run(here, &["audit", "run"]).err.contains("under raw/"));
    assert!(run(here, &["show", "run"]).err.contains("2 lines were made again"));
}

#[test]
fn what_has_no_raw_files_is_left_and_named() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let folder = derived_record(here, "run", 3);
    let whole = lines(&folder);
    let trial = "hdd-raid1+randread-4k-qd1+pid+s1";
    let raw = folder.join("raw").join(trial);
    let damaged = whole.replacen("\"requests\":", "\"requests\":9", 1);
    fs::write(folder.join("trials.jsonl"), &damaged).expect("room");
    let fio = fs::read(raw.join("fio.json")).expect("raw output");
    fs::write(raw.join("fio.json"), "{}").expect("room");
    let left = |what: &str| {
        let done = run(here, &["repair", "run"]);
        assert_eq!(done.status, Some(1), "{}{}", done.out, done.err);
        assert!(done.out.contains(&format!("line 1 ({trial}): ")), "{}", done.out);
        assert!(done.out.contains(what), "{}", done.out);
        assert_eq!(lines(&folder), damaged, "{what}");
        assert_eq!(run(here, &["show", "run"]).status, Some(2), "it is still refused");
    };
    left("fio.json was changed or removed after it was recorded");
    fs::remove_dir_all(&raw).expect("raw output");
    left("the raw files of its trial are gone");
    // The raw files make the line complete again.
    copy(&derived_record(here, "other", 3).join("raw").join(trial), &raw);
    fs::write(raw.join("fio.json"), fio).expect("room");
    assert_eq!(run(here, &["repair", "run"]).status, Some(0));
    assert_eq!(lines(&folder), whole);
    // Nothing is left of a removed line: the trial counts as one that has not run.
    let last = fs::read_dir(folder.join("raw")).expect("raw").flatten().map(|entry| entry.path());
    let last = last.max_by_key(|path| whole.find(path.file_name().unwrap().to_str().unwrap()));
    fs::remove_dir_all(last.expect("one")).expect("raw output");
    let two: String = whole.split_inclusive('\n').take(2).collect();
    fs::write(folder.join("trials.jsonl"), &two).expect("room");
    let done = run(here, &["repair", "run"]);
    assert_eq!(done.status, Some(1), "{}{}", done.out, done.err);
    assert!(done.out.contains("lost: 1 line"), "{}", done.out);
    assert_eq!(Record::open(&folder).expect("a record").lines().len(), 2);
}

#[test]
fn a_repair_is_refused_while_a_run_writes_and_harms_nothing_when_it_is_killed() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let writer = fixture::begun(here, "busy");
    let done = run(here, &["repair", "busy"]);
    assert_eq!(done.status, Some(5), "{}", done.err);
    assert!(done.err.contains("is being written by another disklab"), "{}", done.err);
    drop(writer);
    assert_eq!(run(here, &["repair", "nothing"]).status, Some(2));
    let folder = derived_record(here, "run", 4);
    let whole = lines(&folder);
    let damaged = whole.replacen("\"requests\":", "\"requests\":9", 1);
    let program = env!("CARGO_BIN_EXE_disklab");
    // No file may be this large.
    fs::write(folder.join("trials.jsonl"), &damaged).expect("room");
    let script = format!("ulimit -f 1; exec '{program}' repair run");
    let limited = Command::new("sh")
        .args(["-c", &script])
        .current_dir(here)
        .env("DISKLAB_HOME", crate::HOME)
        .output()
        .expect("a shell");
    assert!(!limited.status.success(), "{limited:?}");
    assert_eq!(lines(&folder), damaged, "the record is as it was");
    let mut killed = 0;
    for after in (0..40).map(|step| Duration::from_micros(step * 1500)) {
        fs::write(folder.join("trials.jsonl"), &damaged).expect("room");
        let mut child = Command::new(program)
            .args(["repair", "run"])
            .current_dir(here)
            .env("DISKLAB_HOME", crate::HOME)
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        sleep(after);
        child.kill().expect("its own child");
        killed += usize::from(child.wait().expect("its own child").code().is_none());
        let now = lines(&folder);
        assert!(now == damaged || now == whole, "after {after:?}");
        assert_eq!(run(here, &["repair", "run"]).status, Some(0));
        assert_eq!(lines(&folder), whole);
    }
    assert!(killed > 0, "nothing was put to the test");
}
