//! The published tables.

use anyhow::Context;
use itertools::{Itertools, iproduct};

use super::axes::CellPlace;
use super::kind::{Is, Kind};
use super::words;

/// Deviation, as a share, from which on a row breaks Little's law.
pub const LITTLE: f64 = 0.20;

#[derive(Debug)]
pub struct Published {
    /// Sources in the order of the file.
    pub sources: Vec<String>,
    pub rows: Vec<Row>,
    /// The array of ours that is compared with the first author's.
    beside_pool: Option<&'static str>,
}

#[derive(Debug)]
pub struct Row {
    pub source: String,
    pub place: CellPlace,
    pub policy: String,
    /// Values of each column of the page, as numbers and as published.
    pub values: Vec<Option<f64>>,
    pub texts: Vec<String>,
    /// IOPS of reads and writes together.
    pub iops: f64,
    /// The product of IOPS and mean latency, and the number of requests that were kept in flight.
    /// It is None without latencies.
    in_flight: Option<(f64, f64)>,
}

impl Row {
    /// Returns its first number of this kind.
    pub fn value(&self, kind: &Kind, is: Is) -> Option<f64> {
        let mut columns =
            kind.columns.iter().zip(&self.values).filter(|(column, _)| column.is == is);
        columns.next().and_then(|(_, value)| *value)
    }

    /// Returns true if its IOPS and its latency contradict each other.
    pub fn breaks_littles_law(&self) -> bool {
        self.in_flight.is_some_and(|(told, kept)| (told - kept).abs() > LITTLE * kept)
    }
}

/// Name of the first author's array in the tables.
pub const POOL: &str = "hdd-8-mixed-bcache";

/// Our arrays that may be compared with it, the most similar one first.
const BESIDE_POOL: [&str; 2] = [POOL, "hdd-8-mixed"];

/// The gist's first run, which the gist describes in prose, in the form of its tables.
pub const FIRST_RUN: &str =
    include_str!("../../../docs/results/published/btrfs-read-policy-first-run.csv");

/// Returns the workload in the tables. Their mixed workloads are half reads and half writes.
fn their_workload(workload: &str) -> &str {
    workload.strip_suffix("-50-50").unwrap_or(workload)
}

impl Published {
    /// Reads the tables of a page, for comparison with records of these arrays.
    pub fn read(kind: &Kind, arrays: &[String]) -> anyhow::Result<Self> {
        Self::of_csv(kind, kind.published, arrays)
    }

    /// Parses tables in the form of a page's.
    pub fn of_csv(kind: &Kind, csv: &str, arrays: &[String]) -> anyhow::Result<Self> {
        let mut lines = csv.lines();
        let head: Vec<_> = lines.next().unwrap_or_default().split(',').collect();
        let rows = lines.enumerate().map(|(index, line)| {
            row(kind, &head, line).with_context(|| format!("published tables, line {}", index + 2))
        });
        let rows: Vec<Row> = rows.collect::<anyhow::Result<_>>()?;
        let sources = rows.iter().map(|row| row.source.clone()).unique().collect();
        let beside_pool =
            BESIDE_POOL.into_iter().find(|ours| arrays.iter().any(|array| array == ours));
        Ok(Self { sources, rows, beside_pool })
    }

    /// Returns the name in the tables of the array that is compared with ours, or `None` if it is
    /// compared with another. Published arrays resemble ours in name only.
    pub fn array_beside<'a>(&self, ours: &'a str) -> Option<&'a str> {
        if !BESIDE_POOL.contains(&ours) {
            return Some(ours);
        }
        (self.beside_pool == Some(ours)).then_some(POOL)
    }

    pub fn find(&self, source: &str, place: &CellPlace, policy: &str) -> Option<&Row> {
        let theirs = CellPlace {
            array: self.array_beside(&place.array)?.to_owned(),
            workload: their_workload(&place.workload).to_owned(),
            ..place.clone()
        };
        self.rows
            .iter()
            .find(|row| row.source == source && row.place == theirs && row.policy == policy)
    }

    /// Returns the sources with a row for one of these places.
    pub fn sources_of(&self, places: &[CellPlace], policies: &[&str]) -> Vec<&str> {
        let has = |source: &&str| {
            let mut rows = iproduct!(places, policies);
            rows.any(|(place, policy)| self.find(source, place, policy).is_some())
        };
        self.sources.iter().map(String::as_str).filter(has).collect()
    }
}

fn row(kind: &Kind, head: &[&str], line: &str) -> anyhow::Result<Row> {
    let cells: Vec<_> = line.split(',').collect();
    anyhow::ensure!(
        cells.len() == head.len(),
        "expected {} columns, as in the head; found {}",
        head.len(),
        cells.len()
    );
    let text = |name: &str| head.iter().position(|known| *known == name).map(|at| cells[at]);
    let required = |name: &str| {
        let found = text(name).map(str::to_owned);
        found.with_context(|| format!("the column `{name}` is missing"))
    };
    let number = |name: &str| match text(name) {
        None => anyhow::bail!("the column `{name}` is missing"),
        Some("") => Ok(None),
        Some(text) => {
            let wrong = || format!("the column `{name}`: expected a number, found `{text}`");
            Ok(Some(text.parse::<f64>().with_context(wrong)?))
        }
    };
    let values = kind.columns.iter().map(|column| number(column.csv));
    let values = values.collect::<anyhow::Result<Vec<Option<f64>>>>()?;
    let all = |is: Is| kind.columns.iter().zip(&values).filter(move |(column, _)| column.is == is);
    let place = CellPlace {
        array: required("array")?,
        background: text("background").unwrap_or("none").to_owned(),
        jobs: text("jobs").unwrap_or("1").parse()?,
        workload: required("workload")?,
    };
    let told: Option<f64> = all(Is::Iops)
        .zip(all(Is::Mean))
        .map(|((_, iops), (_, mean))| Some((*iops)? * (*mean)? / 1e3))
        .sum();
    let kept = words::depth(&place.workload).map(|depth| f64::from(depth * place.jobs));
    Ok(Row {
        source: required("source")?,
        policy: required("policy")?,
        iops: all(Is::Iops).filter_map(|(_, value)| *value).sum(),
        in_flight: told.zip(kept),
        texts: kind
            .columns
            .iter()
            .map(|column| text(column.csv).unwrap_or_default().to_owned())
            .collect(),
        place,
        values,
    })
}
