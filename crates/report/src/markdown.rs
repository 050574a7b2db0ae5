//! Writes the same answers as text, for a mailing list, a gist or a pull request.

use disklab_compare::{Metric, answer, conclusion};
use disklab_units::prose::{count, visible};
use itertools::Itertools;

use crate::failures::TrialFailure;
use crate::numbers;
use crate::panels::question::{facts, validities};
use crate::source::{ReportOptions, ReportSource};
use crate::swept::{self, Along};
use crate::text::MARKER;
use crate::title::title;

/// Returns the report as GitHub's Markdown.
pub fn markdown(source: &ReportSource) -> String {
    let mut out = vec![MARKER.to_owned()];
    out.push(format!("## {}\n", plain(&title(source))));
    if !source.lost.is_empty() {
        out.push("**What could not be read**\n".to_owned());
        out.extend(source.lost.iter().map(|sentence| format!("- {}", plain(sentence))));
        out.push(String::new());
    }
    out.extend(source.unfinished().iter().map(|sentence| format!("**{}**\n", plain(sentence))));
    if let Some(recommendation) = &source.recommendation {
        out.push(format!("**{}.**\n", plain(&recommendation.headline)));
        out.extend(recommendation.details.iter().map(|detail| format!("- {}.", plain(detail))));
        out.extend(recommendation.to_settle.iter().map(|command| format!("- `{command}`")));
        out.push("\n### Verdicts\n".to_owned());
    }
    let why = source.no_recommendation.iter();
    out.extend(why.map(|why| format!("No recommendation: {}.\n", plain(why))));
    let without = source.no_comparisons.as_ref();
    out.extend(without.map(|why| format!("No verdicts: {}.\n", plain(why))));
    let sentences = source.sentences();
    let more = source.seeds_to_decide().into_iter().chain(source.two_modes());
    let more = source.on_other_disks().into_iter().chain(more).collect_vec();
    let said = sentences.iter().chain(&more).map(|one| plain(one)).collect_vec();
    out.extend(said.iter().map(|sentence| format!("- {sentence}.")));
    if !sentences.is_empty() {
        let basis = conclusion::basis(source.rule, &source.matched, source.design.as_ref());
        out.push(format!("\n{}.\n", plain(&basis)));
    }
    let machine = source.merged.iter().flat_map(|report| &report.machine);
    out.extend(machine.map(|sentence| format!("{}.\n", plain(sentence))));
    out.push("| | |\n| --- | --- |".to_owned());
    let facts = facts(source);
    out.extend(facts.iter().map(|(what, was)| format!("| {} | {} |", plain(what), plain(was))));
    winners(&mut out, source);
    for metric in &source.metrics {
        table(&mut out, source, metric);
    }
    out.push(String::new());
    out.extend(validities(source).iter().map(|validity| format!("> {validity}\n")));
    let ReportOptions { version, command, .. } = source.wanted;
    out.push(format!("Made by disklab {}: {}\n", plain(version), code(command)));
    visible(&out.join("\n"))
}

/// Largest number of sentences about ranges in which the best choice changes.
const MOST_WINNERS: usize = 24;

fn winners(out: &mut Vec<String>, source: &ReportSource) {
    let cells = swept::all(source);
    let along = swept::along(source, &cells);
    let winner = |(along, metric): (&Along, &Metric)| {
        let (title, rest) = (along.title(metric), answer::title(&along.line.rest));
        along.winner(metric).map(|sentence| format!("{title} ({rest}): {sentence}"))
    };
    let told = along.iter().cartesian_product(&source.metrics).filter_map(winner).collect_vec();
    if told.is_empty() {
        return;
    }
    out.push("\n### Over a range\n".to_owned());
    let named = told.iter().take(MOST_WINNERS);
    out.extend(named.map(|sentence| format!("- {}.", plain(sentence))));
    if let Some(more) = told.len().checked_sub(MOST_WINNERS).filter(|more| *more > 0) {
        out.push(format!("- {} on the page.", count(more, "more sentence")));
    }
}

/// Writes a table with a row for each group and a column for each choice: the numbers, and the
/// changes below them.
fn table(out: &mut Vec<String>, source: &ReportSource, metric: &Metric) {
    let choices = source.choices();
    let heads = choices.iter().map(|choice| plain(choice)).join(" | ");
    let head = format!("| | {heads} |\n| --- |{}", " ---: |".repeat(choices.len()));
    out.push(format!("\n### {}\n", plain(metric.name())));
    let caption = plain(&numbers::caption(source, metric));
    // The marks are the same in every table, and are explained once.
    let is_first = source.metrics.first() == Some(metric);
    let marks = if is_first { format!(" {}.", numbers::MARKS) } else { String::new() };
    out.push(format!("{caption}.{marks}\n"));
    out.push(head.clone());
    for group in &source.groups {
        let fields = numbers::row(source, group, metric).into_iter().map(|number| {
            number.map_or_else(|| "-".to_owned(), |number| numbers::in_markdown(&number, plain))
        });
        out.push(format!("| {} | {} |", plain(&group.title()), { fields }.join(" | ")));
    }
    if source.comparisons.iter().any(|comparison| comparison.metric == *metric) {
        changes(out, source, metric, &head);
    }
    failures(out, source, metric);
}

/// Adds the changes against the baseline to the same table.
fn changes(out: &mut Vec<String>, source: &ReportSource, metric: &Metric, head: &str) {
    let baseline = source.baseline.as_deref().unwrap_or_default();
    out.push(format!("\nThe change against {}:\n", plain(baseline)));
    out.push(head.to_owned());
    for group in &source.groups {
        let field = |value: &str| match source.comparison(group, value, metric) {
            Some(comparison) if comparison.change.is_some() => {
                plain(&comparison.change_and_verdict())
            }
            _ => "-".to_owned(),
        };
        let fields = source.choices().into_iter().map(field).join(" | ");
        out.push(format!("| {} | {fields} |", plain(&group.title())));
    }
}

/// Writes the reasons of missing results once, below the first metric.
fn failures(out: &mut Vec<String>, source: &ReportSource, metric: &Metric) {
    let mut failures: Vec<String> = Vec::new();
    for group in &source.groups {
        for choice in &group.choices {
            let line = |failure: TrialFailure| {
                let mark = if failure.failed { "✕ " } else { "" };
                format!("{mark}{}, {}: {}", group.title(), choice.value, failure.text)
            };
            failures.extend(choice.failures(metric).into_iter().map(line));
        }
    }
    if source.metrics.first() == Some(metric) && !failures.is_empty() {
        out.push("\nTrials without a result, or that timed out at their limit:\n".to_owned());
        out.extend(failures.iter().map(|failure| format!("- {}", plain(failure))));
    }
}

/// Escapes text for Markdown, on one line.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => plain.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '$' => {
                plain.push('\\');
                plain.push(letter);
            }
            '&' => plain.push_str("&amp;"),
            _ => plain.push(letter),
        }
    }
    // GitHub would notify accounts of these names.
    plain.replace('@', "@\u{200b}")
}

/// Returns a span of code that may contain any text.
fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let blank = if longest > 0 { " " } else { "" };
    format!("{fence}{blank}{}{blank}{fence}", text.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(plain("a|b <i> `c` *d*\n# @e"), "a\\|b \\<i\\> \\`c\\` \\*d\\* \\# @\u{200b}e");
        assert_eq!(code("a `b` c"), "`` a `b` c ``");
        assert_eq!(code("a"), "`a`");
    }
}
