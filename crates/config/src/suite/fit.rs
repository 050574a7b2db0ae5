//! Which trials cannot be, since their files or programs find no place on their array.

use disklab_units::Bytes;

use crate::array::Array;
use crate::background::Background;
use crate::command::SPARE;
use crate::device::Device;
use crate::layout::Filesystem;
use crate::workload::Workload;

/// Why a workload cannot run on an array. `devices` are the array's.
pub fn of_workload(workload: &Workload, array: &Array, devices: &[Device]) -> Option<String> {
    if let Some(phases) = workload.phases() {
        if array.layout.filesystem().is_none() {
            let needs = "its phases need a filesystem";
            return Some(format!("{needs}; array `{}` is a bare device", array.name));
        }
        if let Some(reason) = phases.programs().find_map(|program| below(program, array)) {
            return Some(reason);
        }
        if phases.uses(SPARE) && array.spares.is_empty() {
            let array = &array.name;
            return Some(format!(
                "its commands have `{SPARE}`, and array `{array}` has no `spares`"
            ));
        }
    }
    let largest = array.largest_file(devices);
    let needed = workload.bytes();
    let several = workload.ends() || workload.fio().is_some_and(|fio| fio.own_files);
    let what = if several {
        format!("its files of {needed} together are")
    } else {
        format!("its file of {needed} is")
    };
    (needed > largest)
        .then(|| format!("{what} larger than array `{}` holds: {largest} at most", array.name))
}

/// Why a program finds nothing to work on: btrfs's own on another filesystem, md's where there is
/// no md.
fn below(program: &str, array: &Array) -> Option<String> {
    let (what, is_there) = match program {
        "btrfs" => ("btrfs", array.layout.filesystem() == Some(Filesystem::Btrfs)),
        "mdadm" => ("md", array.layout.raid().is_some()),
        _ => return None,
    };
    let name = &array.name;
    (!is_there).then(|| {
        format!("it runs `{program}`, and array `{name}` ({}) has no {what}", array.layout)
    })
}

/// Why a background cannot run on an array, beside a workload's files of so many bytes. What a
/// program of its moves is copied before it is freed.
pub fn of_background(
    background: &Background,
    file: Bytes,
    array: &Array,
    devices: &[Device],
) -> Option<String> {
    if array.layout.filesystem().is_none() {
        return Some(format!("needs a filesystem; array `{}` is a bare device", array.name));
    }
    if let Some(reason) = background.programs().find_map(|program| below(program, array)) {
        return Some(reason);
    }
    let own = background.bytes();
    let largest = array.largest_file(devices);
    (file + own > largest).then(|| {
        format!(
            "its files, {own} with room to move them, and those of {file} are more than array `{}` \
             holds: {largest}",
            array.name
        )
    })
}
