//! Tests records that were damaged after they were written, so that their numbers do not follow
//! from raw files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use disklab_record::Record;

use crate::derived::{derived_record, derived_record_with_keys};
use crate::{HOME, disklab, done, run};

/// Changes the lines of a record, and gives them valid digests.
fn change_lines(record: &Path, change: impl Fn(&str) -> String) {
    let lines = record.join("trials.jsonl");
    let text = fs::read_to_string(&lines).expect("lines");
    let changed = change(&text);
    assert_ne!(changed, text);
    fs::write(&lines, changed).expect("room");
    disklab_testkit::reseal(record);
}

const TRIAL: &str = "hdd-raid1+randread-4k-qd1+pid+s1";

/// Verbs that read the record `run`, some together with the record `base`. They write the folder
/// `made` or the page `made.md`.
pub const READERS: [&[&str]; 12] = [
    &["audit", "run"],
    &["show", "run"],
    &["show", "run", TRIAL],
    &["trace", "run", TRIAL],
    &["watch", "run"],
    &["compare", "run", "base"],
    &["history", "run", "base"],
    &["gate", "run", "--against", "base"],
    &["merge", "run", "--out", "made"],
    &["export", "run", "-o", "made"],
    &["report", "run", "-o", "made.md"],
    &["same", "run", "base"],
];

/// Every verb that reads a record names a missing file of the record, and a remedy.
#[test]
fn a_file_of_a_record_that_is_gone_is_named() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    derived_record(here, "base", 2);
    let more: [&[&str]; 2] =
        [&["predict", "run", "--devices", "nas-4tb"], &["run", "--resume", "run"]];
    for (file, advice) in [
        ("manifest.toml", "restore it from a copy of the record"),
        ("trials.jsonl", "`disklab repair` makes it again"),
        ("trials.last", "`disklab repair` makes it again"),
    ] {
        let run_folder = derived_record(here, "run", 2);
        fs::remove_file(run_folder.join(file)).expect("a file");
        for verb in READERS.into_iter().chain(more) {
            let done = run(here, verb);
            let words = format!("{}{}", done.out, done.err);
            assert!(words.contains(&format!("{file} is gone")), "{verb:?}: {words}");
            assert!(words.contains(advice), "{verb:?}: {words}");
            assert!(!here.join("made").exists(), "{verb:?}");
        }
        fs::remove_dir_all(run_folder).expect("a folder");
    }
}

/// A record with the manifest of another one, which has the same trials with other keys, is
/// refused or named by every verb. `repair` says the same, and changes nothing.
#[test]
fn the_manifest_of_another_record_is_named() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    derived_record_with_keys(here, "base", 3, "20s");
    for (own, other) in [("20s", "10s"), ("10s", "20s")] {
        let record = derived_record_with_keys(here, "run", 3, own);
        let foreign = derived_record_with_keys(here, "other", 3, other);
        for verb in [&["audit", "run"][..], &["audit", "other"]] {
            let done = run(here, verb);
            assert_eq!(done.status, Some(0), "{verb:?}: {}{}", done.out, done.err);
        }
        fs::copy(foreign.join("manifest.toml"), record.join("manifest.toml")).expect("room");
        let contents = || -> BTreeMap<PathBuf, Vec<u8>> {
            // The lock names the last process that had it.
            let kept = files(&record).into_iter().filter(|path| !path.ends_with("lock"));
            kept.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
        };
        let before = contents();
        let more: [&[&str]; 3] =
            [&["run", "--resume", "run"], &["repair", "run"], &["repair", "run", "--dry-run"]];
        for verb in READERS.into_iter().chain(more) {
            let done = run(here, verb);
            let words = format!("{}{}", done.out, done.err);
            assert!(words.contains("trials.jsonl, line 1: the key of trial"), "{verb:?}: {words}");
            assert!(words.contains("2 more lines like this"), "{verb:?}: {words}");
            assert!(words.contains("belongs to another record"), "{verb:?}: {words}");
            // A page shows what is left, and says what is not.
            assert_eq!(done.status == Some(0), verb[0] == "report", "{verb:?}: {words}");
            assert!(!here.join("made").exists(), "{verb:?}");
        }
        assert!(contents() == before, "files were changed");
        for folder in [record, foreign] {
            fs::remove_dir_all(folder).expect("a folder");
        }
    }
}

/// Every verb that reads an older record says once that changes of its lines cannot be detected.
#[test]
fn a_record_without_digests_is_named_by_every_verb() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    derived_record(here, "base", 3);
    let record = derived_record(here, "run", 3);
    let path = record.join("manifest.toml");
    let text = fs::read_to_string(&path).expect("a manifest");
    let (_, below) = text.split_once('\n').expect("lines");
    fs::write(&path, below.replacen("schema = 3", "schema = 1", 1)).expect("room");
    let path = record.join("trials.jsonl");
    let text = fs::read_to_string(&path).expect("lines");
    let bare = text.lines().map(|line| line.rsplit_once(",\"chain\":").expect("a digest").0);
    let bare: Vec<_> = bare.map(|line| format!("{line}}}\n")).collect();
    fs::write(&path, bare.concat()).expect("room");
    fs::remove_file(record.join("trials.last")).expect("a count");
    let twice: [&[&str]; 2] = [&["same", "run", "run"], &["history", "run", "base", "run"]];
    for verb in READERS.into_iter().chain(twice) {
        let done = run(here, verb);
        let said = done.err.matches("run was written by an older disklab, without digests").count();
        assert_eq!(said, 1, "{verb:?}: {}{}", done.out, done.err);
        assert!(!done.out.contains("older disklab"), "{verb:?}: {}", done.out);
        assert!(!done.err.contains("base was written"), "{verb:?}: {}", done.err);
        let _ = fs::remove_dir_all(here.join("made"));
    }
}

#[test]
fn a_number_that_does_not_follow_from_its_raw_files_is_named() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let record = derived_record(here, "true", 3);
    derived_record(here, "false", 3);
    for verb in [&["audit", "true"][..], &["same", "true", "false"], &["merge", "true"]] {
        let done = run(here, verb);
        assert!(!done.err.contains("derived") && !done.out.contains("derived"), "{}", done.err);
    }
    assert_eq!(run(here, &["same", "true", "false"]).status, Some(0));
    let iops =
        Record::open(&record).expect("a record").lines()[0].sample.clone().expect("one").iops;
    let first = format!("\"iops\":{iops}");
    change_lines(&here.join("records/false"), |text| {
        assert!(text.contains(&first), "{text}");
        text.replacen(&first, "\"iops\":68400.0", 1)
    });
    let named = format!(
        "false, hdd-raid1+randread-4k-qd1+pid+s1: sample.iops is 68400.0 in its line, and \
         {iops} by its raw files"
    );
    for verb in [
        &["audit", "false"][..],
        &["same", "true", "false"],
        &["same", "false", "false"],
        &["merge", "true", "false", "--out", "both"],
    ] {
        let done = run(here, verb);
        assert_eq!(done.status, Some(1), "{verb:?}: {}{}", done.out, done.err);
        assert!(format!("{}{}", done.out, done.err).contains(&named), "{verb:?}: {}", done.out);
    }
    assert!(!here.join("both").exists());
    let document =
        serde_json::from_str::<serde_json::Value>(&run(here, &["audit", "false", "--json"]).out)
            .expect("JSON");
    assert_eq!(document["not_derived"][0]["measure"], "sample.iops");
    assert_eq!(document["not_derived"][0]["recorded"], 68400.0);
    assert_eq!(document["not_derived"][0]["derived"], iops);
    // A changed raw file is reported as such, and its numbers are not derived.
    let raw = here.join("records/true/raw/hdd-raid1+randread-4k-qd1+devid+s1/fio.json");
    let report = fs::read_to_string(&raw).expect("fio's report");
    fs::write(&raw, report.replacen("iops", "ipos", 1)).expect("room");
    let audit = run(here, &["audit", "true"]);
    assert_eq!(audit.status, Some(1));
    assert!(
        audit.out.contains("changed or removed after they were recorded:\n  hdd-raid1+randread")
            && !audit.out.contains("by its raw files"),
        "{}",
        audit.out
    );
}

/// Words of which every message about a damaged record contains one.
const SAYS: [&str; 20] = [
    "TOML parse error",
    "not the outcome of a trial",
    "digest",
    "SHA-256",
    "not a record",
    "cannot read",
    "was changed",
    "were changed",
    "not as they were recorded",
    "is gone",
    "was removed",
    "changed or removed after",
    "not the count of a record's lines",
    "cannot be read",
    "is not text",
    "schema",
    "has an outcome of",
    "is incomplete",
    "differs",
    "belongs to another record",
];

/// A source of numbers drawn from a seed (xorshift64*).
pub struct Draws(pub u64);

impl Draws {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}

/// Copies a folder with everything in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("room");
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort_unstable();
    found
}

/// Damages one of the chosen files of a record: a bit, a digit, a line, its end, or all of it.
/// With another record, a file may also be replaced by the other record's. Returns a description of
/// the damage.
pub fn damage(
    record: &Path,
    other: Option<&Path>,
    draws: &mut Draws,
    chosen: impl Fn(&Path) -> bool + Copy,
) -> String {
    let mut all = files(record);
    all.retain(|path| !path.ends_with("lock") && chosen(path));
    let path = all[draws.below(all.len())].clone();
    let kind = draws.below(if other.is_some() { 6 } else { 5 });
    let mut bytes = fs::read(&path).expect("a file");
    let free = bytes.len();
    let place = draws.below(free);
    let what = match kind {
        0 => {
            bytes[place] ^= 1 << draws.below(8);
            "bit"
        }
        1 => {
            let digits: Vec<usize> = (0..free).filter(|&at| bytes[at].is_ascii_digit()).collect();
            let Some(&at) = digits.get(draws.below(digits.len().max(1))) else {
                return damage(record, other, draws, chosen);
            };
            bytes[at] = b'0' + (bytes[at] - b'0' + 1 + draws.below(9) as u8) % 10;
            "digit"
        }
        2 => {
            let begin =
                bytes[..place].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let end = bytes[place..].iter().position(|&byte| byte == b'\n');
            bytes.drain(begin..end.map_or(bytes.len(), |end| place + end + 1));
            "line"
        }
        3 => {
            bytes.truncate(place);
            "end"
        }
        4 => {
            fs::remove_file(&path).expect("a file");
            return format!("{} is gone", path.display());
        }
        _ => {
            let own = path.strip_prefix(record).expect("a file of the record");
            let same = fs::read(other.expect("another record").join(own)).expect("the same file");
            // Some files of a trial say nothing about it, and are the same in all records.
            if same == bytes {
                return damage(record, other, draws, chosen);
            }
            bytes = same;
            "the file of another record instead"
        }
    };
    fs::write(&path, bytes).expect("room");
    format!("{}: {what} at {place}", path.display())
}

/// Makes a home with only those files of the lab that the record needs. Reading all of them takes
/// most of a verb's time.
fn small_home(here: &Path) {
    let home = here.join("home");
    let folder = |name: &str| home.join("lab").join(name);
    for name in ["arrays", "devices", "workloads", "suites", "backgrounds"] {
        fs::create_dir_all(folder(name)).expect("a folder");
    }
    let lab = Path::new(HOME).join("lab");
    for name in ["policies", "kernels"] {
        copy(&lab.join(name), &folder(name));
    }
    for file in [
        "arrays/hdd-raid1.toml",
        "arrays/ssd-raid10.toml",
        "devices/nas-4tb.toml",
        "devices/sata-ssd-1tb.toml",
        "workloads/randread-4k-qd1.toml",
    ] {
        fs::copy(lab.join(file), folder(file)).expect("a file of the lab");
    }
    for name in ["guest-kernel", "read-policies"] {
        symlink(Path::new(HOME).join(name), home.join(name)).expect("room");
    }
}

/// Runs a verb, and returns its exit status, its output, and the files that it writes.
fn given(here: &Path, verb: &[&str]) -> (Option<i32>, String, Vec<Vec<u8>>) {
    let (made, page) = (here.join("made"), here.join("made.md"));
    let _ = fs::remove_dir_all(&made);
    let _ = fs::remove_file(&page);
    let home = here.join("home");
    let output = disklab(here).env("DISKLAB_HOME", home).args(verb).output();
    let done = done(output.expect("it starts"));
    let words = format!("{}{}", done.out, done.err);
    // The manifest of a merged record holds the time.
    let made = files(&made).into_iter().filter(|path| !path.ends_with("manifest.toml"));
    let made = made.chain(page.exists().then_some(page));
    (done.status, words, made.map(|path| fs::read(path).expect("a file")).collect())
}

/// Number of trials of the record: two seeds of six cells.
const TRIALS: usize = 12;

/// `audit` names every damage. Every other verb gives what it gave before, or says that the record
/// is damaged. DISKLAB_DAMAGES is the number of damages, DISKLAB_SEED the seed that they are drawn
/// from:
///
/// ```sh
/// DISKLAB_DAMAGES=150 DISKLAB_SEED=1001 cargo test -p disklab --test cli no_random_damage
/// ```
#[test]
fn no_random_damage_is_silent() {
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
    };
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    small_home(here);
    derived_record_with_keys(here, "base", TRIALS, "20s");
    let whole = derived_record_with_keys(here, "run", TRIALS, "20s");
    let other = derived_record_with_keys(here, "other", TRIALS, "10s");
    let kept = here.join("kept");
    copy(&whole, &kept);
    let before = READERS.map(|verb| given(here, verb));
    // A verb that is refused, or leaves trials out, would say the same for every damage.
    for (verb, (status, words, _)) in READERS.iter().zip(&before) {
        assert_eq!(*status, Some(0), "{verb:?}: {words}");
        for out in ["left out", "cannot be derived"] {
            assert!(!words.contains(out), "{verb:?}: {words}");
        }
    }
    let mut draws = Draws(number("DISKLAB_SEED", 36));
    let mut silent = Vec::new();
    for _ in 0..number("DISKLAB_DAMAGES", 100) {
        fs::remove_dir_all(&whole).expect("a folder");
        copy(&kept, &whole);
        let what = damage(&whole, Some(&other), &mut draws, |_| true);
        for (verb, before) in READERS.iter().zip(&before) {
            let now = given(here, verb);
            let is_named = now.0 != Some(0) || verb[0] != "audit";
            if !is_named || now != *before && !SAYS.iter().any(|word| now.1.contains(word)) {
                silent.push(format!("{verb:?}, {what}: {:?} {}", now.0, now.1));
            }
        }
    }
    assert!(silent.is_empty(), "{} silent:\n{}", silent.len(), silent.join("\n"));
}
