//! Which trials of one or two records are held against which, and what comes of it.
//!
//! - [`contest`]: one cell against another, its trials paired by seed where seeds are shared;
//! - [`metric`]: what of a trial is compared;
//! - [`judgement`]: effects, intervals and verdicts of all contests together;
//! - [`noise`]: how far two measurements of the same are apart on a machine;
//! - [`drift`]: whether a machine's level changed over a run;
//! - [`answer`]: the verdicts in words;
//! - [`separation`]: what of the recorded samples separates two choices.
//!
//! Nothing here reads a file or prints: records come in as they were opened.

pub mod answer;
pub mod contest;
pub mod drift;
pub mod error;
pub mod judgement;
pub mod metric;
pub mod noise;
pub mod separation;
pub mod winner;

pub use contest::{Contest, Trust};
pub use error::Error;
pub use judgement::{Change, Judgement, Limit, Looked, Terms, judge};
pub use metric::Metric;
pub use noise::Noise;

use contest::{between, within};
use disklab_config::Suite;
use disklab_config::suite::metric::{OPS, TIME};
use disklab_record::Record;
use disklab_record::manifest::UntilDecided;
use disklab_record::record::name_of;
use std::collections::BTreeSet;

/// Whose seeds depended on what was seen has to be judged by how it looked; of several records by
/// the one that looked most.
pub fn looked_at<'a>(records: impl Iterator<Item = &'a Record>) -> Option<&'a UntilDecided> {
    records
        .filter_map(|record| record.manifest().until_decided.as_ref())
        .max_by_key(|until| until.looks.len())
}

/// What a record's cells are told apart by.
struct Axes {
    names: Vec<String>,
    /// An axis and its value, of the suite. An imported record has none.
    baseline: Option<(String, String)>,
}

fn axes(record: &Record) -> Result<Axes, Error> {
    if let Some(imported) = &record.manifest().imported {
        return Ok(Axes { names: imported.axes.clone(), baseline: None });
    }
    let recorded = &record.manifest().suite;
    let suite =
        Suite::of_text(&recorded.name, "", recorded.text(), &recorded.set).map_err(Error::Suite)?;
    let crossed = suite.axes().iter().filter(|axis| !axis.fixed);
    let baseline =
        suite.baseline().map(|baseline| (baseline.axis.to_string(), baseline.value.clone()));
    Ok(Axes { names: crossed.map(|axis| axis.axis.to_string()).collect(), baseline })
}

/// What a record's suite wants compared; empty where it does not say.
pub fn asked(record: &Record) -> Vec<Metric> {
    let recorded = &record.manifest().suite;
    let suite = Suite::of_text(&recorded.name, "", recorded.text(), &recorded.set);
    suite
        .map(|suite| suite.metrics.iter().map(|name| Metric::of_name(name)).collect())
        .unwrap_or_default()
}

/// What there is to say of the machine that a record was made on, and of how the run went on it:
/// sentences without their full stops. None of modelled disks.
pub fn of_machine(record: &Record, metrics: &[Metric], terms: Terms) -> Vec<String> {
    if record.manifest().on_host.is_none() {
        return Vec::new();
    }
    let drifted = metrics.iter().filter_map(|metric| drift::sentence(record, metric));
    noise::sentences(record, metrics, terms).into_iter().chain(drifted).collect()
}

/// What a record is compared by where nobody says: what its suite wants; else IOPS; of trials that
/// have none, operations and how long each phase took.
pub fn usual(record: &Record) -> Vec<Metric> {
    let lines = record.lines();
    // A part of a suite has the numbers of that part.
    let told = |metric: &Metric| lines.iter().any(|it| metric.of(it).is_some());
    let wanted: Vec<_> = asked(record).into_iter().filter(told).collect();
    if !wanted.is_empty() || lines.iter().any(|it| it.sample.is_some()) {
        return if wanted.is_empty() { vec![Metric::Iops] } else { wanted };
    }
    let names: BTreeSet<&str> =
        lines.iter().flat_map(|it| it.measures.keys()).map(String::as_str).collect();
    let is_own = |name: &str| {
        name == OPS || name.strip_suffix(TIME).is_some_and(|phase| phase.ends_with(' '))
    };
    let own: Vec<_> = names.into_iter().filter(|name| is_own(name)).map(Metric::of_name).collect();
    if own.is_empty() { vec![Metric::Iops] } else { own }
}

/// The axis in which cells differ from their baseline, and the contests.
pub fn against_baseline(
    record: &Record,
    wanted: Option<(String, String)>,
    trust: Trust,
) -> Result<(String, Vec<Contest<'_>>), Error> {
    let Axes { names: axes, baseline } = axes(record)?;
    let record_name = || name_of(record.folder());
    let Some((compared, value)) = wanted.or(baseline) else {
        return Err(Error::NoBaseline { record: record_name(), axes });
    };
    let contests = within(record, &axes, (&compared, &value), trust);
    if contests.is_empty() {
        return Err(Error::NothingAgainst { record: record_name(), compared, value, axes });
    }
    Ok((compared, contests))
}

pub fn against_first<'a>(
    first: &'a Record,
    others: &'a [Record],
    trust: Trust,
) -> Result<Vec<Contest<'a>>, Error> {
    let axes = axes(first)?.names;
    let name = |record: &Record| name_of(record.folder());
    let mut all = Vec::new();
    for other in others {
        let contests = between((&name(first), first), (&name(other), other), &axes, None, trust);
        if contests.is_empty() {
            return Err(Error::NoCellInCommon { first: name(first), other: name(other) });
        }
        all.extend(contests);
    }
    Ok(all)
}

/// Two records that differ in an axis, of which each has one value.
pub fn across<'a>(
    (first, other): (&'a Record, &'a Record),
    apart: &str,
    trust: Trust,
) -> Result<Vec<Contest<'a>>, Error> {
    let axes = axes(first)?.names;
    let name = |record: &Record| name_of(record.folder());
    let contests = between((&name(first), first), (&name(other), other), &axes, Some(apart), trust);
    if contests.is_empty() {
        return Err(Error::NoCellInCommon { first: name(first), other: name(other) });
    }
    Ok(contests)
}

/// Refuses a metric that no trial has: a name that was mistyped.
pub fn measured(contests: &[Contest], metrics: &[Metric]) -> Result<(), Error> {
    let outcomes = || contests.iter().flat_map(Contest::outcomes);
    for metric in metrics {
        let has_any =
            outcomes().next().is_none() || outcomes().any(|outcome| metric.of(outcome).is_some());
        if !has_any {
            let mut found: Vec<String> =
                outcomes().flat_map(|it| it.measures.keys().cloned()).collect();
            found.sort_unstable();
            found.dedup();
            return Err(Error::NoMetric {
                metric: metric.name().to_owned(),
                known: Metric::known(),
                found,
            });
        }
    }
    Ok(())
}
