//! SHA-256 of files and of lists of fields, as lower-case hexadecimal.

use std::path::Path;

use disklab_protocol::digest::{hex, sha256_of_file};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// Hashes fields with their lengths, so that no two different lists of fields have the same digest.
pub(crate) struct Fields(Sha256);

impl Fields {
    /// Begins a digest; `what` keeps digests of different things distinct.
    pub fn new(what: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.add(what);
        fields
    }

    pub fn add(&mut self, field: impl AsRef<[u8]>) -> &mut Self {
        let bytes = field.as_ref();
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

pub(crate) fn of_file(path: &Path) -> Result<String> {
    sha256_of_file(path, &disklab_files::PROGRAM).map_err(Error::io("read", path))
}

#[cfg(test)]
mod tests {
    use disklab_protocol::digest::sha256_hex;

    use super::*;

    #[test]
    fn digests_are_those_of_sha256sum() {
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(of_file(&path).unwrap(), sha256_hex(b"abc"));
    }

    #[test]
    fn fields_do_not_run_together() {
        let digest = |parts: &[&str]| {
            let mut fields = Fields::new("test");
            for part in parts {
                fields.add(part);
            }
            fields.finish()
        };
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_ne!(digest(&["ab"]), digest(&["ab", ""]));
    }
}
