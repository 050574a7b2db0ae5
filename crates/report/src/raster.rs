//! The places of requests as a small PNG: crisp at any size, and a tenth of what paths would take.

use disklab_trace::timeline::Raster;
use png::{BitDepth, ColorType, Compression, Encoder, Filter};

/// Colours that are visible on white and on dark background, and that colour-blind readers can
/// distinguish.
pub const READ: &str = "#3391cf";
pub const WRITE: &str = "#e2701f";
pub const BOTH: &str = "#a06cc9";

/// Share of filled cells below which a single cell would hardly be visible.
const SPARSE: f64 = 0.02;

/// Draws a pixel for each cell, with the highest address on top. Empty cells are transparent. If
/// few cells are filled, each also fills its four neighbours' pixels.
pub fn png(reads: &Raster, writes: &Raster) -> Vec<u8> {
    let (width, height) = (reads.columns, reads.rows());
    let own = |column: usize, row: usize| {
        u8::from(reads.requests(column, row) > 0) | u8::from(writes.requests(column, row) > 0) << 1
    };
    let filled = reads
        .cells
        .iter()
        .zip(&writes.cells)
        .filter(|(read, write)| **read > 0 || **write > 0)
        .count();
    let grow = filled as f64 <= SPARSE * (width * height) as f64;
    let seen = |column: usize, row: usize| match own(column, row) {
        0 if grow => {
            let beside = [
                (column.checked_sub(1), Some(row)),
                (Some(column + 1).filter(|place| *place < width), Some(row)),
                (Some(column), row.checked_sub(1)),
                (Some(column), Some(row + 1).filter(|place| *place < height)),
            ];
            beside
                .into_iter()
                .filter_map(|(column, row)| Some(own(column?, row?)))
                .fold(0, |all, place| all | place)
        }
        own => own,
    };
    let mut rows = Vec::with_capacity((width / 4 + 1) * height);
    for row in (0..height).rev() {
        for four in (0..width).step_by(4) {
            let pixel = |column: usize| if column < width { seen(column, row) } else { 0 };
            let four = [four, four + 1, four + 2, four + 3].map(pixel);
            rows.push(four.into_iter().fold(0, |bits, pixel| bits << 2 | pixel));
        }
    }
    encoded(width as u32, height as u32, &rows)
}

/// Encodes pixels of two bits as a PNG: the first colour is transparent.
fn encoded(width: u32, height: u32, rows: &[u8]) -> Vec<u8> {
    let palette = ["#000000", READ, WRITE, BOTH].iter().flat_map(|colour| rgb(colour));
    let mut png = Vec::new();
    let mut encoder = Encoder::new(&mut png, width, height);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Two);
    encoder.set_palette(palette.collect::<Vec<u8>>());
    encoder.set_trns(&[0]);
    encoder.set_compression(Compression::High);
    // Filters would not help, since neighbours have little in common.
    encoder.set_filter(Filter::NoFilter);
    // Writing to a vector does not fail.
    let _ = encoder.write_header().and_then(|mut writer| writer.write_image_data(rows));
    png
}

/// Halves width and height: a cell holds the contents of four.
pub fn halved(fine: &Raster) -> Raster {
    let (columns, rows) = (fine.columns.div_ceil(2), fine.rows().div_ceil(2));
    let mut half = Raster { columns, cells: vec![0; columns * rows] };
    for column in 0..fine.columns {
        for row in 0..fine.rows() {
            let cell = &mut half.cells[column / 2 * rows + row / 2];
            *cell = cell.saturating_add(fine.requests(column, row));
        }
    }
    half
}

fn rgb(colour: &str) -> [u8; 3] {
    let [_, red, green, blue] = u32::from_str_radix(&colour[1..], 16).unwrap_or(0).to_be_bytes();
    [red, green, blue]
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn half_of_a_raster_loses_no_request() {
        let fine = Raster { columns: 3, cells: vec![1, 0, 2, 0, 0, 0, 0, 4, 0] };
        assert_eq!(halved(&fine), Raster { columns: 2, cells: vec![1, 2, 4, 0] });
    }

    #[test]
    fn few_requests_are_seen() {
        // The cell is one of few filled cells, or one of many.
        let pixels = |others: u32| {
            let mut reads = Raster { columns: 60, cells: vec![0; 3600] };
            reads.cells[30 * 60 + 30] = 1;
            reads.cells[..1200].fill(others);
            let bytes = png(&reads, &Raster { columns: 60, cells: vec![0; 3600] });
            let rows = inflated(&bytes);
            // A row has 15 bytes and a filter; column 30 is the third pixel of its byte.
            [29, 30, 31].map(|row| rows[(59 - row) * 16 + 1 + 7])
        };
        assert_eq!(pixels(0), [0b0000_0100, 0b0001_0101, 0b0000_0100]);
        assert_eq!(pixels(1), [0, 0b0000_0100, 0]);
    }

    fn inflated(png: &[u8]) -> Vec<u8> {
        let at = png.windows(4).position(|kind| kind == b"IDAT").unwrap();
        let length = u32::from_be_bytes(png[at - 4..at].try_into().unwrap()) as usize;
        let mut rows = Vec::new();
        flate2::read::ZlibDecoder::new(&png[at + 4..at + 4 + length])
            .read_to_end(&mut rows)
            .unwrap();
        rows
    }

    #[test]
    fn pixels_are_cells_from_the_top() {
        // Five columns and two rows, column by column, the lowest first.
        let reads = Raster { columns: 5, cells: vec![1, 0, 0, 0, 0, 2, 0, 0, 0, 9] };
        let writes = Raster { columns: 5, cells: vec![0, 0, 0, 0, 0, 1, 0, 0, 1, 0] };
        let png = png(&reads, &writes);
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x05\0\0\0\x02\x02\x03"));
        // The last chunk has a checksum that the specification gives.
        assert!(png.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
        assert_eq!(inflated(&png), [0, 0b0000_1100, 0b0100_0000, 0, 0b0100_0000, 0b1000_0000]);
    }
}
