//! Tests from files to predictions, on a small hand-written drive.

use disklab_disks::DetailedHdd;
use disklab_disksim::{Drive, Error, MeasuredRequest, calibrate, replay, score, tracked};
use disklab_testkit::skipped;
use disklab_units::Nanos;

/// A drive with a turn of 10 ms, 100 sectors on a track and 2 tracks in a cylinder. Any seek takes
/// 2 ms.
const MODEL: &str = "
dm_disk small_model {
   Number of data surfaces = 2, Number of cylinders = 1000, Block count = 199000,
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 0, Sparing scheme used = 9, Rangesize for sparing = 1,
      Zones = [
         dm_layout_g1_zone {
            First cylinder number = 0, Last cylinder number = 999, Blocks per track = 100,
            Offset of first block = 0.0, Empty space at zone front = 0,
            Skew for track switch = 10.0, Skew for cylinder switch = 25.0, Number of spares = 500,
            slips = [ 150 ], defects = [ ] } ]
   },
   Mechanical Model = dm_mech_g1 {
      Seek type = extracted, Full seek curve = small.seek, Head switch time = 0.5,
      Add. write settling delay = 0.25, Rotation speed (in rpms) = 6000,
      Percent error in rpms = 0.0 }
}";

const SPECS: &str = "
disksim_disk SMALL {
   Model = source small.model, Bulk sector transfer time = 0.05, Number of buffer segments = 3,
   Segment size (in blks) = 64, Maximum read-ahead (blks) = 32, Buffer continuous read = 3,
   Fast write level = 2,
   Allow read hits on write data = 0, Preseeking level = 1,
   Read hit over. after read = 0.5, Read hit over. after write = 0.6,
   Read miss over. after read = 1.0, Read miss over. after write = 1.25,
   Write hit over. after read = 0.7, Write hit over. after write = 0.7
}";

fn drive() -> Drive {
    Drive::read("small.parv", &mut |name: &str| match name {
        "small.parv" => {
            Ok(b"# all of it\nsource small.diskspecs\ninstantiate [ disk0 ] as SMALL\n".to_vec())
        }
        "small.diskspecs" => Ok(SPECS.as_bytes().to_vec()),
        "small.model" => Ok(MODEL.as_bytes().to_vec()),
        "small.seek" => Ok(b"Seek distances measured: 2\n1, 2.0\n999, 2.0\n".to_vec()),
        _ => Err("no such file".to_owned()),
    })
    .expect("the files are right")
}

fn read(sector: u64, sectors: u32, gap_ms: u64) -> MeasuredRequest {
    MeasuredRequest {
        write: false,
        sector,
        sectors,
        response: Nanos::ZERO,
        gap: Nanos::from_millis(gap_ms),
    }
}

/// Returns the responses in us.
fn responses(requests: &[MeasuredRequest]) -> Vec<u64> {
    let responses = replay::closed(&drive().model, requests, Nanos::ZERO);
    responses.iter().map(|response| (response.0 + 500) / 1_000).collect()
}

#[test]
fn a_read_takes_what_its_parts_take() {
    // The command is over at 1.0 ms. Its first sector begins at 10.0 ms, and its last one ends at
    // 10.4 ms and is sent then.
    assert_eq!(responses(&[read(0, 4, 100)]), [10_450]);
    // Track 1 begins 10 sectors further round, but the head changes only at 1.5 ms, too late for
    // this turn.
    assert_eq!(responses(&[read(100, 4, 100)]), [11_450]);
    // Sector 150 was bad, so all later ones are shifted by one.
    assert_eq!(responses(&[read(150, 4, 100)]), [6_550]);
    // Cylinder 1 begins 10 + 25 sectors round, and with this address, because one sector before it
    // was bad.
    assert_eq!(responses(&[read(199, 1, 100)]), [3_650]);
}

#[test]
fn what_was_read_ahead_is_sent_at_once() {
    let found = responses(&[read(0, 4, 100), read(4, 8, 100), read(300, 4, 100), read(30, 4, 100)]);
    assert_eq!(found[1], 500 + 8 * 50);
    assert!(found[2] > 1_450 && found[3] == 500 + 4 * 50, "of an older segment: {found:?}");
}

#[test]
fn a_cached_write_takes_the_cable_and_keeps_the_arm_busy() {
    let write = MeasuredRequest { write: true, ..read(85, 8, 0) };
    // Sector 50 would pass at 5.0 ms, but the write is under the head from 8.5 ms on, so the read
    // waits until 15.0 ms.
    assert_eq!(responses(&[write, read(50, 1, 0)]), [1_100, 15_150 - 1_100]);
}

#[test]
fn what_the_file_asks_for_and_nobody_models_is_told() {
    let left_out = drive().left_out;
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert!(left_out[0].contains("Preseeking level"));
}

#[test]
fn missing_things_are_named() {
    let specs = SPECS.replace("Segment size (in blks) = 64,", "");
    let mut files = |name: &str| match name {
        "small.model" => Ok(MODEL.as_bytes().to_vec()),
        "small.seek" => Ok(b"1, 2.0\n".to_vec()),
        "empty" => Ok(Vec::new()),
        _ => Ok(specs.clone().into_bytes()),
    };
    let error = Drive::read("x", &mut files).unwrap_err();
    assert_eq!(
        error.to_string(),
        "SMALL: no `Segment size (in blks)`, which is needed to model the drive"
    );
    assert!(matches!(Drive::read("empty", &mut files), Err(Error::NoDisk { .. })));
}

/// Returns the responses of a drive whose platters are advanced by 3.777 ms, at random places with
/// the given gaps.
fn measured(model: &DetailedHdd, count: u64, gap: impl Fn(u64) -> Nanos) -> Vec<MeasuredRequest> {
    let place = |index: u64| index.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99) >> 33;
    let mut requests: Vec<MeasuredRequest> = (0..count)
        .map(|index| MeasuredRequest {
            gap: gap(place(index + 7)),
            ..read(place(index) % 198_000, 4, 0)
        })
        .collect();
    let responses = replay::closed(model, &requests, Nanos::from_micros(3_777));
    for (request, response) in requests.iter_mut().zip(responses) {
        request.response = response;
    }
    requests
}

fn tracked_deviation(requests: &[MeasuredRequest]) -> (f64, tracked::TrackingEstimate) {
    let first = calibrate::first_part(requests.len());
    let tracked = tracked::track(&drive().model, requests, first);
    let millis = |time: Nanos| time.0 as f64 / 1e6;
    let measured: Vec<f64> =
        requests[first..].iter().map(|request| millis(request.response)).collect();
    let predicted: Vec<f64> = tracked.predicted.into_iter().map(millis).collect();
    (score::deviation(&measured, &predicted), tracked.estimate)
}

#[test]
fn an_angle_that_can_be_followed_is_followed() {
    let model = drive().model;
    let slower = DetailedHdd { turn: Nanos(10_004_000), ..model };
    let (deviation, estimate) =
        tracked_deviation(&measured(&slower, 2_000, |place| Nanos(place % 20_000_000)));
    assert!(estimate.follows() && deviation < 1.0, "{deviation} ms, {estimate:?}");
    assert!((estimate.slower - 4e-4).abs() < 1e-4, "{estimate:?}");
}

#[test]
fn where_gaps_are_not_as_told_the_mean_over_all_angles_is_predicted() {
    let mut requests = measured(&drive().model, 2_000, |place| Nanos(place % 20_000_000));
    for request in &mut requests {
        request.gap = Nanos::from_millis(10);
    }
    let (deviation, estimate) = tracked_deviation(&requests);
    assert!(!estimate.follows(), "{estimate:?}");
    // A uniform wait within a turn of 10 ms has a standard deviation of 10 / sqrt(12) ms.
    assert!((2.6..3.2).contains(&deviation), "{deviation} ms");
}

#[test]
fn times_that_differ_from_the_files_are_found() {
    let model = drive().model;
    let mut other = model.clone();
    other.times.read_hit.read = Nanos::from_micros(800);
    other.cache.look_ahead.in_sequence = true;
    let far = |index: u64| (index * 7_919) % 190_000;
    let threes = (0..900).map(|index| read(far(index / 3) + index % 3 * 4, 4, 40));
    let mut requests: Vec<MeasuredRequest> = threes.collect();
    let responses = replay::closed(&other, &requests, Nanos::ZERO);
    for (request, response) in requests.iter_mut().zip(responses) {
        request.response = response;
    }
    let changes = calibrate::calibrate(&model, &requests).changes;
    assert!(changes.only_in_sequence && changes.look_ahead.is_none(), "{changes:?}");
    assert!((changes.read_hit - 0.3).abs() < 1e-6, "{changes:?}");
}

/// Measured drives are predicted as well as DiskSim does. The test needs their files, which are not
/// part of this project.
#[test]
fn measured_drives_come_out_as_well_as_in_disksim() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/disksim");
    let mut files =
        |name: &str| std::fs::read(format!("{folder}/{name}")).map_err(|error| error.to_string());
    for (name, rms) in [("barracuda", 0.348), ("atlas10k", 0.268), ("hp_c3323a", 0.306)] {
        let Ok(bytes) = files(&format!("{name}.trace")) else {
            skipped(format!("{folder}/{name}.trace is not there"));
            continue;
        };
        let drive = Drive::read(&format!("{name}.parv"), &mut files).unwrap();
        let requests = disklab_disksim::trace::read(name, &bytes, drive.summary.sectors).unwrap();
        let first = calibrate::first_part(requests.len());
        let model = calibrate::calibrate(&drive.model, &requests[..first]).model;
        let millis = |time: Nanos| time.0 as f64 / 1e6;
        let measured: Vec<f64> =
            requests[first..].iter().map(|request| millis(request.response)).collect();
        let modelled: Vec<f64> = replay::closed(&model, &requests, Nanos::ZERO)[first..]
            .iter()
            .copied()
            .map(millis)
            .collect();
        let distance = score::distance(&measured, &modelled);
        assert!(distance <= rms, "{name}: {distance}");
    }
}
