//! Tests verdicts of records that were extended, that are at the ends of estimates, and in which
//! there was no choice.

#![expect(clippy::float_cmp, reason = "what is exact is compared exactly")]

use std::path::Path;

use disklab_compare::{
    CellIndex, Comparison, DecisionRule, Metric, SequentialDesign, Trust, compare, drives,
    match_trials, sensitivity,
};
use disklab_record::manifest::{Extension, Suite, UntilDecided};
use disklab_record::{Manifest, Outcome, Record};
use disklab_results::Remark;
use disklab_results::measure::Measure;
use disklab_stats::Verdict;

const SUITE: &str = r#"
question = "Which?"
seeds = 8
memory = "256 MiB"
runtime = { rotational = "20s", solid_state = "300ms" }
baseline = { scheduler = "none" }

[axes]
array = ["one"]
workload = ["randread-4k-qd1"]
scheduler = ["none", "bfq"]
"#;

type Cells<'a> = &'a [(&'a [(&'a str, &'a str)], f64)];

fn record(
    folder: &Path,
    set: &[&str],
    cells: Cells,
    remark: Option<&Remark>,
    change: impl FnOnce(&mut Manifest),
) -> Record {
    let mut outcomes = Vec::new();
    for seed in 1..=8_u32 {
        for (number, (values, level)) in cells.iter().enumerate() {
            let id: Vec<&str> = values.iter().map(|(_, value)| *value).collect();
            // Noise of a few per cent, different in each cell.
            let noise = f64::from((seed * 5 + 3 * number as u32) % 8) * 0.004;
            let value = Measure::rate(level * (1.0 + noise), "1/s");
            outcomes.push(Outcome {
                measures: [("ops".to_owned(), value)].into(),
                remarks: remark.cloned().into_iter().collect(),
                ..disklab_testkit::outcome(format!("{}+s{seed}", id.join("+")), values, seed)
            });
        }
    }
    let set = set.iter().map(|setting| (*setting).to_owned()).collect();
    let ids: Vec<String> = outcomes.iter().map(|outcome| outcome.trial.clone()).collect();
    let mut manifest = disklab_testkit::manifest(Suite::new("which", SUITE, set), ids);
    change(&mut manifest);
    disklab_testkit::record(folder, &manifest, outcomes)
}

fn compared(record: &Record) -> Vec<Comparison> {
    let (_, matched) = match_trials(&[CellIndex::new(record)], None, Trust::Sound).expect("cells");
    let design = SequentialDesign::recorded(record.manifest());
    let metric = [Metric::of_name("ops")];
    compare(&matched, &metric, DecisionRule::DEFAULT, design.as_ref()).expect("verdicts")
}

fn extensions(after: &[u32]) -> Vec<Extension> {
    let extension = |after: &u32| Extension {
        created: String::new(),
        command: Vec::new(),
        after: *after,
        upto: 8,
    };
    after.iter().map(extension).collect()
}

fn shares(manifest: &Manifest) -> Vec<f64> {
    let design = SequentialDesign::recorded(manifest).expect("a design");
    let seeds: Vec<u32> = (1..=8).collect();
    design.by_pairs(&seeds).iter().map(|analysis| analysis.share).collect()
}

const BOTH: Cells = &[
    (&[("array", "one"), ("workload", "w"), ("scheduler", "none")], 100.0),
    (&[("array", "one"), ("workload", "w"), ("scheduler", "bfq")], 101.5),
];

#[test]
fn each_extension_leaves_less_of_alpha() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let with = |name: &str, after: &[u32]| {
        let extended = extensions(after);
        record(&here.join(name), &[], BOTH, None, |manifest| manifest.extended = extended)
    };
    let fixed = with("fixed", &[]);
    assert_eq!(SequentialDesign::recorded(fixed.manifest()), None);
    assert_eq!(SequentialDesign::next_share(None), 0.25);
    let twice = with("twice", &[4, 6]);
    assert_eq!(shares(twice.manifest()), [0.5, 0.25, 0.125]);
    let design = SequentialDesign::recorded(twice.manifest());
    assert_eq!(SequentialDesign::next_share(design.as_ref()), 1.0 / 16.0);
    assert!(design.expect("a design").in_words().expect("words").contains("seed 4 and seed 6"));
    // Other seeds than the first ones were seen: they had no analysis, and alpha is smaller.
    let pooled = with("pooled", &[0]);
    assert_eq!(shares(pooled.manifest()), [0.5, 0.25]);
    let length = |record: &Record| {
        let change = compared(record)[0].change.expect("a change");
        change.high - change.low
    };
    let [short, medium, long] = [&fixed, &pooled, &twice].map(length);
    assert!(short <= medium && medium <= long && short < long, "{short} {medium} {long}");
}

#[test]
fn the_analyses_of_a_plan_share_the_alpha_of_their_stage() {
    let until = UntilDecided {
        metrics: vec!["ops".to_owned()],
        alpha: 0.05,
        smallest_effect: 0.02,
        limit: "share".to_owned(),
        analyses: vec![4, 6, 8],
    };
    let manifest = |after: &[u32]| {
        let mut manifest = disklab_testkit::manifest(disklab_testkit::suite("which"), ["a+s1"]);
        manifest.until_decided = Some(until.clone());
        manifest.extended = extensions(after);
        manifest
    };
    assert_eq!(shares(&manifest(&[])), [1.0 / 3.0; 3]);
    assert_eq!(shares(&manifest(&[4])), [0.5, 0.125, 0.125]);
    let design = SequentialDesign::recorded(&manifest(&[4])).expect("a design");
    assert_eq!(design.upto(6).by_pairs(&[1, 2, 3, 4, 5, 6]).len(), 2);
}

#[test]
fn a_same_in_which_there_was_nothing_to_choose_is_marked() {
    let folder = tempfile::tempdir().expect("a folder");
    let equal: Cells = &[(BOTH[0].0, 100.0), (BOTH[1].0, 100.0)];
    let nothing = Remark::NothingToSchedule { most: 1, tags: 32 };
    let of = |name: &str, cells: Cells, remark: Option<&Remark>| {
        compared(&record(&folder.path().join(name), &[], cells, remark, |_| {})).swap_remove(0)
    };
    let same = of("same", equal, Some(&nothing));
    assert_eq!(same.verdict, Verdict::Same, "{same:?}");
    let why = same.no_choice.expect("a mark");
    assert!(why.contains("never more than 1 request at a disk"), "{why}");
    assert!(same.remarks[0].starts_with("the same: the I/O scheduler"), "{:?}", same.remarks);
    // If the trials are unknown, the remark is about another axis, or the verdict is not "same",
    // there is no remark.
    assert_eq!(of("unknown", equal, None).no_choice, None);
    let other = Remark::NoMirrorToChoose { why: disklab_results::remark::NoMirrors::OneCopy };
    assert_eq!(of("other", equal, Some(&other)).no_choice, None);
    let faster: Cells = &[(BOTH[0].0, 100.0), (BOTH[1].0, 200.0)];
    assert_eq!(of("faster", faster, Some(&nothing)).no_choice, None);
}

#[test]
fn verdicts_over_drives_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let cells: Vec<(Vec<(&str, &str)>, f64)> = [("fast", 150.0), ("slow", 60.0), ("large", 160.0)]
        .into_iter()
        .flat_map(|(drive, level)| {
            let cell = |scheduler| {
                let own = [("array", "one"), ("workload", "w"), ("scheduler", scheduler)];
                own.into_iter().chain([("device", drive)]).collect()
            };
            [(cell("none"), 100.0), (cell("bfq"), level)]
        })
        .collect();
    let cells: Vec<_> = cells.iter().map(|(cell, level)| (cell.as_slice(), *level)).collect();
    let record = record(&folder.path().join("all"), &[], &cells, None, |_| {});
    let comparisons = compared(&record);
    let said = drives::sentences(&comparisons);
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0], "Over 3 drives: fast, slow and large");
    let better = ": better on 2 of 3 (+49 % to +59 %), worse on slow (-40 %)";
    assert!(
        said[1].starts_with("ops of bfq compared with") && said[1].ends_with(better),
        "{said:?}"
    );
    let one_drive = drives::sentences(&comparisons[..1]);
    assert!(one_drive.is_empty(), "{one_drive:?}");
}

#[test]
fn verdicts_that_turn_at_an_end_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = "estimated=as-is,age_limit-low,age_limit-high";
    let cells: Vec<(Vec<(&str, &str)>, f64)> =
        [("as-is", 150.0), ("age_limit-low", 60.0), ("age_limit-high", 160.0)]
            .into_iter()
            .flat_map(|(end, level)| {
                let cell = |scheduler| {
                    let own = [("array", "one"), ("workload", "w"), ("scheduler", scheduler)];
                    own.into_iter().chain([("estimated", end)]).collect()
                };
                [(cell("none"), 100.0), (cell("bfq"), level)]
            })
            .collect();
    let cells: Vec<_> = cells.iter().map(|(cell, level)| (cell.as_slice(), *level)).collect();
    let record = record(&folder.path().join("ends"), &[set], &cells, None, |_| {});
    let comparisons = compared(&record);
    assert_eq!(comparisons.len(), 3);
    let [own] = &sensitivity::sensitivities(&comparisons)[..] else { panic!("one verdict") };
    assert!(!own.holds && own.verdict == "better", "{own:?}");
    let turns: Vec<(&str, bool)> =
        own.ends.iter().map(|end| (end.end.as_str(), end.turns)).collect();
    assert_eq!(turns, [("age_limit-low", true), ("age_limit-high", false)]);
    let said = sensitivity::sentences(&comparisons);
    assert!(said[0].ends_with("of 1 verdict 1 change at an end"), "{said:?}");
    assert!(said[1].contains("worse") && said[1].contains("at age_limit-low"), "{said:?}");
    let remark = comparisons[0].remarks.last().expect("a remark");
    assert!(
        remark.starts_with("the verdict depends on estimated numbers of the disks: worse")
            && remark.ends_with("at age_limit-low"),
        "{remark}"
    );
    // Cells at the ends do not count as cells in the answer.
    let answer = disklab_compare::conclusion::sentences(&comparisons);
    assert!(answer[0].contains(": better; change: "), "{answer:?}");
    assert!(sensitivity::sentences(&comparisons[..1]).is_empty());
    let ends_alone = sensitivity::sentences(&comparisons[1..]);
    assert!(ends_alone[0].starts_with("No verdict is given"), "{ends_alone:?}");
}
