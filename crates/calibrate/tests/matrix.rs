//! Tests that the fit to a matrix finds the known numbers of modelled drives, and that it agrees
//! with a measured drive.

use std::fs;
use std::path::{Path, PathBuf};

use disklab_calibrate::matrix::fit::{MatrixFit, fit};
use disklab_calibrate::matrix::run::HostedDevice;
use disklab_calibrate::matrix::score::score;
use disklab_calibrate::read_back;
use disklab_foreign::matrix::{MatrixPoint, from_csv};
use toml::{Table, Value};

fn lab(device: &str) -> Table {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/devices");
    fs::read_to_string(root.join(format!("{device}.toml"))).unwrap().parse().unwrap()
}

fn with(mut table: Table, family: &str, numbers: &[(&str, &str)]) -> Table {
    let inner = table[family].as_table_mut().unwrap();
    for (key, value) in numbers {
        inner.insert((*key).to_owned(), Value::String((*value).to_owned()));
    }
    table
}

/// Returns the matrix of a modelled drive.
fn matrix(table: &Table, rws: &[&str], depths: &[u32]) -> Vec<MatrixPoint> {
    let device = read_back("known", &table.to_string()).unwrap();
    let point = |rw: &str, depth: u32| MatrixPoint {
        rw: rw.to_owned(),
        block: 4096,
        depth,
        jobs: 1,
        iops: 1.0,
        ..MatrixPoint::default()
    };
    let points: Vec<MatrixPoint> =
        rws.iter().flat_map(|rw| depths.iter().map(|&depth| point(rw, depth))).collect();
    let scores = score(&HostedDevice { device, host: None }, &points);
    let measured = |(point, score): (MatrixPoint, Result<_, String>)| {
        let score: disklab_calibrate::matrix::score::PointScore = score.unwrap();
        MatrixPoint {
            iops: score.model.iops.unwrap(),
            mean: score.model.mean,
            percentiles: vec![
                (50.0, score.model.p50.unwrap()),
                (99.0, score.model.p99.unwrap()),
                (99.9, score.model.p99_9.unwrap()),
            ],
            ..point
        }
    };
    points.into_iter().zip(scores).map(measured).collect()
}

fn nanos(fit: &MatrixFit, key: &str) -> f64 {
    let family = fit.device.model.family();
    let value = &fit.table[family][key];
    value.as_str().unwrap().parse::<disklab_units::Nanos>().unwrap().0 as f64
}

fn error(fit: &MatrixFit, key: &str) -> Option<f64> {
    let number = fit.numbers.iter().find(|number| number.key == key).unwrap();
    number.found.as_ref().ok().map(|bounds| bounds.error)
}

/// Returns the reason why a number is not determined.
fn why<'a>(fit: &'a MatrixFit, key: &str) -> &'a str {
    let number = fit.numbers.iter().find(|number| number.key == key).unwrap();
    number.found.as_ref().unwrap_err()
}

#[test]
fn a_hard_disk_is_found_again() {
    let known =
        with(lab("desktop-2tb"), "hdd", &[("seek_average", "10 ms"), ("seek_full", "18.05 ms")]);
    let points = matrix(&known, &["randread"], &[1, 4, 8, 32]);
    let mut steps = 0;
    let start = lab("desktop-2tb");
    let found = fit("found", &start, &points, &[], None, &mut |_, _| steps += 1).unwrap();
    let seek = nanos(&found, "seek_average");
    assert!((seek / 10e6 - 1.0).abs() < 0.05, "{seek}");
    let full = nanos(&found, "seek_full");
    assert!((full / seek / (24.0 / 13.3) - 1.0).abs() < 0.01, "it keeps its ratio: {full}");
    // The numbers of the queue partly compensate for each other; their effect does not change.
    let off = error(&found, "seek_average").expect("it shows");
    assert!((0.002..0.2).contains(&off), "{off}");
    assert_eq!(why(&found, "write_settle"), "no random writes were measured");
    // These are the numbers of the device that it resembles: the results give no reason to move
    // them.
    assert_eq!(found.table["hdd"]["queue_patience"], start["hdd"]["queue_patience"]);
    assert!(why(&found, "queue_patience").starts_with("the results"), "{:?}", found.numbers);
    // These are the bars of `validate`.
    for (rw, score) in &found.scores {
        assert!(rw == "randread" && score.median.iops.unwrap() < 0.10, "{score:?}");
        assert!(score.median.p99.unwrap() < 0.20, "{score:?}");
    }
    let splits: Vec<_> =
        found.crossed.iter().map(|cross| (cross.fitted.clone(), cross.scored.clone())).collect();
    assert_eq!(splits, [(vec![1, 32], vec![4, 8]), (vec![4, 8], vec![1, 32])]);
    assert!(found.crossed[0].worst.iops.unwrap() < 0.25, "{:?}", found.crossed);
    assert!(steps >= 3);
    // A number from a data sheet stays, unless sheets are known to state another mode.
    let stated = ["seek_average".to_owned(), "queue_error".to_owned()];
    let again = fit("found", &start, &points[..1], &stated, None, &mut |_, _| ()).unwrap();
    let keys: Vec<&str> = again.numbers.iter().map(|number| number.key).collect();
    assert!(keys.contains(&"seek_average") && !keys.contains(&"queue_error"), "{keys:?}");
    assert!(error(&again, "seek_average").is_some(), "lone reads show it: {:?}", again.numbers);
    let said = "it shows in random reads at several depths, and depth 1 alone was measured";
    assert_eq!(why(&again, "queue_patience"), said);
    assert!(again.crossed.is_empty(), "one depth cannot be divided");
}

#[test]
fn an_ssd_is_found_again() {
    let numbers = [("link_command", "8 us"), ("program_page", "800 us")];
    let mut known = with(lab("sata-ssd-1tb"), "ssd", &numbers);
    known["ssd"]["read_page"] = Value::Array(vec![Value::String("90 us".to_owned())]);
    let points = matrix(&known, &["randread", "randwrite"], &[1, 32]);
    let found = fit("found", &lab("sata-ssd-1tb"), &points, &[], None, &mut |_, _| ()).unwrap();
    // Writes show the number, and reads need no time of their own.
    let link = nanos(&found, "link_command");
    let off = error(&found, "link_command").expect("it shows");
    assert!((link / 8e3 - 1.0).abs() < off + 0.05, "{link}, {:?}", found.numbers);
    let page = found.table["ssd"]["read_page"][0].as_str().unwrap();
    let page = page.parse::<disklab_units::Nanos>().unwrap().0 as f64;
    assert!((page / 90e3 - 1.0).abs() < 0.05, "{page}");
    for (rw, score) in &found.scores {
        assert!(score.median.iops.unwrap() < 0.04, "{rw}: {score:?}");
    }
}

/// Several numbers could explain one rate, so none of them is moved for it.
#[test]
fn one_depth_determines_nothing_but_lone_requests() {
    let known = with(lab("desktop-2tb"), "hdd", &[("queue_error", "60 ms")]);
    let deep = matrix(&known, &["randread"], &[32]);
    let wrong = fit("x", &lab("desktop-2tb"), &deep, &[], None, &mut |_, _| ()).unwrap_err();
    for said in [
        "these results determine no number of the device, and the fit needs depth 1",
        "\nseek_average: random reads were measured with 32 in flight only",
        "\nwrite_settle: no random writes were measured",
    ] {
        assert!(wrong.contains(said), "{said}: {wrong}");
    }
    // An SSD's deep writes do not say which of its times is the long one.
    let lone = matrix(&lab("sata-ssd-480gb"), &["randread"], &[1]);
    let deep = matrix(&lab("sata-ssd-480gb"), &["randwrite"], &[32]);
    let start = lab("sata-ssd-1tb");
    let both = [lone, deep].concat();
    let found = fit("x", &start, &both, &[], None, &mut |_, _| ()).unwrap();
    for key in ["link_command", "command_overhead", "program_page", "dies_per_channel"] {
        assert!(found.table["ssd"][key] == start["ssd"][key] && !why(&found, key).is_empty());
    }
    assert!(!found.table["ssd"].as_table().unwrap().contains_key("link_command_read"));
    assert!(error(&found, "read_page").is_some_and(|error| error < 0.2), "{:?}", found.numbers);
}

/// Three rates at three depths cannot distinguish three numbers of the queue.
#[test]
fn numbers_that_stand_for_each_other_are_not_all_fitted() {
    let known = with(lab("desktop-2tb"), "hdd", &[("queue_error", "60 ms")]);
    let mut points = matrix(&known, &["randread"], &[1, 4, 32]);
    for point in &mut points {
        (point.mean, point.percentiles) = (None, Vec::new());
    }
    let start = lab("desktop-2tb");
    let found = fit("x", &start, &points, &[], None, &mut |_, _| ()).unwrap();
    let fitted: Vec<&str> = found
        .numbers
        .iter()
        .filter(|number| number.found.is_ok())
        .map(|number| number.key)
        .collect();
    assert!(fitted.len() <= 2, "{:?}", found.numbers);
    for number in found.numbers.iter().filter(|number| number.found.is_err()) {
        let (was, is) = (start["hdd"].get(number.key), found.table["hdd"].get(number.key));
        assert_eq!(was, is, "{number:?}");
    }
    assert!(found.scores.iter().all(|(_, score)| score.worst.iops.unwrap() < 0.05));
}

#[test]
fn nothing_to_fit_is_an_error() {
    let wrong = fit("x", &lab("desktop-2tb"), &[], &[], None, &mut |_, _| ()).unwrap_err();
    assert_eq!(wrong, "nothing to fit: no point is left");
    let mut point = matrix(&lab("constant-50us"), &["randread"], &[1]).remove(0);
    point.rw = "randrw".to_owned();
    let wrong = fit("x", &lab("desktop-2tb"), &[point], &[], None, &mut |_, _| ()).unwrap_err();
    assert!(wrong.starts_with("nothing to fit: 1 points are not fitted: `randrw`"), "{wrong}");
}

/// A device is fitted to the published matrix of a Samsung F1 of 1 TB, beginning with its data
/// sheet.
#[test]
fn a_drive_that_was_measured() {
    let folder = PathBuf::from("/work/shared/data/fio-plot");
    let Ok(bytes) = fs::read(folder.join("fio-plot.csv")) else {
        disklab_testkit::skipped(format!("{} is not there", folder.display()));
        return;
    };
    let sheet: Table = fs::read_to_string(folder.join("f1-1tb.toml")).unwrap().parse().unwrap();
    let mut points = from_csv(&bytes).unwrap();
    points.retain(|point| point.drive.ends_with("SAMSUNGF1_1TB_7K2RPM"));
    assert_eq!(points.len(), 72);
    let begun = std::time::Instant::now();
    let found = fit("f1", &sheet, &points, &[], None, &mut |_, _| ()).unwrap();
    println!("{:?}\n{}\n{:#?}\n{:#?}", begun.elapsed(), found.table, found.numbers, found.crossed);
    for (rw, score) in &found.scores {
        println!("{rw} {} {:?} {:?}", score.outstanding, score.median, score.worst);
    }
    let lone = &found.scores[0].1;
    assert_eq!((lone.outstanding, lone.points), (1, 1));
    assert!(lone.median.iops.unwrap() < 0.05, "{lone:?}");
    assert_eq!(found.crossed.len(), 4, "reads and writes, both ways round");
    // This score is of a fit to depths 1 and 32 at the depths in between; the bars are those of
    // `validate`.
    let between = &found.crossed[0];
    assert_eq!((between.rw.as_str(), &between.scored[..]), ("randread", &[2, 4, 8, 16][..]));
    assert!(between.worst.iops.unwrap() < 0.25, "{between:?}");
}
