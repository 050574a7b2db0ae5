//! The picture of seekwatcher: addresses over time, each disk in a strip of its own.

use std::fmt::Write as _;

use itertools::Itertools;
use maud::{Markup, html};

use super::frame::{DRAWN, LEFT, short, table, tick_step};
use super::scale::Scale;
use crate::addresses::Beyond;
use crate::chart::{Chart, WIDTH, centred, ink, number};
use crate::embedded::base64;
use crate::raster;
use crate::watched::{Detail, WatchedTrial};
use disklab_trace::timeline::{DiskTimeline, Raster};

/// Pixels between the strips of disks, with the lower one's name; pixels above all strips, and
/// below them.
const GAP: f64 = 20.0;
const HEAD: f64 = 40.0;
const FOOT: f64 = 28.0;
/// Largest number of letters in a disk's name.
const NAME: usize = 48;

/// Kinds of points, with their colours.
const INKS: [(&str, &str); 3] =
    [(raster::READ, "reads"), (raster::WRITE, "writes"), (raster::BOTH, "both")];

pub fn addresses(trial: &WatchedTrial, side: &str, scale: &Scale) -> Chart {
    let WatchedTrial { line, names, .. } = trial;
    let times = if trial.detail == Detail::Fine { 2.0 } else { 1.0 };
    let strip = line.disks.first().map_or(0.0, |disk| (disk.reads.rows() as f64 / times).round());
    let height = HEAD + line.disks.len() as f64 * (strip + GAP) + FOOT;
    let top = |index: usize| HEAD + index as f64 * (strip + GAP);
    let step = tick_step(scale.seconds);
    let ticks = (0..=8).map(|at| f64::from(at) * step).filter(|tick| *tick <= scale.seconds);
    let end = scale.place(trial.traced());
    let inner = html! {
        g fill=(ink::TEXT) font-size="12" {
            @for (at, (colour, word)) in INKS.iter().enumerate() {
                rect x=(LEFT + at as f64 * 70.0) y="5" width="10" height="10" fill=(colour) {}
                text x=(LEFT + at as f64 * 70.0 + 15.0) y="14" { (word) }
            }
            text x=(LEFT + DRAWN + 6.0) y="14" { "GiB" }
            @for (index, (disk, name)) in line.disks.iter().zip(names).enumerate() {
                text x=(LEFT) y=(number(top(index) - 5.0)) { (ink::shortened(name, NAME)) }
                rect x=(LEFT) y=(top(index)) width=(DRAWN) height=(strip) fill="none"
                    stroke=(ink::GRID) {}
                (points(disk, trial.detail, (top(index), strip, end - LEFT)))
                (ends(trial, index, (top(index), strip, end - LEFT)))
            }
            @for (name, from, to) in &trial.phases {
                line x1=(number(scale.place(*from))) x2=(number(scale.place(*from))) y1=(HEAD)
                    y2=(number(height - FOOT - GAP)) stroke=(ink::LINE) stroke-dasharray="2 3" {}
                @if scale.has_room(*from, *to) {
                    (centred(scale.place(from.midpoint(*to)), height - FOOT, name))
                }
            }
            @if trial.cut {
                rect x=(number(end)) y=(HEAD) width=(number(LEFT + DRAWN - end))
                    height=(height - HEAD - FOOT - GAP) fill=(ink::GRID) {}
                @if let Some((middle, words)) = scale.missing(trial) {
                    (centred(scale.place(middle), HEAD.midpoint(height - FOOT), words))
                }
            }
            @for tick in ticks {
                (centred(scale.place(tick), height - 24.0, short(tick, step)))
            }
            (centred(LEFT + DRAWN / 2.0, height - 6.0, "s of the measured phase"))
        }
    };
    let note = note(trial);
    let says = format!(
        "Each point is an interval of time and of addresses in which requests of a disk ended. \
         The {} disks are stacked, each with its highest address on top. {note}",
        line.disks.len()
    );
    let numbers = table(trial, |bin| format!("{} requests, {} seeks", bin.requests, bin.seeks));
    let (kind, title) = (format!("{side}-addresses"), "Addresses against time");
    let mut chart = Chart::of_svg(&kind, title, says, (WIDTH, height), inner, numbers);
    chart.note = note;
    scale.finish(chart, trial)
}

/// Draws the places of requests. A picture with twice the detail is shown only at a larger size: in
/// the usual size it would be blurred.
fn points(disk: &DiskTimeline, detail: Detail, place: (f64, f64, f64)) -> Markup {
    let (reads, writes) = (&disk.reads, &disk.writes);
    match detail {
        Detail::Usual => image(None, place, reads, writes),
        Detail::Fine => {
            let (half, half_writes) = (raster::halved(reads), raster::halved(writes));
            html! {
                (image(Some("usual"), place, &half, &half_writes))
                (image(Some("fine"), place, reads, writes))
            }
        }
    }
}

fn image(
    class: Option<&str>,
    (top, strip, width): (f64, f64, f64),
    reads: &Raster,
    writes: &Raster,
) -> Markup {
    let hidden = if class == Some("fine") { ";display:none" } else { "" };
    html! {
        image class=[class] x=(LEFT) y=(top) width=(number(width)) height=(strip)
            preserveAspectRatio="none"
            style={"image-rendering:pixelated" (hidden)} href={"data:image/png;base64,"
                (base64(&raster::png(reads, writes)))} {}
    }
}

/// Draws the addresses at both ends of a strip, in GiB with as many places as distinguish them, and
/// the requests beyond the ends.
fn ends(trial: &WatchedTrial, index: usize, (top, strip, width): (f64, f64, f64)) -> Markup {
    let (first, last) = trial.frames.get(index).copied().unwrap_or_default();
    if last <= first {
        return html! {};
    }
    let gib = |sector: u64| sector as f64 / f64::from(1 << 21);
    let step = (gib(last) - gib(first)).max(1e-4) / 10.0;
    let columns = trial.line.disks.get(index).map_or(1, |disk| disk.reads.columns);
    let [above, below] = trial.beyond.get(index).cloned().unwrap_or_default();
    let x = LEFT + DRAWN + 6.0;
    let edges = [
        (above, "▲", (top - 1.0, -6.0), top + 22.0),
        (below, "▼", (top + strip + 1.0, 6.0), top + strip - 13.0),
    ];
    html! {
        text x=(x) y=(number(top + 10.0)) { (short(gib(last), step)) }
        text x=(x) y=(number(top + strip - 1.0)) { (short(gib(first), step)) }
        @for (beyond, mark, edge, text) in &edges {
            @if beyond.requests() > 0 {
                (marks(beyond, width / columns as f64, *edge))
                text x=(x) y=(number(*text)) { (mark) " " (beyond.requests()) }
            }
        }
    }
}

/// Draws triangles at an edge, at the ends of requests beyond it. Their tips point away from the
/// strip.
fn marks(beyond: &Beyond, column: f64, (edge, tip): (f64, f64)) -> Markup {
    let mut way = String::new();
    let mut last = f64::NEG_INFINITY;
    let [edge, out, back] = [edge, tip, -tip].map(number);
    for at in &beyond.columns {
        let x = LEFT + (*at as f64 + 0.5) * column;
        // Closer triangles would look like one.
        if x - last >= 2.0 {
            // Writing to a string does not fail.
            let _ = write!(way, "M{} {edge}l3 {out}l3 {back}z", number(x - 3.0));
            last = x;
        }
    }
    let colour = match (beyond.reads, beyond.writes) {
        (_, 0) => raster::READ,
        (0, _) => raster::WRITE,
        _ => raster::BOTH,
    };
    html! { path d=(way) fill=(colour) {} }
}

/// Describes the requests beyond the frames. The text is empty if there are none.
fn note(trial: &WatchedTrial) -> String {
    let told = trial.names.iter().zip(&trial.beyond).filter_map(|(name, beyond)| {
        let own = beyond.iter().filter_map(Beyond::in_words).join(", ");
        (!own.is_empty()).then(|| format!("{name} {own}"))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return String::new();
    }
    let told = told.join("; ");
    format!("The frames hold nearly all requests; beyond their edges (▲ ▼): {told}.")
}
