//! Tests a suite that is split into parts: keys of trials, `--trial`, `--shard` and `merge`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::input::refused;
use crate::{fixture, guests, json, run};

fn ids(plan: &Value) -> Vec<&str> {
    plan["trials"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|trial| trial["id"].as_str())
        .collect()
}

#[test]
fn shards_are_the_suite() {
    let here = tempfile::tempdir().expect("a folder");
    let plan = |more: &[&str]| {
        json(here.path(), &[&["plan", "read-policy-quick", "--json"], more].concat())
    };
    let whole = plan(&[]);
    let shards = ["1/3", "2/3", "3/3"].map(|shard| plan(&["--shard", shard]));
    let mut all = BTreeSet::new();
    for shard in &shards {
        let own = ids(shard);
        assert!(own.iter().all(|id| all.insert(*id)), "a trial is in two shards");
        let wall = shard["wall_ms"].as_u64().expect("a time");
        let third = whole["wall_ms"].as_u64().expect("a time") / 3;
        assert!(wall.abs_diff(third) < third / 10, "{wall} ms of {third}");
        let order = ids(&whole);
        assert!(
            own.iter().map(|id| order.iter().position(|known| known == id)).is_sorted(),
            "in the suite's order"
        );
    }
    assert_eq!(all, ids(&whole).into_iter().collect());
    let trial = &whole["trials"][0];
    assert_eq!(trial["cell"]["policy"], "pid");
    assert_eq!(
        (&trial["processors"], &trial["key"]),
        (&1.into(), &Value::Null),
        "there is no kernel here"
    );
    assert!(trial["memory"].as_u64() > Some(512 << 20), "{trial}");
}

#[test]
fn trials_are_asked_for_by_name_where_there_is_no_kernel() {
    let here = tempfile::tempdir().expect("a folder");
    let name = "constant-raid1+smoke-randread+round-robin=4096+s2";
    let plan = json(here.path(), &["plan", "smoke", "--json", "--trial", name]);
    assert_eq!(ids(&plan), [name]);
    let wrong = |id: &str| refused(run(here.path(), &["plan", "smoke", "--trial", id]));
    assert!(
        wrong("constant-raid1+smoke-randread+pid+s3")
            .contains("did you mean `constant-raid1+smoke-randread+pid+s1`?")
    );
    let key = wrong("0123456789abcdef");
    let missing = "the trial may be one of kernel newest, which is not built; build it with \
        `disklab kernel build`";
    assert!(key.contains(missing), "{key}");
    let shard = |shard: &str| run(here.path(), &["plan", "smoke", "--shard", shard]);
    assert_eq!(shard("0/2").status, Some(2));
    assert!(refused(shard("5/5")).contains("the suite has only 4 trials"));
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let merge = |runs: &[&str]| run(here.path(), &[&["merge"], runs].concat());
    assert!(refused(merge(&["nothing"])).contains("./records has no record `nothing`"));
    fs::create_dir(here.path().join("empty")).expect("a folder");
    assert!(refused(merge(&["./empty"])).contains("is not a record"));
    let schema = here.path().join("records/newer");
    fs::create_dir(&schema).expect("a folder");
    fs::write(schema.join("manifest.toml"), "schema = 4\n").expect("a file");
    assert!(
        refused(merge(&[fixture::NAME, "newer"]))
            .contains("newer/manifest.toml: its schema is 4; this disklab reads 1 to 3")
    );
    // Merging a single record copies the files that count.
    let done = merge(&[fixture::NAME, "--out", "copy"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert_eq!(run(here.path(), &["same", fixture::NAME, "./copy"]).status, Some(0));
    assert!(refused(merge(&[fixture::NAME, "--out", "copy"])).contains("copy exists"));
    // One more byte makes a file differ from its digest.
    fixture::small_record(here.path(), "one", 100);
    fixture::small_record(here.path(), "other", 200);
    let done = merge(&["one", "other", "--out", "both"]);
    assert_eq!(done.status, Some(1), "{}", done.err);
    assert!(
        done.err.contains("hdd-raid1+randread-4k-qd1+pid+s1: requests.trace.gz differs"),
        "{}",
        done.err
    );
    let told = run(here.path(), &["merge", "one", "other", "--out", "both", "--json"]);
    let told: Value = serde_json::from_str(&told.out).expect("JSON");
    assert_eq!(told["conflicts"][0]["file"], "requests.trace.gz");
    assert!(!here.path().join("both").exists());
}

/// The intact file of the other record is taken, and the output names the damaged one.
#[test]
fn a_damaged_file_is_named_where_another_record_has_it_whole() {
    let here = tempfile::tempdir().expect("a folder");
    let whole = fixture::small_record(here.path(), "whole", 100);
    let damaged = fixture::small_record(here.path(), "damaged", 100);
    let raw = |record: &Path| {
        let trial = fs::read_dir(record.join("raw"))
            .expect("raw")
            .next()
            .expect("a trial")
            .expect("a folder");
        trial.path().join("requests.trace.gz")
    };
    fs::write(raw(&damaged), "not what was recorded").expect("a file");
    for order in [["whole", "damaged"], ["damaged", "whole"]] {
        let out = order.join("-");
        let done = run(here.path(), &["merge", order[0], order[1], "--out", &out]);
        assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
        assert!(
            done.err.contains(
                "requests.trace.gz was changed after it was recorded; the copy of another record \
                 was taken"
            ) && done.err.contains("records/damaged/"),
            "{}",
            done.err
        );
        assert_eq!(fs::read(raw(&here.path().join(&out))).ok(), fs::read(raw(&whole)).ok());
    }
}

fn files(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

/// Three shards, with one trial twice, merge to the record of one run.
#[test]
fn merged_shards_are_the_whole_run() {
    let Some(place) = guests::place() else { return };
    let here = place.path();
    let suite = ["smoke", "--seeds", "1", "--set", "policy=pid,round-robin:4k,devid"];
    let go = |more: &[&str], status: i32| {
        let done = run(here, &[&["run"], &suite[..], more].concat());
        assert_eq!(done.status, Some(status), "{more:?}: {}{}", done.out, done.err);
        done
    };
    go(&["--out", "whole", "--jobs", "1"], 0);
    let plan = json(here, &[&["plan", "--json"], &suite[..]].concat());
    let keys: Vec<&str> = plan["trials"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|trial| trial["key"].as_str())
        .collect();
    assert_eq!((keys.len(), keys.iter().all(|key| key.len() == 16)), (3, true), "{plan}");
    for shard in ["1/3", "2/3", "3/3"] {
        let out = shard.replace('/', "-of-");
        go(&["--shard", shard, "--out", &out, "--jobs", "1"], 0);
        // A merged record can be continued.
        let again = run(here, &["run", "--resume", &format!("./{out}")]);
        assert!(again.out.contains("nothing left to run"), "{}{}", again.out, again.err);
    }
    go(&["--trial", &format!("{},{}", keys[2], keys[0]), "--out", "two"], 0);
    let some = run(here, &["merge", "./1-of-3", "./two", "--out", "some"]);
    assert!(
        some.out.contains("of the suite's 3 are in none of them") || some.out.contains("2 of 2"),
        "{}",
        some.out
    );
    let merged =
        run(here, &["merge", "./3-of-3", "./two", "./1-of-3", "./2-of-3", "--out", "merged"]);
    assert_eq!((merged.status, merged.err.as_str()), (Some(0), ""));
    assert!(
        merged.out.starts_with("3 of 3 trials ok, of 4 records\n2 results that others had too"),
        "{}",
        merged.out
    );
    let alike = run(here, &["same", "./whole", "./merged"]);
    assert!(
        alike.status == Some(0) && !alike.out.contains("made differently"),
        "{}{}",
        alike.out,
        alike.err
    );
    let raw = |record: &str, trial: &str| files(&here.join(record).join("raw").join(trial));
    for trial in ids(&plan) {
        assert_eq!(raw("whole", trial), raw("merged", trial));
    }
    let line = fs::read_to_string(here.join("merged/trials.jsonl")).expect("lines");
    assert!(keys.iter().all(|key| line.contains(&format!("\"key\":\"{key}\""))), "{line}");
}

/// If an axis concerns one policy only, the trials of the other policy have one key, and run once.
#[test]
fn trials_of_one_key_are_run_once() {
    let Some(place) = guests::place() else { return };
    let here = place.path();
    let once = ["run", "smoke", "--seeds", "1", "--set", "policy=pid"];
    let ranged = [
        "run",
        "smoke",
        "--seeds",
        "1",
        "--set",
        "policy=pid,round-robin",
        "--set",
        "policy.bytes=4KiB,8KiB,16KiB",
    ];
    for (words, out) in [(&once[..], "once"), (&ranged[..], "ranged")] {
        let done = run(here, &[words, &["--out", out, "--jobs", "2"]].concat());
        assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    }
    let outcomes = |record: &str, policy: &str| -> Vec<Value> {
        let text = fs::read_to_string(here.join(record).join("trials.jsonl")).expect("text");
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|line| line["cell"]["policy"] == policy).collect()
    };
    let own = outcomes("ranged", "pid");
    assert_eq!(own.len(), 3);
    for outcome in &own {
        for field in ["key", "files", "sample", "disks", "wall_ms"] {
            assert_eq!(outcome[field], own[0][field], "{field}");
        }
        assert_eq!(outcome["files"], outcomes("once", "pid")[0]["files"]);
        assert_eq!(outcome["files"].as_object().map(serde_json::Map::len), Some(4), "{outcome}");
        let folder = here.join("ranged").join(outcome["raw"].as_str().expect("a folder"));
        assert!(files(&folder).contains("console.log"), "{:?}", files(&folder));
    }
    let cells: BTreeSet<&str> =
        own.iter().filter_map(|outcome| outcome["cell"]["policy.bytes"].as_str()).collect();
    assert_eq!(cells, ["4KiB", "8KiB", "16KiB"].into());
    let keys: BTreeSet<String> = outcomes("ranged", "round-robin")
        .iter()
        .map(|outcome| outcome["key"].to_string())
        .collect();
    assert_eq!(keys.len(), 3);
    let whole = run(here, &["show", "./ranged"]);
    assert!(whole.out.contains("16KiB"), "{}{}", whole.out, whole.err);
}
