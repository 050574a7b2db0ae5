//! Tests that docs/FORMAT.md has the keys of a lab's files, with the forms, defaults and ranges of
//! the code. The files here are valid, and together they have every table.

use std::fmt::Debug;
use std::path::Path;

use disklab_config::background::Workloads;
use disklab_config::member::Devices;
use disklab_config::read::{TomlReader, TomlTable};
use disklab_config::{Array, Background, Device, Kernel, Lab, Layout, Policy, Suite, Workload};
use disklab_testkit::format::{compare, rows};

const DISKS: [&str; 4] = [
    r#"summary = "a hard disk"
size = "4 TB"
[hdd]
rpm = 7200
seek_track_to_track = "1 ms"
seek_average = "8.5 ms"
seek_full = "17 ms"
write_settle = "1 ms"
head_switch = "0.8 ms"
surfaces = 10
rate_outer = "175 MB/s"
rate_inner = "83 MB/s"
zones = 24
command_overhead = "100 us"
link = "550 MB/s"
queue_depth = 32
queue_error = "4 ms"
queue_patience = "5 s"
cache = "128 MiB"
cache_segments = 32
look_ahead = "1 MiB"
write_cache = true
write_buffer = "16 MiB"
write_window = 64
[hdd.retries]
one_in = 1000
turns = 2"#,
    r#"summary = "an SSD"
size = "1 TB"
[ssd]
channels = 8
dies_per_channel = 2
page = "16 KiB"
raw_size = "1024 GiB"
read_page = ["30 us"]
program_page = "600 us"
erase_block = "5 ms"
pages_per_block = 2048
channel = "1200 MB/s"
link = "3.4 GB/s"
link_command = "0.5 us"
command_overhead = "11.6 us"
queue_depth = 1023
write_buffer = "64 MiB"
flush = "1 ms"
queued_flush = true
[ssd.slc]
cache = "64 GiB"
cell_bits = 3
read_page = "20 us"
program_page = "200 us""#,
    r#"summary = "a card"
size = "15.5 GB"
[card]
allocation_unit = "4 MiB"
open_units = 5
any_order = true
page = "8 KiB"
read_access = "0.3 ms"
read_rate = "44 MB/s"
write_access = "0.6 ms"
write_rate = "13 MB/s"
copy_rate = "16 MB/s"
erase_unit = "3 ms""#,
    r#"summary = "a disk for tests"
size = "256 GiB"
[constant]
latency = "50 us"
servers = 32
queue_depth = 32"#,
];

const ARRAY: &str = r#"summary = "two disks"
join = "btrfs-raid1"
devices = ["nas-4tb", "nas-4tb"]
[cache]
device = "nvme-1tb"
mode = "writeback"
[controller]
read = "200 MB/s"
write = "200 MB/s"
[host]
[replica]
join = "btrfs-raid1"
devices = ["nas-4tb", "nas-4tb"]"#;

const WORKLOADS: [&str; 9] = [
    r#"summary = "a job"
filesize = "50 GiB"
rw = "randrw"
bs = "4k"
ioengine = "libaio""#,
    r#"summary = "jobs"
filesize = "50 GiB"
[[job]]
rw = "randrw"
bs = "4k"
ioengine = "libaio""#,
    r#"summary = "a phase of one job, with a reader"
[[prepare]]
command = ["true"]
[[phase]]
name = "a"
file = "a"
filesize = "1 GiB"
rw = "randrw"
bs = "4k"
ioengine = "libaio"
[phase.reader]
filesize = "1 GiB"
rw = "read"
bs = "4k"
ioengine = "libaio""#,
    r#"summary = "a phase of several jobs"
[[phase]]
name = "a"
filesize = "1 GiB"
[[phase.job]]
file = "a"
rw = "randrw"
bs = "4k"
ioengine = "libaio""#,
    r#"summary = "a phase of a program"
[[phase]]
name = "a"
command = ["true"]"#,
    r#"summary = "a phase that mounts"
[[phase]]
name = "a"
remount = true"#,
    r#"summary = "a start"
[startup]
command = ["true"]
files = ["4096 /a"]
steps = "1 read 0 0 4096""#,
    r#"summary = "a film"
filesize = "1 GiB"
[player]
frames = 25
rate = "1 MB/s"
rw = "read"
bs = "64k""#,
    r#"summary = "many files"
[fsload]
[[fsload.files]]
name = "a"
count = 10
size = "4 KiB"
[[fsload.threads]]
name = "b"
loop = ["open", "read whole", "close"]
[[fsload.threads]]
name = "c"
[[fsload.threads.either]]
loop = ["stat"]"#,
];

const BACKGROUND: &str = r#"summary = "programs"
lead = { rotational = "1s", solid_state = "1s" }
[trees]
count = 2
files = 2
filesize = "1 MiB"
fragment = "4 KiB"
[[prepare]]
command = ["true"]
[[process]]
command = ["true", "{tree}"]
[snapshots]
every = "1s"
keep = 2"#;

const POLICIES: [&str; 2] = [
    r#"summary = "a number"
[[parameter]]
key = "a"
kind = "number"
summary = "a number"
least = 1
most = 3
default = 2"#,
    r#"summary = "a word"
[[parameter]]
key = "a"
kind = "word"
summary = "a word"
words = ["a"]
default = "a""#,
];

const KERNEL: &str = r#"summary = "Linux"
package = "linux-source"
preference = 1"#;

const SUITES: [&str; 2] = [
    r#"question = "Which?"
seeds = 3
memory = "512 MiB"
[axes]
array = ["a"]
workload = ["b"]
[hypercube]
samples = 4
"disk.2.seek" = { log = [1, 4] }
"policy.margin" = { linear = [0, 100] }
[power_cut]
cuts = 2"#,
    r#"question = "Which?"
seeds = 3
memory = "512 MiB"
array = "a"
workload = "b"
jobs = 1"#,
];

/// Compares the keys of a kind of files with its reader.
fn assert_documented<T: Debug>(
    folder: &str,
    files: &[&str],
    read: impl Fn(&TomlTable<'_, '_>) -> Option<T>,
) {
    let read = |text: &str| {
        let whole = TomlReader::new("file", text).read(|table| read(table));
        whole.map(|whole| format!("{whole:?}"))
    };
    let count = compare(&format!("### `{folder}/*.toml`"), files, &read);
    println!("{count} keys of {folder}");
}

#[test]
fn format_has_the_keys_of_devices() {
    let new = "queue_error = \"4 ms\"\nqueue_patience = \"5 s\"";
    let older = DISKS[0].replace(new, "queue_window = 32\nage_limit = \"5 s\"");
    let files = [&DISKS[..], &[&older]].concat();
    assert_documented("devices", &files, |table| Device::read("a", table));
}

#[test]
fn format_has_the_keys_of_arrays() {
    let lab = Lab::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab")).expect("a lab");
    let devices: Devices =
        lab.devices.into_iter().map(|(name, device)| (name, Some(device))).collect();
    assert_documented("arrays", &[ARRAY], |table| Array::read("a", table, &devices));
}

/// Checks that every join in FORMAT can be made, and that FORMAT has all joins but the many with
/// metadata in another profile.
#[test]
fn format_has_the_joins() {
    let rows = rows("### `arrays/*.toml`").into_iter().filter(|row| row.head == "`join`");
    let documented: Vec<&str> = rows.flat_map(|row| row.keys().collect::<Vec<_>>()).collect();
    for name in &documented {
        name.parse::<Layout>().expect("a join of docs/FORMAT.md");
    }
    let said = "zzzzzzzzzzzzzzzz".parse::<Layout>().expect_err("no join");
    let (_, known) = said.split_once("known: ").expect("all joins");
    for name in known.split(", ").filter(|name| !name.contains("-metadata-")) {
        assert!(documented.contains(&name), "FORMAT lacks the join {name}");
    }
}

#[test]
fn format_has_the_keys_of_workloads() {
    assert_documented("workloads", &WORKLOADS, |table| Workload::read("a", table));
}

#[test]
fn format_has_the_keys_of_backgrounds() {
    let none = Workloads::new();
    assert_documented("backgrounds", &[BACKGROUND], |table| Background::read("a", table, &none));
}

#[test]
fn format_has_the_keys_of_policies() {
    assert_documented("policies", &POLICIES, |table| Policy::read("a", table));
}

#[test]
fn format_has_the_keys_of_kernels() {
    assert_documented("kernels", &[KERNEL], |table| Kernel::read("7.3", table));
}

#[test]
fn format_has_the_keys_of_suites() {
    assert_documented("suites", &SUITES, |table| Suite::read("a", table));
}
