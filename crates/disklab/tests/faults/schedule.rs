//! Runs one schedule: a verb that meets faults, and checks of its results.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use disklab_units::{Random, Seed};
use nix::sys::signal::Signal;

use crate::calls::by_number;
use crate::scene::{Said, Scene, VERBS, gather, made};
use crate::tracer::{Counts, Ended, Fault, Harm, Tracer};

/// Index of `audit` in [`VERBS`].
const AUDIT: usize = 5;
/// Every second schedule at least is a run.
const RUNS: u64 = 2;

pub struct Outcome {
    /// Number of faults that happened.
    pub happened: u64,
    /// A sentence for each failed check, and the actions. It is None if no check failed.
    pub wrong: Option<String>,
}

/// Runs the schedule with this number. With `loud`, it prints the program's output.
pub fn run(scene: &Scene, seed: Seed, number: u64, loud: bool) -> Outcome {
    let mut random = Random::new(seed.derive(&number.to_string()));
    let verb = if random.below(RUNS) == 0 { 0 } else { random.below(VERBS.len() as u64) as usize };
    let here = scene.begin(&format!("schedule-{number}"));
    let is_run = verb == 0;
    if is_run && random.below(3) > 0 {
        scene.prepare(&here);
    }
    let mut story = String::new();
    let mut happened = 0;
    let mut wrong = Vec::new();
    // A run continues a killed or interrupted one, and may meet faults too.
    for _ in 0..=if is_run { random.below(2) } else { 0 } {
        let faults: Vec<Fault> = (0..=random.below(2))
            .filter_map(|_| draw(&mut random, &scene.usual[verb].counts))
            .collect();
        let words = words(&here, verb);
        let (said, _) =
            scene.run(&here, &words, Tracer::Faults(&faults)).expect("it was traced before");
        happened += said.happened as u64;
        let listed: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            story,
            "{}, {}: {:?}\n{}{}",
            words.join(" "),
            listed.join(" and "),
            said.ended,
            if loud { &said.out } else { "" },
            said.err,
        );
        wrong.extend(manners(&said, &faults, scene.usual[verb].said.ended));
        if is_run {
            wrong.extend(blamed(&here));
        } else {
            wrong.extend(unlike(scene, verb, &here, &said));
        }
    }
    if is_run {
        let words = words(&here, verb);
        let (said, _) =
            scene.run(&here, &words, Tracer::Faults(&[])).expect("it was traced before");
        let _ = writeln!(story, "{}: {:?}\n{}", words.join(" "), said.ended, said.err);
        if said.ended == Ended::Exited(0) {
            wrong.extend(incomplete(&here));
        } else {
            wrong.push("a run without faults does not end it".to_owned());
        }
        let (said, _) = scene
            .run(&here, &["audit", "record"], Tracer::Faults(&[]))
            .expect("it was traced before");
        if said.ended != scene.usual[AUDIT].said.ended {
            wrong.push(format!("audit: {:?}\n{}{}", said.ended, said.out, said.err));
        }
    } else if records(&here) != records(&scene.folder) {
        wrong.push("a record that was only read is another".to_owned());
    }
    if loud {
        eprintln!("{story}");
    }
    if wrong.is_empty() && !loud {
        fs::remove_dir_all(&here).expect("a folder");
    }
    let wrong = (!wrong.is_empty()).then(|| format!("{}\n{story}", wrong.join("\n")));
    Outcome { happened, wrong }
}

/// Returns the words of a verb. A run continues an existing record.
fn words(here: &Path, verb: usize) -> Vec<&'static str> {
    let record = here.join("record");
    if verb == 0 && record.join("manifest.toml").exists() {
        return vec!["run", "--resume", "record"];
    }
    if verb == 0 && record.exists() {
        // `run` itself asks for this.
        fs::remove_dir_all(&record).expect("a folder of a run that was killed before it began");
    }
    VERBS[verb].to_vec()
}

/// Draws a fault among the calls that a verb makes. Each name of a call has the same chance.
fn draw(random: &mut Random, counts: &Counts) -> Option<Fault> {
    let kind = random.below(10);
    let counts = if kind == 0 { &counts.others } else { &counts.own };
    let (&number, &count) = counts.iter().nth(random.below(counts.len() as u64) as usize)?;
    let call = by_number(number)?;
    let harm = match kind {
        // The clock moves a day back, or most of a century forward.
        _ if call.errors.is_empty() => Harm::ClockSet([-86_400, 2_500_000_000][kind as usize % 2]),
        0 => Harm::OtherKilled,
        1 => Harm::Killed,
        2 => Harm::Interrupted,
        3 if call.may_be_short => Harm::Short,
        _ => Harm::Error(call.errors[random.below(call.errors.len() as u64) as usize]),
    };
    Some(Fault { call, after: random.below(count), harm })
}

/// Checks rules that hold for every program and fault: it ends, gives the reason, and does not
/// panic.
fn manners(said: &Said, faults: &[Fault], usual: Ended) -> Vec<String> {
    let mut wrong = Vec::new();
    let is_killed = faults.iter().any(|fault| matches!(fault.harm, Harm::Killed));
    let is_interrupted = faults.iter().any(|fault| matches!(fault.harm, Harm::Interrupted));
    match said.ended {
        ended if ended == usual => {}
        Ended::Exited(130) | Ended::Signaled(Signal::SIGINT) if is_interrupted => {}
        Ended::Hung => wrong.push("it hung".to_owned()),
        Ended::Signaled(Signal::SIGKILL) if is_killed => {}
        // A Rust program ends in this way if it has no memory.
        Ended::Signaled(Signal::SIGABRT) if is_without_memory(&said.err) => return wrong,
        Ended::Signaled(signal) => wrong.push(format!("it ended by {signal}")),
        // The fault struck the message itself.
        Ended::Exited(_)
            if said.happened > 0 && faults.iter().any(|fault| fault.call.name == "write") => {}
        Ended::Exited(status) if (said.err.clone() + &said.out).trim().is_empty() => {
            wrong.push(format!("it ended with {status} and said nothing"));
        }
        Ended::Exited(_) => {}
    }
    // Rust's library panics in a new thread that gets no memory for its stack of signals.
    let excused = said.err.matches(NO_SIGNAL_STACK).count();
    if said.err.matches("panicked at").count() > excused {
        wrong.push("it panicked".to_owned());
    }
    wrong
}

/// Part of the messages of Rust's library about a thread that gets no stack for signals.
const NO_SIGNAL_STACK: &str = " alternative stack";

/// Recognizes Rust's message about missing memory.
fn is_without_memory(words: &str) -> bool {
    words.contains("memory allocation of") || words.contains(NO_SIGNAL_STACK)
}

/// Lists trials that are recorded as failed by themselves. Without faults, no trial fails.
fn blamed(here: &Path) -> Vec<String> {
    let lines = fs::read_to_string(here.join("record/trials.jsonl")).unwrap_or_default();
    let is_blamed = |line: &&str| {
        line.contains(r#""status":"failed""#) && !line.contains(r#""fault":"machine""#)
    };
    lines.lines().filter(is_blamed).map(|line| format!("taken for a result: {line}")).collect()
}

/// Compares a record that should be complete with the one that was made without faults.
fn incomplete(here: &Path) -> Vec<String> {
    let (found, expected) = (results(&here.join("record")), results(&here.join("whole")));
    let mut wrong = Vec::new();
    for (name, line) in &expected {
        let Some(found) = found.get(name) else {
            wrong.push(format!("{name} has no line"));
            continue;
        };
        let differs = |key: &&String| *key != "raw" && found.get(key) != line.get(key);
        let keys = line.as_object().into_iter().chain(found.as_object()).flat_map(|all| all.keys());
        wrong.extend(keys.filter(differs).map(|key| {
            format!("{name}: {key} is {:?}, and without faults {:?}", found.get(key), line.get(key))
        }));
    }
    // A failed attempt keeps its name.
    let raw = |line: &serde_json::Value, record: &str| {
        let folder = here.join(record).join(line["raw"].as_str().unwrap_or("no raw output"));
        let mut files = BTreeMap::new();
        gather(&folder, Path::new(""), &mut files);
        files
    };
    for (name, line) in &found {
        let (now, before) = (raw(line, "record"), raw(&expected[name], "whole"));
        if now != before {
            wrong.push(format!(
                "{name}: raw files are\n  {now:?}\nand without faults\n  {before:?}"
            ));
        }
    }
    // A folder without a lock may belong to another run for a minute.
    let left = fs::read_dir(here.join("cache/disklab/trials")).into_iter().flatten().flatten();
    wrong.extend(
        left.filter(|left| left.path().join("lock").exists())
            .map(|left| format!("{} is left", left.path().display())),
    );
    wrong
}

/// Returns the lines of a record by trial, without members that depend on the time of day.
fn results(record: &Path) -> BTreeMap<String, serde_json::Value> {
    let lines = fs::read_to_string(record.join("trials.jsonl")).unwrap_or_default();
    let mut found = BTreeMap::new();
    for line in lines.lines() {
        let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        for key in ["wall_ms", "chain"] {
            line.as_object_mut().expect("an object").remove(key);
        }
        found.insert(line["trial"].as_str().expect("a name").to_owned(), line);
    }
    found
}

/// Checks that a verb with a successful end has done its work, and that another one left nothing
/// wrong.
fn unlike(scene: &Scene, verb: usize, here: &Path, said: &Said) -> Vec<String> {
    let usual = &scene.usual[verb];
    let mut wrong = Vec::new();
    let mut made = made(here);
    if matches!(said.ended, Ended::Signaled(_)) {
        // An incomplete file has a name of its own.
        made.retain(|path, _| path.extension().is_none_or(|end| end != "part"));
    }
    let page = fs::read_to_string(here.join("made.html")).unwrap_or_default();
    if page.trim_end().ends_with("</html>") && page.contains("What could not be read") {
        // The page is complete, whether or not its name could be printed.
        made.remove(Path::new("made.html"));
    }
    if said.ended == usual.said.ended {
        // A warning is printed beside the result, and also stands on the page.
        if said.err != usual.said.err || page.contains("What could not be read") {
            return wrong;
        }
        if said.out != usual.said.out {
            wrong.push(format!("it says\n{}\nand without faults\n{}", said.out, usual.said.out));
        }
        if made != usual.made {
            wrong.push(format!("it made {made:?}\nand without faults {:?}", usual.made));
        }
    } else if made.iter().any(|(path, digest)| usual.made.get(path) != Some(digest)) {
        wrong.push(format!("it failed and left {made:?}"));
    }
    wrong
}

fn records(here: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for record in ["whole", "first", "second"] {
        gather(here, Path::new(record), &mut found);
    }
    found
}
