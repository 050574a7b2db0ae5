//! Fits a device to a published matrix. The numbers that the matrix determines are searched for,
//! and each gets an error. The others keep their values, each with the reason.

use std::collections::BTreeMap;

use disklab_config::device::Device;
use disklab_config::host::HostTime;
use disklab_foreign::matrix::MatrixPoint;
use toml::{Table, Value};

pub use super::found::{FitBounds, FittedNumber};
use super::lone_reads::BegunFit;
use super::parameters::{FitParameter, parameters};
use super::run::{HostedDevice, MatrixLoad};
use super::score::{DEEPEST, DepthScore, LoadNumbers, PointScore, by_depth, middle_numbers, score};
use super::search::{Search, bounded, device};
use super::wanted::WantedLoad;
use crate::bench::OnProgress;
use crate::device::{ARM, ONLY_ARMS};

/// The errors, at some depths, of a device that was fitted to others.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossScore {
    pub rw: String,
    /// The depths that the device was fitted to; `scored` are those at which it was scored.
    pub fitted: Vec<u32>,
    pub scored: Vec<u32>,
    /// The median error over the depths that were scored, without sign.
    pub median: LoadNumbers,
    pub worst: LoadNumbers,
}

/// A device that was fitted to a matrix.
#[derive(Debug, Clone)]
pub struct MatrixFit {
    pub device: Device,
    /// The whole device file as a table.
    pub table: Table,
    pub numbers: Vec<FittedNumber>,
    /// Errors at each depth that was fitted, by load.
    pub scores: Vec<(String, DepthScore)>,
    pub crossed: Vec<CrossScore>,
    /// The time of the machine that measured, if the results show it. It is `[host]` of `table`.
    pub host: Option<HostTime>,
    /// Findings, as text for people.
    pub remarks: Vec<String>,
}

/// Fits the device of `table`, a whole device file, to the points of one drive with at most
/// [`DEEPEST`] requests under way. A number whose key is `stated` is searched for only if data
/// sheets are known to differ from measurements in it. `host` is the time of the machine that
/// measured, if it is known. If it is not, the table's `[host]` gets the part that lone reads of an
/// SSD show, and the numbers of the device include the rest.
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
        let (mut tried, mut unseen) = (Vec::new(), Vec::new());
        for parameter in parameters(family, &numbers.unwrap_or_default()) {
            let is_stated = |key: &str| stated.iter().any(|stated| stated == key);
            if is_stated(parameter.key) && !parameter.despite_sheet {
                continue;
            }
            // Coupled keys stay as they are if the sheet states them. If the sheet describes
            // another mode of the drive, only the ratio of the numbers holds, and the keys are
            // scaled.
            let keeps = !parameter.despite_sheet && parameter.with.iter().any(|key| is_stated(key));
            let with = if keeps { &[] } else { parameter.with };
            let parameter = FitParameter { with, ..bounded(parameter, wanted) };
            match parameter.unseen(&depths(wanted, parameter.loads)) {
                Some(why) => unseen.push(parameter.fitted(Err(why))),
                None => tried.push(parameter),
            }
        }
        if tried.is_empty() {
            let why = |number: &FittedNumber| {
                let why = number.found.as_ref().err().map_or("", String::as_str);
                format!("{}: {why}", number.key)
            };
            let reasons: Vec<String> = unseen.iter().map(why).collect();
            return Err(format!(
                "these results determine no number of the device, and the fit needs depth 1 and a \
                 greater one:\n{}",
                reasons.join("\n")
            ));
        }
        let (mut fitted, mut numbers) =
            Search { name, family, host, wanted }.run(&begun.table, &tried);
        numbers.extend(unseen);
        put_back(&mut fitted, table, family, &numbers);
        let device = self::device(name, &fitted)?;
        Ok::<_, String>((HostedDevice { device, host }, fitted, numbers, begun))
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
    let are_types = |number: &FittedNumber| number.key == PAGE_TYPES && number.found.is_ok();
    remarks.extend(begun.page_types.filter(|_| numbers.iter().any(are_types)));
    let scores = own_scores(&hosted, &wanted);
    let device = hosted.device;
    watch("done", 1.0);
    Ok(MatrixFit { device, table, numbers, scores, crossed, host: begun.host, remarks })
}

/// The key to which types of pages are written before a search begins.
const PAGE_TYPES: &str = "read_page";

/// Restores the old types of pages if the results do not determine the time of a page.
fn put_back(fitted: &mut Table, table: &Table, family: &str, numbers: &[FittedNumber]) {
    let unknown = numbers.iter().any(|number| number.key == PAGE_TYPES && number.found.is_err());
    let old = table.get(family).and_then(|numbers| numbers.get(PAGE_TYPES)).filter(|_| unknown);
    let inner = fitted.get_mut(family).and_then(Value::as_table_mut);
    if let Some((inner, old)) = inner.zip(old) {
        inner.insert(PAGE_TYPES.to_owned(), old.clone());
    }
}

/// Returns the numbers of requests under way at which any of these loads was measured, in ascending
/// order.
fn depths(wanted: &[&WantedLoad], rws: &[&str]) -> Vec<u32> {
    let there = wanted.iter().filter(|load| rws.contains(&&*load.rw));
    let mut depths: Vec<u32> = there.map(|load| load.outstanding).collect();
    depths.sort_unstable();
    depths.dedup();
    depths
}

/// Returns the loads that can be run, with at most [`DEEPEST`] requests under way, and remarks on
/// the points that were left out.
fn wanted_loads(device: &Device, points: &[MatrixPoint]) -> (Vec<WantedLoad>, Vec<String>) {
    let mut by_load: BTreeMap<(String, MatrixLoad), Vec<&MatrixPoint>> = BTreeMap::new();
    let (mut deep, mut wrong) = (0, BTreeMap::<String, usize>::new());
    for point in points {
        match MatrixLoad::new(point, device.bytes) {
            Ok(load) if load.outstanding() > DEEPEST => deep += 1,
            // Runs whose durations differ by a second are the same load.
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
            "{deep} points with more than {DEEPEST} requests in flight are not fitted: they show \
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

/// Returns pairs of the depths to fit to and those to score at: the first and the last against
/// those in between, and the reverse if there are several in between, because one depth alone
/// determines little.
fn splits(wanted: &[WantedLoad]) -> Vec<(Vec<u32>, Vec<u32>)> {
    let mut depths: Vec<u32> = wanted.iter().map(|load| load.outstanding).collect();
    depths.sort_unstable();
    depths.dedup();
    let [first, between @ .., last] = &depths[..] else { return Vec::new() };
    let ends = vec![*first, *last];
    match between.len() {
        0 => Vec::new(),
        1 => vec![(ends, between.to_vec())],
        _ => vec![(ends.clone(), between.to_vec()), (between.to_vec(), ends)],
    }
}

/// The largest block, in bytes, of a lone read that shows the disk and not the link.
const SMALL: u64 = 64 << 10;

/// Returns whether lone random reads show that the disk rotates, and their time in ns: true if they
/// take as long as only an arm does, false if they take less than any arm. Returns None in between,
/// or if none were measured.
pub fn turns(points: &[MatrixPoint]) -> Option<(bool, f64)> {
    let is_lone = |point: &&MatrixPoint| {
        point.rw == "randread" && point.outstanding() == 1 && point.block <= SMALL
    };
    let point = points.iter().find(is_lone)?;
    let time = point.percentile(50.0).or(point.mean).unwrap_or(1e9 / point.iops);
    (!(ARM..ONLY_ARMS).contains(&time)).then_some((time >= ONLY_ARMS, time))
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
