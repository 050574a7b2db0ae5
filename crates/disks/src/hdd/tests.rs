//! The disk that the tests of all parts share.

use disklab_config::device::{Device, Hdd, Model};
use disklab_config::read::TomlReader;

/// Returns the disk of `lab/devices/nas-4tb.toml`.
pub(crate) fn nas_4tb() -> Hdd {
    let source = include_str!("../../../../lab/devices/nas-4tb.toml");
    let device =
        TomlReader::new("nas-4tb.toml", source).read(|table| Device::read("nas-4tb", table));
    match device.expect("the file is right").model {
        Model::Hdd(hdd) => hdd,
        other => panic!("not a hard disk: {other:?}"),
    }
}
