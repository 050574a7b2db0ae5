//! Which disk served what: shares of the reads, how long they took, and what btrfs counted.

use disklab_collect::Spread;
use disklab_collect::sample::DeviceSample;
use disklab_units::Nanos;
use disklab_units::prose::digits;
use kuva::prelude::{BarPlot, Plot};
use maud::html;

use crate::chart::{Chart, Table, WIDTH, ink};
use crate::panel::{Panel, Piece, Section};
use crate::source::{Choice, Group, Source};

pub const PANEL: Panel = Panel { place: 60, name: "served", title: "Who served what", draw };

/// Pixels of a bar, and of what is around them all.
const BAR: f64 = 34.0;
const AROUND: f64 = 110.0;

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
        p { "Each bar is of medians over seeds. Where seeds load different disks, as pid does, a bar looks even though no trial \
             is: the ranges in the table tell." }
    };
    Ok([Piece::Words(words)].into_iter().chain(sections).collect())
}

fn section(source: &Source, group: &Group, open: bool) -> Option<Piece> {
    let choices: Vec<Served> = group.choices.iter().filter_map(Served::of).collect();
    if choices.is_empty() {
        return None;
    }
    let chart = Chart::draw(
        "shares",
        format!("Reads of each disk: {}", group.title()),
        says(&choices),
        bars(&choices),
        layout(&source.compared, &choices),
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
        (!disks.is_empty()).then(|| Self { name: choice.value.clone(), disks, switches })
    }
}

/// One bar a choice, its parts the disks in their order from below.
fn bars(choices: &[Served]) -> Vec<Plot> {
    let mut plot = BarPlot::new().with_stacked().with_horizontal(true).with_tooltips();
    // Bars of a horizontal plot go from below.
    for choice in choices.iter().rev() {
        let part = |(index, disk): (usize, &Disk)| {
            (disk.share.map_or(0.0, |share| share.median * 100.0), ink::Series::of(index).colour)
        };
        plot = plot.with_group(ink::plain(&choice.name), choice.disks.iter().enumerate().map(part).collect::<Vec<_>>());
    }
    let most = choices.iter().max_by_key(|choice| choice.disks.len());
    let names: Vec<String> = most.map_or_else(Vec::new, |it| it.disks.iter().map(|disk| ink::shortened(&disk.name, 7)).collect());
    vec![Plot::Bar(plot.with_legend(names.iter().map(String::as_str).collect()))]
}

fn layout(compared: &str, choices: &[Served]) -> kuva::prelude::Layout {
    let rows = choices.len() as f64;
    let names = choices.iter().rev().map(|choice| ink::plain(&ink::shortened(&choice.name, 20))).collect();
    ink::layout((0.0, 100.0), (0.5, rows + 0.5), WIDTH, AROUND + rows * BAR)
        .with_y_categories(names)
        .with_x_label("% of all reads, from left to right vda, vdb, ...: medians over seeds")
        .with_y_label(ink::plain(compared))
}

fn says(choices: &[Served]) -> String {
    let told = |choice: &Served| {
        let share = |disk: &Disk| {
            disk.share.map(|share| format!("{} {:.0} %", disk.name, share.median * 100.0))
        };
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
fn told(spread: Option<Spread>, show: impl Fn(f64) -> String) -> String {
    let Some(Spread { min, median, max }) = spread else { return "–".to_owned() };
    let (low, middle, high) = (show(min), show(median), show(max));
    if low == high { middle } else { format!("{middle} ({low} to {high})") }
}
