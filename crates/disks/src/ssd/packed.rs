//! A compact store of ascending numbers: differences in Rice's code (Rice and Plaunt, 1971), about
//! 17 bits each for the units that random writes leave in a block of a 1 TB disk.

/// Number of words, of 8 bytes, by which the store grows. Random writes leave about 2095 words in a
/// block of a 1 TB disk.
const STEP: usize = 4;

/// An immutable list of ascending numbers without duplicates.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackedNumbers {
    words: Box<[u64]>,
    count: u32,
    first: u32,
    /// Number of low bits of a difference that are stored as they are. The rest is coded as a count
    /// of zeros.
    plain: u32,
}

impl PackedNumbers {
    /// Packs `numbers`, which must ascend without duplicates.
    pub fn new(numbers: &[u32]) -> Self {
        let (first, last) =
            (numbers.first().copied().unwrap_or(0), numbers.last().copied().unwrap_or(0));
        // This is the number of bits of the mean difference. All the zeros together are then no
        // more than twice as many as the numbers.
        let plain = ((last - first) / (numbers.len() as u32).max(1)).max(1).ilog2();
        // The size is computed first: the rest cut off from a larger allocation would be a hole too
        // small for another block's numbers.
        let zeros: u64 =
            numbers.windows(2).map(|pair| u64::from((pair[1] - pair[0] - 1) >> plain)).sum();
        let used = zeros + numbers.len() as u64 * u64::from(plain + 1);
        // All blocks of a disk round up to the same steps, so that one block can reuse the room of
        // another.
        let room = (used.div_ceil(64) as usize).next_multiple_of(STEP);
        let mut bits = Bits { words: vec![0; room].into(), used: 0 };
        let mut next = first;
        for &number in numbers {
            let difference = number - next;
            bits.push_zeros(difference >> plain);
            bits.push(u64::from(difference & ((1 << plain) - 1)) << 1 | 1, plain + 1);
            next = number + 1;
        }
        Self { words: bits.words, count: numbers.len() as u32, first, plain }
    }

    /// Returns the number at `cursor`, which it moves on. A new cursor is at the beginning.
    pub fn next(&self, cursor: &mut PackedCursor) -> Option<u32> {
        if cursor.read == self.count {
            return None;
        }
        let mut zeros = 0;
        let mut word = self.word_at(cursor.bit);
        while word == 0 {
            zeros += 64;
            cursor.bit += 64;
            word = self.word_at(cursor.bit);
        }
        zeros += word.trailing_zeros();
        cursor.bit += u64::from(word.trailing_zeros() + 1);
        let low = self.word_at(cursor.bit) & ((1 << self.plain) - 1);
        cursor.bit += u64::from(self.plain);
        let number = self.first + cursor.passed + (zeros << self.plain) + low as u32;
        cursor.passed = number + 1 - self.first;
        cursor.read += 1;
        Some(number)
    }

    /// Returns the 64 bits from `bit` on. Bits behind the end are arbitrary.
    fn word_at(&self, bit: u64) -> u64 {
        let (index, shift) = ((bit / 64) as usize, bit % 64);
        let word = |index| self.words.get(index).copied().unwrap_or(u64::MAX);
        if shift == 0 {
            word(index)
        } else {
            word(index) >> shift | word(index + 1) << (64 - shift)
        }
    }
}

/// A place in a [`PackedNumbers`].
#[derive(Debug, Clone, Default)]
pub(crate) struct PackedCursor {
    bit: u64,
    read: u32,
    /// Distance from the first number to the least number that may follow.
    passed: u32,
}

struct Bits {
    words: Box<[u64]>,
    used: u64,
}

impl Bits {
    /// Appends the `count` low bits of `bits`; at most 33. The other bits must be 0.
    fn push(&mut self, bits: u64, count: u32) {
        let (index, shift) = ((self.used / 64) as usize, self.used % 64);
        self.used += u64::from(count);
        self.words[index] |= bits << shift;
        if shift + u64::from(count) > 64 {
            self.words[index + 1] |= bits >> (64 - shift);
        }
    }

    fn push_zeros(&mut self, count: u32) {
        self.used += u64::from(count);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpacked(packed: &PackedNumbers) -> Vec<u32> {
        let mut cursor = PackedCursor::default();
        std::iter::from_fn(|| packed.next(&mut cursor)).collect()
    }

    #[test]
    fn random_numbers_take_two_bytes_and_neighbours_one_bit() {
        let mut random = disklab_units::Random::new(disklab_units::Seed(1));
        let mut numbers: Vec<u32> = (0..6144).map(|_| random.below(244_000_000) as u32).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let packed = PackedNumbers::new(&numbers);
        assert!(packed.words.len() * 8 < numbers.len() * 9 / 4, "{} bytes", packed.words.len() * 8);
        assert_eq!(unpacked(&packed), numbers);

        let neighbours: Vec<u32> = (0..6144).collect();
        assert!(PackedNumbers::new(&neighbours).words.len() <= 6144 / 64);
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(numbers in prop::collection::btree_set(0..u32::MAX - 1, 0..300)) {
            let numbers: Vec<u32> = numbers.into_iter().collect();
            prop_assert_eq!(unpacked(&PackedNumbers::new(&numbers)), numbers);
        }

        #[test]
        fn far_from_zero_too(
            start in 0..4_000_000_000_u32,
            steps in prop::collection::vec(1..50_u32, 1..200),
        ) {
            let numbers: Vec<u32> =
                steps.iter().scan(start, |at, step| { *at += step; Some(*at) }).collect();
            prop_assert_eq!(unpacked(&PackedNumbers::new(&numbers)), numbers);
        }
    }
}
