//! Names that the kernel of a trial gives to the parts of the trial.

use serde::{Deserialize, Serialize};

/// The block devices of a trial, and the md device and UUID for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// Names of the disks, in the order of the trial's devices: `vda`, `vdb`, ... in a guest, names
    /// such as `sdb`, `sdc` on a real machine.
    pub disks: Vec<String>,
    /// Names of the whole disks to which `disks` belong. Queues belong to whole disks.
    pub wholes: Vec<String>,
    /// Name of the md device over the disks.
    pub md: String,
    /// UUID that marks filesystems and arrays on the disks. If it is `None`, mkfs and mdadm draw
    /// their own.
    pub uuid: Option<String>,
}

impl Places {
    /// Returns the places of a guest with `disks` disks.
    pub fn in_a_guest(disks: usize) -> Self {
        let disks: Vec<String> = (0..disks).map(disk_name).collect();
        Self { wholes: disks.clone(), disks, md: "md0".to_owned(), uuid: None }
    }

    /// Returns the UUID that marks the replica: one that differs from `uuid` in its last digit.
    pub fn uuid_of_replica(&self) -> Option<String> {
        let uuid = self.uuid.as_ref()?;
        let last = if uuid.ends_with('0') { "1" } else { "0" };
        Some(format!("{}{last}", &uuid[..uuid.len().saturating_sub(1)]))
    }
}

/// Returns the name that the guest kernel gives to disk `index`: `vda`, ..., `vdz`, `vdaa`, ...
pub fn disk_name(index: usize) -> String {
    let letter = |i: usize| char::from(b'a' + (i % 26) as u8);
    if index < 26 {
        format!("vd{}", letter(index))
    } else {
        format!("vd{}{}", letter(index / 26 - 1), letter(index))
    }
}

#[cfg(test)]
mod tests {
    use super::disk_name;

    #[test]
    fn disks_are_named_as_the_kernel_does() {
        assert_eq!(
            [0, 25, 26, 51, 52, 127].map(disk_name),
            ["vda", "vdz", "vdaa", "vdaz", "vdba", "vddx"]
        );
    }
}
