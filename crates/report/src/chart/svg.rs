//! Writes kuva's scenes as SVG of a third of the size: tenths of pixels suffice, and lines are
//! relative. It writes no background, style sheet or clipping. The page has its own background and
//! style sheet, and so has a picture that stands alone. Ids of clip paths would be the same in all
//! pictures, and the drawing code asks for ranges that hold everything.

use itertools::Itertools;
use kuva::render::color::Color;
use kuva::render::math::to_unicode;
use kuva::render::render::{Primitive, Scene, TextAnchor, TextSpan};
use maud::{Markup, PreEscaped, Render, html};

use super::ink;

/// Returns the content of the `svg` element. Text in it is escaped.
pub fn inside(scene: &Scene) -> Markup {
    // Successive lines of one ink become one path: none covers another.
    let runs = scene.elements.chunk_by(|one, next| {
        matches!((segment(one), segment(next)), (Some((_, one)), Some((_, next))) if one == next)
    });
    let elements = html! { @for run in runs { (drawn_run(run)) } };
    html! { g fill=(ink::TEXT) font-size=(FONT_SIZE) { (elements) } }
}

/// Size of most letters, in pixels.
const FONT_SIZE: u32 = 12;

/// Draws successive lines of one ink, or another element.
fn drawn_run(run: &[Primitive]) -> Markup {
    let ways: String = run.iter().filter_map(|element| Some(segment(element)?.0)).collect();
    let [first, ..] = run else { return html! {} };
    segment(first).map_or_else(|| drawn(first), |(_, ink)| path(&ways, &ink, None))
}

/// Returns the path and the ink of a line.
fn segment(element: &Primitive) -> Option<(String, String)> {
    let Primitive::Line { x1, y1, x2, y2, stroke, stroke_width, stroke_dasharray } = element else {
        return None;
    };
    let mut ink = paint(None, None, Some(stroke), Some(*stroke_width));
    ink.extend(stroke_dasharray.as_ref().map(|on| format!(r#" stroke-dasharray="{on}""#)));
    Some((line(&[(*x1, *y1), (*x2, *y2)]), ink))
}

fn drawn(element: &Primitive) -> Markup {
    match element {
        Primitive::Circle { cx, cy, r, fill, fill_opacity, stroke, stroke_width } => {
            circle(*cx, *cy, *r, &paint(Some(fill), *fill_opacity, stroke.as_ref(), *stroke_width))
        }
        Primitive::CircleBatch { cx, cy, r, fill, fill_opacity, stroke, stroke_width } => {
            let paint = paint(Some(fill), *fill_opacity, stroke.as_ref(), *stroke_width);
            html! { @for (x, y) in cx.iter().zip(cy) { (circle(*x, *y, *r, &paint)) } }
        }
        Primitive::Rect { x, y, width, height, fill, stroke, stroke_width, opacity } => {
            let paint = paint(Some(fill), *opacity, stroke.as_ref(), *stroke_width);
            path(&rectangle(*x, *y, *width, *height), &paint, None)
        }
        Primitive::RectBatch { x, y, w, h, fills } => {
            let one = |(index, fill): (usize, &Color)| {
                let way = rectangle(x[index], y[index], w[index], h[index]);
                path(&way, &paint(Some(fill), None, None, None), None)
            };
            html! { @for field in fills.iter().enumerate() { (one(field)) } }
        }
        Primitive::PolyLine { points, stroke, stroke_width, stroke_dasharray } => {
            let paint = paint(None, None, Some(stroke), Some(*stroke_width));
            path(&line(&seen(points)), &paint, stroke_dasharray.as_deref())
        }
        Primitive::Path(shape) => {
            let (fill, stroke) = (shape.fill.as_ref(), Some(&shape.stroke));
            let paint = paint(fill, shape.opacity, stroke, Some(shape.stroke_width));
            path(&rounded(&shape.d), &paint, shape.stroke_dasharray.as_deref())
        }
        Primitive::Text { x, y, content, size, anchor, rotate, bold, color } => {
            let turn = rotate.map(|angle| [angle, *x, *y].map(number).join(" "));
            let size = Some(size).filter(|size| **size != FONT_SIZE);
            let (anchor, weight) = (anchor_word(*anchor), bold.then_some("bold"));
            let colour = color.as_ref().map(Color::to_svg_string);
            // Categories without a name have no text.
            html! { @if !content.is_empty() {
                text x=(number(*x)) y=(number(*y)) font-size=[size] text-anchor=[anchor]
                    font-weight=[weight] fill=[colour]
                        transform=[turn.map(|turn| format!("rotate({turn})"))] {
                            (to_unicode(content)) }
            } }
        }
        Primitive::RichText { x, y, spans, size, anchor, color } => drawn(&Primitive::Text {
            x: *x,
            y: *y,
            content: spans.iter().map(|TextSpan { text, .. }| text.as_str()).collect(),
            size: *size,
            anchor: *anchor,
            rotate: None,
            bold: false,
            color: color.clone(),
        }),
        Primitive::GroupStart { title, .. } => html! {
            (PreEscaped(r#"<g class="tt">"#))
            @if let Some(title) = title { title { (title) } }
        },
        Primitive::GroupEnd => PreEscaped("</g>".to_owned()),
        Primitive::Line { .. } | Primitive::ClipStart { .. } | Primitive::ClipEnd => html! {},
    }
}

fn anchor_word(anchor: TextAnchor) -> Option<&'static str> {
    match anchor {
        TextAnchor::Start => None,
        TextAnchor::Middle => Some("middle"),
        TextAnchor::End => Some("end"),
    }
}

/// Returns the attributes that shapes share, without SVG's defaults.
fn paint(
    fill: Option<&Color>,
    opacity: Option<f64>,
    stroke: Option<&Color>,
    width: Option<f64>,
) -> String {
    let stroke = stroke.filter(|color| !matches!(color, Color::None));
    let width = stroke.and(width).filter(|width| (width - 1.0).abs() > 1e-9);
    [
        ("fill", Some(fill.unwrap_or(&Color::None).to_svg_string())),
        ("fill-opacity", opacity.map(number)),
        ("stroke", stroke.map(Color::to_svg_string)),
        ("stroke-width", width.map(number)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some(format!(" {name}=\"{}\"", value?)))
    .collect()
}

fn circle(x: f64, y: f64, radius: f64, paint: &str) -> Markup {
    let [x, y, radius] = [x, y, radius].map(number);
    PreEscaped(format!(r#"<circle cx="{x}" cy="{y}" r="{radius}"{paint}/>"#))
}

fn path(way: &str, paint: &str, dashes: Option<&str>) -> Markup {
    let dashes = dashes.map_or_else(String::new, |on| format!(r#" stroke-dasharray="{on}""#));
    PreEscaped(format!(r#"<path d="{way}"{paint}{dashes}/>"#))
}

/// Draws a rectangle with rounded coordinates, so that touching rectangles still touch.
fn rectangle(x: f64, y: f64, width: f64, height: f64) -> String {
    let [left, right, top, bottom] = [x, x + width, y, y + height].map(number);
    format!("M{left} {top}H{right}V{bottom}H{left}z")
}

/// Draws a line by relative steps between points that are rounded first, so that errors do not add
/// up.
fn line(points: &[(f64, f64)]) -> String {
    let mut tenths: Vec<(f64, f64)> =
        points.iter().map(|(x, y)| ((x * 10.0).round(), (y * 10.0).round())).collect();
    tenths.dedup();
    let point = |x: f64, y: f64| format!("{} {}", number(x / 10.0), number(y / 10.0));
    let step = |two: &[(f64, f64)]| point(two[1].0 - two[0].0, two[1].1 - two[0].1);
    let Some((x, y)) = tenths.first() else { return String::new() };
    let steps: Vec<String> = tenths.windows(2).map(step).collect();
    let first = point(*x, *y);
    // If all points are equal, a step without numbers would be an error.
    if steps.is_empty() { format!("M{first}") } else { format!("M{first}l{}", steps.join(" ")) }
}

/// Shortens the data of a path: straight lines, which bands consist of, become relative, and other
/// numbers are rounded.
fn rounded(data: &str) -> String {
    let words = || data.split_whitespace();
    let is_line = |word: &str| matches!(word, "L" | "Z") || word.parse::<f64>().is_ok();
    if data.starts_with('M') && words().skip(1).all(is_line) {
        let numbers: Vec<f64> = words().filter_map(|word| word.parse().ok()).collect();
        let points: Vec<(f64, f64)> = numbers.chunks_exact(2).map(|xy| (xy[0], xy[1])).collect();
        return line(&seen(&points)) + if data.ends_with('Z') { "z" } else { "" };
    }
    let word = |word: &str| word.parse().map_or_else(|_| word.to_owned(), number);
    words().map(word).join(" ")
}

/// Removes points of a line that are invisible: nearer than a fifth of a pixel to the line without
/// them (Douglas and Peucker, 1973).
fn seen(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let [first, inner @ .., last] = points else { return points.to_vec() };
    let off = |point: &(f64, f64)| distance(*point, *first, *last);
    let farthest = (0..inner.len()).max_by(|a, b| off(&inner[*a]).total_cmp(&off(&inner[*b])));
    match farthest.filter(|index| off(&inner[*index]) > 0.2) {
        None => vec![*first, *last],
        Some(index) => {
            let mut kept = seen(&points[..index + 2]);
            kept.pop();
            kept.extend(seen(&points[index + 1..]));
            kept
        }
    }
}

/// Returns the distance of a point from the line between two others.
fn distance((x, y): (f64, f64), (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> f64 {
    let (dx, dy) = (x2 - x1, y2 - y1);
    let along = ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy).max(1e-12);
    let along = along.clamp(0.0, 1.0);
    (x - x1 - along * dx).hypot(y - y1 - along * dy)
}

/// Formats a number of pixels with one decimal place; a number below 1, which may be an opacity,
/// with two.
pub fn number(value: f64) -> String {
    let places = if value.abs() < 1.0 { 2 } else { 1 };
    let text = format!("{value:.places$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Writes text centred at a place.
pub fn centred(x: f64, y: f64, words: impl Render) -> Markup {
    html! { text x=(number(x)) y=(number(y)) text-anchor="middle" { (words) } }
}

/// Writes text that ends at a place.
pub fn ending(x: f64, y: f64, words: impl Render) -> Markup {
    html! { text x=(number(x)) y=(number(y)) text-anchor="end" { (words) } }
}

/// Removes images that serve only a larger size on the page.
pub fn as_seen(inner: &str) -> String {
    let mut parts = inner.split(r#"<image class="fine""#);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |seen, part| seen + part.split_once("</image>").map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_a_larger_size_is_left_out() {
        let inner =
            r#"<image class="usual"></image><image class="fine" href="x"></image><text>7</text>"#;
        assert_eq!(as_seen(inner), r#"<image class="usual"></image><text>7</text>"#);
    }

    #[test]
    fn lines_go_by_steps_whose_errors_do_not_add_up() {
        let points: Vec<(f64, f64)> =
            (0..=10).map(|at| (f64::from(at) * 3.33, 100.0 - f64::from(at))).collect();
        let steps = line(&points);
        assert!(steps.starts_with("M0 100l3.3 -1 3.4 -1 3.3 -1 "), "{steps}");
        let across: f64 = steps.split('l').nth(1).unwrap().split(' ').step_by(2).map(length).sum();
        assert!((across - 33.3).abs() < 1e-9, "{across}");
        assert_eq!(line(&[(1.0, 1.0), (1.01, 1.02), (2.0, 1.0)]), "M1 1l1 0");
        assert_eq!(line(&[(1.0, 1.0), (1.01, 1.02)]), "M1 1");
    }

    #[test]
    fn points_that_cannot_be_seen_are_left_out() {
        let points = [(0.0, 0.0), (1.0, 0.1), (2.0, 0.0), (3.0, 5.0), (4.0, 5.1), (5.0, 5.0)];
        assert_eq!(seen(&points), [(0.0, 0.0), (2.0, 0.0), (3.0, 5.0), (5.0, 5.0)]);
        assert_eq!(seen(&points[..1]), [(0.0, 0.0)]);
    }

    fn length(step: &str) -> f64 {
        step.parse().unwrap()
    }

    #[test]
    fn paths_keep_what_they_are_of() {
        assert_eq!(rounded("M 1.04 2 L 3.04 4.0 L 3 2.0 Z"), "M1 2l2 2 0 -2z");
        assert_eq!(rounded("M 1.04 2 L 3 4 M 5 6 L 7 8.88"), "M 1 2 L 3 4 M 5 6 L 7 8.9");
        assert_eq!(rounded("M1.04,2 A 5.55 5 0 1 1 2 0"), "M1.04,2 A 5.5 5 0 1 1 2 0");
    }

    #[test]
    fn boxes_that_touch_still_do() {
        assert_eq!(rectangle(0.0, 0.0, 1.26, 2.0), "M0 0H1.3V2H0z");
        assert_eq!(rectangle(1.26, 0.0, 1.0, 2.0), "M1.3 0H2.3V2H1.3z");
    }

    #[test]
    fn texts_are_escaped_and_clips_left_out() {
        let text = |content: &str| Primitive::Text {
            x: 3.04,
            y: 2.0,
            content: content.to_owned(),
            size: FONT_SIZE,
            anchor: TextAnchor::Start,
            rotate: None,
            bold: false,
            color: None,
        };
        let mut scene = Scene::new(10.0, 10.0);
        let (x, y, width, height) = (0.0, 0.0, 9.0, 9.0);
        scene.elements.push(Primitive::ClipStart { x, y, width, height, id: "k".to_owned() });
        scene.elements.extend([text("1.2345 <b"), text(""), Primitive::ClipEnd]);
        assert_eq!(
            inside(&scene).into_string(),
            r##"<g fill="#24292f" font-size="12"><text x="3" y="2">1.2345 &lt;b</text></g>"##
        );
    }
}
