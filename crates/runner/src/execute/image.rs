//! Copies of prepared disks: a reflink if the filesystem supports it, or else the parts that are
//! not holes.

use crate::error::{Error, Result};
use disklab_guest::data;
use disklab_protocol::digest::hex;
use disklab_units::Bytes;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Copies `from` to `to`, which must not exist.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let source = File::open(from).map_err(Error::io("open", from))?;
    let target = File::create_new(to).map_err(Error::io("create", to))?;
    data::copy(&source, &target).map_err(Error::io("copy a disk to", to))
}

/// Returns a digest of a sparse file: of each part of [`GRAIN`] bytes that is not all zeroes, with
/// its offset.
pub fn digest(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    digest_sparse(&file).map_err(Error::io("read", path))
}

const GRAIN: u64 = 64 << 10;

fn digest_sparse(file: &File) -> io::Result<String> {
    let mut digest = Sha256::new();
    let length = file.metadata()?.len();
    digest.update(length.to_le_bytes());
    let mut buffer = vec![0; GRAIN as usize];
    let mut at = 0;
    loop {
        at = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data / GRAIN * GRAIN,
            Err(Errno::NXIO) => return Ok(hex(&digest.finalize())),
            Err(error) => return Err(error.into()),
        };
        let part = &mut buffer[..GRAIN.min(length - at) as usize];
        file.read_exact_at(part, at)?;
        if part.iter().any(|&byte| byte != 0) {
            digest.update(at.to_le_bytes());
            digest.update(&part);
        }
        at += GRAIN;
    }
}

/// Returns the room that a file takes on its disk.
pub fn allocated(path: &Path) -> Result<Bytes> {
    let meta = path.metadata().map_err(Error::io("read the size of", path))?;
    Ok(Bytes(meta.blocks() * 512))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_copy_is_equal_and_as_sparse() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let file = File::create(&a).unwrap();
        file.set_len(10 << 30).unwrap();
        for at in [0, 5 << 30, (10 << 30) - 8192] {
            file.write_all_at(&[7; 8192], at).unwrap();
        }
        copy(&a, &b).unwrap();
        assert_eq!(b.metadata().unwrap().len(), 10 << 30);
        assert!(allocated(&b).unwrap() <= Bytes(1 << 20), "the holes were copied");
        let copy = File::open(&b).unwrap();
        for (at, byte) in [(0, 7), (8192, 0), ((5 << 30) + 8191, 7), ((10 << 30) - 1, 7)] {
            let mut read = [9];
            copy.read_exact_at(&mut read, at).unwrap();
            assert_eq!(read, [byte]);
        }
        assert!(super::copy(&a, &b).is_err(), "a copy must not overwrite");
    }
}
