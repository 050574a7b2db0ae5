//! Draws the files of random devices, with numbers that the reader of a lab accepts together.

use disklab_config::device::Device;
use disklab_config::read::TomlReader;
use disklab_units::{Random, Seed};

/// The form of a key's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Count,
    Time,
    Size,
    Power,
    Rate,
}

impl Form {
    fn spell(self, value: u64) -> String {
        match self {
            Self::Count => value.to_string(),
            Self::Time => format!("\"{value} ns\""),
            Self::Size | Self::Power => format!("\"{value} B\""),
            Self::Rate => format!("\"{value} B/s\""),
        }
    }
}

/// A key, and the least and greatest value that the reader accepts.
type Key = (&'static str, Form, u64, u64);

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
const S: u64 = 1_000 * MS;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const SIZE: Key = ("size", Form::Size, MIB, 200_000_000_000_000);

const HDD: [Key; 19] = [
    ("rpm", Form::Count, 3_000, 20_000),
    ("seek_track_to_track", Form::Time, 50 * US, 20 * MS),
    ("seek_average", Form::Time, MS, 50 * MS),
    ("seek_full", Form::Time, MS, 100 * MS),
    ("write_settle", Form::Time, 0, 10 * MS),
    ("head_switch", Form::Time, 0, 10 * MS),
    ("surfaces", Form::Count, 1, 40),
    ("rate_outer", Form::Rate, 1_000_000, 1_000_000_000),
    ("rate_inner", Form::Rate, 1_000_000, 1_000_000_000),
    ("zones", Form::Count, 1, 1_000),
    ("command_overhead", Form::Time, 0, 10 * MS),
    ("link", Form::Rate, 1_000_000, 12_000_000_000),
    ("queue_depth", Form::Count, 1, 1_024),
    ("queue_error", Form::Time, 0, S),
    ("queue_patience", Form::Time, MS, 60 * S),
    ("completion_batch", Form::Count, 1, 1_024),
    ("cache", Form::Size, 16 * KIB, 8 * GIB),
    ("cache_segments", Form::Count, 1, 4_096),
    ("write_window", Form::Count, 1, 4_096),
];

/// The keys whose values are limited by those of other keys.
const HDD_BOUND: [Key; 2] =
    [("look_ahead", Form::Size, 0, GIB), ("write_buffer", Form::Size, 0, 8 * GIB)];

const RETRIES: [Key; 2] =
    [("one_in", Form::Count, 1, 1_000_000_000_000), ("turns", Form::Count, 1, 10_000)];

const SSD: [Key; 15] = [
    ("channels", Form::Count, 1, 64),
    ("dies_per_channel", Form::Count, 1, 64),
    ("page", Form::Power, 4 * KIB, 64 * KIB),
    ("planes", Form::Count, 1, 8),
    ("pages_per_block", Form::Count, 16, 16_384),
    ("program_page", Form::Time, 10 * US, 100 * MS),
    ("erase_block", Form::Time, 100 * US, S),
    ("channel", Form::Rate, 10_000_000, 10_000_000_000),
    ("link", Form::Rate, 10_000_000, 64_000_000_000),
    ("link_command", Form::Time, 0, MS),
    ("command_overhead", Form::Time, 0, 10 * MS),
    ("queue_depth", Form::Count, 1, 4_096),
    ("write_buffer", Form::Size, 64 * KIB, 64 * GIB),
    ("flush", Form::Time, 0, S),
    ("raw_size", Form::Size, MIB, 20_000_000_000_000),
];

/// The optional keys.
const SSD_OPTIONAL: [Key; 3] = [
    ("suspend", Form::Time, 1, 10 * MS),
    ("link_command_read", Form::Time, 0, MS),
    ("write_drain", Form::Size, 4 * KIB, 64 * GIB),
];

const SLC: [Key; 4] = [
    ("cache", Form::Size, MIB, 10_000_000_000_000),
    ("cell_bits", Form::Count, 2, 5),
    ("read_page", Form::Time, US, 10 * MS),
    ("program_page", Form::Time, 10 * US, 100 * MS),
];

const CARD: [Key; 9] = [
    ("allocation_unit", Form::Power, 64 * KIB, 64 * MIB),
    ("open_units", Form::Count, 1, 64),
    ("page", Form::Power, 4 * KIB, 64 * KIB),
    ("read_access", Form::Time, US, 100 * MS),
    ("read_rate", Form::Rate, 100_000, 2_000_000_000),
    ("write_access", Form::Time, US, 100 * MS),
    ("write_rate", Form::Rate, 100_000, 2_000_000_000),
    ("copy_rate", Form::Rate, 100_000, 2_000_000_000),
    ("erase_unit", Form::Time, 100 * US, S),
];

const CONSTANT: [Key; 3] = [
    ("latency", Form::Time, 100, 10 * S),
    ("servers", Form::Count, 1, 4_096),
    ("queue_depth", Form::Count, 1, 4_096),
];

/// Draws a value: sometimes an end of the range, otherwise one whose order of magnitude is uniform.
fn draw(random: &mut Random, (_, form, low, high): Key) -> u64 {
    let value = match random.below(20) {
        0 => low,
        1 => high,
        _ => {
            let least = low.max(high / 1_000_000).max(1) as f64;
            (least * (high as f64 / least).powf(random.next_f64())) as u64
        }
    };
    match form {
        Form::Power => 1 << value.ilog2(),
        _ => value.clamp(low, high),
    }
}

/// Keys and values of one table of a device's file.
#[derive(Default)]
struct DrawnNumbers(Vec<(&'static str, Form, u64)>);

impl DrawnNumbers {
    fn draw(random: &mut Random, keys: &[Key]) -> Self {
        Self(keys.iter().map(|key| (key.0, key.1, draw(random, *key))).collect())
    }

    fn get(&self, key: &str) -> u64 {
        self.0.iter().find(|(name, ..)| *name == key).map_or(0, |(_, _, value)| *value)
    }

    fn set(&mut self, key: &'static str, form: Form, value: u64) {
        self.0.retain(|(name, ..)| *name != key);
        self.0.push((key, form, value));
    }

    fn lines(&self) -> String {
        let line =
            |(name, form, value): &(&str, Form, u64)| format!("{name} = {}\n", form.spell(*value));
        self.0.iter().map(line).collect()
    }
}

/// Writes a hard disk whose numbers the reader accepts together.
fn hdd(random: &mut Random) -> String {
    let mut numbers = DrawnNumbers::draw(random, &HDD);
    let average = numbers.get("seek_average");
    let track = numbers.get("seek_track_to_track").min(average);
    let full = numbers.get("seek_full").max(average);
    numbers.set("seek_track_to_track", Form::Time, track);
    numbers.set("seek_full", Form::Time, full);
    let outer = numbers.get("rate_outer");
    let inner = numbers.get("rate_inner").min(outer);
    numbers.set("rate_inner", Form::Rate, inner);
    let [look_ahead, write_buffer] = HDD_BOUND;
    let (cache, segments) = (numbers.get("cache"), numbers.get("cache_segments"));
    let ahead = draw(random, look_ahead).min(cache / segments);
    numbers.set("look_ahead", Form::Size, ahead);
    let write_cache = random.below(3) > 0;
    let buffer = draw(random, write_buffer).min(cache).max(u64::from(write_cache));
    numbers.set("write_buffer", Form::Size, buffer);
    let size = draw(random, SIZE);
    let in_zone = (outer * 60 / numbers.get("rpm")).max(1) * numbers.get("surfaces");
    let zones = numbers.get("zones").min(size / in_zone).max(1);
    numbers.set("zones", Form::Count, zones);
    let size = size.max(in_zone);
    let lines = numbers.lines();
    let retries = if random.below(8) == 0 {
        format!("[hdd.retries]\n{}", DrawnNumbers::draw(random, &RETRIES).lines())
    } else {
        String::new()
    };
    format!("size = \"{size} B\"\n[hdd]\nwrite_cache = {write_cache}\n{lines}{retries}")
}

/// Writes an SSD that has enough flash for its size.
fn ssd(random: &mut Random) -> String {
    let mut numbers = DrawnNumbers::draw(random, &SSD);
    // Most have few dies and small blocks, because a large one takes a second to build.
    let count = random.below(64) + 1;
    let dies = numbers.get("channels").min(count);
    numbers.set("channels", Form::Count, dies);
    let each = numbers.get("dies_per_channel").min((count / dies).max(1));
    numbers.set("dies_per_channel", Form::Count, each);
    let row = numbers.get("page") * numbers.get("planes") * dies * each;
    let block = row * numbers.get("pages_per_block");
    let most = (4 * GIB / block).clamp(20, 65_532 / (dies * each));
    let raw = block * (15 + random.below(most - 15));
    numbers.set("raw_size", Form::Size, raw);
    let size = (raw as f64 * (0.05 + 0.9 * random.next_f64())) as u64;
    for key in SSD_OPTIONAL {
        if random.below(2) == 0 {
            let value = draw(random, key);
            let most = if key.0 == "write_drain" { numbers.get("write_buffer") } else { value };
            numbers.set(key.0, key.1, value.min(most));
        }
    }
    let flag = |random: &mut Random| random.below(2) == 0;
    let reads: Vec<String> = (0..=random.below(16))
        .map(|_| Form::Time.spell(draw(random, ("read_page", Form::Time, US, 10 * MS))))
        .collect();
    let state = if flag(random) { "in order" } else { "at random" };
    let slc = if flag(random) {
        let mut slc = DrawnNumbers::draw(random, &SLC);
        let cache = slc.get("cache").min(raw / 4).max(MIB);
        slc.set("cache", Form::Size, cache);
        format!("[ssd.slc]\n{}", slc.lines())
    } else {
        String::new()
    };
    format!(
        "size = \"{size} B\"\n[ssd]\nread_page = [{}]\nqueued_flush = {}\n\
         power_loss_protection = {}\npreconditioned = \"{state}\"\n{}{slc}",
        reads.join(", "),
        flag(random),
        flag(random),
        numbers.lines()
    )
}

fn card(random: &mut Random) -> String {
    let lines = DrawnNumbers::draw(random, &CARD).lines();
    let any_order = random.below(2) == 0;
    let size = draw(random, SIZE);
    format!("size = \"{size} B\"\n[card]\nany_order = {any_order}\n{lines}")
}

fn constant(random: &mut Random) -> String {
    let mut numbers = DrawnNumbers::draw(random, &CONSTANT);
    let servers = numbers.get("servers").min(numbers.get("queue_depth"));
    numbers.set("servers", Form::Count, servers);
    format!("size = \"{} B\"\n[constant]\n{}", draw(random, SIZE), numbers.lines())
}

/// Reads a device as from a file of a lab.
pub fn read(source: &str) -> Result<Device, String> {
    let source = format!("summary = \"random\"\n{source}");
    let read = TomlReader::new("d", &source).read(|table| Device::read("d", table));
    read.map_err(|mistakes| mistakes.to_string())
}

/// Writes the file of the device with this number. Also returns the random stream from which its
/// requests are drawn.
pub fn source(number: u64) -> (String, Random) {
    let mut random = Random::new(Seed(number).derive("device"));
    let source = match number % 20 {
        0..12 => hdd(&mut random),
        12..17 => ssd(&mut random),
        17..19 => card(&mut random),
        _ => constant(&mut random),
    };
    (source, random)
}

/// The ranges of the keys here are the reader's: it accepts both ends, and nothing beyond them.
#[test]
fn ranges_are_those_of_the_reader() {
    let tables: [(&str, &[&[Key]]); 7] = [
        ("", &[&[SIZE]]),
        ("[hdd]", &[&HDD, &HDD_BOUND]),
        ("[hdd]\n[hdd.retries]", &[&RETRIES]),
        ("[ssd]", &[&SSD, &SSD_OPTIONAL]),
        ("[ssd]\n[ssd.slc]", &[&SLC]),
        ("[card]", &[&CARD]),
        ("[constant]", &[&CONSTANT]),
    ];
    for (table, keys) in tables {
        for &(key, form, low, high) in keys.iter().copied().flatten() {
            let beyond = if form == Form::Power { high * 2 } else { high + 1 };
            let below = if form == Form::Power { low / 2 } else { low.saturating_sub(1) };
            let beside = [below, beyond].map(|value| (value, value < low || value > high));
            for (value, refused) in [(low, false), (high, false)].into_iter().chain(beside) {
                let source = format!("{table}\n{key} = {}\n", form.spell(value));
                let mistakes = read(&source).expect_err("other keys are missing");
                let about = |line: &str| {
                    line.contains(&format!("{key}: ")) && line.contains("is out of range")
                };
                let found = mistakes.lines().any(about);
                assert_eq!(found, refused, "{source}: {mistakes}");
            }
        }
    }
}
