//! The guest's clock, held against the kernel's own answers by
//! crates/guest/examples/clock_check.rs.

use crate::place::TestGuest;
use disklab_protocol::places::TRIAL;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        crate::test("clocks_agree", clocks_agree),
        crate::test("time_is_the_disks", time_is_the_disks),
    ]
}

fn clocks_agree() {
    let here = std::env::current_exe().unwrap();
    let check = here.parent().unwrap().join("../examples/clock_check").canonicalize();
    let check = check.expect(
        "crates/guest/examples/clock_check is not built: test the whole workspace, as `make test` \
         does",
    );
    // The guest has a /tmp of its own, in which this repository may be; it sees the trial's folder
    // wherever that is.
    let place = TestGuest::shell(&format!("{TRIAL}/clock_check"));
    std::fs::copy(check, place.path("clock_check")).unwrap();
    place.run().unwrap_or_else(|reason| panic!("{reason}; {}", place.said()));
    assert_eq!(place.said(), "all clocks agree");
}

/// 1000 reads of 50 us, one after the other, take 50 ms to the nanosecond: the processor takes
/// none.
fn time_is_the_disks() {
    let place = TestGuest::new(&[
        "dd",
        "if=/dev/vda",
        "of=/dev/null",
        "bs=4k",
        "count=1000",
        "iflag=direct",
    ]);
    let closing = place.run().unwrap();
    let phase = closing.phase("measure").unwrap();
    assert_eq!(phase.length().0, 50_000_000);
    assert_eq!((phase.devices[0].reads, phase.devices[0].busy.0), (1000, 50_000_000));
}
