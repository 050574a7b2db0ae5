//! Which disk served what: shares of the reads, how long they took, and what btrfs counted.

use disklab_collect::sample::DeviceSample;
use disklab_collect::{Sample, Spread};
use disklab_units::Nanos;
use disklab_units::prose::digits;
use kuva::prelude::{BarPlot, LegendEntry, LegendPosition, LegendShape, Plot};
use maud::html;

use crate::chart::{Chart, Table, WIDTH, ink};
use crate::panel::{Panel, Piece, Section};
use crate::source::{Choice, Group, Source};

pub const PANEL: Panel =
    Panel { place: 60, name: "served", title: "Who served what", pictures: "shares", draw };

/// Bars of a choice at most: its first seeds.
const SEEDS: usize = 8;
/// Pixels of a bar, of a choice at least, and of what is around them all.
const BAR: f64 = 9.0;
const CHOICE: f64 = 30.0;
const AROUND: f64 = 130.0;

fn draw(source: &Source) -> Result<Vec<Piece>, String> {
    let striking = source.striking();
    let sections: Vec<Piece> = source
        .groups
        .iter()
        .enumerate()
        .filter_map(|(at, group)| section(source, group, at == striking))
        .collect();
    if sections.is_empty() {
        return Err("No trial recorded what each disk did.".to_owned());
    }
    let words = html! {
        p { "A bar is a seed: of each choice the first " (SEEDS) ", where it has more. The tables have medians over all seeds, with \
             their ranges." }
    };
    Ok([Piece::Words(words)].into_iter().chain(sections).collect())
}

fn section(source: &Source, group: &Group, open: bool) -> Option<Piece> {
    let choices: Vec<Served> = group.choices.iter().filter_map(Served::of).collect();
    if choices.is_empty() {
        return None;
    }
    let rows = rows(&choices);
    let chart = Chart::draw(
        "shares",
        "Reads of each disk",
        says(&choices),
        bars(&rows),
        layout(&source.compared, &choices, &rows),
        table(&source.compared, &choices),
    );
    Some(Piece::Section(Section {
        name: group.name.clone(),
        title: group.title(),
        summary: String::new(),
        open,
        cell: group.cell.clone(),
        pieces: vec![Piece::Chart(chart)],
    }))
}

/// A choice over its seeds.
struct Served {
    name: String,
    /// Of each seed, the share of the reads that each disk served.
    seeds: Vec<Vec<f64>>,
    disks: Vec<Disk>,
    switches: Option<Spread>,
}

struct Disk {
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

impl Served {
    fn of(choice: &Choice) -> Option<Self> {
        let samples: Vec<_> = choice.results().filter_map(|(_, outcome)| outcome.sample.as_ref()).collect();
        let widest = samples.iter().max_by_key(|sample| sample.devices.len())?;
        let disk = |(index, named): (usize, &DeviceSample)| {
            let over = |of: &dyn Fn(&DeviceSample) -> Option<f64>| {
                Spread::of(samples.iter().filter_map(|sample| of(sample.devices.get(index)?)))
            };
            let model = named.device.as_ref().map_or_else(String::new, |device| format!(" ({device})"));
            Disk {
                name: named.name.clone(),
                told: format!("{}{model}", named.name),
                share: over(&|disk| disk.read_share),
                utilisation: over(&|disk| Some(disk.utilisation)),
                service: over(&|disk| disk.service_mean_ns.map(|it| it.0 as f64)),
                depth: over(&|disk| disk.depth_mean),
                ignored: over(&|disk| disk.read_stats.map(|it| it.ignored as f64)),
                age: over(&|disk| disk.read_stats.map(|it| it.age as f64)),
                latency: over(&|disk| disk.read_stats.map(|it| it.checkpoint_avg_ns.0 as f64)),
            }
        };
        let disks: Vec<Disk> = widest.devices.iter().enumerate().map(disk).collect();
        let switches = Spread::of(samples.iter().filter_map(|sample| sample.read_switches));
        let shares =
            |sample: &&Sample| sample.devices.iter().map(|it| it.read_share.unwrap_or(0.0)).collect();
        let seeds = samples.iter().map(shares).collect();
        (!disks.is_empty()).then(|| Self { name: choice.value.clone(), seeds, disks, switches })
    }
}

/// A row of the picture: the name beside it, and what the bar is made of.
struct Row {
    name: String,
    parts: Vec<f64>,
}

/// From above: the seeds of each choice, its name in their middle, with empty rows below where they are few.
fn rows(choices: &[Served]) -> Vec<Row> {
    let least = (CHOICE / BAR).ceil() as usize;
    let of = |choice: &Served| -> Vec<Row> {
        let seeds = choice.seeds.len().min(SEEDS);
        let height = (seeds + 1).max(least);
        let row = |at: usize| Row {
            name: if at == (seeds.max(1) - 1) / 2 { ink::shortened(&choice.name, 20) } else { String::new() },
            parts: choice.seeds.get(at).filter(|_| at < SEEDS).cloned().unwrap_or_default(),
        };
        (0..height).map(row).collect()
    };
    choices.iter().flat_map(of).collect()
}

/// The parts of a bar are the disks in their order.
fn bars(rows: &[Row]) -> Vec<Plot> {
    let mut plot = BarPlot::new().with_stacked().with_horizontal(true).with_width(0.85);
    // Bars of a horizontal plot go from below.
    for row in rows.iter().rev() {
        let part = |(index, share): (usize, &f64)| (share * 100.0, ink::Series::of(index).colour);
        plot = plot
            .with_group(ink::plain(&row.name), row.parts.iter().enumerate().map(part).collect::<Vec<_>>());
    }
    vec![Plot::Bar(plot)]
}

fn layout(compared: &str, choices: &[Served], rows: &[Row]) -> kuva::prelude::Layout {
    let names = rows.iter().rev().map(|row| ink::plain(&row.name)).collect();
    let rows = rows.len() as f64;
    let disks = choices.iter().map(|choice| &choice.disks).max_by_key(|disks| disks.len());
    let legend = disks.into_iter().flatten().enumerate().map(|(at, disk)| LegendEntry {
        label: ink::plain(&ink::shortened(&disk.name, 12)),
        color: ink::Series::of(at).colour.to_owned(),
        shape: LegendShape::Rect,
        dasharray: None,
    });
    ink::layout((0.0, 100.0), (0.5, rows + 0.5), WIDTH, AROUND + rows * BAR)
        .with_y_categories(names)
        .with_x_label("% of the reads of each seed, in the order of the disks")
        .with_y_label(ink::plain(compared))
        .with_legend_entries(legend.collect())
        .with_legend_position(LegendPosition::OutsideBottomColumns)
}

fn says(choices: &[Served]) -> String {
    let told = |choice: &Served| {
        let share =
            |disk: &Disk| disk.share.map(|share| format!("{} {:.0} %", disk.name, share.median * 100.0));
        let shares: Vec<String> = choice.disks.iter().filter_map(share).collect();
        format!("{}: {}", choice.name, shares.join(", "))
    };
    choices.iter().map(told).collect::<Vec<_>>().join("; ")
}

fn table(compared: &str, choices: &[Served]) -> Table {
    let heads = [
        compared,
        "disk",
        "reads",
        "utilisation",
        "mean service",
        "mean depth",
        "ignored",
        "age",
        "btrfs's latency",
        "switches",
    ];
    let mut table = Table::new(heads);
    for choice in choices {
        for (at, disk) in choice.disks.iter().enumerate() {
            let share = |spread| told(spread, |value| format!("{:.0} %", value * 100.0));
            let time = |spread| told(spread, |value| Nanos(value as u64).to_string());
            // It is of all disks together.
            let switches = if at == 0 { share(choice.switches) } else { String::new() };
            table.row([
                choice.name.clone(),
                disk.told.clone(),
                share(disk.share),
                share(disk.utilisation),
                time(disk.service),
                told(disk.depth, digits),
                told(disk.ignored, |value| format!("{value:.0}")),
                told(disk.age, |value| format!("{value:.0}")),
                time(disk.latency),
                switches,
            ]);
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
