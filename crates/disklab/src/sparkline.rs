//! Draws a number for each disk as a bar of one letter: `▁█▃▃`.

const BARS: [char; 8] = [
    '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}',
];

/// Draws parts of `whole`; a missing number is a blank.
pub fn sparkline(parts: &[Option<f64>], whole: f64) -> String {
    let bar = |part: &Option<f64>| match part {
        Some(part) if whole > 0.0 => {
            let height = (part / whole).clamp(0.0, 1.0) * (BARS.len() - 1) as f64;
            BARS[height.round() as usize]
        }
        Some(_) => BARS[0],
        None => ' ',
    };
    parts.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_is_full_and_nothing_is_lowest() {
        let parts = [Some(0.0), Some(0.5), Some(1.0), None, Some(2.0)];
        assert_eq!(sparkline(&parts, 1.0), "\u{2581}\u{2585}\u{2588} \u{2588}");
        assert_eq!(sparkline(&[Some(0.0)], 0.0), "\u{2581}");
    }
}
