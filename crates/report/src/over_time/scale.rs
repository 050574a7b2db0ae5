//! How far the axes of a trial's pictures go.

use super::{MEASURES, Watched};

/// As far as the greatest of the trials wants that are held against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// Which of several it is, by length.
    pub number: usize,
    /// Of each measure.
    pub tops: Vec<f64>,
    pub seconds: f64,
    /// There are several, and each says how far it goes.
    pub one_of_several: bool,
}

/// Trials whose lengths differ by more are not on one axis: the shorter one would be a sliver.
const FACTOR: f64 = 2.0;

impl Scale {
    /// For each of these trials, in their order: those of about one length have the same.
    pub fn of_each(all: &[Watched]) -> Vec<Self> {
        let mut sorted: Vec<&Watched> = all.iter().collect();
        sorted.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let mut alike: Vec<Vec<&Watched>> = Vec::new();
        for it in sorted {
            match alike.last_mut() {
                Some(own) if it.seconds <= FACTOR * own[0].seconds => own.push(it),
                _ => alike.push(vec![it]),
            }
        }
        let several = alike.len() > 1;
        let scales = alike.iter().enumerate().map(|(at, own)| Self::of(at, own, several));
        let scales: Vec<Self> = scales.collect();
        let place = |it: &Watched| {
            let longer = scales.iter().position(|scale| it.seconds <= scale.seconds);
            scales[longer.unwrap_or(scales.len() - 1)].clone()
        };
        all.iter().map(place).collect()
    }

    fn of(number: usize, own: &[&Watched], one_of_several: bool) -> Self {
        let bins = || own.iter().flat_map(|it| &it.line.disks).flat_map(|disk| &disk.bins);
        let tops = MEASURES.iter().map(|it| {
            let most = bins().map(it.of).fold(0.0, f64::max);
            if it.unit == "%" { 100.0 } else { (most * 1.05).max(0.01) }
        });
        let seconds = own.iter().map(|it| it.seconds).fold(0.0, f64::max);
        Self { number, tops: tops.collect(), seconds, one_of_several }
    }
}
