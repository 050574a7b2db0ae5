//! Tests the tables of a record, read back by other libraries: every number is the record's, to the
//! last digit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use disklab_export::{Exported, Format, Wanted, export, table};
use disklab_record::{Outcome, Record, Status};
use disklab_results::Sample;
use disklab_results::measure::{Better, Measure};
use disklab_results::sample::DeviceSample;
use disklab_trace::Served;
use disklab_units::{Nanos, Seed};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

/// Numbers that a careless writer changes.
const THIRD: f64 = 1.0 / 3.0;
const LARGE: f64 = 123_456_789_012.345_67;

fn outcome(trial: &str, policy: &str, status: Status) -> Outcome {
    let cell = [("array", "hdd-raid1"), ("policy", policy), ("disk.2.seek", "1.414")];
    let device = DeviceSample {
        name: "vda".to_owned(),
        reads: 7,
        utilisation: THIRD,
        ..DeviceSample::default()
    };
    let sample = Sample {
        iops: LARGE,
        bw_bytes: 9_007_199_254_740_991,
        lat_mean_ns: THIRD,
        p50_ns: Some(Nanos(8_716_288)),
        devices: vec![device],
        ..Sample::default()
    };
    let measure = Measure {
        value: 0.1 + 0.2,
        unit: "ns".to_owned(),
        better: Better::Lower,
        censored: true,
        least: None,
        of: None,
    };
    let ok = Outcome {
        key: Some("00ff".repeat(4)),
        seed: Seed(u64::MAX),
        status,
        virtual_ns: Some(Nanos(20_000_000_001)),
        wall_ms: 17,
        ..disklab_testkit::outcome(trial, &cell, 1)
    };
    if status == Status::Ok {
        let measures = [("start-up".to_owned(), measure)].into();
        Outcome { sample: Some(sample), measures, ..ok }
    } else {
        Outcome { reason: Some("a \"reason\", with\na comma".to_owned()), ..ok }
    }
}

const FIO: &str = r#"{"fio version":"fio-3.39","jobs":[{"jobname":"rand","error":0,
"read":{"total_ios":5,"iops":5.0,"clat_ns":{"mean":2.0,"N":5,"bins":{"1500":2,"8716288":3}}}}]}"#;

/// Makes a record of two trials. The first has a trace of `requests` requests, and the second
/// failed.
fn record(here: &Path, requests: u64) -> Record {
    let suite = disklab_testkit::suite("a suite");
    let mut manifest = disklab_testkit::manifest(suite, ["a+s1", "b+s1"]);
    manifest.keys = vec!["00ff".repeat(4), "11".repeat(8)];
    let writer = Record::create(here, "run-1", &manifest).expect("a record");
    let raw = writer.begin("a+s1").expect("a folder");
    fs::write(raw.path().join("fio.json"), FIO).expect("room");
    fs::write(raw.path().join(disklab_trace::PLAIN), trace(requests)).expect("room");
    writer.finish(raw, outcome("a+s1", "pid", Status::Ok)).expect("a line");
    writer.note(outcome("b+s1", "latency:10", Status::Failed)).expect("a line");
    Record::open(writer.folder()).expect("a record")
}

fn trace(requests: u64) -> Vec<u8> {
    let mut writer = disklab_trace::TraceWriter::new(1);
    writer.mark(5, "begin measure 0");
    for number in 0..requests {
        let arrived = writer.arrived();
        let (submitted, sector) = (10 + number * 100, number.wrapping_mul(0x9e37_79b9) % 1_000_000);
        let served = Served {
            disk: 0,
            op: disklab_disks::Op::Read,
            fua: false,
            sector,
            sectors: 8,
            submitted,
            started: submitted + 1,
            ended: submitted + 90,
        };
        writer.served(&served, arrived);
    }
    writer.pending().to_vec()
}

fn exported(record: &Record, here: &Path, format: Format) -> BTreeMap<&'static str, Exported> {
    let done =
        export(record, &here.join("out"), Wanted { format, tables: &disklab_export::names() })
            .expect("tables");
    done.into_iter().map(|exported| (exported.table, exported)).collect()
}

/// The values of a row by column, as JSON.
type Row = BTreeMap<String, Value>;

fn parquet(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(fs::File::open(path).expect("a file")).expect("Parquet");
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Str(text) => text.as_str().into(),
        Field::ULong(number) => (*number).into(),
        Field::Double(number) => (*number).into(),
        Field::Bool(truth) => (*truth).into(),
        other => panic!("{other:?}"),
    };
    let rows = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row"));
    rows.map(|row| {
        row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
    })
    .collect()
}

fn jsonl(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Reads a CSV file, in which everything is text.
fn csv(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).expect("CSV");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

#[test]
fn every_number_is_the_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = record(folder.path(), 3);
    let tables = exported(&record, folder.path(), Format::Parquet);
    let json = exported(&record, folder.path(), Format::Jsonl);
    for (name, exported) in &tables {
        let rows = parquet(&exported.path);
        assert_eq!(rows.len() as u64, exported.rows, "{name}");
        assert_eq!(rows, jsonl(&json[name].path), "{name}");
    }
    let metrics = parquet(&tables["metrics"].path);
    let value = |disk: &Value, metric: &str| {
        let row = metrics.iter().find(|row| row["metric"] == metric && row["disk"] == *disk);
        row.and_then(|row| row["value"].as_f64()).map(f64::to_bits)
    };
    for (metric, expected) in [
        ("iops", LARGE),
        ("bw_bytes", 9_007_199_254_740_991.0),
        ("lat_mean_ns", THIRD),
        ("p50_ns", 8_716_288.0),
        ("start-up", 0.1 + 0.2),
    ] {
        assert_eq!(value(&Value::Null, metric), Some(expected.to_bits()), "{metric}");
    }
    assert_eq!(value(&"vda".into(), "utilisation"), Some(THIRD.to_bits()));
    let start = metrics.iter().find(|row| row["metric"] == "start-up").expect("a row");
    assert_eq!(
        (&start["unit"], &start["better"], &start["censored"]),
        (&"ns".into(), &"lower".into(), &true.into())
    );
    assert_eq!((&start["policy"], &start["kernel"]), (&"pid".into(), &Value::Null));
    assert_eq!(start["parameters"], r#"{"disk.2.seek":"1.414"}"#);

    let trials = parquet(&tables["trials"].path);
    assert_eq!(
        (&trials[0]["seed"], &trials[0]["virtual_ns"]),
        (&u64::MAX.into(), &20_000_000_001_u64.into())
    );
    assert_eq!((&trials[1]["status"], &trials[1]["sound"]), (&"failed".into(), &false.into()));
    assert_eq!(trials[1]["reason"], "a \"reason\", with\na comma");
    let histogram = parquet(&tables["histograms"].path);
    let bins: Vec<_> = histogram
        .iter()
        .map(|row| (row["latency_ns"].as_u64(), row["requests"].as_u64()))
        .collect();
    assert_eq!(bins, [(Some(1500), Some(2)), (Some(8_716_288), Some(3))]);
    assert_eq!(histogram[0]["direction"], "read");
    let traces = parquet(&tables["traces"].path);
    assert_eq!((&traces[0]["mark"], &traces[0]["disk"]), (&"begin measure 0".into(), &Value::Null));
    assert_eq!((&traces[3]["submitted_ns"], &traces[3]["op"]), (&210.into(), &"read".into()));
}

#[test]
fn the_flat_table_has_a_row_a_trial_and_a_column_a_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = record(folder.path(), 3);
    let tables = exported(&record, folder.path(), Format::Parquet);
    let rows = parquet(&tables["flat"].path);
    assert_eq!(rows.len(), 2);
    let (ok, failed) = (&rows[0], &rows[1]);
    for (column, value) in [
        ("trial", Value::from("a+s1")),
        ("array", "hdd-raid1".into()),
        ("policy", "pid".into()),
        ("disk.2.seek", "1.414".into()),
        ("seed", u64::MAX.into()),
        ("status", "ok".into()),
        ("iops [1/s]", LARGE.into()),
        ("lat_mean_ns [ns]", THIRD.into()),
        ("vda reads", 7.0.into()),
        ("vda utilisation", THIRD.into()),
        ("start-up [ns]", (0.1 + 0.2).into()),
        ("start-up censored", true.into()),
    ] {
        assert_eq!(ok.get(column), Some(&value), "{column}: {ok:?}");
    }
    assert!(!ok.contains_key("workload"), "an axis that the record does not have: {ok:?}");
    assert_eq!((&failed["status"], &failed["iops [1/s]"]), (&"failed".into(), &Value::Null));
}

#[test]
fn csv_says_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = record(folder.path(), 3);
    let tables = exported(&record, folder.path(), Format::Csv);
    let json = exported(&record, folder.path(), Format::Jsonl);
    for (name, exported) in &tables {
        for (row, same) in csv(&exported.path).iter().zip(jsonl(&json[name].path)) {
            for (column, text) in row {
                match &same[column] {
                    Value::Null => assert_eq!(text, "", "{name} {column}"),
                    Value::String(same) => assert_eq!(text, same, "{name} {column}"),
                    Value::Number(number) if number.is_f64() => {
                        let bits = text.parse::<f64>().map(f64::to_bits).ok();
                        assert_eq!(
                            bits,
                            number.as_f64().map(f64::to_bits),
                            "{name} {column} {text}"
                        );
                    }
                    other => assert_eq!(*text, other.to_string(), "{name} {column}"),
                }
            }
        }
    }
}

#[test]
fn tables_lie_as_hive_has_them_and_always_have_all_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = record(folder.path(), 0);
    let tables = exported(&record, folder.path(), Format::Parquet);
    let place =
        |name: &str| PathBuf::from(format!("{name}/suite=a%20suite/run=run-1/data.parquet"));
    for known in [table::TRIALS, table::METRICS, table::HISTOGRAMS, table::TRACES] {
        let path = &tables[known.name].path;
        assert_eq!(*path, folder.path().join("out").join(place(known.name)));
        let reader =
            SerializedFileReader::new(fs::File::open(path).expect("a file")).expect("Parquet");
        let schema = reader.metadata().file_metadata().schema().get_fields().to_vec();
        let columns: Vec<&str> = schema.iter().map(|field| field.name()).collect();
        assert_eq!(columns, known.columns.iter().map(|column| &*column.name).collect::<Vec<_>>());
    }
    // A second export replaces the file, and leaves nothing else there.
    exported(&record, folder.path(), Format::Parquet);
    let beside = fs::read_dir(tables["trials"].path.parent().expect("a folder")).expect("a folder");
    assert_eq!(beside.count(), 1);
}

#[test]
fn what_cannot_be_read_is_named_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = record(folder.path(), 3);
    fs::write(record.folder().join("raw/a+s1/fio.json"), "{").expect("room");
    let out = folder.path().join("out");
    let wanted = |tables| Wanted { format: Format::Parquet, tables };
    let error =
        export(&record, &out, wanted(&["metrics", "histograms"])).expect_err("no JSON").to_string();
    assert!(
        error.contains("raw/a+s1/fio.json") && error.ends_with("without it: --table"),
        "{error}"
    );
    assert!(
        !out.join("histograms").exists() && out.join("metrics/suite=a%20suite/run=run-1").is_dir()
    );
    let done =
        export(&record, &out, wanted(&["metrics", "trials"])).expect("these need none of it");
    assert_eq!(
        done.iter().map(|exported| exported.table).collect::<Vec<_>>(),
        ["trials", "metrics"]
    );
}

#[test]
fn tables_of_another_record_of_the_same_name_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = record(folder.path(), 3);
    let out = folder.path().join("out");
    let wanted = Wanted { format: Format::Csv, tables: &["trials"] };
    let tables = export(&first, &out, wanted).expect("tables");
    let written = fs::read(&tables[0].path).expect("a table");
    let second = folder.path().join("second");
    fs::create_dir(&second).expect("a folder");
    let second = record(&second, 3);
    let manifest = second.folder().join("manifest.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace(&first.manifest().created, "2026-01-02T03:04:05Z"))
        .expect("room");
    disklab_testkit::reseal(second.folder());
    let second = Record::open(second.folder()).expect("a record");
    let error = export(&second, &out, wanted).expect_err("another record").to_string();
    assert!(
        error.contains("another record") && error.contains(&first.manifest().created),
        "{error}"
    );
    assert_eq!(fs::read(&tables[0].path).expect("a table"), written);
    fs::write(out.join(".records.json"), "?").expect("room");
    let error = export(&first, &out, wanted).expect_err("no JSON").to_string();
    assert!(error.contains(".records.json") && error.contains("remove the file"), "{error}");
}

/// Returns the largest memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_million_rows_take_no_more_memory_than_some() {
    const ROWS: u64 = 1_000_000;
    let folder = tempfile::tempdir().expect("a folder");
    let record = record(folder.path(), ROWS);
    let before = peak();
    for format in [Format::Parquet, Format::Csv, Format::Jsonl] {
        let start = std::time::Instant::now();
        let tables = exported(&record, folder.path(), format);
        assert_eq!(tables["traces"].rows, ROWS + 1);
        println!("{format:?}: {:?}", start.elapsed());
    }
    // The memory holds a group of rows and the encoder's copies of it. All rows would take ten
    // times as much.
    let more = peak() - before;
    assert!(more < 64 << 10, "{more} KiB more");
}

#[test]
fn format_has_the_columns() {
    for table in [table::TRIALS, table::METRICS, table::HISTOGRAMS, table::TRACES] {
        let head = format!("columns of `{}`", table.name);
        let rows = disklab_testkit::format::rows("## Tables").into_iter();
        let names = rows.filter(|row| row.head == head).flat_map(|row| {
            let axes = row.cells[row.head].contains("the axes").then_some(table::AXES);
            row.keys().chain(axes.into_iter().flatten()).collect::<Vec<_>>()
        });
        let columns = table.columns.iter().map(|column| column.name.as_ref());
        assert_eq!(names.collect::<BTreeSet<_>>(), columns.collect(), "{head}");
    }
}
