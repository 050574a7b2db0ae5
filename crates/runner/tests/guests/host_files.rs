//! Tests that each file of the host that a guest's programs read is in a key or in the record.

use crate::place::{TestGuest, constant, share};
use disklab_config::Lab;
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
    vec![
        crate::test("no_file_of_the_host_is_read_unseen", no_file_of_the_host_is_read_unseen),
        crate::test("a_script_starts_the_programs_it_names", a_script_starts_the_programs_it_names),
    ]
}

fn no_file_of_the_host_is_read_unseen() {
    let Some(read) = files_read_by(PROGRAMS) else { return };
    assert!(read.contains("/etc/ld.so.cache"), "the trace saw nothing: {read:?}");
    let unseen: Vec<_> = read.into_iter().filter(|path| !is_known(path)).collect();
    assert!(unseen.is_empty(), "read, and in no key: {unseen:?}");
}

/// The record has the digests of the programs that a lab file names. Its scripts start no others.
fn a_script_starts_the_programs_it_names() {
    let lab = Lab::load(&share().lab()).unwrap();
    let untar = lab.workloads["untar-build"].phases().unwrap();
    let of_phases = (untar.prepare.clone(), untar.programs().cloned().collect::<Vec<_>>());
    let of_backgrounds = ["git-checkout", "package"].map(|name| {
        let background = &lab.backgrounds[name];
        let processes = background.processes.iter().map(|process| &process.command);
        let commands = background.prepare.iter().chain(processes).cloned().collect();
        (commands, background.programs().cloned().collect())
    });
    for (commands, named) in of_backgrounds.into_iter().chain([of_phases]) {
        let words = |command: &Vec<String>| {
            let quoted = command.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
            quoted.collect::<Vec<_>>().join(" ").replace("{pool}", "/tmp/a").replace("{jobs}", "2")
        };
        let script = commands.iter().map(words).collect::<Vec<_>>().join("\n");
        let script = format!(
            "set -e; mkdir /tmp/a; mkfs.btrfs -q /dev/vda; mount /dev/vda /tmp/a\n{script}"
        );
        let Some(read) = files_read_by(&script) else { return };
        assert!(read.contains(&real("sh")), "the trace saw nothing: {read:?}");
        let programs = read.iter().filter(|path| path.contains("bin/") && is_known(path));
        let own = ["sh", "head", "mkdir", "mkfs.btrfs", "mount"].map(str::to_owned);
        let named: BTreeSet<String> =
            named.into_iter().chain(own).map(|name| real(&name)).collect();
        let others: Vec<_> = programs.filter(|path| !named.contains(*path)).collect();
        assert!(others.is_empty(), "started, and not among {named:?}: {others:?}");
    }
}

/// Returns the file that a program's name stands for.
fn real(name: &str) -> String {
    let mut folders = disklab_block_devices::PATH.split(':').map(Path::new);
    let path = folders.find_map(|folder| fs::canonicalize(folder.join(name)).ok());
    path.unwrap_or_default().display().to_string()
}

/// Returns the host's files that programs of a guest read if it runs this script. If that cannot be
/// traced, returns None and prints the reason.
fn files_read_by(script: &str) -> Option<BTreeSet<String>> {
    if !Path::new(STRACE).exists() {
        println!("skipped: {STRACE} is not installed");
        return None;
    }
    let mut place = TestGuest::shell(script);
    let traced = tempfile::tempdir().unwrap();
    let (log, script) = (traced.path().join("log"), traced.path().join("linux"));
    // The guest stays the child of its starter, since the tracer is its grandchild (-D).
    let text = format!(
        "#!/bin/sh\n\
         exec {STRACE} -D -f --seccomp-bpf -qq -s 4096 -e trace=openat -o {} {} \"$@\"\n",
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
    Some(text.lines().filter_map(read_by_guest).map(str::to_owned).collect())
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
