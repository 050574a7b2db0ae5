//! A stretch of time in equal parts, and sums of times over the parts.

/// The time from `begin` to `end` in `count` parts, equal except for the rounding to whole ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bins {
    pub begin: u64,
    pub end: u64,
    pub count: usize,
}

impl Bins {
    /// Returns the bins. The time is 1 ns long at least, and has at most as many parts as it has
    /// ns.
    pub(crate) fn new(begin: u64, end: u64, count: usize) -> Self {
        let begin = begin.min(u64::MAX - 1);
        let end = end.max(begin + 1);
        let most = usize::try_from(end - begin).unwrap_or(usize::MAX);
        Self { begin, end, count: count.clamp(1, most) }
    }

    /// Returns the beginning of part `i`, which is the end of part `i - 1`.
    pub fn edge(&self, i: usize) -> u64 {
        let length = u128::from(self.end - self.begin);
        self.begin + (length * i as u128 / self.count as u128) as u64
    }

    pub fn length(&self, i: usize) -> u64 {
        self.edge(i + 1) - self.edge(i)
    }

    /// Returns the part that contains a moment; the very end is in the last part.
    pub fn index(&self, at: u64) -> Option<usize> {
        if at < self.begin || at > self.end {
            return None;
        }
        let length = u128::from(self.end - self.begin);
        let i = (u128::from(at - self.begin) * self.count as u128 / length) as usize;
        // The edges are rounded down like this index, so the index may be one too low.
        let i = if i + 1 < self.count && self.edge(i + 1) <= at { i + 1 } else { i };
        Some(i.min(self.count - 1))
    }
}

/// Adds up the time of some intervals in each part. Adding an interval takes the same time, however
/// long the interval is.
#[derive(Debug, Clone)]
pub(crate) struct Sum {
    bins: Bins,
    /// Time of the intervals that begin or end within a part, in ns.
    parts: Vec<u128>,
    /// Difference to the part before: the number of intervals that cover this part from end to end.
    covering: Vec<i64>,
}

impl Sum {
    pub fn new(bins: Bins) -> Self {
        Self { bins, parts: vec![0; bins.count], covering: vec![0; bins.count + 1] }
    }

    pub fn add(&mut self, begin: u64, end: u64) {
        let (begin, end) = (begin.max(self.bins.begin), end.min(self.bins.end));
        if begin >= end {
            return;
        }
        let (Some(first), Some(last)) = (self.bins.index(begin), self.bins.index(end)) else {
            return;
        };
        if first == last {
            self.parts[first] += u128::from(end - begin);
            return;
        }
        self.parts[first] += u128::from(self.bins.edge(first + 1) - begin);
        self.parts[last] += u128::from(end - self.bins.edge(last));
        self.covering[first + 1] += 1;
        self.covering[last] -= 1;
    }

    /// Returns the sums in ns, part by part.
    pub fn by_bin(&self) -> impl Iterator<Item = u128> + '_ {
        let mut covering = 0;
        self.parts.iter().enumerate().map(move |(i, part)| {
            covering += i128::from(self.covering[i]);
            part + covering as u128 * u128::from(self.bins.length(i))
        })
    }
}
