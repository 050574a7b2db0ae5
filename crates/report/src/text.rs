//! Text out of records, which may be anybody's: what could steer a terminal, a page or a reader shows as text.

/// Control characters, and those that turn the direction of writing, spelled out: `\u{1b}[31m`. Newlines stay.
///
/// Pages and texts go through this as a whole, when they are finished.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if (letter.is_control() && letter != '\n') || turns(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

const fn turns(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// For an `id`, a file name or a fragment: small letters, digits and `-`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_terminals_are_spelled_out() {
        assert_eq!(visible("a\u{1b}[31mb\u{9b}1\tc\nd"), "a\\u{1b}[31mb\\u{9b}1\\u{9}c\nd");
        assert_eq!(visible("x\u{202e}y ü"), "x\\u{202e}y ü");
    }

    #[test]
    fn slugs_are_fit_for_ids() {
        assert_eq!(slug("hdd-raid1, none <b>\"x\""), "hdd-raid1-none-b-x");
        assert_eq!(slug("Round-Robin:4096 "), "round-robin-4096");
    }
}
