use super::*;
use std::os::unix::fs::PermissionsExt as _;

fn value(path: &Path, was: &str) -> Change {
    Change::value(path, was)
}

fn what(it: UndoNews) -> Option<String> {
    match it {
        UndoNews::Undone(undone) => Some(undone.what.clone()),
        UndoNews::Waits(_) => None,
    }
}

#[test]
fn what_a_killed_run_left_is_undone_the_last_change_first() {
    let place = tempfile::tempdir().unwrap();
    let (file, journals) = (place.path().join("scheduler"), place.path().join("state"));
    fs::write(&file, "none").unwrap();
    let mut journal = Journal::create(&journals, Path::new("records/a")).unwrap();
    for (was, is) in [("none", "bfq"), ("bfq", "kyber")] {
        journal.note(&value(&file, was)).unwrap();
        fs::write(&file, is).unwrap();
    }
    assert!(LeftJournal::all(&journals).unwrap().is_empty(), "its run holds it");
    drop(journal);
    let left = LeftJournal::all(&journals).unwrap().pop().unwrap().unwrap();
    assert_eq!(left.run, Path::new("records/a"));
    let mut said = Vec::new();
    assert!(left.undo(&mut |news| said.extend(what(news))).unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap(), "none");
    assert_eq!(said.len(), 2);
    assert!(LeftJournal::all(&journals).unwrap().is_empty(), "it is gone");
}

#[test]
fn what_cannot_be_undone_stays_and_is_tried_again() {
    let place = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| place.path().join(name));
    fs::create_dir(&one).unwrap();
    let mut journal = Journal::create(place.path(), Path::new("r")).unwrap();
    journal.note(&value(&other, "b")).unwrap();
    journal.note(&value(&one, "a")).unwrap();
    fs::write(&other, "x").unwrap();
    let mut failed = 0;
    let count = &mut |news: UndoNews| {
        failed += usize::from(matches!(news, UndoNews::Undone(undone) if undone.failed.is_some()));
    };
    assert!(!journal.undo(count).unwrap());
    assert_eq!(
        (failed, fs::read_to_string(&other).unwrap().as_str()),
        (1, "b"),
        "the other was undone"
    );
    fs::remove_dir(&one).unwrap();
    fs::write(&other, "not again").unwrap();
    let left = LeftJournal::all(place.path()).unwrap().pop().unwrap().unwrap();
    assert!(left.undo(&mut |_| ()).unwrap());
    assert_eq!(fs::read_to_string(&other).unwrap(), "not again");
}

#[test]
fn a_line_that_was_cut_off_was_not_yet_done_and_one_that_is_wrong_is_told() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("1-0.journal");
    let begun = "{\"begun\":{\"boot\":\"x\",\"run\":\"r\"}}\n";
    fs::write(&path, format!("{begun}{{\"change\":{{\"val")).unwrap();
    let left = LeftJournal::all(place.path()).unwrap().pop().unwrap().unwrap();
    assert_eq!(left.changes().count(), 0);
    drop(left);
    fs::write(&path, "{\"change\":{\"val\n").unwrap();
    assert!(
        LeftJournal::all(place.path())
            .unwrap()
            .pop()
            .unwrap()
            .unwrap_err()
            .to_string()
            .contains("1-0")
    );
}

#[test]
fn beside_a_line_that_is_wrong_the_others_are_undone_once() {
    let place = tempfile::tempdir().unwrap();
    let (file, path) = (place.path().join("scheduler"), place.path().join("1-0.journal"));
    fs::write(&file, "none").unwrap();
    let mut journal = Journal::create(place.path(), Path::new("r")).unwrap();
    journal.note(&value(&file, "none")).unwrap();
    fs::rename(journal.path(), &path).unwrap();
    drop(journal);
    fs::write(&file, "bfq").unwrap();
    let mut wrong = OpenOptions::new().append(true).open(&path).unwrap();
    wrong.write_all(b"\xff\xfe\n").unwrap();
    drop(wrong);
    let left = LeftJournal::all(place.path()).unwrap().pop().unwrap().unwrap();
    assert!(
        left.unreadable().unwrap().to_string().contains("line 3") && left.changes().count() == 1
    );
    let why = left.undo(&mut |_| ()).unwrap_err().to_string();
    assert!(why.contains("line 3") && why.contains("1-0.unreadable"), "{why}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "none");
    assert!(
        LeftJournal::all(place.path()).unwrap().is_empty()
            && path.with_extension("unreadable").exists()
    );
}

#[test]
fn what_others_may_have_noted_is_not_done() {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let why = LeftJournal::all(place.path()).unwrap_err().to_string();
    assert!(why.contains("others may write it (mode 777)"), "{why}");
    assert!(Journal::create(place.path(), Path::new("r")).is_err());
}

#[test]
fn one_that_is_far_too_long_is_told_and_kept() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("1-0.journal");
    File::create(&path).unwrap().set_len(LONGEST + 1).unwrap();
    let why = LeftJournal::all(place.path()).unwrap().pop().unwrap().unwrap_err().to_string();
    assert!(why.contains("it is longer than") && path.exists(), "{why}");
}

#[test]
fn what_is_no_file_is_told_and_waited_for_by_nobody() {
    let place = tempfile::tempdir().unwrap();
    let fifo = place.path().join("1-0.journal");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let told = |left: Vec<Result<LeftJournal>>| {
        left.into_iter().map(|journal| journal.unwrap_err().to_string()).collect::<Vec<_>>()
    };
    let why = told(LeftJournal::all(place.path()).unwrap());
    assert!(why.len() == 1 && why[0].contains("it is not a file"), "{why:?}");
    fs::remove_file(&fifo).unwrap();
    let theirs = place.path().join("theirs");
    fs::write(&theirs, "not ours").unwrap();
    std::os::unix::fs::symlink(&theirs, &fifo).unwrap();
    let why = told(LeftJournal::all(place.path()).unwrap());
    assert!(why.len() == 1 && why[0].contains("symbolic"), "{why:?}");
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "not ours");
}

/// Only undoing mends the file; reading it changes nothing.
#[test]
fn a_line_that_is_cut_off_is_mended_by_who_undoes() {
    let place = tempfile::tempdir().unwrap();
    let journal = Journal::create(place.path(), Path::new("r")).unwrap();
    let path = journal.path().to_owned();
    drop(journal);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"change\":{{\"md\"")).unwrap();
    let left = LeftJournal::take(&path).unwrap().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), whole.len() as u64 + 15);
    assert!(left.undo(&mut |_| ()).unwrap() && !path.exists());
}

/// Undoing must not begin while a program of the trial still writes.
#[test]
fn what_the_first_process_starts_holds_it_too() {
    let place = tempfile::tempdir().unwrap();
    let journal = Journal::create(place.path(), Path::new("r")).unwrap();
    let path = journal.path().to_owned();
    let joined = Journal::join(&path).unwrap();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    drop((journal, joined));
    assert!(LeftJournal::take(&path).unwrap().is_none(), "a child has it");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(LeftJournal::take(&path).unwrap().is_some());
}

#[test]
fn one_that_another_has_undone_is_done() {
    let place = tempfile::tempdir().unwrap();
    let journal = Journal::create(place.path(), Path::new("r")).unwrap();
    fs::remove_file(journal.path()).unwrap();
    assert!(!is_at(&journal.file, journal.path()));
    assert!(journal.undo(&mut |_| ()).unwrap());
}

/// Another disklab that looks for journals takes the one that is made and not yet locked.
#[test]
fn none_is_lost_while_others_look() {
    let place = tempfile::tempdir().unwrap();
    let (folder, over) = (place.path(), std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                for left in LeftJournal::all(folder).unwrap() {
                    left.unwrap().undo(&mut |_| ()).unwrap();
                }
            }
        });
        let run = scope.spawn(|| {
            for _ in 0..50 {
                let journal = Journal::create(folder, Path::new("r")).unwrap();
                assert!(
                    is_at(&journal.file, journal.path()),
                    "it is written to a file that is gone"
                );
                assert!(journal.undo(&mut |_| ()).unwrap());
            }
        });
        let ended = run.join();
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        ended.unwrap();
    });
}

#[test]
fn after_another_boot_memory_is_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("scheduler");
    fs::write(&file, "mq-deadline").unwrap();
    assert_eq!(value(&file, "none").undo(false, &mut |_| ()), None);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mq-deadline");
}
