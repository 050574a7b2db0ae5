//! What a panel is: a part of the page with a heading, made of words, pictures and sections.

use disklab_store::outcome::Cell;
use maud::Markup;

use crate::chart::Chart;
use crate::source::Source;

/// One file of `src/panels` declares one, as `pub const PANEL`.
#[derive(Debug, Clone, Copy)]
pub struct Panel {
    /// Panels stand on the page in the order of this.
    pub place: u32,
    /// In ids, file names and `--panel`: a word of small letters.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Kinds of its pictures, for who asks for one of them. Empty where it has none.
    pub pictures: &'static str,
    /// What it shows; or, where it has nothing to show, why, as a sentence.
    pub draw: fn(&Source) -> Result<Vec<Piece>, String>,
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
    /// Within its panel: a slug.
    pub name: String,
    pub title: String,
    /// Beside the heading, also where the section is folded.
    pub summary: String,
    pub open: bool,
    /// What it is about, for those who ask for the pictures of one cell. Empty where it is about all.
    pub cell: Cell,
    pub pieces: Vec<Piece>,
}
