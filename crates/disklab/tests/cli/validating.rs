//! Tests `disklab validate` on a small drive written by hand, and on matrices of results.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::{json, run};

const DRIVE: &str = "
disksim_disk SMALL {
   Model = dm_disk small_model {
      Number of data surfaces = 2, Number of cylinders = 100, Block count = 20000,
      Layout Model = dm_layout_g1 { LBN-to-PBN mapping scheme = 0, Sparing scheme used = 0,
         Zones = [ dm_layout_g1_zone { First cylinder number = 0, Last cylinder number = 99,
            Blocks per track = 100,
            Skew for track switch = 10.0, Skew for cylinder switch = 25.0 } ] },
      Mechanical Model = dm_mech_g1 { Seek type = constant, Average seek time = 2.0,
         Head switch time = 0.5,
         Rotation speed (in rpms) = 6000 } },
   Number of buffer segments = 3, Segment size (in blks) = 64, Preseeking level = 1
}";

fn write(folder: &Path, name: &str, contents: &str) {
    fs::write(folder.join(name), contents).expect("a file of a test");
}

#[test]
fn a_drive_never_seen_before_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "small.parv", DRIVE);
    let line = |index: u64| {
        format!("R Hit {} 4 {}.0 20000.0\n", index * 7919 % 19_000, 3_000 + index * 97 % 9_000)
    };
    write(folder.path(), "small.trace", &(0..200).map(line).collect::<String>());
    let found = json(folder.path(), &["validate", ".", "--json"]);
    let drive = &found["drives"][0];
    assert_eq!((&drive["drive"], &drive["requests"]), (&"SMALL".into(), &200.into()));
    assert!(drive["met"].is_null() && drive["estimated"]["rms"].as_f64().unwrap() > 0.0, "{drive}");
    assert_eq!(drive["changes"]["requests"], 30);
    let said = run(folder.path(), &["validate", "small.parv"]);
    assert_eq!((said.status, said.err.as_str()), (Some(0), ""));
    assert!(said.out.contains("not modelled: seeking for the next command"), "{}", said.out);
    assert!(said.out.contains("estimated from the first 30 requests"), "{}", said.out);
}

#[test]
fn what_is_no_drive_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let said = run(folder.path(), &["validate", "."]);
    assert_eq!(said.status, Some(2));
    assert!(said.err.contains("it has no .parv file, no report of fio"), "{}", said.err);
    write(folder.path(), "broken.parv", "disksim_disk D {\n Model 3 }");
    write(folder.path(), "lonely.parv", DRIVE);
    write(folder.path(), "out.parv", "source ../secret");
    let said = run(folder.path(), &["validate", "."]);
    assert_eq!(said.status, Some(2));
    for part in [
        "broken.parv:2: `Model 3`",
        "lonely.trace: cannot read the measured requests",
        "../secret: it is not below",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
}

/// Returns a report of fio 3.1, as fio-plot makes it, for a disk with 1 ms per request.
pub fn report(depth: u32, jobs: u32, iops: f64) -> String {
    let mean = f64::from(depth * jobs) / iops * 1e9;
    let percentiles =
        ["50.000000", "99.000000", "99.900000"].map(|percent| format!("\"{percent}\":{mean:.0}"));
    format!(
        r#"{{"fio version":"fio-3.1","jobs":[{{"jobname":"random-read","error":0,
        "job options":{{"rw":"randread","bs":"4k","ioengine":"libaio","iodepth":"{depth}",
        "direct":"1","runtime":"60","numjobs":"{jobs}","group_reporting":"1"}},
        "read":{{"io_bytes":{bytes},"bw":{bw},"iops":{iops},"runtime":60000,"total_ios":{ios},
        "clat_ns":{{"min":1,"max":{mean:.0},"mean":{mean},"percentile":{{{},"0.00":0,"0.00":0}}}},
        "lat_ns":{{"min":1,"max":{mean:.0},"mean":{mean}}}}}}}]}}"#,
        percentiles.join(","),
        bytes = (iops * 60.0 * 4096.0) as u64,
        bw = (iops * 4.0) as u64,
        ios = (iops * 60.0) as u64,
    )
}

const CONSTANT: &str = "summary = \"1 ms\"\nsize = \"1 GiB\"\n\n[constant]\nlatency = \"1 ms\"\n\
    servers = 4\nrotational = false\nqueue_depth = 32\n";

#[test]
fn folders_of_fio_plot_are_scored_at_each_depth() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    write(here, "one-ms.toml", CONSTANT);
    for (drive, factor) in [("host/A", 1.0), ("host/B", 0.9)] {
        fs::create_dir_all(here.join("all").join(drive)).unwrap();
        for (depth, jobs, iops) in [(1, 1, 1000.0), (2, 2, 4000.0), (32, 2, 4000.0)] {
            let name = format!("all/{drive}/randread-{depth}-{jobs}.json");
            write(here, &name, &report(depth, jobs, iops * factor));
        }
    }
    write(here, "all/host/A/note.json", "{}");
    let arguments = ["validate", "all", "--device", "./one-ms.toml"];
    let found = json(here, &[&arguments[..], &["--json"]].concat());
    assert_eq!(found["drives"].as_array().map(Vec::len), Some(0));
    let drives = found["matrices"].as_array().unwrap();
    assert_eq!(drives.len(), 2, "{found}");
    assert_eq!((&drives[0]["drive"], &drives[0]["device"]), (&"host/A".into(), &"one-ms".into()));
    let point = &drives[1]["points"][1];
    let numbers = (&point["depth"], &point["jobs"], &point["outstanding"]);
    assert_eq!(numbers, (&2.into(), &2.into(), &4.into()), "{point}");
    let near = |value: &serde_json::Value, wanted: f64| {
        let value = value.as_f64().unwrap();
        assert!((value - wanted).abs() < 0.01, "{value} and not {wanted}");
    };
    near(&point["error"]["iops"], 1.0 / 0.9 - 1.0);
    near(&point["error"]["p50"], 0.9 - 1.0);
    let depths = found["depths"].as_array().unwrap();
    assert_eq!(depths.len(), 3);
    near(&depths[0]["worst_error"]["iops"], 1.0 / 0.9 - 1.0);
    assert_eq!(
        (&depths[0]["drives"], &depths[0]["drives_with_percentiles"]),
        (&2.into(), &2.into())
    );
    // The two drives are 1/10 and 1/9 too fast. The median is the upper one, and misses its bar.
    assert_eq!(depths[0]["missed"][0], "IOPS");
    assert_eq!(depths[2]["missed"].as_array().map(Vec::len), Some(0), "no bar beyond 32");
    let said = run(here, &arguments);
    assert_eq!((said.status, said.err.as_str()), (Some(1), ""), "{}", said.out);
    assert!(said.out.contains("host/B, modelled as one-ms"), "{}", said.out);
    let one = run(here, &["validate", "all/host/A", "--device", "./one-ms.toml"]);
    assert_eq!(one.status, Some(0), "the drive that is as modelled meets all bars: {}", one.out);
}

#[test]
fn a_table_names_its_devices() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let head = "drive,device,rw,bs,depth,jobs,iops,p50_ms,p99_ms,p999_ms,mean_ms,source\n";
    write(here, "m.csv", &format!("{head}F,constant-50us,randread,4k,1,1,20000,0.05,,,,a\n"));
    let said = run(here, &["validate", "m.csv"]);
    assert_eq!((said.status, said.err.as_str()), (Some(0), ""), "{}", said.out);
    let rates = "F,constant-50us,randread,4k,1,1,20000,,,,,a\n";
    write(here, "rates.csv", &format!("{head}{rates}"));
    let said = run(here, &["validate", "rates.csv"]);
    assert!(said.out.contains("IOPS only"), "no drive has percentiles: {}", said.out);
    // A folder has the place of the file beside the table.
    fs::create_dir(here.join("tables")).unwrap();
    write(here, "tables/slow.toml", CONSTANT);
    let slow = "F,slow.toml,randread,4k,1,1,1000,1,,,,a\n";
    write(here, "tables/m.csv", &format!("{head}{slow}"));
    let said = run(here, &["validate", "tables"]);
    assert_eq!((said.status, said.err.as_str()), (Some(0), ""), "{}", said.out);
    for (text, arguments, status, part) in [
        ("F,,randread,4k,1,1,9,,,,,a\n", &[][..], 2, "F: no device models it"),
        ("F,none,randread,4k,1,1,9,,,,,a\n", &[], 2, "m.csv, line 2: unknown device `none`"),
        ("F,,randread,4k,x,1,9,,,,,a\n", &[], 2, "m.csv: line 2: `depth`: \"x\" is not a number"),
        ("F,,randread,4k,1,1,9,,,,,a\n", &["--device", "G=x"], 2, "--device: unknown drive `G`"),
        (
            "F,,randread,4k,1,1,9,,,,,a\n",
            &["--device", "F=constant-50us", "--device", "F=desktop-1tb"],
            2,
            "--device: F has two devices",
        ),
        ("F,,randread,4k,1,1,9,,,,,a\n", &["--device", "constant-50us@x"], 2, "unknown array `x`"),
        ("F,,randrw,4k,1,1,9,,,,,a\n", &["--device", "constant-50us"], 2, "`randrw` cannot be run"),
    ] {
        write(here, "m.csv", &format!("{head}{text}"));
        let said = run(here, &[&["validate", "m.csv"][..], arguments].concat());
        let all = format!("{}{}", said.out, said.err);
        assert!(said.status == Some(status) && all.contains(part), "{part}: {all}");
    }
    write(here, "notes.txt", "no table");
    let said = run(here, &["validate", "notes.txt"]);
    assert!(said.err.contains("notes.txt: neither a report of fio"), "{}", said.err);
}

/// The terminal and the document name drives and rows without a score, with the reason.
#[test]
fn what_is_left_out_is_said() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    write(
        here,
        "m.csv",
        "drive,device,rw,depth,iops,p50_us,p99_us,mean_us\n\
        F,constant-50us,randread,1,20000,50,50,50\n\
        F,constant-50us,randread,2,20000,50,20,100\n\
        F,constant-50us,randread,4,20000,,,1\n\
        G,,randread,1,20000,50,50,50\n\
        H,constant-50us,randread,1,20000,50,20,50\n",
    );
    let said = run(here, &["validate", "m.csv"]);
    for part in [
        "skipped: 2 points, such as m.csv, line 3: its numbers cannot be true together: p99 \
         is 20 us, below p50, which is 50 us",
        "left out: G: no device models it; name one with --device 'G=DEVICE'",
        "left out: H: m.csv, line 6: its numbers cannot be true together",
    ] {
        let out = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(part), "{part}: {}", said.out);
    }
    let found = json(here, &["validate", "m.csv", "--json"]);
    assert_eq!(
        (&found["left_out"][0]["drive"], &found["left_out"][1]["drive"]),
        (&"G".into(), &"H".into())
    );
    let passed_over = found["matrices"][0]["passed_over"].to_string();
    assert!(passed_over.contains("(Little's law)"), "{passed_over}");
    write(here, "nan.csv", "drive,rw,depth,iops,p99_us\nF,randread,1,20000,nan\n");
    let said = run(here, &["validate", "nan.csv", "--device", "constant-50us"]);
    let part = "nan.csv: line 2: `p99_us`: \"nan\" is not a measured number; leave the field empty";
    assert!(said.status == Some(2) && said.err.contains(part), "{}", said.err);
}

/// Every line of the lab's tables is scored. The drives to which devices were fitted are within the
/// bar for the worst error of IOPS.
#[test]
fn the_labs_published_tables_are_scored() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (table, fitted) in [("hdd", true), ("ssd", true), ("classes", false), ("unseen", false)] {
        let table = format!("lab/measured/{table}.csv");
        let lines = fs::read_to_string(root.join(&table)).expect("a table of the lab");
        let names = lines.lines().skip(1).filter_map(|line| line.split(',').next());
        let drives = names.collect::<BTreeSet<_>>().len();
        let done = run(&root, &["validate", &table, "--json"]);
        let found: serde_json::Value = serde_json::from_str(&done.out).expect("a document");
        let matrices = found["matrices"].as_array().unwrap();
        assert_eq!(matrices.len(), drives, "{table}: {}", done.err);
        for matrix in matrices {
            assert_eq!(matrix["passed_over"].as_array().map(Vec::len), Some(0), "{matrix}");
            for point in matrix["points"].as_array().unwrap() {
                let error = point["error"]["iops"].as_f64().expect("each line has IOPS");
                let reads = point["rw"] == "randread";
                assert!(!fitted || !reads || error.abs() <= 0.25, "{}: {point}", matrix["drive"]);
            }
        }
    }
}
