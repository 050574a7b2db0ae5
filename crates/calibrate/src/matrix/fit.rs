//! A device from a published matrix: the numbers that the matrix identifies are searched for, each
//! with its error; the others stay as they are.
//!
//! The search needs no derivatives: first places drawn from all ranges, then, from the best of
//! them, steps up and down that are halved where none is better. The cost of a device is the mean
//! square of the logarithms of model over measured, over all loads.

use std::collections::BTreeMap;
use std::ops::Range;

use disklab_config::device::Device;
use disklab_config::host::HostTime;
use disklab_foreign::matrix::MatrixPoint;
use disklab_units::{Nanos, Random, Seed};
use toml::{Table, Value};

use super::parameters::{FitParameter, parameters};
use super::run::{HostedDevice, MatrixLoad};
use super::score::{
    DEEPEST, DepthScore, LoadNumbers, PointScore, QUICK, by_depth, middle_numbers, score, serve_all,
};
use crate::bench::OnProgress;
use crate::device::read_back;

/// A number that was searched for.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedNumber {
    pub key: &'static str,
    /// The keys that kept their ratio to it.
    pub with: &'static [&'static str],
    /// How far off it may be, as a part of it, before the device fits clearly worse; None if
    /// nothing within its range fits worse: then the number was left as it was.
    pub error: Option<f64>,
    pub how: &'static str,
}

/// How a fit to some depths does at the others.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossScore {
    pub rw: String,
    /// The depths that the device was fitted to, and those that it was scored at.
    pub fitted: Vec<u32>,
    pub scored: Vec<u32>,
    /// Over the depths that were scored, without sign.
    pub median: LoadNumbers,
    pub worst: LoadNumbers,
}

/// A device that was fitted to a matrix.
#[derive(Debug, Clone)]
pub struct MatrixFit {
    pub device: Device,
    /// The device's file as a table, whole.
    pub table: Table,
    pub numbers: Vec<FittedNumber>,
    /// Errors at each depth that was fitted, by load.
    pub scores: Vec<(String, DepthScore)>,
    pub crossed: Vec<CrossScore>,
    /// The time of the machine that measured, if the results show it: `[host]` of `table`.
    pub host: Option<HostTime>,
    /// Findings for people.
    pub remarks: Vec<String>,
}

/// Places at which a device is tried first, times the numbers that are searched for (and up to
/// three times that again, for they are tried together).
const PLACES: usize = 5;
/// The best of these places from which the search goes on.
const STARTS: usize = 2;
/// Steps, as parts of a range: the first, the least, and both at the end.
const FIRST_STEP: f64 = 1.0 / 8.0;
const LEAST_STEP: f64 = 1.0 / 128.0;
const LAST_STEP: f64 = 1.0 / 128.0;
const FINEST_STEP: f64 = 1.0 / 1024.0;
/// Places along each number's whole range that are tried at the end.
const ALONG: u32 = 16;
/// A device fits clearly worse if its error is larger by this part, and by this much.
const CLEARLY: f64 = 1.1;
const CLEARLY_MORE: f64 = 0.005;
/// The weight of a square of each latency beside that of IOPS.
const P50: f64 = 0.25;
const P99: f64 = 0.25;
const P99_9: f64 = 0.05;
/// The logarithm of the largest factor that counts of a latency: pauses that the model does not
/// have must not decide the rate.
const MOST_LATENCY: f64 = 1.0;

/// A load to be met, and what was measured of it: the median, where it was measured several times.
#[derive(Debug, Clone)]
struct WantedLoad {
    rw: String,
    outstanding: u32,
    load: MatrixLoad,
    measured: LoadNumbers,
    points: Vec<MatrixPoint>,
}

/// Fits the device of `table`, a whole file of a device, to the points of one drive with at most
/// [`DEEPEST`] requests under way. Numbers whose keys are `stated` are searched for only if data
/// sheets are known to say something else than what is measured. `host` is the time of the machine
/// that measured, if it is known. Without it, the table's `[host]` has what lone reads of an SSD
/// show of it, and the numbers of the device hold the rest.
pub fn fit(
    name: &str,
    table: &Table,
    points: &[MatrixPoint],
    stated: &[String],
    host: Option<HostTime>,
    watch: OnProgress<'_>,
) -> Result<MatrixFit, String> {
    let device = device(name, table)?;
    let family = device.model.family();
    let (wanted, mut remarks) = wanted_loads(&device, points);
    if wanted.is_empty() {
        let reason = remarks.first().map_or("no point is left", String::as_str);
        return Err(format!("nothing to fit: {reason}"));
    }
    let all: Vec<&WantedLoad> = wanted.iter().collect();
    let search = |wanted: &[&WantedLoad]| {
        let begun = BegunFit::new(table, family, wanted, host);
        let host = host.or(begun.host);
        let numbers = begun.table.get(family).and_then(Value::as_table).cloned();
        let tried: Vec<FitParameter> = parameters(family, &numbers.unwrap_or_default())
            .into_iter()
            .filter(|parameter| {
                parameter.despite_sheet || !stated.iter().any(|key| key == parameter.key)
            })
            .map(|parameter| bounded(parameter, wanted))
            .collect();
        let (table, numbers) = Search { name, family, host, wanted }.run(&begun.table, &tried);
        let device = self::device(name, &table)?;
        Ok::<_, String>((HostedDevice { device, host }, table, numbers, begun))
    };
    let splits = splits(&wanted);
    let parts = splits.len() + 1;
    let mut crossed = Vec::new();
    for (index, (fitted, scored)) in splits.iter().enumerate() {
        watch("fitting to some of the depths", index as f64 / parts as f64);
        let chosen: Vec<&WantedLoad> =
            all.iter().copied().filter(|load| fitted.contains(&load.outstanding)).collect();
        let (hosted, ..) = search(&chosen)?;
        crossed.extend(cross_scores(&hosted, &wanted, fitted, scored));
    }
    watch("fitting to all depths", splits.len() as f64 / parts as f64);
    let (hosted, table, numbers, begun) = search(&all)?;
    remarks.extend(begun.remark);
    let scores = own_scores(&hosted, &wanted);
    let device = hosted.device;
    watch("done", 1.0);
    Ok(MatrixFit { device, table, numbers, scores, crossed, host: begun.host, remarks })
}

fn device(name: &str, table: &Table) -> Result<Device, String> {
    read_back(name, &table.to_string()).map_err(|mistakes| mistakes.to_string())
}

/// The loads that can be run, with at most [`DEEPEST`] requests under way; and what was left out.
fn wanted_loads(device: &Device, points: &[MatrixPoint]) -> (Vec<WantedLoad>, Vec<String>) {
    let mut by_load: BTreeMap<(String, MatrixLoad), Vec<&MatrixPoint>> = BTreeMap::new();
    let (mut deep, mut wrong) = (0, BTreeMap::<String, usize>::new());
    for point in points {
        match MatrixLoad::new(point, device.bytes) {
            Ok(load) if load.outstanding() > DEEPEST => deep += 1,
            // Runs that took a second more or less are the same load.
            Ok(load) => {
                let key = (point.rw.clone(), load.for_search(&device.model));
                by_load.entry(key).or_default().push(point);
            }
            Err(reason) => *wrong.entry(reason).or_default() += 1,
        }
    }
    let mut remarks = Vec::new();
    if deep > 0 {
        remarks.push(format!(
            "{deep} points with more than {DEEPEST} requests under way are not fitted: they show \
             the machine's I/O scheduler as well"
        ));
    }
    for (reason, count) in wrong {
        remarks.push(format!("{count} points are not fitted: {reason}"));
    }
    let load = |((rw, load), points): ((String, MatrixLoad), Vec<&MatrixPoint>)| {
        let measured: Vec<LoadNumbers> =
            points.iter().map(|point| LoadNumbers::measured(point)).collect();
        WantedLoad {
            rw,
            outstanding: load.outstanding(),
            load,
            measured: middle_numbers(&measured),
            points: points.into_iter().cloned().collect(),
        }
    };
    (by_load.into_iter().map(load).collect(), remarks)
}

/// The depths to fit to and those to score at, both ways round; none if there are too few depths.
fn splits(wanted: &[WantedLoad]) -> Vec<(Vec<u32>, Vec<u32>)> {
    let mut depths: Vec<u32> = wanted.iter().map(|load| load.outstanding).collect();
    depths.sort_unstable();
    depths.dedup();
    let [first, between @ .., last] = &depths[..] else { return Vec::new() };
    if between.is_empty() {
        return Vec::new();
    }
    let ends = vec![*first, *last];
    vec![(ends.clone(), between.to_vec()), (between.to_vec(), ends)]
}

fn own_scores(device: &HostedDevice, wanted: &[WantedLoad]) -> Vec<(String, DepthScore)> {
    let mut all = Vec::new();
    for rw in rws(wanted) {
        let scores = scored(device, wanted.iter().filter(|load| load.rw == rw));
        let list: Vec<&PointScore> = scores.iter().collect();
        all.extend(by_depth(&[&list]).into_iter().map(|score| (rw.clone(), score)));
    }
    all
}

fn cross_scores(
    device: &HostedDevice,
    wanted: &[WantedLoad],
    fitted: &[u32],
    depths: &[u32],
) -> Vec<CrossScore> {
    let mut all = Vec::new();
    for rw in rws(wanted) {
        let there = wanted.iter().filter(|load| load.rw == rw);
        let scores = scored(device, there.filter(|load| depths.contains(&load.outstanding)));
        let list: Vec<&PointScore> = scores.iter().collect();
        let by_depth = by_depth(&[&list]);
        if by_depth.is_empty() {
            continue;
        }
        let medians: Vec<LoadNumbers> = by_depth.iter().map(|score| score.median).collect();
        let worst = by_depth.iter().map(|score| score.worst);
        all.push(CrossScore {
            rw,
            fitted: fitted.to_vec(),
            scored: by_depth.iter().map(|score| score.outstanding).collect(),
            median: middle_numbers(&medians),
            worst: worst.reduce(|one, other| one.larger(&other)).unwrap_or_default(),
        });
    }
    all
}

fn rws(wanted: &[WantedLoad]) -> Vec<String> {
    let mut rws: Vec<String> = wanted.iter().map(|load| load.rw.clone()).collect();
    rws.sort_unstable();
    rws.dedup();
    rws
}

fn scored<'a>(
    device: &HostedDevice,
    loads: impl Iterator<Item = &'a WantedLoad>,
) -> Vec<PointScore> {
    let points: Vec<MatrixPoint> = loads.flat_map(|load| load.points.iter().cloned()).collect();
    score(device, &points).into_iter().flatten().collect()
}

/// Types of pages of an SSD, as the distribution of lone reads shows them.
const PAGE_TYPES: usize = 16;
/// All pages count as alike if the slowest type takes no more than this times the fastest.
const ALIKE: f64 = 1.05;

/// Percentiles that a distribution has to have at least before types of pages are read from it.
const LEAST_PERCENTILES: usize = 8;
/// The table of a device's file with the time of the machine that measured.
const HOST: &str = "host";
/// The largest part of a lone read that may be the machine's, and the least time of it, in ns.
const HOST_PART: f64 = 0.5;
const LEAST_HOST: f64 = 500.0;

/// The middles of the sixteen equal parts of a distribution, in ns.
fn sixteenths(known: &[(f64, f64)]) -> Option<Vec<f64>> {
    let quantile = |percent: f64| {
        let after = known.iter().position(|(known, _)| *known >= percent)?;
        let (high_percent, high) = known[after];
        let (low_percent, low) = *known.get(after.checked_sub(1)?)?;
        Some(low + (high - low) * (percent - low_percent) / (high_percent - low_percent))
    };
    if known.len() < LEAST_PERCENTILES {
        return None;
    }
    let each = 100.0 / PAGE_TYPES as f64;
    (0..PAGE_TYPES).map(|index| quantile(each * (index as f64 + 0.5))).collect()
}

/// The time of the machine that measured, as far as lone reads show it: fio's completion latencies
/// begin when a read was submitted, and its rate has the time before that as well.
fn host_of_lone_reads(family: &str, wanted: &[&WantedLoad]) -> Option<HostTime> {
    let lone = wanted.iter().find(|load| load.outstanding == 1 && load.rw == "randread")?;
    let point = lone.points.first()?;
    let times = sixteenths(&point.percentiles)?;
    let each = 1e9 / point.iops;
    let submit = each - times.iter().sum::<f64>() / times.len() as f64;
    let shows = family == "ssd" && (LEAST_HOST..=HOST_PART * each).contains(&submit);
    let submit = Nanos(submit.round() as u64);
    shows.then_some(HostTime {
        submit,
        complete: Nanos::ZERO,
        requests_per_second: None,
        link: None,
    })
}

/// A device's file from which a search begins, with what the distribution of lone reads shows.
struct BegunFit {
    table: Table,
    host: Option<HostTime>,
    remark: Option<String>,
}

impl BegunFit {
    /// `known` is the time of the machine, if it need not be read from the loads.
    fn new(table: &Table, family: &str, wanted: &[&WantedLoad], known: Option<HostTime>) -> Self {
        let mut table = table.clone();
        let remark = set_page_types(&mut table, family, wanted);
        let host = if known.is_none() { host_of_lone_reads(family, wanted) } else { None };
        if let Some(host) = host {
            let submit = Value::String(format!("{} ns", host.submit.0));
            table.insert(HOST.to_owned(), Table::from_iter([("submit".to_owned(), submit)]).into());
        }
        Self { table, host, remark }
    }
}

/// The part of a lone request's latency that a command's own time can be at most.
const OVERHEAD_PART: f64 = 0.75;

/// The parameter, with a range that leaves time for the rest of a request: a lone write has to
/// cross the link, the fastest read has to be read, and writes that wait for each other's commands
/// all wait, not only those in which the drive pauses.
fn bounded(parameter: FitParameter, wanted: &[&WantedLoad]) -> FitParameter {
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

/// Gives an SSD as many types of pages as the latencies of lone reads show.
fn set_page_types(table: &mut Table, family: &str, wanted: &[&WantedLoad]) -> Option<String> {
    let lone = wanted.iter().find(|load| load.outstanding == 1 && load.rw == "randread")?;
    let times = sixteenths(&lone.points.first()?.percentiles)?;
    if family != "ssd" || times[PAGE_TYPES - 1] < ALIKE * times[0] {
        return None;
    }
    let numbers = table.get_mut(family)?.as_table_mut()?;
    let parameter = parameters(family, numbers).into_iter().find(|one| one.key == "read_page")?;
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let whole = parameter.read(numbers)?;
    let least = 1000.0 - times[0] + mean;
    let shifted = times.iter().map(|time| time - mean + whole.max(least));
    let shifted = shifted.map(|time| Value::String(format!("{} ns", time.round() as u64)));
    numbers.insert("read_page".to_owned(), Value::Array(shifted.collect()));
    Some(format!("{PAGE_TYPES} types of pages, as lone reads are distributed"))
}

/// A search for the numbers of a device.
struct Search<'a> {
    name: &'a str,
    family: &'static str,
    host: Option<HostTime>,
    wanted: &'a [&'a WantedLoad],
}

impl Search<'_> {
    /// Searches for the numbers that show in each kind of load, one kind after another. Numbers
    /// that turn out not to show are put back, and the others are searched for again.
    fn run(&self, table: &Table, tried: &[FitParameter]) -> (Table, Vec<FittedNumber>) {
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
            if loads.is_empty() {
                continue;
            }
            let parameters: Vec<FitParameter> =
                tried.iter().filter(|parameter| parameter.loads == kind).copied().collect();
            let mut stage = Stage::new(self, &table, &loads, parameters.clone());
            stage.search();
            let errors = stage.errors();
            let shown: Vec<FitParameter> = parameters
                .iter()
                .zip(&errors)
                .filter(|(_, error)| error.is_some())
                .map(|(parameter, _)| *parameter)
                .collect();
            if shown.len() < parameters.len() {
                stage = Stage::new(self, &table, &loads, shown.clone());
                stage.search();
            }
            let again = stage.errors();
            table = stage.table(&stage.places.clone());
            numbers.extend(parameters.iter().map(|parameter| {
                let index = shown.iter().position(|one| one.key == parameter.key);
                FittedNumber {
                    key: parameter.key,
                    with: parameter.with,
                    error: index.and_then(|index| again[index]),
                    how: parameter.how,
                }
            }));
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
    /// The best so far: places within the ranges, and its cost.
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

    /// The device's file with these values; a number that has not moved is left as it was written.
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

    /// The cost of values that are far from those of the class, which decide where loads do not.
    fn departure(&self, places: &[f64]) -> f64 {
        let all = self.parameters.iter().zip(places).zip(&self.begun);
        all.map(|((parameter, &place), &begun)| {
            let factor = parameter.value(place) / parameter.value(begun);
            parameter.departure * factor.ln().powi(2)
        })
        .sum()
    }

    /// Takes a place of one parameter if it is better; returns whether it is.
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

    /// Looks at places all over the ranges, and goes on from the best of them and from the start.
    fn search(&mut self) {
        self.search_lone();
        let count = self.parameters.len();
        let free = self.parameters.iter().filter(|parameter| !parameter.lone).count();
        let mut random = Random::new(Seed(1).derive("matrix fit"));
        let mut starts = vec![(self.cost, self.places.clone())];
        for _ in 0..PLACES * free * free.min(3) {
            let mut places = self.places.clone();
            for (place, parameter) in places.iter_mut().zip(&self.parameters) {
                if !parameter.lone {
                    *place = random.next_f64();
                }
            }
            starts.push((self.cost_of(&places), places));
        }
        // The device of the class may be wrong in one number alone.
        for index in 0..count {
            if self.parameters[index].lone {
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
            self.descend(FIRST_STEP..LEAST_STEP, |parameter| !parameter.lone);
            if self.cost < best.0 {
                best = (self.cost, self.places.clone());
            }
        }
        (self.cost, self.places) = best;
        // A better place may be far off along one number alone.
        for index in 0..count {
            if !self.parameters[index].lone {
                self.try_along(index);
            }
        }
        self.descend(FIRST_STEP..LEAST_STEP, |parameter| !parameter.lone);
        self.descend(LAST_STEP..FINEST_STEP, |_| true);
    }

    /// Fits the numbers that lone requests identify to these alone.
    fn search_lone(&mut self) {
        let loads: Vec<&WantedLoad> =
            self.loads.iter().copied().filter(|load| load.outstanding == 1).collect();
        let parameters: Vec<FitParameter> =
            self.parameters.iter().filter(|parameter| parameter.lone).copied().collect();
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

    /// Steps to better places, from steps as large as the first to those as small as the last;
    /// `moves` are the parameters that move.
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

    /// How far each parameter can be moved alone before the fit is clearly worse.
    fn errors(&mut self) -> Vec<Option<f64>> {
        let limit = (self.cost.sqrt() * CLEARLY + CLEARLY_MORE).powi(2);
        (0..self.parameters.len()).map(|index| self.error(index, limit)).collect()
    }

    fn error(&mut self, index: usize, limit: f64) -> Option<f64> {
        let (parameter, at) = (self.parameters[index], self.places[index]);
        let value = parameter.value(at);
        let mut ends = [None, None];
        for (end, sign) in ends.iter_mut().zip([-1.0, 1.0]) {
            let mut inside = 0.0;
            let mut outside = LEAST_STEP;
            // Doubled until it is clearly worse, or beyond the range.
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
            if !worse {
                continue;
            }
            for _ in 0..3 {
                let middle = f64::midpoint(inside, outside);
                if is_worse(self, middle) { outside = middle } else { inside = middle }
            }
            *end = Some((parameter.value(at + sign * outside) / value - 1.0).abs());
        }
        let bounds = ends.iter().flatten().copied();
        let error = bounds.reduce(f64::max).unwrap_or(1.0);
        // A number shows if it is bounded on both sides, to less than a factor of two.
        if ends.iter().all(Option::is_some) && error <= 1.0 {
            return Some(error);
        }
        // Of another one, the value from which the search began is as good, or it is not.
        let mut places = self.places.clone();
        places[index] = self.begun[index];
        (self.cost_of(&places) > limit).then_some(error)
    }
}

/// The square of how far a model is from what was measured.
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
