//! Runs the C code under gcc's sanitizers, which detect faults that no answer shows: a shift too
//! far, a byte too many.

use std::process::Command;

use disklab_read_policies::registry;

use crate::repository;

#[test]
fn nothing_is_undefined() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("driver");
    let flags =
        ["-std=gnu11", "-g", "-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover=all"];
    let probe = folder.path().join("probe.c");
    std::fs::write(&probe, "int main(void) { return 0; }\n").unwrap();
    let built = Command::new("cc").args(flags).arg("-o").arg(&program).arg(&probe).output();
    if !built.is_ok_and(|built| built.status.success()) {
        assert!(
            std::env::var_os("DISKLAB_NEED_GUEST").is_none(),
            "`make test` wants a cc with sanitizers"
        );
        disklab_testkit::skipped("this machine's cc has no sanitizers");
        return;
    }
    let sources = folder.path().join("sources");
    std::fs::create_dir(&sources).unwrap();
    let names = registry::gather(&repository("read-policies"), &sources).unwrap();
    let files = names.iter().map(|name| sources.join(format!("{name}.c")));
    let driver = repository("read-policies/tests/policies/driver.c");
    let mut compiler = Command::new("cc");
    compiler.args(flags).arg("-I").arg(&sources).arg(driver).args(files).arg("-o").arg(&program);
    let built = compiler.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&program).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "ok\n");
}
