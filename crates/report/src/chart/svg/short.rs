//! Drawings in fewer bytes: no more digits and points than a picture has pixels, and lines of one
//! ink in one path.

use std::fmt::Write as _;

/// A point of a line that is nearer than this to the line without it is left out; pixels.
const NEAR: f64 = 0.2;

/// What is within an `svg` element. Texts stay as they are.
pub fn inner(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len());
    // Lines and boxes that follow each other, by their ink: none covers another.
    let mut pending: Vec<(&str, String)> = Vec::new();
    let mut parts = svg.split('<').enumerate().peekable();
    while let Some((at, part)) = parts.next() {
        if at > 0 && part.starts_with("text ") && part.ends_with('>') {
            // Without letters: names of categories that have none.
            if parts.next_if(|(_, next)| next.starts_with("/text>")).is_some() {
                continue;
            }
        }
        let (tag, text) =
            if at > 0 { part.split_once('>').unwrap_or((part, "")) } else { ("", part) };
        if let Some((way, ink)) = line(tag).or_else(|| rect(tag)) {
            match pending.iter_mut().find(|(known, _)| *known == ink) {
                Some((_, ways)) => ways.push_str(&way),
                None => pending.push((ink, way)),
            }
        } else if at > 0 {
            // Between ticks are their numbers, which no line crosses.
            if !matches!(tag.split(' ').next(), Some("text" | "/text")) {
                push_ways(&mut out, pending.drain(..));
            }
            out.push('<');
            push_tag(&mut out, tag);
            out.push('>');
        }
        out.push_str(text);
    }
    push_ways(&mut out, pending.drain(..));
    out
}

fn push_ways<'a>(out: &mut String, pending: impl Iterator<Item = (&'a str, String)>) {
    for (ink, ways) in pending {
        let _ = write!(out, r#"<path d="{ways}"{}/>"#, without_defaults(ink));
    }
}

/// A `line` as a way of a path, and the rest of its attributes.
fn line(tag: &str) -> Option<(String, &str)> {
    let (ends, rest) = numbers(tag.strip_prefix("line")?, ["x1", "y1", "x2", "y2"])?;
    let [x1, y1, x2, y2] = ends.map(number);
    let to = match (x1 == x2, y1 == y2) {
        (_, true) => format!("H{x2}"),
        (true, _) => format!("V{y2}"),
        _ => format!("L{x2} {y2}"),
    };
    Some((format!("M{x1} {y1}{to}"), rest))
}

/// What an attribute is without being said: in SVG, and in [`super::taken_apart`]'s group.
fn without_defaults(tag: &str) -> String {
    let defaults = [r#" stroke-width="1""#, r#" stroke="none" stroke-width="0""#, super::FONT_SIZE];
    defaults.into_iter().fold(tag.to_owned(), |tag, default| tag.replace(default, ""))
}

/// A `rect` with square corners, likewise.
fn rect(tag: &str) -> Option<(String, &str)> {
    let ([x, y, width, height], rest) =
        numbers(tag.strip_prefix("rect")?, ["x", "y", "width", "height"])?;
    if rest.contains(" rx=") {
        return None;
    }
    let (left, top) = (number(round(x)), number(round(y)));
    // From rounded places, so that boxes which touch still do.
    let across = number(round(x + width) - round(x));
    let down = number(round(y + height) - round(y));
    let back = if across == "0" { "0".to_owned() } else { format!("-{across}") };
    Some((format!("M{left} {top}h{across}v{down}h{back}z"), rest))
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The numbers that a tag begins with, and the rest of its attributes.
fn numbers<'a>(attributes: &'a str, names: [&str; 4]) -> Option<([f64; 4], &'a str)> {
    let mut rest = attributes.trim_end_matches(['/', ' ']);
    let mut values = [0.0; 4];
    for (value, name) in values.iter_mut().zip(names) {
        let (text, after) = rest.strip_prefix(&format!(" {name}=\""))?.split_once('"')?;
        *value = text.parse().ok()?;
        rest = after;
    }
    Some((values, rest))
}

fn push_tag(out: &mut String, tag: &str) {
    let tag = without_defaults(tag);
    let tag = tag.as_str();
    let (tag, end) = tag.strip_suffix(" /").map_or((tag, ""), |tag| (tag, "/"));
    match tag.split_once(" d=\"").and_then(|(before, from)| Some((before, from.split_once('"')?))) {
        Some((before, (way, after))) => {
            push_rounded(out, before);
            out.push_str(" d=\"");
            match points(way) {
                Some((points, closed)) => push_way(out, &simplified(&points), closed),
                None => push_rounded(out, way),
            }
            out.push('"');
            push_rounded(out, after);
        }
        None => push_rounded(out, tag),
    }
    out.push_str(end);
}

/// The points of a way of straight lines, and whether it is closed.
fn points(way: &str) -> Option<(Vec<(f64, f64)>, bool)> {
    let way = way.trim();
    let (way, closed) = way.strip_suffix('Z').map_or((way, false), |way| (way, true));
    let numbers = way.trim_start().strip_prefix('M')?.replace('L', " ");
    let numbers: Vec<f64> =
        numbers.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    if numbers.len() % 2 == 1 || numbers.iter().any(|number| !number.is_finite()) {
        return None;
    }
    Some((numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(), closed))
}

/// Without the points that cannot be seen (Douglas and Peucker, 1973).
fn simplified(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() < 3 {
        return points.to_vec();
    }
    let mut kept = vec![false; points.len()];
    let mut open = vec![(0, points.len() - 1)];
    while let Some((first, last)) = open.pop() {
        (kept[first], kept[last]) = (true, true);
        let off = |at: &usize| distance(points[*at], points[first], points[last]);
        let farthest = (first + 1..last).max_by(|a, b| off(a).total_cmp(&off(b)));
        if let Some(middle) = farthest.filter(|at| off(at) > NEAR) {
            open.extend([(first, middle), (middle, last)]);
        }
    }
    points.iter().zip(kept).filter(|(_, kept)| *kept).map(|(point, _)| *point).collect()
}

/// From a point to the line between two others.
fn distance((x, y): (f64, f64), (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> f64 {
    let (dx, dy) = (x2 - x1, y2 - y1);
    let along = ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy).max(1e-12);
    let along = along.clamp(0.0, 1.0);
    (x - x1 - along * dx).hypot(y - y1 - along * dy)
}

/// Relative steps between points rounded before, so that errors do not add up.
fn push_way(out: &mut String, points: &[(f64, f64)], closed: bool) {
    let tenths = |value: f64| (value * 10.0).round() as i64;
    let (mut x, mut y) = (0, 0);
    for (at, point) in points.iter().enumerate() {
        let (next_x, next_y) = (tenths(point.0), tenths(point.1));
        if at > 0 && (next_x, next_y) == (x, y) {
            continue;
        }
        out.push_str(match at {
            0 => "M",
            1 => "l",
            _ if next_x < x => "",
            _ => " ",
        });
        push_tenths(out, next_x - x);
        if next_y >= y {
            out.push(' ');
        }
        push_tenths(out, next_y - y);
        (x, y) = (next_x, next_y);
    }
    if closed {
        out.push('Z');
    }
}

fn push_tenths(out: &mut String, tenths: i64) {
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, tenth) = (tenths.abs() / 10, tenths.abs() % 10);
    let _ = match (whole, tenth) {
        (_, 0) => write!(out, "{sign}{whole}"),
        (0, _) => write!(out, "{sign}.{tenth}"),
        _ => write!(out, "{sign}{whole}.{tenth}"),
    };
}

/// A number of pixels, to one place; one below 1, which may be an opacity, to two.
pub fn number(value: f64) -> String {
    let places = if value.abs() < 1.0 { 2 } else { 1 };
    let text = format!("{value:.places$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn push_rounded(out: &mut String, tag: &str) {
    let mut rest = tag;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(from.len());
        let (digits, after) = from.split_at(end);
        out.push_str(before);
        match digits.parse::<f64>() {
            Ok(value) if digits.contains('.') => out.push_str(&number(value)),
            _ => out.push_str(digits),
        }
        rest = after;
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_no_pixel_shows_are_gone_and_texts_stay() {
        assert_eq!(
            inner(
                r#"<rect x="57.300000000000004" y="-12.96" opacity="0.25" /><text>1.2345 &lt;b</text>"#
            ),
            r#"<rect x="57.3" y="-13" opacity="0.25"/><text>1.2345 &lt;b</text>"#
        );
    }

    #[test]
    fn lines_of_one_ink_are_one_path() {
        let line =
            |to: &str, ink: &str| format!(r#"<line x1="1" y1="2.04" {to} stroke="{ink}" />"#);
        let svg = [
            line(r#"x2="3" y2="2""#, "a"),
            line(r#"x2="1" y2="5""#, "a"),
            line(r#"x2="4" y2="6""#, "b"),
        ];
        assert_eq!(
            inner(&svg.concat()),
            r#"<path d="M1 2H3M1 2V5" stroke="a"/><path d="M1 2L4 6" stroke="b"/>"#
        );
    }

    #[test]
    fn boxes_of_one_ink_are_one_path_and_still_touch() {
        let rect = |x: &str, ink: &str| {
            format!(r#"<rect x="{x}" y="1" width="2.16" height="3" fill="{ink}" />"#)
        };
        let svg = [rect("1.03", "a"), rect("3.19", "b"), rect("5.35", "a")].concat();
        assert_eq!(
            inner(&svg),
            r#"<path d="M1 1h2.2v3h-2.2zM5.4 1h2.1v3h-2.1z" fill="a"/><path d="M3.2 1h2.2v3h-2.2z" fill="b"/>"#
        );
        // Round corners are no path of straight lines.
        let round = r#"<rect x="1" y="1" width="2" height="3" rx="1"/>"#;
        assert_eq!(inner(round), round);
    }

    #[test]
    fn what_says_nothing_is_left_out() {
        let svg = r#"<text x="1" font-size="12"></text><text x="2" font-size="12">7</text><path d="M0 0" stroke="none" stroke-width="0" />"#;
        assert_eq!(inner(svg), r#"<text x="2">7</text><path d="M0 0"/>"#);
    }

    #[test]
    fn points_that_cannot_be_seen_are_left_out_and_the_others_stay_where_they_are() {
        let svg = r#"<path d="M 0 0 L 1 0.05 L 2 0 L 3 -3.04 L 3 -5 L 2.5 1 Z" fill="none" />"#;
        assert_eq!(inner(svg), r#"<path d="M0 0l2 0 1-3 0-2-.5 6Z" fill="none"/>"#);
        // Not straight lines: as they are.
        assert_eq!(inner(r#"<path d="M 1 2 A 3 4 5" />"#), r#"<path d="M 1 2 A 3 4 5"/>"#);
    }
}
