//! Contents of files: words computed from a key, so that any part of a file can be made and checked
//! by itself.

use disklab_units::Seed;
use std::fs::File;
use std::io::{self, Read, Write};

/// Identifies one version of a file's contents: no other file and no other version has the same
/// key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentKey(pub u64);

/// The odd number nearest to 2^64 divided by the golden ratio, as in splitmix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const WORD: u64 = 8;

impl ContentKey {
    /// Returns the key of the file in this slot of a set after it was overwritten `generation`
    /// times.
    pub fn new(seed: Seed, set: usize, slot: u64, generation: u32) -> Self {
        [set as u64, slot, u64::from(generation)].into_iter().fold(Self(seed.0), |key, part| {
            Self(mixed(key.0.wrapping_add(STEP) ^ mixed(part.wrapping_add(1).wrapping_mul(STEP))))
        })
    }

    fn word(self, number: u64) -> [u8; WORD as usize] {
        mixed(self.0.wrapping_add(number.wrapping_mul(STEP))).to_le_bytes()
    }

    /// Fills the buffer with the bytes from this offset on.
    pub fn fill(self, from: u64, buffer: &mut [u8]) {
        let begun = (from % WORD) as usize;
        let (head, words) =
            buffer.split_at_mut(if begun == 0 { 0 } else { (8 - begun).min(buffer.len()) });
        head.copy_from_slice(&self.word(from / WORD)[begun..begun + head.len()]);
        for (bytes, number) in words.chunks_mut(WORD as usize).zip(from.div_ceil(WORD)..) {
            bytes.copy_from_slice(&self.word(number)[..bytes.len()]);
        }
    }

    /// Writes `size` bytes from this offset on, in pieces of the buffer's length.
    pub fn write(self, file: &mut File, buffer: &mut [u8], from: u64, size: u64) -> io::Result<()> {
        let mut written = 0;
        while written < size {
            let length = (size - written).min(buffer.len() as u64) as usize;
            self.fill(from + written, &mut buffer[..length]);
            file.write_all(&buffer[..length])?;
            written += length as u64;
        }
        Ok(())
    }

    /// Compares the beginning of a file with the first `size` bytes. Returns None if they are
    /// equal, and otherwise the offset of the first wrong byte, or the file's length if it is too
    /// short.
    pub fn find_in(self, mut file: impl Read, size: u64) -> io::Result<Option<u64>> {
        let (mut found, mut expected) = (Vec::with_capacity(PIECE), vec![0; PIECE]);
        let mut at = 0;
        while at < size {
            let length = (size - at).min(PIECE as u64) as usize;
            found.clear();
            file.by_ref().take(length as u64).read_to_end(&mut found)?;
            self.fill(at, &mut expected[..length]);
            if let Some(other) = found.iter().zip(&expected).position(|(one, other)| one != other) {
                return Ok(Some(at + other as u64));
            }
            if found.len() < length {
                return Ok(Some(at + found.len() as u64));
            }
            at += length as u64;
        }
        Ok(None)
    }
}

/// Bytes of a file that are compared at a time.
const PIECE: usize = 64 << 10;

/// Applies the finalizer of splitmix64 (Steele, Lea and Flood, 2014).
fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(key: ContentKey, from: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        key.fill(from, &mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn any_part_is_that_part_of_the_whole(from in 0_usize..5000, length in 0_usize..5000) {
            let key = ContentKey::new(Seed(1), 0, 7, 0);
            let all = bytes(key, 0, 10_000);
            prop_assert_eq!(&all[from..from + length], &bytes(key, from as u64, length)[..]);
        }

        #[test]
        fn one_other_byte_is_found(size in 1_u64..200_000, at in 0_u64..200_000, bit in 0_u32..8) {
            let (key, at) = (ContentKey::new(Seed(3), 1, 2, 3), at % size);
            let mut held = bytes(key, 0, size as usize);
            prop_assert_eq!(key.find_in(&held[..], size).unwrap(), None);
            held[at as usize] ^= 1 << bit;
            prop_assert_eq!(key.find_in(&held[..], size).unwrap(), Some(at));
            prop_assert_eq!(key.find_in(&bytes(key, 0, at as usize)[..], size).unwrap(), Some(at));
        }
    }

    #[test]
    fn every_part_of_a_key_matters() {
        let keys = [
            ContentKey::new(Seed(1), 0, 0, 0),
            ContentKey::new(Seed(2), 0, 0, 0),
            ContentKey::new(Seed(1), 1, 0, 0),
            ContentKey::new(Seed(1), 0, 1, 0),
            ContentKey::new(Seed(1), 0, 0, 1),
        ];
        for (number, key) in keys.iter().enumerate() {
            assert!(keys[..number].iter().all(|other| bytes(*other, 0, 64) != bytes(*key, 0, 64)));
        }
    }
}
