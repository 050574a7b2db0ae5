//! What the kernel knows of a disk, from sysfs. All of it may be missing: files have none, and neither has every disk.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use disklab_calibrate::Hints;
use disklab_units::prose::visible;
use rustix::fs::{major, minor};

pub struct Known {
    /// For people: vendor and model, or the path.
    pub model: String,
    pub hints: Hints,
    pub rotational: Option<bool>,
    /// A partition, or a file.
    pub part: bool,
    /// Of a block device: itself, which may be a partition.
    pub sysfs: Option<PathBuf>,
}

pub fn of(path: &Path) -> Known {
    let file = path.metadata().is_ok_and(|metadata| metadata.file_type().is_file());
    let plain = Known {
        model: visible(&path.display().to_string()),
        hints: Hints { file, ..Hints::default() },
        rotational: None,
        part: true,
        sysfs: None,
    };
    let Ok(metadata) = path.metadata() else { return plain };
    if !metadata.file_type().is_block_device() {
        return plain;
    }
    let number = metadata.rdev();
    let link = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    let Ok(sysfs) = fs::canonicalize(link) else { return Known { part: false, ..plain } };
    let part = sysfs.join("partition").exists();
    let disk = if part { sysfs.parent().unwrap_or(&sysfs).to_owned() } else { sysfs.clone() };
    let word = |file: &str| {
        Some(fs::read_to_string(disk.join(file)).ok()?.trim().to_owned()).filter(|it| !it.is_empty())
    };
    let names: Vec<String> = ["device/vendor", "device/model"].into_iter().filter_map(word).collect();
    let nvme = disk.file_name().is_some_and(|name| name.to_string_lossy().starts_with("nvme"));
    let depth = word("device/queue_depth").or_else(|| word("queue/nr_requests").filter(|_| nvme));
    Known {
        model: if names.is_empty() { plain.model } else { visible(&names.join(" ")) },
        hints: Hints {
            queue_depth: depth.and_then(|depth| depth.parse().ok()),
            write_cache: word("queue/write_cache").map(|cache| cache == "write back"),
            queued_flush: word("device/model").map(|_| nvme),
            file: false,
        },
        rotational: word("queue/rotational").map(|rotational| rotational == "1"),
        part,
        sysfs: Some(sysfs),
    }
}
