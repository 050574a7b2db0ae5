//! The published tables.

use anyhow::Context;

use super::kind::{Is, Kind};
use super::merged::Place;
use super::words;

/// Off by more than this part, a row breaks Little's law.
const LITTLE: f64 = 0.20;

#[derive(Debug)]
pub struct Published {
    /// In the order of the file.
    pub sources: Vec<String>,
    pub rows: Vec<Row>,
}

#[derive(Debug)]
pub struct Row {
    pub source: String,
    pub place: Place,
    pub policy: String,
    /// Of each column of the page, and as they were published.
    pub values: Vec<Option<f64>>,
    pub texts: Vec<String>,
    /// Reads and writes together.
    pub iops: f64,
    /// IOPS times mean latency, and the requests that were kept in flight; none without latencies.
    in_flight: Option<(f64, f64)>,
}

impl Row {
    /// What it says of IOPS and of latency cannot both be so.
    pub fn breaks_littles_law(&self) -> bool {
        self.in_flight.is_some_and(|(told, kept)| (told - kept).abs() > LITTLE * kept)
    }
}

/// What their tables call our array. No published array is like ours in more than its name says.
fn their_array(array: &str) -> &str {
    if array == "hdd-8-mixed" { "hdd-8-mixed-bcache" } else { array }
}

/// Their mixed workloads are half and half.
fn their_workload(workload: &str) -> &str {
    workload.strip_suffix("-50-50").unwrap_or(workload)
}

impl Published {
    pub fn read(kind: &Kind) -> anyhow::Result<Self> {
        let mut lines = kind.published.lines();
        let head: Vec<_> = lines.next().unwrap_or_default().split(',').collect();
        let rows = lines.enumerate().map(|(index, line)| {
            row(kind, &head, line).with_context(|| format!("published tables, line {}", index + 2))
        });
        let rows = rows.collect::<anyhow::Result<Vec<_>>>()?;
        let mut sources: Vec<String> = Vec::new();
        for row in &rows {
            if !sources.contains(&row.source) {
                sources.push(row.source.clone());
            }
        }
        Ok(Self { sources, rows })
    }

    pub fn find(&self, source: &str, place: &Place, policy: &str) -> Option<&Row> {
        let theirs = Place {
            array: their_array(&place.array).to_owned(),
            workload: their_workload(&place.workload).to_owned(),
            ..place.clone()
        };
        self.rows.iter().find(|row| row.source == source && row.place == theirs && row.policy == policy)
    }

    /// Those that have anything of one of these places.
    pub fn sources_of(&self, places: &[Place], policies: &[&str]) -> Vec<&str> {
        let has = |source: &&str| {
            places
                .iter()
                .any(|place| policies.iter().any(|policy| self.find(source, place, policy).is_some()))
        };
        self.sources.iter().map(String::as_str).filter(has).collect()
    }
}

fn row(kind: &Kind, head: &[&str], line: &str) -> anyhow::Result<Row> {
    let cells: Vec<_> = line.split(',').collect();
    anyhow::ensure!(cells.len() == head.len(), "{} columns, not {}", cells.len(), head.len());
    let text = |name: &str| head.iter().position(|known| *known == name).map(|at| cells[at]);
    let required = |name: &str| text(name).map(str::to_owned).with_context(|| format!("no column {name}"));
    let number = |name: &str| match text(name) {
        None => anyhow::bail!("no column {name}"),
        Some("") => Ok(None),
        Some(text) => Ok(Some(text.parse::<f64>()?)),
    };
    let values = kind.columns.iter().map(|column| number(column.csv));
    let values = values.collect::<anyhow::Result<Vec<Option<f64>>>>()?;
    let all = |is: Is| kind.columns.iter().zip(&values).filter(move |(column, _)| column.is == is);
    let place = Place {
        array: required("array")?,
        background: text("background").unwrap_or("none").to_owned(),
        jobs: text("jobs").unwrap_or("1").parse()?,
        workload: required("workload")?,
    };
    let told: Option<f64> =
        all(Is::Iops).zip(all(Is::Mean)).map(|((_, iops), (_, mean))| Some((*iops)? * (*mean)? / 1e3)).sum();
    let kept = words::depth(&place.workload).map(|depth| f64::from(depth * place.jobs));
    Ok(Row {
        source: required("source")?,
        policy: required("policy")?,
        iops: all(Is::Iops).filter_map(|(_, value)| *value).sum(),
        in_flight: told.zip(kept),
        texts: kind.columns.iter().map(|column| text(column.csv).unwrap_or_default().to_owned()).collect(),
        place,
        values,
    })
}
