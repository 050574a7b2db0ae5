//! The same answers as text, for a thread, a gist or a pull request.

use std::fmt::Write as _;

use disklab_compare::{Metric, answer, conclusion};
use disklab_units::prose::{count, visible};

use crate::MARKER;
use crate::fates::Fate;
use crate::panels::question::{facts, validities};
use crate::source::{CellChoice, Group, ReportSource};
use crate::swept;

/// GitHub's Markdown.
pub fn markdown(source: &ReportSource) -> String {
    let mut out = format!("{MARKER}\n");
    let question = source.merged.iter().find_map(|report| report.question.as_deref());
    let names = source.names().join(", ");
    line(&mut out, &format!("## {}\n", plain(question.unwrap_or(&names))));
    if !source.lost.is_empty() {
        line(&mut out, "**What could not be read**\n");
        for sentence in &source.lost {
            line(&mut out, &format!("- {}", plain(sentence)));
        }
        line(&mut out, "");
    }
    for sentence in source.unfinished() {
        line(&mut out, &format!("**{}**\n", plain(&sentence)));
    }
    if let Some(why) = &source.no_comparisons {
        line(&mut out, &format!("No verdicts: {}.\n", plain(why)));
    }
    let sentences = source.sentences();
    for sentence in sentences.iter().chain(&source.seeds_to_decide()) {
        line(&mut out, &format!("- {}.", plain(sentence)));
    }
    if !sentences.is_empty() {
        line(
            &mut out,
            &format!(
                "\n{}.\n",
                plain(&conclusion::basis(source.terms, &source.contests, source.until))
            ),
        );
    }
    for sentence in source.merged.iter().flat_map(|report| &report.machine) {
        line(&mut out, &format!("{}.\n", plain(sentence)));
    }
    line(&mut out, "| | |\n| --- | --- |");
    for (what, was) in facts(source) {
        line(&mut out, &format!("| {} | {} |", plain(&what), plain(&was)));
    }
    winners(&mut out, source);
    for metric in &source.metrics {
        table(&mut out, source, metric);
    }
    line(&mut out, "");
    for validity in validities(source) {
        line(&mut out, &format!("> {validity}\n"));
    }
    line(
        &mut out,
        &format!(
            "Made by disklab {}: {}",
            plain(&source.wanted.version),
            code(&source.wanted.command)
        ),
    );
    visible(&out)
}

fn line(out: &mut String, text: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{text}");
}

/// Sentences on where the best choice changes over ranges.
const MOST_WINNERS: usize = 24;

fn winners(out: &mut String, source: &ReportSource) {
    let cells = swept::all(source);
    let along = swept::along(source, &cells);
    let told = along.iter().flat_map(|along| {
        let winner = |metric: &Metric| {
            let sentence = along.winner(metric)?;
            Some(format!(
                "{} ({}): {sentence}",
                along.title(metric),
                answer::title(&along.line.rest)
            ))
        };
        source.metrics.iter().filter_map(winner)
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return;
    }
    line(out, "\n### Over a range\n");
    for sentence in told.iter().take(MOST_WINNERS) {
        line(out, &format!("- {}.", plain(sentence)));
    }
    if let Some(more) = told.len().checked_sub(MOST_WINNERS).filter(|more| *more > 0) {
        line(out, &format!("- And {} on the page.", count(more, "more sentence")));
    }
}

/// A row for each group, a column for each choice.
fn table(out: &mut String, source: &ReportSource, metric: &Metric) {
    let choices = source.choices();
    line(out, &format!("\n### {}\n", plain(metric.name())));
    let heads: Vec<String> = choices.iter().map(|choice| plain(choice)).collect();
    line(out, &format!("| | {} |\n| --- |{}", heads.join(" | "), " ---: |".repeat(choices.len())));
    let mut failures: Vec<String> = Vec::new();
    for group in &source.groups {
        let field = |value: &&str| {
            let choice = group.choice(value);
            choice.map_or_else(|| "-".to_owned(), |choice| field(source, group, choice, metric))
        };
        let fields: Vec<String> = choices.iter().map(field).collect();
        line(out, &format!("| {} | {} |", plain(&group.title()), fields.join(" | ")));
        for choice in &group.choices {
            let told = |fate: Fate| {
                let mark = if fate.failed { "✕ " } else { "" };
                format!("{mark}{}, {}: {}", group.title(), choice.value, fate.text)
            };
            failures.extend(choice.fates(metric).into_iter().map(told));
        }
    }
    if source.metrics.first() == Some(metric) && !failures.is_empty() {
        line(
            out,
            "\nTrials without a result, or with no more than that it takes longer than their \
                limit:\n",
        );
        for failure in &failures {
            line(out, &format!("- {}", plain(failure)));
        }
    }
}

/// `173, +4.2 % better`; `✕` where no trial has a result.
fn field(source: &ReportSource, group: &Group, choice: &CellChoice, metric: &Metric) -> String {
    let Some(spread) = choice.spread(metric) else {
        let (words, failed) = choice.without_result(metric);
        return if failed { "✕".to_owned() } else { words.to_owned() };
    };
    let unit = metric.unit(choice.results().map(|(_, outcome)| outcome));
    let comparison = source.comparison(group, &choice.value, metric);
    let median =
        comparison.and_then(|comparison| comparison.treatment_median).unwrap_or(spread.median);
    let told = comparison.map_or_else(String::new, |comparison| {
        answer::change_and_verdict(comparison.change, comparison.verdict)
    });
    let verdict = if told.is_empty() { told } else { format!(", {told}") };
    let failed = if choice.has_failed(metric) { " ✕" } else { "" };
    plain(&format!("{}{verdict}{failed}", choice.known(metric, median, &unit)))
}

/// Text that is nothing but text in Markdown, on one line.
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
    // Names of accounts would be called.
    plain.replace('@', "@\u{200b}")
}

/// A span of code with whatever is in it.
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
