//! Facts about a disk that the kernel knows, from sysfs. Each may be missing: files have none, and
//! some disks have only a few.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use disklab_block_devices::sysfs::SysfsBlock;
use disklab_calibrate::Hints;
use disklab_units::prose::visible;
use rustix::fs::{major, minor};

pub struct KnownDevice {
    /// Vendor and model, or the path, for messages.
    pub model: String,
    pub hints: Hints,
    pub rotational: Option<bool>,
    /// Whether it is a partition or a file.
    pub part: bool,
}

pub fn known_device(path: &Path) -> KnownDevice {
    let file = path.metadata().is_ok_and(|metadata| metadata.file_type().is_file());
    let plain = KnownDevice {
        model: visible(&path.display().to_string()),
        hints: Hints { file, ..Hints::default() },
        rotational: None,
        part: true,
    };
    let Ok(metadata) = path.metadata() else { return plain };
    if !metadata.file_type().is_block_device() {
        return plain;
    }
    let number = metadata.rdev();
    let Some(block) = SysfsBlock::find((major(number), minor(number))) else {
        return KnownDevice { part: false, ..plain };
    };
    let word = |file: &str| block.disk_word(file);
    let nvme =
        block.disk.file_name().is_some_and(|name| name.to_string_lossy().starts_with("nvme"));
    let depth = word("device/queue_depth").or_else(|| word("queue/nr_requests").filter(|_| nvme));
    KnownDevice {
        model: block.model().map_or(plain.model, |model| visible(&model)),
        hints: Hints {
            queue_depth: depth.and_then(|depth| depth.parse().ok()),
            write_cache: word("queue/write_cache").map(|cache| cache == "write back"),
            queued_flush: word("device/model").map(|_| nvme),
            file: false,
        },
        rotational: word("queue/rotational").map(|rotational| rotational == "1"),
        part: block.is_part(),
    }
}
