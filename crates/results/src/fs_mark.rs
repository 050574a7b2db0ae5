//! Parses the output of fs_mark 3, also in MMTests' files (`fsmark-1.log`): a line for each
//! iteration below `FSUse%`. A row for each run has the files per second over all iterations, and
//! in the slowest iteration.

use crate::measure::{BenchmarkRun, Measure, cell_of};

const HEAD: &str = "FSUse%";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected the numbers of an iteration below `FSUse%  Count  Size  Files/sec`")]
pub struct FsMarkError {
    pub line: usize,
}

pub fn is_fs_mark(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).lines().any(is_head)
}

fn is_head(line: &str) -> bool {
    line.starts_with(HEAD) && line.contains("Files/sec")
}

/// A run of fs_mark.
struct FsMarkRun<'a> {
    line: usize,
    threads: Option<&'a str>,
    size: Option<&'a str>,
    /// Files per second, by iteration.
    rates: Vec<f64>,
}

pub fn parse(bytes: &[u8]) -> Result<Vec<BenchmarkRun>, FsMarkError> {
    let text = String::from_utf8_lossy(bytes);
    let mut runs: Vec<FsMarkRun> = Vec::new();
    let mut threads = None;
    for (index, line) in text.lines().enumerate() {
        if let Some((before, _)) = line.split_once(" thread(s)") {
            threads = before.split_whitespace().next_back();
        } else if is_head(line) {
            runs.push(FsMarkRun { line: index + 1, threads, size: None, rates: Vec::new() });
        } else if let Some(run) = runs.last_mut()
            && let Some((size, rate)) = iteration(line)
        {
            run.size = Some(size);
            run.rates.push(rate);
        }
    }
    runs.iter().map(|run| benchmark_run(run).ok_or(FsMarkError { line: run.line })).collect()
}

/// Parses a line such as `0  1600000  0  262602.4  11654020` into the size of the files and the
/// files per second.
fn iteration(line: &str) -> Option<(&str, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [used, count, size, rate, overhead, ..] = words.as_slice() else { return None };
    let whole = [used, count, size, overhead].iter().all(|word| word.parse::<u64>().is_ok());
    let rate: f64 = rate.parse().ok().filter(|rate| *rate > 0.0 && *rate <= 1e12)?;
    whole.then_some((size, rate))
}

fn benchmark_run(run: &FsMarkRun) -> Option<BenchmarkRun> {
    let slowest = run.rates.iter().copied().min_by(f64::total_cmp)?;
    // Each iteration makes the same number of files, and takes its own time.
    let over_all = run.rates.len() as f64 / run.rates.iter().map(|rate| 1.0 / rate).sum::<f64>();
    let measure =
        |name: &str, value: f64| (format!("fs_mark {name}"), Measure::rate(value, "files/s"));
    let cell = [("benchmark", Some("fs_mark")), ("threads", run.threads), ("size", run.size)];
    Some(BenchmarkRun {
        line: run.line,
        cell: cell_of(cell),
        measures: [measure("files", over_all), measure("slowest", slowest)].into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
#       Version 3.3, 16 thread(s) starting at Tue May 12 11:48:45 2020

FSUse%        Count         Size    Files/sec     App Overhead
     0      1600000         4096       1000.0         11654020
     0      3200000         4096        500.0         11996380
Insufficient free space
";

    #[test]
    fn iterations_are_one_run() {
        assert!(is_fs_mark(TEXT.as_bytes()));
        let rows = parse(TEXT.as_bytes()).unwrap();
        let value = |name: &str| rows[0].measures.get(name).map(|measure| measure.value.round());
        assert_eq!((value("fs_mark files"), value("fs_mark slowest")), (Some(667.0), Some(500.0)));
        let cell: Vec<_> = rows[0].cell.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(cell, ["fs_mark", "16", "4096"]);
        let cut = TEXT.split_once("     0").unwrap().0;
        assert_eq!(parse(cut.as_bytes()), Err(FsMarkError { line: 3 }));
    }
}
