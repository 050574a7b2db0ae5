#![no_main]

use disklab_config::machine::{groups, lsblk};

// The input is the output of lsblk, btrfs, mdadm and zpool.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // The program decodes their output in the same way.
    let said = String::from_utf8_lossy(data);
    if let Ok(disks) = lsblk::read(&said) {
        assert!(disks.iter().all(|disk| disk.bytes.0 > 0 && disk.paths.contains(&disk.path)));
    }
    for group in [groups::btrfs, groups::md, groups::zfs].into_iter().flat_map(|read| read(&said)) {
        assert!(!group.name.is_empty());
    }
});
