//! Lines that coincide: the lower ones are drawn wider, so that both are visible, and the legend
//! names the coinciding line.

/// Distance, as a share of the axis, below which lines are drawn on each other.
const NEAR: f64 = 0.01;
/// Least share of its points in which a line coincides with another.
const MOSTLY: f64 = 0.8;
/// Pixels by which a line is wider for each line on it, and the largest number.
const WIDER: f64 = 3.0;
const WIDEST: f64 = 9.0;

/// Drawing of a line that may coincide with others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LineOverlap {
    /// Pixels added to its width.
    pub wider: f64,
    /// Text behind its name in the legend. The text is empty for a line without an earlier line
    /// below it.
    pub note: String,
}

/// Decides how each of some lines is drawn, in drawing order. Points are in drawing coordinates, on
/// an axis of this `height`.
pub fn overlaps(lines: &[(&str, Vec<(f64, f64)>)], height: f64) -> Vec<LineOverlap> {
    let mut all = vec![LineOverlap::default(); lines.len()];
    for (at, (_, line)) in lines.iter().enumerate() {
        let earlier = lines[..at].iter().enumerate();
        let mut below = earlier.filter_map(|(below, (name, other))| {
            let share = share(line, other, height * NEAR)?;
            (share >= MOSTLY).then_some((below, *name, share))
        });
        if let Some((first, name, share)) = below.next() {
            // The first word of a disk's name is the disk.
            let name = name.split(' ').next().unwrap_or(name);
            let mostly = if share < 1.0 { "mostly " } else { "" };
            all[at].note = format!(" ({mostly}coincides with {name})");
            for below in std::iter::once(first).chain(below.map(|(below, ..)| below)) {
                all[below].wider = (all[below].wider + WIDER).min(WIDEST);
            }
        }
    }
    all
}

/// Returns the share of a line's points that another line has too, or `None` for lines without
/// common places.
fn share(line: &[(f64, f64)], other: &[(f64, f64)], near: f64) -> Option<f64> {
    // Both lines go from left to right.
    let (mut rest, mut common, mut alike) = (other, 0_u32, 0_u32);
    for (x, y) in line {
        while let [(first, _), later @ ..] = rest
            && *first < x - 1e-9
        {
            rest = later;
        }
        if let [(first, value), ..] = rest
            && (first - x).abs() <= 1e-9
        {
            common += 1;
            alike += u32::from((value - y).abs() <= near);
        }
    }
    (common > 0).then(|| f64::from(alike) / f64::from(common))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(height: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..=20).map(|at| (f64::from(at), height(f64::from(at)))).collect()
    }

    #[test]
    fn lines_on_each_other_are_wider_below_and_said() {
        let lines = [
            ("pid", line(|x| x)),
            ("queue", line(|x| 20.0 - x)),
            ("devid", line(|x| x + 0.05)),
            ("vdb nas-4tb", line(|x| if x < 2.0 { 9.0 } else { 20.0 - x })),
            ("last", line(|x| x)),
        ];
        let all = overlaps(&lines, 20.0);
        let notes: Vec<&str> = all.iter().map(|one| one.note.as_str()).collect();
        let mostly = " (mostly coincides with queue)";
        assert_eq!(notes, ["", "", " (coincides with pid)", mostly, " (coincides with pid)"]);
        let wider: Vec<f64> = all.iter().map(|one| one.wider).collect();
        assert_eq!(wider, [2.0 * WIDER, WIDER, WIDER, 0.0, 0.0]);
    }

    #[test]
    fn lines_without_common_places_do_not_coincide() {
        let lines = [("a", vec![(0.0, 1.0)]), ("b", vec![(0.5, 1.0)]), ("c", Vec::new())];
        assert_eq!(overlaps(&lines, 1.0), vec![LineOverlap::default(); 3]);
    }
}
