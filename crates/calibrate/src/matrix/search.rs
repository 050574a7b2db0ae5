//! A derivative-free search for the numbers of a device.
//!
//! The search first tries places drawn from all ranges. From the best of them it makes steps up and
//! down, and halves the steps when no step is better. The cost of a device is the mean, over all
//! loads, of the squared logarithms of model over measured. Finally, each number that the results
//! do not determine is restored: one whose old value is as good after the others have adjusted, and
//! one that may have nearly any value.

use std::collections::BTreeMap;
use std::ops::Range;

use disklab_config::device::Device;
use disklab_config::host::HostTime;
use disklab_config::read::Diagnostic;
use disklab_units::{Random, Seed};
use toml::{Table, Value};

use super::found::{FitBounds, FittedNumber};
use super::lone_reads::sixteenths;
use super::parameters::FitParameter;
use super::run::{HostedDevice, MatrixLoad};
use super::score::{LoadNumbers, QUICK, serve_all};
use super::wanted::WantedLoad;
use crate::device::read_back;

/// Number of places tried at first, for each number that is searched for. It is multiplied once
/// more by that number, up to three, because the numbers are tried together.
const PLACES: usize = 5;
/// Number of the best places from which the search continues.
const STARTS: usize = 2;
/// Steps as fractions of a range: the first, the least, and the same two for the final descent.
const FIRST_STEP: f64 = 1.0 / 8.0;
const LEAST_STEP: f64 = 1.0 / 128.0;
const LAST_STEP: f64 = 1.0 / 128.0;
const FINEST_STEP: f64 = 1.0 / 1024.0;
/// The least step by which the other numbers adjust when one is restored.
const COARSE_STEP: f64 = 1.0 / 64.0;
/// Number of places along each number's whole range that are tried at the end.
const ALONG: u32 = 16;
/// A comparison of errors: one is larger than another by more than this factor plus this amount.
type Larger = (f64, f64);
/// A device fits clearly worse if its error exceeds `CLEARLY`, and as well as another if its error
/// is within `AS_WELL`.
const CLEARLY: Larger = (1.1, 0.005);
const AS_WELL: Larger = (1.02, 0.002);
/// Greatest relative error of a number that counts as determined.
const MOST_ERROR: f64 = 1.0;
/// The weights of the squares of latencies; that of IOPS is 1.
const P50: f64 = 0.25;
const P99: f64 = 0.25;
const P99_9: f64 = 0.05;
/// Limit of the logarithm of a latency's error: pauses that the model does not have must not
/// determine the rate.
const MOST_LATENCY: f64 = 1.0;

/// Reads a device's table. The table is not from a file, so messages name the key and no line.
pub(super) fn device(name: &str, table: &Table) -> Result<Device, String> {
    read_back(name, &table.to_string()).map_err(|mistakes| {
        let line = |mistake: &Diagnostic| format!("{}: {}", mistake.place.key, mistake.message);
        let lines: Vec<String> = mistakes.0.iter().map(line).collect();
        format!("no device can have the numbers that fit these results:\n{}", lines.join("\n"))
    })
}

/// The largest fraction of a lone request's latency that the command's overhead may be.
const OVERHEAD_PART: f64 = 0.75;

/// Returns the parameter with a range that leaves time for the rest of a request. A lone write must
/// cross the link, and the fastest read must be sensed. Where writes wait for each other's
/// commands, all of them wait, not only those during which the drive pauses.
pub(super) fn bounded(parameter: FitParameter, wanted: &[&WantedLoad]) -> FitParameter {
    let longest = |load: &&WantedLoad| {
        let fastest = load.points.first().and_then(|point| sixteenths(&point.percentiles));
        let fastest = fastest.map(|all| all[0]).filter(|_| load.rw == "randread");
        match parameter.key {
            "command_overhead" if load.outstanding == 1 => {
                Some(OVERHEAD_PART * fastest.or(load.measured.p50)?)
            }
            "link_command" if load.outstanding > 1 && load.rw == "randwrite" => {
                Some(load.measured.p50? / f64::from(load.outstanding))
            }
            _ => None,
        }
    };
    let longest = wanted.iter().filter_map(longest).reduce(f64::min);
    let high = longest.map_or(parameter.high, |time| parameter.high.min(time));
    FitParameter { high: high.max(2.0 * parameter.low), ..parameter }
}

/// A search for the numbers of a device.
pub(super) struct Search<'a> {
    pub name: &'a str,
    pub family: &'static str,
    pub host: Option<HostTime>,
    pub wanted: &'a [&'a WantedLoad],
}

impl Search<'_> {
    /// Searches for the numbers that show in each kind of load, one kind after another.
    pub fn run(&self, table: &Table, tried: &[FitParameter]) -> (Table, Vec<FittedNumber>) {
        let mut table = table.clone();
        let mut numbers = Vec::new();
        let mut kinds: Vec<&[&str]> = Vec::new();
        for parameter in tried {
            if !kinds.contains(&parameter.loads) {
                kinds.push(parameter.loads);
            }
        }
        for kind in kinds {
            let loads: Vec<&WantedLoad> =
                self.wanted.iter().copied().filter(|load| kind.contains(&&*load.rw)).collect();
            let parameters: Vec<FitParameter> =
                tried.iter().filter(|parameter| parameter.loads == kind).copied().collect();
            let mut stage = Stage::new(self, &table, &loads, parameters);
            stage.search();
            let best = stage.cost;
            while let Some((index, why)) = stage.not_determined(best) {
                numbers.push(stage.parameters[index].fitted(Err(why.to_owned())));
                stage = stage.without(index);
                stage.descend(FIRST_STEP..LEAST_STEP, |_| true);
            }
            stage.descend(LAST_STEP..FINEST_STEP, |_| true);
            let limit = beyond(stage.cost, CLEARLY);
            let found: Vec<FitBounds> =
                (0..stage.parameters.len()).map(|index| stage.bounds(index, limit)).collect();
            table = stage.table(&stage.places);
            let all = stage.parameters.iter().zip(found);
            numbers.extend(all.map(|(parameter, found)| parameter.fitted(Ok(found))));
        }
        (table, numbers)
    }
}

/// The search for the numbers that show in one kind of load.
struct Stage<'a> {
    search: &'a Search<'a>,
    start: Table,
    loads: &'a [&'a WantedLoad],
    parameters: Vec<FitParameter>,
    /// The best places so far within the ranges; `cost` is their cost.
    places: Vec<f64>,
    cost: f64,
    /// The places from which the search began.
    begun: Vec<f64>,
    known: BTreeMap<Vec<u64>, f64>,
}

impl<'a> Stage<'a> {
    fn new(
        search: &'a Search<'a>,
        start: &Table,
        loads: &'a [&'a WantedLoad],
        parameters: Vec<FitParameter>,
    ) -> Self {
        let numbers = start.get(search.family).and_then(Value::as_table);
        let place = |parameter: &FitParameter| {
            numbers
                .and_then(|numbers| parameter.read(numbers))
                .map_or(0.5, |value| parameter.place(value))
        };
        let places: Vec<f64> = parameters.iter().map(place).collect();
        let mut stage = Self {
            search,
            start: start.clone(),
            loads,
            parameters,
            places: Vec::new(),
            cost: f64::INFINITY,
            begun: places.clone(),
            known: BTreeMap::new(),
        };
        stage.cost = stage.cost_of(&places);
        stage.places = places;
        stage
    }

    /// Returns the device's file with these values. A number that has not moved stays as it was
    /// written.
    fn table(&self, places: &[f64]) -> Table {
        let mut table = self.start.clone();
        if let Some(numbers) = table.get_mut(self.search.family).and_then(Value::as_table_mut) {
            for (parameter, &place) in self.parameters.iter().zip(places) {
                let value = parameter.value(place);
                if parameter.read(numbers).is_none_or(|old| (value / old - 1.0).abs() > 1e-6) {
                    parameter.write(numbers, value);
                }
            }
        }
        table
    }

    fn cost_of(&mut self, places: &[f64]) -> f64 {
        let values = self.parameters.iter().zip(places);
        let key: Vec<u64> =
            values.map(|(parameter, &place)| parameter.value(place).to_bits()).collect();
        if let Some(&cost) = self.known.get(&key) {
            return cost;
        }
        let cost = device(self.search.name, &self.table(places)).map_or(f64::INFINITY, |device| {
            let loads: Vec<MatrixLoad> = self.loads.iter().map(|load| load.load).collect();
            let hosted = HostedDevice { device, host: self.search.host };
            let served = serve_all(&hosted, &loads, QUICK);
            let square = |load: &&WantedLoad| {
                served.get(&load.load).map_or(f64::INFINITY, |model| misfit(model, &load.measured))
            };
            let misfits = self.loads.iter().map(square).sum::<f64>() / self.loads.len() as f64;
            misfits + self.departure(places)
        });
        self.known.insert(key, cost);
        cost
    }

    /// Returns the cost of values far from those of the class, which decides if the loads do not.
    fn departure(&self, places: &[f64]) -> f64 {
        let all = self.parameters.iter().zip(places).zip(&self.begun);
        all.map(|((parameter, &place), &begun)| {
            let factor = parameter.value(place) / parameter.value(begun);
            parameter.departure * factor.ln().powi(2)
        })
        .sum()
    }

    /// Adopts a place of one parameter if it is better. Returns whether it is.
    fn try_place(&mut self, index: usize, place: f64) -> bool {
        let mut places = self.places.clone();
        places[index] = place.clamp(0.0, 1.0);
        let cost = self.cost_of(&places);
        let better = cost < self.cost;
        if better {
            (self.places, self.cost) = (places, cost);
        }
        better
    }

    /// Tries places all over the ranges, and continues from the best of them and from the start.
    fn search(&mut self) {
        self.search_lone();
        let count = self.parameters.len();
        let free = self.parameters.iter().filter(|parameter| !parameter.is_lone()).count();
        let mut random = Random::new(Seed(1).derive("matrix fit"));
        let mut starts = vec![(self.cost, self.places.clone())];
        for _ in 0..PLACES * free * free.min(3) {
            let mut places = self.places.clone();
            for (place, parameter) in places.iter_mut().zip(&self.parameters) {
                if !parameter.is_lone() {
                    *place = random.next_f64();
                }
            }
            starts.push((self.cost_of(&places), places));
        }
        // The device of the class may be wrong in a single number.
        for index in 0..count {
            if self.parameters[index].is_lone() {
                continue;
            }
            for place in 0..=ALONG {
                let mut places = self.places.clone();
                places[index] = f64::from(place) / f64::from(ALONG);
                starts.push((self.cost_of(&places), places));
            }
        }
        starts.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let mut best = (self.cost, self.places.clone());
        for (cost, places) in starts.into_iter().take(STARTS) {
            (self.cost, self.places) = (cost, places);
            self.descend(FIRST_STEP..LEAST_STEP, |parameter| !parameter.is_lone());
            if self.cost < best.0 {
                best = (self.cost, self.places.clone());
            }
        }
        (self.cost, self.places) = best;
        // A better place may be far away along a single number.
        for index in 0..count {
            if !self.parameters[index].is_lone() {
                self.try_along(index);
            }
        }
        self.descend(FIRST_STEP..LEAST_STEP, |parameter| !parameter.is_lone());
        self.descend(LAST_STEP..FINEST_STEP, |_| true);
    }

    /// Fits the numbers that lone requests determine to these requests alone.
    fn search_lone(&mut self) {
        let loads: Vec<&WantedLoad> =
            self.loads.iter().copied().filter(|load| load.outstanding == 1).collect();
        let parameters: Vec<FitParameter> =
            self.parameters.iter().filter(|parameter| parameter.is_lone()).copied().collect();
        if loads.is_empty() || parameters.is_empty() || loads.len() == self.loads.len() {
            return;
        }
        let mut stage = Stage::new(self.search, &self.start, &loads, parameters);
        (0..stage.parameters.len()).for_each(|index| stage.try_along(index));
        stage.descend(FIRST_STEP..FINEST_STEP, |_| true);
        let found: Vec<(&str, f64)> =
            stage.parameters.iter().map(|one| one.key).zip(stage.places.iter().copied()).collect();
        let mut places = self.places.clone();
        for (place, parameter) in places.iter_mut().zip(&self.parameters) {
            if let Some((_, fitted)) = found.iter().find(|(key, _)| *key == parameter.key) {
                *place = *fitted;
            }
        }
        self.cost = self.cost_of(&places);
        self.places = places;
    }

    /// Tries places along the whole range of one parameter.
    fn try_along(&mut self, index: usize) {
        for place in 0..=ALONG {
            self.try_place(index, f64::from(place) / f64::from(ALONG));
        }
    }

    /// Steps to better places. `steps` is the range from the first to the least step; `moves`
    /// selects the parameters that may move.
    fn descend(&mut self, steps: Range<f64>, moves: impl Fn(&FitParameter) -> bool) {
        let mut step = steps.start;
        while step >= steps.end {
            let mut better = false;
            for index in 0..self.parameters.len() {
                if !moves(&self.parameters[index]) {
                    continue;
                }
                let at = self.places[index];
                better |= self.try_place(index, at + step) || self.try_place(index, at - step);
            }
            if !better {
                step /= 2.0;
            }
        }
    }

    /// Returns a parameter that the results do not determine, and the reason. It returns one at a
    /// time: if two parameters compensate for each other, only one of them can keep its old value.
    /// `best` is the cost with all parameters.
    fn not_determined(&mut self, best: f64) -> Option<(usize, &'static str)> {
        let without: Vec<f64> =
            (0..self.parameters.len()).map(|index| self.without(index).cost).collect();
        let mut cheapest: Vec<usize> = (0..without.len()).collect();
        cheapest.sort_by(|one, other| without[*one].total_cmp(&without[*other]));
        let limit = beyond(self.cost, CLEARLY);
        let index = cheapest.into_iter().find(|&index| {
            // Either the other parameters compensate for it, or it may have nearly any value.
            without[index] <= beyond(best, AS_WELL)
                || without[index] <= limit && self.bounds(index, limit).error > MOST_ERROR
        })?;
        let why = if self.cost_from_begun(index) <= limit {
            "the results hardly change with it"
        } else {
            "other numbers compensate for it: with this value, the device fits as well"
        };
        Some((index, why))
    }

    /// Returns the cost with one parameter's initial value, and all others unchanged.
    fn cost_from_begun(&mut self, index: usize) -> f64 {
        let mut places = self.places.clone();
        places[index] = self.begun[index];
        self.cost_of(&places)
    }

    /// Returns the search without one parameter, which keeps its old value, after the others have
    /// adjusted.
    fn without(&self, index: usize) -> Self {
        let all_but = |all: &[f64]| {
            let (before, after) = (&all[..index], &all[index + 1..]);
            [before, after].concat()
        };
        let parameters = [&self.parameters[..index], &self.parameters[index + 1..]].concat();
        let mut stage = Self {
            search: self.search,
            start: self.start.clone(),
            loads: self.loads,
            parameters,
            places: all_but(&self.places),
            cost: f64::INFINITY,
            begun: all_but(&self.begun),
            known: BTreeMap::new(),
        };
        stage.cost = stage.cost_of(&stage.places.clone());
        stage.descend(FIRST_STEP..COARSE_STEP, |_| true);
        stage
    }

    /// Returns how far one parameter can be moved before the fit is clearly worse.
    fn bounds(&mut self, index: usize, limit: f64) -> FitBounds {
        let (parameter, at) = (self.parameters[index], self.places[index]);
        let value = parameter.value(at);
        let [low, high] = [-1.0, 1.0].map(|sign| {
            let mut inside = 0.0;
            let mut outside = LEAST_STEP;
            // The step is doubled until the fit is clearly worse, or the place is beyond the range.
            let is_worse = |stage: &mut Self, step: f64| {
                let mut places = stage.places.clone();
                places[index] = (at + sign * step).clamp(0.0, 1.0);
                stage.cost_of(&places) > limit
            };
            let mut worse = is_worse(self, outside);
            while !worse && (0.0..=1.0).contains(&(at + sign * outside)) {
                inside = outside;
                outside *= 2.0;
                worse = is_worse(self, outside);
            }
            for _ in 0..if worse { 3 } else { 0 } {
                let middle = f64::midpoint(inside, outside);
                if is_worse(self, middle) { outside = middle } else { inside = middle }
            }
            parameter.value(at + sign * outside)
        });
        let error = (high / value - 1.0).max(1.0 - low / value);
        FitBounds { low, high, error }
    }
}

/// Returns the cost of a device whose error is larger by `factor` and `more` than that of a device
/// with cost `cost`.
fn beyond(cost: f64, (factor, more): Larger) -> f64 {
    (cost.sqrt() * factor + more).powi(2)
}

/// Returns the weighted squares of the logarithms of model over measured.
fn misfit(model: &LoadNumbers, measured: &LoadNumbers) -> f64 {
    let square = |model: Option<f64>, measured: Option<f64>, most: f64| match (model, measured) {
        (Some(model), Some(measured)) if measured > 0.0 => {
            (model.max(f64::MIN_POSITIVE) / measured).ln().clamp(-most, most).powi(2)
        }
        _ => 0.0,
    };
    square(model.iops, measured.iops, f64::INFINITY)
        + P50 * square(model.p50, measured.p50, MOST_LATENCY)
        + P99 * square(model.p99, measured.p99, MOST_LATENCY)
        + P99_9 * square(model.p99_9, measured.p99_9, MOST_LATENCY)
}
