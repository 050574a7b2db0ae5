//! The work of the disks over time, for two trials side by side: throughput, seeks, depth,
//! utilisation, and addresses.

use disklab_units::prose::count;
use maud::{PreEscaped, html};

use crate::embedded;
use crate::over_time::{Scale, pictures};
use crate::panel::{Nothing, Panel, Piece, Section};
use crate::source::{Group, ReportSource};
use crate::to_watch::{Reading, home, line_up, pair};
use crate::watched::{Detail, WatchedTrial};

pub const PANEL: Panel = Panel {
    place: 50,
    name: "over-time",
    title: "Over time",
    pictures: "a-throughput, a-seeks, a-depth, a-utilisation, a-addresses; b-... of the other \
        trial",
    draw,
};

/// Largest number of letters in the pictures of trials to choose from.
const BUDGET: usize = 400_000;
/// Largest number of requests in their traces that are read.
const REQUESTS: u64 = 2_000_000;

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let mut reading = Reading::new(REQUESTS);
    let pair = pair(source, &mut reading);
    let labels: Vec<String> = pair.iter().map(|trial| trial.label.clone()).collect();
    let home = home(source, &pair).filter(|_| !pair.is_empty());
    let beside = home.map_or_else(Vec::new, |group| line_up(source, group, &labels, &mut reading));
    // Only the two first trials have pictures with more detail. For all other trials, these would
    // take half of the room.
    let detail = |label: &str| {
        if labels.iter().any(|known| known == label) { Detail::Fine } else { Detail::Usual }
    };
    // The addresses are those of the cell. Trials of two cells have their own.
    let all: Vec<_> = pair.into_iter().chain(beside).collect();
    let alike =
        if home.is_some() { vec![all] } else { all.into_iter().map(|trial| vec![trial]).collect() };
    let all: Vec<WatchedTrial> =
        alike.into_iter().flat_map(|all| reading.drawn(all, detail)).collect();
    let scales = Scale::of_each(&all);
    let (pair, beside): (Vec<_>, Vec<_>) =
        all.into_iter().zip(scales).partition(|(trial, _)| labels.contains(&trial.label));
    if pair.is_empty() {
        return Err(reading.why_nothing().into());
    }
    let shown = Shown { pair, beside };
    let (scripts, left) = to_choose_from(source, home, &shown, &mut reading);
    let words = html! {
        p { "The measured phase, disk by disk. A seek is a read or write that does not begin at \
             the end of the previous one on its disk." }
        (reading.not_shown())
        div.filters hidden data-choose data-a=[shown.label(0)] data-b=[shown.label(1)] role="group"
            aria-label="Trials" {}
        p.terms hidden[!shown.is_apart()] data-apart role="status" {
            "The axes of these two have different lengths: they are of different cells, or one is \
             much shorter." }
        @if left > 0 { p.terms { "Left out to keep the page small: " (count(left, "trial"))
            ". To show any two trials: "
            code { "disklab report " (source.names().join(" ")) " --trial ID --trial ID" } "."
            @if source.records.len() > 1 { " If both ids are the same, that trial of the first \
                two records is shown." } } }
        @for packed in &scripts {
            script type="text/plain" data-trial=(packed.label) data-scale=(packed.scale)
                data-shown=[packed.shown] { (PreEscaped(&packed.pictures)) }
        }
    };
    let section = Section {
        name: "pair".to_owned(),
        title: shown.labels().join(" and "),
        summary: String::new(),
        open: true,
        cell: disklab_record::outcome::Cell::default(),
        pieces: shown.pieces(),
    };
    let script = html! { script { (PreEscaped(include_str!("over_time.js"))) } };
    Ok(vec![Piece::Words(words), Piece::Section(section), Piece::Words(script)])
}

const SIDES: [&str; 2] = ["a", "b"];

/// The two trials that the page begins with, and the other trials of their cell.
struct Shown {
    pair: Vec<(WatchedTrial, Scale)>,
    beside: Vec<(WatchedTrial, Scale)>,
}

impl Shown {
    /// Returns true if the axes of the pair have different lengths.
    fn is_apart(&self) -> bool {
        self.pair.windows(2).any(|two| two[0].1 != two[1].1)
    }

    fn labels(&self) -> Vec<String> {
        self.pair.iter().map(|(trial, _)| trial.label.clone()).collect()
    }

    fn label(&self, at: usize) -> Option<&str> {
        self.pair.get(at).map(|(trial, _)| trial.label.as_str())
    }

    /// Returns the pieces, left and right in turn.
    fn pieces(&self) -> Vec<Piece> {
        let drawn = self.pair.iter().zip(SIDES);
        let sides: Vec<Vec<_>> =
            drawn.map(|((trial, scale), side)| pictures(trial, side, scale)).collect();
        let rows = sides.iter().map(Vec::len).max().unwrap_or(0);
        let mut sides: Vec<_> = sides.into_iter().map(Vec::into_iter).collect();
        let mut pieces = Vec::new();
        for _ in 0..rows {
            pieces.extend(sides.iter_mut().filter_map(Iterator::next).map(Piece::Chart));
        }
        pieces
    }

    /// Compresses the pictures of the other trials. Those of the pair are on the page already.
    fn packed(&self) -> Vec<Packed> {
        let of_pair = self.pair.iter().zip(SIDES).map(|((trial, scale), side)| Packed {
            label: trial.label.clone(),
            scale: named("pair", scale),
            pictures: String::new(),
            shown: Some(side),
        });
        let beside = self.beside.iter().map(|(trial, scale)| Packed::new(trial, scale, "pair"));
        of_pair.chain(beside).collect()
    }
}

/// Returns the name of an axis among compared trials.
fn named(among: &str, scale: &Scale) -> String {
    format!("{} of {among}", scale.number)
}

/// Compressed pictures of a trial.
struct Packed {
    label: String,
    /// Name of the axes. Pictures with the same name have the same axes.
    scale: String,
    pictures: String,
    /// Side on which the page shows them from the beginning; then they are not compressed.
    shown: Option<&'static str>,
}

impl Packed {
    fn new(trial: &WatchedTrial, scale: &Scale, among: &str) -> Self {
        let charts = pictures(trial, "side", scale);
        let figures = charts
            .iter()
            .map(|chart| chart.figure(&format!("over-time-pair-{}", chart.kind)).into_string());
        let pictures = embedded::packed(&figures.collect::<String>());
        Self { label: trial.label.clone(), scale: named(among, scale), pictures, shown: None }
    }
}

/// Returns the trials of the pair, those of their cell in the same scale, and the first seed of
/// each other cell, as far as they have room. Also returns the number of other trials with a
/// result.
fn to_choose_from(
    source: &ReportSource,
    home: Option<&Group>,
    shown: &Shown,
    reading: &mut Reading,
) -> (Vec<Packed>, usize) {
    let mut packed = shown.packed();
    let labels = shown.labels();
    let mut room = BUDGET.saturating_sub(packed.iter().map(|packed| packed.pictures.len()).sum());
    let others =
        source.groups.iter().filter(|group| home.is_none_or(|home| home.name != group.name));
    'all: for group in others {
        let own = line_up(source, group, &labels, reading);
        let own = reading.drawn(own, |_| Detail::Usual);
        for (trial, scale) in own.iter().zip(Scale::of_each(&own)) {
            let one = Packed::new(trial, &scale, &group.name);
            if one.pictures.len() > room {
                break 'all;
            }
            room -= one.pictures.len();
            packed.push(one);
        }
    }
    let all = source
        .groups
        .iter()
        .flat_map(|group| &group.choices)
        .map(|choice| choice.results().count());
    let left = all.sum::<usize>().saturating_sub(packed.len() + reading.lost());
    (packed, left)
}
