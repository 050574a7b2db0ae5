//! Colours of things beside each other. Each has a colour for a white background, in which pictures
//! are drawn, and one for a dark background, into which a style sheet turns it. Colour-blind
//! readers can distinguish the nine colours of either background.

use std::fmt::Write as _;

/// Colours on white and on dark background. The first four are Okabe and Ito's ("Color Universal
/// Design", 2008); their others are too faint on white.
pub const COLOURS: [(&str, &str); 9] = [
    ("#0072b2", "#3d8bd4"),
    ("#d55e00", "#f07a35"),
    ("#009e73", "#4bd2a5"),
    ("#cc79a7", "#c3a5ff"),
    ("#a578ff", "#b4e1ff"),
    ("#5a1e00", "#ffe100"),
    ("#000000", "#ffffff"),
    ("#6e6464", "#b48490"),
    ("#2d0087", "#8450ff"),
];

/// Returns the style sheet's rules that turn the colours for white into those for dark, if the
/// reader's background is dark. Paper is white.
pub fn on_dark() -> String {
    let mut rules = "@media screen and (prefers-color-scheme:dark){".to_owned();
    for (light, dark) in COLOURS {
        for ink in ["fill", "stroke"] {
            // Writing to a string does not fail.
            let _ = write!(rules, "[{ink}=\"{light}\"]{{{ink}:{dark}}}");
        }
    }
    rules + "}"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster;

    type Rgb = [f64; 3];
    const WHITE: &str = "#ffffff";
    /// Dark background of both style sheets.
    const DARK: &str = "#16191d";
    /// Colours as seen by readers who lack one kind of cones: Machado, Oliveira and Fernandes,
    /// 2009, in linear light.
    const SIGHTS: [[Rgb; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
        [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    ];

    /// Converts a colour to linear light.
    fn light(colour: &str) -> Rgb {
        [1, 3, 5].map(|at| {
            let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(matrix: [Rgb; 3], colour: Rgb) -> Rgb {
        matrix.map(|row| row.iter().zip(colour).map(|(one, other)| one * other).sum())
    }

    /// Returns the contrast of two colours by WCAG 2.
    fn contrast(one: &str, other: &str) -> f64 {
        let [one, other] = [one, other]
            .map(|colour| times([[0.2126, 0.7152, 0.0722]; 3], light(colour))[0] + 0.05);
        one.max(other) / one.min(other)
    }

    /// Converts a colour to Oklab, in which equal distances look equal.
    fn seen(colour: &str, sight: [Rgb; 3]) -> Rgb {
        let cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]];
        let lab = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]];
        let seen = times(sight, light(colour)).map(|part| part.clamp(0.0, 1.0));
        times(lab, times(cones, seen).map(f64::cbrt))
    }

    #[test]
    fn each_is_seen_on_its_ground() {
        for (light, dark) in COLOURS {
            assert!(contrast(light, WHITE) >= 3.0, "{light} on white: {}", contrast(light, WHITE));
            assert!(contrast(dark, DARK) >= 3.0, "{dark} on dark: {}", contrast(dark, DARK));
        }
        // Points of addresses have one colour for both backgrounds.
        for (point, ground) in [raster::READ, raster::WRITE, raster::BOTH]
            .into_iter()
            .flat_map(|colour| [(colour, WHITE), (colour, DARK)])
        {
            assert!(
                contrast(point, ground) >= 3.0,
                "{point} on {ground}: {}",
                contrast(point, ground)
            );
        }
        for sheet in [include_str!("../page.css"), include_str!("standalone.css")] {
            assert!(sheet.contains(DARK), "the dark ground is another one");
        }
    }

    #[test]
    fn nine_are_told_apart_by_those_who_see_fewer_colours() {
        let sides = [COLOURS.map(|(light, _)| light), COLOURS.map(|(_, dark)| dark)];
        for (colours, sight) in sides.iter().flat_map(|side| SIGHTS.map(|sight| (side, sight))) {
            for (at, one) in colours.iter().enumerate() {
                for other in &colours[..at] {
                    let parts = seen(one, sight).into_iter().zip(seen(other, sight));
                    let apart = parts.map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt();
                    assert!(
                        apart > 0.07,
                        "{one} and {other} are only {apart:.3} apart, seen by {sight:?}"
                    );
                }
            }
        }
    }
}
