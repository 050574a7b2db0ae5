//! The title of a report: the question that its records answer.

use disklab_compare::RECORD;
use disklab_config::suite::SEEDS_SETTING;
use disklab_units::prose::listed;
use itertools::Itertools;

use crate::source::{ReportSource, values_by_axis};

/// Number of names above which they are counted.
const NAMED: usize = 4;

/// Returns the requested title, or the suite's question if the suite was not changed, or a question
/// made of the axes and values of the records.
pub fn title(source: &ReportSource) -> String {
    if let Some(title) = &source.wanted.title {
        return title.clone();
    }
    let is_changed = |setting: &String| !setting.starts_with(&format!("{SEEDS_SETTING}="));
    let changed = source.merged.iter().any(|report| report.set.iter().any(is_changed));
    let own = source.merged.iter().find_map(|report| report.question.as_deref());
    let own = own.map(str::trim).filter(|question| !question.is_empty());
    match own {
        Some(question) if !changed && source.compared != RECORD => question.to_owned(),
        _ => made(source)
            .or_else(|| own.map(str::to_owned))
            .unwrap_or_else(|| source.names().join(", ")),
    }
}

/// Makes a question: `Which policy is best for randread-4k-qd32 on nas-raid1: pid, queue or devid?`
/// `None` without two choices.
fn made(source: &ReportSource) -> Option<String> {
    let choices = source.choices();
    if choices.len() < 2 {
        return None;
    }
    let axes = values_by_axis(source.groups.iter().map(|group| &group.cell));
    let values = |axis: &str| {
        let values = axes.get(axis)?.iter().copied().filter(|value| !value.is_empty());
        Some(named(&values.collect_vec(), "and")).filter(|names| !names.is_empty())
    };
    let on = values("array").map(|arrays| format!(" on {arrays}"));
    let of = values("workload").map(|workloads| format!(" for {workloads}"));
    let usual = ["array", "workload"];
    let varies = axes.iter().filter(|(axis, values)| !usual.contains(axis) && values.len() > 1);
    let others = varies.map(|(axis, _)| *axis).collect_vec();
    let over = match others.as_slice() {
        [] => String::new(),
        some => format!(", over {}", listed(some)),
    };
    let choices = named(&choices, "or");
    let [on, of] = [on, of].map(Option::unwrap_or_default);
    Some(format!("Which {} is best{of}{on}{over}: {choices}?", source.compared))
}

/// Lists names as `a, b and c`. More than [`NAMED`] names are counted.
fn named(values: &[&str], joint: &str) -> String {
    match values {
        many if many.len() > NAMED => {
            let (first, rest) = many.split_at(NAMED - 1);
            format!("{} {joint} {} others", first.join(", "), rest.len())
        }
        [first @ .., last] if !first.is_empty() => {
            format!("{} {joint} {last}", first.join(", "))
        }
        few => few.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_counted() {
        let all = ["a", "b", "c", "d", "e"];
        assert_eq!(named(&all[..1], "and"), "a");
        assert_eq!(named(&all[..3], "and"), "a, b and c");
        assert_eq!(named(&all, "and"), "a, b, c and 2 others");
    }
}
