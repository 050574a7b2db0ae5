//! Inks, the [`palette`]'s colours with dashes and marks beside them, and the layout of all
//! pictures.

use std::sync::Arc;

use kuva::plot::{LinePlot, LineStyle, MarkerShape, ScatterPlot};
use kuva::prelude::{Layout, LegendEntry, LegendPosition, LegendShape, Theme, TickFormat};
use maud::{Markup, html};

use super::palette::{self, COLOURS};

const MARKS: [MarkerShape; 4] =
    [MarkerShape::Circle, MarkerShape::Square, MarkerShape::Triangle, MarkerShape::Diamond];
/// Dashes of lines. The first nine differ for readers who see no colours.
const DASHES: [&str; 9] =
    ["", "7 3", "2 3", "8 3 2 3", "14 4", "8 3 2 3 2 3", "4 4", "12 3 2 3 2 3 2 3", "1 2"];
/// Hatch lines over a filled part, each in a tile of 6 pixels; as many as dashes, and the first has
/// none. They leave half of the tile, since otherwise the fill would be faint.
const HATCHES: [&str; 9] = [
    "",
    "M-1 1L1 -1M-1 7L7 -1M5 7L7 5",
    "M2 2h2v2h-2z",
    "M0 3H6",
    "M-1 5L1 7M-1 -1L7 7M5 -1L7 1",
    "M3 0V6",
    "M0 3H6M3 0V6",
    "M0 5L3 1L6 5",
    "M-1 1L1 -1M-1 7L7 -1M5 7L7 5M-1 5L1 7M-1 -1L7 7M5 -1L7 1",
];
/// Prefix of a fill by one of them.
pub const HATCHED: &str = "url(#hatch-";

/// Width of a picture in pixels; it is scaled to the available width. Two fit beside each other on
/// a wide window, and one fits a telephone with readable letters.
pub const WIDTH: f64 = 440.0;

pub const TEXT: &str = "#24292f";
/// Ink of axes and whiskers.
pub const LINE: &str = "#57606a";
pub const GRID: &str = "#d8dee4";
/// Ink of better verdicts.
pub const GOOD: &str = "#00694d";
/// Ink of worse verdicts, and of missing results.
pub const BAD: &str = "#b3261e";
pub const FONTS: &str = "system-ui,-apple-system,Segoe UI,Roboto,Noto Sans,sans-serif";
/// Height of the title above a picture that stands alone.
pub const TITLE: f64 = 34.0;

/// Returns the style sheet of a picture that stands alone. A viewer without style sheets shows it
/// on white.
pub fn standalone() -> String {
    include_str!("standalone.css").to_owned() + &palette::on_dark()
}

/// Ink, dash and mark of one of several things, the same everywhere on the page.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    pub colour: &'static str,
    pub mark: MarkerShape,
    dash: &'static str,
    hatch: usize,
}

/// Returns the tiles that [`Series::hatch`] names: once for a page, and in each picture that stands
/// alone. Their lines have the background's colour, so that they are visible on the darkest and the
/// lightest ink.
pub fn hatches() -> Markup {
    html! {
        @for (at, way) in HATCHES.iter().enumerate().skip(1) {
            pattern id={"hatch-" (at)} width="6" height="6" patternUnits="userSpaceOnUse" {
                path d=(way) fill="none" stroke="#fff" stroke-width="1.3" {}
            }
        }
    }
}

impl Series {
    /// Returns the series of an index. The first 81 are distinct; for readers who see no colours,
    /// the first nine have distinct dashes and hatches.
    pub fn numbered(index: usize) -> Self {
        // After all colours they are used again, each with the next one's dash and hatch.
        let (colour, way) = (index % COLOURS.len(), index + index / COLOURS.len());
        Self {
            colour: COLOURS[colour].0,
            mark: MARKS[way % MARKS.len()],
            dash: DASHES[way % DASHES.len()],
            hatch: way % HATCHES.len(),
        }
    }

    /// Returns the fill over the colour of a part, or `None` for a plain part.
    pub fn hatch(self) -> Option<String> {
        (self.hatch > 0).then(|| format!("{HATCHED}{})", self.hatch))
    }

    /// Returns the entry of a line in a legend.
    pub fn entry(self, name: &str) -> LegendEntry {
        LegendEntry {
            label: plain(&shortened(name, 24)),
            color: self.colour.to_owned(),
            shape: LegendShape::Line,
            dasharray: (!self.dash.is_empty()).then(|| self.dash.to_owned()),
        }
    }

    /// Returns the entry of a mark in a legend.
    pub fn mark_entry(self, name: &str) -> LegendEntry {
        LegendEntry { shape: LegendShape::Marker(self.mark), dasharray: None, ..self.entry(name) }
    }

    /// Returns a line through these points, `width` pixels wide.
    pub fn line(self, points: Vec<(f64, f64)>, width: f64) -> LinePlot {
        let style = match self.dash {
            "" => LineStyle::Solid,
            dash => LineStyle::Custom(dash.to_owned()),
        };
        let line = LinePlot::new().with_data(points).with_color(self.colour);
        line.with_stroke_width(width).with_line_style(style)
    }

    /// Returns a mark at each of these points.
    pub fn marks(self, points: Vec<(f64, f64)>) -> ScatterPlot {
        ScatterPlot::new().with_data(points).with_color(self.colour).with_marker(self.mark)
    }
}

/// Adds a legend below the picture, with the series that have names, in order, and a note behind
/// each name. The picture is `height` pixels high with one row of names, and higher by each further
/// row; `room` is the width between its margins in pixels.
pub fn with_legend<'n>(
    layout: Layout,
    (height, room): (f64, f64),
    names: impl IntoIterator<Item = (usize, &'n str, &'n str)>,
    entry: fn(Series, &str) -> LegendEntry,
) -> Layout {
    let shown = names.into_iter().filter(|(_, name, _)| !name.is_empty());
    let with_note = |(index, name, note): (usize, &str, &str)| {
        let entry = entry(Series::numbered(index), name);
        LegendEntry { label: entry.label + &plain(note), ..entry }
    };
    let entries: Vec<LegendEntry> = shown.map(with_note).collect();
    let longest = entries.iter().map(|entry| entry.label.chars().count()).max().unwrap_or(0);
    let columns = (room / (LEGEND_MARK + LETTER * longest as f64)).floor().max(1.0) as usize;
    let further = entries.len().div_ceil(columns).saturating_sub(1);
    layout
        .with_height(height + further as f64 * LEGEND_ROW)
        .with_legend_entries(entries)
        .with_legend_position(LegendPosition::OutsideBottomColumns)
        .with_legend_col_limit(columns)
}

/// Pixels of a row of a legend, of a mark with its margins, and of a letter.
const LEGEND_ROW: f64 = 18.0;
const LEGEND_MARK: f64 = 38.0;
const LETTER: f64 = 6.6;

/// Makes labels for the ticks of an axis.
pub fn ticks(words: impl Fn(f64) -> String + Send + Sync + 'static) -> TickFormat {
    TickFormat::Custom(Arc::new(words))
}

/// Makes a layout of exactly these ranges, in pixels at natural size, with the fonts and inks of
/// all pictures.
pub fn layout(x: (f64, f64), y: (f64, f64), width: f64, height: f64) -> Layout {
    let theme = Theme {
        background: "none".to_owned(),
        axis_color: LINE.to_owned(),
        grid_color: GRID.to_owned(),
        tick_color: LINE.to_owned(),
        text_color: TEXT.to_owned(),
        legend_bg: "none".to_owned(),
        legend_border: "none".to_owned(),
        ..Theme::light()
    };
    Layout::new(x, y)
        .with_width(width)
        .with_height(height)
        .with_theme(theme)
        .with_legend_box(false)
        .with_label_size(13)
        .with_tick_size(12)
        .with_body_size(12)
        .with_x_axis_min(x.0)
        .with_x_axis_max(x.1)
        .with_y_axis_min(y.0)
        .with_y_axis_max(y.1)
}

/// Left margin in pixels, for an axis of numbers with units.
pub const LEFT: f64 = 74.0;
pub const RIGHT: f64 = 24.0;
/// Width between the margins, in pixels.
pub const ROOM: f64 = WIDTH - LEFT - RIGHT;

/// Makes a layout with the margins [`LEFT`] and [`RIGHT`].
pub fn framed(x: (f64, f64), y: (f64, f64), height: f64) -> Layout {
    layout(x, y, WIDTH, height).with_force_margins(LEFT, RIGHT)
}

/// Returns the edges of a table's rows along the width: those of the frame, and those between the
/// rows.
pub fn edges(between: impl Iterator<Item = f64>) -> Vec<f64> {
    std::iter::once(LEFT).chain(between).chain([WIDTH - RIGHT]).collect()
}

/// Escapes text for kuva, which takes text between two dollars for mathematics. Titles are not
/// drawn, and are not escaped.
pub fn plain(text: &str) -> String {
    text.replace('$', "\\$")
}

/// Cuts a name to `most` letters.
pub fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_are_told_apart_with_colours_and_without() {
        for (one, other) in (0..81).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let [first, second] = [one, other].map(Series::numbered);
            assert_ne!(
                (first.colour, first.dash),
                (second.colour, second.dash),
                "{one} and {other}"
            );
            if one < 9 {
                assert_ne!(first.colour, second.colour);
                assert_ne!(first.dash, second.dash);
                assert_ne!(first.hatch(), second.hatch());
            }
        }
    }
}
