//! SHA-256 as disklab writes it: 64 lower-case hexadecimal digits.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use disklab_files::FileKind;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `bytes`.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the SHA-256 of a file of this kind.
pub fn sha256_of_file(path: &Path, kind: &FileKind) -> io::Result<String> {
    let mut file = BufReader::with_capacity(1 << 16, disklab_files::open(path, kind)?);
    let mut hash = Sha256::new();
    loop {
        let bytes = match file.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if bytes.is_empty() {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(bytes);
        let used = bytes.len();
        file.consume(used);
    }
}

/// Returns `bytes` as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::sha256_hex;

    #[test]
    fn the_standards_own_example() {
        // The digest is from FIPS 180-2, appendix B.1.
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
