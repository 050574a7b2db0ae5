//! `disklab validate` on a small drive written by hand.

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
    assert!(said.err.contains("no .parv file in it. DiskSim 4.0"), "{}", said.err);
    write(folder.path(), "broken.parv", "disksim_disk D {\n Model 3 }");
    write(folder.path(), "lonely.parv", DRIVE);
    write(folder.path(), "out.parv", "source ../secret");
    let said = run(folder.path(), &["validate", "."]);
    assert_eq!(said.status, Some(2));
    for part in [
        "broken.parv:2: `Model 3`",
        "lonely.trace: measured requests are wanted there",
        "../secret: not read",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
}
