//! Tests output of fio of several versions, made by `data/make.sh`. Each format gives the same
//! numbers of a run, and the checks find nothing wrong with it.

use std::fs;
use std::path::PathBuf;

use disklab_foreign::ResultRow;
use disklab_foreign::format::Unreadable;
use disklab_foreign::{Claimed, File, format_of};
use disklab_foreign::{fio_json, fio_terse, fio_text};
use disklab_results::Remark;
use disklab_results::fio::{self, Job};
use disklab_results::integrity::{self, DirectionClaim};

const VERSIONS: [&str; 4] = ["3.25", "3.33", "3.39", "3.41"];

fn folder(version: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/data", version].iter().collect()
}

/// Returns every file of a version: name and bytes, by name.
fn files(version: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder(version))
        .expect("a folder for each version")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(&path).expect("a readable file"))
        })
        .collect();
    files.sort();
    files
}

fn bytes(version: &str, name: &str) -> Option<Vec<u8>> {
    fs::read(folder(version).join(name)).ok()
}

/// Reads a file as the command does: with the format that claims it.
fn read(version: &str, name: &str, bytes: &[u8]) -> Option<Result<Vec<ResultRow>, Unreadable>> {
    let beside = |other: &str| self::bytes(version, other);
    let file = File { path: name, bytes, beside: &beside };
    match format_of(&file) {
        (Some(format), Claimed::Results) => Some((format.read)(&file)),
        (Some(format), Claimed::Beside) => {
            let _ = (format.read)(&file);
            None
        }
        _ => None,
    }
}

/// Returns the runs, as (version, name), that fio printed in this format and in JSON.
fn runs(extension: &str) -> Vec<(&'static str, String)> {
    let stem = |name: &str| name.strip_suffix(extension).map(str::to_owned);
    let of = |version| {
        let names = files(version).into_iter().filter_map(move |(name, _)| stem(&name));
        names.filter(move |name| bytes(version, &format!("{name}.json")).is_some())
    };
    let all: Vec<_> =
        VERSIONS.iter().flat_map(|&version| of(version).map(move |name| (version, name))).collect();
    assert!(all.len() >= 20, "{extension}: {}", all.len());
    all
}

fn json_rows(version: &str, name: &str) -> (fio::Fio, Vec<ResultRow>) {
    let report = fio::parse(&bytes(version, &format!("{name}.json")).unwrap()).unwrap();
    let rows = fio_json::rows(&report);
    (report, rows)
}

/// Checks that two numbers differ by no more than rounding explains.
fn assert_near(found: f64, exact: f64, relative: f64, absolute: f64, what: &str) {
    let within = (found - exact).abs() <= exact.abs() * relative + absolute;
    assert!(within, "{what}: {found} instead of {exact}");
}

#[test]
fn text_says_what_json_says() {
    for (version, name) in runs(".txt") {
        let at = format!("{version} {name}");
        if matches!(name.as_str(), "missing" | "full") {
            continue;
        }
        let text = fio_text::parse(&bytes(version, &format!("{name}.txt")).unwrap()).unwrap();
        let (_, json) = json_rows(version, &name);
        assert_eq!(text.len(), json.len(), "{at}");
        for (text, json) in text.iter().zip(&json) {
            let (found, exact) = (text.sample.as_ref().unwrap(), json.sample.as_ref().unwrap());
            assert_eq!(found.requests, exact.requests, "{at}");
            // fio 3.25 has the running time, and so the rates, only to a ms in both formats.
            assert_near(found.iops, exact.iops, 1e-6, 0.0, &format!("{at} iops"));
            let coarse = if name == "sizes" { 0.006 } else { 1e-6 };
            assert_near(
                found.bw_bytes as f64,
                exact.bw_bytes as f64,
                coarse,
                1.0,
                &format!("{at} bandwidth"),
            );
            assert_near(found.lat_mean_ns, exact.lat_mean_ns, 1e-3, 5.0, &format!("{at} mean"));
            // Histograms of several directions can be added up, percentiles cannot.
            assert!(name == "plus" || found.percentiles_of == exact.percentiles_of, "{at}");
            assert_eq!(
                (found.read.is_some(), found.write.is_some()),
                (exact.read.is_some(), exact.write.is_some())
            );
            for (found, exact) in text.claim.parts.iter().zip(&json.claim.parts) {
                assert_rounded_up(found, exact, &at);
            }
            let (asked, known) = (text.claim.in_flight, json.claim.in_flight);
            assert_eq!((asked, text.claim.block), (known, json.claim.block), "{at}");
            assert_eq!(text.cell.first(), json.cell.first(), "{at}");
        }
    }
}

/// Checks percentiles. Text rounds them up to a unit, and cuts the least and the greatest to six
/// digits of a unit.
fn assert_rounded_up(text: &DirectionClaim, json: &DirectionClaim, at: &str) {
    // json+ limits the percentiles of its bins to the greatest latency.
    let near = |ns: f64| if ns < 2e6 { 1e3 } else { 1e6 } + ns / 64.0;
    for (percent, exact) in &json.latency.percentiles {
        let same = |(known, _): &&(f64, f64)| (known - percent).abs() < 1e-6;
        let Some((_, found)) = text.latency.percentiles.iter().find(same) else {
            assert!(*exact < 20e6, "{at}: p{percent} is missing");
            continue;
        };
        assert!(found >= exact && found - exact < near(*exact), "{at}: p{percent} {found} {exact}");
    }
    for (found, exact) in
        [(text.latency.min, json.latency.min), (text.latency.max, json.latency.max)]
    {
        let (found, exact) = found.zip(exact).unwrap();
        assert_near(found, exact, 0.01, 1e3, at);
    }
}

#[test]
fn terse_says_what_json_says() {
    for (version, name) in runs(".terse") {
        let at = format!("{version} {name}");
        let terse = fio_terse::parse(&bytes(version, &format!("{name}.terse")).unwrap()).unwrap();
        let (_, json) = json_rows(version, &name);
        assert_eq!(terse.len(), json.len(), "{at}");
        for (terse, json) in terse.iter().zip(&json) {
            let exact = json.sample.as_ref().unwrap();
            let parts = json.claim.parts.len().max(1) as f64;
            let value = |name: &str| terse.measures[name].value;
            assert_near(value("iops"), exact.iops, 0.0, parts, &format!("{at} iops"));
            assert_near(
                value("bandwidth"),
                exact.bw_bytes as f64,
                0.0,
                1024.0 * parts,
                &format!("{at} bandwidth"),
            );
            assert_near(value("mean"), exact.lat_mean_ns, 0.03, 1.0, &format!("{at} mean"));
            for (terse, json) in terse.claim.parts.iter().zip(&json.claim.parts) {
                for (percent, found) in &terse.latency.percentiles {
                    let same = |(known, _): &&(f64, f64)| (known - percent).abs() < 1e-6;
                    let (_, exact) = json.latency.percentiles.iter().find(same).unwrap();
                    assert!(
                        found <= exact && exact - found < 1000.0,
                        "{at}: p{percent} {found} {exact}"
                    );
                }
            }
            assert_eq!(terse.claim.ran, json.claim.ran, "{at}");
        }
    }
}

#[test]
fn nothing_is_wrong_with_what_fio_printed() {
    for version in VERSIONS {
        for (name, bytes) in files(version) {
            let Some(rows) = read(version, &name, &bytes) else { continue };
            if name == "missing.txt" {
                let says = rows.unwrap_err().message;
                assert!(says.contains("file creation disallowed"), "{says}");
                continue;
            }
            for row in rows.unwrap_or_else(|error| panic!("{version} {name}: {error}")) {
                let failed = matches!(name.as_str(), "full.txt" | "full.json" | "missing.json");
                assert_eq!(
                    row.remarks.iter().any(Remark::voids),
                    failed,
                    "{version} {name}: {:?}",
                    row.remarks
                );
                // A failed request has no bytes.
                let wrong = integrity::check(&row.claim);
                assert!(failed || wrong.is_empty(), "{version} {name}: {wrong:?}");
            }
        }
    }
}

#[test]
fn logs_say_what_json_says() {
    for version in ["3.33", "3.41"] {
        let row = |name: &str| {
            let rows = read(version, name, &bytes(version, name).unwrap())
                .expect("the first by name")
                .unwrap();
            rows.into_iter().next().expect("a row")
        };
        let each = row("each_bw.1.log").sample.expect("of all requests");
        let (report, json) = json_rows(version, "each");
        let exact = json[0].sample.as_ref().unwrap();
        assert_eq!(each.requests, exact.requests, "{version}");
        assert_near(each.lat_mean_ns, exact.lat_mean_ns, 1e-6, 1.0, version);
        // Times of logs are in whole ms, and this run took only a few ms.
        assert_near(each.iops, exact.iops, 0.25, 0.0, version);
        let reads = each.read.expect("it read");
        let clat = row("each_bw.1.log").claim.parts;
        assert_eq!(clat.len(), 2);
        let p99 = report.jobs[0].read.clat.percentile(99.0).unwrap().0 as f64;
        assert!(reads.p99_ns.unwrap().0 as f64 >= p99 * 0.98, "lat is clat and more");
        for (index, name) in ["mean_bw.1.log", "mean_bw.2.log"].into_iter().enumerate() {
            let measures = row(name).measures;
            let job = &report_of(version, "mean").jobs[index].read;
            assert_near(
                measures["iops"].value,
                job.iops,
                0.1,
                0.0,
                &format!("{version} {name} iops"),
            );
            assert_near(
                measures["bandwidth"].value,
                job.bw_bytes as f64,
                0.1,
                0.0,
                &format!("{version} {name} bandwidth"),
            );
            assert_near(
                measures["mean"].value,
                job.lat.mean_ns,
                0.1,
                0.0,
                &format!("{version} {name} mean"),
            );
        }
        assert!(
            read(version, "each_lat.1.log", &bytes(version, "each_lat.1.log").unwrap()).is_none()
        );
    }
}

fn report_of(version: &str, name: &str) -> fio::Fio {
    json_rows(version, name).0
}

#[test]
fn percentiles_of_bins_are_fios_to_a_bucket() {
    for version in VERSIONS {
        let (report, _) = json_rows(version, "plus");
        let latencies =
            report.jobs.iter().flat_map(Job::directions).map(|direction| &direction.clat);
        let mut compared = 0;
        for latency in latencies.filter(|latency| latency.count > 0) {
            let histogram = latency.histogram.as_ref().expect("json+ has bins");
            for &(percent, ns) in &latency.reported {
                let found = histogram.percentile(percent).unwrap();
                assert_near(
                    found as f64,
                    ns as f64,
                    1.0 / 64.0,
                    0.0,
                    &format!("{version} p{percent}"),
                );
                compared += 1;
            }
        }
        assert!(compared >= 30, "{version}");
    }
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_rows() {
    for version in VERSIONS {
        for (name, bytes) in files(version) {
            for point in 0..=200 {
                let cut = &bytes[..bytes.len() * point / 200];
                for row in read(version, &name, cut).and_then(Result::ok).unwrap_or_default() {
                    assert!(
                        integrity::check(&row.claim)
                            .iter()
                            .all(|remark| !remark.to_string().is_empty())
                    );
                }
            }
        }
    }
}
