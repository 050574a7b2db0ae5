//! Rough estimate of the rate of one disk.

use disklab_config::Model;

/// Returns the largest number of requests per second that a disk serves.
pub fn rate(model: &Model, block: f64, depth: f64) -> f64 {
    match model {
        Model::Hdd(hdd) => {
            let access = hdd.seek_average.as_secs_f64() / 2.0 + 30.0 / f64::from(hdd.rpm);
            (depth.sqrt() / access).min(hdd.rate_outer.0 as f64 / block)
        }
        Model::Ssd(ssd) => {
            let read = ssd.read_page.iter().map(|t| t.as_secs_f64()).sum::<f64>()
                / ssd.read_page.len().max(1) as f64;
            (depth / (read + ssd.command_overhead.as_secs_f64())).min(ssd.link.0 as f64 / block)
        }
        Model::Card(card) => {
            1.0 / (card.read_access.as_secs_f64() + block / card.read_rate.0 as f64)
        }
        Model::Constant(c) => depth.min(f64::from(c.servers)) / c.latency.as_secs_f64(),
    }
}
