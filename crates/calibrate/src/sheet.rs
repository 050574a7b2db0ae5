//! What was found, number by number, as a file of `lab/devices`: each with its error and how it was
//! found, or what was assumed to reckon it, or why it was not seen and what stands in its place.

use std::fmt::Write;

use disklab_units::prose::visible;

/// Where a number is from.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    Measured {
        /// As a part of it; `None` where it is no quantity.
        error: Option<f64>,
        how: String,
    },
    /// Reckoned from what was measured and something that was not: no error can be told.
    Derived { how: String, if_true: String },
    /// A default stands there.
    NotVisible { why: String },
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub key: &'static str,
    /// As TOML.
    pub value: String,
    pub mark: Mark,
}

/// All numbers of a disk, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    pub lines: Vec<Line>,
}

impl Sheet {
    /// Measured, to within a part `error`.
    pub(crate) fn measured(
        &mut self,
        key: &'static str,
        value: String,
        error: f64,
        how: impl Into<String>,
    ) {
        let error = Some(error);
        self.lines.push(Line { key, value, mark: Mark::Measured { error, how: how.into() } });
    }

    /// Found out, and no quantity.
    pub(crate) fn found(&mut self, key: &'static str, value: String, how: impl Into<String>) {
        self.lines.push(Line { key, value, mark: Mark::Measured { error: None, how: how.into() } });
    }

    /// Reckoned from what was measured; right if something is true that was not.
    pub(crate) fn derived(
        &mut self,
        key: &'static str,
        value: String,
        if_true: impl Into<String>,
        how: impl Into<String>,
    ) {
        let mark = Mark::Derived { how: how.into(), if_true: if_true.into() };
        self.lines.push(Line { key, value, mark });
    }

    /// Measured, or, where that needed something that was assumed, derived.
    pub(crate) fn measured_if(
        &mut self,
        assumed: Option<&str>,
        key: &'static str,
        value: String,
        error: f64,
        how: impl Into<String>,
    ) {
        match assumed {
            Some(assumed) => self.derived(key, value, assumed, how),
            None => self.measured(key, value, error, how),
        }
    }

    pub(crate) fn not_visible(&mut self, key: &'static str, value: String, why: impl Into<String>) {
        self.lines.push(Line { key, value, mark: Mark::NotVisible { why: why.into() } });
    }

    /// In the order of `keys`.
    pub(crate) fn sort(&mut self, keys: &[&str]) {
        self.lines.sort_by_key(|line| keys.iter().position(|key| *key == line.key));
    }

    /// The file: `head` becomes comments, `family` is the table's name.
    pub fn file(&self, head: &[String], summary: &str, size: &str, family: &str) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        for line in head {
            let _ = writeln!(out, "# {}", visible(line));
        }
        let _ = writeln!(out, "summary = {}", quoted(summary));
        let _ = writeln!(out, "size = \"{size}\" # [meas] as many as can be read\n\n[{family}]");
        let width =
            self.lines.iter().map(|line| line.key.len() + line.value.len()).max().unwrap_or(0);
        for Line { key, value, mark } in &self.lines {
            let space = " ".repeat(width - key.len() - value.len() + 2);
            let _ = writeln!(out, "{key} = {value}{space} # {}", visible(&mark.words()));
        }
        out
    }
}

impl Mark {
    pub fn words(&self) -> String {
        match self {
            Self::Measured { error: Some(error), how } => {
                format!("[meas] ±{} %: {how}", percent(*error))
            }
            Self::Measured { error: None, how } => format!("[meas] {how}"),
            Self::Derived { how, if_true } => format!("[est] derived, if {if_true}: {how}"),
            Self::NotVisible { why } => format!("[est] not visible: {why}"),
        }
    }
}

/// Two digits of a part, in per cent.
pub(crate) fn percent(part: f64) -> String {
    let value = (part * 100.0).max(1e-4);
    let places = (1.0 - value.log10().floor()).max(0.0) as usize;
    format!("{value:.places$}")
}

/// A string of TOML, whatever is in the text.
pub(crate) fn quoted(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|letter| !letter.is_control())
        .flat_map(|letter| matches!(letter, '"' | '\\').then_some('\\').into_iter().chain([letter]))
        .collect();
    format!("\"{plain}\"")
}

/// Four digits, as a file has them.
fn digits(value: f64) -> String {
    if value <= 0.0 {
        return "0".to_owned();
    }
    let places = (3.0 - value.log10().floor()).max(0.0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A number as people read it, without what TOML wants around it.
pub(crate) fn plain(value: &str) -> &str {
    value.trim_matches('"')
}

/// In nanoseconds.
pub(crate) fn time(nanos: f64) -> String {
    let (unit, size) =
        [("s", 1e9), ("ms", 1e6)].into_iter().find(|unit| nanos >= unit.1).unwrap_or(("us", 1e3));
    format!("\"{} {unit}\"", digits(nanos / size))
}

/// In bytes a second.
pub(crate) fn rate(rate: f64) -> String {
    format!("\"{} MB/s\"", digits(rate / 1e6))
}

/// In the largest unit that is exact.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let exact = units.into_iter().find(|unit| bytes > 0 && bytes.is_multiple_of(unit.1));
    match exact {
        Some((unit, size)) => format!("\"{} {unit}\"", bytes / size),
        None => format!("\"{bytes} B\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_files_have_them() {
        assert_eq!(time(8_512_345.0), "\"8.512 ms\"");
        assert_eq!(time(102_300.0), "\"102.3 us\"");
        assert_eq!(time(0.0), "\"0 us\"");
        assert_eq!(rate(175_040_000.0), "\"175 MB/s\"");
        assert_eq!(
            (size(16 << 20), size(3000)),
            ("\"16 MiB\"".to_owned(), "\"3000 B\"".to_owned())
        );
        assert_eq!(
            (percent(0.0123), percent(2e-5), percent(0.5)),
            ("1.2".into(), "0.0020".into(), "50".into())
        );
    }

    #[test]
    fn what_hangs_on_an_assumption_has_no_error() {
        let mut sheet = Sheet::default();
        sheet.measured_if(None, "flush", time(1e6), 0.02, "a flush");
        sheet.measured_if(Some("a program takes 500 us"), "flush", time(1e6), 0.02, "a flush");
        let words: Vec<String> = sheet.lines.iter().map(|line| line.mark.words()).collect();
        assert_eq!(
            words,
            ["[meas] ±2.0 %: a flush", "[est] derived, if a program takes 500 us: a flush"]
        );
    }

    #[test]
    fn a_name_with_anything_in_it_is_a_string() {
        assert_eq!(quoted("a \"b\" \\ c\n"), "\"a \\\"b\\\" \\\\ c\"");
    }
}
