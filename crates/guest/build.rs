//! Computes a fingerprint of the sources that decide what the disks do ([`BUILD`] in lib.rs). It
//! distinguishes a program and a library of different builds: cargo updates them separately, and an
//! old library would silently give old results.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

const CRATES: [&str; 6] = ["units", "protocol", "config", "disks", "trace", "guest"];

fn main() -> std::io::Result<()> {
    let crates = Path::new("..");
    let mut files = Vec::new();
    for name in CRATES {
        let sources = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", sources.display());
        collect(&sources, &mut files)?;
    }
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in files {
        file.hash(&mut hash);
        fs::read(&file)?.hash(&mut hash);
    }
    println!("cargo::rustc-env=DISKLAB_BUILD={:016x}", hash.finish());
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
