//! The work of each disk: shares of the reads, their times, and btrfs's own counts.

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
use crate::panel::{Nothing, Panel, Piece, facts, of_groups};
use crate::source::{CellChoice, Group, ReportSource};

pub const PANEL: Panel =
    Panel { place: 60, name: "served", title: "Work of each disk", pictures: "shares", draw };

/// Largest number of bars of a choice: its first seeds.
const SEEDS: usize = 8;
/// Height of a bar with its gap, and least height of a choice, in pixels.
const BAR: f64 = 11.0;
const CHOICE: f64 = 30.0;
/// Largest number of letters in a choice's name and in a disk's, and pixels of each.
const NAME: usize = 18;
const DISK: usize = 40;
const LETTER: f64 = 7.2;

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let words = html! {
        p { "Each bar is a seed; only the first " (SEEDS)
            " seeds of a choice are drawn. The tables have medians over all seeds, with their \
             ranges. The counts include all requests during the measurement, also those of a \
             background." }
        (columns(source))
    };
    of_groups(source, words, "No trial has a record of the work of its disks.", |group| {
        Some((String::new(), vec![piece(&source.compared, group)?]))
    })
}

/// Explains the columns of the tables.
fn columns(source: &ReportSource) -> Markup {
    let mut results =
        source.groups.iter().flat_map(|group| &group.choices).flat_map(CellChoice::results);
    let has_stats = results.any(|(_, outcome)| {
        let devices = outcome.sample.iter().flat_map(|sample| &sample.devices);
        devices.into_iter().any(|device| device.read_stats.is_some())
    });
    let what = |(name, what, ..): &ServiceColumn| (*name, *what);
    let of_btrfs = OF_BTRFS.iter().filter(|_| has_stats).map(what);
    html! {
        details {
            summary { "What the columns of the tables mean" }
            (facts(COLUMNS.iter().map(what).chain([SWITCHES]).chain(of_btrfs)))
        }
    }
}

/// A column of the tables: its head, its explanation, its number for a disk, and the format.
type ServiceColumn =
    (&'static str, &'static str, fn(&DeviceSample) -> Option<f64>, fn(f64) -> String);

const COLUMNS: [ServiceColumn; 4] = [
    ("reads", "The disk's share of all reads.", |disk| disk.read_share, percent),
    (
        "utilisation",
        "The share of the time in which the disk had a request.",
        |disk| Some(disk.utilisation),
        percent,
    ),
    (
        "mean service",
        "The mean time from the disk's start on a request to the request's end.",
        |disk| disk.service_mean_ns.map(|mean| mean.0 as f64),
        time,
    ),
    (
        "mean depth",
        "The mean number of requests at the disk, over time.",
        |disk| disk.depth_mean,
        digits,
    ),
];

/// A column for all disks together.
const SWITCHES: (&str, &str) =
    ("switches", "The share of all reads that went to another disk than the previous read.");

/// The columns of `read_stats`, as guest-kernel/btrfs describes it.
const OF_BTRFS: [ServiceColumn; 3] = [
    (
        "ignored",
        "A counter of btrfs: decisions that passed the disk over, minus decisions for it. -1023 \
         means that 1023 more decisions were for the disk than passed it over. A decision adds one \
         for one mirror and subtracts one for the other, so such numbers come in pairs.",
        |disk| disk.read_stats.map(|stats| stats.ignored as f64),
        |ignored| format!("{ignored:+.0}"),
    ),
    (
        "age",
        "At the end of the trial: decisions since the last one for the disk. Above 10000, btrfs \
         forgets the disk's latency and sets the age to -100; while the age is negative, the disk \
         is about to be tried again.",
        |disk| disk.read_stats.map(|stats| stats.age as f64),
        |age| format!("{age:.0}"),
    ),
    (
        "btrfs's latency",
        "The mean latency of the disk's reads, as btrfs measures it, since btrfs last forgot it. 0 \
         means that no read has ended since. Policies that choose by latency use it.",
        |disk| disk.read_stats.map(|stats| stats.checkpoint_avg_ns.0 as f64),
        time,
    ),
];

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn time(ns: f64) -> String {
    Nanos(ns as u64).to_string()
}

/// Draws the section of a group. Returns `None` if nothing is known about its disks.
fn piece(compared: &str, group: &Group) -> Option<Piece> {
    let choices: Vec<ChoiceService> = group.choices.iter().filter_map(ChoiceService::new).collect();
    if choices.is_empty() {
        return None;
    }
    let table = table(compared, &choices);
    if choices.iter().all(|choice| choice.disks.len() == 1) {
        // A bar of one disk would always be full.
        return Some(Piece::Words(table.markup("What the disk did")));
    }
    let (height, inner) = picture(&choices);
    let (size, says) = ((WIDTH, height), says(&choices));
    Some(Piece::Chart(Chart::of_svg("shares", "Reads of each disk", says, size, inner, table)))
}

/// A choice over its seeds.
struct ChoiceService {
    name: String,
    /// Share of the reads that each disk served, for each seed.
    seeds: Vec<Vec<f64>>,
    disks: Vec<DiskService>,
    switches: Option<Spread>,
    /// Whether btrfs reported its counts.
    has_stats: bool,
}

struct DiskService {
    name: String,
    share: Option<Spread>,
    /// Fields of [`COLUMNS`] and of [`OF_BTRFS`].
    fields: [Vec<String>; 2],
}

impl ChoiceService {
    fn new(choice: &CellChoice) -> Option<Self> {
        let samples = disks::samples(choice);
        let widest = samples.iter().max_by_key(|sample| sample.devices.len())?;
        let disk = |(index, named): (usize, &DeviceSample)| {
            let over = |value: fn(&DeviceSample) -> Option<f64>| {
                Spread::over(samples.iter().filter_map(|sample| value(sample.devices.get(index)?)))
            };
            let field = |(_, _, value, show): &ServiceColumn| with_range(over(*value), show);
            DiskService {
                name: disks::name(named),
                share: over(|disk| disk.read_share),
                fields: [&COLUMNS[..], &OF_BTRFS].map(|all| all.iter().map(field).collect()),
            }
        };
        let disks: Vec<DiskService> = widest.devices.iter().enumerate().map(disk).collect();
        let shares = |sample: &Cow<Sample>| {
            sample.devices.iter().map(|device| device.read_share.unwrap_or(0.0)).collect()
        };
        let mut all = samples.iter().flat_map(|sample| &sample.devices);
        (!disks.is_empty()).then(|| Self {
            name: choice.value.clone(),
            seeds: samples.iter().map(shares).collect(),
            disks,
            switches: Spread::over(samples.iter().filter_map(|sample| sample.read_switches)),
            has_stats: all.any(|disk| disk.read_stats.is_some()),
        })
    }
}

/// A row of the picture: the name beside it, and the parts of the bar.
struct BarRow {
    name: String,
    parts: Vec<f64>,
}

/// Returns the rows from above: the seeds of each choice with its name in their middle, and empty
/// rows below if there are few.
fn rows(choices: &[ChoiceService]) -> Vec<BarRow> {
    let least = (CHOICE / BAR).ceil() as usize;
    let of = |choice: &ChoiceService| -> Vec<BarRow> {
        let seeds = choice.seeds.len().min(SEEDS);
        let height = (seeds + 1).max(least);
        let middle = (seeds.max(1) - 1) / 2;
        let name = |at: usize| Some(ink::shortened(&choice.name, NAME)).filter(|_| at == middle);
        let row = |at: usize| BarRow {
            name: name(at).unwrap_or_default(),
            parts: choice.seeds.get(at).filter(|_| at < SEEDS).cloned().unwrap_or_default(),
        };
        (0..height).map(row).collect()
    };
    choices.iter().flat_map(of).collect()
}

/// Draws the bars, the axis below them and the disks below that. A disk has a colour and a hatch,
/// so that colours are not needed.
fn picture(choices: &[ChoiceService]) -> (f64, Markup) {
    let rows = rows(choices);
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let left = 12.0 + LETTER * longest as f64;
    let room = WIDTH - left - 20.0;
    let bottom = 6.0 + rows.len() as f64 * BAR;
    let most = choices.iter().max_by_key(|choice| choice.disks.len());
    let names: Vec<&str> = most
        .map_or(Vec::new(), |choice| choice.disks.iter().map(|disk| disk.name.as_str()).collect());
    let widest = names.iter().map(|name| name.chars().count().min(DISK)).max().unwrap_or(0);
    let each = 30.0 + LETTER * widest as f64;
    let across = ((WIDTH - 12.0) / each).floor().max(1.0) as usize;
    let place = |at: usize| {
        (6.0 + (at % across) as f64 * each, bottom + 44.0 + (at / across) as f64 * 20.0)
    };
    let height = bottom + 44.0 + names.len().div_ceil(across) as f64 * 20.0;
    let inner = html! {
        g fill=(ink::TEXT) font-size="12" {
            @for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
                @let x = left + room * percent / 100.0;
                path d={"M" (number(x)) " 4V" (number(bottom + 4.0))} stroke=(ink::GRID) {}
                (centred(x, bottom + 17.0, percent))
            }
            @for disk in 0..names.len() {
                @let bars = bars(&rows, disk, left, room);
                (filled(&bars, ink::Series::numbered(disk)))
            }
            @for (at, row) in rows.iter().enumerate().filter(|(_, row)| !row.name.is_empty()) {
                (ending(left - 8.0, 6.0 + (at as f64 + 0.5) * BAR + 4.0, &row.name))
            }
            (centred(left + room / 2.0, bottom + 33.0, "% of the reads of each seed"))
            @for (at, name) in names.iter().enumerate() {
                @let (x, y) = place(at);
                @let square = format!("M{} {}h16v12h-16z", number(x), number(y));
                (filled(&square, ink::Series::numbered(at)))
                text x=(number(x + 21.0)) y=(number(y + 10.5)) { (ink::shortened(name, DISK)) }
            }
        }
    };
    (height, inner)
}

/// Draws a disk's parts of all bars as one path, beside each other in the disks' order.
fn bars(rows: &[BarRow], disk: usize, left: f64, room: f64) -> String {
    let mut way = String::new();
    for (at, row) in rows.iter().enumerate() {
        let Some(part) = row.parts.get(disk).filter(|part| **part > 0.0) else { continue };
        let begin: f64 = row.parts[..disk].iter().sum();
        let [x, y] = [left + room * begin, 6.0 + at as f64 * BAR].map(number);
        let (width, height) = (number(room * part), BAR - 1.5);
        // Writing to a string does not fail.
        let _ = write!(way, "M{x} {y}h{width}v{height}h-{width}z");
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
    let has_stats = choices.iter().any(|choice| choice.has_stats);
    let heads = COLUMNS.iter().map(|(name, ..)| *name).chain([SWITCHES.0]);
    let of_btrfs = OF_BTRFS.iter().filter(|_| has_stats).map(|(name, ..)| *name);
    let mut table = NumbersTable::new(compared, ["disk"].into_iter().chain(heads).chain(of_btrfs));
    for choice in choices {
        for (at, DiskService { name: disk, fields: [fields, of_btrfs], .. }) in
            choice.disks.iter().enumerate()
        {
            // The number is for all disks together.
            let switches =
                if at == 0 { with_range(choice.switches, percent) } else { String::new() };
            let row = [disk].into_iter().chain(fields).chain([&switches]);
            table.row(&choice.name, row.chain(of_btrfs.iter().filter(|_| has_stats)));
        }
    }
    table
}

/// Formats the median, with the range if there is one.
pub fn with_range(spread: Option<Spread>, show: impl Fn(f64) -> String) -> String {
    let Some(Spread { min, median, max }) = spread else { return "–".to_owned() };
    let (low, middle, high) = (show(min), show(median), show(max));
    if low == high { middle } else { format!("{middle} ({low} to {high})") }
}
