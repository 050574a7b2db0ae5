//! The limits of records of modelled disks. The text is the README's list, word for word, so that
//! there is one list.

use std::sync::LazyLock;

const README: &str = include_str!("../../../README.md");
const HEADING: &str = "\n## What it cannot tell\n";

/// The items of the list, as plain text.
static ALL: LazyLock<Vec<String>> = LazyLock::new(|| {
    let list = README.split_once(HEADING).map_or("", |(_, rest)| rest);
    // The list ends at the first line that is neither an item nor continues one.
    let lines = list.lines().skip_while(|line| line.is_empty());
    let lines = lines.take_while(|line| line.starts_with("- ") || line.starts_with("  "));
    let mut items: Vec<String> = Vec::new();
    for line in lines {
        match (line.strip_prefix("- "), items.last_mut()) {
            (None, Some(item)) => *item = format!("{item} {}", line.trim()),
            (item, _) => items.push(item.unwrap_or(line).trim().to_owned()),
        }
    }
    items.iter().map(|item| item.replace("**", "").replace('`', "")).collect()
});

static TOGETHER: LazyLock<String> = LazyLock::new(|| ALL.join(" "));

/// Returns the items of the list.
pub fn all() -> &'static [String] {
    &ALL
}

/// Returns the list as one text.
pub fn together() -> &'static str {
    &TOGETHER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_three() {
        let begins =
            ["The guest has one processor", "The disk models leave out", "Each trial starts"];
        assert_eq!(all().len(), begins.len());
        for (item, begin) in all().iter().zip(begins) {
            assert!(item.starts_with(begin), "{item}");
        }
        for item in all() {
            assert!(item.ends_with('.') && !item.contains(['*', '`', '\n']), "{item}");
        }
    }
}
