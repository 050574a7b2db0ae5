//! Disks that one disklab of this machine has for itself: two at a time would measure each other,
//! and put back what the other has set.
//!
//! By a name in the kernel and not by a lock on the device, which a user may not open, and which
//! udev would wait for. All see it, whoever they are and wherever they keep what they have noted,
//! and it ends with the process however that ends.

use std::collections::BTreeSet;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::disk::Disk;
use crate::sysfs::SysfsBlock;

/// As long as it is there, nobody else gets one of these disks.
#[derive(Debug)]
pub struct DiskClaim {
    _names: Vec<UnixListener>,
}

/// Of the whole disks that these are, or are on. An error is a sentence.
pub fn claim_disks(disks: &[Disk]) -> Result<DiskClaim, String> {
    let number = |disk: &Disk| {
        let whole = SysfsBlock::find(disk.number).and_then(|block| block.disk_word("dev"));
        whole.unwrap_or_else(|| format!("{}:{}", disk.number.0, disk.number.1))
    };
    let mut names: Vec<UnixListener> = Vec::new();
    let mut seen = BTreeSet::new();
    for disk in disks {
        let number = number(disk);
        if !seen.insert(number.clone()) {
            continue;
        }
        let name = format!("disklab on {number}");
        let bound =
            SocketAddr::from_abstract_name(&name).and_then(|name| UnixListener::bind_addr(&name));
        names.push(bound.map_err(|error| {
            let what = disk.named.display();
            if error.kind() == io::ErrorKind::AddrInUse {
                format!("{what}: another disklab uses this disk now; wait until it has ended")
            } else {
                format!("{what}: it cannot be kept from other disklabs: {error}")
            }
        })?);
    }
    Ok(DiskClaim { _names: names })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread::sleep;
    use std::time::Duration;

    use disklab_units::Bytes;

    use super::*;

    #[test]
    fn a_disk_is_one_runs_at_a_time() {
        let disk = |minor| Disk {
            named: Path::new("/dev/none").join(format!("{minor}")),
            name: format!("none{minor}"),
            // Of no driver.
            number: (4000, minor),
            bytes: Bytes(1 << 30),
            rotational: true,
            model: None,
            serial: None,
        };
        let own = std::process::id() & 0xffff;
        let first = claim_disks(&[disk(own), disk(own), disk(own + 1)]).unwrap();
        let refused = claim_disks(&[disk(own + 2), disk(own + 1)]).unwrap_err();
        assert!(refused.contains("another disklab uses this disk now"), "{refused}");
        // A child that another test has just forked has all claims until it executes a program.
        let claim = |disks: &[Disk]| {
            let tried =
                |_: i32| claim_disks(disks).inspect_err(|_| sleep(Duration::from_millis(10))).ok();
            (0..500).find_map(tried).expect("they are free again")
        };
        // What was got by then.
        let second = claim(&[disk(own + 2)]);
        drop((first, second));
        claim(&[disk(own), disk(own + 2)]);
    }
}
