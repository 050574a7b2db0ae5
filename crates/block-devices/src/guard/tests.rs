use super::*;
use crate::tests::fake::Fake;
use std::path::Path;

fn disk(fake: &Fake, name: &str, number: (u32, u32)) -> Disk {
    let found = Disk::on(&fake.machine(), &Path::new("/dev").join(name), number).unwrap();
    assert_eq!(found.name, name);
    found
}

fn sdb(fake: &Fake) -> Result<(), Why> {
    free(&fake.machine(), &disk(fake, "sdb", (8, 16)))
}

fn said(fake: &Fake) -> String {
    sdb(fake).unwrap_err().to_string()
}

#[test]
fn a_disk_that_nobody_uses_is_free_and_the_root_is_not() {
    let fake = Fake::new();
    assert_eq!(sdb(&fake), Ok(()));
    let root = free(&fake.machine(), &disk(&fake, "vda", (254, 0)));
    assert_eq!(root, Err(Why::Mounted("/".to_owned())));
    // The mount is found by the name of its source, since btrfs has a number of its own.
    fake.mounts("29 27 0:45 /@home /home rw shared:2 - btrfs /dev/sdb rw\n");
    assert_eq!(said(&fake), "it is mounted at /home; unmount it if its contents are not needed");
    fake.mounts("29 27 0:45 / /m rw - bcachefs /dev/sdc:/dev/sdb rw\n");
    assert_eq!(sdb(&fake), Err(Why::Mounted("/m".to_owned())));
    fake.mounts("29 27 8:32 / /m rw - xfs /dev/sdc rw,logdev=/dev/sdb,noquota\n");
    assert_eq!(sdb(&fake), Err(Why::Mounted("/m".to_owned())), "its log is there");
    fake.put("/proc/self/mountinfo", "");
    assert!(said(&fake).contains("cannot find out what is mounted: /proc/self/mountinfo is empty"));
}

#[test]
fn what_is_mounted_elsewhere_counts() {
    let fake = Fake::new();
    let list = "27 1 254:0 / / rw - ext4 /dev/root rw\n30 27 8:16 / /data rw - ext4 /dev/sdb rw\n";
    fake.put("/proc/77/mountinfo", list);
    fake.put("/proc/77/comm", "disklab\n");
    fake.link("/proc/77/ns", "mnt", "/mnt:[4026532001]");
    // The user does not see this mount, so the message names the process that does.
    assert_eq!(
        said(&fake),
        "it is mounted at /data, where only disklab (process 77) sees it; wait until that \
         ends, or end it"
    );
}

/// Tests the second device of a btrfs, which is in no list of mounts.
#[test]
fn every_device_of_a_mounted_btrfs_is_used() {
    let fake = Fake::new();
    fake.link("/sys/fs/btrfs/1234-56/devices", "sdb", "/sys/devices/sdb");
    fake.put("/sys/fs/btrfs/features/raid56", "1\n");
    assert!(said(&fake).contains("as a part of the btrfs 1234-56"), "{}", said(&fake));
}

#[test]
fn swap_is_used() {
    let fake = Fake::new();
    fake.put("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sdb partition 64 0 -2\n");
    assert_eq!(said(&fake), "it is swap space in use; run `swapoff /dev/sdb` first");
}

#[test]
fn a_disk_with_partitions_is_refused_and_so_is_one_whose_other_part_is_used() {
    let fake = Fake::new();
    fake.part("sdb", "sdb1", "8:17");
    fake.part("sdb", "sdb2", "8:18");
    assert_eq!(sdb(&fake), Err(Why::Partitions(vec!["sdb1".to_owned(), "sdb2".to_owned()])));
    let second = || free(&fake.machine(), &disk(&fake, "sdb2", (8, 18)));
    assert_eq!(second(), Ok(()), "a partition by itself may be free");
    fake.mounts("29 27 8:17 / /mnt/a rw - ext4 /dev/sdb1 rw\n");
    let shared = "sdb1, which shares a disk with it, is mounted at /mnt/a; name a disk that \
        nothing else uses";
    assert_eq!(second().unwrap_err().to_string(), shared);
    assert_eq!(said(&fake), shared, "and the whole disk");
}

/// Tests shared disks: sdb1 and sdc1 make md0, on which dm-0 is mounted. sdc2 and sdb are not below
/// dm-0, and still share its disks.
#[test]
fn what_a_mounted_device_is_made_of_is_refused_however_far_below() {
    let fake = Fake::new();
    fake.disk("sdc", "8:32");
    fake.disk("md0", "9:0");
    fake.disk("dm-0", "252:0");
    fake.part("sdb", "sdb1", "8:17");
    fake.part("sdc", "sdc1", "8:33");
    fake.part("sdc", "sdc2", "8:34");
    fake.holds("md0", "sdb/sdb1");
    fake.holds("md0", "sdc/sdc1");
    fake.holds("dm-0", "md0");
    let check = |name: &str, number| free(&fake.machine(), &disk(&fake, name, number));
    assert_eq!(check("sdc1", (8, 33)), Err(Why::Held(vec!["md0".to_owned()])));
    assert_eq!(check("md0", (9, 0)), Err(Why::Held(vec!["dm-0".to_owned()])));
    assert_eq!(check("dm-0", (252, 0)), Ok(()));
    assert_eq!(check("sdc2", (8, 34)), Ok(()));
    fake.mounts("29 27 252:0 / /srv rw - ext4 /dev/mapper/srv rw\n");
    for (name, number) in [("sdb", (8, 16)), ("sdb1", (8, 17)), ("sdc2", (8, 34)), ("md0", (9, 0))]
    {
        let why = check(name, number).unwrap_err();
        assert!(matches!(&why, Why::Shared { by, .. } if by == "dm-0"), "{name}: {why}");
    }
    assert_eq!(check("dm-0", (252, 0)), Err(Why::Mounted("/srv".to_owned())));
}

#[test]
fn a_bcache_holds_its_cache_before_it_has_a_disk() {
    let fake = Fake::new();
    fake.put("/sys/devices/sdb/bcache/label", "");
    assert_eq!(said(&fake), "bcache uses it; name that device, or stop it first");
}

#[test]
fn a_loop_device_on_a_disk_is_a_part_of_it() {
    let fake = Fake::new();
    fake.disk("loop0", "7:0");
    // The file is found by the kernel's name: the device's own path does not exist.
    fake.put("/sys/devices/loop0/loop/backing_file", "/dev/sdb (deleted)\n");
    assert_eq!(said(&fake), "/dev/loop0 uses it; run `losetup -d /dev/loop0` first");
    fake.mounts("29 27 7:0 / /mnt rw - ext4 /dev/loop0 rw\n");
    assert!(matches!(sdb(&fake), Err(Why::Shared { .. })));
}

#[test]
fn two_loop_devices_of_one_file_are_one_disk() {
    let fake = Fake::new();
    fake.put("/images/one", "");
    fs_link(&fake, "/images/one", "/images/other name");
    for (name, number, file) in [
        ("loop0", "7:0", "/images/one"),
        ("loop1", "7:1", "/images/other name"),
        ("loop2", "7:2", "/gone"),
    ] {
        fake.disk(name, number);
        fake.put(&format!("/sys/devices/{name}/loop/backing_file"), format!("{file}\n"));
    }
    let check = |name: &str, number| free(&fake.machine(), &disk(&fake, name, number));
    assert_eq!(check("loop0", (7, 0)), Err(Why::SameFile { other: "loop1".to_owned() }));
    assert_eq!(check("loop2", (7, 2)), Ok(()));
    fake.mounts("29 27 7:1 / /mnt rw - ext4 /dev/loop1 rw\n");
    assert!(matches!(check("loop0", (7, 0)), Err(Why::Shared { .. })));
}

fn fs_link(fake: &Fake, from: &str, to: &str) {
    std::fs::hard_link(fake.path(from), fake.path(to)).unwrap();
}

#[test]
fn a_disk_that_is_read_only_small_or_gone_is_refused() {
    let fake = Fake::new();
    fake.put("/sys/devices/sdb/ro", "1\n");
    assert_eq!(sdb(&fake), Err(Why::ReadOnly));
    std::fs::remove_file(fake.path("/sys/devices/sdb/ro")).unwrap();
    assert!(matches!(sdb(&fake), Err(Why::Unknown(_))), "it is not known");
    fake.put("/sys/devices/sdb/ro", "0\n");
    fake.put("/sys/devices/sdb/size", "8192\n");
    assert_eq!(said(&fake), "it has 4 MiB, and at least 128 MiB are needed");
    let it = disk(&fake, "sdb", (8, 16));
    std::fs::remove_file(fake.path("/sys/block/sdb")).unwrap();
    assert!(matches!(free(&fake.machine(), &it), Err(Why::Changed(_))));
    std::fs::remove_dir_all(fake.path("/sys/block")).unwrap();
    assert!(matches!(free(&fake.machine(), &it), Err(Why::Unknown(_))), "no /sys");
}

#[test]
fn no_two_are_one_disk() {
    let fake = Fake::new();
    fake.part("sdb", "sdb1", "8:17");
    fake.part("sdb", "sdb2", "8:18");
    fake.disk("sdc", "8:32");
    fake.disk("sdd", "8:48");
    let [b, b1, b2, c, d] = [
        ("sdb", (8, 16)),
        ("sdb1", (8, 17)),
        ("sdb2", (8, 18)),
        ("sdc", (8, 32)),
        ("sdd", (8, 48)),
    ]
    .map(|(name, number)| disk(&fake, name, number));
    let apart = |disks: &[&Disk]| {
        let disks: Vec<Disk> = disks.iter().map(|disk| (*disk).clone()).collect();
        apart_on(&fake.machine(), &disks).map_err(|refusal| refusal.to_string())
    };
    assert_eq!(apart(&[&b, &c, &d]), Ok(()));
    let link = Disk { named: "/dev/disk/by-id/b".into(), ..b.clone() };
    let said =
        "/dev/disk/by-id/b is not written: it is named twice, also as /dev/sdb; name it once"
            .to_owned();
    assert_eq!(apart(&[&c, &b, &link]), Err(said));
    for pair in [[&b, &b1], [&b1, &b], [&b1, &b2]] {
        assert!(apart(&pair).unwrap_err().contains("it shares a disk with /dev/sdb"), "{pair:?}");
    }
    let with = |disk: &Disk, serial: &str| Disk { serial: Some(serial.to_owned()), ..disk.clone() };
    let (one, other) = (with(&c, "S1"), with(&d, "S1"));
    assert!(
        apart(&[&one, &other]).unwrap_err().contains("both have the serial S1"),
        "two ways to one"
    );
    assert_eq!(apart(&[&one, &with(&d, "S2")]), Ok(()));
}

#[test]
fn who_uses_a_disk_is_told() {
    let fake = Fake::new();
    let used_by =
        |name: &str, number| used_by_on(&fake.machine(), &disk(&fake, name, number)).unwrap();
    assert_eq!(used_by("sdb", (8, 16)), Vec::<String>::new());
    assert_eq!(used_by("vda", (254, 0)), ["mounted at /"]);
    fake.part("sdb", "sdb1", "8:17");
    fake.disk("md0", "9:0");
    fake.holds("md0", "sdb/sdb1");
    fake.mounts("29 27 9:0 / /srv rw - ext4 /dev/md0 rw\n30 27 9:0 /a /a rw - ext4 /dev/md0 rw\n");
    assert_eq!(used_by("sdb", (8, 16)), ["md0 (mounted at /a, mounted at /srv)", "sdb1"]);
}
