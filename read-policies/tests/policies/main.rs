//! Tests the policies' C code natively, as the kernel compiles it.

mod ageing;
mod answers;
mod any;
mod generated;
mod lab;
mod mainline;
mod one_file;
mod sanitized;
mod suites;
mod text;

use std::path::{Path, PathBuf};

use disklab_read_policies::{Choice, Mirror, Request};

/// Bits of btrfs's usual block, 4 KiB.
const BITS: u32 = 12;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(1).unwrap().join(path)
}

fn choice(text: &str) -> Choice {
    Choice::parse(text, BITS).unwrap_or_else(|| panic!("`{text}` is refused"))
}

/// Returns a hard disk that is idle and has done nothing yet.
fn disk(devid: u64) -> Mirror {
    Mirror { devid, rotational: true, live: true, ..Mirror::default() }
}

fn flash(devid: u64) -> Mirror {
    Mirror { rotational: false, ..disk(devid) }
}

/// Returns the same mirror, missing.
fn missing(mirror: Mirror) -> Mirror {
    Mirror { live: false, ..mirror }
}

fn request(mirrors: &[Mirror]) -> Request {
    Request::new(mirrors, BITS).unwrap()
}
