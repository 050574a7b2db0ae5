//! `registry.h`: which policies there are, from the names of the C files. Also part of the build
//! script.

use std::fs;
use std::io;
use std::path::Path;

/// Mainline's own, in its order; the first is what a filesystem begins with.
const MAINLINE: [&str; 3] = ["pid", "round_robin", "devid"];

/// The names of a folder's C files without `.c`: mainline's policies first, then the others by
/// name.
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

/// The text of `registry.h` for these policies.
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
 * Written from the names of the C files beside it (disklab: cargo test -p disklab-read-policies);
 * do not edit.
 */
{}
/* Every policy; mainline's come first and in mainline's order, pid at their head. */
static const struct read_policy *const read_policies[] = {{
{}}};
",
        lines("extern const struct read_policy ", ";"),
        lines("\t&", ","),
    )
}
