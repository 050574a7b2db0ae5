//! Claims disks for one disklab of this machine. Two at a time would measure each other, and undo
//! each other's settings.
//!
//! A claim is a name of a socket in the kernel and not a lock on the device. The user may not be
//! able to open the device, and udev would wait for such a lock. Every user sees the name, wherever
//! they keep their journals, and the name ends with the process, however the process ends.
//!
//! Any user can take any name. So that nobody keeps root's runs from a disk, root also has a lock
//! for each disk, in a folder that nobody else can open. The lock decides among root's runs. A name
//! that another user holds, or that nobody listens at, is only a remark then.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::disk::Disk;
use crate::sysfs::SysfsBlock;

/// The folder of root's locks.
const LOCKS: &str = "/run/disklab";

/// A claim on disks. While it exists, nobody else gets one of them.
#[derive(Debug)]
pub struct DiskClaim {
    /// Sockets that hold the names; they accept no connections.
    names: Vec<UnixListener>,
    /// Open files that hold the locks.
    locks_held: Vec<File>,
    /// A sentence about each disk whose name another user holds.
    pub remarks: Vec<String>,
}

/// Claims the whole disks that `disks` are or are on. An error is a sentence.
pub fn claim_disks(disks: &[Disk]) -> Result<DiskClaim, String> {
    let is_root = rustix::process::geteuid().is_root();
    claim_with(disks, Some(Path::new(LOCKS)).filter(|_| is_root))
}

/// Claims disks with locks in a folder, if there is one.
fn claim_with(disks: &[Disk], locks: Option<&Path>) -> Result<DiskClaim, String> {
    let number = |disk: &Disk| {
        let whole = SysfsBlock::find(disk.number).and_then(|block| block.disk_word("dev"));
        whole.unwrap_or_else(|| format!("{}:{}", disk.number.0, disk.number.1))
    };
    let mut claim = DiskClaim { names: Vec::new(), locks_held: Vec::new(), remarks: Vec::new() };
    let mut seen = BTreeSet::new();
    for disk in disks {
        let number = number(disk);
        if !seen.insert(number.clone()) {
            continue;
        }
        let what = disk.named.display();
        let busy =
            || format!("{what}: another disklab uses this disk now; wait until it has ended");
        let lock = match locks.map(|folder| lock_in(folder, &number)) {
            Some(Ok(lock)) => Some(lock),
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => return Err(busy()),
            // If root has no folder of its own, as in a user namespace, only the name protects the
            // disk.
            Some(Err(_)) | None => None,
        };
        let name = format!("disklab on {number}");
        let bound =
            SocketAddr::from_abstract_name(&name).and_then(|name| UnixListener::bind_addr(&name));
        match bound {
            Ok(bound) => claim.names.push(bound),
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                return Err(format!(
                    "{what}: cannot reserve it against other runs of disklab: {error}"
                ));
            }
            Err(_) => match holder(&name) {
                Some(0) => return Err(busy()),
                _ if lock.is_none() => return Err(busy()),
                user => {
                    let user =
                        user.map_or("an unknown user".to_owned(), |user| format!("user {user}"));
                    claim.remarks.push(format!(
                        "{what}: a process of {user} has the name by which disklabs keep this \
                         disk to themselves; if it is a disklab, the two runs measure each other"
                    ));
                }
            },
        }
        claim.locks_held.extend(lock);
    }
    Ok(claim)
}

/// Locks a disk among root's runs. The error is `WouldBlock` if another run has it.
fn lock_in(folder: &Path, number: &str) -> io::Result<File> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = folder.symlink_metadata()?;
    let own = rustix::process::geteuid().as_raw();
    if !meta.is_dir() || meta.uid() != own || meta.mode() & 0o022 != 0 {
        return Err(io::Error::other("others may write this folder"));
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(folder.join(number.replace(':', "-")))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Returns the user whose process listens at a name. Returns None if that is unknown, for example
/// because the queue of connections is full.
fn holder(name: &str) -> Option<u32> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?).ok()?;
    Some(socket_peercred(&socket).ok()?.uid.as_raw())
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use disklab_units::Bytes;
    use rustix::net::{bind, listen};
    use rustix::process::Uid;
    use rustix::thread::set_thread_res_uid;

    use super::*;

    fn disk(minor: u32) -> Disk {
        Disk {
            named: Path::new("/dev/none").join(format!("{minor}")),
            name: format!("none{minor}"),
            // A number that belongs to no driver.
            number: (4000, minor),
            bytes: Bytes(1 << 30),
            rotational: true,
            model: None,
            serial: None,
        }
    }

    #[test]
    fn a_name_that_another_user_took_does_not_stop_root() {
        if !rustix::process::geteuid().is_root() {
            disklab_testkit::skipped_without_root("only root can be another user");
            return;
        }
        for (nth, backlog) in [Some(128), Some(0), None].into_iter().enumerate() {
            let minor = 0x1_0000 * (1 + nth as u32) + (std::process::id() & 0xffff);
            let name =
                SocketAddrUnix::new_abstract_name(format!("disklab on 4000:{minor}").as_bytes());
            let name = name.unwrap();
            // The user of one thread only, and of the socket that it listens at.
            let taker = std::thread::spawn(move || {
                let nobody = Uid::from_raw(65534);
                set_thread_res_uid(nobody, nobody, nobody).unwrap();
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                let socket =
                    || socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
                let taken = socket();
                bind(&taken, &name).unwrap();
                let mut callers = Vec::new();
                if let Some(backlog) = backlog {
                    listen(&taken, backlog).unwrap();
                    // Without a backlog, one caller fills the queue.
                    if backlog == 0 {
                        callers.push(socket());
                        connect(&callers[0], &name).unwrap();
                    }
                }
                (taken, callers)
            });
            let other = taker.join().unwrap();
            let folder = tempfile::tempdir().unwrap();
            let first = claim_with(&[disk(minor)], Some(&folder.path().join("locks"))).unwrap();
            let user = if backlog == Some(128) { "user 65534" } else { "an unknown user" };
            let remark = &first.remarks[0];
            assert!(remark.contains(&format!("a process of {user}")), "{remark}");
            // Other runs of root's are still refused, and so are runs of other users.
            for locks in [Some(folder.path().join("locks")), None] {
                let refused = claim_with(&[disk(minor)], locks.as_deref()).unwrap_err();
                assert!(refused.contains("another disklab uses this disk now"), "{refused}");
            }
            drop(other);
        }
    }

    #[test]
    fn a_disk_is_one_runs_at_a_time() {
        let own = std::process::id() & 0xffff;
        let first = claim_disks(&[disk(own), disk(own), disk(own + 1)]).unwrap();
        let refused = claim_disks(&[disk(own + 2), disk(own + 1)]).unwrap_err();
        assert!(refused.contains("another disklab uses this disk now"), "{refused}");
        // A child that another test has just forked holds all claims until it executes a program.
        let claim = |disks: &[Disk]| {
            let tried =
                |_: i32| claim_disks(disks).inspect_err(|_| sleep(Duration::from_millis(10))).ok();
            (0..500).find_map(tried).expect("they are free again")
        };
        // The refused claim has released the disk that it had got.
        let second = claim(&[disk(own + 2)]);
        drop((first, second));
        claim(&[disk(own), disk(own + 2)]);
    }
}
