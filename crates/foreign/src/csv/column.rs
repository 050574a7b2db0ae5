//! The kind of a column, by its name.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvNumber {
    Iops,
    Bandwidth,
    Requests,
    Mean,
    Min,
    Max,
    /// A percentile in thousandths of a per cent: 99900.
    Percentile(u32),
}

impl CsvNumber {
    /// Returns the name of the measure.
    pub fn name(self) -> String {
        match self {
            Self::Iops => "iops".to_owned(),
            Self::Bandwidth => "bandwidth".to_owned(),
            Self::Requests => "requests".to_owned(),
            Self::Mean => "mean".to_owned(),
            Self::Min => "min".to_owned(),
            Self::Max => "max".to_owned(),
            Self::Percentile(thousandths) => format!("p{}", f64::from(thousandths) / 1000.0),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedOption {
    Iodepth,
    Numjobs,
    RuntimeSeconds,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CsvColumn {
    /// A number of one direction (`read `, `write `) or, with an empty word, of all. The factor
    /// converts its values to 1/s, bytes/s or ns.
    CsvNumber(&'static str, CsvNumber, f64),
    AskedOption(AskedOption),
    Repeat,
    Axis,
}

impl CsvColumn {
    pub fn named(head: &str) -> Self {
        let head = head.to_ascii_lowercase().replace([' ', '-', '/', '.'], "_");
        match head.as_str() {
            "iodepth" | "depth" | "qd" => return Self::AskedOption(AskedOption::Iodepth),
            "numjobs" | "jobs" => return Self::AskedOption(AskedOption::Numjobs),
            "runtime_s" => return Self::AskedOption(AskedOption::RuntimeSeconds),
            "seed" | "repeat" | "run" | "iteration" => return Self::Repeat,
            _ => {}
        }
        let directions = [("read_", "read "), ("write_", "write ")];
        let direction =
            directions.iter().find_map(|(word, is)| Some((head.strip_prefix(word)?, *is)));
        let (rest, direction) = direction.unwrap_or((&head, ""));
        number(rest).map_or(Self::Axis, |(number, scale)| Self::CsvNumber(direction, number, scale))
    }
}

fn number(head: &str) -> Option<(CsvNumber, f64)> {
    match head {
        "iops" => return Some((CsvNumber::Iops, 1.0)),
        "kiops" => return Some((CsvNumber::Iops, 1e3)),
        "requests" | "total_ios" => return Some((CsvNumber::Requests, 1.0)),
        _ => {}
    }
    for word in ["bandwidth_", "bw_", "throughput_"] {
        if let Some(unit) = head.strip_prefix(word) {
            return Some((CsvNumber::Bandwidth, bytes(unit)?));
        }
    }
    let (kind, unit) = head.rsplit_once('_')?;
    let ns = match unit {
        "ns" | "nsec" => 1.0,
        "us" | "usec" => 1e3,
        "ms" | "msec" => 1e6,
        "s" | "sec" => 1e9,
        _ => return None,
    };
    let kind = ["latency_", "clat_", "lat_"]
        .iter()
        .find_map(|word| kind.strip_prefix(word))
        .unwrap_or(kind);
    let number = match kind {
        "mean" | "avg" | "lat" | "latency" | "clat" => CsvNumber::Mean,
        "min" => CsvNumber::Min,
        "max" => CsvNumber::Max,
        "median" => CsvNumber::Percentile(50_000),
        _ => CsvNumber::Percentile(percentile(kind.strip_prefix('p')?)?),
    };
    Some((number, ns))
}

/// Parses a percentile such as `99_9` into thousandths of a per cent.
fn percentile(text: &str) -> Option<u32> {
    let percent: f64 = text.replacen('_', ".", 1).parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some((percent * 1000.0).round() as u32)
}

fn bytes(unit: &str) -> Option<f64> {
    let unit = ["_per_s", "_s", "_sec", "ps"]
        .iter()
        .find_map(|end| unit.strip_suffix(end))
        .unwrap_or(unit);
    Some(match unit {
        "b" | "bytes" => 1.0,
        "kib" => 1024.0,
        "mib" => f64::from(1 << 20),
        "gib" => f64::from(1 << 30),
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns() {
        let (all, read, write) = ("", "read ", "write ");
        let number = |direction, number, scale| CsvColumn::CsvNumber(direction, number, scale);
        for (head, is) in [
            ("iops", number(all, CsvNumber::Iops, 1.0)),
            ("read_iops", number(read, CsvNumber::Iops, 1.0)),
            ("bw_kib_s", number(all, CsvNumber::Bandwidth, 1024.0)),
            ("Bandwidth MB/s", number(all, CsvNumber::Bandwidth, 1e6)),
            ("bw_bytes", number(all, CsvNumber::Bandwidth, 1.0)),
            ("write_lat_mean_ms", number(write, CsvNumber::Mean, 1e6)),
            ("lat_p99_9_ms", number(all, CsvNumber::Percentile(99_900), 1e6)),
            ("p99.9 us", number(all, CsvNumber::Percentile(99_900), 1e3)),
            ("latency_ms", number(all, CsvNumber::Mean, 1e6)),
            ("lat_max_s", number(all, CsvNumber::Max, 1e9)),
            ("jobs", CsvColumn::AskedOption(AskedOption::Numjobs)),
            ("QD", CsvColumn::AskedOption(AskedOption::Iodepth)),
            ("seed", CsvColumn::Repeat),
            ("read_policy", CsvColumn::Axis),
            ("lat_mean", CsvColumn::Axis),
            ("bw", CsvColumn::Axis),
            ("lat_p101_ms", CsvColumn::Axis),
        ] {
            assert_eq!(CsvColumn::named(head), is, "{head}");
        }
        assert_eq!(CsvNumber::Percentile(99_900).name(), "p99.9");
    }
}
