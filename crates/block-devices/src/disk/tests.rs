use super::*;
use crate::tests::fake::Fake;

fn found(fake: &Fake, number: (u32, u32)) -> Disk {
    Disk::on(&fake.machine(), Path::new("/dev/it"), number).unwrap()
}

fn serial(fake: &Fake) -> Option<String> {
    found(fake, (8, 16)).serial
}

#[test]
fn what_sysfs_says_of_a_disk() {
    let fake = Fake::new();
    fake.put("/sys/devices/sdb/device/vendor", "ATA     \n");
    fake.put("/sys/devices/sdb/device/model", "ST4000VN008-2DR1\n");
    fake.put("/sys/devices/sdb/device/vpd_pg80", b"\0\x80\0\x08ZDH0XYZ1");
    fake.put("/sys/devices/sdb/queue/rotational", "1\n");
    let disk = Disk {
        named: "/dev/it".into(),
        name: "sdb".to_owned(),
        number: (8, 16),
        bytes: Bytes::gib(1),
        rotational: true,
        model: Some("ATA ST4000VN008-2DR1".to_owned()),
        serial: Some("ZDH0XYZ1".to_owned()),
    };
    assert_eq!(found(&fake, (8, 16)), disk);
    assert_eq!(Disk::on(&fake.machine(), Path::new("/dev/none"), (8, 32)), None);
}

/// If several places have a serial, the first place counts.
#[test]
fn a_serial_is_looked_for_in_all_places() {
    let fake = Fake::new();
    assert_eq!(serial(&fake), None);
    for (file, text, said) in [
        ("/run/udev/data/b8:16", &b"S:disk/by-id/x\nE:ID_SERIAL=Model_S1\n"[..], "Model_S1"),
        ("/run/udev/data/b8:16", b"E:ID_SERIAL=Model_S1\nE:ID_SERIAL_SHORT=S1\n", "S1"),
        ("/sys/devices/sdb/device/wwid", b"naa.5000c500a1b2c3d4\n", "naa.5000c500a1b2c3d4"),
        ("/sys/devices/sdb/wwid", b"eui.0025385b71b00001\n", "eui.0025385b71b00001"),
        ("/sys/devices/sdb/device/vpd_pg80", b"\0\x80\0\x06  S2  ", "S2"),
        ("/sys/devices/sdb/serial", b"S3\0\0\0", "S3"),
        ("/sys/devices/sdb/device/serial", b"S4          \n", "S4"),
    ] {
        fake.put(file, text);
        assert_eq!(serial(&fake).as_deref(), Some(said), "{file}");
    }
    fake.put("/sys/devices/sdb/nsid", "1\n");
    assert_eq!(serial(&fake).as_deref(), Some("S4"));
    fake.put("/sys/devices/sdb/nsid", "2\n");
    assert_eq!(
        serial(&fake).as_deref(),
        Some("S4-n2"),
        "drives of several namespaces have one serial"
    );
}

#[test]
fn what_can_be_no_serial_is_none() {
    let fake = Fake::new();
    for odd in [
        &b"   \n"[..],
        b"\0\0",
        b"a\x1b[31mb\n",
        b"\xff\xfe\n",
        "a\u{202e}b".as_bytes(),
        &[b'x'; 300],
    ] {
        fake.put("/sys/devices/sdb/serial", odd);
        assert_eq!(serial(&fake), None, "{odd:?}");
    }
    for page in [&b""[..], b"\0\x80", b"\0\x80\0\x09short", b"\0\x80\0\0"] {
        fake.put("/sys/devices/sdb/device/vpd_pg80", page);
        assert_eq!(serial(&fake), None, "{page:?}");
    }
}

#[test]
fn a_partition_has_its_disks_serial_and_its_own_name() {
    let fake = Fake::new();
    fake.part("sdb", "sdb1", "8:17");
    let part = || found(&fake, (8, 17)).serial;
    assert_eq!(part(), None);
    fake.put("/sys/devices/sdb/serial", "S1\n");
    assert_eq!(part().as_deref(), Some("S1-part1"));
    fake.put("/run/udev/data/b8:17", "E:ID_PART_ENTRY_UUID=aa-01\n");
    assert_eq!(part().as_deref(), Some("S1-part1:aa-01"));
    fake.put("/sys/devices/sdb/sdb1/uevent", "DEVNAME=sdb1\nPARTUUID=aa-02\n");
    assert_eq!(part().as_deref(), Some("S1-part1:aa-02"));
}

#[test]
fn a_loop_device_is_its_file() {
    let fake = Fake::new();
    fake.put("/images/one", "");
    fake.put("/sys/devices/sdb/loop/backing_file", "/images/one\n");
    let file = fake.path("/images/one").metadata().unwrap();
    let (major, minor) = (major(file.dev()), minor(file.dev()));
    assert_eq!(serial(&fake), Some(format!("loop:{major}:{minor}:{}:/images/one", file.ino())));
    // Another file with that name has another serial.
    let was = serial(&fake);
    fs::rename(fake.path("/images/one"), fake.path("/images/kept")).unwrap();
    fake.put("/images/one", "");
    assert!(serial(&fake).is_some() && serial(&fake) != was);
    fs::remove_file(fake.path("/images/one")).unwrap();
    assert_eq!(serial(&fake), None);
}

#[test]
fn all_disks_are_those_that_could_hold_something() {
    let fake = Fake::new();
    for (name, number) in
        [("zram0", "253:0"), ("sr0", "11:0"), ("loop0", "7:0"), ("nvme0n1", "259:0")]
    {
        fake.disk(name, number);
    }
    fake.put("/sys/devices/loop0/size", "0\n");
    fake.part("sdb", "sdb1", "8:17");
    let disks = Disk::all_on(&fake.machine()).unwrap();
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["nvme0n1", "sdb", "sdb1", "vda"]);
    assert_eq!(disks[1].named, Path::new("/dev/sdb"));
}

#[test]
fn what_is_no_block_device_is_told() {
    let place = tempfile::tempdir().unwrap();
    let said = |path: &Path| Disk::find(path).unwrap_err().to_string();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let link = place.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    assert!(
        said(Path::new("/dev/null"))
            .contains("/dev/null: it is a character device, not a block device")
    );
    assert!(said(place.path()).contains("it is a folder, not"));
    assert!(said(&file).contains("it is a file, not"));
    assert!(said(&place.path().join("none")).contains("there is no such device"));
    assert!(said(&link).contains("it is a link to nowhere, which does not exist"));
    // A link to a file counts as a file.
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("file", &link).unwrap();
    assert!(said(&link).contains("link: it is a file, not"));
    assert!(said(&file.join("below")).contains("below: cannot be opened: Not a directory"));
}

#[test]
fn no_permission_is_told() {
    if rustix::process::geteuid().is_root() {
        disklab_testkit::skipped("root may look everywhere");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("shut")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    fs::set_permissions(place.path().join("shut"), mode).unwrap();
    let error = Disk::find(&place.path().join("shut/disk")).unwrap_err();
    assert!(matches!(error, Error::NoPermission(_)), "{error}");
}
