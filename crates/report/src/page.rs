//! The page: one file that opens without a server, and loads nothing from the network.

use disklab_units::prose::visible;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::palette;
use crate::panel::{Nothing, Panel, Piece, Section};
use crate::panels;
use crate::source::ReportSource;
use crate::text::MARKER;
use crate::title::title;

/// The policy forbids all requests: everything that the page needs is in it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    img-src data: blob:";

/// Writes the whole page.
pub fn html(source: &ReportSource) -> String {
    let drawn: Vec<(Panel, Markup)> = panels::in_order()
        .into_iter()
        .filter_map(|panel| drawn(&panel, source).map(|markup| (panel, markup)))
        .collect();
    let named = source.wanted.title.clone().unwrap_or_else(|| source.short_name());
    let heading = format!("{named} – disklab");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={"disklab " (source.wanted.version)};
                meta name="color-scheme" content="light dark";
                title { (heading) }
                style { (PreEscaped(include_str!("page.css"))) (PreEscaped(palette::on_dark())) }
            }
            body {
                a.skip href="#content" { "To the content" }
                svg.hatches aria-hidden="true" width="0" height="0" { defs {
                    (crate::chart::ink::hatches()) } }
                (head(source))
                nav.contents aria-label="Panels" {
                    ul { @for (panel, _) in &drawn { li { a href={"#" (panel.name)} {
                        (panel.title) } } } }
                }
                main id="content" {
                    @for sentence in source.unfinished() { section.unfinished
                        aria-label="Unfinished" { p { (sentence) } } }
                    (lost(source))
                    @for (_, markup) in &drawn { (markup) }
                }
                footer { p { "Made by disklab " (source.wanted.version) ": " code {
                    (source.wanted.command) } } }
                script { (PreEscaped(include_str!("page.js"))) }
            }
        }
    };
    format!("{MARKER}\n{}\n", visible(&page.into_string()))
}

fn head(source: &ReportSource) -> Markup {
    let names = source.names().join(", ");
    html! {
        header {
            h1 { (title(source)) }
            p.record { "disklab report · "
                @for report in source.merged.iter().take(1) { @if !report.suite.is_empty() {
                (report.suite) " · " } } (names) }
        }
    }
}

/// Draws the list of unreadable parts, which comes first on the page.
fn lost(source: &ReportSource) -> Markup {
    html! {
        @if !source.lost.is_empty() {
            section.lost id="lost" aria-labelledby="lost-title" {
                h2 id="lost-title" { "What could not be read" }
                ul { @for sentence in &source.lost { li { (sentence) } } }
            }
        }
    }
}

/// Draws a panel. Returns `None` if the panel does not apply to the record.
fn drawn(panel: &Panel, source: &ReportSource) -> Option<Markup> {
    let body = match (panel.draw)(source) {
        Ok(pieces) => pieces_of(&pieces, panel.name),
        Err(Nothing::Missing(why)) => html! { p.missing { (why) } },
        Err(Nothing::Elsewhere(_)) => return None,
    };
    let title = format!("{}-title", panel.name);
    Some(html! {
        section.panel id=(panel.name) aria-labelledby=(title) data-panel=(panel.name) {
            h2 id=(title) { (panel.title) }
            (body)
        }
    })
}

fn pieces_of(pieces: &[Piece], within: &str) -> Markup {
    html! {
        @for piece in pieces {
            @match piece {
                Piece::Words(words) => div.words { (words) },
                Piece::Chart(chart) => (chart.figure(&format!("{within}-{}", chart.kind))),
                Piece::Section(section) => (folded(section, within)),
            }
        }
    }
}

fn folded(section: &Section, within: &str) -> Markup {
    let id = format!("{within}-{}", section.name);
    html! {
        details.group id=(id) open[section.open] data-cell=(section.title) {
            summary { h3 { (section.title) } @if !section.summary.is_empty() { span.summary {
                (section.summary) } } }
            div.pieces { (pieces_of(&section.pieces, &id)) }
        }
    }
}
