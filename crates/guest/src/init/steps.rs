//! Records the steps of a first process.

use disklab_protocol::names;
use disklab_protocol::step::Step;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Error of a step: the action and the failure.
pub type Failure = String;

/// File [`names::STEPS`] of a trial.
pub struct Steps(File);

impl Steps {
    pub fn create(folder: &Path) -> Result<Self, Failure> {
        created(folder, names::STEPS).map(Self)
    }

    pub fn say(&mut self, step: &Step) {
        // If the trial's folder cannot be written, the kernel's console is the only output that is
        // left.
        if let Err(error) = writeln!(self.0, "{step}") {
            eprintln!("disklab: {}: {error}; {step}", names::STEPS);
        }
    }
}

/// Puts a path before an error.
pub fn on<E: Display>(path: impl AsRef<Path>) -> impl Fn(E) -> Failure {
    move |error| format!("{}: {error}", path.as_ref().display())
}

/// Creates a file in a trial's folder.
pub fn created(folder: &Path, name: &str) -> Result<File, Failure> {
    let path = folder.join(name);
    File::create(&path).map_err(on(&path))
}

/// Writes a value to a file of the kernel.
pub fn put(path: impl AsRef<Path>, value: &str) -> Result<(), Failure> {
    let path = path.as_ref();
    fs::write(path, value).map_err(|e| format!("writing {value} to {}: {e}", path.display()))
}

/// Reads a file that the program wrote for the first process.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = fs::read(path).map_err(on(path))?;
    serde_json::from_slice(&text).map_err(on(path))
}
