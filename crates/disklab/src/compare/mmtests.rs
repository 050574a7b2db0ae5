//! Verdicts in the form of MMTests' `compare-mmtests.pl`: the baseline first, one column a treatment, gains in per cent.
//!
//! As there, a positive percentage is a gain, of rates and of times; `( 1.23%)` is not certain, `*  1.23%*` is. Unlike there,
//! the percentage is the change by our methods, and certainty is a verdict of better or worse; values are medians.

use std::io::{self, Write};

use disklab_compare::{Judgement, answer};
use disklab_stats::{Better, Verdict};

/// Digits of a value, with two after the point.
const VALUE: usize = 12;
/// `(   1.23%)`
const PERCENT: usize = 11;

pub fn print(judgements: &[Judgement], out: &mut dyn Write) -> io::Result<()> {
    let mut metrics: Vec<&Judgement> = Vec::new();
    for judgement in judgements {
        if metrics.iter().all(|known| known.metric != judgement.metric) {
            metrics.push(judgement);
        }
    }
    for (index, first) in metrics.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let own: Vec<&Judgement> = judgements.iter().filter(|it| it.metric == first.metric).collect();
        metric(&own, first, out)?;
    }
    Ok(())
}

fn metric(judgements: &[&Judgement], first: &Judgement, out: &mut dyn Write) -> io::Result<()> {
    let mut treatments: Vec<&str> = Vec::new();
    let mut cells: Vec<&Judgement> = Vec::new();
    for judgement in judgements {
        if !treatments.contains(&judgement.treatment.as_str()) {
            treatments.push(&judgement.treatment);
        }
        if cells.iter().all(|known| known.cell != judgement.cell) {
            cells.push(judgement);
        }
    }
    let label = |it: &Judgement| format!("Median    {}", answer::values(&it.cell));
    let width = cells.iter().map(|it| label(it).chars().count()).max().unwrap_or(0);
    let column = VALUE + 1 + PERCENT;
    let unit = if first.unit.is_empty() { String::new() } else { format!(", {}", first.unit) };
    writeln!(out, "{}{unit}", first.metric.name())?;
    let heads: Vec<String> = std::iter::once(first.baseline.as_str())
        .chain(treatments.iter().copied())
        .map(|name| format!("{:>column$}", shortened(name, column)))
        .collect();
    writeln!(out, "{:width$}  {}", "", heads.join("  "))?;
    for cell in cells {
        let mut fields = vec![field(cell.baseline_median, Some(0.0), false)];
        for treatment in &treatments {
            let found = judgements.iter().find(|it| it.cell == cell.cell && it.treatment == *treatment);
            fields.push(found.map_or_else(|| " ".repeat(column), |it| of(it)));
        }
        writeln!(out, "{:width$}  {}", label(cell), fields.join("  "))?;
    }
    Ok(())
}

fn of(judgement: &Judgement) -> String {
    let sign = match judgement.better {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
    };
    let certain = matches!(judgement.verdict, Verdict::Better | Verdict::Worse);
    field(judgement.treatment_median, judgement.change.map(|change| sign * change.percent), certain)
}

fn field(value: Option<f64>, percent: Option<f64>, certain: bool) -> String {
    let value = value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let percent = percent.map_or_else(|| "-".to_owned(), |percent| format!("{:.2}%", percent + 0.0));
    let inner = PERCENT - 2;
    let (open, close) = if certain { ('*', '*') } else { ('(', ')') };
    format!("{value:>VALUE$} {open}{percent:>inner$}{close}")
}

fn shortened(name: &str, most: usize) -> String {
    let letters = name.chars().count();
    if letters <= most { name.to_owned() } else { name.chars().skip(letters - most).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_compare::{Change, Metric};
    use disklab_store::outcome::Cell;

    fn judgement(metric: Metric, better: Better, percent: f64, verdict: Verdict) -> Judgement {
        Judgement {
            cell: Cell(vec![("array".to_owned(), "hdd-raid1".to_owned())]),
            metric,
            treatment: "queue".to_owned(),
            baseline: "pid".to_owned(),
            paired: true,
            trials: (5, 5),
            unit: "1/s".to_owned(),
            given_up: (None, None),
            limits: (None, None),
            better,
            treatment_median: Some(100.0 + percent),
            baseline_median: Some(100.0),
            change: Some(Change { percent, low: percent, high: percent }),
            verdict,
            seeds_to_decide: None,
            remarks: Vec::new(),
        }
    }

    #[test]
    fn a_gain_is_positive_whichever_way_is_good() {
        let all = [
            judgement(Metric::Iops, Better::Higher, 12.5, Verdict::Better),
            judgement(Metric::P99, Better::Lower, 1.5, Verdict::Undecided),
        ];
        let mut out = Vec::new();
        print(&all, &mut out).expect("memory");
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "\
IOPS, 1/s
                                          pid                     queue
Median    hdd-raid1        100.00 (    0.00%)        112.50 *   12.50%*

p99, 1/s
                                          pid                     queue
Median    hdd-raid1        100.00 (    0.00%)        101.50 (   -1.50%)
"
        );
    }
}
