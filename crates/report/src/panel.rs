//! The form of a panel: a part of the page with a heading, made of words, pictures and sections.

use disklab_record::outcome::Cell;
use maud::{Markup, html};

use crate::chart::Chart;
use crate::source::{Group, ReportSource};

/// A panel; each file of `src/panels` declares one, as `pub const PANEL`.
#[derive(Debug, Clone, Copy)]
pub struct Panel {
    /// Panels stand on the page in the order of this.
    pub place: u32,
    /// The name in ids, file names and `--panel`: a word of small letters.
    pub name: &'static str,
    /// The heading of the panel.
    pub title: &'static str,
    /// Kinds of its pictures, for who asks for one of them. Empty where it has none.
    pub pictures: &'static str,
    pub draw: fn(&ReportSource) -> Result<Vec<Piece>, Nothing>,
}

/// Why a panel has nothing to show, as a sentence.
#[derive(Debug)]
pub enum Nothing {
    /// The record lacks what it should have: the reason stands on the page.
    Missing(String),
    /// The record is of other things: the page leaves the panel out, and who asks for it by name is
    /// told.
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

/// Words, and other pieces below them.
pub fn with_words(words: Markup, pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    std::iter::once(Piece::Words(words)).chain(pieces).collect()
}

/// Words, and below them a section for each group of which there is something to show: its summary
/// and its pieces. The group to begin with is open. An error where there is nothing to show of any.
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

/// A list of things and what is said of each.
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
    /// The name of the section within its panel: a slug.
    pub name: String,
    pub title: String,
    /// Beside the heading, also where the section is folded.
    pub summary: String,
    pub open: bool,
    /// The cell of the section, for those who ask for the pictures of one cell. Empty if it is
    /// about all.
    pub cell: Cell,
    pub pieces: Vec<Piece>,
}
