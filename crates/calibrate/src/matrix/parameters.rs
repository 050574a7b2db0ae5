//! The numbers of a device that a matrix can determine, as data: one entry for each.

use disklab_units::{Nanos, Rate};
use toml::{Table, Value};

use super::found::{FitBounds, FittedNumber};

/// The form in which a value is written. The search steps through all forms by factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueForm {
    /// A time, whose number is in ns.
    Time,
    /// A list of times, to all of which the same amount is added. The number is their mean in ns.
    Times,
    /// A whole number.
    Count,
}

/// The results that identify a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identified {
    /// Lone requests alone, to which the number is fitted first.
    Lone,
    /// The difference between two depths.
    Depths,
    /// Lone requests, or the difference between two depths.
    Either,
}

/// A number that is fitted to a matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FitParameter {
    pub key: &'static str,
    /// Keys whose ratio to this number is kept.
    pub with: &'static [&'static str],
    pub form: ValueForm,
    pub low: f64,
    pub high: f64,
    /// The loads that the number affects.
    pub loads: &'static [&'static str],
    pub identified: Identified,
    /// Whether the number is fitted even if the data sheet states it: sheets state the fastest
    /// mode, and drives are sold in another.
    pub despite_sheet: bool,
    /// The value in ns, or the count, from which the search begins if the device has none. A
    /// parameter without one is fitted only if the device has it.
    pub default: Option<f64>,
    /// The cost of a value that is e times the value of the class, or 1/e of it.
    pub departure: f64,
    /// The results that determine the number, for a sentence of the device's file.
    pub how: &'static str,
}

const US: f64 = 1e3;
const MS: f64 = 1e6;
/// The least time of a page, in ns.
const LEAST_TIME: f64 = 1e3;
const READS: &[&str] = &["randread"];
const WRITES: &[&str] = &["randwrite"];

/// Defaults for a time that reads show; each parameter states its differences from them.
const READ_TIME: FitParameter = FitParameter {
    key: "",
    with: &[],
    form: ValueForm::Time,
    low: 0.0,
    high: 0.0,
    loads: READS,
    identified: Identified::Depths,
    despite_sheet: false,
    default: None,
    departure: 0.0,
    how: "",
};

/// The numbers of a hard disk. To fit another key, add an entry.
const HDD: &[FitParameter] = &[
    FitParameter {
        key: "seek_average",
        with: &["seek_full"],
        low: 2.0 * MS,
        high: 40.0 * MS,
        identified: Identified::Lone,
        despite_sheet: true,
        how: "random reads, most of all those at depth 1",
        ..READ_TIME
    },
    FitParameter {
        key: "queue_error",
        low: 10.0 * US,
        high: 200.0 * MS,
        default: Some(10.0 * US),
        how: "the gain of random reads with depth",
        ..READ_TIME
    },
    FitParameter {
        key: "queue_patience",
        low: 20.0 * MS,
        high: 60e3 * MS,
        default: Some(60e3 * MS),
        how: "p99 of random reads at depth",
        ..READ_TIME
    },
    FitParameter {
        key: "completion_batch",
        form: ValueForm::Count,
        low: 1.0,
        high: 64.0,
        default: Some(1.0),
        how: "p50 of random reads at depth",
        ..READ_TIME
    },
    FitParameter {
        key: "write_settle",
        low: 50.0 * US,
        high: 10.0 * MS,
        identified: Identified::Either,
        loads: WRITES,
        how: "the pace of random writes",
        ..READ_TIME
    },
    FitParameter {
        key: "write_window",
        form: ValueForm::Count,
        low: 1.0,
        high: 512.0,
        identified: Identified::Either,
        loads: WRITES,
        how: "the pace of random writes",
        ..READ_TIME
    },
];

/// The numbers of an SSD. Those that writes show come first, because a read takes some of these
/// times too, and its own times are the rest.
const SSD: &[FitParameter] = &[
    FitParameter {
        key: "command_overhead",
        low: 1.0 * US,
        high: 500.0 * US,
        loads: WRITES,
        identified: Identified::Lone,
        how: "random writes at depth 1",
        ..READ_TIME
    },
    FitParameter {
        key: "link_command",
        low: 0.1 * US,
        high: 200.0 * US,
        loads: WRITES,
        how: "random writes at the greatest depth",
        ..READ_TIME
    },
    FitParameter {
        key: "program_page",
        low: 50.0 * US,
        high: 20.0 * MS,
        departure: 0.002,
        loads: WRITES,
        how: "the pace of random writes once the buffer is full",
        ..READ_TIME
    },
    FitParameter {
        key: "read_page",
        form: ValueForm::Times,
        low: 5.0 * US,
        high: 1e3 * US,
        identified: Identified::Lone,
        despite_sheet: true,
        how: "random reads at depth 1",
        ..READ_TIME
    },
    FitParameter {
        key: "link_command_read",
        low: 0.1 * US,
        high: 1e3 * US,
        default: Some(3.0 * US),
        how: "random reads at the greatest depth; what the host's processor is bound by is in it",
        ..READ_TIME
    },
    FitParameter {
        key: "dies_per_channel",
        with: &["program_page"],
        form: ValueForm::Count,
        low: 1.0,
        high: 64.0,
        departure: 0.002,
        how: "the gain of random reads with depth",
        ..READ_TIME
    },
];

/// Returns the parameters of a family that a device's numbers may have.
pub(crate) fn parameters(family: &str, numbers: &Table) -> Vec<FitParameter> {
    let all = match family {
        "hdd" => HDD,
        "ssd" => SSD,
        _ => &[],
    };
    let has = |parameter: &&FitParameter| {
        parameter.default.is_some() || numbers.contains_key(parameter.key)
    };
    all.iter().filter(has).copied().collect()
}

impl FitParameter {
    /// Returns whether lone requests alone determine the number.
    pub fn is_lone(&self) -> bool {
        self.identified == Identified::Lone
    }

    /// Returns why results at these depths, of the loads that the number affects, cannot determine
    /// it, or None if they may.
    pub fn unseen(&self, depths: &[u32]) -> Option<String> {
        let load = if self.loads == WRITES { "random writes" } else { "random reads" };
        match (depths, self.identified) {
            ([], _) => Some(format!("no {load} were measured")),
            ([1], Identified::Depths) => Some(format!(
                "it shows in {load} at several depths, and depth 1 alone was measured"
            )),
            ([1] | [_, _, ..], _) => None,
            ([depth], _) => Some(format!(
                "{load} were measured with {depth} in flight only, and one depth cannot separate \
                 it from other numbers"
            )),
        }
    }

    /// Returns the number with the result of the search.
    pub fn fitted(&self, found: Result<FitBounds, String>) -> FittedNumber {
        FittedNumber { key: self.key, with: self.with, found, how: self.how }
    }

    /// Returns the value as a place within its range, from 0 to 1, on a logarithmic scale.
    pub fn place(&self, value: f64) -> f64 {
        ((value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln())
            .clamp(0.0, 1.0)
    }

    pub fn value(&self, place: f64) -> f64 {
        let value = self.low * (self.high / self.low).powf(place.clamp(0.0, 1.0));
        if self.form == ValueForm::Count { value.round() } else { value }
    }

    /// Returns the value in the table, or the default.
    pub fn read(&self, numbers: &Table) -> Option<f64> {
        let Some(value) = numbers.get(self.key) else { return self.default };
        match (self.form, value) {
            (ValueForm::Times, Value::Array(times)) => {
                let times: Vec<f64> = times.iter().filter_map(amount).collect();
                (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
            }
            _ => amount(value),
        }
    }

    /// Writes a value to the table, and scales the keys that keep their ratio to it.
    pub fn write(&self, numbers: &mut Table, value: f64) {
        let factor = self.read(numbers).filter(|&old| old > 0.0).map_or(1.0, |old| value / old);
        let new = match (self.form, numbers.get(self.key)) {
            (ValueForm::Times, Some(Value::Array(times))) => {
                let moved = value - self.read(numbers).unwrap_or(value);
                let times = times.iter().filter_map(amount);
                Value::Array(times.map(|old| nanos((old + moved).max(LEAST_TIME))).collect())
            }
            (ValueForm::Count, _) => Value::Integer(value.round() as i64),
            _ => nanos(value),
        };
        numbers.insert(self.key.to_owned(), new);
        for key in self.with {
            if let Some(old) = numbers.get(*key).and_then(amount) {
                numbers.insert((*key).to_owned(), nanos(old * factor));
            }
        }
    }
}

fn nanos(value: f64) -> Value {
    Value::String(format!("{} ns", value.round().max(0.0) as u64))
}

/// Reads a number, a time in ns, or a rate in bytes a second.
fn amount(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::String(text) => {
            let time = || text.parse::<Nanos>().ok().map(|time| time.0 as f64);
            time().or_else(|| text.parse::<Rate>().ok().map(|rate| rate.0 as f64))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_depth_identifies_little() {
        let numbers: Table = "seek_average = \"8 ms\"\nwrite_settle = \"1 ms\"".parse().unwrap();
        let all = parameters("hdd", &numbers);
        let seen = |depths: &[u32]| -> Vec<&str> {
            let seen = all.iter().filter(|parameter| parameter.unseen(depths).is_none());
            seen.map(|parameter| parameter.key).collect()
        };
        assert_eq!(seen(&[1]), ["seek_average", "write_settle"]);
        assert_eq!(seen(&[4, 32]).len(), all.len());
        assert!(seen(&[32]).is_empty() && seen(&[]).is_empty());
        let why = all[0].unseen(&[32]).unwrap();
        assert!(why.starts_with("random reads were measured with 32 in flight only"), "{why}");
    }

    #[test]
    fn values_go_through_the_table() {
        let mut numbers: Table =
            "seek_average = \"8 ms\"\nseek_full = \"16 ms\"\nread_page = [\"10 us\", \"30 us\"]\n\
             queue_depth = 32"
                .parse()
                .unwrap();
        let all = [parameters("hdd", &numbers), parameters("ssd", &numbers)].concat();
        let keys: Vec<&str> = all.iter().map(|parameter| parameter.key).collect();
        let hdd = ["seek_average", "queue_error", "queue_patience", "completion_batch"];
        assert_eq!(keys, [&hdd[..], &["read_page", "link_command_read"]].concat());
        for (parameter, value) in all.iter().zip([12e6, 2e6, 1e9, 5.0, 40e3, 4e3]) {
            assert!((parameter.value(parameter.place(value)) / value - 1.0).abs() < 1e-9);
            parameter.write(&mut numbers, value);
            assert_eq!(parameter.read(&numbers), Some(value), "{}", parameter.key);
        }
        assert_eq!(numbers["seek_full"].as_str(), Some("24000000 ns"));
        assert_eq!(numbers["read_page"][0].as_str(), Some("30000 ns"));
    }
}
