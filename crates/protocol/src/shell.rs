//! Commands quoted for a shell.

/// Returns a command's words, quoted where a shell needs it.
pub fn command(words: &[String]) -> String {
    words.iter().map(|word| self::word(word)).collect::<Vec<_>>().join(" ")
}

/// Returns one word, quoted if a shell needs it. `shlex` alone would quote `=`, `,` and `%` too.
pub fn word(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=/.,:+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    // Only a NUL cannot be quoted, and no argument has one.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        let words = ["--a=b,c", "", "two words", "it's"].map(str::to_owned);
        assert_eq!(super::command(&words), r#"--a=b,c '' 'two words' "it's""#);
    }
}
