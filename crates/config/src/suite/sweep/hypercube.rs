//! A Latin hypercube: samples over several parameters at once. Each part of each parameter's range
//! has exactly one sample.
//!
//! ```toml
//! [hypercube]
//! samples = 20
//! seed = 1                                  # may be left out
//! "disk.2.seek" = { log = [1, 4] }
//! "policy.margin" = { linear = [0, 100] }
//! "workload.iodepth" = [1, 4, 32]           # a list is taken by equal parts
//! ```
//!
//! McKay, Beckman and Conover, "A comparison of three methods for selecting values of input
//! variables in the analysis of output from a computer code", 1979.

use disklab_units::Seed;

use super::number::Number;
use super::parameter::SweptParameter;
use super::range::{Range, SampledFrom};
use super::values::read_span;
use crate::read::{Located, SourcePlace, TomlTable};

const SAMPLES: std::ops::RangeInclusive<u32> = 2..=1000;
const KEYS: [&str; 2] = ["samples", "seed"];

/// Reads each parameter with its values. All parameters have the same number of values; the first
/// values form the first sample.
pub(in crate::suite) fn read(
    table: &TomlTable<'_, '_>,
) -> Vec<(SweptParameter, Vec<Located<String>>)> {
    let samples = table.within("samples", SAMPLES);
    let seed = Seed(table.or("seed", 1));
    let mut parameters = Vec::new();
    for key in table.keys().into_iter().filter(|key| !KEYS.contains(key)) {
        match key.parse::<SweptParameter>() {
            Ok(parameter) => {
                let span = read_span(table, key, &parameter);
                parameters.extend(span.map(|span| (parameter, table.place(key), span)));
            }
            Err(message) => {
                table.has(key);
                table.wrong(key, message);
            }
        }
    }
    if parameters.len() < 2 {
        table.wrong("", "needs two parameters or more; write a single one in [axes]");
    }
    let Some(samples) = samples else { return Vec::new() };
    let values = |(parameter, place, span): (SweptParameter, SourcePlace, SampledFrom)| {
        let seed = seed.derive(&parameter.to_string());
        let value = |sample| {
            let way = way(seed, sample, samples);
            match &span {
                SampledFrom::Range(range) => range.part(way, parameter.is_whole()).to_string(),
                SampledFrom::List(list) => {
                    let index = (way * list.len() as f64) as usize;
                    let drawn = list.get(index.min(list.len() - 1));
                    drawn.map(|drawn| drawn.value.clone()).unwrap_or_default()
                }
            }
        };
        let located = |value| Located { value, place: place.clone() };
        let values: Vec<Located<String>> = (0..samples).map(value).map(located).collect();
        (parameter, values)
    };
    parameters.into_iter().map(values).collect()
}

/// Draws samples over ranges. Each sample has a value of each range, in the order of the ranges.
/// The draws depend on the seed and the range's name. Numbers without a unit are whole ones.
pub fn latin_hypercube(ranges: &[(&str, Range)], samples: u32, seed: Seed) -> Vec<Vec<Number>> {
    let value = |sample| {
        move |(name, range): &(&str, Range)| {
            range.part(way(seed.derive(name), sample, samples), true)
        }
    };
    (0..samples).map(|sample| ranges.iter().map(value(sample)).collect()).collect()
}

/// Returns the position of a sample in a parameter's range, from 0 to 1: a random place in a part
/// that no other sample has.
fn way(seed: Seed, sample: u32, samples: u32) -> f64 {
    let drawn = |what: &str, number: u32| seed.derive(what).derive(&number.to_string()).0;
    let own = drawn("order", sample);
    // The ranks of the drawn numbers are a permutation.
    let part = (0..samples).filter(|&other| (drawn("order", other), other) < (own, sample)).count();
    let within = drawn("place", sample) as f64 / u64::MAX as f64;
    (part as f64 + within) / f64::from(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_one_sample() {
        for samples in [2, 7, 100] {
            let mut parts: Vec<u32> = (0..samples)
                .map(|sample| (way(Seed(3), sample, samples) * f64::from(samples)) as u32)
                .collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..samples).collect::<Vec<_>>());
        }
        assert!((way(Seed(3), 1, 10) - way(Seed(4), 1, 10)).abs() > 1e-6, "the seed counts");
    }
}
