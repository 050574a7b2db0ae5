use crate::quantity::{Notation, quantity};

quantity! {
    /// An amount of data in bytes.
    ///
    /// Files give it as a number with or without a unit; a number without one is in bytes.
    Bytes,
    written: Notation {
        noun: "a size",
        examples: "`4k`, `50 GiB` or `4 TB` \
                   (k, M, G, T, KiB, MiB, ... count in 1024, kB, MB, GB, TB in 1000)",
        units: UNITS,
        suffix: "",
        printed: PRINTED,
    }
}

quantity! {
    /// A count of 512-byte sectors: the block layer's unit, whatever the disk's own sector size.
    Sectors
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

/// fio's spellings, with one difference: kB, MB, GB and TB are decimal here, as disks are sold and
/// as in fio with `kb_base=1000`. `KB` is in no standard and is refused.
pub(crate) const UNITS: &[(&str, u64)] = &[
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

/// Printed units, of the IEC: `512 B`, `4 KiB`, `3.64 TiB`.
pub(crate) const PRINTED: &[(&str, u64)] =
    &[("B", 1), ("KiB", KIB), ("MiB", MIB), ("GiB", GIB), ("TiB", TIB)];

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

    /// Returns the number of whole sectors; a part of one at the end is left out.
    pub const fn sectors(self) -> Sectors {
        Sectors(self.0 / Sectors::SIZE)
    }
}

impl Sectors {
    /// Bytes in a sector.
    pub const SIZE: u64 = 512;

    /// # Overflow
    /// Overflows from 2^55 sectors (16 EiB) on, as plain integers do; disks are far smaller.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 * Self::SIZE)
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
            "`4 KB` has an unknown unit `KB`: use one of B, k, K, KiB, kB, m, M, MiB, MB, g, G, \
             GiB, GB, t, T, TiB, TB"
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
            let _ = format!("{number}{unit}").parse::<Bytes>();
        }
    }
}
