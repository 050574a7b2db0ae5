//! Tests `import` and `audit` on results of other programs, and `gate`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::input::refused;
use crate::{fixture, json, run};

/// Returns a report of fio. With `mean_us` of 4000, 8 requests are in flight.
fn fio(iodepth: u32, iops: f64, mean_us: f64) -> String {
    let requests = iops as u64;
    let job = format!(r#""jobname":"rand","job options":{{"iodepth":"{iodepth}"}}"#);
    format!(
        r#"fio: a word of warning
{{"fio version":"fio-3.36","global options":{{"ioengine":"libaio","direct":"1","bs":"4k"}},
"jobs":[{{{job},"read":{{"iops":{iops},"bw_bytes":{},"io_bytes":{},
"total_ios":{requests},"runtime":1000,"lat_ns":{{"min":1000,"max":90000000,"mean":{},"N":{requests},
"percentile":{{"50.000000":{},"99.000000":{}}}}}}}}}]}}
"#,
        (iops * 4096.0) as u64,
        requests * 4096,
        mean_us * 1000.0,
        (mean_us * 900.0) as u64,
        (mean_us * 3000.0) as u64,
    )
}

/// Makes five repeats for each of two schedulers; bfq is 10 % slower.
fn results(here: &Path) {
    for (scheduler, factor) in [("none", 1.0), ("bfq", 1.1)] {
        fs::create_dir_all(here.join("results").join(scheduler)).expect("a folder");
        for seed in 1..=5 {
            let noise = 1.0 + 0.002 * f64::from(seed);
            let iops = (2000.0 / factor / noise).round();
            let text = fio(8, iops, 8e6 / iops);
            fs::write(here.join(format!("results/{scheduler}/rand-{seed}.json")), text)
                .expect("a file");
        }
    }
}

#[test]
fn repeats_of_others_are_compared() {
    let here = tempfile::tempdir().expect("a folder");
    results(here.path());
    let import = run(
        here.path(),
        &["import", "results", "--cell", "{scheduler}/rand-{seed}.json", "--out", "theirs"],
    );
    assert_eq!((import.status, import.err.as_str()), (Some(0), ""), "{}", import.out);
    assert!(import.out.starts_with("10 rows of 10 files\n"), "{}", import.out);
    let compare =
        json(here.path(), &["compare", "./theirs", "--baseline", "scheduler=none", "--json"]);
    let cell = &compare["cells"][0];
    assert_eq!(
        (&cell["treatment"], &cell["verdict"]),
        (&"bfq".into(), &"worse".into()),
        "{compare}"
    );
    assert_eq!((&cell["paired"], &cell["trials"]), (&false.into(), &serde_json::json!([5, 5])));
    let arguments =
        ["compare", "./theirs", "--baseline", "scheduler=none", "--metric", "read p99", "--json"];
    let reads = json(here.path(), &arguments);
    assert_eq!(
        (&reads["cells"][0]["unit"], &reads["cells"][0]["verdict"]),
        (&"ns".into(), &"worse".into()),
        "{reads}"
    );
    let shown = run(here.path(), &["show", "./theirs"]);
    assert!(shown.out.contains("bfq") && shown.out.contains("10 of 10 trials ok"), "{}", shown.out);
    // The imported files are in the record, and it shows if they were changed later.
    let found = here.path().join("theirs/found/0-rand-1.json");
    assert_eq!(
        fs::read(&found).expect("kept"),
        fs::read(here.path().join("results/bfq/rand-1.json")).expect("there")
    );
    // A constant axis is not a column, and imported results cannot be run.
    let shown = run(here.path(), &["show", "./theirs"]).out;
    assert!(shown.contains("scheduler ") && !shown.contains("iodepth"), "{shown}");
    let resumed = refused(run(here.path(), &["run", "--resume", "./theirs"]));
    assert!(resumed.contains("theirs has imported results"), "{resumed}");
    let again = refused(run(here.path(), &["import", "results", "--out", "theirs"]));
    assert!(again.contains("exists already"), "{again}");
}

#[test]
fn rows_that_cannot_be_true_are_kept_and_left_out() {
    let here = tempfile::tempdir().expect("a folder");
    results(here.path());
    fs::write(here.path().join("results/bfq/rand-6.json"), fio(32, 2000.0, 40.0)).expect("a file");
    let audit = run(here.path(), &["audit", "results"]);
    assert_eq!(audit.status, Some(1), "{}", audit.err);
    let said = "rate times latency gives 0.08 requests in flight instead of 32 (Little's law)";
    assert!(
        audit.out.contains(said) && audit.out.ends_with("11 rows: 1 impossible\n"),
        "{}",
        audit.out
    );
    let pattern = "{scheduler}/rand-{seed}.json";
    let import = run(here.path(), &["import", "results", "--cell", pattern, "--out", "theirs"]);
    assert!(import.out.contains("1 row doubtful, 0 without a result"), "{}", import.out);
    let trials = |more: &[&str]| {
        let arguments =
            [&["compare", "./theirs", "--baseline", "scheduler=none", "--json"], more].concat();
        json(here.path(), &arguments)["cells"].as_array().expect("cells").len()
    };
    // The row has another depth, so that it is in a cell of its own without a counterpart.
    assert_eq!((trials(&[]), trials(&["--with-doubtful"])), (1, 1));
    let record = run(here.path(), &["audit", "theirs"]);
    assert_eq!(record.status, Some(1));
    assert!(record.out.contains(said), "{}", record.out);
}

/// A percentile that only a bound rejects is not said to be impossible.
#[test]
fn implausible_rows_are_counted_by_themselves() {
    let here = tempfile::tempdir().expect("a folder");
    let rows = "policy,seed,iops,mean_ms,p99_ms\na,1,700,45.5,9\na,2,700,45.5,150\n\
                b,1,700,-1,150\nb,2,700,45.5,150\n";
    fs::write(here.path().join("t.csv"), rows).expect("a file");
    let audit = run(here.path(), &["audit", "t.csv"]);
    assert_eq!(audit.status, Some(1), "{}", audit.err);
    for part in [
        "p99 of 9 ms is implausible beside a mean of 45.5 ms: the slowest 1 % of requests",
        "  a: 2 rows: 0 impossible, 1 implausible\n",
        "  b: 2 rows: 1 impossible\n",
        "\n4 rows: 1 impossible, 1 implausible\n",
    ] {
        assert!(audit.out.contains(part), "{part}: {}", audit.out);
    }
    let document = json(here.path(), &["audit", "t.csv", "--json"]);
    assert_eq!((&document["cannot_be_true"], &document["implausible"]), (&1.into(), &1.into()));
    assert_eq!(document["audited"][0]["doubts"][0]["plausible_from"], 22_750_000.0);
    let import = run(here.path(), &["import", "t.csv", "--out", "t"]);
    assert!(import.out.contains("\n2 rows doubtful, 0 without a result"), "{}", import.out);
}

#[test]
fn a_published_table() {
    let here = tempfile::tempdir().expect("a folder");
    let table = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/results/published/btrfs-read-policy.csv");
    fs::copy(&table, here.path().join("table.csv")).expect("the published table");
    let audit: Value =
        serde_json::from_str(&run(here.path(), &["audit", "table.csv", "--json"]).out)
            .expect("JSON");
    let group = |source: &str, rows: u32, cannot_be_true: u32, without_result: u32| {
        let counts = serde_json::json!({
            "rows": rows, "cannot_be_true": cannot_be_true, "implausible": 0,
            "without_result": without_result,
        });
        serde_json::json!([source, counts])
    };
    let groups = serde_json::json!([
        group("kakra-run2", 30, 1, 1),
        group("forza-2025-05-04", 30, 15, 0),
        group("forza-2025-05-08", 120, 87, 0),
    ]);
    assert_eq!(audit["by"]["groups"], groups, "{audit}");
    let import = run(here.path(), &["import", "table.csv", "--out", "table"]);
    assert_eq!(import.status, Some(0), "{}", import.err);
    // The only axis with a chosen name is compared, with its first value as the baseline.
    let by_itself = run(here.path(), &["compare", "./table"]);
    assert_eq!(by_itself.status, Some(0), "{}", by_itself.err);
    let begin = "No choice is best for these disks and loads (a guess from 1 repeat)";
    assert!(by_itself.out.starts_with(begin), "{}", by_itself.out);
    let compare = run(
        here.path(),
        &["compare", "./table", "--baseline", "policy=pid", "--metric", "iops,p99.9"],
    );
    assert_eq!(compare.status, Some(0), "{}", compare.err);
    assert!(
        compare.out.contains("too few seeds"),
        "one run a cell decides nothing: {}",
        compare.out
    );
    let said = refused(run(
        here.path(),
        &["compare", "./table", "--baseline", "policy=pid", "--metric", "speed"],
    ));
    assert!(
        said.contains("no trial has the number `speed`") && said.contains("bandwidth"),
        "{said}"
    );
}

#[test]
fn what_is_no_result() {
    let here = tempfile::tempdir().expect("a folder");
    let path = |name: &str| here.path().join(name);
    fs::write(path("empty.json"), "").expect("a file");
    fs::write(path("cut.json"), &fio(8, 2000.0, 4000.0)[..300]).expect("a file");
    fs::write(path("head.csv"), "policy,iops\n").expect("a file");
    fs::write(path("bad.csv"), "policy,iops\npid,many\n").expect("a file");
    fs::write(path("none.csv"), "policy,colour\npid,red\n").expect("a file");
    fs::write(path("short.csv"), "policy,iops\npid\n").expect("a file");
    fs::write(path("huge.csv"), "policy,bw_kib_s\npid,1e308\n").expect("a file");
    let fifo = std::process::Command::new("mkfifo").arg(path("pipe.csv")).status();
    assert!(fifo.is_ok_and(|status| status.success()), "mkfifo");
    for (name, said) in [
        ("no-such", "No such file"),
        ("empty.json", "the format is unknown"),
        ("cut.json", "line 4"),
        ("head.csv", "only the line of column names"),
        ("bad.csv", "line 2: `iops`: \"many\" is not a number"),
        ("none.csv", "no column has the name of a known number"),
        ("short.csv", "line 2"),
        ("huge.csv", "`bw_kib_s`: \"1e308\" is larger than any measured number"),
        ("pipe.csv", "it is a named pipe (FIFO)"),
    ] {
        let import = run(here.path(), &["import", name, "--out", "out"]);
        assert_eq!(import.status, Some(2), "{name}: {}", import.err);
        assert!(import.err.contains(said), "{name}: {}", import.err);
        assert!(!path("out").exists(), "{name}");
        assert_eq!(run(here.path(), &["audit", name]).status, Some(2), "{name}");
    }
    fs::write(path("good.json"), fio(8, 2000.0, 4000.0)).expect("a file");
    let import = run(here.path(), &["import", ".", "--out", "out"]);
    assert_eq!(import.status, Some(0), "{}", import.err);
    assert_eq!(import.err.matches("skipped: ").count(), 7, "{}", import.err);
    // A copy is not a repeat, and neither is a repeat number that occurs twice.
    fs::copy(path("good.json"), path("copy.json")).expect("a copy");
    let copies = run(here.path(), &["import", "good.json", "copy.json", "--out", "copies"]);
    assert!(
        copies.err.contains("the same bytes as good.json")
            && copies.out.starts_with("1 row of 1 file\n")
    );
    fs::write(path("twice.csv"), "policy,seed,iops\npid,1,5\npid,1,6\n").expect("a file");
    let twice = run(here.path(), &["import", "twice.csv", "--out", "twice"]);
    assert!(twice.err.contains("1 row had the repeat number of another row"), "{}", twice.err);
    assert!(
        refused(run(here.path(), &["audit", "good.json", "--by", "colour"]))
            .contains("no row has the axis `colour`")
    );
    for bad in ["{", "{a}{b}", "plain"] {
        assert!(
            refused(run(here.path(), &["import", "good.json", "--cell", bad])).contains("--cell"),
            "{bad}"
        );
    }
    let said = refused(run(here.path(), &["import", "good.json", "--cell", "{a}.txt"]));
    assert!(said.contains("--cell: the pattern does not match good.json"), "{said}");
}

#[test]
fn a_gate() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::seeds_record(here.path(), "before", 5, 1.0);
    fixture::seeds_record(here.path(), "same", 5, 1.0);
    fixture::seeds_record(here.path(), "after", 5, 1.1);
    let gate = |name: &str, more: &[&str]| {
        let gate = run(here.path(), &[&["gate", name, "--against", "before"], more].concat());
        (gate.status, gate.out + &gate.err)
    };
    let (status, said) = gate("same", &[]);
    assert_eq!(status, Some(0), "{said}");
    assert!(
        said.ends_with(
            "passed in 6 of 6 cells; the largest allowed regression is 3 %, at 95 % confidence.\n"
        ),
        "{said}"
    );
    assert!(said.contains("5 trials with the same bytes in both runs"), "{said}");
    let (status, said) = gate("after", &["--max-regression", "5%"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("regression in 6 of 6 cells"), "{said}");
    assert_eq!(gate("after", &["--max-regression", "20%"]).0, Some(0));
    assert_eq!(gate("after", &["--max-regression", "5%", "--metric", "mean,p99"]).0, Some(3));
    // With few seeds, the change is shown with the number of seeds that would decide.
    fixture::seeds_record(here.path(), "two", 2, 1.001);
    let (status, said) = gate("two", &[]);
    assert_eq!(status, Some(4), "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("undecided in 6 of 6 cells") && said.contains("-0.1 %"), "{said}");
    assert!(said.contains("2 seeds cannot decide this"), "{said}");
    assert!(said.contains("disklab run --resume two --seeds 4"), "{said}");
    assert!(!said.contains("--resume before"), "it has as many: {said}");
    // Equal bytes are the same for any number of seeds; equal numbers alone are not enough.
    fixture::seeds_record(here.path(), "one-seed", 1, 1.0);
    let (status, said) = gate("one-seed", &["--metric", "iops,p99"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("1 trial with the same bytes in both runs"), "{said}");
    let raw = here.path().join("records/one-seed/raw");
    for trial in fs::read_dir(raw).expect("raw output") {
        fs::write(trial.expect("a trial").path().join("fio.json"), "[]\n").expect("a file");
    }
    assert_eq!(gate("one-seed", &[]).0, Some(4));
    // Several metrics have a bound each.
    let (status, said) = gate("after", &["--max-regression", "iops=5%,mean=20%"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(
        said.contains("passed in 6 and regression in 6 of 12 cells")
            && said.contains("the largest allowed regression is IOPS 5 %, mean latency 20 %"),
        "{said}"
    );
    assert_eq!(
        gate("after", &["--max-regression", "iops=20%", "--max-regression", "10%"]).0,
        Some(0)
    );
    let (status, said) = gate("after", &["--metric", "mean", "--max-regression", "iops=5%"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("no bound for mean"), "{said}");
    assert_eq!(gate("no-such", &[]).0, Some(2));
    assert_eq!(gate("after", &["--max-regression", "100%"]).0, Some(2));
    // A cell that one record lacks cannot pass.
    let theirs = |name: &str, rows: &str| {
        let table = here.path().join(format!("{name}.csv"));
        fs::write(&table, format!("workload,seed,iops\n{rows}")).expect("a file");
        let table = format!("{name}.csv");
        assert_eq!(run(here.path(), &["import", &table, "--out", name]).status, Some(0));
    };
    let rows = |workload: &str| {
        (1..=5)
            .map(|seed| format!("{workload},{seed},{}\n", 1000 + seed))
            .collect::<Vec<_>>()
            .concat()
    };
    theirs("both", &(rows("read") + &rows("write")));
    theirs("one", &rows("read"));
    let missing = run(here.path(), &["gate", "./one", "--against", "./both"]);
    assert_eq!(missing.status, Some(4), "{}", missing.out);
    assert!(missing.out.contains("./one has no such cell"), "{}", missing.out);
    let report = run(here.path(), &["gate", "after", "--against", "before", "--json"]);
    assert_eq!(report.status, Some(3));
    let report: Value = serde_json::from_str(&report.out).expect("JSON");
    assert_eq!(report["cells"][0]["passage"], "regression");
}

/// The folder that the script of the published read policy benchmarks writes, around fio's real
/// output.
#[test]
fn the_folder_of_a_published_script() {
    let here = tempfile::tempdir().expect("a folder");
    let folder = here.path().join("btrfs_policy_benchmark_20250509_120000");
    fs::create_dir(&folder).expect("a folder");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../foreign/tests/data");
    let mut log = "2025-05-09 12:00:00 - ===== Starting tests with Defrag off =====\n".to_owned();
    let active = "[pid] round-robin queue";
    for (policy, version) in [("pid", "3.33"), ("queue", "3.39")] {
        let name = format!("defrag_off_policy_{policy}_fio_randread_4k_qd8_fio.txt");
        fs::copy(data.join(version).join("randread.txt"), folder.join(name)).expect("fio's output");
        let lines =
            [format!("Setting read policy to: {policy}"), format!("Current policy: {active}")];
        log.extend(lines.map(|line| format!("2025-05-09 12:00:00 - {line}\n")));
    }
    fs::write(folder.join("benchmark.log"), log).expect("a file");
    let audit = run(here.path(), &["audit", "."]);
    assert_eq!(audit.status, Some(1), "{}", audit.err);
    assert!(audit.out.contains("read policy was to be queue, but pid was active"), "{}", audit.out);
    assert!(audit.out.ends_with("2 rows: 1 impossible\n"), "{}", audit.out);
    assert_eq!(run(here.path(), &["import", ".", "--out", "theirs"]).status, Some(0));
    let arguments = ["compare", "./theirs", "--baseline", "policy=pid", "--json"];
    let cell = &json(here.path(), &arguments)["cells"][0];
    assert_eq!(
        (&cell["treatment"], &cell["trials"]),
        (&"queue".into(), &serde_json::json!([0, 1])),
        "{cell}"
    );
    let cell = &json(here.path(), &[&arguments[..], &["--with-doubtful"]].concat())["cells"][0];
    assert_eq!(
        (&cell["verdict"], &cell["trials"]),
        (&"undecided".into(), &serde_json::json!([1, 1])),
        "{cell}"
    );
}

/// Values with characters that the name of a trial cannot have become the same name, with a number.
/// `cargo xtask bench import` measures the time.
#[test]
fn rows_of_one_name_get_numbers() {
    let here = tempfile::tempdir().expect("a folder");
    fs::write(here.path().join("a.csv"), "workload,iops\nä,1\nö,2\nü,3\n").expect("room");
    let done = run(here.path(), &["import", "a.csv", "--out", "imported"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let lines = fs::read_to_string(here.path().join("imported/trials.jsonl")).expect("lines");
    let name = |line: &str| {
        serde_json::from_str::<Value>(line).expect("a line")["trial"].as_str().map(str::to_owned)
    };
    let names: std::collections::BTreeSet<_> = lines.lines().map(name).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}
