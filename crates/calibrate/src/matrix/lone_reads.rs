//! Reads the types of an SSD's pages and the time of the machine from the distribution of lone
//! reads. Neither needs a search.

use disklab_config::host::HostTime;
use disklab_units::Nanos;
use toml::{Table, Value};

use super::parameters::parameters;
use super::wanted::WantedLoad;

/// Number of types of pages of an SSD that are read from the distribution of lone reads.
const PAGE_TYPES: usize = 16;
/// All pages count as one type if the slowest takes no more than this times the fastest.
const ALIKE: f64 = 1.05;

/// Least number of percentiles of a distribution from which types of pages are read.
const LEAST_PERCENTILES: usize = 8;
/// Name of the table, in a device's file, with the time of the machine that measured.
const HOST: &str = "host";
/// The largest fraction of a lone read that may be the machine's. `LEAST_HOST` is the machine's
/// least time, in ns.
const HOST_PART: f64 = 0.5;
const LEAST_HOST: f64 = 500.0;

/// Returns the middles of the sixteen equal parts of a distribution, in ns.
pub(super) fn sixteenths(known: &[(f64, f64)]) -> Option<Vec<f64>> {
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

/// Returns the time of the machine that measured, as far as lone reads show it. fio's completion
/// latencies begin when a read was submitted, and its rate includes the time before that.
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

/// A device's file from which a search begins, with the numbers that the distribution of lone reads
/// shows.
pub(super) struct BegunFit {
    pub table: Table,
    pub host: Option<HostTime>,
    /// A remark on the number of types of pages that lone reads show, if they show several.
    pub page_types: Option<String>,
}

impl BegunFit {
    /// Prepares a device's file for a search. `known` is the time of the machine, if it need not be
    /// read from the loads.
    pub fn new(
        table: &Table,
        family: &str,
        wanted: &[&WantedLoad],
        known: Option<HostTime>,
    ) -> Self {
        let mut table = table.clone();
        let page_types = set_page_types(&mut table, family, wanted);
        let host = if known.is_none() { host_of_lone_reads(family, wanted) } else { None };
        if let Some(host) = host {
            let submit = Value::String(format!("{} ns", host.submit.0));
            table.insert(HOST.to_owned(), Table::from_iter([("submit".to_owned(), submit)]).into());
        }
        Self { table, host, page_types }
    }
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
