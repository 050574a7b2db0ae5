//! `watch`, of records that nobody writes any more.

use crate::input::refused;
use crate::{fixture, run};

#[test]
fn what_nobody_writes_is_told_once() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let watch = run(here.path(), &["watch", fixture::NAME]);
    let show = run(here.path(), &["show", fixture::NAME]);
    assert_eq!(watch.out, show.out, "the table of the results");
    assert_eq!(watch.status, Some(1), "a trial of it failed");
    let tally = watch.err.lines().next().unwrap_or_default();
    assert!(tally.contains(" trials ok, ") && show.out.contains(tally), "{}", watch.err);
    let said = refused(run(here.path(), &["watch", fixture::NAME, "--json"]));
    assert!(said.contains("disklab show --json"), "{said}");
}
