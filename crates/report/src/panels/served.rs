//! Which disk served what: shares of the reads, how long they took, and what btrfs counted.

use std::borrow::Cow;
use std::fmt::Write as _;

use disklab_results::sample::DeviceSample;
use disklab_results::{Sample, Spread};
use disklab_units::Nanos;
use disklab_units::prose::digits;
use itertools::Itertools;
use maud::{Markup, html};

use crate::chart::{Chart, NumbersTable, WIDTH, centred, ending, ink, number};
use crate::disks;
use crate::panel::{Nothing, Panel, Piece, of_groups};
use crate::source::{CellChoice, Group, ReportSource};

pub const PANEL: Panel =
    Panel { place: 60, name: "served", title: "Who served what", pictures: "shares", draw };

/// Bars of a choice at most: its first seeds.
const SEEDS: usize = 8;
/// Pixels of a bar with what is between it and the next, and of a choice at least.
const BAR: f64 = 11.0;
const CHOICE: f64 = 30.0;
/// Letters of a choice's name and of a disk's, at most, and pixels of each.
const NAME: usize = 18;
const DISK: usize = 12;
const LETTER: f64 = 7.2;

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let words = html! {
        p { "A bar is a seed: of each choice the first " (SEEDS)
            ", where it has more. The tables have medians over all seeds, with \
             their ranges. Counted is what the disks did while a trial measured, for whomever: a \
             background's requests too." }
        (columns(source))
    };
    of_groups(source, words, "No trial has a record of what its disks did.", |group| {
        Some((String::new(), vec![piece(&source.compared, group)?]))
    })
}

/// What the columns of the tables are.
fn columns(source: &ReportSource) -> Markup {
    let mut results =
        source.groups.iter().flat_map(|group| &group.choices).flat_map(CellChoice::results);
    let has_stats = results.any(|(_, outcome)| {
        let devices = outcome.sample.iter().flat_map(|sample| &sample.devices);
        devices.into_iter().any(|device| device.read_stats.is_some())
    });
    html! {
        details {
            summary { "What the columns of the tables are" }
            dl.facts {
                @for (name, what) in COLUMNS { div { dt { (name) } dd { (what) } } }
                @if has_stats { @for (name, what) in OF_BTRFS { div { dt { (name) } dd {
                    (what) } } } }
            }
        }
    }
}

const COLUMNS: [(&str, &str); 5] = [
    ("reads", "Which part of all disks' reads it served."),
    ("utilisation", "The part of the time in which it had a request at least."),
    ("mean service", "From when the disk began with a request to its end."),
    ("mean depth", "Requests at the disk, over time."),
    ("switches", "Of all disks: the part of reads that went to another disk than the read before."),
];

/// As guest-kernel/btrfs describes `read_stats`.
const OF_BTRFS: [(&str, &str); 3] = [
    (
        "ignored",
        "btrfs's count: decisions that passed the disk over, less those for it. Below zero it was \
            chosen more often than passed \
         over: -1023 is 1023 times more. A decision adds one to one mirror and takes one from the \
         other, so that such numbers \
         come in pairs.",
    ),
    (
        "age",
        "Decisions in the end that passed the disk over since one was for it. Above 10000 btrfs \
            forgets its latency, and the age \
         begins at -100: below zero the disk is about to be tried again.",
    ),
    (
        "btrfs's latency",
        "The mean of its reads, from btrfs to btrfs, since btrfs last forgot it; 0: none has ended \
            since. Policies by latency go \
         by it; others do not look.",
    ),
];

/// `None` where nothing is known of the disks.
fn piece(compared: &str, group: &Group) -> Option<Piece> {
    let choices: Vec<ChoiceService> = group.choices.iter().filter_map(ChoiceService::new).collect();
    if choices.is_empty() {
        return None;
    }
    let table = table(compared, &choices);
    if choices.iter().all(|choice| choice.disks.len() == 1) {
        // A bar of one disk is always full.
        return Some(Piece::Words(table.markup("What the disk did")));
    }
    let (height, inner) = picture(&choices);
    let (size, says) = ((WIDTH, height), says(&choices));
    Some(Piece::Chart(Chart::of_svg("shares", "Reads of each disk", says, size, inner, table)))
}

/// A choice over its seeds.
struct ChoiceService {
    name: String,
    /// Of each seed, the share of the reads that each disk served.
    seeds: Vec<Vec<f64>>,
    disks: Vec<DiskService>,
    switches: Option<Spread>,
}

struct DiskService {
    name: String,
    /// As it is called in the samples, with what it is a model of.
    told: String,
    share: Option<Spread>,
    utilisation: Option<Spread>,
    service: Option<Spread>,
    depth: Option<Spread>,
    ignored: Option<Spread>,
    age: Option<Spread>,
    latency: Option<Spread>,
}

impl ChoiceService {
    fn new(choice: &CellChoice) -> Option<Self> {
        let samples = disks::samples(choice);
        let widest = samples.iter().max_by_key(|sample| sample.devices.len())?;
        let disk = |(index, named): (usize, &DeviceSample)| {
            let over = |of: &dyn Fn(&DeviceSample) -> Option<f64>| {
                Spread::of(samples.iter().filter_map(|sample| of(sample.devices.get(index)?)))
            };
            let model =
                named.device.as_ref().map_or_else(String::new, |device| format!(" ({device})"));
            DiskService {
                name: named.name.clone(),
                told: format!("{}{model}", named.name),
                share: over(&|disk| disk.read_share),
                utilisation: over(&|disk| Some(disk.utilisation)),
                service: over(&|disk| disk.service_mean_ns.map(|mean| mean.0 as f64)),
                depth: over(&|disk| disk.depth_mean),
                ignored: over(&|disk| disk.read_stats.map(|stats| stats.ignored as f64)),
                age: over(&|disk| disk.read_stats.map(|stats| stats.age as f64)),
                latency: over(&|disk| {
                    disk.read_stats.map(|stats| stats.checkpoint_avg_ns.0 as f64)
                }),
            }
        };
        let disks: Vec<DiskService> = widest.devices.iter().enumerate().map(disk).collect();
        let switches = Spread::of(samples.iter().filter_map(|sample| sample.read_switches));
        let shares = |sample: &Cow<Sample>| {
            sample.devices.iter().map(|device| device.read_share.unwrap_or(0.0)).collect()
        };
        let seeds = samples.iter().map(shares).collect();
        (!disks.is_empty()).then(|| Self { name: choice.value.clone(), seeds, disks, switches })
    }
}

/// A row of the picture: the name beside it, and what the bar is made of.
struct BarRow {
    name: String,
    parts: Vec<f64>,
}

/// From above: the seeds of each choice, its name in their middle, with empty rows below where they
/// are few.
fn rows(choices: &[ChoiceService]) -> Vec<BarRow> {
    let least = (CHOICE / BAR).ceil() as usize;
    let of = |choice: &ChoiceService| -> Vec<BarRow> {
        let seeds = choice.seeds.len().min(SEEDS);
        let height = (seeds + 1).max(least);
        let row = |at: usize| BarRow {
            name: if at == (seeds.max(1) - 1) / 2 {
                ink::shortened(&choice.name, NAME)
            } else {
                String::new()
            },
            parts: choice.seeds.get(at).filter(|_| at < SEEDS).cloned().unwrap_or_default(),
        };
        (0..height).map(row).collect()
    };
    choices.iter().flat_map(of).collect()
}

/// The bars, the axis below them and the disks below that. A disk has a colour and a hatch, so that
/// nobody has to see colours.
fn picture(choices: &[ChoiceService]) -> (f64, String) {
    let rows = rows(choices);
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let left = 12.0 + LETTER * longest as f64;
    let room = WIDTH - left - 20.0;
    let bottom = 6.0 + rows.len() as f64 * BAR;
    let disks = choices.iter().map(|choice| choice.disks.len()).max().unwrap_or(0);
    let names: Vec<&str> = choices
        .iter()
        .max_by_key(|choice| choice.disks.len())
        .map_or(Vec::new(), |choice| choice.disks.iter().map(|disk| disk.name.as_str()).collect());
    let widest = names.iter().map(|name| name.chars().count().min(DISK)).max().unwrap_or(0);
    let each = 30.0 + LETTER * widest as f64;
    let across = ((WIDTH - 12.0) / each).floor().max(1.0) as usize;
    let place = |at: usize| {
        (6.0 + (at % across) as f64 * each, bottom + 44.0 + (at / across) as f64 * 20.0)
    };
    let height = bottom + 44.0 + disks.div_ceil(across) as f64 * 20.0;
    let inner = html! {
        g fill=(ink::TEXT) font-size="12" {
            @for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
                @let x = left + room * percent / 100.0;
                path d={"M" (number(x)) " 4V" (number(bottom + 4.0))} stroke=(ink::GRID) {}
                (centred(x, bottom + 17.0, percent))
            }
            @for disk in 0..disks {
                @let bars = bars(&rows, disk, left, room);
                (filled(&bars, ink::Series::numbered(disk)))
            }
            @for (at, row) in rows.iter().enumerate().filter(|(_, row)| !row.name.is_empty()) {
                (ending(left - 8.0, 6.0 + (at as f64 + 0.5) * BAR + 4.0, &row.name))
            }
            (centred(left + room / 2.0, bottom + 33.0, "% of the reads of each seed"))
            @for (at, name) in names.iter().enumerate() {
                @let (x, y) = place(at);
                (filled(&format!("M{} {}h16v12h-16z", number(x), number(y)), ink::Series::numbered(at)))
                text x=(number(x + 21.0)) y=(number(y + 10.5)) { (ink::shortened(name, DISK)) }
            }
        }
    };
    (height, inner.into_string())
}

/// The parts of all bars that are a disk's, as one way: they stand beside each other in the disks'
/// order.
fn bars(rows: &[BarRow], disk: usize, left: f64, room: f64) -> String {
    let mut way = String::new();
    for (at, row) in rows.iter().enumerate() {
        let Some(part) = row.parts.get(disk).filter(|part| **part > 0.0) else { continue };
        let begin: f64 = row.parts[..disk].iter().sum();
        let width = room * part;
        let (x, y) = (left + room * begin, 6.0 + at as f64 * BAR);
        // Writing to a string does not fail.
        let _ = write!(
            way,
            "M{} {}h{}v{}h-{}z",
            number(x),
            number(y),
            number(width),
            BAR - 1.5,
            number(width)
        );
    }
    way
}

fn filled(way: &str, series: ink::Series) -> Markup {
    html! {
        path d=(way) fill=(series.colour) {}
        @if let Some(hatch) = series.hatch() { path d=(way) fill=(hatch) {} }
    }
}

fn says(choices: &[ChoiceService]) -> String {
    let told = |choice: &ChoiceService| {
        let share = |disk: &DiskService| {
            disk.share.map(|share| format!("{} {:.0} %", disk.name, share.median * 100.0))
        };
        let shares: Vec<String> = choice.disks.iter().filter_map(share).collect();
        format!("{}: {}", choice.name, shares.join(", "))
    };
    choices.iter().map(told).join("; ")
}

fn table(compared: &str, choices: &[ChoiceService]) -> NumbersTable {
    let has_stats =
        choices.iter().flat_map(|choice| &choice.disks).any(|disk| disk.ignored.is_some());
    let of_btrfs = OF_BTRFS.map(|(name, _)| name).into_iter().filter(|_| has_stats);
    let heads = ["disk"].into_iter().chain(COLUMNS.map(|(name, _)| name)).chain(of_btrfs);
    let mut table = NumbersTable::new(compared, heads);
    for choice in choices {
        for (at, disk) in choice.disks.iter().enumerate() {
            let share = |spread| told(spread, |value| format!("{:.0} %", value * 100.0));
            let time = |spread| told(spread, |value| Nanos(value as u64).to_string());
            // It is of all disks together.
            let switches = if at == 0 { share(choice.switches) } else { String::new() };
            let of_btrfs = [
                told(disk.ignored, |value| format!("{value:+.0}")),
                told(disk.age, |value| format!("{value:.0}")),
                time(disk.latency),
            ];
            let row = [
                disk.told.clone(),
                share(disk.share),
                share(disk.utilisation),
                time(disk.service),
                told(disk.depth, digits),
                switches,
            ];
            let of_btrfs = of_btrfs.into_iter().filter(|_| has_stats);
            table.row(&choice.name, row.into_iter().chain(of_btrfs));
        }
    }
    table
}

/// The median, with the range where there is one.
pub fn told(spread: Option<Spread>, show: impl Fn(f64) -> String) -> String {
    let Some(Spread { min, median, max }) = spread else { return "–".to_owned() };
    let (low, middle, high) = (show(min), show(median), show(max));
    if low == high { middle } else { format!("{middle} ({low} to {high})") }
}
