//! Devices of the lab as members of an array, a cache or a replica.

use std::collections::BTreeMap;

use disklab_units::Bytes;

use crate::device::Device;
use crate::read::{Located, TomlTable, unknown};

/// Devices of the lab by name; `None` is a device whose file has mistakes.
pub type Devices = BTreeMap<String, Option<Device>>;

/// Checks that a device is in the lab, and that its used part is large enough for its purpose.
pub(crate) fn check_member(
    table: &TomlTable<'_, '_>,
    catalogue: &Devices,
    device: &Located<String>,
    partition_size: Option<Bytes>,
    (purpose, least): (&str, Bytes),
) {
    let Located { value: name, place } = device;
    let Some(known) = catalogue.get(name) else {
        table.wrong_at(place, unknown("device", name, catalogue.keys().map(String::as_str)));
        return;
    };
    // Mistakes of the device's own file are reported there.
    let Some(Device { bytes, .. }) = known else { return };
    let used = partition_size.unwrap_or(*bytes);
    if used > *bytes {
        let message = format!("`{name}` has only {bytes}, less than the part to use, {used}");
        table.wrong_at(place, message);
    }
    if used < least {
        let needs = format!("too little for {purpose}: at least {least} of each");
        table.wrong_at(place, format!("{used} of `{name}` is {needs}"));
    }
}
