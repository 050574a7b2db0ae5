//! Prints a trace as CSV, by RFC 4180.

use std::io::{self, Write};

use disklab_trace::{Delay, Error, Served, TraceEntry, WithDepth, word};
use disklab_units::prose::visible;

/// Names of the fields. A mark is a row without a disk.
const HEAD: &str = "disk,op,fua,sector,sectors,submitted_ns,started_ns,ended_ns,mark,depth";

/// Writes the readable part of the trace. An error then says which part could not be read.
pub fn write(
    entries: impl Iterator<Item = Result<TraceEntry, Error>>,
    delay: &Delay,
    name: &dyn Fn(usize) -> String,
    out: &mut dyn Write,
) -> io::Result<Result<(), Error>> {
    writeln!(out, "{HEAD}")?;
    for entry in WithDepth::new(entries, delay) {
        match entry {
            Ok((entry, depth)) => {
                writeln!(
                    out,
                    "{},{}",
                    row(&entry, name),
                    depth.map_or_else(String::new, |depth| depth.to_string())
                )?;
            }
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(()))
}

/// Formats an entry as a row without its depth; `name` gives the name of a disk.
pub fn row(entry: &TraceEntry, name: &dyn Fn(usize) -> String) -> String {
    match entry {
        TraceEntry::Served(Served {
            disk,
            op,
            fua,
            sector,
            sectors,
            submitted,
            started,
            ended,
        }) => {
            let op = word(*op);
            let (disk, fua) = (name(*disk), u8::from(*fua));
            format!("{disk},{op},{fua},{sector},{sectors},{submitted},{started},{ended},")
        }
        TraceEntry::Mark { at, text } => format!(",mark,,,,{at},,,{}", quoted(text)),
    }
}

/// Quotes text on one line, and escapes characters that could mislead a terminal.
fn quoted(text: &str) -> String {
    let plain = visible(text).replace('\n', r"\u{a}");
    if plain.contains(['"', ',']) { format!("\"{}\"", plain.replace('"', "\"\"")) } else { plain }
}

#[cfg(test)]
mod tests {
    use disklab_config::places::disk_name;

    use super::*;

    #[test]
    fn marks_that_csv_could_misread_are_quoted() {
        let mark = |text: &str| row(&TraceEntry::Mark { at: 7, text: text.to_owned() }, &disk_name);
        assert_eq!(mark("begin measure 0"), ",mark,,,,7,,,begin measure 0");
        assert_eq!(mark("a \"b\", c"), ",mark,,,,7,,,\"a \"\"b\"\", c\"");
        assert_eq!(mark("\u{1b}[1m\n"), r",mark,,,,7,,,\u{1b}[1m\u{a}");
    }

    #[test]
    fn every_row_has_all_fields() {
        let mark = TraceEntry::Mark { at: 1, text: "end".to_owned() };
        let mut text = Vec::new();
        write([Ok(mark)].into_iter(), &Delay::default(), &disk_name, &mut text).unwrap().unwrap();
        for row in String::from_utf8(text).unwrap().lines() {
            assert_eq!(row.matches(',').count(), 9, "{row}");
        }
    }
}
