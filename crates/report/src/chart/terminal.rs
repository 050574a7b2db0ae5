//! Draws a curve of latencies in text, for a terminal.

use disklab_compare::answer;
use kuva::backend::terminal::TerminalBackend;
use kuva::plot::LinePlot;
use kuva::prelude::{Layout, Plot, TickFormat};
use kuva::render::render::render_multiple;

/// Draws latencies in ns over percentiles, rising, on a logarithmic axis. Returns lines of at most
/// `columns` letters, without colours, or None if there is nothing to draw.
pub fn percentiles(points: &[(f64, f64)], columns: usize, rows: usize) -> Vec<String> {
    let drawn: Vec<(f64, f64)> =
        points.iter().copied().filter(|(_, ns)| *ns > 0.0 && ns.is_finite()).collect();
    if drawn.len() < 2 {
        return Vec::new();
    }
    let plots: Vec<Plot> = vec![LinePlot::new().with_data(drawn).into()];
    let layout = Layout::auto_from_plots(&plots)
        .with_log_y()
        .with_show_grid(false)
        .with_x_axis_min(0.0)
        .with_x_axis_max(100.0)
        .with_x_tick_step(20.0)
        .with_x_label("percentile")
        .with_y_tick_format(TickFormat::Custom(std::sync::Arc::new(|ns| answer::value(ns, "ns"))))
        .with_term_rows(u32::try_from(rows).unwrap_or(u32::MAX));
    let text = TerminalBackend::new(columns, rows).render_scene(&render_multiple(plots, layout));
    // kuva's colours are for a light background.
    let plain = console::strip_ansi_codes(&text).into_owned();
    plain.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_from_left_to_right_within_its_room() {
        let points: Vec<(f64, f64)> =
            (0..=100).map(|at| (f64::from(at), 1e6 * 10_f64.powf(f64::from(at) / 50.0))).collect();
        let lines = percentiles(&points, 72, 14);
        assert!(
            lines.len() <= 14 && lines.iter().all(|line| line.chars().count() <= 72),
            "{lines:#?}"
        );
        let inked = |line: &String| {
            line.chars().position(|letter| ('\u{2801}'..='\u{28ff}').contains(&letter))
        };
        let places: Vec<usize> = lines.iter().filter_map(inked).collect();
        assert!(
            places.len() >= 6 && places.is_sorted_by(|above, below| above >= below),
            "{lines:#?}"
        );
        assert!(lines.iter().any(|line| line.contains("10 ms")), "{lines:#?}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(percentiles(&[], 80, 20).is_empty());
        assert!(percentiles(&[(50.0, 0.0), (99.0, f64::INFINITY)], 80, 20).is_empty());
    }
}
