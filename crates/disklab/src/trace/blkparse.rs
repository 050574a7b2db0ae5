//! Prints a trace in blkparse(1)'s default format, `%D %2c %8s %5T.%9t %5p %2a %3d`. Then comes
//! `sector + sectors`, if there are any, and the process or, at the end of a request, the error.

use std::io::{self, Write};

use disklab_disks::Op;
use disklab_trace::{ByTime, Delay, Error, MOST_DISKS, Served, TraceEntry, TraceEventKind};

/// Linux keeps 240 to 254 for local use.
const MAJOR: u32 = 254;

/// Writes the readable part of the trace. An error then says which part could not be read.
pub fn write(
    entries: impl Iterator<Item = Result<TraceEntry, Error>>,
    delay: &Delay,
    out: &mut dyn Write,
) -> io::Result<Result<(), Error>> {
    let mut lines = [0_u64; MOST_DISKS];
    for event in ByTime::new(entries, delay) {
        let event = match event {
            Ok(event) => event,
            Err(error) => return Ok(Err(error)),
        };
        let time = format!("{:5}.{:09}", event.at / 1_000_000_000, event.at % 1_000_000_000);
        let (action, served) = match event.what {
            TraceEventKind::Submitted(served) => ("Q", served),
            TraceEventKind::Started(served) => ("D", served),
            TraceEventKind::Ended(served) => ("C", served),
            TraceEventKind::Mark(text) => {
                let text = text.escape_debug();
                writeln!(out, "{MAJOR:3},{:<3} {:2} {:>8} {time} {:>5}  m   N {text}", 0, 0, 0, 0)?;
                continue;
            }
        };
        let Served { disk, sector, sectors, .. } = served;
        lines[disk] += 1;
        let (line, kind) = (lines[disk], kind(&served));
        write!(
            out,
            "{MAJOR:3},{disk:<3} {:2} {line:>8} {time} {:>5} {action:>2} {kind:>3} ",
            0, 0
        )?;
        match (sectors, action) {
            (0, "C") => writeln!(out, "{sector} [0]")?,
            (0, _) => writeln!(out, "[0]")?,
            _ => writeln!(out, "{sector} + {sectors} [0]")?,
        }
    }
    Ok(Ok(()))
}

/// Returns the field RWBS. Writing zeroes is a write; a flush moves no data (N).
fn kind(served: &Served) -> &'static str {
    match (served.op, served.fua) {
        (Op::Read, false) => "R",
        (Op::Read, true) => "RF",
        (Op::Write | Op::WriteZeroes, false) => "W",
        (Op::Write | Op::WriteZeroes, true) => "WF",
        (Op::Flush, _) => "FN",
        (Op::Discard, _) => "D",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and the last line are blkparse 1.3.0's for such events, except for fields that a
    /// trace lacks.
    #[test]
    fn lines_are_as_blkparse_prints_them() {
        let read = Served {
            disk: 1,
            op: Op::Read,
            fua: false,
            sector: 223_490,
            sectors: 8,
            submitted: 1_000_000_001,
            started: 1_000_000_002,
            ended: 12_345_678_901,
        };
        let flush = Served { disk: 0, op: Op::Flush, sector: 0, sectors: 0, ..read };
        let write_fua =
            Served { disk: 0, op: Op::Write, fua: true, started: 1_000_000_003, ..read };
        let mark = TraceEntry::Mark { at: 5, text: "begin \u{1b}[31m 0".to_owned() };
        let entries = [
            TraceEntry::Served(read),
            TraceEntry::Served(flush),
            TraceEntry::Served(write_fua),
            mark,
        ];
        let mut text = Vec::new();
        let delay = disklab_trace::delay(entries.iter().cloned().map(Ok)).unwrap();
        super::write(entries.into_iter().map(Ok), &delay, &mut text).unwrap().unwrap();
        let expected = "\
254,0    0        0     0.000000005     0  m   N begin \\u{1b}[31m 0
254,1    0        1     1.000000001     0  Q   R 223490 + 8 [0]
254,0    0        1     1.000000001     0  Q  FN [0]
254,0    0        2     1.000000001     0  Q  WF 223490 + 8 [0]
254,1    0        2     1.000000002     0  D   R 223490 + 8 [0]
254,0    0        3     1.000000002     0  D  FN [0]
254,0    0        4     1.000000003     0  D  WF 223490 + 8 [0]
254,1    0        3    12.345678901     0  C   R 223490 + 8 [0]
254,0    0        5    12.345678901     0  C  FN 0 [0]
254,0    0        6    12.345678901     0  C  WF 223490 + 8 [0]
";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
