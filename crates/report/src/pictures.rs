//! Finding one picture of a report.

use disklab_store::outcome::Cell;

use crate::chart::Chart;
use crate::panel::Piece;
use crate::panels;
use crate::source::Source;

/// The first picture of `panel` that is of this kind and of a cell with these values: (axis, value). Without values that of
/// an open section goes first. An error says what there is.
pub fn find(
    source: &Source,
    panel: &str,
    kind: Option<&str>,
    cell: &[(String, String)],
) -> Result<Chart, String> {
    let all = panels::in_order();
    let known = || all.iter().map(|panel| panel.name).collect::<Vec<_>>().join(", ");
    let of_name = all.iter().find(|known| known.name == panel);
    let Some(found) = of_name else {
        return Err(format!("there is no panel `{}`; there are {}", panel.escape_debug(), known()));
    };
    let pieces = (found.draw)(source)?;
    let mut charts = Vec::new();
    gather(pieces, &Cell::default(), false, &mut charts);
    if charts.is_empty() {
        return Err(format!("panel {panel} has no picture"));
    }
    let kinds = kinds(&charts);
    let fits = |chart: &Chart| cell.iter().all(|(axis, value)| chart.cell.value(axis) == Some(value));
    charts.retain(|(chart, _)| kind.is_none_or(|kind| chart.kind == kind) && fits(chart));
    // The sort keeps the order of those that are equal.
    charts.sort_by_key(|(_, open)| !open);
    charts.into_iter().next().map(|(chart, _)| chart).ok_or_else(|| {
        format!("panel {panel} has no such picture; it has {kinds}, of cells with the values that `disklab show` lists")
    })
}

/// Pictures with the cells of their sections, and whether these are open.
fn gather(pieces: Vec<Piece>, cell: &Cell, open: bool, charts: &mut Vec<(Chart, bool)>) {
    for piece in pieces {
        match piece {
            Piece::Words(_) => {}
            Piece::Chart(mut chart) if chart.cell.0.is_empty() => {
                chart.cell.clone_from(cell);
                charts.push((chart, open));
            }
            Piece::Chart(chart) => charts.push((chart, open)),
            Piece::Section(section) => gather(section.pieces, &section.cell, section.open, charts),
        }
    }
}

fn kinds(charts: &[(Chart, bool)]) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for (chart, _) in charts {
        if !kinds.contains(&chart.kind.as_str()) {
            kinds.push(&chart.kind);
        }
    }
    kinds.join(", ")
}
