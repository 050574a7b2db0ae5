//! Measures how the time of a lone read grows with its size. Up to a page, it grows by channel and
//! link; beyond, by the link alone, because further pages come over other channels meanwhile.

use disklab_config::device::CHANNELS_RATE;
use disklab_units::Rate;

use crate::bench::TestBench;
use crate::error::Result;
use crate::numbers::quantile;
use crate::target::{Probe, latencies};

/// Sizes of reads in sectors: 4 KiB to 512 KiB.
const SIZES: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];
const READS: usize = 150;
/// Sizes of pages that are tried, in bytes: 4 KiB to 64 KiB.
const PAGES: [f64; 5] = [4096.0, 8192.0, 16384.0, 32768.0, 65536.0];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReadSizes {
    /// Size of a page in bytes, if it shows.
    pub page: Option<u64>,
    /// Rate of a channel in bytes a second, if it shows.
    pub channel: Option<f64>,
    /// Relative root mean square distance of the times from the lines.
    pub beside: f64,
}

pub(crate) fn measure(bench: &mut TestBench<'_>) -> Result<ReadSizes> {
    let mut times = Vec::new();
    for sectors in SIZES {
        let align = u64::from(sectors);
        let probes: Vec<Probe> = bench
            .places(READS, align)
            .iter()
            .map(|&place| Probe::read(place / align * align, sectors))
            .collect();
        let latencies = latencies(&bench.serve(1, &probes)?);
        // Only the quick reads count, so that pages of different times give those of one type.
        times.push((f64::from(sectors) * 512.0, quantile(&latencies, 0.05)));
    }
    Ok(sizes(&times))
}

/// Estimates page and channel from pairs of bytes and ns.
fn sizes(times: &[(f64, f64)]) -> ReadSizes {
    let fits: Vec<(f64, Vec<f64>, f64)> = PAGES
        .into_iter()
        .map(|page| {
            let rows: Vec<([f64; 3], f64)> = times
                .iter()
                .map(|&(bytes, time)| ([1.0 / time, bytes.min(page) / time, bytes / time], 1.0))
                .collect();
            let found = least_squares(&rows);
            let wrong: f64 = rows
                .iter()
                .map(|(row, one)| {
                    (row.iter().zip(&found).map(|(a, b)| a * b).sum::<f64>() - one).powi(2)
                })
                .sum();
            (page, found, (wrong / rows.len() as f64).sqrt())
        })
        .collect();
    let Some((page, found, beside)) = fits.iter().min_by(|a, b| a.2.total_cmp(&b.2)).cloned()
    else {
        return ReadSizes { page: None, channel: None, beside: 1.0 };
    };
    // The best fit with another page must be clearly worse. A page of 4 KiB cannot be seen, because
    // no read is smaller and all times include the same time of the channel.
    let clear = fits.iter().filter(|fit| fit.2 <= 1.5 * beside).count() == 1;
    // A bend that is smaller than any channel's is noise.
    let channel = 1e9 / found[1];
    let is_one = found[1] > 0.0 && CHANNELS_RATE.contains(&Rate(channel as u64));
    let shows = page > PAGES[0] && clear && is_one && found[2] > 0.0;
    ReadSizes { page: shows.then_some(page as u64), channel: shows.then_some(channel), beside }
}

/// Solves for three unknowns by least squares: normal equations and elimination.
fn least_squares(rows: &[([f64; 3], f64)]) -> Vec<f64> {
    let mut table = [[0.0_f64; 4]; 3];
    for (row, value) in rows {
        for i in 0..3 {
            for j in 0..3 {
                table[i][j] += row[i] * row[j];
            }
            table[i][3] += row[i] * value;
        }
    }
    for column in 0..3 {
        let pivot =
            (column..3).max_by(|&a, &b| table[a][column].abs().total_cmp(&table[b][column].abs()));
        table.swap(column, pivot.unwrap_or(column));
        let head = table[column];
        if head[column].abs() < 1e-30 {
            continue;
        }
        for (_, row) in table.iter_mut().enumerate().filter(|(index, _)| *index != column) {
            let factor = row[column] / head[column];
            row.iter_mut().zip(head).for_each(|(value, other)| *value -= factor * other);
        }
    }
    (0..3)
        .map(|i| if table[i][i].abs() < 1e-30 { 0.0 } else { table[i][3] / table[i][i] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_where_the_line_bends() {
        let time = |bytes: f64| 70e3 + bytes.min(16384.0) / 1.2 + bytes / 0.56;
        let found = sizes(
            &SIZES.map(|sectors| (f64::from(sectors) * 512.0, time(f64::from(sectors) * 512.0))),
        );
        assert_eq!(found.page, Some(16384), "{found:?}");
        assert!((found.channel.unwrap() / 1.2e9 - 1.0).abs() < 0.01, "{found:?}");
    }

    /// These are the times of a file in memory, which has neither page nor channel.
    #[test]
    fn a_bend_that_no_channel_makes_is_none() {
        let time = |bytes: f64| 5e3 + bytes.min(16384.0) / 400.0 + bytes / 8.0;
        let found = sizes(
            &SIZES.map(|sectors| (f64::from(sectors) * 512.0, time(f64::from(sectors) * 512.0))),
        );
        assert_eq!((found.page, found.channel), (None, None), "{found:?}");
    }

    #[test]
    fn a_line_that_does_not_bend_shows_no_page() {
        let time = |bytes: f64| 70e3 + bytes / 0.56;
        let found = sizes(
            &SIZES.map(|sectors| (f64::from(sectors) * 512.0, time(f64::from(sectors) * 512.0))),
        );
        assert_eq!(found.page, None, "{found:?}");
    }
}
