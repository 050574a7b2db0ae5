//! Makes names from the text of records, which may come from anybody.

/// First line of every report, in each format. A file that begins with it may be replaced.
pub const MARKER: &str = "<!-- disklab report -->";

/// Makes a name for an `id`, a file name or a fragment: small letters, digits and `-`.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// Returns `plain`, or if that is empty or taken, `word` and a number added to it. Values that
/// differ in signs only have the same slug. The name is added to `taken`.
pub fn distinct(plain: String, word: &str, taken: &mut Vec<String>) -> String {
    let name = if plain.is_empty() || taken.contains(&plain) {
        format!("{word}{}-{plain}", taken.len() + 1)
    } else {
        plain
    };
    taken.push(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_differ_in_signs_have_ids_of_their_own() {
        let mut names: Vec<String> = Vec::new();
        for value in ["a.b", "a-b", "a:b", "§", "%"] {
            distinct(slug(value), "choice", &mut names);
        }
        assert_eq!(names, ["a-b", "choice2-a-b", "choice3-a-b", "choice4-", "choice5-"]);
    }

    #[test]
    fn slugs_are_fit_for_ids() {
        assert_eq!(slug("hdd-raid1, none <b>\"x\""), "hdd-raid1-none-b-x");
        assert_eq!(slug("Round-Robin:4096 "), "round-robin-4096");
    }
}
