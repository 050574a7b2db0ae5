//! Compiles every policy, with a registry of the files that are there: the committed one may be
//! older, which a test says and mends, and could not if it were needed to build the test.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

#[path = "src/registry.rs"]
mod registry;

const POLICIES: &str = ".";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={POLICIES}");
    let copies = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("read-policies");
    if copies.exists() {
        fs::remove_dir_all(&copies)?;
    }
    fs::create_dir_all(&copies)?;
    let names = registry::gather(Path::new(POLICIES), &copies)?;
    cc::Build::new()
        .files(names.iter().map(|name| copies.join(format!("{name}.c"))))
        .file("src/shim.c")
        .include(&copies)
        // What is timed is what a kernel would run, also in a test.
        .opt_level(2)
        .std("gnu11")
        .warnings(true)
        .extra_warnings(true)
        // As the kernel has it: a policy need not use all that it is given.
        .flag("-Wno-unused-parameter")
        .warnings_into_errors(true)
        .compile("disklab_read_policies");
    Ok(())
}
