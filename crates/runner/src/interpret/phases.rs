//! Results of a workload of phases.

use super::evidence::raw_file;
use disklab_config::phases::{PhaseAction, Phases, PrintedNumbers, WorkloadPhase};
use disklab_config::suite::metric::{BANDWIDTH, OF_A_READER, READ, READER, TIME, WRITTEN};
use disklab_protocol::closing::{self, Closing};
use disklab_protocol::names;
use disklab_protocol::step::{PhaseAccount, PhaseEnd, Step};
use disklab_results::fio::{self, Job};
use disklab_results::measure::{Measure, Measures};
use disklab_results::sample::{ENOUGH_FOR_P99_9, of_jobs};
use disklab_results::{Remark, dbench, fs_mark};
use disklab_units::Nanos;
use std::path::Path;

/// Number of requests for a p99: as many lie above it as above the p99.9 of ten times as many.
const ENOUGH_FOR_P99: u64 = ENOUGH_FOR_P99_9 / 10;

/// Returns the numbers of all completed and timed-out phases. The error gives the reason why there
/// are none.
pub fn measures(
    phases: &Phases,
    folder: &Path,
    steps: &[Step],
    closing: &Closing,
) -> Result<(Measures, Vec<Remark>), String> {
    let accounts = accounts(folder)?;
    let (mut measures, mut remarks) = (Measures::new(), Vec::new());
    let ends = steps.iter().filter_map(|step| match step {
        Step::Phase { went, .. } => Some(went),
        _ => None,
    });
    for went in ends {
        let phase = phases.all.iter().find(|phase| phase.name == went.phase);
        let account = accounts.iter().find(|account| account.phase == went.phase);
        let (Some(phase), Some(account)) = (phase, account) else {
            return Err(format!(
                "the guest reports the end of phase `{}`, and {} lacks its numbers",
                went.phase,
                names::PHASES
            ));
        };
        let (found, few) = of_phase(phase, went, account, closing)?;
        measures.extend(found.into_iter().map(|(name, measure)| (phase.metric(&name), measure)));
        remarks.extend(few.map(|(percentile, requests)| {
            let what = phase.metric(&format!("{READER} {percentile}"));
            Remark::FewRequests { requests, what: Some(what) }
        }));
        if went.timed_out {
            let what = phase.metric(TIME);
            remarks.push(Remark::NotWithin { what, limit: phase.limit });
        }
    }
    if measures.is_empty() {
        return Err("the guest reports no phase that ended".to_owned());
    }
    Ok((measures, remarks))
}

fn accounts(folder: &Path) -> Result<Vec<PhaseAccount>, String> {
    let text = raw_file(folder, names::PHASES, || {
        format!("the trial wrote no {}, which has the numbers of its phases", names::PHASES)
    })?;
    let text =
        String::from_utf8(text).map_err(|e| format!("{}: it is not text: {e}", names::PHASES))?;
    let read = |(index, line)| {
        serde_json::from_str(line).map_err(|e| {
            let file = names::PHASES;
            format!("{file}, line {}: not the numbers of a phase: {e}", index + 1)
        })
    };
    text.lines().enumerate().map(read).collect()
}

/// A percentile of very few requests.
type Few = (&'static str, u64);

/// Numbers by their names.
type Found = (Vec<(String, Measure)>, Option<Few>);

/// Returns the numbers of a phase, by the part of their names behind the phase's name.
fn of_phase(
    phase: &WorkloadPhase,
    went: &PhaseEnd,
    account: &PhaseAccount,
    closing: &Closing,
) -> Result<Found, String> {
    let time = Measure { censored: went.timed_out, ..Measure::time(went.took_ns as f64) };
    let mut found = vec![(TIME.to_owned(), time)];
    let seconds = Nanos(went.took_ns).as_secs_f64();
    let rate = |bytes: u64| Measure::rate(bytes as f64 / seconds, "bytes/s");
    if let Some(report) = &account.fio {
        let jobs = jobs(report, "fio")?;
        let bytes = jobs.iter().flat_map(Job::directions).map(|direction| direction.io_bytes).sum();
        found.push((BANDWIDTH.to_owned(), rate(bytes)));
    }
    let moved = closing.phase(&phase.name).map(moved).unwrap_or_default();
    let is_program = matches!(phase.what, PhaseAction::Program { .. });
    let reads = is_program || phase.jobs().iter().any(|each| each.job.rw.reads());
    let writes = is_program || phase.writes();
    // The rate is undefined for a phase of zero length.
    let told = [(READ, reads, moved.0), (WRITTEN, writes, moved.1)];
    let told = told.into_iter().filter(|(_, is_told, _)| *is_told && seconds > 0.0);
    found.extend(told.map(|(name, _, bytes)| (name.to_owned(), rate(bytes))));
    if let PhaseAction::Program { numbers: Some(numbers), .. } = phase.what
        && !went.timed_out
    {
        found.extend(numbers_of(numbers, &account.said)?);
    }
    let mut few = None;
    if let Some(report) = &account.reader {
        let (of_reader, percentile) = of_reader_report(report)?;
        found.extend(of_reader);
        few = percentile;
    }
    Ok((found, few))
}

/// Returns the bytes that all disks together read and wrote.
fn moved(phase: &closing::PhaseCounts) -> (u64, u64) {
    let sum = |of: fn(&closing::DeviceCounts) -> u64| phase.devices.iter().map(of).sum();
    (sum(|device| device.read_bytes), sum(|device| device.write_bytes))
}

/// Returns the numbers in a program's output, by names without the program's.
fn numbers_of(numbers: PrintedNumbers, said: &str) -> Result<Vec<(String, Measure)>, String> {
    let (program, rows) = match numbers {
        PrintedNumbers::Dbench => {
            ("dbench ", dbench::parse(said.as_bytes()).map_err(|e| e.to_string()))
        }
        PrintedNumbers::FsMark => {
            ("fs_mark ", fs_mark::parse(said.as_bytes()).map_err(|e| e.to_string()))
        }
    };
    let rows = rows.map_err(|e| format!("the output of {numbers}: {e}"))?;
    let last =
        rows.into_iter().next_back().ok_or_else(|| format!("{numbers} printed no numbers"))?;
    let short =
        |(name, measure): (String, Measure)| (name.trim_start_matches(program).to_owned(), measure);
    Ok(last.measures.into_iter().map(short).collect())
}

/// Returns the jobs of a report, or an error if fio failed.
fn jobs(report: &str, whose: &str) -> Result<Vec<Job>, String> {
    let jobs = fio::parse(report.as_bytes()).map_err(|e| format!("{whose}'s report: {e}"))?.jobs;
    let (_, remarks) = of_jobs(&jobs.iter().collect::<Vec<_>>());
    match remarks.iter().find(|remark| remark.voids()) {
        Some(remark) => Err(format!("{whose}: {remark}")),
        None => Ok(jobs),
    }
}

fn of_reader_report(report: &str) -> Result<Found, String> {
    let jobs = jobs(report, "the reader")?;
    let (sample, _) = of_jobs(&jobs.iter().collect::<Vec<_>>());
    let time = |ns: Option<Nanos>| ns.map(|ns| Measure::time(ns.0 as f64));
    let values = [
        Some(Measure::rate(sample.iops, "1/s")),
        Some(Measure::time(sample.lat_mean_ns)),
        time(sample.p50_ns),
        time(sample.p99_ns),
        time(sample.p99_9_ns),
    ];
    let named = OF_A_READER.iter().zip(values);
    let found =
        named.filter_map(|(name, value)| Some((format!("{READER} {name}"), value?))).collect();
    Ok((found, few(sample.requests)))
}

/// Returns the lowest percentile for which there are too few requests.
fn few(requests: u64) -> Option<Few> {
    match requests {
        0..ENOUGH_FOR_P99 => Some(("p99", requests)),
        ENOUGH_FOR_P99..ENOUGH_FOR_P99_9 => Some(("p99.9", requests)),
        ENOUGH_FOR_P99_9.. => None,
    }
}
