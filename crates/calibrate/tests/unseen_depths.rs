//! Tests of devices that are fitted only to depths 1 and 32 of measured drives, and scored at all
//! depths from 1 to 32. `cargo test -p disklab-calibrate --test unseen_depths -- --ignored
//! --nocapture` prints the tables of docs/results/disk-models.md.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use disklab_calibrate::matrix::fit::fit;
use disklab_calibrate::matrix::run::HostedDevice;
use disklab_calibrate::matrix::score::{DepthScore, LoadNumbers, PointScore, by_depth, score};
use disklab_foreign::matrix::{MatrixPoint, from_csv};
use toml::{Table, Value};

/// A measured drive, the device of the lab that it resembles, and its data sheet.
struct MeasuredDrive {
    drive: &'static str,
    like: &'static str,
    sheet: &'static [(&'static str, &'static str)],
}

const fn ssd(drive: &'static str) -> MeasuredDrive {
    MeasuredDrive { drive, like: "sata-ssd-1tb", sheet: &[("size", "\"480 GB\"")] }
}

const DRIVES: [MeasuredDrive; 10] = [
    MeasuredDrive {
        drive: "HPMICROSERVERG10/SATA_AHCI_SAMSUNGF1_1TB_7K2RPM",
        like: "desktop-1tb",
        sheet: &[
            ("size", "\"1 TB\""),
            ("rpm", "7200"),
            ("seek_average", "\"8.9 ms\""),
            ("cache", "\"32 MiB\""),
        ],
    },
    ssd("SERVER/IBM_M1015/SAMSUNG_860_PRO"),
    ssd("SERVER/IBM_M1015/SAMSUNG_PM883"),
    ssd("HPMICROSERVERG8/SATA300/SAMSUNG860PRO"),
    ssd("HPMICROSERVERG8/SATA300/SAMSUNGPM833"),
    ssd("HPMICROSERVERG8/SATA300/crucial250-01"),
    ssd("HPMICROSERVERG8/SATA300/crucial250-02"),
    ssd("HPMICROSERVERG10/SATA_AHCI_SAMSUNG_PM833_MZ7LH480HAHQ"),
    ssd("HPMICROSERVERG10/USB_CRUCIAL_240GB"),
    ssd("HPDL380G8/HBA/SAMSUNG_860PRO"),
];

fn start(drive: &MeasuredDrive) -> Table {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/devices");
    let text = fs::read_to_string(root.join(format!("{}.toml", drive.like))).unwrap();
    let mut table: Table = text.parse().unwrap();
    for (key, value) in drive.sheet {
        let value = format!("value = {value}").parse::<Table>().unwrap()["value"].clone();
        if *key == "size" {
            table.insert((*key).to_owned(), value);
            continue;
        }
        let family = ["hdd", "ssd"].into_iter().find(|family| table.contains_key(*family)).unwrap();
        table[family].as_table_mut().unwrap().insert((*key).to_owned(), value);
    }
    table.retain(|key, _| key != "estimated");
    if let Some(Value::Table(ssd)) = table.get_mut("ssd") {
        ssd.insert("raw_size".to_owned(), Value::String("512 GiB".to_owned()));
    }
    table
}

const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const FOLDER: &str = "/work/shared/data/fio-plot";

/// Returns the points of all drives; None, with the reason printed, if the results are not there.
fn published() -> Option<Vec<MatrixPoint>> {
    let file = PathBuf::from(FOLDER).join("fio-plot.csv");
    let Ok(bytes) = fs::read(&file) else {
        disklab_testkit::skipped(format!("{} is not there", file.display()));
        return None;
    };
    Some(from_csv(&bytes).unwrap())
}

/// Returns the results of one job of a drive, down to depth 32.
fn points_of(all: &[MatrixPoint], drive: &str, rws: &[&str]) -> Vec<MatrixPoint> {
    let is_meant = |point: &&MatrixPoint| {
        point.drive == drive && point.jobs == 1 && point.depth <= 32 && rws.contains(&&*point.rw)
    };
    let points: Vec<MatrixPoint> = all.iter().filter(is_meant).cloned().collect();
    assert_eq!(points.len(), rws.len() * DEPTHS.len(), "{drive}");
    points
}

/// Fits a device to depths 1 and 32 and scores it at all depths.
fn score_between(drive: &MeasuredDrive, points: &[MatrixPoint]) -> Vec<PointScore> {
    let ends: Vec<MatrixPoint> =
        points.iter().filter(|point| [1, 32].contains(&point.depth)).cloned().collect();
    let stated: Vec<String> = drive.sheet.iter().map(|(key, _)| (*key).to_owned()).collect();
    let found = fit("found", &start(drive), &ends, &stated, None, &mut |_, _| ()).unwrap();
    let host = found.device.host;
    assert_eq!(host, found.host, "the device's file says it");
    let hosted = HostedDevice { device: found.device, host };
    score(&hosted, points).into_iter().map(Result::unwrap).collect()
}

fn row(score: &PointScore) -> String {
    let mut line = format!("  {:9} {:2}", score.point.rw, score.point.depth);
    let three = |numbers: &LoadNumbers| [numbers.iops, numbers.p50, numbers.p99];
    let [measured, model, errors] = [&score.measured, &score.model, &score.errors].map(three);
    for (index, unit) in [1.0, 1e3, 1e3].into_iter().enumerate() {
        let number = |all: [Option<f64>; 3]| all[index].unwrap_or(f64::NAN);
        let (measured, model) = (number(measured) / unit, number(model) / unit);
        write!(line, " | {measured:7.0} {model:7.0} {:+5.0} %", number(errors) * 100.0).unwrap();
    }
    line
}

/// Prints the errors over all drives at each depth, and returns them.
fn print_summary(title: &str, drives: &[&[PointScore]], rw: &str) -> Vec<DepthScore> {
    let lists: Vec<Vec<&PointScore>> = drives
        .iter()
        .map(|scores| scores.iter().filter(|score| score.point.rw == rw).collect())
        .collect();
    let scores = by_depth(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>());
    println!("{title}, {rw}: IOPS median and worst, p50 and p99 median, %");
    for score in &scores {
        let [iops, worst, p50, p99] =
            [score.median.iops, score.worst.iops, score.median.p50, score.median.p99]
                .map(|part| part.unwrap_or(f64::NAN) * 100.0);
        println!("  {:2} | {iops:4.1} {worst:5.1} | {p50:4.1} | {p99:4.1}", score.outstanding);
    }
    scores
}

/// The drives whose machines the model cannot represent: one holds completions back between depths
/// 2 and 8, and the other has USB in between.
const ODD_MACHINES: [&str; 2] =
    ["HPDL380G8/HBA/SAMSUNG_860PRO", "HPMICROSERVERG10/USB_CRUCIAL_240GB"];

#[test]
fn reads_of_two_depths_tell_those_between() {
    let Some(all) = published() else { return };
    let chosen = ["HPMICROSERVERG8/SATA300/SAMSUNGPM833", "SERVER/IBM_M1015/SAMSUNG_860_PRO"];
    for drive in DRIVES.iter().filter(|drive| chosen.contains(&drive.drive)) {
        let points = points_of(&all, drive.drive, &["randread"]);
        for score in score_between(drive, &points) {
            println!("{}{}", drive.drive, row(&score));
            assert!(score.errors.iops.unwrap().abs() < 0.10, "{score:?}");
            assert!(score.errors.p50.unwrap().abs() < 0.20, "{score:?}");
            assert!(score.errors.p99.unwrap().abs() < 0.25, "{score:?}");
        }
    }
}

/// Fits and scores all drives, reads and writes, which takes several minutes.
#[test]
#[ignore = "it takes minutes; `-- --ignored --nocapture` prints the tables of the documents"]
fn two_depths_tell_those_between() {
    let Some(all) = published() else { return };
    let mut drives: Vec<(&str, Vec<PointScore>)> = Vec::new();
    for drive in &DRIVES {
        let points = points_of(&all, drive.drive, &["randread", "randwrite"]);
        let scores = score_between(drive, &points);
        println!("{}\n{}", drive.drive, scores.iter().map(row).collect::<Vec<_>>().join("\n"));
        drives.push((drive.drive, scores));
    }
    for rw in ["randread", "randwrite"] {
        let every: Vec<&[PointScore]> = drives.iter().map(|(_, scores)| &scores[..]).collect();
        let usual: Vec<&[PointScore]> = drives
            .iter()
            .filter(|(drive, _)| !ODD_MACHINES.contains(drive))
            .map(|(_, scores)| &scores[..])
            .collect();
        print_summary("all drives", &every, rw);
        let scores = print_summary("without the DL380 and USB", &usual, rw);
        for score in scores.iter().filter(|_| rw == "randread") {
            assert!(score.missed().is_empty(), "{score:?}");
        }
    }
}
