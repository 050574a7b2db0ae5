//! The file of a fitted device: each number with its origin, and the ranges of the numbers.

use std::fmt::Write;

use disklab_calibrate::matrix::fit::{FittedNumber, MatrixFit};
use disklab_calibrate::read_back;
use disklab_calibrate::sheet::{Provenance, Sheet, SheetLine};
use disklab_config::Lab;
use disklab_units::Nanos;
use toml::{Table, Value};

/// A fitted device and its numbers before the fit.
pub struct FittedFile<'a> {
    fit: &'a MatrixFit,
    family: &'static str,
    like: &'a str,
    /// Text of the file of the device that it is like.
    like_text: &'a str,
    /// Three tables of numbers: of the similar device, at the start of the search, and found.
    likes: Table,
    before: Table,
    found: Table,
    /// Ranges at the start of the search.
    ranges: Table,
    /// The keys that the data sheet states.
    stated: &'a [String],
}

fn inner(table: &Table, key: &str) -> Table {
    table.get(key).and_then(Value::as_table).cloned().unwrap_or_default()
}

impl<'a> FittedFile<'a> {
    pub fn new(
        fit: &'a MatrixFit,
        start: &Table,
        stated: &'a [String],
        like: &'a str,
        lab: &'a Lab,
    ) -> Self {
        let family = fit.device.model.family();
        let like_text = lab.texts.devices.get(like).map_or("", String::as_str);
        Self {
            fit,
            family,
            like,
            like_text,
            likes: inner(&like_text.parse().unwrap_or_default(), family),
            before: inner(start, family),
            found: inner(&fit.table, family),
            ranges: inner(start, "estimated"),
            stated,
        }
    }

    /// Returns every number of the device with its origin.
    pub fn sheet(&self) -> Sheet {
        let mut keys: Vec<(&String, &Value)> = self.found.iter().collect();
        let place = |key: &str| self.like_text.find(&format!("\n{key} ="));
        keys.sort_by_key(|(key, _)| place(key).unwrap_or(usize::MAX));
        let line = |(key, value): (&String, &Value)| SheetLine {
            key: key.clone(),
            value: readable(value),
            mark: self.mark(key, value),
        };
        Sheet { lines: keys.into_iter().map(line).collect() }
    }

    fn mark(&self, key: &str, value: &Value) -> Provenance {
        let instead = self.before.get(key).filter(|before| *before != value);
        let instead = instead.map(|_| format!("; instead of {}", self.origin(key)));
        let fitted = self.fit.numbers.iter().find(|number| number.key == key);
        let leader = self.leader(key);
        match (fitted.map(|number| (number, &number.found)), leader) {
            (Some((number, Ok(bounds))), leader) => {
                let with =
                    leader.map(|leader| format!("; then changed in proportion to {}", leader.key));
                let [instead, with] = [instead, with].map(Option::unwrap_or_default);
                let how = format!("{}{with}{instead}", number.how);
                Provenance::Fitted { error: bounds.error, how }
            }
            (_, Some(leader)) => Provenance::Derived {
                how: match self.factor(key) {
                    Some(factor) => {
                        format!("{}, times {factor:.3} like {}", self.origin(key), leader.key)
                    }
                    None => {
                        format!("{}, changed in proportion to {}", self.origin(key), leader.key)
                    }
                },
                if_true: match self.family {
                    "hdd" => "the seek curve has the same shape".to_owned(),
                    _ => "all dies together write at the same rate".to_owned(),
                },
            },
            _ if self.is_stated(key) => Provenance::Stated,
            (Some((_, Err(why))), None) => {
                Provenance::NotDetermined { why: format!("{why}; {}", self.kept(key)) }
            }
            (None, None) => {
                let kept = self.kept(key);
                Provenance::NotVisible { why: format!("results by depth do not show it; {kept}") }
            }
        }
    }

    fn is_stated(&self, key: &str) -> bool {
        self.stated.iter().any(|stated| stated == key)
    }

    /// Returns the fitted number to which this number kept its ratio during the search.
    fn leader(&self, key: &str) -> Option<&FittedNumber> {
        let leads = |number: &&FittedNumber| number.with.contains(&key) && number.found.is_ok();
        let leader = self.fit.numbers.iter().find(leads)?;
        // A leader that did not change has no follower.
        (self.found.get(leader.key) != self.before.get(leader.key)).then_some(leader)
    }

    /// Returns the ratio of a time after the fit to the time before it.
    fn factor(&self, key: &str) -> Option<f64> {
        let factor = nanos(self.found.get(key)?)? / nanos(self.before.get(key)?)?;
        factor.is_finite().then_some(factor)
    }

    /// Returns the number at the start of the search, and its source.
    fn origin(&self, key: &str) -> String {
        let Some(before) = self.before.get(key) else { return "none".to_owned() };
        let before = plain(before);
        if self.is_stated(key) {
            return format!("the data sheet's {before}");
        }
        match self.scaled(key) {
            Some(own) => {
                let like = self.like;
                format!("{before}, which is {like}'s {own} scaled to the data sheet")
            }
            None => format!("{}'s {before}", self.like),
        }
    }

    /// Names the source of a number that was taken over.
    fn kept(&self, key: &str) -> String {
        match self.scaled(key) {
            Some(own) => format!("{}'s {own} scaled to the data sheet", self.like),
            None => format!("as {}", self.like),
        }
    }

    /// Returns the similar device's number, if a scaled one was taken over. Some numbers are scaled
    /// to the data sheet.
    fn scaled(&self, key: &str) -> Option<String> {
        let own = self.likes.get(key).filter(|own| self.before.get(key) != Some(own));
        own.map(plain)
    }

    /// Returns the table of ranges: the bounds of fitted numbers, and the similar device's ranges
    /// of the others.
    pub fn ranges(&self) -> String {
        let mut lines = String::new();
        for key in self.found.keys() {
            let range = self.fitted_range(key).or_else(|| self.taken_range(key));
            let range = range.filter(|[low, high]| low != high);
            if let Some([low, high]) = range.filter(|ends| self.are_possible(key, ends)) {
                // Writing to a string cannot fail.
                let _ = writeln!(lines, "{key} = [{low}, {high}]");
            }
        }
        if lines.is_empty() {
            return lines;
        }
        format!("\n[estimated] # the possible ranges of numbers marked [fit] and [est]\n{lines}")
    }

    fn fitted_range(&self, key: &str) -> Option<[Value; 2]> {
        let number = self.fit.numbers.iter().find(|number| number.key == key)?;
        let bounds = number.found.as_ref().ok()?;
        let ends = [bounds.low, bounds.high];
        match self.found.get(key)? {
            Value::Integer(_) => Some(ends.map(|end| Value::Integer(end.round() as i64))),
            Value::String(_) => Some(ends.map(|end| Value::String(time(end)))),
            // Lists have no range.
            _ => None,
        }
    }

    fn taken_range(&self, key: &str) -> Option<[Value; 2]> {
        let ends = <[Value; 2]>::try_from(self.ranges.get(key)?.as_array()?.clone()).ok()?;
        if self.leader(key).is_none() {
            return Some(ends);
        }
        let factor = self.factor(key)?;
        let [low, high] = ends.map(|end| nanos(&end).map(|end| Value::String(time(end * factor))));
        Some([low?, high?])
    }

    /// Returns true if the device is valid with either value.
    fn are_possible(&self, key: &str, ends: &[Value; 2]) -> bool {
        ends.iter().all(|end| {
            let mut table = self.fit.table.clone();
            if let Some(numbers) = table.get_mut(self.family).and_then(Value::as_table_mut) {
                numbers.insert(key.to_owned(), end.clone());
            }
            read_back("device", &table.to_string()).is_ok()
        })
    }

    /// Returns the machine's share of the time, if the results showed it.
    pub fn host(&self) -> String {
        let Some(host) = self.fit.host else { return String::new() };
        format!(
            "\n[host] # the machine that measured; `validate` adds it, a trial does not\n\
             submit = \"{}\" # [fit] from the rate and the completion latency of lone reads\n",
            time(host.submit.0 as f64)
        )
    }
}

/// Parses a time in ns. Returns None if the value is another quantity.
fn nanos(value: &Value) -> Option<f64> {
    value.as_str()?.parse::<Nanos>().ok().map(|time| time.0 as f64)
}

/// Formats a value as a file has it. Times are in the largest unit that leaves four digits.
fn readable(value: &Value) -> String {
    match value {
        Value::String(text) => match text.strip_suffix(" ns").and_then(|ns| ns.parse().ok()) {
            Some(ns) => format!("\"{}\"", time(ns)),
            None => value.to_string(),
        },
        Value::Array(values) => {
            format!("[{}]", values.iter().map(readable).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Formats a time with four digits.
pub fn time(ns: f64) -> String {
    let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    let (unit, size) = units.into_iter().find(|(_, size)| ns >= *size).unwrap_or(("us", 1e3));
    let value = ns / size;
    let places = (3.0 - value.max(1e-3).log10().floor()).clamp(0.0, 3.0) as usize;
    let digits = format!("{value:.places$}");
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
    format!("{digits} {unit}")
}

fn plain(value: &Value) -> String {
    readable(value).replace('"', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_readable() {
        let value = |text: &str| readable(&Value::String(text.to_owned()));
        assert_eq!(value("12345678 ns"), "\"12.35 ms\"");
        assert_eq!(value("37131366000 ns"), "\"37.13 s\"");
        assert_eq!(value("2900 ns"), "\"2.9 us\"");
        assert_eq!(value("550 MB/s"), "\"550 MB/s\"");
    }
}
