use std::fmt;
use std::sync::Arc;

/// A place in a file, kept for mistakes that are found later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file as the user gave it: a path, or the command-line option that took the file's place.
    pub file: Arc<str>,
    /// Line, from 1, or 0 if there is no text to point at (a command line, a file that cannot be
    /// opened).
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Key with the tables that contain it: `hdd.rpm`. It is empty for the file as a whole.
    pub key: String,
}

/// A value and its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    pub value: T,
    pub place: SourcePlace,
}

/// Returns the values of a list, without their places.
pub(crate) fn values<T>(list: Vec<Located<T>>) -> Vec<T> {
    list.into_iter().map(|located| located.value).collect()
}

/// A mistake at one place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Diagnostic {
    pub place: SourcePlace,
    pub message: String,
}

/// All mistakes, in the order of the files. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl SourcePlace {
    /// Returns the place of a file as a whole, or of a command-line option.
    pub fn of_file(file: impl fmt::Display) -> Self {
        Self { file: file.to_string().into(), line: 0, column: 0, key: String::new() }
    }

    pub fn diagnostic(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic { place: self.clone(), message: message.into() }
    }
}

/// Prints `lab/devices/x.toml:7:1: hdd.rmp: unknown key; did you mean `rpm`?`
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourcePlace { file, line, column, key } = &self.place;
        write!(f, "{file}:")?;
        if *line > 0 {
            write!(f, "{line}:{column}:")?;
        }
        if !key.is_empty() {
            write!(f, " {key}:")?;
        }
        write!(f, " {}", self.message)
    }
}

/// Prints one mistake per line.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(mistake: Diagnostic) -> Self {
        Self(vec![mistake])
    }
}
