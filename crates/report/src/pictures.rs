//! Finding one picture of a report.

use disklab_compare::answer;
use disklab_record::outcome::Cell;

use crate::chart::Chart;
use crate::panel::{Nothing, Piece};
use crate::panels;
use crate::source::Source;

/// A picture that was asked for.
#[derive(Debug)]
pub struct Found {
    pub chart: Chart,
    /// The other cells that it could have been of, in words.
    pub others: Vec<String>,
}

/// The first picture of `panel` that is of this kind and of a cell with these values: (axis,
/// value). Without values that of an open section goes first. An error says what there is.
pub fn find(
    source: &Source,
    panel: &str,
    kind: Option<&str>,
    cell: &[(String, String)],
) -> Result<Found, String> {
    let all = panels::in_order();
    let with_pictures = || {
        let names = all.iter().filter(|it| !it.pictures.is_empty()).map(|panel| panel.name);
        names.collect::<Vec<_>>().join(", ")
    };
    let of_name = all.iter().find(|known| known.name == panel);
    let Some(found) = of_name else {
        let name = panel.escape_debug();
        return Err(format!(
            "there is no panel `{name}`; those with pictures are {}",
            with_pictures()
        ));
    };
    let pieces = (found.draw)(source).map_err(Nothing::why)?;
    let mut charts = Vec::new();
    gather(pieces, &Cell::default(), false, &mut charts);
    if charts.is_empty() {
        return Err(format!(
            "panel {panel} has no picture of this record; panels with pictures are {}",
            with_pictures()
        ));
    }
    if let Some(kind) = kind
        && charts.iter().all(|(chart, _)| chart.kind != kind)
    {
        let kinds = kinds(&charts);
        return Err(format!(
            "panel {panel} has no picture `{}`; it has {kinds}",
            kind.escape_debug()
        ));
    }
    charts.retain(|(chart, _)| kind.is_none_or(|kind| chart.kind == kind));
    // The sort keeps the order of those that are equal.
    charts.sort_by_key(|(_, open)| !open);
    let cells: Vec<Cell> = charts.iter().map(|(chart, _)| chart.cell.clone()).collect();
    let fits =
        |chart: &Chart| cell.iter().all(|(axis, value)| chart.cell.value(axis) == Some(value));
    let mut fitting = charts.into_iter().map(|(chart, _)| chart).filter(fits);
    let chart = fitting.next().ok_or_else(|| no_such_cell(cell, &cells))?;
    let mut others: Vec<String> = Vec::new();
    for other in fitting.filter(|it| it.cell != chart.cell).map(|it| answer::values(&it.cell)) {
        if !others.contains(&other) {
            others.push(other);
        }
    }
    Ok(Found { chart, others })
}

/// Which of the wanted values there is not, and which there are.
fn no_such_cell(wanted: &[(String, String)], cells: &[Cell]) -> String {
    let mut axes: Vec<(&str, Vec<&str>)> = Vec::new();
    for (axis, value) in cells.iter().flat_map(|cell| &cell.0) {
        match axes.iter_mut().find(|(known, _)| known == axis) {
            Some((_, values)) if values.contains(&value.as_str()) => {}
            Some((_, values)) => values.push(value),
            None => axes.push((axis, vec![value])),
        }
    }
    for (axis, value) in wanted {
        match axes.iter().find(|(known, _)| known == axis) {
            None if axes.is_empty() => {
                return "these pictures are of no cell; leave --cell out".to_owned();
            }
            None => {
                let names: Vec<&str> = axes.iter().map(|(axis, _)| *axis).collect();
                let names = names.join(", ");
                return format!(
                    "no picture is of a cell with an axis `{}`; axes: {names}",
                    axis.escape_debug()
                );
            }
            Some((_, values)) if !values.contains(&value.as_str()) => {
                let values = values.join(", ");
                return format!(
                    "no picture is of {axis} `{}`; there are {values}",
                    value.escape_debug()
                );
            }
            Some(_) => {}
        }
    }
    let all: Vec<String> = cells.iter().map(answer::values).collect();
    format!("no picture is of a cell with all of these values; cells: {}", all.join("; "))
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
