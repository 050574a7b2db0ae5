//! Wraps the wide lines of a page.

use std::fmt::Write;

use disklab_units::prose::filled;

const COLUMNS: usize = 100;
/// Words that would begin a list, a heading or a quotation at the start of a line.
const MARKS: [&str; 8] = ["-", "+", "*", "=", ">", "#", "1.", "1)"];

/// Wraps lines of more than 100 columns between words. Rows of tables stay whole, and a command
/// continues after a backslash.
pub fn wrapped(page: &str) -> String {
    let mut text = String::new();
    for line in page.lines() {
        if line.chars().count() <= COLUMNS || line.starts_with(['|', '#', '<']) {
            let _ = writeln!(text, "{line}");
        } else {
            wrap(&mut text, line);
        }
    }
    text
}

fn wrap(text: &mut String, line: &str) {
    let content = line.trim_start();
    let indent = line.len() - content.len();
    let is_item = content.starts_with("- ");
    let is_command = indent == 4 && !is_item;
    let next_indent = if is_item { indent + 2 } else { 2 * indent };
    let end = if is_command { " \\\n" } else { "\n" };
    let mut units: Vec<String> = Vec::new();
    for word in content.split(' ') {
        match units.last_mut() {
            Some(unit) if MARKS.contains(&word) => {
                let _ = write!(unit, " {word}");
            }
            _ => units.push(word.to_owned()),
        }
    }
    // A newline takes no column.
    let lines = filled(units, COLUMNS + 1 - end.len(), &line[..indent], &" ".repeat(next_indent));
    let _ = writeln!(text, "{}", lines.join(end));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_are_broken_between_words() {
        let words = "word ".repeat(19);
        let line = words.trim_end();
        let page = format!("{words}word end\n| {words}word |\n{words}word > end\n  - {words}end\n");
        let marked = format!("{line}\nword > end\n  - {line}\n    end\n");
        assert_eq!(wrapped(&page), format!("{words}word\nend\n| {words}word |\n{marked}"));
    }

    #[test]
    fn a_command_goes_on_behind_a_backslash() {
        let page = format!("    cargo {}end\n", "--option ".repeat(10));
        let lines = format!("    cargo {}\\\n        --option end\n", "--option ".repeat(9));
        assert_eq!(wrapped(&page), lines);
    }
}
