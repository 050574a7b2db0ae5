//! Numbers of each section of fio's own job file.

use disklab_config::job_file::{JobSection, metric};
use disklab_results::fio::{Fio, Job};
use disklab_results::measure::{Measure, Measures};
use disklab_results::sample::{ENOUGH_FOR_P99_9, of_jobs};
use disklab_results::{Remark, Sample};
use disklab_units::Nanos;

/// Returns the numbers by section and name, such as `[writers] iops`, and remarks on percentiles of
/// few requests. The error names a section that fio does not report.
pub fn measures(sections: &[JobSection], report: &Fio) -> Result<(Measures, Vec<Remark>), String> {
    let (mut measures, mut remarks) = (Measures::new(), Vec::new());
    for JobSection { name, .. } in sections {
        let jobs: Vec<&Job> = report.jobs.iter().filter(|job| job.name == *name).collect();
        if jobs.is_empty() {
            return Err(format!("fio's report has no section [{name}]"));
        }
        let (sample, _) = of_jobs(&jobs);
        if (1..ENOUGH_FOR_P99_9).contains(&sample.requests) {
            let what = Some(metric(name, "p99.9"));
            remarks.push(Remark::FewRequests { requests: sample.requests, what });
        }
        // A section that another section ended before its first request has no latency.
        if sample.requests > 0 {
            measures.extend(numbers(&sample).map(|(what, number)| (metric(name, what), number)));
        }
    }
    Ok((measures, remarks))
}

fn numbers(sample: &Sample) -> impl Iterator<Item = (&'static str, Measure)> {
    let time = |ns: Option<Nanos>| ns.map(|ns| Measure::time(ns.0 as f64));
    let numbers = [
        ("iops", Some(Measure::rate(sample.iops, "1/s"))),
        ("bandwidth", Some(Measure::rate(sample.bw_bytes as f64, "bytes/s"))),
        ("mean", Some(Measure::time(sample.lat_mean_ns))),
        ("p50", time(sample.p50_ns)),
        ("p99", time(sample.p99_ns)),
        ("p99.9", time(sample.p99_9_ns)),
    ];
    numbers.into_iter().filter_map(|(what, number)| Some((what, number?)))
}
