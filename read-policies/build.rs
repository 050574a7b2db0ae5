//! Compiles every policy, with a registry of the existing files. The committed registry may be
//! older; a test reports and renews it, and could not do so if the build needed it.

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
        // Tests time the code too, which must be what a kernel would run.
        .opt_level(2)
        .std("gnu11")
        .warnings(true)
        .extra_warnings(true)
        // The kernel sets this flag too: a policy need not use all its arguments.
        .flag("-Wno-unused-parameter")
        .warnings_into_errors(true)
        .compile("disklab_read_policies");
    Ok(())
}
