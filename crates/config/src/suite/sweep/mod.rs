//! Axes that go over a number: of a disk, a policy, a scheduler, a workload, the array or the
//! guest.
//!
//! ```toml
//! [axes]
//! "disk.2.seek" = { log = [1, 4], steps = 5 }        # equal factors; `linear`: equal distances
//! "policy.margin" = [0, 50, 100]
//! "device.seek_average" = ["8 ms", "12 ms"]
//! disks = [2, 4, 8]
//! memory = ["256 MiB", "1 GiB"]
//! runtime = ["10 s", "60 s"]
//! "background.iodepth" = [1, 8]                     # of a background that is a workload
//! ```
//!
//! Several of them at once are samples: see hypercube.rs. Values are exact: what a range computes
//! is rounded to a few digits first, and what is shown is what is used.

mod apply;
mod device;
mod hypercube;
mod number;
mod parameter;
mod range;

pub use number::Number;
pub use parameter::SweptParameter;

pub(super) use apply::{Applied, Base, Having, RereadFiles, apply};

use range::{Range, SampledFrom, Word};

use super::axis::{AxisValues, SuiteAxis};
use crate::read::{Located, TomlTable};

/// What a name begins with that TOML takes for tables within tables, where it stands without
/// quotes.
const OF_DISKS: [&str; 2] = ["device", "disk"];

/// A value in its one spelling, which can be part of a name.
pub(super) fn spelled(text: &str) -> String {
    text.parse::<Number>().map_or_else(|_| text.trim().to_owned(), |number| number.to_string())
}

/// The parameters among the axes of a suite, each with its place in the file's order of keys.
pub(super) fn read_axes(crossed: &TomlTable<'_, '_>) -> Vec<(usize, AxisValues)> {
    // Known, whether or not they are there.
    for name in SweptParameter::PLAIN {
        crossed.has(name);
    }
    let mut axes = Vec::new();
    for (at, key) in crossed.keys().into_iter().enumerate() {
        let parameter = match key.parse::<SweptParameter>() {
            Ok(parameter) => parameter,
            // Without a point it is more likely to be another axis's name.
            Err(message) if key.contains('.') => {
                crossed.has(key);
                crossed.wrong(key, message);
                continue;
            }
            Err(_) => {
                if OF_DISKS.contains(&key) && crossed.is_table(key) {
                    crossed.has(key);
                    crossed.wrong(
                        key,
                        "a name with points in it stands in quotes: \"disk.2.seek\" = ...",
                    );
                }
                continue;
            }
        };
        let values = if crossed.is_table(key) {
            read_steps(crossed, key, parameter.is_whole())
        } else {
            read_list(crossed, key)
        };
        axes.push((
            at,
            AxisValues {
                axis: SuiteAxis::Parameter(parameter),
                values,
                fixed: false,
                along: false,
            },
        ));
    }
    axes
}

/// The values of a range that stands under a key.
pub(super) fn read_steps(
    table: &TomlTable<'_, '_>,
    key: &str,
    whole: bool,
) -> Vec<Located<String>> {
    let place = table.place(key);
    let values = table.table(key).and_then(|range| Range::steps(&range, whole));
    let located = |value| Located { value, place: place.clone() };
    values.unwrap_or_default().into_iter().map(located).collect()
}

/// The axes of `[hypercube]`: the others go along with the first.
pub(super) fn read_hypercube(table: &TomlTable<'_, '_>) -> Vec<AxisValues> {
    let axes = hypercube::read(table).into_iter().enumerate();
    let go_along = |(at, (parameter, values))| AxisValues {
        axis: SuiteAxis::Parameter(parameter),
        values,
        fixed: false,
        along: at > 0,
    };
    axes.map(go_along).collect()
}

fn read_span(table: &TomlTable<'_, '_>, key: &str) -> Option<SampledFrom> {
    if table.is_table(key) {
        return table.table(key).and_then(|table| Range::read(&table)).map(SampledFrom::Range);
    }
    let list = read_list(table, key);
    (!list.is_empty()).then_some(SampledFrom::List(list))
}

/// Values that stand there, each once.
fn read_list(table: &TomlTable<'_, '_>, key: &str) -> Vec<Located<String>> {
    let given: Vec<Located<Word>> = table.required_list(key);
    let given =
        given.into_iter().map(|it| Located { value: it.value.0, place: it.place }).collect();
    let (values, mistakes) = check_values(given);
    table.record(mistakes);
    values
}

/// Values in their one spelling, and what is wrong with them.
pub(super) fn check_values(
    given: Vec<Located<String>>,
) -> (Vec<Located<String>>, Vec<crate::read::Diagnostic>) {
    let (mut good, mut mistakes): (Vec<Located<String>>, Vec<_>) = (Vec::new(), Vec::new());
    for Located { value, place } in given {
        let value = spelled(&value);
        let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_./ ".contains(letter);
        if value.is_empty() || !value.chars().all(is_fit) {
            mistakes.push(place.diagnostic(format!(
                "`{}` cannot be the value of a parameter",
                value.escape_debug()
            )));
        } else if good.iter().any(|known| known.value == value) {
            mistakes.push(place.diagnostic(format!("`{value}` is there twice")));
        } else {
            good.push(Located { value, place });
        }
    }
    (good, mistakes)
}
