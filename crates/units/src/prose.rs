//! Numbers, lists, words of a command line and lines of text as people read them.

/// Prints three significant digits, and every whole digit: `0.049`, `8.47`, `71.2`, `71234`.
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
        // Rounded to this many places, the number still has three digits, or just one more.
        ..0.0995 => 3,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.places$}")
}

/// Escapes control characters, and those that turn the direction of writing, in text that somebody
/// else may have written. Newlines stay.
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

/// Returns whether a letter could steer a terminal, or turns the direction of writing.
pub fn is_hidden(letter: char) -> bool {
    let turns = matches!(
        letter,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    letter.is_control() || turns
}

/// Prints a number of things whose noun takes an `s`: `1 trial`, `36 trials`.
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

/// Joins items as `a`, `a and b`, `a, b and c`. The text is empty for no items.
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

/// Quotes a word of a command line for a shell, unless all of it is plain.
///
/// ```
/// use disklab_units::prose::in_shell;
///
/// assert_eq!(["a=b,c", "", "a;b"].map(in_shell), ["a=b,c", "''", "'a;b'"]);
/// assert_eq!(in_shell("it's $(x)"), "'it'\\''s $(x)'");
/// ```
pub fn in_shell(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./,:=+%@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Fills lines of at most `width` columns with words; a longer word has a line of its own. The
/// first line begins with `first`, each further one with `indent`.
pub fn filled<T: AsRef<str>>(
    words: impl IntoIterator<Item = T>,
    width: usize,
    first: &str,
    indent: &str,
) -> Vec<String> {
    let mut lines = vec![first.to_owned()];
    for (index, word) in words.into_iter().enumerate() {
        let (line, word) = (lines.last_mut().expect("one line at least"), word.as_ref());
        if index == 0 {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(format!("{indent}{word}"));
        }
    }
    lines
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

    #[test]
    fn lines_are_filled_with_whole_words() {
        assert_eq!(filled(["one", "two", "three"], 8, "", "  "), ["one two", "  three"]);
        assert_eq!(filled(["averylongword", "b"], 4, "", ""), ["averylongword", "b"]);
        assert_eq!(filled([""; 0], 4, "", ""), [""]);
    }
}
