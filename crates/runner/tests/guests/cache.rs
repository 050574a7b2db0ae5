//! Tests bcache in front of disks: it exists, it holds the right data, and repeats give the same
//! results.

use crate::place;
use crate::repeatable::{run, trials_of};
use disklab_config::member::Devices;
use disklab_config::read::{TomlReader, TomlTable};
use disklab_config::{Array, Lab, Trial, Workload};
use disklab_protocol::names;
use disklab_record::{Record, compare};
use libtest_mimic::Trial as Test;

pub fn tests() -> Vec<Test> {
    vec![crate::test("a_cache_answers_for_its_disks", a_cache_answers_for_its_disks)]
}

/// The cache has room for the whole test file. It keeps a thousandth of its buckets ready for
/// writes. In a small cache these are soon used up, and bcache lets the rest of a burst bypass it.
const ARRAY: &str = r#"
summary = "two hard disks behind an SSD"
join = "btrfs-raid1"
part = "100 GiB"
devices = ["nas-4tb", "desktop-2tb"]
[cache]
device = "sata-ssd-1tb"
part = "64 GiB"
mode = "writeback"
"#;
const WORKLOADS: [(&str, &str); 2] = [
    (
        "reads",
        "summary = \"reads\"\nrw = \"randread\"\nbs = \"4k\"\nfilesize = \"256 MiB\"\n\
         ioengine = \"libaio\"\niodepth = 4\ndirect = true\n",
    ),
    (
        "writes",
        "summary = \"writes\"\nrw = \"randwrite\"\nbs = \"16k\"\nfilesize = \"256 MiB\"\n\
         ioengine = \"libaio\"\niodepth = 4\ndirect = true\n",
    ),
];
const SUITE: &str = r#"
question = "What does the cache do?"
seeds = 1
memory = "256 MiB"
runtime = { rotational = "2s", solid_state = "10ms" }
metadata = "warm"
kernel = "newest"
[axes]
array = ["cached"]
workload = ["reads", "writes"]
policy = ["round-robin"]
"#;

fn trials() -> Vec<Trial> {
    let mut lab = Lab::load(&place::share().lab()).unwrap();
    for (name, text) in WORKLOADS {
        let read = |table: &TomlTable| Workload::read(name, table);
        lab.workloads.insert(name.to_owned(), TomlReader::new(name, text).read(read).unwrap());
    }
    let devices: Devices =
        lab.devices.iter().map(|(name, device)| (name.clone(), Some(device.clone()))).collect();
    let read = |table: &TomlTable| Array::read("cached", table, &devices);
    lab.arrays.insert("cached".to_owned(), TomlReader::new("cached", ARRAY).read(read).unwrap());
    trials_of(SUITE, &lab)
}

fn a_cache_answers_for_its_disks() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let trials = trials();
    let first = run(&trials, one.path(), 1);
    let differences: Vec<String> = compare(&first, &run(&trials, two.path(), 2))
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(differences, Vec::<String>::new());

    let record = Record::open(&first).unwrap();
    let [reads, writes] = record.lines() else { panic!("two trials") };
    for line in [reads, writes] {
        let sample = line.sample.as_ref().unwrap();
        let names: Vec<_> =
            sample.devices.iter().filter_map(|disk| disk.device.as_deref()).collect();
        assert_eq!(names, ["nas-4tb", "desktop-2tb", "sata-ssd-1tb"]);
        let steps = std::fs::read_to_string(record.raw(line).unwrap().join(names::STEPS)).unwrap();
        assert_eq!(steps.matches("[writeback]").count(), 2, "{steps}");
        assert!(steps.contains(r#""states":["clean","clean"]"#), "{steps}");
    }
    // Nearly all of the file is in the cache. The disks themselves would need 5 ms and more for a
    // read.
    let disks = &reads.sample.as_ref().unwrap().devices;
    assert!(disks[2].read_share.unwrap() > 0.85, "{disks:?}");
    assert!(reads.sample.as_ref().unwrap().lat_mean_ns < 1_000_000.0);
    // btrfs writes both copies sequentially, for any place in the file, and bcache does not cache
    // sequential writes.
    let disks = &writes.sample.as_ref().unwrap().devices;
    let written = writes.sample.as_ref().unwrap().requests as f64 * 16384.0;
    for disk in &disks[..2] {
        assert!((0.95..1.1).contains(&(disk.write_bytes as f64 / written)), "{disks:?}");
    }
    assert!(
        disks[2].write_bytes > 1 << 20 && (disks[2].write_bytes as f64) < written / 10.0,
        "{disks:?}"
    );
}
