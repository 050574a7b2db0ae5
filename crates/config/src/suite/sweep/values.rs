//! The values of axes: a list, each value once, or a range.

use super::parameter::SweptParameter;
use super::range::{Range, SampledFrom, Word};
use crate::read::{Diagnostic, Located, TomlTable};

/// Reads the values of a range that stands under a key.
pub(in crate::suite) fn read_steps(
    table: &TomlTable<'_, '_>,
    key: &str,
    whole: bool,
) -> Vec<Located<String>> {
    let place = table.place(key);
    let values = table.table(key).and_then(|range| Range::steps(&range, whole));
    let located = |value| Located { value, place: place.clone() };
    values.unwrap_or_default().into_iter().map(located).collect()
}

/// Reads the range or the list of values from which samples are drawn.
pub(super) fn read_span(
    table: &TomlTable<'_, '_>,
    key: &str,
    parameter: &SweptParameter,
) -> Option<SampledFrom> {
    if table.is_table(key) {
        return table.table(key).and_then(|table| Range::read(&table)).map(SampledFrom::Range);
    }
    let list = read_list(table, key, parameter);
    (!list.is_empty()).then_some(SampledFrom::List(list))
}

/// Reads the values of a list, each once.
pub(super) fn read_list(
    table: &TomlTable<'_, '_>,
    key: &str,
    parameter: &SweptParameter,
) -> Vec<Located<String>> {
    let given = table.required_list::<Word>(key).into_iter();
    let given = given.map(|word| Located { value: word.value.0, place: word.place });
    let (values, mistakes) = each_once(given, |value| parameter.canonical(value));
    table.record(mistakes);
    values
}

/// Makes the spelling of values canonical, and records those that are wrong or there twice.
pub(in crate::suite) fn each_once(
    given: impl IntoIterator<Item = Located<String>>,
    canonical: impl Fn(&str) -> Result<String, String>,
) -> (Vec<Located<String>>, Vec<Diagnostic>) {
    let (mut good, mut mistakes) = (Vec::<Located<String>>::new(), Vec::new());
    for Located { value, place } in given {
        match canonical(&value) {
            Err(message) => mistakes.push(place.diagnostic(message)),
            Ok(value) if good.iter().any(|known| known.value == value) => {
                mistakes.push(place.diagnostic(format!("`{value}` is given twice")));
            }
            Ok(value) => good.push(Located { value, place }),
        }
    }
    (good, mistakes)
}
