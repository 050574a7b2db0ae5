//! Tests the parser on real reports of fio, made by `data/make.sh`.

use disklab_results::fio::{self, Direction, Fio, Latency};

fn report(name: &str) -> Fio {
    let path = format!("{}/tests/data/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    fio::parse(&bytes).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// fio's own percentiles are the reference: fio computed them from the same buckets.
fn assert_percentiles_are_fios(latency: &Latency) {
    let histogram = latency.histogram.as_ref().expect("json+ has bins");
    assert_eq!(histogram.count(), latency.count);
    assert!(latency.reported.len() >= 15, "fio reports 17 percentiles");
    for &(percent, ns) in &latency.reported {
        assert_eq!(histogram.percentile(percent), Some(ns), "p{percent}");
        let within = ns.clamp(latency.min.0, latency.max.0);
        assert_eq!(latency.percentile(percent).map(|ns| ns.0), Some(within), "p{percent}");
    }
}

#[test]
fn percentiles_from_bins_equal_fios_own() {
    let reads = &report("randread").jobs[0].read;
    assert_percentiles_are_fios(&reads.lat);
    let grouped = report("randrw-grouped");
    assert_percentiles_are_fios(&grouped.jobs[0].read.clat);
    assert_percentiles_are_fios(&grouped.jobs[0].write.clat);
    for job in &report("two-jobs").jobs {
        assert_percentiles_are_fios(&job.read.clat);
    }
}

#[test]
fn a_trials_report_is_read_in_full() {
    let report = report("randread");
    assert_eq!(report.version, "fio-3.33");
    assert_eq!(report.messages, "");
    let [job] = report.jobs.as_slice() else { panic!("one job") };
    assert_eq!((job.name.as_str(), job.error), ("job", 0));
    assert_eq!((job.read.total_ios, job.read.io_bytes), (1024, 4 << 20));
    assert_eq!((job.write.clone(), job.trim.clone()), (Direction::default(), Direction::default()));
    let seconds = job.read.runtime.as_secs_f64();
    assert!((job.read.iops * seconds - 1024.0).abs() < 1.0, "runtime is not in milliseconds");
    assert!((job.read.bw_bytes as f64 * seconds / job.read.io_bytes as f64 - 1.0).abs() < 0.001);
    let parts = job.read.slat.mean_ns + job.read.clat.mean_ns;
    assert!((job.read.lat.mean_ns / parts - 1.0).abs() < 0.01, "lat is slat and clat");
}

#[test]
fn jobs_are_separate_unless_grouped() {
    assert_eq!(report("two-jobs").jobs.len(), 2);
    let grouped = report("randrw-grouped");
    assert_eq!(grouped.jobs.len(), 1);
    assert_eq!(grouped.jobs[0].read.total_ios + grouped.jobs[0].write.total_ios, 1024);
}

#[test]
fn without_bins_fios_percentiles_are_taken_as_they_are() {
    let clat = &report("plain").jobs[0].read.clat;
    assert_eq!(clat.histogram, None);
    let (_, reported) =
        *clat.reported.iter().find(|(percent, _)| (*percent - 99.0).abs() < 0.01).expect("p99");
    assert_eq!(clat.percentile(99.0).map(|ns| ns.0), Some(reported));
    assert_eq!(clat.percentile(98.5), None);
}

#[test]
fn failures_keep_fios_words() {
    let failed = report("failed");
    assert_eq!(failed.jobs[0].error, 28);
    assert!(
        failed.messages.starts_with("fio: io_u error on file /dev/full: No space left on device")
    );
    let nothing = report("nothing");
    assert_eq!((nothing.jobs[0].error, nothing.jobs[0].read.total_ios), (0, 0));
    assert_eq!(nothing.messages, "fio: file creation disallowed by allow_file_create=0");
}
