//! Finds the trials whose files or programs do not fit on their array.

use disklab_units::Bytes;

use crate::array::Array;
use crate::background::Background;
use crate::command::SPARE;
use crate::device::Device;
use crate::layout::{Filesystem, Md};
use crate::workload::Workload;

/// Beginning of the paths of md devices in sysfs.
const MD: &str = "/sys/block/md";
/// The file of an md device that starts a check of its copies.
const CHECK: &str = "sync_action";

/// Returns the reason why a workload cannot run on an array, or None if it can. `devices` are the
/// array's.
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

/// Returns the reason why a program has nothing to work on: a btrfs program on another filesystem,
/// or an md program on an array without md.
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

/// Returns the reason why a command for md has nothing to work on.
fn without_md(command: &[String], array: &Array) -> Option<String> {
    let names = |text: &str| command.iter().any(|word| word.contains(text));
    let (name, layout) = (&array.name, &array.layout);
    if !names(MD) {
        return None;
    }
    match layout.raid() {
        None => Some(format!("it uses `{MD}`, and array `{name}` ({layout}) has no md")),
        Some(Md::Raid0) if names(CHECK) => {
            Some(format!("it checks copies (`{CHECK}`), and array `{name}` ({layout}) has one"))
        }
        Some(_) => None,
    }
}

/// Returns the reason why a background cannot run on an array, beside a workload's files of `file`
/// bytes. A program that moves data copies it before it frees the old blocks.
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
    let commands =
        background.prepare.iter().chain(background.processes.iter().map(|one| &one.command));
    if let Some(reason) = commands.into_iter().find_map(|command| without_md(command, array)) {
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
