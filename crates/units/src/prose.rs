//! Numbers and lists as they stand in a sentence or a table.

/// Three digits that count, and every whole one: `0.049`, `8.47`, `71.2`, `71234`.
///
/// ```
/// use disklab_units::prose::digits;
///
/// assert_eq!(digits(8.4712), "8.47");
/// assert_eq!(digits(71_234.4), "71234");
/// ```
pub fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let places = match value.abs() {
        // Rounded to that many places they still have three digits, or just one more.
        ..0.0995 => 3,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.places$}")
}

/// Text that may be anybody's, with control characters and those that turn the direction of writing
/// spelled out. Newlines stay.
///
/// ```
/// use disklab_units::prose::visible;
///
/// assert_eq!(visible("a\u{1b}[31mb\u{202e}c\n"), "a\\u{1b}[31mb\\u{202e}c\n");
/// ```
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter != '\n' && is_hidden(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Whether a letter could steer a terminal, or turns the direction of writing.
pub fn is_hidden(letter: char) -> bool {
    let turns = matches!(
        letter,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    letter.is_control() || turns
}

/// A number of things: `1 trial`, `36 trials`. For nouns that take an `s`.
///
/// ```
/// use disklab_units::prose::count;
///
/// assert_eq!(count(1, "trial"), "1 trial");
/// assert_eq!(count(36, "trial"), "36 trials");
/// ```
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `a`, `a and b`, `a, b and c`; nothing of nothing.
///
/// ```
/// use disklab_units::prose::listed;
///
/// assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
/// ```
pub fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        for (value, text) in [
            (0.0, "0"),
            (0.46, "0.46"),
            (0.049, "0.049"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.96, "100"),
            (71_234.4, "71234"),
        ] {
            assert_eq!(digits(value), text);
        }
    }

    #[test]
    fn lists_read_like_prose() {
        let items = ["a", "b", "c"];
        assert_eq!(listed(&items[..0]), "");
        assert_eq!(listed(&items[..1]), "a");
        assert_eq!(listed(&items[..2]), "a and b");
        assert_eq!(listed(&items), "a, b and c");
        assert_eq!(count(1, "trial"), "1 trial");
        assert_eq!(count(0, "trial"), "0 trials");
    }
}
