//! Tests that the repository's own lab has no mistakes.

use std::path::Path;

use disklab_config::{Lab, device::RangeEnd};

#[test]
fn every_file_and_every_suite_is_good() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab");
    let lab = Lab::load(&folder).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert!(!lab.suites.is_empty(), "no suites in {}", folder.display());
    for name in lab.suites.keys() {
        let trials = lab.suite(name).and_then(|suite| suite.trials(&lab));
        let trials = trials.unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert!(!trials.is_empty(), "{name}");
    }
    let mut ends = 0;
    for name in lab.suites.keys() {
        let mut suite = lab.suite(name).unwrap();
        suite.set_seeds("1".parse().unwrap());
        let arrays = suite.trials(&lab).unwrap();
        let devices = arrays.iter().flat_map(|trial| &trial.devices);
        let values = RangeEnd::axis_values(devices);
        ends += values.len() - 1;
        suite.set("estimated", &values.join(",")).unwrap();
        let trials = suite.trials(&lab).unwrap_or_else(|mistakes| panic!("{name}: {mistakes}"));
        assert!(trials.len() >= arrays.len(), "{name}");
    }
    assert!(ends > 20, "{ends}");
    let quick = lab.suite("read-policy-quick").unwrap().trials(&lab).unwrap();
    assert_eq!(quick.len(), 3 * 3 * 4 * 5);
    assert!(quick.iter().all(|trial| trial.array.copies() == 2));
}
