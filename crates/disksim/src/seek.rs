//! Reads seek times: the seek types of `dm_mech_g1`, and `.seek` files.

use disklab_units::Nanos;

use crate::fields::{BlockFields, nanos};
use crate::{Error, Files, Result};

/// Returns the time over each distance from 0 to all cylinders.
pub(crate) fn read(
    mechanics: BlockFields<'_>,
    cylinders: u64,
    files: &mut Files<'_>,
) -> Result<Vec<Nanos>> {
    let millis = |key: &str| mechanics.real(key, 0.0..=1_000.0);
    let kind = mechanics.word("Seek type")?;
    let all = |time: &dyn Fn(f64) -> f64| -> Vec<Nanos> {
        let moves =
            (1..=cylinders).map(|distance| nanos(time(distance as f64).clamp(0.0, 1_000.0)));
        std::iter::once(Nanos::ZERO).chain(moves).collect()
    };
    Ok(match kind {
        "extracted" => {
            let file = mechanics.word("Full seek curve")?;
            let bytes = files(file).map_err(|reason| Error::unreadable(file, reason))?;
            let points = points(&bytes);
            if points.is_empty() {
                return Err(Error::unreadable(file, "no line `distance, time`"));
            }
            all(&|distance| between(&points, distance))
        }
        "hpl" | "hplplus10" => {
            let equation = mechanics.reals("HPL seek equation values")?;
            let &[knee, a, b, c, e, one] = equation.as_slice() else {
                return Err(mechanics.wrong("HPL seek equation values", "six numbers"));
            };
            let first = match kind {
                "hplplus10" => mechanics.reals("First ten seek times")?,
                _ => Vec::new(),
            };
            all(&|distance| match first.get(distance as usize - 1) {
                Some(&time) => time,
                None if distance < 1.5 && one >= 0.0 && kind == "hpl" => one,
                None if distance < knee => a + b * distance.sqrt(),
                None => c + e * distance,
            })
        }
        "constant" => {
            let time = millis("Average seek time")?;
            all(&|_| time)
        }
        // These curves go through the times over one cylinder, a third of the stroke and the full
        // stroke: with two lines, or with Lee's curve.
        "linear" | "curve" => {
            let one = millis("Single cylinder seek time")?;
            let (average, full) = (millis("Average seek time")?, millis("Full strobe seek time")?);
            let last = cylinders.max(2) as f64 - 1.0;
            let points = [(1.0, one), ((last / 3.0).max(1.5), average), (last.max(2.0), full)];
            let root = (-10.0 * one + 15.0 * average - 5.0 * full) / (3.0 * last.sqrt());
            let line = (7.0 * one - 15.0 * average + 8.0 * full) / (3.0 * last);
            let curved = kind == "curve" && root >= 0.0 && line >= 0.0;
            all(&|distance| {
                let further = distance - 1.0;
                if curved {
                    root * further.sqrt() + line * further + one
                } else {
                    between(&points, distance)
                }
            })
        }
        _ => {
            let known = "extracted, hpl, hplplus10, constant, linear or curve";
            return Err(mechanics.wrong("Seek type", known));
        }
    })
}

/// Reads lines `distance, milliseconds`, which may have a deviation behind them. Returns the points
/// in the order of distance.
fn points(bytes: &[u8]) -> Vec<(f64, f64)> {
    let text = String::from_utf8_lossy(bytes);
    let point = |line: &str| {
        let mut numbers = line.split(',').map(|number| number.trim().parse::<f64>().ok());
        let (distance, time) = (numbers.next()??, numbers.next()??);
        ((1.0..=1e9).contains(&distance) && (0.0..=1_000.0).contains(&time))
            .then_some((distance, time))
    };
    let mut points: Vec<(f64, f64)> = text.lines().filter_map(point).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points.dedup_by(|one, other| one.0.total_cmp(&other.0).is_eq());
    points
}

/// Interpolates between the two points around a distance, or extrapolates from the first or last
/// two.
fn between(points: &[(f64, f64)], distance: f64) -> f64 {
    let next = points.partition_point(|point| point.0 < distance).clamp(1, points.len().max(2) - 1);
    let (Some(&(near, from)), Some(&(far, to))) = (points.get(next - 1), points.get(next)) else {
        return points.first().map_or(0.0, |point| point.1);
    };
    (from + (distance - near) * (to - from) / (far - near)).clamp(0.0, 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_and_lines_drawn_between() {
        let points =
            points(b"Seek distances measured: 3\n1,\t1.0\n10, 2.8, 0.1\nnonsense\n4, 1.6\n");
        assert_eq!(points, [(1.0, 1.0), (4.0, 1.6), (10.0, 2.8)]);
        let near = |distance, wanted: f64| (between(&points, distance) - wanted).abs() < 1e-9;
        assert!(
            near(1.0, 1.0) && near(2.0, 1.2) && near(4.0, 1.6) && near(7.0, 2.2) && near(15.0, 3.8)
        );
        assert!((between(&points[..1], 7.0) - 1.0).abs() < 1e-9, "one point is all there is");
    }
}
