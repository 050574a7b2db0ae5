//! Where requests were, as a small PNG: crisp at any size, and a tenth of what paths would take.

use std::io::Write;

use disklab_trace::timeline::Raster;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// Seen on white and on dark ground alike, and told apart by the colour-blind.
pub const READ: &str = "#3391cf";
pub const WRITE: &str = "#e2701f";
pub const BOTH: &str = "#a06cc9";

/// Where less than this part of the cells has something, a single one would hardly be seen.
const SPARSE: f64 = 0.02;

/// A pixel for each cell, the highest address on top; where there was nothing, the ground shows.
/// Where there is little, each has its four neighbours' pixels too.
pub fn png(reads: &Raster, writes: &Raster) -> Vec<u8> {
    let (width, height) = (reads.columns, reads.rows());
    let own = |column: usize, row: usize| {
        u8::from(reads.at(column, row) > 0) | u8::from(writes.at(column, row) > 0) << 1
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
    let mut rows = Vec::with_capacity((width / 4 + 2) * height);
    for row in (0..height).rev() {
        // No filter: neighbours have little in common.
        rows.push(0);
        for four in 0..width.div_ceil(4) {
            let pixel = |at: usize| {
                let column = four * 4 + at;
                if column < width { seen(column, row) } else { 0 }
            };
            rows.push(pixel(0) << 6 | pixel(1) << 4 | pixel(2) << 2 | pixel(3));
        }
    }
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let size = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    // Two bits a pixel, by a palette, not interlaced.
    let head = [&size(width)[..], &size(height)[..], &[2, 3, 0, 0, 0]].concat();
    chunk(&mut png, *b"IHDR", &head);
    let palette: Vec<u8> =
        ["#000000", READ, WRITE, BOTH].iter().flat_map(|colour| rgb(colour)).collect();
    chunk(&mut png, *b"PLTE", &palette);
    // The first colour is transparent.
    chunk(&mut png, *b"tRNS", &[0]);
    chunk(&mut png, *b"IDAT", &deflated(&rows));
    chunk(&mut png, *b"IEND", &[]);
    png
}

/// Half as wide and high: a cell has what is in any of four.
pub fn halved(fine: &Raster) -> Raster {
    let (columns, rows) = (fine.columns.div_ceil(2), fine.rows().div_ceil(2));
    let mut half = Raster { columns, cells: vec![0; columns * rows] };
    for column in 0..fine.columns {
        for row in 0..fine.rows() {
            let cell = &mut half.cells[column / 2 * rows + row / 2];
            *cell = cell.saturating_add(fine.at(column, row));
        }
    }
    half
}

fn chunk(png: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    png.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    let mut sum = Crc::new();
    for part in [&kind[..], data] {
        sum.update(part);
        png.extend_from_slice(part);
    }
    png.extend(sum.sum().to_be_bytes());
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to a vector does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
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
        // One of many cells, and the same cell among many that have something.
        let pixels = |others: u32| {
            let mut reads = Raster { columns: 60, cells: vec![0; 3600] };
            reads.cells[30 * 60 + 30] = 1;
            reads.cells[..1200].fill(others);
            let bytes = png(&reads, &Raster { columns: 60, cells: vec![0; 3600] });
            let rows = inflated(&bytes);
            // 15 bytes and a filter's a row; column 30 is the third of its byte.
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
        // Five columns, two rows: column by column, the lowest first.
        let reads = Raster { columns: 5, cells: vec![1, 0, 0, 0, 0, 2, 0, 0, 0, 9] };
        let writes = Raster { columns: 5, cells: vec![0, 0, 0, 0, 0, 1, 0, 0, 1, 0] };
        let png = png(&reads, &writes);
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x05\0\0\0\x02\x02\x03"));
        // The end has a checksum that the specification gives.
        assert!(png.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
        assert_eq!(inflated(&png), [0, 0b0000_1100, 0b0100_0000, 0, 0b0100_0000, 0b1000_0000]);
    }
}
