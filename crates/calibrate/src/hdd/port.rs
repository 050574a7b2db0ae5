//! Measures the time of a command and the rate of the link, by reading again what has just been
//! read. The medium is not involved.

use crate::bench::TestBench;
use crate::error::Result;
use crate::numbers::{line, quantile};

/// Sizes of the reads, in sectors.
const SIZES: [u32; 6] = [8, 32, 64, 128, 256, 512];
/// Number of places for each size. Each place is read once, and then `AGAIN` times more, which
/// gives eighteen times for each size. The quickest two count.
const PLACES: usize = 6;
const AGAIN: usize = 3;

#[derive(Debug, Clone, Copy)]
pub(crate) struct PortEstimate {
    /// Time of each command, in ns.
    pub overhead: f64,
    /// Rate of the link, in bytes a second.
    pub rate: f64,
    /// Root mean square distance of the times from the line through them, as a fraction of the
    /// shortest time.
    pub beside: f64,
}

/// Measures the port, with the time of a turn in ns. Returns `None` if a second read comes from the
/// medium again.
pub(crate) fn measure(bench: &mut TestBench<'_>, turn: f64) -> Result<Option<PortEstimate>> {
    let mut times = Vec::new();
    for sectors in SIZES {
        let mut of_size = Vec::new();
        for _ in 0..PLACES {
            let place = bench.place(u64::from(sectors));
            bench.read(place, sectors)?;
            for _ in 0..AGAIN {
                of_size.push(bench.read(place, sectors)?.nanos());
            }
        }
        // Only the quick reads count, because the host delays the later ones.
        times.push((f64::from(sectors) * 512.0, quantile(&of_size, 0.1)));
    }
    Ok(port(&times, turn))
}

/// Estimates the port from pairs of bytes and ns. Times of half a turn and more are left out,
/// because the medium needs most of a turn to come round to the same sectors.
fn port(times: &[(f64, f64)], turn: f64) -> Option<PortEstimate> {
    let hits: Vec<(f64, f64)> =
        times.iter().copied().filter(|&(_, time)| time < 0.5 * turn).collect();
    if hits.len() < 3 {
        return None;
    }
    let (overhead, slope, beside) = line(&hits);
    let shortest = hits.iter().map(|hit| hit.1).fold(f64::MAX, f64::min);
    (slope > 0.0).then(|| PortEstimate {
        overhead: overhead.max(0.0),
        rate: 1e9 / slope,
        beside: beside / shortest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_the_medium_does_not_count() {
        let time = |bytes: f64| 100e3 + bytes / 0.55;
        let mut times: Vec<(f64, f64)> =
            [4096.0, 16384.0, 65536.0, 131_072.0].map(|bytes| (bytes, time(bytes))).to_vec();
        times.push((262_144.0, 8e6));
        let found = port(&times, 8.33e6).unwrap();
        assert!(
            (found.overhead - 100e3).abs() < 1.0 && (found.rate - 550e6).abs() < 1e3,
            "{found:?}"
        );
        assert!(port(&[(4096.0, 8e6), (8192.0, 8e6), (16384.0, 8e6)], 8.33e6).is_none());
    }
}
