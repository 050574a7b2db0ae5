//! The values of axes: a list, each value once, or a range.

use super::number::Number;
use super::range::{Range, SampledFrom, Word};
use crate::read::{Diagnostic, Located, TomlTable};

/// A value in its one spelling, which can be part of a name.
pub(in crate::suite) fn spelled(text: &str) -> String {
    text.parse::<Number>().map_or_else(|_| text.trim().to_owned(), |number| number.to_string())
}

/// The values of a range that stands under a key.
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

/// A range, or a list of values, that samples are drawn from.
pub(super) fn read_span(table: &TomlTable<'_, '_>, key: &str) -> Option<SampledFrom> {
    if table.is_table(key) {
        return table.table(key).and_then(|table| Range::read(&table)).map(SampledFrom::Range);
    }
    let list = read_list(table, key);
    (!list.is_empty()).then_some(SampledFrom::List(list))
}

/// The values of a list, each once.
pub(super) fn read_list(table: &TomlTable<'_, '_>, key: &str) -> Vec<Located<String>> {
    let given = table.required_list::<Word>(key).into_iter();
    let given = given.map(|word| Located { value: word.value.0, place: word.place });
    let (values, mistakes) = each_once(given, canonical);
    table.record(mistakes);
    values
}

/// The one spelling of a parameter's value.
pub(in crate::suite) fn canonical(text: &str) -> Result<String, String> {
    let value = spelled(text);
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_./ ".contains(letter);
    if value.is_empty() || !value.chars().all(is_fit) {
        return Err(format!("`{}` cannot be the value of a parameter", value.escape_debug()));
    }
    Ok(value)
}

/// Values in their one spelling, and what is wrong with them or there twice.
pub(in crate::suite) fn each_once(
    given: impl IntoIterator<Item = Located<String>>,
    canonical: impl Fn(&str) -> Result<String, String>,
) -> (Vec<Located<String>>, Vec<Diagnostic>) {
    let (mut good, mut mistakes) = (Vec::<Located<String>>::new(), Vec::new());
    for Located { value, place } in given {
        match canonical(&value) {
            Err(message) => mistakes.push(place.diagnostic(message)),
            Ok(value) if good.iter().any(|known| known.value == value) => {
                mistakes.push(place.diagnostic(format!("`{value}` is there twice")));
            }
            Ok(value) => good.push(Located { value, place }),
        }
    }
    (good, mistakes)
}
