//! The cells of a suite: the points of its matrix.

use super::axis::{Axis, AxisValues, SuiteAxis};
use super::sweep::SweptValue;
use crate::read::{Located, SourcePlace};

/// The axes with their values, in the suite's order, and the places of the values, for mistakes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cell<'a>(pub Vec<(&'a SuiteAxis, &'a str, &'a SourcePlace)>);

impl<'a> Cell<'a> {
    pub fn value(&self, axis: Axis) -> Option<&'a str> {
        self.0.iter().find(|(known, ..)| **known == axis).map(|(_, value, _)| *value)
    }

    /// Returns the axes over parameters, with their values and the places of the values.
    pub fn parameters(&self) -> Vec<SweptValue<'a>> {
        let swept = self.0.iter().filter_map(|&(axis, value, place)| match axis {
            SuiteAxis::Parameter(parameter) => Some(SweptValue { parameter, value, place }),
            SuiteAxis::Named(_) => None,
        });
        swept.collect()
    }
}

/// Returns every combination of values, the last axis varying fastest. Axes that go along with the
/// one before them vary together with it. Samples that became equal by rounding give one cell.
pub(super) fn cells(axes: &[AxisValues]) -> Vec<Cell<'_>> {
    let mut cells = vec![Cell::default()];
    for group in axes.chunk_by(|_, next| next.along) {
        let points = points(group);
        cells = cells
            .iter()
            .flat_map(|cell| points.iter().map(|&at| with(cell, group, at)).collect::<Vec<_>>())
            .collect();
    }
    cells
}

/// Returns the indices of a group's samples. If samples are equal, it returns the first.
fn points(group: &[AxisValues]) -> Vec<usize> {
    let mut points: Vec<usize> = Vec::new();
    for at in 0..samples(group) {
        let is_same = |other: &usize| {
            group.iter().all(|axis| axis.values[*other].value == axis.values[at].value)
        };
        // An axis that varies alone has each value once, so there is nothing to compare.
        if group.len() == 1 || !points.iter().any(is_same) {
            points.push(at);
        }
    }
    points
}

fn samples(group: &[AxisValues]) -> usize {
    group.iter().map(|axis| axis.values.len()).min().unwrap_or_default()
}

/// A group of axes that vary together: their names, the number of samples, and the number of
/// different ones.
pub(super) struct Sampled {
    pub names: Vec<String>,
    pub samples: usize,
    pub differing: usize,
}

pub(super) fn sampled(axes: &[AxisValues]) -> Vec<Sampled> {
    let groups = axes.chunk_by(|_, next| next.along).filter(|group| group.len() > 1);
    let sampled = groups.map(|group| Sampled {
        names: names(group),
        samples: samples(group),
        differing: points(group).len(),
    });
    sampled.collect()
}

fn names(group: &[AxisValues]) -> Vec<String> {
    group.iter().map(|axis| axis.axis.to_string()).collect()
}

/// Returns the number of points of each axis, or of each group of axes that vary together. Axes of
/// one point are left out.
pub(super) fn sizes(axes: &[AxisValues]) -> Vec<(String, usize)> {
    let groups = axes.chunk_by(|_, next| next.along);
    let sizes = groups.map(|group| (names(group).join(" with "), points(group).len()));
    sizes.filter(|(_, size)| *size != 1).collect()
}

fn with<'a>(cell: &Cell<'a>, group: &'a [AxisValues], at: usize) -> Cell<'a> {
    let values = group.iter().map(|axis| {
        let Located { value, place } = &axis.values[at];
        (&axis.axis, value.as_str(), place)
    });
    Cell(cell.0.iter().copied().chain(values).collect())
}
