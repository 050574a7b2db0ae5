//! What the chart library drew, taken out of its document.

mod short;

pub use short::number;

/// Of most letters.
const FONT_SIZE: &str = r#" font-size="12""#;

/// An `svg` element taken apart.
pub struct Drawn {
    pub width: f64,
    pub height: f64,
    /// What is within the element. Text in it is escaped.
    pub inner: String,
}

/// The document begins with its `svg` element, as kuva writes it.
pub fn taken_apart(document: &str) -> Drawn {
    let (open, rest) = document.split_once('>').unwrap_or_default();
    let inner = rest.rsplit_once("</svg>").map_or(rest, |(inner, _)| inner);
    // The library's stamp: where a picture is from stands elsewhere.
    let inner = match inner.split_once("-->") {
        Some((stamp, inner)) if stamp.trim_start().starts_with("<!--") => inner,
        _ => inner,
    };
    // On the page, and on a paper of its own, there is a ground already.
    let ground = r#"<rect width="100%" height="100%" fill="none" />"#;
    let inner = inner.trim_start().strip_prefix(ground).unwrap_or(inner);
    let size = |name: &str| {
        let from = open.split_once(&format!(" {name}=\"")).map(|(_, from)| from);
        from.and_then(|from| from.split('"').next()?.parse().ok()).unwrap_or(0.0)
    };
    let inner =
        format!(r#"<g fill="{}"{FONT_SIZE}>{}</g>"#, super::ink::TEXT, short::inner(&bare(inner)));
    Drawn { width: size("width"), height: size("height"), inner }
}

/// Without images that are only for a larger size on the page.
pub fn as_seen(inner: &str) -> String {
    let mut parts = inner.split(r#"<image class="fine""#);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |seen, part| seen + part.split_once("</image>").map_or("", |(_, rest)| rest))
}

/// Without the library's style sheet, for the page has its own, and without its clipping: its ids
/// would be the same in all pictures, and whoever draws asks for the ranges that hold all.
fn bare(inner: &str) -> String {
    let without = |text: String, from: &str, to: &str| {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(from) {
            kept.push_str(before);
            rest = after.split_once(to).map_or("", |(_, after)| after);
        }
        kept + rest
    };
    let inner = without(inner.to_owned(), "<style>", "</style>");
    let inner = without(inner, "<clipPath", "</clipPath>");
    let inner = without(inner, r#" clip-path="url("#, r#")""#);
    inner.replace("<defs></defs>", "")
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
    fn what_is_drawn_is_left() {
        let drawn = taken_apart(
            r#"<svg xmlns="x" width="720" height="300.50"><!-- by k 1.2.3 --><rect width="100%" height="100%" fill="none" /><defs><clipPath id="k"><rect /></clipPath><style>g{}</style></defs><g clip-path="url(#k)"><text x="3.04">1.2345 &lt;b</text></g></svg>"#,
        );
        assert!((drawn.height - 300.5).abs() < 1e-9);
        assert_eq!(
            drawn.inner,
            r##"<g fill="#24292f" font-size="12"><g><text x="3">1.2345 &lt;b</text></g></g>"##
        );
    }
}
