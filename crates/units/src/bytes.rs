use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::quantity::{self, Kind, ParseError};

/// An amount of data in bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A count of 512-byte sectors: the block layer's unit, whatever the disk's own sector size.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Sectors(pub u64);

quantity::arithmetic!(Bytes);
quantity::arithmetic!(Sectors);

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

const BYTES: Kind = Kind {
    noun: "a size",
    examples: "`4k`, `50 GiB` or `4 TB` (k, M, G, T, KiB, MiB, ... count in 1024, kB, MB, GB, TB in 1000)",
    units: BYTE_UNITS,
};

/// fio's spellings, with one difference: kB, MB, GB and TB are decimal here, as disks are sold and
/// as fio itself has it with `kb_base=1000`. `KB` is nobody's standard and is refused.
pub(crate) const BYTE_UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("k", KIB),
    ("K", KIB),
    ("KiB", KIB),
    ("kB", 1_000),
    ("m", MIB),
    ("M", MIB),
    ("MiB", MIB),
    ("MB", 1_000_000),
    ("g", GIB),
    ("G", GIB),
    ("GiB", GIB),
    ("GB", 1_000_000_000),
    ("t", TIB),
    ("T", TIB),
    ("TiB", TIB),
    ("TB", 1_000_000_000_000),
];

const SECTORS: Kind = Kind {
    noun: "a number of sectors",
    examples: "`2048` or `2048 sectors`",
    units: &[("", 1), ("sectors", 1)],
};

impl Bytes {
    pub const fn kib(count: u64) -> Self {
        Self(count * KIB)
    }

    pub const fn mib(count: u64) -> Self {
        Self(count * MIB)
    }

    pub const fn gib(count: u64) -> Self {
        Self(count * GIB)
    }

    /// Whole sectors; a part of one at the end is left out.
    pub const fn sectors(self) -> Sectors {
        Sectors(self.0 / Sectors::SIZE)
    }
}

impl Sectors {
    /// Bytes in a sector.
    pub const SIZE: u64 = 512;

    /// # Overflow
    /// From 2^55 sectors (16 EiB) on, as with plain integers; disks are far smaller.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 * Self::SIZE)
    }
}

impl From<Sectors> for Bytes {
    fn from(sectors: Sectors) -> Self {
        sectors.bytes()
    }
}

/// IEC units: `512 B`, `4 KiB`, `3.64 TiB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        quantity::print(
            f,
            self.0,
            &[("B", 1), ("KiB", KIB), ("MiB", MIB), ("GiB", GIB), ("TiB", TIB)],
        )
    }
}

impl fmt::Display for Sectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} sectors", self.0))
    }
}

/// A number with or without a unit; without, it is bytes.
impl FromStr for Bytes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        BYTES.parse(text).map(Self)
    }
}

impl FromStr for Sectors {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        SECTORS.parse(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> u64 {
        text.parse::<Bytes>().unwrap().0
    }

    fn error(text: &str) -> String {
        text.parse::<Bytes>().unwrap_err().to_string()
    }

    #[test]
    fn parses_fio_spellings_and_disk_sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("512B", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("4 KiB", 4096),
            ("4 kB", 4000),
            ("1m", 1 << 20),
            ("1M", 1 << 20),
            ("50G", 50 << 30),
            ("50 GiB", 50 << 30),
            ("1.5TiB", 3 << 39),
            ("4 TB", 4_000_000_000_000),
            ("12TB", 12_000_000_000_000),
        ] {
            assert_eq!(parse(text), bytes, "{text}");
        }
    }

    #[test]
    fn errors_say_what_would_be_right() {
        assert_eq!(
            error("4 KB"),
            "`4 KB` has an unknown unit `KB`: use one of B, k, K, KiB, kB, m, M, MiB, MB, g, G, GiB, GB, t, T, TiB, TB"
        );
        assert_eq!(
            error("big"),
            "`big` is not a size: write `4k`, `50 GiB` or `4 TB` \
             (k, M, G, T, KiB, MiB, ... count in 1024, kB, MB, GB, TB in 1000)"
        );
        assert_eq!(error("99999999 TiB"), "`99999999 TiB` is too large for a size");
        assert!(error("-1").contains("is not a size"));
        assert!(error("18446744073709551616").contains("too large"));
    }

    #[test]
    fn prints_iec() {
        for (bytes, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (1023, "1023 B"),
            (4096, "4 KiB"),
            (1_048_575, "1 MiB"),
            (3 << 29, "1.5 GiB"),
            (4_000_000_000_000, "3.64 TiB"),
            (5000 << 40, "5000 TiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn sectors_are_512_bytes() {
        assert_eq!(Sectors(8).bytes(), Bytes::kib(4));
        assert_eq!(Bytes(1025).sectors(), Sectors(2));
        assert_eq!(Bytes::from(Sectors(2)), Bytes(1024));
        assert_eq!("2048 sectors".parse::<Sectors>().unwrap(), Sectors(2048));
        assert_eq!(Sectors(2048).to_string(), "2048 sectors");
        assert!("2 tracks".parse::<Sectors>().is_err());
    }

    proptest! {
        #[test]
        fn reading_back_what_was_printed_is_near(bytes in 0..u64::MAX / 2, shift in 0..63) {
            let bytes = bytes >> shift;
            let back = parse(&Bytes(bytes).to_string());
            prop_assert!(back.abs_diff(bytes) <= bytes / 199, "{bytes} came back as {back}");
        }

        #[test]
        fn no_text_panics(text in "\\PC*", number in "[0-9.]{0,40}", unit in "[ a-zA-Z]{0,4}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Sectors>();
            let _ = format!("{number}{unit}").parse::<Bytes>();
        }
    }
}
