//! Formats numbers and names for the pages.

use std::fmt::Display;

use disklab_results::Spread;
use disklab_units::prose::{digits, in_shell};
use itertools::Itertools;

/// Least range that is printed, as a share of the median.
pub const RANGE: f64 = 0.01;

/// Formats a spread's range in parentheses, if it is large enough.
pub fn range(spread: &Spread) -> String {
    if spread.max - spread.min > RANGE * spread.median {
        format!(" ({} to {})", digits(spread.min), digits(spread.max))
    } else {
        String::new()
    }
}

/// Formats a share in whole per cent; 99.6 % is not rounded to 100 %.
pub fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    if (0.01..1.0).contains(&percent) || (99.0..99.95).contains(&percent) {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    }
}

/// Returns the name of a workload in the published tables: `randread-4k-qd1` is `RandRead 4 KiB
/// QD1`.
pub fn test(workload: &str) -> String {
    let mut parts = workload.split('-');
    let kind = match parts.next() {
        Some("randread") => "RandRead",
        Some("seqread") => "SeqRead",
        Some("randrw") => "RandRW",
        Some("seqrw") => "SeqRW",
        _ => return workload.to_owned(),
    };
    let size = match parts.next() {
        Some("4k") => "4 KiB",
        Some("1m") => "1 MiB",
        _ => return workload.to_owned(),
    };
    let depth = parts.next().unwrap_or_default().to_uppercase();
    let mix = parts.join("/");
    let mix = if mix.is_empty() { mix } else { format!(" {mix}") };
    format!("{kind} {size} {depth}{mix}")
}

/// Returns the depth in a workload's name.
pub fn depth(workload: &str) -> Option<u32> {
    workload.split('-').find_map(|part| part.strip_prefix("qd")?.parse().ok())
}

/// Escapes characters with a meaning in Markdown tables.
pub fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ").replace('<', "&lt;")
}

/// Returns a span of code for Markdown.
pub fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    // A run of backticks in the text must be shorter than those around it.
    let longest = text.split(|mark| mark != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Markdown removes these blanks again.
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Quotes a word of a command line if bash needs it.
pub fn shell(word: &str) -> String {
    if word.contains(char::is_control) {
        let escaped = |mark: char| match mark {
            '\n' => "\\n".to_owned(),
            '\\' | '\'' => format!("\\{mark}"),
            mark if mark.is_control() => format!("\\u{:04x}", u32::from(mark)),
            mark => mark.to_string(),
        };
        format!("$'{}'", word.chars().map(escaped).collect::<String>())
    } else {
        in_shell(word)
    }
}

/// Returns a table: its head, its rows, and the columns from `right` on aligned to the right.
pub fn table(head: &[impl Display], right: usize, rows: &[Vec<String>]) -> String {
    let rule = (0..head.len()).map(|at| if at < right { "---" } else { "---:" });
    let body: String = rows.iter().map(table_line).collect();
    format!("{}{}{body}\n", table_line(head), table_line(rule))
}

fn table_line(cells: impl IntoIterator<Item: Display>) -> String {
    format!("| {} |\n", cells.into_iter().join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_code_whatever_is_in_it() {
        for (text, markdown) in [
            ("a|b <c>", "`a|b <c>`"),
            ("a`b", "``a`b``"),
            ("`a`", "`` `a` ``"),
            ("a``b`c", "```a``b`c```"),
            ("a\nb", "`a b`"),
        ] {
            assert_eq!(code(text), markdown);
        }
    }
}
