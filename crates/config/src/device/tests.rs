use disklab_units::Nanos;
use proptest::prelude::*;

use super::{Device, Model};
use crate::read::TomlReader;

const HDD: &str = "\
summary = \"a disk\"
size = \"4 TB\"
[hdd]
rpm = 7200
seek_track_to_track = \"1ms\"
seek_average = \"8.5ms\"
seek_full = \"18ms\"
write_settle = \"1ms\"
head_switch = \"1ms\"
surfaces = 8
rate_outer = \"180 MB/s\"
rate_inner = \"85 MB/s\"
zones = 30
command_overhead = \"200us\"
link = \"550 MB/s\"
queue_depth = 32
queue_error = \"8ms\"
queue_patience = \"500ms\"
cache = \"64 MiB\"
cache_segments = 32
look_ahead = \"1 MiB\"
write_cache = true
write_buffer = \"16 MiB\"
write_window = 64
";

const SSD: &str = "\
summary = \"a disk\"
size = \"1 TB\"
[ssd]
channels = 8
dies_per_channel = 4
page = \"16 KiB\"
read_page = [\"45us\", \"60us\", \"75us\"]
program_page = \"700us\"
erase_block = \"5ms\"
pages_per_block = 768
channel = \"400 MB/s\"
link = \"550 MB/s\"
link_command = \"2us\"
command_overhead = \"10us\"
queue_depth = 32
write_buffer = \"32 MiB\"
flush = \"1ms\"
queued_flush = false
raw_size = \"1100 GB\"
planes = 2
suspend = \"20us\"
power_loss_protection = true
preconditioned = \"at random\"
[ssd.slc]
cache = \"20 GB\"
cell_bits = 3
read_page = \"25us\"
program_page = \"200us\"
";

fn read(text: &str) -> Result<Device, String> {
    TomlReader::new("d", text)
        .read(|table| Device::read("d", table))
        .map_err(|mistakes| mistakes.to_string())
}

/// Returns the mistakes of a good file with one line replaced.
fn wrong(good: &str, key: &str, value: &str) -> String {
    let is_key = |line: &&str| line.split(" = ").next() == Some(key);
    let line = good.lines().find(is_key).unwrap_or_else(|| panic!("no {key}"));
    read(&good.replacen(line, &format!("{key} = {value}"), 1)).expect_err("no mistake was found")
}

#[test]
fn good_files_are_read_and_come_back_from_json() {
    for (text, rotational) in [(HDD, true), (SSD, false)] {
        let device = read(text).unwrap();
        assert_eq!(device.model.rotational(), rotational);
        assert_eq!(device.model.queue_depth(), 32);
        assert_eq!(device.used, device.bytes);
        let json = serde_json::to_string(&device).unwrap();
        assert_eq!(serde_json::from_str::<Device>(&json).unwrap(), device);
    }
    let Model::Hdd(hdd) = read(HDD).unwrap().model else { panic!("not an hdd") };
    assert_eq!(hdd.rpm, 7200);
}

/// Tests that the block layer has the port's tags for a disk without NCQ, so that a scheduler has
/// requests to choose from.
#[test]
fn a_disk_without_a_queue_has_the_tags_of_its_port() {
    let tags = |depth: &str| {
        let model = read(&HDD.replace("queue_depth = 32", depth)).unwrap().model;
        (model.queue_depth(), model.tags())
    };
    assert_eq!(tags("queue_depth = 1"), (1, 32));
    assert_eq!(tags("queue_depth = 32"), (32, 32));
    assert_eq!(tags("queue_depth = 64"), (64, 64));
}

/// Tests that a completion batch may be left out, and that files of older versions are read: their
/// window decides how well the drive chooses.
#[test]
fn the_queue_of_an_hdd() {
    let hdd = |text: &str| match read(text).unwrap().model {
        Model::Hdd(hdd) => (hdd.queue_error, hdd.queue_patience, hdd.completion_batch),
        other => panic!("not an hdd: {other:?}"),
    };
    let (error, patience) = (Nanos::from_millis(8), Nanos::from_millis(500));
    assert_eq!(hdd(HDD), (error, patience, 1));
    assert_eq!(hdd(&format!("{HDD}completion_batch = 11\n")), (error, patience, 11));
    for (key, value, message) in [
        ("queue_error", "\"2 s\"", "queue_error: 2 s is out of range"),
        ("queue_patience", "\"0\"", "queue_patience: 0 ns is out of range"),
    ] {
        let found = wrong(HDD, key, value);
        assert!(found.contains(message), "{found}");
    }
    let older = |window: &str| {
        let text = HDD.replace("queue_error = \"8ms\"", &format!("queue_window = {window}"));
        text.replace("queue_patience = \"500ms\"", "age_limit = \"1 s\"")
    };
    let ranges = "[estimated]\nqueue_window = [4, 16]\nage_limit = [\"0.3 s\", \"3 s\"]\n";
    let desktop = older("8") + ranges;
    assert_eq!(hdd(&desktop), (Nanos::from_millis(24), Nanos::from_millis(1_500), 1));
    assert_eq!(read(&desktop).unwrap().estimated, []);
    assert_eq!(hdd(&older("32")), (Nanos::from_millis(4), Nanos::from_secs(5), 1));
    for (text, message) in [
        (format!("{HDD}completion_batch = 0\n"), "completion_batch: 0 is out of range"),
        (older("0"), "queue_window: 0 is out of range"),
        (format!("{HDD}queue_window = 8\n"), "queue_window: queue_error is given in its place"),
        (format!("{HDD}age_limit = \"1 s\"\n"), "age_limit: write queue_patience in its place"),
        (HDD.replace("queue_error = \"8ms\"\n", ""), "queue_error: is missing: a time in quotes"),
    ] {
        let found = read(&text).expect_err("a mistake");
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn sizes_are_whole_blocks() {
    let device = read(&HDD.replace("4 TB", "4000000000001")).unwrap();
    assert_eq!(device.bytes.0, 4_000_000_000_000);
}

#[test]
fn hdd_numbers_that_cannot_be() {
    for (key, value, message) in [
        ("rpm", "0", "d:4:7: hdd.rpm: 0 is out of range (3000 to 20000)"),
        ("rpm", "\"7200\"", "d:4:7: hdd.rpm: expected a whole number, found a string"),
        (
            "seek_average",
            "\"900us\"",
            "d:6:16: hdd.seek_average: 900 us is out of range (1 ms to 50 ms)",
        ),
        (
            "seek_track_to_track",
            "\"9ms\"",
            "d:6:16: hdd.seek_average: 8.5 ms is shorter than seek_track_to_track, 9 ms",
        ),
        (
            "seek_full",
            "\"8ms\"",
            "d:7:13: hdd.seek_full: 8 ms is shorter than seek_average, 8.5 ms",
        ),
        (
            "rate_inner",
            "\"200 MB/s\"",
            "d:12:14: hdd.rate_inner: 191 MiB/s is faster than rate_outer, 172 MiB/s",
        ),
        (
            "look_ahead",
            "\"4 MiB\"",
            "d:21:14: hdd.look_ahead: 4 MiB for each of 32 cache_segments is more than the cache, \
             64 MiB",
        ),
        (
            "write_buffer",
            "\"65 MiB\"",
            "d:23:16: hdd.write_buffer: 65 MiB is more than the cache, 64 MiB",
        ),
        (
            "write_buffer",
            "\"0\"",
            "d:23:16: hdd.write_buffer: is 0, and a write_cache needs some; leave write_cache out",
        ),
        (
            "size",
            "\"300 MB\"",
            "d:13:9: hdd.zones: 286 MiB are too few for 30 zones: at 172 MiB/s and 7200 rpm one \
             track on each of 8 surfaces \
             in each is 343 MiB",
        ),
    ] {
        assert_eq!(wrong(HDD, key, value), message);
    }
}

#[test]
fn ssd_numbers_that_cannot_be() {
    for (key, value, message) in [
        ("page", "\"12 KiB\"", "d:6:8: ssd.page: 12 KiB is not a power of two"),
        ("read_page", "[]", "d:7:13: ssd.read_page: needs at least one element"),
        (
            "read_page",
            "[\"45us\", \"45s\"]",
            "d:7:22: ssd.read_page: 45 s is out of range (1 us to 10 ms)",
        ),
        (
            "read_page",
            "\"45us\"",
            "d:7:13: ssd.read_page: expected a list in square brackets, each of it a time in \
             quotes, such as \"8.5 ms\"",
        ),
        ("channels", "0", "d:4:12: ssd.channels: 0 is out of range (1 to 64)"),
        (
            "link",
            "\"6 Gbit/s\"",
            "d:12:8: ssd.link: `6 Gbit/s` has an unknown unit `Gbit`: use one of B, k, K, KiB, kB, \
             m, M, MiB, MB, g, G, GiB, GB, t, T, TiB, TB",
        ),
    ] {
        assert_eq!(wrong(SSD, key, value), message);
    }
    let many = wrong(SSD, "read_page", &format!("[{}]", "\"1us\", ".repeat(17)));
    assert!(many.starts_with("d:7:13: ssd.read_page: at most 16 times"), "{many}");
    for (value, message) in [
        (
            "\"1 TB\"",
            "d:19:12: ssd.raw_size: 931 GiB are not enough for 931 GiB: collection needs 1250 \
             blocks of 24 MiB on each die, \
             938 GiB in all",
        ),
        (
            "\"2 TB\"",
            "d:19:12: ssd.raw_size: 1.82 TiB make 79456 blocks of 24 MiB; at most 65532 are \
             modelled: make blocks larger, by more pages_per_block",
        ),
    ] {
        assert_eq!(wrong(SSD, "raw_size", value), message);
    }
    assert_eq!(
        wrong(SSD, "preconditioned", "\"at randon\""),
        "d:23:18: ssd.preconditioned: unknown state of an SSD `at randon`; did you mean `at \
         random`?"
    );
    let more = SSD.replace("write_buffer", "write_drain = \"33 MiB\"\nwrite_buffer");
    assert_eq!(
        read(&more).unwrap_err(),
        "d:16:15: ssd.write_drain: is larger than `write_buffer`, 32 MiB"
    );
    assert_eq!(
        wrong(SSD, "cell_bits", "1"),
        "d:26:13: ssd.slc.cell_bits: 1 is out of range (2 to 5)"
    );
}

proptest! {
    /// Tests that numbers of any size in place of good ones are refused or read, and never cause a
    /// panic.
    #[test]
    fn no_number_panics(
        line in 1..30usize,
        number: u64,
        unit in prop::sample::select(vec!["", "ns", "h", "TiB", "TB/s"]),
    ) {
        for good in [HDD, SSD] {
            let mut lines: Vec<_> = good.lines().map(str::to_owned).collect();
            let Some(line) = lines.get_mut(line) else { continue };
            if let Some((key, _)) = line.clone().split_once(" = ") {
                let quote = if unit.is_empty() { "" } else { "\"" };
                *line = format!("{key} = {quote}{number}{unit}{quote}");
            }
            let _ = read(&lines.join("\n"));
        }
    }
}
