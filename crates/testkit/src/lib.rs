//! Tests that leave something out say why, where it is seen, and fail where nothing may be left
//! out.

use std::fmt::Display;
use std::io::Write as _;

/// Set where tests that only root can carry out may not be left out.
pub const NEED_ROOT: &str = "DISKLAB_NEED_ROOT";

/// To stderr itself: what a test that passes prints is not shown.
pub fn skipped(why: impl Display) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// What root can do on any Linux of these days, with the programs that `install/needs test`
/// installs.
///
/// # Panics
/// Where [`NEED_ROOT`] is set.
pub fn skipped_without_root(why: impl Display) {
    assert!(std::env::var_os(NEED_ROOT).is_none(), "{NEED_ROOT} is set, and here {why}");
    skipped(why);
}
