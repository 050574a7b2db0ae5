//! Makes `registry.h`, the list of policies, from the names of the C files. The build script uses
//! this module too.
//!
//! The kernel gets the policies of the folder itself. It has those of `mainline/` already: they are
//! compiled natively only, beside the others.

use std::fs;
use std::io;
use std::path::Path;

/// Mainline's policies, in its order. A filesystem begins with the first.
const MAINLINE: [&str; 3] = ["pid", "round_robin", "devid"];

/// The folder of mainline's policies.
pub const OF_MAINLINE: &str = "mainline";

/// Copies all files of `folder` and of its `mainline/` into the empty folder `into`, writes the
/// registry of all there, and returns the policies' names: mainline's first.
pub fn gather(folder: &Path, into: &Path) -> io::Result<Vec<String>> {
    for folder in [folder, &folder.join(OF_MAINLINE)] {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if let Some(name) = path.file_name().filter(|_| path.is_file()) {
                fs::copy(&path, into.join(name))?;
            }
        }
    }
    let names = policies(into)?;
    fs::write(into.join("registry.h"), header(&names))?;
    Ok(names)
}

/// Returns the names of a folder's C files without `.c`: mainline's policies first, then the others
/// by name.
pub fn policies(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "c")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            names.push(name.to_owned());
        }
    }
    let place =
        |name: &str| MAINLINE.iter().position(|known| *known == name).unwrap_or(MAINLINE.len());
    names.sort_by(|a, b| place(a).cmp(&place(b)).then(a.cmp(b)));
    Ok(names)
}

/// Returns the text of `registry.h` for these policies.
pub fn header(policies: &[String]) -> String {
    let lines = |before: &str, after: &str| {
        let lines: Vec<_> =
            policies.iter().map(|name| format!("{before}read_policy_{name}{after}\n")).collect();
        lines.concat()
    };
    format!(
        "\
/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * disklab's `cargo test -p disklab-read-policies` writes this file from the names of the C files
 * beside it: do not edit it.
 */
{}
/* The policies of this folder. */
static const struct read_policy *const read_policies[] = {{
{}}};
",
        lines("extern const struct read_policy ", ";"),
        lines("\t&", ","),
    )
}
