//! The tables of docs/FORMAT.md, and their comparison with the code that reads the files.
//!
//! A table of keys has `key` or ``key of `[table]` `` at the head of its first column, and columns
//! `form`, `default` and `meaning`, and mostly `range`. [`compare`] refuses a row that has no
//! meaning. It changes one key of a valid file at a time, and reads the file with the code's own
//! reader. [`fields`] returns the names that serde reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::LazyLock;

use disklab_config::read::{Diagnostic, Diagnostics, in_range};
use disklab_units::{Bytes, Nanos, Rate};
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor, value};

static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FORMAT.md");
    std::fs::read_to_string(path).expect("docs/FORMAT.md")
});

/// Forms of values, and what the reader's message calls them if it finds a date instead.
const FORMS: [(&str, &str); 13] = [
    ("time", "a time in quotes"),
    ("size", "a size in quotes"),
    ("rate", "a rate in quotes"),
    ("number", "a whole number"),
    ("boolean", "true or false"),
    ("string", "a string"),
    ("name", "a string"),
    ("step", "a string"),
    ("value", "a number, or a string"),
    ("join", "the name of a join"),
    ("priority", "an I/O priority"),
    ("sizes", "a size, or sizes"),
    ("pick", "a way to pick a file"),
];
/// A key that no table has, and that is near to none.
const UNKNOWN: &str = "zzzzzzzzzzzzzzzzzzzzzzzz";

/// A row of a table: the cells by the heads of their columns.
#[derive(Debug)]
pub struct FormatRow {
    /// The number of the table below its heading, from 0.
    pub table: usize,
    /// The head of the first column.
    pub head: &'static str,
    pub cells: BTreeMap<&'static str, &'static str>,
}

/// The reader of a kind of files. It returns all that it read as a text.
type Read<'a> = &'a dyn Fn(&str) -> Result<String, Diagnostics>;

/// Returns the words between backticks.
pub fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the text below a heading of docs/FORMAT.md, up to the next heading.
pub fn text(heading: &str) -> &'static str {
    let (_, below) = DOCUMENT.split_once(&format!("\n{heading}\n")).unwrap_or_default();
    below.split("\n#").next().unwrap_or_default()
}

/// Returns the rows of all tables below a heading.
pub fn rows(heading: &str) -> Vec<FormatRow> {
    let (mut rows, mut heads, mut table) = (Vec::new(), Vec::new(), 0);
    for line in text(heading).lines() {
        let Some(cells) = line.strip_prefix("| ") else {
            table += usize::from(!heads.is_empty());
            heads.clear();
            continue;
        };
        let cells: Vec<&str> = cells.trim_end_matches('|').split('|').map(str::trim).collect();
        if heads.is_empty() {
            heads = cells;
        } else if !cells[0].starts_with("---") {
            let (head, cells) = (heads[0], heads.iter().copied().zip(cells).collect());
            rows.push(FormatRow { table, head, cells });
        }
    }
    rows
}

impl FormatRow {
    /// Returns the names in the first column. A key of tables has its brackets. A name in quotes
    /// stands for many keys, and is left out.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        quoted(self.cell(self.head)).filter(|key| !key.starts_with('"'))
    }

    /// Returns all words between backticks in the row.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.cells.values().flat_map(|cell| quoted(cell))
    }

    /// Returns the names of the tables that the keys stand in. The list is empty for the top of the
    /// file.
    fn tables(&self) -> Vec<&str> {
        let named = quoted(self.head).map(|name| name.trim_matches(['[', ']']));
        let is_top = !self.head.contains('`') || self.head.contains("at the top");
        named.chain(is_top.then_some("")).collect()
    }

    /// Returns whether the first column has a name that stands for many keys, in quotes.
    fn is_open(&self) -> bool {
        self.cell(self.head).starts_with("`\"")
    }

    fn cell(&self, head: &str) -> &'static str {
        self.cells.get(head).copied().unwrap_or_default()
    }
}

/// Compares the tables of keys below a heading with a reader. `files` are valid files that together
/// have every table. Returns how many keys were compared.
///
/// # Panics
/// Panics with all differences if there are any.
pub fn compare(heading: &str, files: &[&str], read: Read<'_>) -> usize {
    let rows: Vec<FormatRow> =
        rows(heading).into_iter().filter(|row| row.head.split(' ').next() == Some("key")).collect();
    assert!(!rows.is_empty(), "docs/FORMAT.md has no tables of keys below {heading}");
    let unexplained = rows.iter().filter(|row| row.cell("meaning").is_empty());
    let unexplained = unexplained.map(|row| (row.cell(row.head), row.head));
    let mut wrong: Vec<String> =
        unexplained.map(|(key, head)| format!("{key} of `{head}` has no meaning")).collect();
    for file in files {
        wrong.extend(read(file).err().map(|mistakes| format!("{mistakes} in\n{file}")));
    }
    let in_files = files.iter().flat_map(|file| file.lines().filter_map(table_of));
    let tables: BTreeSet<&str> = rows.iter().flat_map(FormatRow::tables).chain(in_files).collect();
    let mut count = 0;
    for table in tables {
        let mut documented: Vec<(&str, &FormatRow)> = rows
            .iter()
            .filter(|row| row.tables().contains(&table))
            .flat_map(|row| row.keys().map(move |key| (key, row)))
            .collect();
        // A table's own row goes before one that several tables share.
        documented.sort_by_key(|(key, row)| (*key, row.tables().len()));
        documented.dedup_by_key(|(key, _)| *key);
        let known: Vec<Vec<String>> =
            files.iter().map(|file| known_keys(file, table, read)).collect();
        let is_open = rows.iter().any(|row| row.is_open() && row.tables().contains(&table));
        let is_documented = |key: &String| {
            (is_open && key == UNKNOWN) || documented.iter().any(|(name, _)| bare(name) == key)
        };
        for key in known.iter().flatten().collect::<BTreeSet<_>>() {
            if !is_documented(key) {
                wrong.push(format!("FORMAT lacks `{key}` of [{table}]"));
            }
        }
        for (key, row) in documented {
            let readers = || files.iter().zip(&known).filter(|(_, known)| is_in(known, bare(key)));
            let has_key = |file: &str| changed(file, table, bare(key), None).1;
            let with = readers().find(|(file, _)| has_key(file)).or_else(|| readers().next());
            let Some((file, _)) = with else {
                wrong.push(format!("no reader knows `{key}` of [{table}]"));
                continue;
            };
            let probe = Probe { file, table, key, row, read };
            let result = if key.starts_with('[') { probe.table(files) } else { probe.key() };
            wrong.extend(result.err());
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "docs/FORMAT.md, {heading}:\n{}", wrong.join("\n"));
    count
}

/// Returns the keys that a table of a file can have, by the message about an unknown one. Returns
/// [`UNKNOWN`] alone if the message does not list them, and nothing if the file lacks the table.
fn known_keys(file: &str, table: &str, read: Read<'_>) -> Vec<String> {
    let line = format!("{UNKNOWN} = 1");
    let said = mistakes(&changed(file, table, UNKNOWN, Some(&line)).0, table, UNKNOWN, read);
    let Some(said) = said.first() else { return Vec::new() };
    let known = said.message.strip_prefix("unknown key; known: ").unwrap_or(UNKNOWN);
    known.split(", ").map(str::to_owned).collect()
}

/// Returns whether a key is among the known ones, or may be.
fn is_in(known: &[String], key: &str) -> bool {
    known.iter().any(|name| name == key || name == UNKNOWN)
}

/// Returns the name of a key of tables without its brackets.
fn bare(key: &str) -> &str {
    key.trim_matches(['[', ']'])
}

/// Returns the name of the table whose header a line is.
fn table_of(line: &str) -> Option<&str> {
    line.starts_with('[').then(|| line.trim_matches(['[', ']']))
}

/// Returns the file with `line` in the place of a key, at the head of the first table of that name,
/// and whether the file had the key there. Without a line the key is removed.
fn changed(file: &str, table: &str, key: &str, line: Option<&str>) -> (String, bool) {
    let line = line.unwrap_or("# removed");
    let (mut lines, mut here, mut times, mut had) = (Vec::new(), table.is_empty(), 0, false);
    lines.extend(here.then_some(line));
    for own in file.lines() {
        if let Some(name) = table_of(own) {
            times += u32::from(name == table);
            here = name == table && times == 1;
        }
        let is_key = here && own.split('=').next().is_some_and(|name| name.trim() == key);
        had |= is_key;
        lines.push(if is_key { "" } else { own });
        lines.extend((here && own.starts_with('[')).then_some(line));
    }
    (lines.join("\n"), had)
}

/// Returns the mistakes of a file at a key, or below it.
fn mistakes(file: &str, table: &str, key: &str, read: Read<'_>) -> Vec<Diagnostic> {
    let place = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
    let below = format!("{place}.");
    let all = read(file).err().map(|mistakes| mistakes.0).unwrap_or_default();
    let is_here = |found: &str| found == place || found.starts_with(&below);
    all.into_iter().filter(|mistake| is_here(&mistake.place.key)).collect()
}

/// A key, its row, and a file whose reader knows the key.
struct Probe<'a> {
    file: &'a str,
    table: &'a str,
    key: &'a str,
    row: &'a FormatRow,
    read: Read<'a>,
}

impl Probe<'_> {
    /// Returns the messages at the key if it has this value, in TOML.
    fn said(&self, value: &str) -> Vec<String> {
        let line = format!("{} = {value}", self.key);
        let file = changed(self.file, self.table, self.key, Some(&line)).0;
        let mistakes = mistakes(&file, self.table, self.key, self.read);
        mistakes.into_iter().map(|mistake| mistake.message).collect()
    }

    fn wrong<T>(&self, what: impl Display) -> Result<T, String> {
        Err(format!("`{}` of [{}]: {what}", self.key, self.table))
    }

    /// Checks that a key of tables is one table, or one of several, as the brackets say.
    fn table(&self, files: &[&str]) -> Result<(), String> {
        let inner = if self.table.is_empty() { String::new() } else { format!("{}.", self.table) };
        let header = self.key.replace(bare(self.key), &format!("{inner}{}", bare(self.key)));
        if files.iter().any(|file| file.lines().any(|line| line == header)) {
            return Ok(());
        }
        let probe = Probe { key: bare(self.key), ..*self };
        let said = probe.said("2026-11-28");
        let expected =
            if self.key.starts_with("[[") { "expected tables" } else { "expected a table" };
        if said.iter().any(|message| message.starts_with(expected)) {
            return Ok(());
        }
        self.wrong(format!("the reader says {said:?}, and not `{expected}`"))
    }

    fn key(&self) -> Result<(), String> {
        let form = self.row.cell("form");
        if form.starts_with('`') && !form.starts_with("`{") {
            self.words(form)?;
        } else {
            self.form(form)?;
        }
        self.default(self.row.cell("default"), form)?;
        let range = self.row.cell("range").split([';']).next().unwrap_or_default();
        let range = range.split(", ").next().unwrap_or_default();
        match range.trim_end_matches(" each").split_once(" to ") {
            Some((low, high)) => self.range(form, low, high),
            None if range.is_empty() => Ok(()),
            None => self.wrong(format!("`{range}` is no range")),
        }
    }

    /// Checks that the reader takes the words that the form lists, and no other word that it names.
    fn words(&self, form: &str) -> Result<(), String> {
        let documented: Vec<&str> = quoted(form).collect();
        let said = self.said(&format!("{UNKNOWN:?}")).concat();
        let Some((_, known)) = said.split_once("known: ") else {
            return self.wrong(format!("any word is taken, or none: {said}"));
        };
        for word in known.split(", ").chain(documented.iter().copied()) {
            let is_taken = self.said(&format!("{word:?}")).is_empty();
            if is_taken != documented.contains(&word) {
                return self.wrong(format!("the reader takes `{word}`: {is_taken}"));
            }
        }
        Ok(())
    }

    /// Checks the form by the message that the reader has for a date.
    fn form(&self, form: &str) -> Result<(), String> {
        let names = form.trim_start_matches("list of ").replace(" or ", ", ");
        let called = |name: &str| {
            let known = FORMS.iter().find(|(form, _)| *form == name);
            let known = known.or_else(|| FORMS.iter().find(|(form, _)| name == format!("{form}s")));
            known.map(|(_, called)| *called)
        };
        let expected: Vec<&str> = if form.starts_with("`{") {
            vec!["a table"]
        } else {
            names.split(", ").filter_map(called).collect()
        };
        let said = self.said("2026-11-28");
        let fits = |message: &String| {
            message.contains("a list in square brackets") == form.starts_with("list of ")
                && expected.iter().any(|called| message.contains(called))
        };
        if said.iter().any(fits) {
            return Ok(());
        }
        self.wrong(format!("the form is `{form}`, and the reader says {said:?}"))
    }

    /// Checks that a required key cannot be left out, and that a file without a key reads as with
    /// its default.
    fn default(&self, default: &str, form: &str) -> Result<(), String> {
        let removed = changed(self.file, self.table, self.key, None).0;
        let without = (self.read)(&removed);
        if default.starts_with("required") {
            return without.map_or(Ok(()), |_| self.wrong("is not required"));
        }
        let without = without.or_else(|mistakes| self.wrong(format!("is required: {mistakes}")))?;
        let Some(value) = quoted(default)
            .next()
            .filter(|_| default.starts_with('`') && !form.starts_with("list"))
        else {
            return Ok(());
        };
        let value =
            if matches!(form, "number" | "boolean") { value } else { &format!("{value:?}") };
        let line = format!("{} = {value}", self.key);
        let with = (self.read)(&changed(self.file, self.table, self.key, Some(&line)).0);
        match with {
            Ok(with) if with == without => Ok(()),
            Ok(with) => self.wrong(format!("the default is not {value}: {without}\n{with}")),
            Err(mistakes) => self.wrong(mistakes),
        }
    }

    /// Checks that the reader takes both ends of the range, and refuses the values beyond them with
    /// this range in its message.
    fn range(&self, form: &str, low: &str, high: &str) -> Result<(), String> {
        let name = ["time", "size", "rate"].into_iter().find(|name| form.contains(name));
        let name = name.unwrap_or("number");
        let (low, high) = (amount(name, low), amount(name, high));
        let (Some(low), Some(high)) = (low, high) else {
            return self.wrong("the range has other units than the form");
        };
        let refusal = |value: u64| match name {
            "time" => refused(Nanos, low, high, value),
            "size" => refused(Bytes, low, high, value),
            "rate" => refused(Rate, low, high, value),
            _ => refused(u64::from, low, high, value),
        };
        let rule = refusal(high + 1).1;
        for (value, is_inside) in [
            (low.checked_sub(1), false),
            (Some(low), true),
            (Some(high), true),
            (Some(high + 1), false),
        ] {
            let Some(value) = value else { continue };
            let written = written(name, form, value);
            let said = self.said(&written);
            let is_right = if is_inside {
                !said.iter().any(|message| message.ends_with(&rule))
            } else {
                said.contains(&refusal(value).0)
            };
            if !is_right {
                return self
                    .wrong(format!("{written} is inside: {is_inside}; the reader: {said:?}"));
            }
        }
        Ok(())
    }
}

/// Parses an amount in the smallest unit: ns, bytes, bytes a second, or a number.
fn amount(name: &str, text: &str) -> Option<u64> {
    match name {
        "time" => text.parse().ok().map(|Nanos(amount)| amount),
        "size" => text.parse().ok().map(|Bytes(amount)| amount),
        "rate" => text.parse().ok().map(|Rate(amount)| amount),
        _ => text.replace(',', "").parse().ok(),
    }
}

/// Writes an amount in TOML, in the smallest unit, in the form of the key.
fn written(name: &str, form: &str, amount: u64) -> String {
    let one = match name {
        "time" => format!("\"{amount} ns\""),
        "size" => format!("\"{amount} B\""),
        "rate" => format!("\"{amount} B/s\""),
        _ => amount.to_string(),
    };
    if form.starts_with("list of ") {
        return format!("[{one}]");
    }
    // A table of several times has `time` in the place of each.
    quoted(form).next().map_or(one.clone(), |table| table.replace(name, &one))
}

/// Returns the message about a value outside of a range, and its part behind the value.
fn refused<T: PartialOrd + Display>(
    of: impl Fn(u64) -> T,
    low: u64,
    high: u64,
    value: u64,
) -> (String, String) {
    let said = in_range(&of(value), &(of(low)..=of(high))).expect_err("outside");
    let rule = said.strip_prefix(&of(value).to_string()).expect("the value first").to_owned();
    (said, rule)
}

/// Returns the names of a struct's fields, as serde reads them.
pub fn fields<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    let _ = T::deserialize(Fields(&mut found));
    found
}

/// A deserializer that notes which fields a struct asks for, and has none of them.
struct Fields<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(value::Error::custom("not a struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(value::Error::custom("only the fields are wanted"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
