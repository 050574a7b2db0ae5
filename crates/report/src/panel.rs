//! The form of a panel: a part of the page with a heading, which consists of text, pictures and
//! sections.

use disklab_record::outcome::Cell;
use maud::{Markup, html};

use crate::chart::Chart;
use crate::source::{Group, ReportSource};

/// A panel. Each file of `src/panels` declares one, as `pub const PANEL`.
#[derive(Debug, Clone, Copy)]
pub struct Panel {
    /// Position on the page, among the other panels.
    pub place: u32,
    /// Name in ids, file names and `--panel`: a word of small letters.
    pub name: &'static str,
    /// The heading of the panel.
    pub title: &'static str,
    /// Kinds of its pictures, for `--panel`. The list is empty if it has none.
    pub pictures: &'static str,
    pub draw: fn(&ReportSource) -> Result<Vec<Piece>, Nothing>,
}

/// Reason why a panel has nothing to show, as a sentence.
#[derive(Debug)]
pub enum Nothing {
    /// The record lacks data that it should have. The page shows the reason.
    Missing(String),
    /// The panel does not apply to the record. The page leaves the panel out, and a request by name
    /// gets the reason.
    Elsewhere(String),
}

impl Nothing {
    pub fn why(self) -> String {
        match self {
            Self::Missing(why) | Self::Elsewhere(why) => why,
        }
    }
}

impl From<String> for Nothing {
    fn from(why: String) -> Self {
        Self::Missing(why)
    }
}

impl From<&str> for Nothing {
    fn from(why: &str) -> Self {
        Self::Missing(why.to_owned())
    }
}

/// Returns text, and other pieces below it.
pub fn with_words(words: Markup, pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    std::iter::once(Piece::Words(words)).chain(pieces).collect()
}

/// Returns text, and below it a section for each group with something to show: its summary and its
/// pieces. The first group is open. Returns an error if no group has anything to show.
pub fn of_groups<'s, 'a>(
    source: &'s ReportSource<'a>,
    words: Markup,
    nothing: &str,
    mut show: impl FnMut(&'s Group<'a>) -> Option<(String, Vec<Piece>)>,
) -> Result<Vec<Piece>, Nothing> {
    let striking = source.striking();
    let mut sections = Vec::new();
    for (index, group) in source.groups.iter().enumerate() {
        let Some((summary, pieces)) = show(group) else { continue };
        sections.push(Piece::Section(Section {
            name: group.name.clone(),
            title: group.title(),
            summary,
            open: index == striking,
            cell: group.cell.clone(),
            pieces,
        }));
    }
    if sections.is_empty() { Err(nothing.into()) } else { Ok(with_words(words, sections)) }
}

/// Draws a list of names, each with its text.
pub fn facts<T: AsRef<str>, U: AsRef<str>>(all: impl IntoIterator<Item = (T, U)>) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in all { div { dt { (name.as_ref()) } dd { (value.as_ref()) } } }
        }
    }
}

/// A part of a panel.
#[derive(Debug)]
pub enum Piece {
    Words(Markup),
    Chart(Chart),
    Section(Section),
}

/// A part with a heading of its own, which can be folded.
#[derive(Debug)]
pub struct Section {
    /// Name of the section within its panel: a slug.
    pub name: String,
    pub title: String,
    /// Text beside the heading, also of a folded section.
    pub summary: String,
    pub open: bool,
    /// Cell of the section, for requests of one cell's pictures. It is empty if it is about all
    /// cells.
    pub cell: Cell,
    pub pieces: Vec<Piece>,
}
