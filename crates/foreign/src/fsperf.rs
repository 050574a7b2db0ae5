//! Parses fsperf's comparisons as it prints them, also quoted in mail. Parses the rows of its
//! database's table `fio_results`, joined with `runs`, from a CSV with the names of the columns.
//!
//! A comparison is of means over runs, and becomes two rows, `baseline` and `current`. The database
//! itself (SQLite), its pages of results, and mail that quotes `=` as `=3D` are not read. The
//! output of fio and dbench in `results/` is read in their own formats.

mod metric;

use crate::directions::Directions;
use crate::format::{Unreadable, unquoted};
use crate::row::ResultRow;
use disklab_results::integrity::Claim;
use disklab_results::measure::cell_of;
use disklab_results::remark::Remark;
use metric::Metric;

fn is_head(line: &str) -> bool {
    unquoted(line).split_whitespace().take(3).eq(["metric", "baseline", "current"])
}

pub fn is_comparison(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).lines().any(is_head)
}

/// The numbers of one run during parsing.
#[derive(Default)]
struct RunNumbers {
    row: ResultRow,
    parts: Directions,
}

impl RunNumbers {
    fn put(&mut self, name: &str, value: f64) {
        let metric = Metric::named(name);
        if let Some(direction) = metric.direction {
            // A load that does not write has zeros for its writes.
            if value == 0.0 {
                return;
            }
            metric.claim(value, self.parts.entry(direction).or_default());
        }
        self.row.measures.insert(metric.name.clone(), metric.measure(value));
    }

    fn finish(mut self, of_fio: bool) -> ResultRow {
        if of_fio && self.parts.is_empty() {
            self.row.remarks.push(Remark::NoRequests);
        }
        self.row.claim = Claim { parts: self.parts.into_values().collect(), ..Claim::default() };
        self.row
    }
}

/// Parses lines `NAME results`, `metric baseline current stdev diff`, and one for each metric, up
/// to an empty line.
pub fn comparison(bytes: &[u8]) -> Result<Vec<ResultRow>, Unreadable> {
    let printed = String::from_utf8_lossy(bytes);
    let (mut config, mut test) = (None, None);
    let mut rows = Vec::new();
    let mut table: Option<[RunNumbers; 2]> = None;
    for (index, line) in printed.lines().enumerate() {
        let line = unquoted(line);
        if is_head(line) {
            rows.extend(table.take().into_iter().flatten().map(|numbers| numbers.finish(false)));
            table = Some(["baseline", "current"].map(|run| begin(index + 1, run, config, test)));
        } else if let Some(name) = line.strip_suffix(" test results") {
            (config, test) = (Some(name), None);
        } else if let Some(name) = line.strip_suffix(" results") {
            test = Some(name);
        } else if line.starts_with("===") {
        } else if let Some((name, values)) = line.split_once(char::is_whitespace)
            && let Some([baseline, current]) = &mut table
        {
            let Some(values) = two(values) else {
                let expected = "expected `METRIC BASELINE CURRENT STDEV DIFFERENCE%`";
                return Err(Unreadable::line(index + 1, expected));
            };
            baseline.put(name, values[0]);
            current.put(name, values[1]);
        } else {
            rows.extend(table.take().into_iter().flatten().map(|numbers| numbers.finish(false)));
        }
    }
    rows.extend(table.into_iter().flatten().map(|numbers| numbers.finish(false)));
    rows.retain(|row| !row.measures.is_empty());
    some(rows)
}

fn begin(line: usize, run: &str, config: Option<&str>, test: Option<&str>) -> RunNumbers {
    let cell = cell_of([("test", test), ("config", config), ("run", Some(run))]);
    let row = ResultRow { place: format!("line {line}, {run}"), cell, ..ResultRow::default() };
    RunNumbers { row, ..RunNumbers::default() }
}

/// Returns the first two numbers of a line that ends in a difference, which may have colours around
/// it.
fn two(values: &str) -> Option<[f64; 2]> {
    if !values.contains('%') {
        return None;
    }
    let mut words = values.split_whitespace().map(number);
    Some([words.next()??, words.next()??])
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| (0.0..=1e18).contains(number))
}

fn some(rows: Vec<ResultRow>) -> Result<Vec<ResultRow>, Unreadable> {
    if rows.is_empty() { Err(Unreadable::whole("it has no result")) } else { Ok(rows) }
}

/// Returns whether the first line names columns of `fio_results`.
pub fn is_exported(head: &[u8]) -> bool {
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let columns: Vec<&str> =
        first.split(',').map(|column| column.trim().trim_matches('"')).collect();
    ["read_lat_ns_mean", "write_lat_ns_mean"].iter().all(|name| columns.contains(name))
}

/// Columns that distinguish runs. The other columns are numbers, except ids and the time.
const CELL: [&str; 6] = ["name", "config", "kernel", "hostname", "purpose", "test"];
const PASSED_OVER: [&str; 3] = ["id", "run_id", "time"];

pub fn exported(bytes: &[u8]) -> Result<Vec<ResultRow>, Unreadable> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let wrong =
        |line: u64, expected: String| Unreadable::line(line, format!("expected {expected}"));
    let heads = reader.headers().map_err(|error| wrong(1, error.to_string()))?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let line = |position: Option<&csv::Position>| position.map_or(0, csv::Position::line);
        let record = record.map_err(|error| wrong(line(error.position()), error.to_string()))?;
        let line = line(record.position());
        let mut numbers = RunNumbers::default();
        numbers.row.place = format!("line {line}");
        for (head, field) in
            heads.iter().zip(&record).filter(|(head, _)| !PASSED_OVER.contains(head))
        {
            if CELL.contains(&head) {
                let axis = if head == "name" { "test" } else { head };
                numbers.row.cell.push((axis.to_owned(), field.to_owned()));
            } else if !field.is_empty() {
                let value =
                    number(field).ok_or_else(|| wrong(line, format!("a number for `{head}`")))?;
                numbers.put(head, value);
            }
        }
        rows.push(numbers.finish(true));
    }
    some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_results::integrity::check;
    use disklab_results::measure::Better;

    const TEXT: &str = "\
btrfs test results
emptyfiles500k results
     metric         baseline   current      stdev         diff
==============================================================
elapsed                 49.30            33          1.64   \u{1b}[92m-33.06%\u{1b}[0m
write_bw_bytes        42935768.20   64318451.10    1609415.05    49.80% *
write_clat_ns_mean      366431.69     243202.60      14161.98   -33.63% *
write_clat_ns_p99          827392     653721.60      65904.74   -20.99% *
write_iops               10482.37      15702.75        392.92    49.80% *
write_lat_ns_max         1.01e+08      90516129    3910102.06   -10.29% *
write_lat_ns_mean       366556.19     243308.48      14154.51   -33.62% *

>      metric         baseline   current         diff
> ====================
> throughput            97.5   99.5   2.00%
";

    #[test]
    fn a_comparison_is_two_rows() {
        assert!(is_comparison(TEXT.as_bytes()));
        let rows = comparison(TEXT.as_bytes()).unwrap();
        assert_eq!(rows.len(), 4);
        let cell: Vec<_> =
            rows[1].cell.iter().map(|(axis, value)| (axis.as_str(), value.as_str())).collect();
        assert_eq!(cell, [("test", "emptyfiles500k"), ("config", "btrfs"), ("run", "current")]);
        let measure = |name: &str| {
            rows[1].measures.get(name).map(|measure| (measure.value, measure.unit.as_str()))
        };
        assert_eq!(measure("write iops"), Some((15_702.75, "1/s")));
        assert_eq!(measure("write p99"), Some((653_721.6, "ns")));
        assert_eq!(measure("elapsed"), Some((33.0, "s")));
        assert_eq!(
            rows[3].measures.get("throughput").map(|measure| measure.better),
            Some(Better::Higher)
        );
        assert_eq!(check(&rows[1].claim), []);
        let cut = TEXT.split_once("  392.92").unwrap().0;
        assert_eq!(comparison(cut.as_bytes()).unwrap_err().line, Some(9));
    }

    #[test]
    fn exported_rows_have_their_runs() {
        let text = "id,name,kernel,config,read_iops,read_lat_ns_mean,read_lat_ns_max,\
                    write_iops,write_lat_ns_mean,sys_cpu\n\
                    7,dio-randread,6.9,btrfs,1000.5,20000,90000,0,0,3.5\n";
        assert!(is_exported(text.as_bytes()));
        let rows = exported(text.as_bytes()).unwrap();
        let names: Vec<_> = rows[0].measures.keys().map(String::as_str).collect();
        assert_eq!(names, ["read iops", "read max", "read mean", "sys_cpu"]);
        assert_eq!((rows[0].claim.parts.len(), rows[0].cell.len()), (1, 3));
        assert!(exported(text.replace("1000.5", "many").as_bytes()).is_err());
    }
}
