//! Tests samples that are joined from real reports of fio and closing records made to agree or
//! disagree with them.

use disklab_protocol::closing::{Closing, DeviceCounts, PhaseCounts};
use disklab_results::fio::{self, Fio};
use disklab_results::integrity::Clock;
use disklab_results::sample::{LatencyKind, RequestedLoad, Sample, join};
use disklab_results::{Histogram, Remark};
use disklab_units::Nanos;

fn report(name: &str) -> Fio {
    let path = format!("{}/tests/data/{name}.json", env!("CARGO_MANIFEST_DIR"));
    fio::parse(&std::fs::read(&path).expect(&path)).expect(&path)
}

fn device(name: &str, reads: u64, busy: u64) -> DeviceCounts {
    DeviceCounts {
        name: name.into(),
        reads,
        writes: 0,
        flushes: 0,
        discards: 0,
        read_bytes: reads * 4096,
        write_bytes: 0,
        busy: Nanos(busy),
        wait: Nanos(busy),
        service: Some(Nanos(busy)),
        depth: Some(Nanos(busy * 3)),
        most: Some(32),
        followers: Some(reads),
        apart: Some(reads / 2),
        apart_sectors: Some(reads * 16),
        model: None,
    }
}

fn closing(devices: Vec<DeviceCounts>) -> Closing {
    let phase = |name: &str, begin, end, devices| PhaseCounts {
        name: name.into(),
        begin,
        end,
        read_followers: Some(100),
        read_switches: Some(25),
        devices,
    };
    let phases = vec![
        phase("prepare", Nanos(0), Nanos(500), vec![device("vda", 77, 500)]),
        phase("measure", Nanos(1000), Nanos(5000), devices),
    ];
    Closing {
        virtual_ns: Nanos(6000),
        requests: 1101,
        devices: vec!["hdd-8tb".into()],
        phases,
        trace_sha256: None,
        power_cuts: Vec::new(),
    }
}

/// Returns a report that obeys Little's law for `in_flight` requests, and its requested load.
fn agreeing(in_flight: u32) -> (Fio, RequestedLoad) {
    let mut report = report("randread");
    let read = &mut report.jobs[0].read;
    read.iops = f64::from(in_flight) * 1e9 / read.lat.mean_ns;
    read.bw_bytes = (read.iops * 4096.0) as u64;
    let asked = RequestedLoad {
        clock: Clock::Virtual,
        in_flight: Some(in_flight),
        direct: true,
        alone: true,
        runtime: read.runtime,
        jobs: 1,
        has_one_window: false,
        block: Some(4096),
        besides: 0,
    };
    (report, asked)
}

#[test]
fn a_sound_trial_has_no_remarks() {
    let (fio, asked) = agreeing(8);
    let (sample, remarks) =
        join(&fio, &closing(vec![device("vda", 256, 4000), device("vdb", 768, 1000)]), &asked);
    assert_eq!(remarks, []);
    let read = &fio.jobs[0].read;
    assert_eq!((sample.iops.to_bits(), sample.bw_bytes), (read.iops.to_bits(), read.bw_bytes));
    assert_eq!(sample.requests, 1024);
    assert_eq!(sample.percentiles_of, Some(LatencyKind::Lat));
    assert_eq!(sample.p99_ns, read.lat.percentile(99.0));
    let shares =
        sample.devices.iter().map(|disk| (disk.name.as_str(), disk.read_share, disk.utilisation));
    assert_eq!(shares.collect::<Vec<_>>(), [("vda", Some(0.25), 1.0), ("vdb", Some(0.75), 0.25)]);
    assert_eq!(sample.devices[0].device.as_deref(), Some("hdd-8tb"));
}

#[test]
fn what_arrives_at_the_disks_is_told() {
    let (fio, asked) = agreeing(8);
    let (sample, _) = join(&fio, &closing(vec![device("vda", 256, 4000)]), &asked);
    assert_eq!(sample.read_switches, Some(0.25));
    let disk = &sample.devices[0];
    assert_eq!((disk.depth_mean, disk.not_sequential), (Some(3.0), Some(0.5)));
    assert_eq!((disk.distance_mean_bytes, disk.service_mean_ns), (Some(8192.0), Some(Nanos(15))));
    assert_eq!((disk.read_bytes, disk.write_bytes), (256 * 4096, 0));
}

#[test]
fn reads_and_writes_are_apart_and_make_the_whole() {
    let fio = report("randrw-grouped");
    let asked = RequestedLoad {
        clock: Clock::Virtual,
        in_flight: None,
        direct: false,
        alone: true,
        runtime: Nanos(0),
        jobs: 1,
        has_one_window: false,
        block: Some(4096),
        besides: 0,
    };
    let (sample, _) = join(&fio, &closing(vec![device("vda", 1024, 4000)]), &asked);
    let (read, write) =
        (sample.read.as_ref().expect("reads"), sample.write.as_ref().expect("writes"));
    assert_eq!(read.requests, fio.jobs[0].read.total_ios);
    assert_eq!(sample.percentiles_of, Some(LatencyKind::Clat));
    assert_eq!(write.p99_ns, fio.jobs[0].write.clat.percentile(99.0));
    assert_eq!(sample.requests, read.requests + write.requests);
    assert_eq!(sample.bw_bytes, read.bw_bytes + write.bw_bytes);
    assert!(read.lat_mean_ns.min(write.lat_mean_ns) <= sample.lat_mean_ns);
    assert!(sample.lat_mean_ns <= read.lat_mean_ns.max(write.lat_mean_ns));
}

#[test]
fn a_sample_survives_being_written() {
    let (fio, asked) = agreeing(8);
    let (sample, _) = join(&fio, &closing(vec![device("vda", 1024, 3333)]), &asked);
    let text = serde_json::to_string(&sample).expect("plain numbers");
    assert!(text.contains("\"p99_9_ns\":"), "{text}");
    assert_eq!(serde_json::from_str::<Sample>(&text).expect("its own text"), sample);
}

#[test]
fn littles_law_is_held_against_the_load() {
    let (fio, asked) = agreeing(8);
    let whole = closing(vec![device("vda", 1024, 4000)]);
    for (in_flight, holds) in [(8, true), (9, false), (7, false)] {
        let (_, remarks) =
            join(&fio, &whole, &RequestedLoad { in_flight: Some(in_flight), ..asked });
        assert_eq!(remarks.is_empty(), holds, "{in_flight}: {remarks:?}");
    }
    for loose in [
        RequestedLoad { in_flight: None, ..asked },
        RequestedLoad { in_flight: Some(9), direct: false, ..asked },
    ] {
        assert_eq!(join(&fio, &whole, &loose).1, []);
    }
}

#[test]
fn disks_that_did_less_than_fio_are_noticed() {
    let (fio, asked) = agreeing(8);
    let remarks = |reads, asked: &RequestedLoad| {
        join(&fio, &closing(vec![device("vda", reads, 4000)]), asked).1
    };
    assert_eq!(remarks(1024 - 8 - 10, &asked), [], "8 in flight, and 1 % for the ramp's end");
    let expected = Remark::ReadFromElsewhere { fio_bytes: 1024 * 4096, disks_bytes: 1005 * 4096 };
    assert_eq!(remarks(1005, &asked), [expected]);
    assert_eq!(remarks(1005, &RequestedLoad { direct: false, ..asked }), []);
    // The known reads are those of a request in flight at either end, a hundredth, and a
    // filesystem's occasional reads.
    let known = (2 * (8 + 10) * 4096 + 1024 * 4096 * 2 / 100 + (1 << 20)) / 4096;
    assert_eq!(remarks(1024 + known - 40, &asked), []);
    assert!(matches!(remarks(1024 + known + 40, &asked)[..], [Remark::ReadBesides { .. }]));
    assert_eq!(remarks(1024 + known + 40, &RequestedLoad { besides: 4096, ..asked }), []);
    assert_eq!(remarks(1024 + known + 40, &RequestedLoad { alone: false, ..asked }), []);
    assert_eq!(remarks(1005, &RequestedLoad { alone: false, ..asked }), []);

    let mut writes = report("randrw-grouped");
    writes.jobs[0].read = fio::Direction::default();
    let asked = RequestedLoad {
        clock: Clock::Virtual,
        in_flight: None,
        direct: true,
        alone: true,
        runtime: Nanos(0),
        jobs: 1,
        has_one_window: false,
        block: Some(4096),
        besides: 0,
    };
    let (_, remarks) = join(&writes, &closing(vec![device("vda", 1024, 4000)]), &asked);
    assert!(
        remarks
            .iter()
            .any(|remark| matches!(remark, Remark::WrittenElsewhere { disks_bytes: 0, .. }))
    );
}

#[test]
fn failures_void_the_sample() {
    let asked = RequestedLoad {
        clock: Clock::Virtual,
        in_flight: Some(1),
        direct: true,
        alone: true,
        runtime: Nanos(0),
        jobs: 1,
        has_one_window: false,
        block: Some(4096),
        besides: 0,
    };
    let whole = closing(vec![device("vda", 1024, 4000)]);
    let (_, remarks) = join(&report("failed"), &whole, &asked);
    assert!(remarks.contains(&Remark::FioError { job: "full".into(), errno: 28 }), "{remarks:?}");
    let (sample, remarks) = join(&report("nothing"), &whole, &asked);
    assert!(remarks.contains(&Remark::NoRequests), "{remarks:?}");
    assert_eq!((sample.p50_ns, sample.percentiles_of, sample.requests), (None, None, 0));
    assert!(remarks.iter().any(Remark::voids));

    let mut unmeasured = whole.clone();
    unmeasured.phases.truncate(1);
    let (fio, asked) = agreeing(8);
    assert_eq!(join(&fio, &unmeasured, &asked).1, [Remark::NoMeasuredPhase]);
}

#[test]
fn odd_counts_are_remarked_on() {
    let (mut fio, asked) = agreeing(8);
    fio.jobs[0].read.short_ios = 2;
    fio.jobs[0].read.total_ios = 900;
    let longer = RequestedLoad { runtime: asked.runtime * 2, ..asked };
    let (_, remarks) = join(&fio, &closing(vec![device("vda", 1024, 4001)]), &longer);
    let expected = [
        Remark::LostRequests { short: 2, dropped: 0 },
        Remark::BusyBeyondPhase { device: "vda".into(), busy: Nanos(4001), phase: Nanos(4000) },
        Remark::ShortRun { asked: longer.runtime, ran: asked.runtime },
        Remark::RequestSize { found: 1024.0 * 4096.0 / 900.0, asked: 4096.0 },
        Remark::FewRequests { requests: 900, what: None },
    ];
    assert_eq!(remarks, expected);
    let text = serde_json::to_string(&remarks).expect("plain data");
    assert_eq!(serde_json::from_str::<Vec<Remark>>(&text).expect("its own text"), expected);
}

#[test]
fn histograms_of_jobs_and_directions_are_added_up() {
    let asked = RequestedLoad {
        clock: Clock::Virtual,
        in_flight: None,
        direct: true,
        alone: true,
        runtime: Nanos(0),
        jobs: 1,
        has_one_window: false,
        block: Some(4096),
        besides: 0,
    };
    let disks = closing(vec![device("vda", 1024, 4000)]);
    let fio = report("two-jobs");
    let bins = |job: usize| fio.jobs[job].read.clat.histogram.clone().expect("json+");
    let both: Histogram = bins(0).merged(&bins(1)).expect("few requests");
    let (sample, _) = join(&fio, &disks, &asked);
    assert_eq!(sample.percentiles_of, Some(LatencyKind::Clat));
    assert_eq!(sample.p50_ns.map(|ns| ns.0), both.percentile(50.0));
    assert_eq!(sample.requests, 512);

    let mut without = fio.clone();
    without.jobs[1].read.clat.histogram = None;
    let (sample, remarks) = join(&without, &disks, &asked);
    assert_eq!(sample.p50_ns, None, "fio's percentiles of two jobs cannot be added");
    assert!(remarks.contains(&Remark::NoPercentiles));
    let plain = report("plain");
    let (sample, _) = join(&plain, &disks, &asked);
    assert_eq!(sample.p50_ns, plain.jobs[0].read.clat.percentile(50.0));
    assert!(sample.p50_ns.is_some());
}
