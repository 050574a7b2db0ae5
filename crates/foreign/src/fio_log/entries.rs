//! A log of fio's: lines of `time in ms, value, direction, bytes[, offset][, priority][, ...]`.

/// The kinds of logs, by the end of their names, in the order of names.
pub const KINDS: [&str; 5] = ["bw", "clat", "iops", "lat", "slat"];
/// Directions by the numbers that fio gives them.
pub const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
/// The largest number that is accepted: beyond any time, latency in ns or KiB per second. Sums of
/// all entries of a file stay finite.
const LARGEST: u64 = 1 << 60;

/// A name such as `NAME_lat.1.log`, or `NAME_lat.log` with `per_job_logs=0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogName<'a> {
    pub name: &'a str,
    pub kind: &'a str,
    pub number: Option<&'a str>,
}

impl<'a> LogName<'a> {
    pub fn parse(file: &'a str) -> Option<Self> {
        let stem = file.strip_suffix(".log")?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let numbered = stem.rsplit_once('.').filter(|(_, number)| is_number(number));
        let (stem, number) = numbered.map_or((stem, None), |(stem, number)| (stem, Some(number)));
        let (name, kind) = stem.rsplit_once('_')?;
        (!name.is_empty() && KINDS.contains(&kind)).then_some(Self { name, kind, number })
    }

    /// Returns the name of the file of another kind beside it.
    pub fn of_kind(&self, kind: &str) -> String {
        let number = self.number.map(|number| format!(".{number}")).unwrap_or_default();
        format!("{}_{kind}{number}.log", self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEntry {
    /// Time of the end, in ms since the job's start.
    pub ms: u64,
    /// The value: ns, KiB per second, or requests per second.
    pub value: u64,
    /// Index in [`DIRECTIONS`].
    pub direction: usize,
    /// Size of the request, or 0 in averages.
    pub bytes: u64,
}

/// The entries of a log, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FioLog {
    pub entries: Vec<LogEntry>,
}

impl FioLog {
    /// Parses a log. The error is the number of the first line that is not a line of a log.
    pub fn parse(bytes: &[u8]) -> Result<Self, usize> {
        let mut entries = Vec::new();
        for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let [ms, value, direction, bytes] = columns(line).ok_or(index + 1)?;
            // Larger numbers are fsync and other calls.
            let direction = usize::try_from(direction).unwrap_or(usize::MAX);
            if direction < DIRECTIONS.len() {
                entries.push(LogEntry { ms, value, direction, bytes });
            }
        }
        entries.sort_by_key(|entry| entry.ms);
        Ok(Self { entries })
    }

    /// Returns whether each entry is a request, and none an average (`log_avg_msec`).
    pub fn is_of_requests(&self) -> bool {
        !self.entries.is_empty() && self.entries.iter().all(|entry| entry.bytes > 0)
    }

    pub fn in_direction(&self, direction: usize) -> impl Iterator<Item = &LogEntry> {
        self.entries.iter().filter(move |entry| entry.direction == direction)
    }
}

fn columns(line: &[u8]) -> Option<[u64; 4]> {
    let text = std::str::from_utf8(line).ok()?;
    let mut numbers = text.split(',').map(|column| column.trim().parse::<u64>().ok());
    let mut next = || numbers.next()?.filter(|number| *number <= LARGEST);
    Some([next()?, next()?, next()?, next()?])
}

/// Returns whether the first line of a file is a log's.
pub fn is_log(bytes: &[u8]) -> bool {
    bytes.split(|&byte| byte == b'\n').next().is_some_and(|line| columns(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_logs() {
        let name = |file| LogName::parse(file).map(|log| (log.name, log.kind, log.number));
        assert_eq!(name("a_b_lat.12.log"), Some(("a_b", "lat", Some("12"))));
        assert_eq!(name("a.1_bw.log"), Some(("a.1", "bw", None)));
        assert_eq!(LogName::parse("a_lat.1.log").unwrap().of_kind("bw"), "a_bw.1.log");
        assert_eq!(
            ["a_clat_hist.1.log", "_lat.1.log", "a_lat.1.txt", "benchmark.log"].map(name),
            [None; 4]
        );
    }

    #[test]
    fn lines_may_have_more_columns() {
        let log =
            FioLog::parse(b"5, 20, 1, 4096, 512, 0x0001\n3, 10, 0, 4096\n4, 9, 3, 0\n\n").unwrap();
        let expected = [
            LogEntry { ms: 3, value: 10, direction: 0, bytes: 4096 },
            LogEntry { ms: 5, value: 20, direction: 1, bytes: 4096 },
        ];
        assert_eq!(log.entries, expected);
        assert!(log.is_of_requests() && !FioLog::default().is_of_requests());
        assert_eq!(FioLog::parse(b"1, 2, 0, 4\n1, 2, 0"), Err(2));
        assert!(!is_log(b"time, value\n") && !is_log(b""));
    }
}
