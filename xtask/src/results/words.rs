//! Numbers and names as the pages write them.

/// One number over several seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub min: f64,
    /// Of an even number of values, the mean of the two in the middle.
    pub median: f64,
    pub max: f64,
}

/// A range that is told: this part of the median.
const RANGE: f64 = 0.01;

impl Spread {
    /// `None` of no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { min, median: low.midpoint(high), max })
    }

    /// The range, where it is told.
    pub fn range(&self) -> String {
        if self.max - self.min > RANGE * self.median {
            format!(" ({} to {})", digits(self.min), digits(self.max))
        } else {
            String::new()
        }
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

/// Three digits that count, and every whole one, as `disklab show` has them.
pub fn digits(value: f64) -> String {
    let places = match value.abs() {
        // Rounded to that many places they still have three digits, or just one more.
        ..0.0995 => 3,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.places$}")
}

/// Of one, in whole percent; 99.6 % is not all.
pub fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    if (0.01..1.0).contains(&percent) || (99.0..99.95).contains(&percent) {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    }
}

pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A workload as the published tables call it: `randread-4k-qd1` is `RandRead 4 KiB QD1`.
pub fn test(workload: &str) -> String {
    let mut parts = workload.split('-');
    let kind = match parts.next() {
        Some("randread") => "RandRead",
        Some("seqread") => "SeqRead",
        Some("randrw") => "RandRW",
        Some("seqrw") => "SeqRW",
        _ => return workload.to_owned(),
    };
    let size = match parts.next() {
        Some("4k") => "4 KiB",
        Some("1m") => "1 MiB",
        _ => return workload.to_owned(),
    };
    let depth = parts.next().unwrap_or_default().to_uppercase();
    let mix: Vec<_> = parts.collect();
    let mix = if mix.is_empty() { String::new() } else { format!(" {}", mix.join("/")) };
    format!("{kind} {size} {depth}{mix}")
}

/// The depth that a workload has in its name.
pub fn depth(workload: &str) -> Option<u32> {
    workload.split('-').find_map(|part| part.strip_prefix("qd")?.parse().ok())
}

/// What a table of Markdown would take for its own.
pub fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ").replace('<', "&lt;")
}

/// A table: its head, the columns from `right` on to the right, its rows.
pub fn table(head: &[String], right: usize, rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<_> = (0..head.len()).map(|at| if at < right { "---" } else { "---:" }.to_owned()).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{}{body}\n", line(head), line(&rule))
}
