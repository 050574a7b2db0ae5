//! Joins the requested load of a job with its results.

use super::line::{Declared, kept};
use super::report::{FioRun, Reported};
use crate::fio_json::is_synchronous;
use crate::grouped::grouped;
use crate::row::ResultRow;
use disklab_results::fio::Job;
use disklab_results::integrity::Claim;
use disklab_results::sample;

/// Share of submissions at which all possible requests were in flight, from which a load counts as
/// a full one.
const KEPT: f64 = 0.9;

/// The largest share of its time that a job may wait for submissions to count as a full load. With
/// buffered I/O the submissions do all the work, one at a time, and the requests after them are in
/// flight only nominally.
const SUBMITTING: f64 = 0.25;

pub fn rows(run: &FioRun) -> Vec<ResultRow> {
    let together = grouped(&run.reported, |one, other| {
        (&one.header.name, one.header.group) == (&other.header.name, other.header.group)
    });
    together.iter().filter_map(|reported| row(run, reported)).collect()
}

fn row(run: &FioRun, reported: &[&Reported]) -> Option<ResultRow> {
    let first = *reported.first()?;
    let declared = declared(run, first);
    let block = declared.as_ref().and_then(|declared| declared.block);
    let jobs: Vec<Job> = reported.iter().map(|reported| reported.job(block)).collect();
    let jobs: Vec<&Job> = jobs.iter().collect();
    let (sample, remarks) = sample::of_jobs(&jobs);
    let numjobs =
        reported.iter().fold(0_u32, |sum, reported| sum.saturating_add(reported.header.jobs));
    Some(ResultRow {
        place: format!("line {} ({})", first.line, first.header.name),
        cell: cell(&first.header.name, declared.as_ref(), numjobs),
        sample: Some(sample),
        claim: claim(reported, declared.as_ref(), numjobs, &jobs),
        remarks,
        ..ResultRow::default()
    })
}

/// Returns the requested load: of the job with this name, or of the whole group, if fio reports the
/// group as one and all its jobs are alike.
fn declared(run: &FioRun, first: &Reported) -> Option<Declared> {
    let of_group = || run.declared.iter().filter(|declared| declared.group == first.header.group);
    let reports =
        run.reported.iter().filter(|other| other.header.group == first.header.group).count();
    let grouped = reports == 1 && first.header.jobs > 1;
    if !grouped {
        return of_group().find(|declared| declared.name == first.header.name).cloned();
    }
    let one = of_group().next()?;
    let alike = |other: &Declared| {
        (&other.rw, other.block, &other.engine, other.iodepth)
            == (&one.rw, one.block, &one.engine, one.iodepth)
    };
    of_group().all(alike).then(|| one.clone())
}

fn cell(name: &str, declared: Option<&Declared>, numjobs: u32) -> Vec<(String, String)> {
    let mut cell = vec![("job".to_owned(), name.to_owned())];
    let mut put = |axis: &str, value: String| cell.push((axis.to_owned(), value));
    if let Some(declared) = declared {
        put("rw", declared.rw.clone());
        if let Some(block) = declared.block {
            put("bs", size(block));
        }
        put("iodepth", declared.iodepth.to_string());
        put("ioengine", declared.engine.clone());
    }
    put("numjobs", numjobs.to_string());
    cell
}

/// Writes a size as people give it to fio: `4k`, `1M`.
fn size(bytes: u64) -> String {
    let units = [(20, "M"), (10, "k")];
    let whole = units.iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift) && bytes > 0);
    whole.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

/// Returns the claim of some jobs. A synchronous job may wait for something besides its requests,
/// and the text does not show that; for other jobs the text has the requests in flight.
fn claim(
    reported: &[&Reported],
    declared: Option<&Declared>,
    numjobs: u32,
    jobs: &[&Job],
) -> Claim {
    let depth = declared
        .map(|declared| if is_synchronous(&declared.engine) { 1 } else { declared.iodepth });
    let all_in_flight = |depth: u32| {
        let kept = |(reported, job): (&&Reported, &&Job)| {
            let share = reported.depths.as_deref().and_then(|line| kept(line, depth));
            let waits =
                reported.synced || submitting(job) > SUBMITTING * f64::from(reported.header.jobs);
            share.is_some_and(|share| share >= KEPT) && !waits
        };
        depth > 1 && reported.iter().zip(jobs).all(kept)
    };
    let mut claim = sample::claim_of(jobs);
    for part in &mut claim.parts {
        part.latency.drop_coarse();
    }
    Claim {
        in_flight: depth.map(|depth| depth.saturating_mul(numjobs)),
        limited: !depth.is_some_and(all_in_flight),
        block: declared.and_then(|declared| declared.block),
        ..claim
    }
}

/// Returns the mean number of submissions at a time.
fn submitting(job: &Job) -> f64 {
    job.directions().iter().map(|direction| direction.iops * direction.slat.mean_ns / 1e9).sum()
}
