//! The ends of the axes of a trial's pictures.

use super::measure::MEASURES;
use crate::watched::WatchedTrial;

/// Axes of trials that are compared: as long as the greatest of them needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// Index of the scale among several, by length.
    pub number: usize,
    /// Greatest value on the axis of each measure.
    pub tops: Vec<f64>,
    pub seconds: f64,
    /// Whether there are several scales, each of which shows its length.
    pub one_of_several: bool,
}

/// Largest ratio of lengths on one axis: a shorter trial would be a sliver.
const FACTOR: f64 = 2.0;

impl Scale {
    /// Returns the scale of each of these trials, in order. Trials of about the same length share
    /// one.
    pub fn of_each(all: &[WatchedTrial]) -> Vec<Self> {
        let mut sorted: Vec<&WatchedTrial> = all.iter().collect();
        sorted.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let mut alike: Vec<Vec<&WatchedTrial>> = Vec::new();
        for trial in sorted {
            match alike.last_mut() {
                Some(own) if trial.seconds <= FACTOR * own[0].seconds => own.push(trial),
                _ => alike.push(vec![trial]),
            }
        }
        let several = alike.len() > 1;
        let scales = alike.iter().enumerate().map(|(at, own)| Self::new(at, own, several));
        let scales: Vec<Self> = scales.collect();
        let place = |trial: &WatchedTrial| {
            let longer = scales.iter().position(|scale| trial.seconds <= scale.seconds);
            scales[longer.unwrap_or(scales.len() - 1)].clone()
        };
        all.iter().map(place).collect()
    }

    fn new(number: usize, own: &[&WatchedTrial], one_of_several: bool) -> Self {
        let bins = || own.iter().flat_map(|trial| &trial.line.disks).flat_map(|disk| &disk.bins);
        let tops = MEASURES.iter().map(|measure| {
            let most = bins().map(measure.of).fold(0.0, f64::max);
            if measure.unit == "%" { 100.0 } else { (most * 1.05).max(0.01) }
        });
        let seconds = own.iter().map(|trial| trial.seconds).fold(0.0, f64::max);
        Self { number, tops: tops.collect(), seconds, one_of_several }
    }
}
