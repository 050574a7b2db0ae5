//! A table with named columns, one run a row: `policy,workload,iops,lat_mean_ms`.
//!
//! A column is one of four kinds:
//!
//! - a number of fio's, by its name and unit: `iops`, `bw_kib_s`, `lat_mean_ms`, `lat_p99_9_us`,
//!   each also with `read_` or `write_` before it;
//! - an option of the load: `iodepth`, `numjobs`, `bs`, `runtime_s`;
//! - the repeat: `seed`, `repeat`, `run`, `iteration`;
//! - any other column is an axis, whose values distinguish the cells.
//!
//! If no column has depth, jobs and request size, they are taken from names such as
//! `randread-4k-qd32`.

mod column;

use std::collections::BTreeSet;

use disklab_units::Nanos;

use crate::directions::{Directions, rates_together};
use crate::format::Unreadable;
use crate::load_name::NamedLoad;
use crate::row::ResultRow;
use column::{AskedOption, CsvColumn, CsvNumber};
use disklab_results::integrity::{Claim, DirectionClaim, Latency};
use disklab_results::measure::Measure;
use disklab_results::remark::Remark;

/// The largest number that is accepted: beyond any rate or latency in ns that can be measured. The
/// limit keeps sums and products finite.
const LARGEST_NUMBER: f64 = 1e18;

/// Largest number of fields of all rows together. A row takes some 6 KB of memory, and each column
/// more. A table with few columns counts as one with ten.
const MOST_FIELDS: usize = 2_000_000;

pub fn parse(bytes: &[u8]) -> Result<Vec<ResultRow>, Unreadable> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let heads = reader.headers().map_err(|error| unreadable(&error))?.clone();
    let mut known = BTreeSet::new();
    if let Some(name) = heads.iter().find(|name| !known.insert(*name)) {
        let name: String = name.chars().take(100).collect();
        return Err(Unreadable::whole(format!(
            "two columns are called `{name}`; give one of them another name, or leave it out"
        )));
    }
    let columns: Vec<CsvColumn> = heads.iter().map(CsvColumn::named).collect();
    if !columns.iter().any(|column| matches!(column, CsvColumn::CsvNumber(..))) {
        let columns = heads.iter().take(20).collect::<Vec<_>>().join(", ");
        let columns: String = columns.chars().take(400).collect();
        return Err(Unreadable::whole(format!(
            "no column has the name of a known number (iops, bw_mib_s, lat_mean_us, lat_p99_ms, \
             read_iops, ...); the columns are {columns}"
        )));
    }
    let mut rows = Vec::new();
    let most = MOST_FIELDS / columns.len().max(10);
    for record in reader.records() {
        if rows.len() == most {
            return Err(Unreadable::whole(format!(
                "it has more than {most} lines, the most for a table of {} columns; divide it into \
                 several files, and import each",
                columns.len()
            )));
        }
        let record = record.map_err(|error| unreadable(&error))?;
        let line = record.position().map_or(0, |position| {
            // If a line ends in CR LF, the reader still has the LF of the line before.
            let before = bytes.get(position.byte() as usize) == Some(&b'\n');
            position.line() + u64::from(before)
        });
        rows.push(
            row(&columns, heads.iter().zip(&record), line)
                .map_err(|message| Unreadable::line(line, message))?,
        );
    }
    if rows.is_empty() {
        return Err(Unreadable::whole("it has only the line of column names"));
    }
    Ok(rows)
}

fn unreadable(error: &csv::Error) -> Unreadable {
    let line = error.position().map_or(1, csv::Position::line);
    Unreadable::line(line, error.to_string())
}

fn row<'a>(
    columns: &[CsvColumn],
    fields: impl Iterator<Item = (&'a str, &'a str)>,
    line: u64,
) -> Result<ResultRow, String> {
    let mut row = ResultRow { place: format!("line {line}"), ..ResultRow::default() };
    let mut parts = Directions::new();
    let mut named = NamedLoad::default();
    let (mut iodepth, mut numjobs) = (None, None);
    for (column, (head, field)) in columns.iter().zip(fields) {
        let number = || -> Result<Option<f64>, String> {
            if matches!(field, "" | "-" | "NA" | "N/A" | "n/a" | "nan" | "NaN") {
                return Ok(None);
            }
            let value = field.parse().ok().filter(|value: &f64| value.is_finite());
            value.map(Some).ok_or_else(|| format!("`{head}`: {field:?} is not a number"))
        };
        match column {
            CsvColumn::CsvNumber(direction, kind, scale) => {
                let Some(value) = number()?.map(|value| value * scale) else { continue };
                if value.abs() > LARGEST_NUMBER {
                    return Err(format!("`{head}`: {field:?} is larger than any measured number"));
                }
                put(parts.entry(*direction).or_default(), *kind, value);
                row.measures.insert(format!("{direction}{}", kind.name()), kind.measure(value));
            }
            CsvColumn::AskedOption(asked) => {
                let value = number()?;
                let whole = value.filter(|value| *value >= 1.0).map(|value| value as u32);
                match asked {
                    AskedOption::Iodepth => iodepth = whole,
                    AskedOption::Numjobs => numjobs = whole,
                    AskedOption::RuntimeSeconds => {
                        row.claim.ran = value.map(|seconds| Nanos((seconds * 1e9) as u64));
                    }
                }
                if *asked != AskedOption::RuntimeSeconds {
                    row.cell.push((head.to_owned(), field.to_owned()));
                }
            }
            CsvColumn::Repeat => row.repeat = field.parse().ok(),
            CsvColumn::Axis => {
                row.cell.push((head.to_owned(), field.to_owned()));
                let own = NamedLoad::parse(field);
                named.block = named.block.or(own.block);
                named.iodepth = named.iodepth.or(own.iodepth);
                named.numjobs = named.numjobs.or(own.numjobs);
            }
        }
    }
    let depth: Option<u32> = iodepth.or(named.iodepth);
    let jobs: u32 = numjobs.or(named.numjobs).unwrap_or(1);
    if parts.len() > 1 && !parts.contains_key("") {
        row.measures.extend(rates_together(&parts));
    }
    if row.measures.values().all(|measure| measure.value == 0.0) {
        row.remarks.push(Remark::NoRequests);
    }
    row.claim = Claim {
        in_flight: depth.map(|depth| depth.saturating_mul(jobs)),
        block: named.block,
        parts: parts.into_values().map(sorted).collect(),
        ..row.claim
    };
    Ok(row)
}

fn put(part: &mut DirectionClaim, kind: CsvNumber, value: f64) {
    match kind {
        CsvNumber::Iops => part.iops = Some(value),
        CsvNumber::Bandwidth => part.bytes_per_second = Some(value),
        CsvNumber::Requests => part.requests = Some(value as u64),
        CsvNumber::Mean => (part.mean, part.latency.mean) = (Some(value), Some(value)),
        CsvNumber::Min => part.latency.min = Some(value),
        CsvNumber::Max => part.latency.max = Some(value),
        CsvNumber::Percentile(thousandths) => {
            part.latency.percentiles.push((f64::from(thousandths) / 1000.0, value));
        }
    }
}

fn sorted(mut part: DirectionClaim) -> DirectionClaim {
    let Latency { percentiles, .. } = &mut part.latency;
    percentiles.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    part
}

impl CsvNumber {
    fn measure(self, value: f64) -> Measure {
        match self {
            Self::Iops => Measure::rate(value, "1/s"),
            Self::Bandwidth => Measure::rate(value, "bytes/s"),
            Self::Requests => Measure::rate(value, "requests"),
            Self::Mean | Self::Min | Self::Max | Self::Percentile(_) => Measure::time(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_where_it_is_however_lines_end() {
        for end in ["\n", "\r\n"] {
            let text =
                ["policy,iops", "pid,100", "queue,200"].map(|line| format!("{line}{end}")).concat();
            let rows = parse(text.as_bytes()).expect("a table");
            assert_eq!(
                rows.iter().map(|row| row.place.as_str()).collect::<Vec<_>>(),
                ["line 2", "line 3"]
            );
        }
    }

    #[test]
    fn a_table_that_would_fill_the_memory_is_refused() {
        let text = "policy,iops\n".to_owned() + &"pid,1\n".repeat(200_001);
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(error.message.contains("more than 200000 lines"), "{error}");
        let wide: Vec<String> = (0..1000).map(|column| format!("c{column}")).collect();
        let line = "1,".repeat(1000) + "1\n";
        let text = wide.join(",") + ",iops\n" + &line.repeat(2000);
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(error.message.contains("more than 1998 lines"), "{error}");
    }

    #[test]
    fn two_columns_of_one_name_are_refused() {
        let error = parse(b"policy,iops,iops\npid,100,200\n").unwrap_err();
        assert!(error.message.starts_with("two columns are called `iops`"), "{error}");
    }

    #[test]
    fn numbers_and_names_make_a_claim() {
        let text = "policy,workload,jobs,read_iops,write_iops,read_lat_mean_ms,seed\n\
                    pid,randrw-4k-qd8,2,1000,-,4,3\n";
        let row = parse(text.as_bytes()).expect("a table").remove(0);
        assert_eq!(
            (row.claim.in_flight, row.claim.block, row.repeat),
            (Some(16), Some(4096), Some(3))
        );
        assert_eq!(row.measures["read iops"], Measure::rate(1000.0, "1/s"));
        assert_eq!(row.measures["read mean"], Measure::time(4e6));
        assert!(!row.measures.contains_key("write iops") && !row.measures.contains_key("iops"));
        let axes: Vec<&str> = row.cell.iter().map(|(axis, _)| axis.as_str()).collect();
        assert_eq!(axes, ["policy", "workload", "jobs"]);
    }
}
