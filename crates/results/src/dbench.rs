//! Parses the output of dbench 4, also in the files of MMTests and fsperf (`dbench-4.log`,
//! `dbench60.txt`): its throughput, and the time of each operation. There is a row for each run
//! that ended. The progress of each second is not read.

use crate::measure::{BenchmarkRun, Measure};

const HEAD: &str = "AvgLat";
const RESULT: &str = "Throughput ";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DbenchError {
    #[error("line {line}: expected {expected}")]
    Line { line: usize, expected: &'static str },
    #[error("no line `Throughput N MB/sec`: dbench did not finish")]
    NoResult,
}

/// Returns whether the output has dbench's result, which stands at the end.
pub fn is_dbench(bytes: &[u8]) -> bool {
    const TAIL: usize = 64 << 10;
    let tail = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
    String::from_utf8_lossy(tail)
        .lines()
        .any(|line| line.trim_start().starts_with(RESULT) && line.contains("max_latency="))
}

pub fn parse(bytes: &[u8]) -> Result<Vec<BenchmarkRun>, DbenchError> {
    let text = String::from_utf8_lossy(bytes);
    let mut runs = Vec::new();
    let mut run = BenchmarkRun::default();
    let mut in_table = false;
    for (index, line) in text.lines().enumerate() {
        let wrong = |expected| DbenchError::Line { line: index + 1, expected };
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.trim_start().starts_with(RESULT) {
            result(line, &mut run).ok_or_else(|| {
                wrong("`Throughput N MB/sec  N clients  N procs  max_latency=N ms`")
            })?;
            run.line = index + 1;
            runs.push(std::mem::take(&mut run));
            in_table = false;
        } else if words.contains(&HEAD) {
            in_table = true;
        } else if let ([name, _, mean, max], true) = (words.as_slice(), in_table) {
            let ms = |text: &str| {
                number(text).ok_or_else(|| wrong("`OPERATION COUNT AVERAGE MAXIMUM`, in ms"))
            };
            run.measures.insert(format!("dbench {name} mean"), Measure::time(ms(mean)? * 1e6));
            run.measures.insert(format!("dbench {name} max"), Measure::time(ms(max)? * 1e6));
        }
    }
    if runs.is_empty() { Err(DbenchError::NoResult) } else { Ok(runs) }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number| (0.0..=1e15).contains(number))
}

/// Parses a line such as `Throughput 452.385 MB/sec (sync open)  32 clients  32 procs
/// max_latency=1963.312 ms`.
fn result(line: &str, run: &mut BenchmarkRun) -> Option<()> {
    let (throughput, rest) = line.trim_start().strip_prefix(RESULT)?.split_once(" MB/sec")?;
    let (before, max) = rest.split_once("max_latency=")?;
    run.measures
        .insert("dbench throughput".to_owned(), Measure::rate(number(throughput.trim())?, "MB/s"));
    let max = number(max.trim().strip_suffix("ms")?.trim())?;
    run.measures.insert("dbench max".to_owned(), Measure::time(max * 1e6));
    run.cell.push(("benchmark".to_owned(), "dbench".to_owned()));
    let words: Vec<&str> = before.split_whitespace().collect();
    for pair in words.windows(2) {
        if let [count, what @ ("clients" | "procs")] = pair {
            run.cell.push(((*what).to_owned(), (*count).to_owned()));
        }
    }
    if before.contains("sync open") {
        run.cell.push(("open".to_owned(), "sync".to_owned()));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "  32  cleanup  30 sec

 Operation      Count    AvgLat    MaxLat
 ----------------------------------------
 NTCreateX     119289     1.508   118.125
 Flush           8564    44.629   180.862

Throughput 124.27 MB/sec (sync open)  32 clients  16 procs  max_latency=180.919 ms
";

    #[test]
    fn its_table_and_throughput_are_read() {
        assert!(is_dbench(TEXT.as_bytes()));
        let rows = parse(TEXT.as_bytes()).unwrap();
        let [row] = rows.as_slice() else { panic!("one row") };
        let value = |name: &str| row.measures.get(name).map(|measure| measure.value.round());
        assert_eq!(
            (value("dbench throughput"), value("dbench max")),
            (Some(124.0), Some(180_919_000.0))
        );
        assert_eq!(value("dbench Flush mean"), Some(44_629_000.0));
        let cell: Vec<_> =
            row.cell.iter().map(|(axis, value)| (axis.as_str(), value.as_str())).collect();
        assert_eq!(
            cell,
            [("benchmark", "dbench"), ("clients", "32"), ("procs", "16"), ("open", "sync")]
        );
    }

    #[test]
    fn what_is_cut_short_says_where() {
        assert_eq!(parse(b"NTCreateX"), Err(DbenchError::NoResult));
        let cut = TEXT.strip_suffix(".919 ms\n").unwrap();
        assert!(matches!(parse(cut.as_bytes()), Err(DbenchError::Line { line: 8, .. })));
    }
}
