//! Axes over a number: of a disk, a policy, a scheduler, a workload, the array or the guest.
//!
//! ```toml
//! [axes]
//! "disk.2.seek" = { log = [1, 4], steps = 5 }        # equal factors; `linear`: equal distances
//! "policy.margin" = [0, 50, 100]
//! "device.seek_average" = ["8 ms", "12 ms"]
//! disks = [2, 4, 8]
//! device = ["nas-4tb", "laptop-1tb"]                # each replaces all disks that turn
//! memory = ["256 MiB", "1 GiB"]
//! runtime = ["10 s", "60 s"]
//! "background.iodepth" = [1, 8]                     # of a background that is a workload
//! ```
//!
//! Several of them at once are samples: see hypercube.rs. Values are exact: a computed value is
//! first rounded to a few digits, and the shown value is the used one.

mod apply;
mod device;
mod hypercube;
mod number;
mod parameter;
mod range;
mod values;

pub use hypercube::latin_hypercube;
pub use number::Number;
pub use parameter::{DRIVE, ESTIMATED, SweptParameter};
pub(super) use parameter::{MEMORY, RUNTIME};
pub use range::Range;

pub(super) use apply::{Applied, Base, Having, RereadFiles, SweptValue, apply};
pub(super) use hypercube::read as read_hypercube;
pub(super) use values::{each_once, read_steps};

use values::read_list;

use crate::read::{Located, TomlTable};

/// First words of names that TOML reads as nested tables if they stand without quotes.
const OF_DISKS: [&str; 2] = ["device", "disk"];

/// Reads the parameters among the axes of a suite, in the file's order of keys.
pub(super) fn read_axes(
    crossed: &TomlTable<'_, '_>,
) -> Vec<(SweptParameter, Vec<Located<String>>)> {
    // Marks the names as known, whether or not they are there.
    for name in SweptParameter::PLAIN {
        crossed.has(name);
    }
    let mut axes = Vec::new();
    for key in crossed.keys() {
        if OF_DISKS.contains(&key) && crossed.is_table(key) {
            crossed.has(key);
            let rule = "a name with points in it stands in quotes";
            crossed.wrong(key, format!("{rule}: \"disk.2.seek\" = ..."));
            continue;
        }
        let parameter = match key.parse::<SweptParameter>() {
            Ok(parameter) => parameter,
            // A name without a point is more likely to be another axis's.
            Err(message) if key.contains('.') => {
                crossed.has(key);
                crossed.wrong(key, message);
                continue;
            }
            Err(_) => continue,
        };
        let values = if crossed.is_table(key) {
            read_steps(crossed, key, parameter.is_whole())
        } else {
            read_list(crossed, key, &parameter)
        };
        axes.push((parameter, values));
    }
    axes
}
