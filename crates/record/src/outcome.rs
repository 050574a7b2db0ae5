//! `trials.jsonl`: the outcome of each trial, one line of JSON each.

use std::collections::BTreeMap;
use std::fmt;

use disklab_results::measure::Measures;
use disklab_results::{Remark, Sample};
use disklab_units::prose::count;
use disklab_units::{Nanos, Seed};
use serde::{Deserialize, Serialize};

use crate::chain::{Chain, LastLine};
use crate::name;
use crate::schema::Versioned;

/// The version of the lines that are written and read.
pub const SCHEMA: u32 = 1;

/// The outcome of one attempt of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The trial's id, as in the manifest.
    pub trial: String,
    /// The trial's key, as in the manifest. The writer sets it; older records have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub cell: Cell,
    pub seed_index: u32,
    pub seed: Seed,
    pub status: Status,
    /// The reason why the status is not `ok`.
    pub reason: Option<String>,
    /// Cause of a failure: the trial or the machine. It is missing in older records, and in those
    /// of a machine's own disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// The guest's clock at its end.
    pub virtual_ns: Option<Nanos>,
    /// Wall time of the trial in milliseconds: the only number that differs between two equal runs.
    pub wall_ms: u64,
    pub sample: Option<Sample>,
    pub remarks: Vec<Remark>,
    /// Path of the folder with its raw output, from the record's folder. The writer sets it.
    pub raw: Option<String>,
    /// SHA-256 of the raw files that its numbers come from, by name. The writer sets it; older
    /// records have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// SHA-256 of its other raw files, by their paths in its folder. They may differ between two
    /// machines, so they only serve to find damage. The writer sets it; older records have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_files: BTreeMap<String, String>,
    /// Digests of the prepared disks it began on, in the order of the disks. The list is empty for
    /// bare disks, and in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<String>,
    /// Numbers that are not fio's, or only some of fio's, of imported results.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measures: Measures,
    /// The source of an imported result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundAt>,
}

/// The source of an imported result, as the record keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundAt {
    /// Path from the record's folder: `found/3-fio.json`.
    pub file: String,
    /// Place in the file.
    pub place: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    /// The trial ran, and gave no result.
    Failed,
    /// The trial could not be run here.
    Skipped,
    /// The user stopped the trial.
    Interrupted,
    /// The trial was not needed: every verdict that it could have served was reached without it.
    #[serde(rename = "spared")]
    NotNeeded,
}

/// The cause of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// The failure is the trial's own: it fails in the same way everywhere.
    Trial,
    /// The failure may be the machine's, which had no room, killed the trial, or was too slow.
    Machine,
}

/// Writes the status as the word in `trials.jsonl`.
impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        self.serialize(out)
    }
}

/// Text in a trial's id between the values of its cell and the index of its seed.
const SEED: &str = "+s";

/// Text before the seed in the id of a second measurement.
const AGAIN: &str = "+again";

/// Returns the id of a trial's second measurement.
pub fn again(id: &str) -> String {
    let (cell, seed) = id.rsplit_once(SEED).unwrap_or((id, ""));
    format!("{cell}{AGAIN}{SEED}{seed}")
}

/// Returns the id of the trial whose second measurement this is.
pub fn first_of(again: &str) -> Option<String> {
    let (cell, seed) = again.rsplit_once(SEED)?;
    Some(format!("{}{SEED}{seed}", cell.strip_suffix(AGAIN)?))
}

/// Returns the index of the seed in a trial's id.
pub fn seed_of_id(id: &str) -> Option<u32> {
    id.rsplit_once(SEED)?.1.parse().ok()
}

/// The trial's cell in the matrix: (axis, value), in the suite's order of axes. On disk it is a
/// JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Cell(pub Vec<(String, String)>);

impl Cell {
    pub fn value(&self, axis: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == axis).map(|(_, value)| value.as_str())
    }

    /// Returns the cell without one axis.
    #[must_use]
    pub fn without(&self, axis: &str) -> Self {
        Self(self.0.iter().filter(|(known, _)| known != axis).cloned().collect())
    }

    /// Returns the cell of a trial that has not run: its id is made of the values of `axes`, in
    /// their order. An axis without a value in the id is left out.
    pub fn of_id(id: &str, axes: &[String]) -> Self {
        let values = id.rsplit_once(SEED).map_or(id, |(values, _)| values).split('+');
        // An id has `=` for the `:` of a policy and `%` for the `/` of a kernel's path.
        let spelled = values.map(|value| value.replacen('=', ":", 1).replace('%', "/"));
        Self(axes.iter().cloned().zip(spelled).collect())
    }
}

impl Serialize for Cell {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(axis, value)| (axis, value)))
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> serde::de::Visitor<'de> for InOrder {
            type Value = Cell;
            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                write!(out, "an object of one value for each axis")
            }
            fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<Cell, M::Error> {
                let mut cell = Cell::default();
                while let Some(entry) = map.next_entry()? {
                    cell.0.push(entry);
                }
                Ok(cell)
            }
        }
        from.deserialize_map(InOrder)
    }
}

impl Outcome {
    /// Returns an outcome of which only these fields are known.
    pub fn new(trial: String, cell: Cell, seed_index: u32, seed: Seed, status: Status) -> Self {
        Self {
            trial,
            key: None,
            cell,
            seed_index,
            seed,
            status,
            reason: None,
            fault: None,
            virtual_ns: None,
            wall_ms: 0,
            sample: None,
            remarks: Vec::new(),
            raw: None,
            files: BTreeMap::new(),
            other_files: BTreeMap::new(),
            disks: Vec::new(),
            measures: Measures::new(),
            found: None,
        }
    }

    /// Returns whether verdicts may rest on its numbers: it is ok, and no remark doubts them.
    pub fn is_sound(&self) -> bool {
        self.status == Status::Ok && !self.remarks.iter().any(Remark::doubts)
    }

    /// Returns whether its line was damaged and made again from raw files, without a digest that
    /// proves the line equal to the original.
    pub fn is_made_again(&self) -> bool {
        self.remarks.contains(&Remark::MadeAgain)
    }

    /// Returns whether it failed and would fail everywhere, so that a result of the same trial
    /// contradicts it.
    pub fn fails_everywhere(&self) -> bool {
        self.status == Status::Failed && self.fault == Some(Fault::Trial)
    }

    /// Returns the line of `trials.jsonl` with its newline, and adds it to the chain.
    pub fn to_line(&self, chain: &mut Chain) -> Result<String, serde_json::Error> {
        Ok(chain.seal(self.to_bare()?) + "\n")
    }

    /// Returns the line without its digest and its newline.
    pub(crate) fn to_bare(&self) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct Line<'a> {
            schema: u32,
            #[serde(flatten)]
            outcome: &'a Outcome,
        }
        serde_json::to_string(&Line { schema: SCHEMA, outcome: self })
    }
}

/// The contents of a `trials.jsonl`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// Outcomes in the order of the file.
    pub outcomes: Vec<Outcome>,
    /// Bytes up to and with the last newline.
    pub whole: usize,
    /// Bytes after the last newline: a line that is being written, or that a crash cut off. It does
    /// not count.
    pub torn: usize,
    /// The digests' chain after the last line.
    pub chain: Chain,
}

/// A whole line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Number of the line, from 1.
    pub line: usize,
    pub message: String,
}

/// Parses the lines of a `trials.jsonl`; `chain` is that of the manifest, `last` the contents of
/// `trials.last` from before. Only a last line without a newline is tolerated.
pub fn parse(bytes: &[u8], chain: Chain, last: Option<&LastLine>) -> Result<Lines, BadLine> {
    let (lines, bad) = parse_what_can_be(bytes, chain, last);
    bad.into_iter().next().map_or(Ok(lines), Err)
}

/// Returns the lines of a `trials.jsonl` that can be read, and those that cannot.
pub fn parse_what_can_be(
    bytes: &[u8],
    mut chain: Chain,
    last: Option<&LastLine>,
) -> (Lines, Vec<BadLine>) {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let mut outcomes = Vec::new();
    let mut bad = Vec::new();
    // The last newline ends a line; it does not begin one.
    for (index, line) in bytes[..whole.saturating_sub(1)].split(|&byte| byte == b'\n').enumerate() {
        if whole == 0 {
            break;
        }
        let checked = chain.check(line);
        let checked = checked.and_then(|()| last.map_or(Ok(()), |last| chain.check_last(last)));
        match checked.and_then(|()| parse_line(line)) {
            Ok(outcome) => outcomes.push(outcome),
            Err(message) => bad.push(BadLine { line: index + 1, message }),
        }
    }
    if let Some(last) = last.filter(|last| last.lines > chain.lines()) {
        let message = format!("it is gone: trials.last counts {}", count(last.lines, "line"));
        bad.push(BadLine { line: chain.lines() + 1, message });
    }
    (Lines { outcomes, whole, torn: bytes.len() - whole, chain }, bad)
}

pub(crate) fn parse_line(line: &[u8]) -> Result<Outcome, String> {
    let unreadable = |error: serde_json::Error| format!("not the outcome of a trial: {error}");
    let head: Versioned = serde_json::from_slice(line).map_err(unreadable)?;
    head.check(SCHEMA)?;
    let outcome: Outcome = serde_json::from_slice(line).map_err(unreadable)?;
    if let Some(raw) = &outcome.raw {
        let folder = raw.strip_prefix("raw/").unwrap_or_default();
        if !name::is_attempt(folder) {
            return Err(format!("raw output cannot be in `{raw}`"));
        }
    }
    if let Some(found) = &outcome.found {
        let name = found.file.strip_prefix("found/").unwrap_or_default();
        if !name::is_fit(name) {
            return Err(format!("an imported file cannot be `{}`", found.file));
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(trial: &str) -> Outcome {
        let cell = [("workload", "rand-4k"), ("array", "hdd-raid1")];
        let cell = Cell(cell.map(|(axis, value)| (axis.into(), value.into())).into());
        Outcome {
            virtual_ns: Some(Nanos(5)),
            wall_ms: 7,
            remarks: vec![Remark::NoPercentiles],
            raw: Some(format!("raw/{trial}")),
            files: [("fio.json".to_owned(), "1".repeat(64))].into(),
            disks: vec!["2".repeat(64)],
            ..Outcome::new(trial.into(), cell, 0, Seed(u64::MAX), Status::Ok)
        }
    }

    fn text(trials: &[&str]) -> Vec<u8> {
        trials
            .iter()
            .map(|trial| outcome(trial).to_line(&mut Chain::default()).expect("plain data"))
            .collect::<String>()
            .into()
    }

    #[test]
    fn lines_come_back_as_they_were() {
        let lines = parse(&text(&["a", "b"]), Chain::default(), None).expect("whole lines");
        assert_eq!(lines.outcomes, [outcome("a"), outcome("b")]);
        assert_eq!(lines.torn, 0);
        assert_eq!(lines.outcomes[0].cell.value("array"), Some("hdd-raid1"));
        assert!(
            text(&["a"])
                .starts_with(br#"{"schema":1,"trial":"a","cell":{"workload":"rand-4k","array":"#)
        );
    }

    #[test]
    fn a_line_without_digests_is_an_older_one() {
        let mut expected = outcome("a");
        (expected.files, expected.disks) = (BTreeMap::new(), Vec::new());
        let line = expected.to_line(&mut Chain::default()).expect("plain data");
        assert!(!line.contains("files") && !line.contains("disks"), "{line}");
        assert_eq!(
            parse(line.as_bytes(), Chain::default(), None).expect("a whole line").outcomes,
            [expected]
        );
    }

    #[test]
    fn an_id_is_made_of_its_cell_and_its_seed() {
        let axes = ["array", "policy", "kernel"].map(str::to_owned);
        let id = "hdd-raid1+latency=burst=100+%boot%linux-7.3+s12";
        let cell = Cell::of_id(id, &axes);
        let value = |axis| cell.value(axis).expect("a value");
        assert_eq!(
            axes.each_ref().map(|axis| value(axis)),
            ["hdd-raid1", "latency:burst=100", "/boot/linux-7.3"]
        );
        assert_eq!(seed_of_id(id), Some(12));
        assert_eq!(
            Cell::of_id("hdd-raid1+s1", &axes).value("policy"),
            None,
            "the seed is no value"
        );
        assert_eq!(seed_of_id("hdd-raid1"), None);
        let second = again(id);
        assert_eq!(
            (second.as_str(), seed_of_id(&second)),
            ("hdd-raid1+latency=burst=100+%boot%linux-7.3+again+s12", Some(12))
        );
        assert_eq!(first_of(&second).as_deref(), Some(id));
        assert_eq!(first_of(id), None);
    }

    #[test]
    fn nothing_yet_is_no_line() {
        assert_eq!(parse(b"", Chain::default(), None), Ok(Lines::default()));
    }

    #[test]
    fn a_last_line_counts_when_it_is_whole_and_never_before() {
        let bytes = text(&["a", "b"]);
        let first = text(&["a"]).len();
        for kept in first..bytes.len() {
            let lines =
                parse(&bytes[..kept], Chain::default(), None).expect("only the last line is cut");
            assert_eq!(lines.outcomes, [outcome("a")]);
            assert_eq!((lines.whole, lines.torn), (first, kept - first));
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        let line = |text: &[u8]| parse(text, Chain::default(), None).expect_err("a bad line");
        let mut bytes = text(&["a", "b", "c"]);
        let second = text(&["a"]).len();
        bytes[second] = b'?';
        assert_eq!(line(&bytes).line, 2);
        assert_eq!(line(b"\n").line, 1);
        assert_eq!(line(&[text(&["a"]), b"\n".to_vec()].concat()).line, 2);
        let newer =
            String::from_utf8(text(&["a"])).expect("text").replace("\"schema\":1", "\"schema\":2");
        assert!(line(newer.as_bytes()).message.contains("schema is 2"));
        let outside =
            String::from_utf8(text(&["a"])).expect("text").replace("raw/a", "raw/../../a");
        assert!(line(outside.as_bytes()).message.contains("raw/../../a"));
    }
}
