//! The file of a trace: plain while the guest writes it, and packed once it is whole.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use disklab_files::{RAW, TRACE};
use disklab_protocol::closing;
use disklab_protocol::names::CLOSING;

use crate::reader::{Error, TraceReader};

pub use disklab_protocol::names::{REQUESTS as PLAIN, REQUESTS_PACKED as PACKED};

/// Replaces [`PLAIN`] by [`PACKED`], if [`PLAIN`] exists.
pub fn pack(folder: &Path) -> io::Result<()> {
    let (plain, packed) = (folder.join(PLAIN), folder.join(PACKED));
    let mut input = match disklab_files::open(&plain, &TRACE.inside(0)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    // This level is nine times as fast as the usual one, for a tenth more bytes, and a trial waits
    // for it.
    let written = File::create(&packed).and_then(|file| {
        let mut encoder = GzEncoder::new(file, Compression::fast());
        io::copy(&mut input, &mut encoder)?;
        encoder.finish()
    });
    if let Err(error) = written {
        // An incomplete packed file is not a trace; the plain one still exists.
        let _ = fs::remove_file(&packed);
        return Err(error);
    }
    fs::remove_file(&plain)
}

/// Returns the trace in a trial's folder, if it has one.
pub fn find(folder: &Path) -> Option<PathBuf> {
    [PACKED, PLAIN].map(|name| folder.join(name)).into_iter().find(|path| path.exists())
}

/// Opens a trace that [`find`] has found. If the trace has more requests than the closing record
/// beside it counts, reading ends in an error.
pub fn open(path: &Path) -> Result<TraceReader<Box<dyn Read>>, Error> {
    let file = disklab_files::open(path, &TRACE).map_err(|source| Error::Read { at: 0, source })?;
    let packed = path.extension().is_some_and(|extension| extension == "gz");
    let input: Box<dyn Read> =
        if packed { Box::new(GzDecoder::new(BufReader::new(file))) } else { Box::new(file) };
    let reader = TraceReader::new(input)?;
    let closing = disklab_files::read(&path.with_file_name(CLOSING), &RAW).ok();
    let closing = closing.and_then(|bytes| closing::parse(&bytes).ok());
    Ok(reader.at_most(closing.map_or(u64::MAX, |closing| closing.requests)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Served, TraceEntry, TraceWriter};

    fn trace() -> Vec<u8> {
        let mut writer = TraceWriter::new(1);
        (0..20_000).for_each(|at| writer.mark(at * at, "a mark"));
        writer.pending().to_vec()
    }

    #[test]
    fn a_packed_trace_is_the_same_trace_and_the_same_bytes_each_time() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let files = folders.each_ref().map(|folder| {
            fs::write(folder.path().join(PLAIN), trace()).unwrap();
            let read = |path: &Path| -> Vec<TraceEntry> {
                open(path).unwrap().map(Result::unwrap).collect()
            };
            let plain = find(folder.path()).unwrap();
            let before = read(&plain);
            pack(folder.path()).unwrap();
            let packed = find(folder.path()).unwrap();
            assert_eq!((plain.exists(), packed.file_name().unwrap()), (false, PACKED.as_ref()));
            assert_eq!(read(&packed), before);
            fs::read(packed).unwrap()
        });
        assert!(files[0] == files[1] && files[0].len() < trace().len() / 2);
    }

    #[test]
    fn without_a_trace_there_is_nothing_to_pack() {
        let folder = tempfile::tempdir().unwrap();
        pack(folder.path()).unwrap();
        assert_eq!(find(folder.path()), None);
    }

    #[test]
    fn a_damaged_file_gives_what_is_whole_of_it_and_an_error_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(PLAIN), trace()).unwrap();
        pack(folder.path()).unwrap();
        let path = find(folder.path()).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut wrong = whole.clone();
        let last = wrong.len() - 8;
        wrong[last] ^= 1;
        for bytes in [&whole[..whole.len() / 2], &whole[..whole.len() - 8], &wrong] {
            fs::write(&path, bytes).unwrap();
            let mut read: Vec<_> = open(&path).unwrap().collect();
            let error = read.pop().unwrap().unwrap_err().to_string();
            assert!(
                error.starts_with("the trace of requests cannot be read beyond byte "),
                "{error}"
            );
            assert!(read.len() > 5_000 && read.iter().all(Result::is_ok));
        }
        fs::write(&path, b"no gzip").unwrap();
        assert!(matches!(open(&path), Err(Error::Read { at: 0, .. })));
    }

    #[test]
    fn a_trace_ends_with_the_requests_that_the_closing_record_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = TraceWriter::new(1);
        for number in 0..3 {
            let arrived = writer.arrived();
            let served = Served {
                disk: 0,
                op: disklab_disks::Op::Read,
                fua: false,
                sector: 8 * number,
                sectors: 8,
                submitted: number,
                started: number,
                ended: number + 1,
            };
            writer.served(&served, arrived);
        }
        fs::write(folder.path().join(PLAIN), writer.pending()).unwrap();
        let read = |requests: u64| -> Vec<Result<TraceEntry, Error>> {
            let closing = format!(
                "{{\"schema\":1,\"complete\":true,\"fault\":null,\"virtual_ns\":9,\
                 \"requests\":{requests},\"phases\":[]}}"
            );
            let sum = disklab_protocol::digest::sha256_hex(closing.as_bytes());
            fs::write(folder.path().join(CLOSING), format!("{closing}\nsha256 {sum}\n")).unwrap();
            open(&folder.path().join(PLAIN)).unwrap().collect()
        };
        assert!(read(3).iter().all(Result::is_ok));
        let entries = read(2);
        let error = entries[2].as_ref().unwrap_err().to_string();
        assert!(entries.len() == 3 && error.contains("more requests than"), "{error}");
    }
}
