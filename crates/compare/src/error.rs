//! Reasons why records cannot be compared.

use disklab_config::Diagnostics;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This disklab does not understand the suite in the record.
    #[error("{0}")]
    Suite(Diagnostics),

    #[error(
        "{record} names no baseline; name a second record, or a baseline: --baseline AXIS=VALUE, \
         with one of the axes {}",
        axes.join(", ")
    )]
    NoBaseline { record: String, axes: Vec<String> },

    #[error(
        "nothing in {record} can be compared with {compared} {value}: no cell of another \
         {compared} has the same values on the other axes (axes: {}); --ignore AXIS takes an axis \
         out of the cells",
        axes.join(", ")
    )]
    NothingAgainst { record: String, compared: String, value: String, axes: Vec<String> },

    #[error(
        "{first} and {other} have no cell in common; `disklab show` lists the cells of each, and \
         --ignore AXIS takes an axis out of them"
    )]
    NoCellInCommon { first: String, other: String },

    /// `found` are the names that the records have besides the `known` ones.
    #[error("no trial has the number `{metric}`; the known ones are {known}{}", more(found))]
    NoMetric { metric: String, known: String, found: Vec<String> },

    #[error("--ignore {axis}: there is no such axis; the axes are {}", axes.join(", "))]
    NoAxis { axis: String, axes: Vec<String> },

    #[error("--ignore {axis}: this axis is compared; leave out one of --ignore and --baseline")]
    IgnoresCompared { axis: String },

    #[error(
        "--ignore {ignored}: without it, {} and {} of {record} have the same cell and the same \
         seed, and their counterparts in another cell are unknown. Only cells with different seeds \
         can be pooled; to count some cells less, use --weight",
        trials.0,
        trials.1
    )]
    SharedSeed { record: String, ignored: String, trials: (String, String) },

    #[error(
        "--weight {selector}: no cell has these values; the known ones are {} and metric=NAME",
        cells.join(", ")
    )]
    NothingWeighted { selector: String, cells: Vec<String> },

    #[error(
        "--weight: every cell has a weight of 0, so that nothing counts; give one of them \
             another weight"
    )]
    NothingCounts,

    #[error("{0}")]
    Statistics(#[from] disklab_stats::Error),

    #[error(
        "the record limits wrong verdicts by `{limit}`, which this disklab does not know; use the \
         disklab that wrote the record"
    )]
    UnknownLimit { limit: String },
}

fn more(found: &[String]) -> String {
    if found.is_empty() {
        String::new()
    } else {
        format!("; these records have {}", found.join(", "))
    }
}
