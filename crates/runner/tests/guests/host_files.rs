//! Tests that each file of the host that a guest's programs read is in a key or in the record.

use crate::place::{TestGuest, constant};
use disklab_units::Bytes;
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const STRACE: &str = "/usr/bin/strace";

/// A script that makes and uses every kind of filesystem and array.
const PROGRAMS: &str = "set -e
    head -c 4096 /dev/vda >/dev/null
    mkdir /tmp/a
    for kind in btrfs ext4 xfs; do
        wipefs -a -q /dev/vda
        mkfs.$kind -q /dev/vda && mount /dev/vda /tmp/a
        fio --name=x --filename=/tmp/a/x --size=1M --rw=randread --output-format=json >/dev/null
        umount /tmp/a
    done
    mdadm --quiet --create /dev/md0 --run --assume-clean --homehost=any --name=0 --level=1 \
        --raid-devices=2 /dev/vdb /dev/vdc
    mdadm --quiet --stop /dev/md0
    mdadm --quiet --assemble /dev/md0 --run /dev/vdb /dev/vdc
    mkfs.ext4 -q /dev/md0";

/// Files that are read and change no result: the list of libraries, whose contents are in the
/// record; time zone and locale, which a guest sets by `TZ=UTC` and `LC_ALL=C`.
const HARMLESS: [&str; 3] =
    ["/etc/ld.so.cache", "/usr/share/zoneinfo/Etc/UTC", "/etc/locale.alias"];

pub fn tests() -> Vec<Trial> {
    vec![crate::test("no_file_of_the_host_is_read_unseen", no_file_of_the_host_is_read_unseen)]
}

fn no_file_of_the_host_is_read_unseen() {
    if !Path::new(STRACE).exists() {
        println!("skipped: {STRACE} is not installed");
        return;
    }
    let traced = tempfile::tempdir().unwrap();
    let (log, script) = (traced.path().join("log"), traced.path().join("linux"));
    let mut place = TestGuest::shell(PROGRAMS);
    // The guest stays the child of its starter, since the tracer is its grandchild (-D).
    let text = format!(
        "#!/bin/sh\nexec {STRACE} -D -f -qq -s 4096 -e trace=openat -o {} {} \"$@\"\n",
        log.display(),
        place.kernel.path.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    place.kernel.path = script;
    place.machine.disks = (0..3)
        .map(|i| {
            let mut disk = constant(Bytes::mib(512), 50);
            disk.image = format!("{i}.img");
            disk
        })
        .collect();
    let result = place.run();
    result.unwrap_or_else(|reason| panic!("{reason}: {}", place.said()));
    let text = fs::read_to_string(&log).unwrap();
    let read: BTreeSet<&str> = text.lines().filter_map(read_by_guest).collect();
    assert!(read.contains("/etc/ld.so.cache"), "the trace saw nothing: {read:?}");
    let unseen: Vec<_> = read.into_iter().filter(|path| !is_known(path)).collect();
    assert!(unseen.is_empty(), "read, and in no key: {unseen:?}");
}

/// Returns the file of the host that a line of the trace opens for a program of the guest. hostfs
/// puts the guest's path behind its root, which is `/`.
fn read_by_guest(line: &str) -> Option<&str> {
    let (_, call) = line.split_once("openat(AT_FDCWD, \"//")?;
    let (path, rest) = call.split_once('"')?;
    let is_read = !rest.contains("= -1") && !rest.contains("O_DIRECTORY");

    let own = ["proc/self/cwd", "/proc/"].iter().any(|own| path.starts_with(own));
    (is_read && path != "/" && !own).then_some(path)
}

/// Returns true for programs and libraries, whose digests are in the record.
fn is_known(path: &str) -> bool {
    let is_elf = || {
        let mut magic = [0; 4];
        fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
            && magic == *b"\x7fELF"
    };
    HARMLESS.contains(&path) || is_elf()
}
