//! A picture: SVG with its title, a description in words, and the table of its numbers.
//!
//! kuva draws it in fixed inks ([`ink`]). On the page, the inks are mapped to variables of the
//! style sheet by their attributes, so that one picture serves light, dark and paper. A picture
//! that stands alone has its own style sheet.

pub mod coinciding;
pub mod ink;
pub mod palette;
pub mod rendered;
mod svg;
pub mod terminal;

pub use ink::WIDTH;
pub use svg::{centred, ending, number};

use disklab_compare::answer;
use disklab_record::outcome::Cell;
use disklab_units::prose::visible;
use itertools::Itertools;
use kuva::prelude::{Layout, Plot};
use kuva::render::render::render_multiple;
use maud::{Markup, PreEscaped, html};

use crate::text::MARKER;

/// A picture of one panel.
#[derive(Debug, Default)]
pub struct Chart {
    /// Name of the picture in its section: a slug, unique there.
    pub kind: String,
    /// The title within the section.
    pub title: String,
    /// Text that distinguishes pictures with the same title. It is empty for a single picture.
    pub about: String,
    /// A note on how to read it. Most charts have none.
    pub note: String,
    /// Description for readers who cannot see it.
    pub says: String,
    /// Cell that it shows, or the cell of its section.
    pub cell: Cell,
    pub table: NumbersTable,
    width: f64,
    height: f64,
    /// The content of the `svg` element.
    inner: String,
    /// Edges of the table's rows along the width, in pixels: one more than rows. The list is empty
    /// if rows have no place.
    edges: Vec<f64>,
}

/// The numbers of a picture.
#[derive(Debug, Clone, Default)]
pub struct NumbersTable {
    pub head: Vec<String>,
    /// Rows of the table. The first field of each row is its name.
    pub rows: Vec<Vec<String>>,
}

fn fields<T: Into<String>>(
    first: impl Into<String>,
    others: impl IntoIterator<Item = T>,
) -> Vec<String> {
    std::iter::once(first.into()).chain(others.into_iter().map(Into::into)).collect()
}

/// The origin of a picture that stands alone.
#[derive(Debug, Clone)]
pub struct Provenance {
    pub records: String,
    pub command: String,
    pub disklab: String,
}

impl Chart {
    /// Draws `plots` in a layout of [`ink::layout`].
    pub fn draw(
        kind: &str,
        title: impl Into<String>,
        says: impl Into<String>,
        plots: Vec<Plot>,
        layout: Layout,
        table: NumbersTable,
    ) -> Self {
        let scene = render_multiple(plots, layout);
        let size = (scene.width, scene.height);
        Self::of_svg(kind, title, says, size, svg::inside(&scene), table)
    }

    /// Sets the edges of the table's rows in pixels. The row between the edges around the pointer
    /// is shown.
    #[must_use]
    pub fn with_edges(mut self, edges: Vec<f64>) -> Self {
        self.edges = edges;
        self
    }

    fn edges(&self) -> Option<String> {
        let edges: Vec<String> = self.edges.iter().map(|edge| format!("{edge:.0}")).collect();
        (!edges.is_empty()).then(|| edges.join(" "))
    }

    /// Returns the title with the subject of the picture and its cell.
    fn full_title(&self) -> String {
        let cell = answer::values(&self.cell);
        let parts = [&self.title, &self.about, &cell];
        parts.into_iter().filter(|part| !part.is_empty()).cloned().join(": ")
    }

    /// Makes a picture that kuva did not draw: `inner` goes into the `svg` element as it is, its
    /// text escaped. `size` is in pixels.
    pub fn of_svg(
        kind: &str,
        title: impl Into<String>,
        says: impl Into<String>,
        (width, height): (f64, f64),
        inner: Markup,
        table: NumbersTable,
    ) -> Self {
        Self {
            kind: kind.to_owned(),
            title: title.into(),
            says: says.into(),
            table,
            width,
            height,
            inner: inner.into_string(),
            ..Self::default()
        }
    }

    /// Returns the figure for the page; `id` is unique there.
    pub fn figure(&self, id: &str) -> Markup {
        let size = format!("0 0 {} {}", svg::number(self.width), svg::number(self.height));
        // The style sheet limits the width, so that letters are neither too small nor too large.
        let natural = format!("--width:{:.0}px", self.width);
        html! {
            figure.chart id=(id) data-chart=(self.kind) style=(natural) {
                figcaption { (self.title) @if !self.about.is_empty() { span.about { (self.about) } }
                    @if !self.note.is_empty() { span.note { (self.note) } } }
                div.picture {
                    svg role="img" viewBox=(size) width=(svg::number(self.width))
                        height=(svg::number(self.height))
                        data-edges=[self.edges()] aria-label=(self.full_title()) {
                        desc { (self.says) }
                        (PreEscaped(&self.inner))
                    }
                }
                details.numbers {
                    summary { "Numbers" }
                    (self.table.markup(&self.full_title()))
                }
            }
        }
    }

    /// Returns the picture as a file of its own, with its title above it.
    pub fn standalone(&self, provenance: &Provenance) -> String {
        let Provenance { records, command, disklab } = provenance;
        let title = self.full_title();
        let (width, height) = (svg::number(self.width), svg::number(self.height + ink::TITLE));
        // Long titles have smaller letters, which are about 0.65 of their size wide.
        let size = ((self.width - 24.0) / (title.chars().count() as f64 * 0.65)).min(15.0);
        let text = html! {
            svg xmlns="http://www.w3.org/2000/svg" role="img" width=(width) height=(height)
                viewBox={"0 0 " (width) " " (height)} aria-labelledby="title desc"
                    font-family=(ink::FONTS) {
                title id="title" { (title) }
                desc id="desc" { (self.says) }
                metadata { "disklab " (disklab) "; record: " (records) "; made by: " (command) }
                style { (PreEscaped(ink::standalone())) }
                @if self.inner.contains(ink::HATCHED) { defs { (ink::hatches()) } }
                rect.paper width="100%" height="100%" fill="#ffffff" {}
                text x="12" y="22" font-size=(svg::number(size)) font-weight="600" fill=(ink::TEXT)
                    { (title) }
                g transform={"translate(0," (ink::TITLE) ")"} {
                    (PreEscaped(svg::as_seen(&self.inner))) }
            }
        };
        format!("{MARKER}\n{}\n", visible(&text.into_string()))
    }
}

impl NumbersTable {
    /// Makes a table whose rows have names below the first head.
    pub fn new<T: Into<String>>(
        first: impl Into<String>,
        heads: impl IntoIterator<Item = T>,
    ) -> Self {
        Self { head: fields(first, heads), rows: Vec::new() }
    }

    pub fn row<T: Into<String>>(
        &mut self,
        name: impl Into<String>,
        others: impl IntoIterator<Item = T>,
    ) {
        self.rows.push(fields(name, others));
    }

    pub fn markup(&self, caption: &str) -> Markup {
        html! {
            div.scroll tabindex="0" role="group" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead { tr { @for name in &self.head { th scope="col" { (name) } } } }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (at, field) in row.iter().enumerate() {
                                    @if at == 0 { th scope="row" { (field) } } @else { td {
                                        (field) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
