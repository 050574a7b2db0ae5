//! Writes the registry of panels: every file of `src/panels` is one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("src/panels");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    let mut text = String::new();
    let mut names = Vec::new();
    for file in &files {
        let name =
            file.file_stem().and_then(|stem| stem.to_str()).ok_or("a panel's name is not text")?;
        writeln!(text, "#[path = {:?}]\npub mod {name};", file.display().to_string())?;
        names.push(format!("{name}::PANEL"));
    }
    writeln!(
        text,
        "/// In the order of their files.\npub const ALL: [crate::panel::Panel; {}] = [{}];",
        names.len(),
        names.join(", ")
    )?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("panels.rs"), text)?;
    Ok(())
}
