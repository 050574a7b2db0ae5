use std::cell::RefCell;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use disklab_units::Bytes;
use disklab_units::words::nearest;
use indexmap::IndexMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::{Diagnostic, Diagnostics, Located, SourcePlace};
use super::value::{FromToml, in_range};

/// A TOML file during parsing.
pub struct TomlReader<'s> {
    file: Arc<str>,
    source: &'s str,
    /// Offsets at which the lines begin.
    lines: Vec<usize>,
    mistakes: RefCell<Vec<Diagnostic>>,
    /// The key that names another file, and the text that is inherited from there, or an error.
    inherited: Option<(&'static str, Result<&'s str, &'s str>)>,
}

/// A table of the file.
///
/// Ask for every key that the table may have. When the table is dropped, it records the keys that
/// nobody asked for as mistakes.
pub struct TomlTable<'r, 's> {
    reader: &'r TomlReader<'s>,
    entries: &'r DeTable<'s>,
    /// Span of the table's header, the place of mistakes about missing keys.
    span: Range<usize>,
    /// Names of the tables around this one, each followed by a point: `hdd.`
    prefix: String,
    /// The keys that were asked for. A missing key that is required has a description of its
    /// expected value.
    asked: RefCell<IndexMap<String, Option<&'static str>>>,
}

/// Types of values that a range can limit.
pub trait Ranged: FromToml + PartialOrd + Display {}

impl<T: FromToml + PartialOrd + Display> Ranged for T {}

impl<'s> TomlReader<'s> {
    /// Returns a reader of `source`; `file` is only for messages.
    pub fn new(file: &str, source: &'s str) -> Self {
        let after = source.match_indices('\n').map(|(end, _)| end + 1);
        let lines = std::iter::once(0).chain(after).collect();
        Self { file: file.into(), source, lines, mistakes: RefCell::default(), inherited: None }
    }

    /// Takes keys that the file lacks from `inherited`, a TOML document or an error. `key` names
    /// the origin; the error and mistakes of inherited keys are shown at that key.
    #[must_use]
    pub fn inheriting(mut self, key: &'static str, inherited: &'s Result<String, String>) -> Self {
        self.inherited = Some((key, inherited.as_deref().map_err(String::as_str)));
        self
    }

    /// Parses the source and hands its top table to `read`.
    ///
    /// If a mistake is recorded, the result is an error, whatever `read` returns. If `read` returns
    /// `None` without one, the result is an error too, and `read` has a bug.
    pub fn read<T>(
        self,
        read: impl FnOnce(&TomlTable<'_, 's>) -> Option<T>,
    ) -> Result<T, Diagnostics> {
        let (mut document, errors) = DeTable::parse_recoverable(self.source);
        for error in &errors {
            let start = error.span().map_or(self.source.len(), |span| span.start);
            let place = self.place(start, String::new());
            self.record(place.diagnostic(format!("not TOML: {}", error.message())));
        }
        // Reading the parsed part of a broken file would only report mistakes that follow from the
        // first ones.
        let is_whole = errors.is_empty() && self.inherit(document.get_mut());
        let top = || TomlTable::new(&self, document.get_ref(), 0..0, String::new());
        let value = if is_whole { read(&top()) } else { None };
        let mut mistakes = self.mistakes.into_inner();
        mistakes.sort_by_key(|mistake| (mistake.place.line, mistake.place.column));
        match value {
            Some(value) if mistakes.is_empty() => Ok(value),
            None if mistakes.is_empty() => {
                Err(SourcePlace::of_file(&self.file).diagnostic("cannot be read").into())
            }
            _ => Err(Diagnostics(mistakes)),
        }
    }

    /// Adds the inherited keys, all at the place of the key that names their origin. Returns
    /// whether it succeeded.
    fn inherit(&self, document: &mut DeTable<'s>) -> bool {
        let Some((key, inherited)) = self.inherited else { return true };
        let span = document.get(key).map_or(0..0, Spanned::span);
        let refuse = |message: &str| {
            self.record(self.place(span.start, key.to_owned()).diagnostic(message));
            false
        };
        match inherited.map(DeTable::parse) {
            Ok(Ok(taken)) => {
                add_missing(document, taken.into_inner(), &span);
                true
            }
            Ok(Err(error)) => refuse(&format!("what it has is not TOML: {}", error.message())),
            Err(message) => refuse(message),
        }
    }

    fn record(&self, mistake: Diagnostic) {
        self.mistakes.borrow_mut().push(mistake);
    }

    fn place(&self, offset: usize, key: String) -> SourcePlace {
        let mut offset = offset.min(self.source.len());
        while !self.source.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines.partition_point(|&start| start <= offset);
        let start = line.checked_sub(1).and_then(|line| self.lines.get(line)).copied().unwrap_or(0);
        let column = self.source[start..offset].chars().count() + 1;
        SourcePlace { file: self.file.clone(), line: line as u32, column: column as u32, key }
    }
}

impl<'r, 's> TomlTable<'r, 's> {
    fn new(
        reader: &'r TomlReader<'s>,
        entries: &'r DeTable<'s>,
        span: Range<usize>,
        prefix: String,
    ) -> Self {
        Self { reader, entries, span, prefix, asked: RefCell::default() }
    }

    /// Reads a key that must be there.
    pub fn required<T: FromToml>(&self, key: &str) -> Option<T> {
        let value = self.ask(key, Some(T::EXPECTED))?;
        self.convert(key, value)
    }

    /// Reads a key that may be left out. Returns `None` too if its value is wrong, which is then
    /// recorded.
    pub fn optional<T: FromToml>(&self, key: &str) -> Option<T> {
        let value = self.ask(key, None)?;
        self.convert(key, value)
    }

    /// Reads a key with a default. The default also replaces a wrong value, so that reading can go
    /// on.
    pub fn or<T: FromToml>(&self, key: &str, default: T) -> T {
        self.optional(key).unwrap_or(default)
    }

    /// Reads a key that must be there with a value in a range.
    pub fn within<T: Ranged>(&self, key: &str, range: RangeInclusive<T>) -> Option<T> {
        let value = self.required(key)?;
        self.check_within(key, value, &range)
    }

    /// Reads a key with a default and a range.
    pub fn within_or<T: Ranged>(
        &self,
        key: &str,
        range: RangeInclusive<T>,
        default: T,
    ) -> Option<T> {
        match self.ask(key, None) {
            None => Some(default),
            Some(value) => self.check_within(key, self.convert(key, value)?, &range),
        }
    }

    /// Reads a key that may be left out, in a range. The outer `None` means a wrong value.
    pub fn optional_within<T: Ranged>(
        &self,
        key: &str,
        range: RangeInclusive<T>,
    ) -> Option<Option<T>> {
        given(self.has(key).then(|| self.within(key, range)))
    }

    /// Reads a key that may be left out. The outer `None` means a wrong value.
    pub fn given<T: FromToml>(&self, key: &str) -> Option<Option<T>> {
        given(self.has(key).then(|| self.required(key)))
    }

    /// Reads a key with a default, which also replaces a wrong value.
    pub fn with_default<T: FromToml>(&self, key: &str, default: T) -> Option<T> {
        Some(self.or(key, default))
    }

    /// Reads a key that may be left out, in a range; a wrong value counts as left out.
    pub fn lenient_within<T: Ranged>(
        &self,
        key: &str,
        range: RangeInclusive<T>,
    ) -> Option<Option<T>> {
        Some(self.optional_within(key, range).flatten())
    }

    /// Reads a table that may be left out; a table with mistakes counts as left out.
    pub fn lenient_table<T>(
        &self,
        key: &str,
        read: impl FnOnce(&TomlTable<'r, 's>) -> Option<T>,
    ) -> Option<Option<T>> {
        Some(self.optional_table(key, read).flatten())
    }

    /// Reads a key with the function `read`.
    pub fn with<T>(
        &self,
        key: &str,
        read: impl FnOnce(&TomlTable<'r, 's>, &str) -> Option<T>,
    ) -> Option<T> {
        read(self, key)
    }

    /// Reads a table that may be left out with the function `read`. The outer `None` means
    /// mistakes.
    pub fn optional_table<T>(
        &self,
        key: &str,
        read: impl FnOnce(&TomlTable<'r, 's>) -> Option<T>,
    ) -> Option<Option<T>> {
        given(self.table(key).map(|table| read(&table)))
    }

    /// Reads a key that must be there with a size in a range that is a power of two.
    pub fn power_of_two(&self, key: &str, range: RangeInclusive<Bytes>) -> Option<Bytes> {
        let size = self.within(key, range)?;
        let fits = size.0.is_power_of_two();
        self.accept(key, fits.then_some(size).ok_or(format!("{size} is not a power of two")))
    }

    /// Reads the tables of one name, each under a `[[key]]` of its own. Returns None if one has
    /// mistakes.
    pub fn read_tables<T>(
        &self,
        key: &str,
        read: impl FnMut(&TomlTable<'r, 's>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let all: Vec<_> = self.tables(key).iter().map(read).collect();
        all.into_iter().collect()
    }

    fn check_within<T: Ranged>(&self, key: &str, value: T, range: &RangeInclusive<T>) -> Option<T> {
        self.accept(key, in_range(&value, range).map(|()| value))
    }

    /// Records the error as a mistake of `key`.
    pub fn accept<T>(&self, key: &str, value: Result<T, String>) -> Option<T> {
        value.map_err(|message| self.wrong(key, message)).ok()
    }

    /// Reads a list of at least one element. Elements with mistakes are recorded and left out.
    pub fn required_list<T: FromToml>(&self, key: &str) -> Vec<Located<T>> {
        if let Some(DeValue::Array(elements)) = self.ask(key, Some("a list")).map(Spanned::get_ref)
            && elements.is_empty()
        {
            self.wrong(key, "needs at least one element");
        }
        self.list(key)
    }

    /// Reads a list, empty if the key is left out. Elements with mistakes are recorded and left
    /// out.
    pub fn list<T: FromToml>(&self, key: &str) -> Vec<Located<T>> {
        match self.ask(key, None).map(Spanned::get_ref) {
            None => Vec::new(),
            Some(DeValue::Array(elements)) => {
                elements.iter().filter_map(|element| self.convert_located(key, element)).collect()
            }
            Some(_) => {
                let expected = T::EXPECTED;
                let message = format!("expected a list in square brackets, each of it {expected}");
                self.wrong(key, message);
                Vec::new()
            }
        }
    }

    /// Reads a value with its place.
    pub fn located<T: FromToml>(&self, key: &str) -> Option<Located<T>> {
        let value = self.ask(key, None)?;
        self.convert_located(key, value)
    }

    /// Returns a table inside this one that must be there.
    pub fn required_table(&self, key: &str) -> Option<TomlTable<'r, 's>> {
        self.ask(key, Some("a table"))?;
        self.table(key)
    }

    /// Returns a table inside this one, if it is there.
    pub fn table(&self, key: &str) -> Option<TomlTable<'r, 's>> {
        let table = self.inner(key, self.ask(key, None)?);
        if table.is_none() {
            self.wrong(key, format!("expected a table, `[{}{key}]`", self.prefix));
        }
        table
    }

    fn inner(&self, key: &str, value: &'r Spanned<DeValue<'s>>) -> Option<TomlTable<'r, 's>> {
        let DeValue::Table(entries) = value.get_ref() else { return None };
        let prefix = format!("{}{key}.", self.prefix);
        Some(TomlTable::new(self.reader, entries, value.span(), prefix))
    }

    /// Returns the tables of one name, each under a `[[key]]` of its own. The list is empty if
    /// there are none.
    pub fn tables(&self, key: &str) -> Vec<TomlTable<'r, 's>> {
        let Some(value) = self.ask(key, None) else { return Vec::new() };
        let elements =
            if let DeValue::Array(elements) = value.get_ref() { Some(elements) } else { None };
        let inner = elements.into_iter().flatten().filter_map(|element| self.inner(key, element));
        let tables: Vec<_> = inner.collect();
        if elements.is_none_or(|elements| elements.len() != tables.len()) {
            let own = format!("`[[{}{key}]]` of its own", self.prefix);
            self.wrong(key, format!("expected tables, each under a {own}"));
        }
        tables
    }

    /// Returns whether a table inside this one has a key. This asks for no other key of that table.
    pub fn has_within(&self, table: &str, key: &str) -> bool {
        let inner = self.entries.get(table).map(Spanned::get_ref);
        matches!(inner, Some(DeValue::Table(entries)) if entries.get(key).is_some())
    }

    /// Returns the keys of a table inside this one that the file took from another.
    pub fn inherited_within(&self, table: &str) -> Vec<String> {
        let origin = self.reader.inherited.and_then(|(key, _)| self.entries.get(key));
        let Some(span) = origin.map(Spanned::span) else { return Vec::new() };
        let Some(DeValue::Table(entries)) = self.entries.get(table).map(Spanned::get_ref) else {
            return Vec::new();
        };
        let inherited = entries.iter().filter(|(_, value)| value.span() == span);
        inherited.map(|(key, _)| key.get_ref().to_string()).collect()
    }

    /// Returns whether there is a table under a key. This does not mark the key as known.
    pub fn is_table(&self, key: &str) -> bool {
        matches!(self.entries.get(key).map(Spanned::get_ref), Some(DeValue::Table(_)))
    }

    /// Returns whether the key is there. This marks the key as known, as reading its value does.
    pub fn has(&self, key: &str) -> bool {
        self.ask(key, None).is_some()
    }

    /// Returns the keys that are there, in the order of the file.
    pub fn keys(&self) -> Vec<&'r str> {
        let mut keys: Vec<_> = self.entries.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        keys.into_iter().map(|key| key.get_ref().as_ref()).collect()
    }

    /// Records that the value of `key` is wrong.
    pub fn wrong(&self, key: &str, message: impl Into<String>) {
        self.reader.record(self.place(key).diagnostic(message));
    }

    /// If `is_wrong`, records that the value of `key` is wrong.
    pub fn refuse_if(&self, is_wrong: bool, key: &str, message: impl FnOnce() -> String) {
        if is_wrong {
            self.wrong(key, message());
        }
    }

    /// Records a mistake at a place that was kept.
    pub fn wrong_at(&self, place: &SourcePlace, message: impl Into<String>) {
        self.reader.record(place.diagnostic(message));
    }

    /// Records mistakes that were found elsewhere.
    pub fn record(&self, mistakes: impl IntoIterator<Item = Diagnostic>) {
        self.reader.mistakes.borrow_mut().extend(mistakes);
    }

    /// Returns the place of the value of `key`, or of the table's header if there is none.
    pub fn place(&self, key: &str) -> SourcePlace {
        let span = self.entries.get(key).map_or(self.span.clone(), Spanned::span);
        let key = format!("{}{key}", self.prefix);
        self.reader.place(span.start, key.trim_end_matches('.').to_owned())
    }

    fn ask(&self, key: &str, missing: Option<&'static str>) -> Option<&'r Spanned<DeValue<'s>>> {
        let value = self.entries.get(key);
        let missing = if value.is_none() { missing } else { None };
        let mut asked = self.asked.borrow_mut();
        let known = asked.entry(key.to_owned()).or_default();
        *known = known.or(missing);
        value
    }

    fn convert<T: FromToml>(&self, key: &str, value: &Spanned<DeValue<'s>>) -> Option<T> {
        self.convert_located(key, value).map(|located| located.value)
    }

    fn convert_located<T: FromToml>(
        &self,
        key: &str,
        value: &Spanned<DeValue<'s>>,
    ) -> Option<Located<T>> {
        let place = self.reader.place(value.span().start, format!("{}{key}", self.prefix));
        match T::from_toml(value.get_ref()) {
            Ok(value) => Some(Located { value, place }),
            Err(message) => {
                self.reader.record(place.diagnostic(message));
                None
            }
        }
    }
}

impl Drop for TomlTable<'_, '_> {
    /// Records unknown keys and missing ones. An unknown key that resembles a missing one is
    /// reported as one mistake.
    fn drop(&mut self) {
        let mut asked = self.asked.take();
        for key in self.entries.keys() {
            let name: &str = key.get_ref();
            if asked.contains_key(name) {
                continue;
            }
            let known: Vec<&str> = asked.keys().map(String::as_str).collect();
            let message = if let Some(near) = nearest(name, known.iter().copied()) {
                let message = format!("unknown key; did you mean `{near}`?");
                asked.insert(near.to_owned(), None);
                message
            } else {
                format!("unknown key; known: {}", known.join(", "))
            };
            let place = self.reader.place(key.span().start, format!("{}{name}", self.prefix));
            self.reader.record(place.diagnostic(message));
        }
        for (key, expected) in asked {
            if let Some(expected) = expected {
                self.wrong(&key, format!("is missing: {expected}"));
            }
        }
    }
}

/// Adds the entries that a table and its inner tables lack, all of them at `span`.
fn add_missing<'s>(table: &mut DeTable<'s>, more: DeTable<'s>, span: &Range<usize>) {
    for (key, value) in more {
        let name = key.into_inner();
        let mut value = value.into_inner();
        match table.get_mut(&*name).map(Spanned::get_mut) {
            Some(DeValue::Table(own)) => {
                if let DeValue::Table(more) = value {
                    add_missing(own, more, span);
                }
            }
            Some(_) => {}
            None => {
                if let DeValue::Table(inner) = &mut value {
                    let moved = std::mem::take(inner);
                    add_missing(inner, moved, span);
                }
                let value = Spanned::new(span.clone(), value);
                table.insert(Spanned::new(span.clone(), name), value);
            }
        }
    }
}

/// Returns `Some(None)` for a value that was left out, and `None` for a value with mistakes.
#[expect(clippy::option_option, reason = "left out and mistaken are two things")]
pub(crate) fn given<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    read.map_or(Some(None), |value| value.map(Some))
}

/// Reads tables that each have a name of their own under `key`; `twice` returns the message for a
/// name that an earlier table has. Returns None if a table has mistakes.
pub(crate) fn read_named<'r, 's, T>(
    tables: &[TomlTable<'r, 's>],
    key: &str,
    read: impl Fn(&TomlTable<'r, 's>) -> Option<T>,
    name: impl Fn(&T) -> &str,
    twice: impl Fn(&str) -> String,
) -> Option<Vec<T>> {
    let all: Vec<Option<T>> = tables.iter().map(read).collect();
    for (number, named) in all.iter().enumerate() {
        let Some(own) = named.as_ref().map(&name) else { continue };
        if all[..number].iter().flatten().any(|known| name(known) == own) {
            tables[number].wrong(key, twice(own));
        }
    }
    all.into_iter().collect()
}
