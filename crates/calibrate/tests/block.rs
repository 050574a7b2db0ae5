//! Tests with real files as the disk under test.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use disklab_calibrate::block::BlockTarget;
use disklab_calibrate::{Error, Probe, Target};
use disklab_units::Bytes;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn file(bytes: usize) -> tempfile::NamedTempFile {
    // /tmp may be a tmpfs, which cannot be read past the page cache.
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.write_all(&vec![7; bytes]).unwrap();
    file
}

#[test]
fn serves_each_probe_once_at_any_depth() {
    let file = file(1 << 20);
    let mut block = BlockTarget::open(file.path(), false, &GO_ON).unwrap();
    assert_eq!(block.bytes(), Bytes::mib(1));
    let probes: Vec<Probe> = (0..100).map(|i| Probe::read(i % 32 * 64, 64)).collect();
    for depth in [1, 8] {
        let timed = block.serve(depth, &probes).unwrap();
        assert!(timed.len() == 100 && timed.iter().all(|timed| timed.done > timed.submitted));
    }
}

#[test]
fn what_is_open_for_reading_is_not_written() {
    let file = file(1 << 20);
    let mut block = BlockTarget::open(file.path(), false, &GO_ON).unwrap();
    assert!(block.serve(1, &[Probe::write(0, 8)]).is_err());
    assert!(std::fs::read(file.path()).unwrap().iter().all(|&byte| byte == 7));
}

#[test]
fn errors_name_the_file_and_what_was_tried() {
    let error =
        |path: &str| BlockTarget::open(Path::new(path), false, &GO_ON).err().unwrap().to_string();
    assert!(
        error("/dev/null").starts_with("/dev/null: cannot measure it: it is neither"),
        "{}",
        error("/dev/null")
    );
    assert!(error("/no/such").contains("lsblk lists"), "{}", error("/no/such"));
    let file = file(4096);
    let mut block = BlockTarget::open(file.path(), false, &GO_ON).unwrap();
    let beyond = block.serve(1, &[Probe::read(8, 8)]).err().unwrap().to_string();
    assert!(beyond.contains("cannot read 4096 bytes at 4096"), "{beyond}");
}

#[test]
fn a_stop_ends_what_is_under_way() {
    let stop = AtomicBool::new(true);
    let file = file(1 << 20);
    let mut block = BlockTarget::open(file.path(), false, &stop).unwrap();
    assert!(matches!(block.serve(4, &[Probe::read(0, 8); 10]), Err(Error::Interrupted)));
}
