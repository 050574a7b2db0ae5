//! Names that the kernel of a trial gives to the parts of the trial.

use serde::{Deserialize, Serialize};

/// Where a trial's disks are, and what is made of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// In the order of the trial's devices: `vda`, `vdb`, ... in a guest, `sdb`, `sdc` or such on a
    /// real machine.
    pub disks: Vec<String>,
    /// The whole disks that these are or are parts of, which have the queues.
    pub wholes: Vec<String>,
    /// What md makes of them.
    pub md: String,
    /// What is made on them is marked with this. `None`: with what the programs that make it draw.
    pub uuid: Option<String>,
}

impl Places {
    /// Those of a guest with so many disks.
    pub fn in_a_guest(disks: usize) -> Self {
        let disks: Vec<String> = (0..disks).map(disk_name).collect();
        Self { wholes: disks.clone(), disks, md: "md0".to_owned(), uuid: None }
    }

    /// Another one, which its replica is marked with.
    pub fn uuid_of_replica(&self) -> Option<String> {
        let uuid = self.uuid.as_ref()?;
        let last = if uuid.ends_with('0') { "1" } else { "0" };
        Some(format!("{}{last}", &uuid[..uuid.len().saturating_sub(1)]))
    }
}

/// The name that the guest kernel gives to disk `index`: `vda`, ..., `vdz`, `vdaa`, ...
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
