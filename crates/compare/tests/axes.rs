//! Tests the axes of compared records: the compared axis, ignored axes, and axes that only repeat
//! another.

use std::path::Path;

use disklab_compare::{
    DecisionRule, Error, Metric, RecommendationRule, Trust, index_records, match_trials, recommend,
};
use disklab_record::manifest::{Imported, Suite};
use disklab_record::{Outcome, Record};
use disklab_results::measure::Measure;

const SUITE: &str = r#"
question = "Which?"
seeds = 3
memory = "256 MiB"
runtime = { rotational = "20s", solid_state = "300ms" }
kernel = "newest"
baseline = { policy = "pid" }

[axes]
array = ["one", "two"]
workload = ["randread-4k-qd1"]
policy = ["pid", "queue"]
"#;

fn outcome(values: &[(&str, &str)], seed: u32, value: f64) -> Outcome {
    let id: Vec<&str> = values.iter().map(|(_, value)| *value).collect();
    Outcome {
        measures: [("ops".to_owned(), Measure::rate(value, "1/s"))].into(),
        ..disklab_testkit::outcome(format!("{}+s{seed}", id.join("+")), values, seed)
    }
}

/// Makes a record of the suite with these settings. `cells` are axes and values, with a level.
fn run(folder: &Path, set: &[&str], cells: &[(&[(&str, &str)], f64)]) -> Record {
    let outcomes = || {
        (1..=4_u32).flat_map(|seed| {
            let value = move |level: f64| level * (1.0 + 0.001 * f64::from(seed));
            cells.iter().map(move |(cell, level)| outcome(cell, seed, value(*level)))
        })
    };
    let set = set.iter().map(|setting| (*setting).to_owned()).collect();
    let ids: Vec<String> = outcomes().map(|outcome| outcome.trial).collect();
    let manifest = disklab_testkit::manifest(Suite::new("which", SUITE, set), ids);
    disklab_testkit::record(folder, &manifest, outcomes())
}

/// Makes a record of imported results: rows with their axes, three repeats each.
fn import(folder: &Path, rows: &[(&[(&str, &str)], f64)]) -> Record {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for repeat in 1..=3 {
        for (cell, level) in rows {
            outcomes.push(outcome(cell, repeat, level * (1.0 + 0.001 * f64::from(repeat))));
        }
    }
    let ids: Vec<String> = outcomes.iter().map(|outcome| outcome.trial.clone()).collect();
    let mut manifest = disklab_testkit::manifest(Suite::new("imported", "", Vec::new()), ids);
    let axes = rows[0].0.iter().map(|(axis, _)| (*axis).to_owned()).collect();
    manifest.imported = Some(Imported { axes, passed_over: Vec::new() });
    Record::import(folder, &manifest, &outcomes, &[]).expect("an import");
    Record::open(folder).expect("a record")
}

/// Returns the compared axis, and the cell, the treatment and the baseline of each pair.
fn pairs(records: &[Record], ignored: &[&str]) -> Result<(String, Vec<[String; 3]>), Error> {
    let ignored: Vec<String> = ignored.iter().map(|axis| (*axis).to_owned()).collect();
    let indexes = index_records(records, None, &ignored)?;
    let (compared, matched) = match_trials(&indexes, None, Trust::Sound)?;
    let pair = |one: &disklab_compare::MatchedTrials| {
        let cell = disklab_compare::answer::values(&one.cell);
        [cell, one.treatment.clone(), one.baseline.clone()]
    };
    Ok((compared, matched.iter().map(pair).collect()))
}

#[test]
fn the_axis_that_varies_is_compared_where_the_suites_own_does_not() {
    let here = tempfile::tempdir().expect("a folder");
    let schedulers = run(
        &here.path().join("schedulers"),
        &["policy=pid", "scheduler=none,bfq", "array=one"],
        &[
            (&[("array", "one"), ("scheduler", "none")], 100.0),
            (&[("array", "one"), ("scheduler", "bfq")], 120.0),
        ],
    );
    let (compared, all) = pairs(&[schedulers], &[]).expect("pairs");
    assert_eq!(
        (compared.as_str(), all),
        ("scheduler", vec![["one", "bfq", "none"].map(str::to_owned)])
    );
    // The baseline is not among the policies, so that the first policy is the baseline.
    let policies = run(
        &here.path().join("policies"),
        &["policy=queue,latency", "array=one"],
        &[
            (&[("array", "one"), ("policy", "queue")], 100.0),
            (&[("array", "one"), ("policy", "latency")], 120.0),
        ],
    );
    let (compared, all) = pairs(&[policies], &[]).expect("pairs");
    assert_eq!((compared.as_str(), all[0][2].as_str()), ("policy", "queue"));
    let arrays = run(
        &here.path().join("arrays"),
        &["policy=pid"],
        &[
            (&[("array", "one"), ("policy", "pid")], 100.0),
            (&[("array", "two"), ("policy", "pid")], 120.0),
        ],
    );
    let (compared, all) = pairs(&[arrays], &[]).expect("pairs");
    assert_eq!(
        (compared.as_str(), all[0][1].as_str(), all[0][2].as_str()),
        ("array", "two", "one")
    );
}

#[test]
fn several_axes_that_vary_are_compared_as_combinations_and_one_by_one() {
    let here = tempfile::tempdir().expect("a folder");
    let mut cells: Vec<(Vec<(&str, &str)>, f64)> = Vec::new();
    for (scheduler, of_scheduler) in [("none", 1.0), ("bfq", 1.2)] {
        for (kernel, of_kernel) in [("7.2", 1.0), ("7.3", 0.9)] {
            let cell = vec![("array", "one"), ("scheduler", scheduler), ("kernel", kernel)];
            cells.push((cell, 100.0 * of_scheduler * of_kernel));
        }
    }
    let cells: Vec<(&[(&str, &str)], f64)> =
        cells.iter().map(|(cell, level)| (cell.as_slice(), *level)).collect();
    let set = ["policy=pid", "array=one", "scheduler=none,bfq", "kernel=7.2,7.3"];
    let records = [run(&here.path().join("both"), &set, &cells)];
    let (compared, all) = pairs(&records, &[]).expect("pairs");
    assert_eq!(compared, "scheduler + kernel");
    let names: Vec<&str> = all.iter().map(|pair| pair[1].as_str()).collect();
    assert_eq!(names, ["none + 7.3", "bfq + 7.2", "bfq + 7.3"]);
    assert!(all.iter().all(|pair| pair[0] == "one" && pair[2] == "none + 7.2"), "{all:?}");
    let indexes = index_records(&records, None, &[]).expect("indexes");
    let rule = RecommendationRule {
        decision: DecisionRule::DEFAULT,
        interim: None,
        trust: Trust::Sound,
        weights: &[],
    };
    let metrics = [Metric::of_name("ops")];
    let found = recommend(&indexes, &compared, Some("none + 7.2"), &metrics, &rule)
        .expect("a judgement")
        .expect("candidates");
    assert_eq!(found.choice.choice.as_deref(), Some("bfq + 7.2"));
    let axes: Vec<_> =
        found.by_axis.iter().map(|one| (one.axis.as_str(), one.choice.choice.as_deref())).collect();
    assert_eq!(axes, [("scheduler", Some("bfq")), ("kernel", Some("7.2"))]);
    assert!(found.details.iter().any(|text| text.starts_with("The best scheduler is bfq")));
    // A named baseline is of one axis, and its cells have the other axes.
    let indexes = index_records(&records, Some("scheduler"), &[]).expect("indexes");
    let wanted = Some(("scheduler".to_owned(), "none".to_owned()));
    let (_, matched) = match_trials(&indexes, wanted, Trust::Sound).expect("pairs");
    assert_eq!(matched.len(), 2);
}

#[test]
fn an_axis_can_be_ignored_unless_seeds_collide() {
    let here = tempfile::tempdir().expect("a folder");
    let cells: [(&[(&str, &str)], f64); 4] = [
        (&[("array", "one"), ("policy", "pid")], 100.0),
        (&[("array", "one"), ("policy", "queue")], 110.0),
        (&[("array", "two"), ("policy", "pid")], 100.0),
        (&[("array", "two"), ("policy", "queue")], 110.0),
    ];
    let own = [run(&here.path().join("own"), &[], &cells)];
    assert!(matches!(pairs(&own, &["array"]), Err(Error::SharedSeed { .. })));
    assert!(matches!(pairs(&own, &["disks"]), Err(Error::NoAxis { .. })));
    assert!(matches!(
        index_records(&own, Some("policy"), &["policy".to_owned()]),
        Err(Error::IgnoresCompared { .. })
    ));
    // Imported repeats share only their number.
    let theirs = [import(&here.path().join("theirs"), &cells)];
    let indexes = index_records(&theirs, None, &["array".to_owned()]).expect("indexes");
    let (_, matched) = match_trials(&indexes, None, Trust::Sound).expect("pairs");
    assert_eq!((matched.len(), matched[0].treatments.len()), (1, 6));
}

#[test]
fn an_axis_that_repeats_another_moves_with_it() {
    let here = tempfile::tempdir().expect("a folder");
    let row =
        |file: &'static str, policy: &'static str, workload: &'static str, bs: &'static str| {
            [
                ("file", file),
                ("policy", policy),
                ("workload", workload),
                ("bs", bs),
                ("engine", "libaio"),
            ]
        };
    let rows = |run: usize| {
        let names = [["a", "b", "c", "d"], ["e", "f", "g", "h"]][run];
        [
            (row(names[0], "pid", "small", "4k"), 100.0),
            (row(names[1], "pid", "large", "1m"), 200.0),
            (row(names[2], "queue", "small", "4k"), 110.0),
            (row(names[3], "queue", "large", "1m"), 190.0),
        ]
    };
    let imported = |name: &str, run: usize| {
        let rows = rows(run);
        let rows: Vec<(&[(&str, &str)], f64)> =
            rows.iter().map(|(cell, level)| (&cell[..], *level)).collect();
        import(&here.path().join(name), &rows)
    };
    // The file and the engine are not axes, and bs follows from the workload.
    let (compared, all) = pairs(&[imported("first", 0)], &[]).expect("pairs");
    assert_eq!(compared, "policy");
    let cells: Vec<[&str; 3]> = all.iter().map(|pair| [&*pair[0], &*pair[1], &*pair[2]]).collect();
    assert_eq!(cells, [["small", "queue", "pid"], ["large", "queue", "pid"]]);
    // With two imports of the same matrix, every cell has a row, whatever the names of their files.
    let both = [imported("one", 0), imported("two", 1)];
    let (compared, all) = pairs(&both, &[]).expect("pairs");
    assert_eq!((compared.as_str(), all.len()), ("record", 4));
    assert_eq!(all[0][0], "pid, small");
    // An axis stays if nothing else distinguishes its values.
    let alone = import(
        &here.path().join("alone"),
        &[(&[("file", "a"), ("bs", "4k")], 1.0), (&[("file", "b"), ("bs", "4k")], 2.0)],
    );
    let (compared, all) = pairs(&[alone], &[]).expect("pairs");
    assert_eq!((compared.as_str(), all[0][2].as_str()), ("file", "a"));
}
