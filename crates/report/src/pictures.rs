//! Finds one picture of a report.

use disklab_compare::answer;
use disklab_record::outcome::Cell;
use itertools::Itertools;

use crate::chart::Chart;
use crate::panel::{Nothing, Piece};
use crate::panels;
use crate::source::{ReportSource, values_by_axis};

/// A requested picture.
#[derive(Debug)]
pub struct FoundPicture {
    pub chart: Chart,
    /// Other cells that the picture could have shown, as text.
    pub others: Vec<String>,
}

/// Finds the first picture of `panel` of this kind, for a cell with these values: (axis, value).
/// Without values, pictures of open sections go first. An error lists the existing pictures.
pub fn find(
    source: &ReportSource,
    panel: &str,
    kind: Option<&str>,
    cell: &[(String, String)],
) -> Result<FoundPicture, String> {
    let all = panels::in_order();
    let with_pictures =
        || all.iter().filter(|panel| !panel.pictures.is_empty()).map(|panel| panel.name).join(", ");
    let of_name = all.iter().find(|known| known.name == panel);
    let Some(found) = of_name else {
        let name = panel.escape_debug();
        return Err(format!(
            "unknown panel `{name}`; the panels with pictures are {}",
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
        let kinds = charts.iter().map(|(chart, _)| &chart.kind).unique().join(", ");
        return Err(format!(
            "panel {panel} has no picture `{}`; it has {kinds}",
            kind.escape_debug()
        ));
    }
    charts.retain(|(chart, _)| kind.is_none_or(|kind| chart.kind == kind));
    // The sort is stable.
    charts.sort_by_key(|(_, open)| !open);
    let cells: Vec<Cell> = charts.iter().map(|(chart, _)| chart.cell.clone()).collect();
    let fits =
        |chart: &Chart| cell.iter().all(|(axis, value)| chart.cell.value(axis) == Some(value));
    let mut fitting = charts.into_iter().map(|(chart, _)| chart).filter(fits);
    let chart = fitting.next().ok_or_else(|| no_such_cell(cell, &cells))?;
    let others = fitting.filter(|other| other.cell != chart.cell);
    let others = others.map(|other| answer::values(&other.cell)).unique().collect();
    Ok(FoundPicture { chart, others })
}

/// Says which of the requested values is missing, and which values exist.
fn no_such_cell(wanted: &[(String, String)], cells: &[Cell]) -> String {
    let axes = values_by_axis(cells.iter());
    for (axis, value) in wanted {
        match axes.get(axis.as_str()) {
            None if axes.is_empty() => {
                return "these pictures belong to no cell; leave --cell out".to_owned();
            }
            None => {
                return format!(
                    "no picture's cell has an axis `{}`; the axes are {}",
                    axis.escape_debug(),
                    axes.keys().join(", ")
                );
            }
            Some(values) if !values.contains(value.as_str()) => {
                let (value, values) = (value.escape_debug(), values.iter().join(", "));
                return format!("no picture's cell has {axis} `{value}`; the values are {values}");
            }
            Some(_) => {}
        }
    }
    let all = cells.iter().map(answer::values).join("; ");
    format!("no picture's cell has all of these values; the cells are {all}")
}

/// Collects pictures with the cells of their sections, and with whether these are open.
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
