//! Encodes bytes for the text of a page.

use std::io::Write;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Encodes bytes by RFC 4648.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Compresses text for a script that unpacks it by `DecompressionStream("gzip")`.
pub fn packed(text: &str) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to a vector does not fail.
    let _ = encoder.write_all(text.as_bytes());
    base64(&encoder.finish().unwrap_or_default())
}
