//! The findings, number by number, as a file of `lab/devices`. Each number stands with one of three
//! notes: its error and how it was found; the assumption from which it was computed; or the reason
//! why it was not seen and a default replaces it.

use disklab_units::prose::{filled, visible};

/// The origin of a number.
#[derive(Debug, Clone, PartialEq)]
pub enum Provenance {
    /// The number was measured. `error` is its relative error, or `None` if the number is not a
    /// quantity.
    Measured { error: Option<f64>, how: String },
    /// Computed from measurements and an assumption, so that its error is not known.
    Derived { how: String, if_true: String },
    /// Fitted until a model reproduced the measurements, with the relative error.
    Fitted { error: f64, how: String },
    /// The data sheet states it.
    Stated,
    /// The measurements do not show the number, so that a default is used.
    NotVisible { why: String },
    /// The results do not determine the number, so that it keeps its previous value.
    NotDetermined { why: String },
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetLine {
    pub key: String,
    /// The value as TOML.
    pub value: String,
    pub mark: Provenance,
}

/// All numbers of a disk, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    pub lines: Vec<SheetLine>,
}

impl Sheet {
    /// Adds a number that TOML writes without quotes.
    #[expect(clippy::needless_pass_by_value, reason = "callers have just made the value")]
    pub(crate) fn number(&mut self, key: &str, value: impl ToString, mark: Provenance) {
        self.lines.push(SheetLine { key: key.to_owned(), value: value.to_string(), mark });
    }

    /// Adds a number with its unit, which is a string in TOML.
    #[expect(clippy::needless_pass_by_value, reason = "callers have just made the value")]
    pub(crate) fn quantity(&mut self, key: &str, value: String, mark: Provenance) {
        self.number(key, quoted(&value), mark);
    }

    /// Sorts the lines in the order of `keys`.
    pub(crate) fn sort(&mut self, keys: &[&str]) {
        self.lines.sort_by_key(|line| keys.iter().position(|key| **key == line.key));
    }

    /// Returns the file. `head` becomes comments, `family` is the table's name; `size` is TOML,
    /// with a comment. No line has more than 100 columns, except where a single value or word is
    /// longer.
    pub fn file(&self, head: &[String], summary: &str, size: &str, family: &str) -> String {
        let mut lines: Vec<String> = head.iter().flat_map(|line| comment(line, "# ")).collect();
        lines.push(format!("summary = {}", quoted(summary)));
        lines.extend([format!("size = {size}"), String::new(), format!("[{family}]")]);
        let width = self.lines.iter().map(SheetLine::width).filter(|width| *width <= ALIGNED);
        let width = width.max().unwrap_or(0);
        lines.extend(self.lines.iter().flat_map(|line| line.rows(width)));
        lines.into_iter().fold(String::new(), |out, line| out + &line + "\n")
    }
}

/// Most columns of a line of the file.
const COLUMNS: usize = 100;
/// Comments are beside numbers of at most this many columns, and above wider ones.
const ALIGNED: usize = 40;

/// Returns a text as lines of comments, the first of which begins with `first`.
fn comment(text: &str, first: &str) -> Vec<String> {
    let text = visible(text);
    let indent = format!("{}# ", " ".repeat(first.chars().count().saturating_sub(2)));
    filled(text.split_whitespace(), COLUMNS, first, &indent)
}

impl SheetLine {
    fn text(&self) -> String {
        format!("{} = {}", self.key, self.value)
    }

    fn width(&self) -> usize {
        self.text().chars().count()
    }

    /// Returns the lines of the file, with comments in the column behind `width`.
    fn rows(&self, width: usize) -> Vec<String> {
        let (text, words) = (self.text(), self.mark.words());
        if self.width() <= width {
            return comment(&words, &format!("{text:width$}  # "));
        }
        let mut rows = comment(&words, "# ");
        let list = self.value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
        match list.filter(|_| self.width() > COLUMNS) {
            Some(list) => {
                let values = list.split(", ").map(|value| format!("{value},"));
                rows.push(format!("{} = [", self.key));
                rows.extend(filled(values, COLUMNS, "    ", "    "));
                rows.push("]".to_owned());
            }
            None => rows.push(text),
        }
        rows
    }
}

impl Provenance {
    /// Turns a measured number into a derived one, if it needed something that was assumed.
    pub(crate) fn assuming(self, assumed: Option<impl Into<String>>) -> Self {
        match (self, assumed) {
            (Self::Measured { how, .. }, Some(assumed)) => {
                Self::Derived { how, if_true: assumed.into() }
            }
            (same, _) => same,
        }
    }

    pub fn words(&self) -> String {
        match self {
            Self::Measured { error: Some(error), how } => {
                format!("[meas] ±{} %: {how}", percent(*error))
            }
            Self::Measured { error: None, how } => format!("[meas] {how}"),
            Self::Derived { how, if_true } => format!("[est] derived, if {if_true}: {how}"),
            Self::Fitted { error, how } => format!("[fit] ±{} %: {how}", percent(*error)),
            Self::Stated => "[sheet]".to_owned(),
            Self::NotVisible { why } => format!("[est] not visible: {why}"),
            Self::NotDetermined { why } => format!("[est] not determined: {why}"),
        }
    }
}

/// Returns the mark of a number that was measured with this relative error.
pub(crate) fn measured(error: f64, how: impl Into<String>) -> Provenance {
    Provenance::Measured { error: Some(error), how: how.into() }
}

/// Returns the mark of a finding that is not a quantity.
pub(crate) fn observed(how: impl Into<String>) -> Provenance {
    Provenance::Measured { error: None, how: how.into() }
}

pub(crate) fn not_visible(why: impl Into<String>) -> Provenance {
    Provenance::NotVisible { why: why.into() }
}

/// Writes a fraction in per cent, with two significant digits.
pub fn percent(part: f64) -> String {
    let value = (part * 100.0).max(1e-4);
    let places = (1.0 - value.log10().floor()).max(0.0) as usize;
    format!("{value:.places$}")
}

/// Writes any text as a TOML string.
pub fn quoted(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|letter| !letter.is_control())
        .flat_map(|letter| matches!(letter, '"' | '\\').then_some('\\').into_iter().chain([letter]))
        .collect();
    format!("\"{plain}\"")
}

/// Writes a number with four significant digits.
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

/// Writes a time given in ns.
pub(crate) fn time(nanos: f64) -> String {
    let (unit, size) =
        [("s", 1e9), ("ms", 1e6)].into_iter().find(|unit| nanos >= unit.1).unwrap_or(("us", 1e3));
    format!("{} {unit}", digits(nanos / size))
}

/// Writes a rate given in bytes a second.
pub(crate) fn rate(rate: f64) -> String {
    format!("{} MB/s", digits(rate / 1e6))
}

/// Writes a size in the largest unit in which it is a whole number.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let exact = units.into_iter().find(|unit| bytes > 0 && bytes.is_multiple_of(unit.1));
    let (unit, size) = exact.unwrap_or(("B", 1));
    format!("{} {unit}", bytes / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_files_have_them() {
        assert_eq!(time(8_512_345.0), "8.512 ms");
        assert_eq!(time(102_300.0), "102.3 us");
        assert_eq!(time(0.0), "0 us");
        assert_eq!(rate(175_040_000.0), "175 MB/s");
        assert_eq!((size(16 << 20), size(3000)), ("16 MiB".to_owned(), "3000 B".to_owned()));
        assert_eq!(
            (percent(0.0123), percent(2e-5), percent(0.5)),
            ("1.2".into(), "0.0020".into(), "50".into())
        );
    }

    #[test]
    fn lines_fit_into_100_columns() {
        let mut sheet = Sheet::default();
        let long = "a reason that goes on for a while ".repeat(5);
        sheet.quantity("flush", time(1e6), not_visible(long.clone()));
        let pages = vec!["\"50 us\""; 16].join(", ");
        sheet.number("read_page", format!("[{pages}]"), measured(0.1, "lone reads"));
        sheet.number("zones", 20, not_visible("short"));
        let head = [long, "two\nlines".to_owned()];
        let file = sheet.file(&head, "a disk", "\"1 GiB\"", "ssd");
        let longest = file.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(100), "{file}");
        let table: toml::Table = file.parse().unwrap_or_else(|error| panic!("{error}: {file}"));
        assert_eq!(table["ssd"]["read_page"].as_array().map(Vec::len), Some(16));
        assert_eq!(table["ssd"]["zones"].as_integer(), Some(20));
        for said in ["\nflush = \"1 ms\"  # [est] ", "\nzones = 20      # [est] ", "# two lines"] {
            assert!(file.contains(said), "{said}: {file}");
        }
    }

    #[test]
    fn what_hangs_on_an_assumption_has_no_error() {
        let mut sheet = Sheet::default();
        for assumed in [None, Some("a program takes 500 us")] {
            let mark = measured(0.02, "a flush").assuming(assumed);
            sheet.quantity("flush", time(1e6), mark);
        }
        assert!(sheet.lines.iter().all(|line| line.value == "\"1 ms\""));
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
