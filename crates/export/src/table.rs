//! Defines the tables and their columns. They do not depend on the record, except those of the flat
//! table.

use std::borrow::Cow;

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A whole number, at least 0 and below 2^64.
    Unsigned,
    Real,
    Truth,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: Cow<'static, str>,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: &'static str,
    pub columns: Cow<'static, [Column]>,
}

/// A field of a row. Any field can be missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Field<'a> {
    Nothing,
    Text(&'a str),
    Unsigned(u64),
    Real(f64),
    Truth(bool),
}

/// Lists the columns of a table: a kind, and the names of adjacent columns that have it.
macro_rules! columns {
    ($($kind:ident: $($name:literal),+;)+) => {
        Cow::Borrowed(&[$($(Column { name: Cow::Borrowed($name), kind: Kind::$kind }),+),+])
    };
}

/// The axes that have a column of their own, in the order of the columns. The axes of a sweep are
/// in `parameters`.
pub const AXES: [&str; 7] =
    ["array", "workload", "jobs", "background", "policy", "scheduler", "kernel"];

pub const TRIALS: Table = Table {
    name: "trials",
    columns: columns! {
        Text: "trial", "key";
        Text: "array", "workload", "jobs", "background", "policy", "scheduler", "kernel";
        Text: "parameters";
        Unsigned: "seed_index", "seed";
        Text: "status", "reason", "remarks";
        Truth: "sound";
        Unsigned: "virtual_ns", "wall_ms";
    },
};

pub const METRICS: Table = Table {
    name: "metrics",
    columns: columns! {
        Text: "trial", "key";
        Text: "array", "workload", "jobs", "background", "policy", "scheduler", "kernel";
        Text: "parameters";
        Unsigned: "seed_index";
        Truth: "sound";
        Text: "disk", "device", "metric", "unit", "better";
        Real: "value";
        // The trial timed out: the true number is larger.
        Truth: "censored";
        // The total of which the number is a part, for counts.
        Real: "of";
    },
};

pub const HISTOGRAMS: Table = Table {
    name: "histograms",
    columns: columns! {
        Text: "trial", "job", "direction", "latency";
        Unsigned: "latency_ns", "requests";
    },
};

pub const TRACES: Table = Table {
    name: "traces",
    columns: columns! {
        Text: "trial";
        Unsigned: "disk";
        Text: "op";
        Truth: "fua";
        Unsigned: "sector", "sectors", "submitted_ns", "started_ns", "ended_ns";
        Text: "mark";
    },
};
