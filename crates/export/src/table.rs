//! The tables and their columns, which never depend on the record.

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// Whole, at least 0, below 2^64.
    Unsigned,
    Real,
    Truth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [Column],
}

/// One field of a row. Any can be nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Field<'a> {
    Nothing,
    Text(&'a str),
    Unsigned(u64),
    Real(f64),
    Truth(bool),
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: Kind::Text }
}

const fn unsigned(name: &'static str) -> Column {
    Column { name, kind: Kind::Unsigned }
}

const fn real(name: &'static str) -> Column {
    Column { name, kind: Kind::Real }
}

/// The axes that have a column of their own, in the order of the columns; those of a sweep are in
/// `parameters`.
pub const AXES: [&str; 7] =
    ["array", "workload", "jobs", "background", "policy", "scheduler", "kernel"];

pub const TRIALS: Table = Table {
    name: "trials",
    columns: &[
        text("trial"),
        text("key"),
        text("array"),
        text("workload"),
        text("jobs"),
        text("background"),
        text("policy"),
        text("scheduler"),
        text("kernel"),
        text("parameters"),
        unsigned("seed_index"),
        unsigned("seed"),
        text("status"),
        text("reason"),
        text("remarks"),
        Column { name: "sound", kind: Kind::Truth },
        unsigned("virtual_ns"),
        unsigned("wall_ms"),
    ],
};

pub const METRICS: Table = Table {
    name: "metrics",
    columns: &[
        text("trial"),
        text("key"),
        text("array"),
        text("workload"),
        text("jobs"),
        text("background"),
        text("policy"),
        text("scheduler"),
        text("kernel"),
        text("parameters"),
        unsigned("seed_index"),
        Column { name: "sound", kind: Kind::Truth },
        text("disk"),
        text("device"),
        text("metric"),
        text("unit"),
        text("better"),
        real("value"),
        // It was given up then: it is more than that.
        Column { name: "censored", kind: Kind::Truth },
        // Of a count: of so many.
        real("of"),
    ],
};

pub const HISTOGRAMS: Table = Table {
    name: "histograms",
    columns: &[
        text("trial"),
        text("job"),
        text("direction"),
        text("latency"),
        unsigned("latency_ns"),
        unsigned("requests"),
    ],
};

pub const TRACES: Table = Table {
    name: "traces",
    columns: &[
        text("trial"),
        unsigned("disk"),
        text("op"),
        Column { name: "fua", kind: Kind::Truth },
        unsigned("sector"),
        unsigned("sectors"),
        unsigned("submitted_ns"),
        unsigned("started_ns"),
        unsigned("ended_ns"),
        text("mark"),
    ],
};
