//! Parses DiskSim's parameter language: blocks of `key = value`, lists, and `source FILE`, which
//! stands for the contents of the file. `instantiate` and `topology`, which connect the parts of a
//! simulated machine, are skipped.

use crate::{Error, Files, Result};

#[derive(Debug, Clone, PartialEq)]
pub enum ParamValue {
    Integer(i64),
    /// A finite number.
    Real(f64),
    Word(String),
    List(Vec<ParamValue>),
    Block(ParamBlock),
}

/// A block `KIND NAME { ... }`. A block that is a value often has no name.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamBlock {
    pub kind: String,
    pub name: Option<String>,
    pub entries: Vec<(String, ParamValue)>,
}

impl ParamBlock {
    pub fn get(&self, key: &str) -> Option<&ParamValue> {
        // As in DiskSim, the last of several entries with the same key counts.
        self.entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

/// Limits of nesting and of the number of files, which no drive's files exceed: the longest known
/// have 20 KB.
const DEEPEST: usize = 32;
const MOST_FILES: usize = 32;
/// Most bytes of all files together; each byte may take forty in memory.
const MOST_BYTES: usize = 4 << 20;

/// The numbers of files and bytes that may still be read.
struct FileBudget {
    files: usize,
    bytes: usize,
}

/// Returns the top-level blocks of `file` and of the files that it takes in, in order.
pub fn parse(file: &str, files: &mut Files<'_>) -> Result<Vec<ParamBlock>> {
    let mut left = FileBudget { files: MOST_FILES, bytes: MOST_BYTES };
    parse_file(file, files, &mut left, 0)
}

fn parse_file(
    file: &str,
    files: &mut Files<'_>,
    left: &mut FileBudget,
    depth: usize,
) -> Result<Vec<ParamBlock>> {
    let unreadable = |reason: String| Error::unreadable(file, reason);
    let fewer = left.files.checked_sub(1);
    left.files = fewer.ok_or_else(|| {
        unreadable(format!("it is one included file too many: at most {MOST_FILES} are read"))
    })?;
    let bytes = files(file).map_err(unreadable)?;
    let rest = left.bytes.checked_sub(bytes.len());
    left.bytes = rest.ok_or_else(|| {
        unreadable(format!(
            "with it, the included files are longer than {MOST_BYTES} bytes together"
        ))
    })?;
    let text = String::from_utf8_lossy(&bytes);
    Parser { file, tokens: tokens(&text), at: 0, files, left, depth }.blocks()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Sign(char),
    /// The words up to the next sign or the end of the line.
    Text(&'a str),
}

/// Returns the tokens of a text, each with its line number.
fn tokens(text: &str) -> Vec<(usize, Token<'_>)> {
    let signs = ['{', '}', '[', ']', ',', '='];
    let mut found = Vec::new();
    for (line, text) in text.lines().enumerate() {
        let mut rest = text.split('#').next().unwrap_or_default();
        while !rest.is_empty() {
            let end = rest.find(signs).unwrap_or(rest.len());
            let words = rest[..end].trim();
            if !words.is_empty() {
                found.push((line + 1, Token::Text(words)));
            }
            // Signs are one byte long.
            let Some(sign) = rest[end..].chars().next() else { break };
            found.push((line + 1, Token::Sign(sign)));
            rest = &rest[end + 1..];
        }
    }
    found
}

struct Parser<'a, 'f> {
    file: &'a str,
    tokens: Vec<(usize, Token<'a>)>,
    at: usize,
    files: &'a mut Files<'f>,
    left: &'a mut FileBudget,
    depth: usize,
}

impl<'a> Parser<'a, '_> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|&(_, token)| token)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Consumes the next token if it is this sign. Returns whether it was.
    fn takes(&mut self, sign: char) -> bool {
        let is = self.peek() == Some(Token::Sign(sign));
        self.at += usize::from(is);
        is
    }

    fn wrong<T>(&self, what: impl Into<String>) -> Result<T> {
        let last = self.tokens.last().map_or(1, |&(line, _)| line);
        let line = self.tokens.get(self.at.saturating_sub(1)).map_or(last, |&(line, _)| line);
        Err(Error::Syntax { file: self.file.to_owned(), line, what: what.into() })
    }

    /// Calls `read` one level deeper, within the limit of nesting.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong("nested too deeply for a parameter file");
        }
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn blocks(mut self) -> Result<Vec<ParamBlock>> {
        let mut blocks = Vec::new();
        while let Some(token) = self.next() {
            let Token::Text(words) = token else {
                return self.wrong("a block was expected here, like `disksim_disk NAME { ... }`");
            };
            let mut parts = words.split_whitespace();
            match (parts.next().unwrap_or_default(), parts.next()) {
                ("source", Some(file)) => blocks.extend(self.source(file)?),
                ("instantiate" | "topology", _) => self.skip_brackets()?,
                (kind, name) if self.takes('{') => {
                    blocks.push(self.nested(|parser| parser.block(kind, name))?);
                }
                _ => {
                    return self.wrong(format!(
                        "`{words}`: expected a block, `source`, `instantiate` or `topology`"
                    ));
                }
            }
        }
        Ok(blocks)
    }

    fn source(&mut self, file: &str) -> Result<Vec<ParamBlock>> {
        self.nested(|parser| parse_file(file, parser.files, parser.left, parser.depth))
    }

    /// Skips `[ ... ]`, which may have such lists inside, and `as NAME` behind it.
    fn skip_brackets(&mut self) -> Result<()> {
        let mut open = 0_usize;
        loop {
            match self.next() {
                Some(Token::Sign('[')) => open += 1,
                Some(Token::Sign(']')) if open > 1 => open -= 1,
                Some(Token::Sign(']')) if open == 1 => break,
                Some(Token::Text(_) | Token::Sign(',')) if open > 0 => {}
                _ => return self.wrong("a list in [ ] was expected here"),
            }
        }
        if let Some(Token::Text(words)) = self.peek() {
            self.at += usize::from(words.starts_with("as "));
        }
        Ok(())
    }

    /// Reads the rest of a block after its `{`.
    fn block(&mut self, kind: &str, name: Option<&str>) -> Result<ParamBlock> {
        let mut entries = Vec::new();
        loop {
            match self.next() {
                Some(Token::Sign('}')) => break,
                Some(Token::Sign(',')) => {}
                Some(Token::Text(key)) if self.takes('=') => {
                    let key = key.split_whitespace().collect::<Vec<_>>().join(" ");
                    entries.push((key, self.value()?));
                }
                Some(Token::Text(key)) => {
                    return self.wrong(format!("`{key}`: a `=` was expected behind it"));
                }
                Some(_) => return self.wrong("`key = value` was expected here"),
                None => return self.wrong(format!("the block `{kind}` has no end")),
            }
        }
        Ok(ParamBlock { kind: kind.to_owned(), name: name.map(str::to_owned), entries })
    }

    fn value(&mut self) -> Result<ParamValue> {
        match self.next() {
            Some(Token::Sign('[')) => self.nested(Self::list).map(ParamValue::List),
            Some(Token::Text(words)) => {
                let mut parts = words.split_whitespace();
                let (first, second) = (parts.next().unwrap_or_default(), parts.next());
                if let ("source", Some(file)) = (first, second) {
                    let mut blocks = self.source(file)?;
                    return match blocks.pop() {
                        Some(block) => Ok(ParamValue::Block(block)),
                        None => self.wrong(format!("{file} has no block")),
                    };
                }
                if self.takes('{') {
                    let block = self.nested(|parser| parser.block(first, second));
                    return block.map(ParamValue::Block);
                }
                Ok(number(words).unwrap_or_else(|| ParamValue::Word(words.to_owned())))
            }
            _ => self.wrong("a value was expected here"),
        }
    }

    /// Reads the rest of a list after its `[`.
    fn list(&mut self) -> Result<Vec<ParamValue>> {
        let mut values = Vec::new();
        while !self.takes(']') {
            if !self.takes(',') {
                values.push(self.value()?);
            }
        }
        Ok(values)
    }
}

fn number(word: &str) -> Option<ParamValue> {
    let integer = word.parse().map(ParamValue::Integer).ok();
    integer
        .or_else(|| word.parse().ok().filter(|real: &f64| real.is_finite()).map(ParamValue::Real))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Result<Vec<ParamBlock>> {
        parse("top", &mut |name| match name {
            "top" => Ok(text.as_bytes().to_vec()),
            "inner" => Ok(b"inner_block I { Depth = 2 }".to_vec()),
            "long" => Ok(b"#".repeat(MOST_BYTES / 3)),
            "round" => Ok(b"source round".to_vec()),
            _ => Err("is not there".into()),
        })
    }

    #[test]
    fn blocks_lists_and_other_files_are_read() {
        let blocks = parsed(
            "# a comment\nsource inner\ndisk  D { Two  words = 3, R = -0.5,# more\n W = Asis, \
             L = [ 1, [ ], x ],\n\
             Model = source inner, Inner = kind { } } \n instantiate [ d0, d1 ] as D\n\
             topology bus b [ ctlr c [ disk d0 [] ] ] # end\n",
        )
        .unwrap();
        let kinds: Vec<&str> = blocks.iter().map(|block| block.kind.as_str()).collect();
        assert_eq!(kinds, ["inner_block", "disk"]);
        let disk = &blocks[1];
        assert_eq!(disk.name.as_deref(), Some("D"));
        assert_eq!(disk.get("Two words"), Some(&ParamValue::Integer(3)));
        assert_eq!(disk.get("R"), Some(&ParamValue::Real(-0.5)));
        assert_eq!(disk.get("W"), Some(&ParamValue::Word("Asis".into())));
        let list =
            vec![ParamValue::Integer(1), ParamValue::List(vec![]), ParamValue::Word("x".into())];
        assert_eq!(disk.get("L"), Some(&ParamValue::List(list)));
        let Some(ParamValue::Block(block)) = disk.get("Model") else { panic!("{disk:?}") };
        assert_eq!(block.kind, "inner_block");
    }

    #[test]
    fn mistakes_are_told_with_file_and_line() {
        let said = |text: &str| parsed(text).unwrap_err().to_string();
        assert_eq!(said("disk D {\n A 3 }"), "top:2: `A 3`: a `=` was expected behind it");
        assert_eq!(said("disk D {\n A = 3\n"), "top:2: the block `disk` has no end");
        assert_eq!(said("source nothing"), "nothing: is not there");
        assert!(
            said("source round").contains("one included file too many")
                || said("source round").contains("nested")
        );
        assert!(said(&"source long\n".repeat(3)).contains("longer than"));
        assert!(said(&"a { b = ".repeat(100)).contains("nested too deeply"));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in "[a-z \\[\\]{}=,#\n0-9.]{0,200}") {
            let _ = parsed(&text);
        }
    }
}
