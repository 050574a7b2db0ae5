//! Properties of a load in the name of a test: `RandRead_4k_QD1`, `seqread-1m-qd16`,
//! `randrw-4k-4jobs`.

use crate::fio_json::size;

/// The properties of a load that its name gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NamedLoad {
    /// Bytes of a request.
    pub block: Option<u64>,
    pub iodepth: Option<u32>,
    pub numjobs: Option<u32>,
}

impl NamedLoad {
    pub fn parse(name: &str) -> Self {
        let mut load = Self::default();
        let name = name.to_ascii_lowercase();
        for part in name.split(|letter: char| !letter.is_ascii_alphanumeric()) {
            let number = |word: &str| {
                let digits = part.strip_prefix(word).or_else(|| part.strip_suffix(word))?;
                digits.parse().ok().filter(|number| *number > 0)
            };
            let first = |words: &[&str]| words.iter().find_map(|word| number(word));
            if let Some(depth) = first(&["iodepth", "depth", "qd"]) {
                load.iodepth = Some(depth);
            } else if let Some(jobs) = first(&["numjobs", "jobs", "job"]) {
                load.numjobs = Some(jobs);
            } else if part.ends_with(|letter: char| !letter.is_ascii_digit())
                && let Some(block) = size(part)
            {
                load.block = Some(block);
            }
        }
        load
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_field() {
        let load = |name| {
            let NamedLoad { block, iodepth, numjobs } = NamedLoad::parse(name);
            (block, iodepth, numjobs)
        };
        assert_eq!(load("RandRead_4k_QD1"), (Some(4096), Some(1), None));
        assert_eq!(load("seqread-1m-qd16"), (Some(1 << 20), Some(16), None));
        assert_eq!(load("fio_randrw_8KiB_iodepth32_4jobs"), (Some(8192), Some(32), Some(4)));
        assert_eq!(load("raid10-2"), (None, None, None));
        assert_eq!(load("qd0"), (None, None, None));
        assert_eq!(load(""), (None, None, None));
    }
}
