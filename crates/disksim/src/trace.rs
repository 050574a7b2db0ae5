//! Reads requests that were measured on a drive.
//!
//! Each line is a request: `R` or `W`; a word by DiskSim's authors, which is ignored; the first
//! sector; the number of sectors; the response time; and the time from the completion to the next
//! request. Both times are in us.

use disklab_units::Nanos;

use crate::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredRequest {
    pub write: bool,
    pub sector: u64,
    pub sectors: u32,
    pub response: Nanos,
    /// Time from the completion of the request to the submission of the next one.
    pub gap: Nanos,
}

/// Most requests of a trace. No known trace has as many; a longer one is refused.
const MOST: usize = 1_000_000;
/// Longest time in a trace, in us: an hour.
const LONGEST: f64 = 3.6e9;

/// Reads a trace. `file` is only for messages; `sectors` is the drive's size.
pub fn read(file: &str, bytes: &[u8], sectors: u64) -> Result<Vec<MeasuredRequest>> {
    let text = String::from_utf8_lossy(bytes);
    let mut requests = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |what: String| Error::Syntax { file: file.to_owned(), line: index + 1, what };
        let request = request(line).ok_or_else(|| {
            wrong("not `R|W word sector sectors response gap`, times in microseconds".to_owned())
        })?;
        if request.sector.saturating_add(u64::from(request.sectors)) > sectors {
            let sector = request.sector;
            return Err(wrong(format!("sector {sector} is beyond the drive's {sectors}")));
        }
        if requests.len() == MOST {
            return Err(wrong(format!("more than {MOST} requests")));
        }
        requests.push(request);
    }
    if requests.is_empty() {
        return Err(Error::unreadable(file, "no request in it"));
    }
    Ok(requests)
}

fn request(line: &str) -> Option<MeasuredRequest> {
    let mut words = line.split_whitespace();
    let write = match words.next()? {
        "R" => false,
        "W" => true,
        _ => return None,
    };
    words.next()?;
    let (sector, sectors) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let mut micros = || -> Option<Nanos> {
        let micros: f64 = words.next()?.parse().ok()?;
        (0.0..=LONGEST).contains(&micros).then(|| Nanos((micros * 1e3).round() as u64))
    };
    let (response, gap) = (micros()?, micros()?);
    let request = MeasuredRequest { write, sector, sectors, response, gap };
    (1..=1 << 24).contains(&sectors).then_some(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_requests() {
        let found =
            read("t", b"R Hit   7 4   14368.5 28778.0\n\nW Doub 0 2 1 0.25 # so\n", 11).unwrap();
        let first = MeasuredRequest {
            write: false,
            sector: 7,
            sectors: 4,
            response: Nanos(14_368_500),
            gap: Nanos(28_778_000),
        };
        assert_eq!(found[0], first);
        assert_eq!((found[1].write, found[1].gap), (true, Nanos(250)));
    }

    #[test]
    fn what_is_none_is_told() {
        let said = |text: &str| read("t", text.as_bytes(), 10).unwrap_err().to_string();
        assert_eq!(said(""), "t: no request in it");
        assert_eq!(said("R Hit 8 4 1 1"), "t:1: sector 8 is beyond the drive's 10");
        for wrong in
            ["X Hit 1 1 1 1", "R Hit 1 0 1 1", "R Hit 1 1 -1 1", "R Hit 1 1 1", "R Hit 1 1 NaN 1"]
        {
            assert!(said(wrong).starts_with("t:1: not `R|W word"), "{wrong}");
        }
    }
}
