//! Renders SVG to pixels by resvg, with disklab's own font, so that the machine's fonts have no
//! influence.

use std::sync::{Arc, LazyLock};

use png::{BitDepth, ColorType, Encoder};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{FontResolver, Options, Tree};

/// DejaVu Sans, with Latin, Greek and Cyrillic letters and the signs of the pictures. Other letters
/// are drawn as boxes.
const FONT: &[u8] = include_bytes!("../../fonts/DejaVuSans.ttf");
const FAMILY: &str = "DejaVu Sans";

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// Pixels of the file for each pixel of the picture, and the largest length of a side.
const SCALE: f32 = 2.0;
const MOST: f32 = 16_000.0;

/// Keyword of the first text chunk, which identifies a report.
const KEYWORD: &str = "disklab report";

/// Number of bytes after the sizes in which [`is_report`] searches.
const BEGIN: usize = 128;

/// Renders a picture that stands alone. `made_by` is kept in the file.
pub fn png(svg: &str, made_by: &str) -> Result<Vec<u8>, String> {
    let options = Options {
        font_family: FAMILY.to_owned(),
        fontdb: Arc::clone(&FONTS),
        font_resolver: FontResolver {
            // This font replaces every family that a picture names.
            select_font: Box::new(|_, fonts| fonts.faces().next().map(|face| face.id)),
            select_fallback: Box::new(|_, _, _| None),
        },
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size();
    let scale = SCALE.min(MOST / size.width().max(size.height()).max(1.0));
    let [width, height] = [size.width(), size.height()].map(|side| (side * scale).ceil() as u32);
    let mut pixels = Pixmap::new(width, height)
        .ok_or_else(|| format!("there is no picture of {width} by {height} pixels"))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    encoded(width, height, &pixels.take_demultiplied(), made_by).map_err(|error| error.to_string())
}

fn encoded(
    width: u32,
    height: u32,
    pixels: &[u8],
    made_by: &str,
) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, width, height);
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.add_itxt_chunk(KEYWORD.to_owned(), made_by.to_owned())?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// Returns true if a file with this beginning is a picture of disklab's.
pub fn is_report(begin: &[u8]) -> bool {
    let begin = &begin[..begin.len().min(BEGIN)];
    begin.starts_with(b"\x89PNG\r\n\x1a\n")
        && begin.windows(KEYWORD.len()).any(|part| part == KEYWORD.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(text: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\" font-family=\
             \"No Such Font,sans-serif\"><rect width=\"60\" height=\"20\" fill=\"#fff\"/><text \
             x=\"2\" y=\"15\" font-size=\"12\">{text}</text></svg>"
        )
    }

    fn ink(text: &str) -> usize {
        let bytes = png(&svg(text), "x").expect("a picture");
        let mut reader =
            png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a picture");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        reader.next_frame(&mut pixels).expect("pixels");
        pixels.chunks(4).filter(|pixel| pixel[0] < 128).count()
    }

    #[test]
    fn text_is_drawn_with_the_font_of_the_program() {
        assert_eq!(ink(""), 0);
        assert!(ink("IOPS") > 100, "{}", ink("IOPS"));
        for sign in ["✕", "▸", "▲", "▼", "…", "≥", "≈", "–", "µ", "ж"] {
            assert!(ink(sign) > 0 && ink(sign) != ink("\u{4e2d}"), "{sign} is a box");
        }
    }

    #[test]
    fn the_same_picture_is_the_same_bytes_and_is_known() {
        let one = png(&svg("12 %"), "disklab report x").expect("a picture");
        assert_eq!(one, png(&svg("12 %"), "disklab report x").expect("a picture"));
        assert!(is_report(&one));
        assert!(!is_report(b"\x89PNG\r\n\x1a\n and something else"));
        assert!(png("<svg", "x").is_err());
    }
}
