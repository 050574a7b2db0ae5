//! The points of a suite's matrix.

use super::axis::{Axis, Values, Which};
use super::sweep::Parameter;
use crate::read::{Located, Place};

/// The value of each axis, in the suite's order; where it is written, for mistakes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cell<'a>(pub Vec<(&'a Which, &'a str, &'a Place)>);

impl<'a> Cell<'a> {
    pub fn value(&self, axis: Axis) -> Option<&'a str> {
        self.0.iter().find(|(known, ..)| **known == axis).map(|(_, value, _)| *value)
    }

    /// Those that are numbers, with their values and where those are written.
    pub fn parameters(&self) -> Vec<(&'a Parameter, &'a str, &'a Place)> {
        let of = |(axis, value, place): &(&'a Which, &'a str, &'a Place)| match *axis {
            Which::Parameter(parameter) => Some((parameter, *value, *place)),
            Which::Named(_) => None,
        };
        self.0.iter().filter_map(of).collect()
    }
}

/// Every combination of values, the last axis varying fastest; axes that go along with the one before it vary together with
/// it. Of samples that became equal when they were rounded, one.
pub(super) fn cells(axes: &[Values]) -> Vec<Cell<'_>> {
    let mut cells = vec![Cell::default()];
    for group in axes.chunk_by(|_, next| next.along) {
        let count = group.iter().map(|axis| axis.values.len()).min().unwrap_or_default();
        let mut points: Vec<usize> = Vec::new();
        for at in 0..count {
            let is_same =
                |other: &usize| group.iter().all(|axis| axis.values[*other].value == axis.values[at].value);
            if !points.iter().any(is_same) {
                points.push(at);
            }
        }
        cells = cells
            .iter()
            .flat_map(|cell| points.iter().map(|&at| with(cell, group, at)).collect::<Vec<_>>())
            .collect();
    }
    cells
}

fn with<'a>(cell: &Cell<'a>, group: &'a [Values], at: usize) -> Cell<'a> {
    let values = group.iter().map(|axis| {
        let Located { value, place } = &axis.values[at];
        (&axis.axis, value.as_str(), place)
    });
    Cell(cell.0.iter().copied().chain(values).collect())
}
