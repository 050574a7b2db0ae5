//! What the chart library drew, made smaller: no more digits than the picture has pixels.

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
    let family = attribute(open, "font-family").unwrap_or_default();
    let inner = rounded(inner);
    let inner = if family.is_empty() {
        format!(r#"<g fill="{}">{inner}</g>"#, super::ink::TEXT)
    } else {
        format!(r#"<g fill="{}" font-family="{family}">{inner}</g>"#, super::ink::TEXT)
    };
    Drawn { width: size("width"), height: size("height"), inner }
}

fn attribute<'a>(open: &'a str, name: &str) -> Option<&'a str> {
    let (_, from) = open.split_once(&format!(" {name}=\""))?;
    from.split('"').next()
}

/// A size, without digits that do not matter.
pub fn short(value: f64) -> String {
    rounded(&format!("<{value}>")).trim_matches(['<', '>']).to_owned()
}

/// Numbers within tags to one place, those below one to two.
fn rounded(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len());
    for (at, part) in svg.split('<').enumerate() {
        if at > 0 {
            out.push('<');
        }
        let (tag, text) = if at > 0 { part.split_once('>').unwrap_or((part, "")) } else { ("", part) };
        if at > 0 {
            push_rounded(&mut out, tag.strip_suffix(" /").map_or(tag, |tag| tag));
            if tag.ends_with(" /") {
                out.push('/');
            }
            if part.contains('>') {
                out.push('>');
            }
        }
        out.push_str(text);
    }
    out
}

fn push_rounded(out: &mut String, tag: &str) {
    let mut rest = tag;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        out.push_str(before);
        match (number.contains('.'), number.parse::<f64>()) {
            (true, Ok(value)) => {
                let places = if value < 1.0 { 2 } else { 1 };
                let text = format!("{value:.places$}");
                out.push_str(text.trim_end_matches('0').trim_end_matches('.'));
            }
            _ => out.push_str(number),
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
        let drawn = taken_apart(
            r#"<svg xmlns="x" width="720" height="300.50"><!-- by k 1.2.3 --><rect width="100%" height="100%" fill="none" /><path d="M 57.300000000000004 -12.96" opacity="0.25" /><text x="3.0">1.2345 &lt;b</text></svg>"#,
        );
        assert!((drawn.height - 300.5).abs() < 1e-9);
        assert_eq!(
            drawn.inner,
            r##"<g fill="#24292f"><path d="M 57.3 -13" opacity="0.25"/><text x="3">1.2345 &lt;b</text></g>"##
        );
    }
}
