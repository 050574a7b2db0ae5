//! Tests on real block devices: loop devices that each test makes and detaches again. If that is
//! impossible, the test prints the reason.

mod loops;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{slice, thread};

use disklab_block_devices::guard::{apart, hold, may_write};
use disklab_block_devices::{Allow, Disk, Why, allow};
use disklab_testkit::skipped;

use loops::{Lab, LoopDisk, attach, run};

/// Returns an allow file that lists `disks` as they are now.
fn allow(lab: &Lab, disks: &[&Disk]) -> Allow {
    let file = lab.path("devices.toml");
    let lines: Vec<String> = disks.iter().map(|disk| allow::lines(disk)).collect();
    fs::write(&file, lines.concat()).unwrap();
    Allow::load(Some(&file)).unwrap()
}

fn find(device: &LoopDisk) -> Disk {
    Disk::find(&device.path).unwrap()
}

/// Returns why a listed disk is refused, so that the missing entry is not the reason.
fn why(lab: &Lab, disk: &Disk) -> Why {
    may_write(disk, &allow(lab, &[disk]), &[]).unwrap_err().why
}

#[test]
fn an_empty_listed_disk_may_be_written() {
    let Some(lab) = Lab::new() else { return };
    let Some(device) = lab.disk("a", 256) else { return };
    let disk = find(&device);
    assert_eq!(disk.bytes.0, 256 << 20);
    assert!(disk.serial.as_ref().is_some_and(|serial| serial.starts_with("loop:")), "{disk:?}");
    assert_eq!(may_write(&disk, &allow(&lab, &[&disk]), &[]), Ok(()));
    // The disk is not listed; listed with another serial; listed by another device's path.
    let none = allow(&lab, &[]);
    assert!(matches!(may_write(&disk, &none, &[]).unwrap_err().why, Why::NotAllowed { .. }));
    let other = Disk { serial: Some("loop:0:0:1:/other".to_owned()), ..disk.clone() };
    let wrong = may_write(&disk, &allow(&lab, &[&other]), &[]).unwrap_err();
    assert!(matches!(wrong.why, Why::WrongSerial { .. }), "{wrong}");
    // The disk had another serial when it was looked at.
    assert!(matches!(
        may_write(&other, &allow(&lab, &[&disk]), &[]).unwrap_err().why,
        Why::Changed(_)
    ));
}

#[test]
fn the_kernel_gives_a_disk_to_one_alone() {
    let Some(lab) = Lab::new() else { return };
    let Some(device) = lab.disk("a", 256) else { return };
    let disk = find(&device);
    let held = hold(&disk).unwrap();
    assert_eq!(hold(&disk).unwrap_err().why, Why::Busy);
    drop(held);
    drop(hold(&disk).unwrap());
}

#[test]
fn a_listed_link_that_leads_to_another_disk_now_permits_nothing() {
    let Some(lab) = Lab::new() else { return };
    let (Some(one), Some(two)) = (lab.disk("a", 256), lab.disk("b", 256)) else { return };
    let link = lab.path("by-id");
    symlink(&one.path, &link).unwrap();
    let listed = Disk::find(&link).unwrap();
    let allow = allow(&lab, &[&listed]);
    assert_eq!(may_write(&listed, &allow, &[]), Ok(()));
    assert_eq!(may_write(&find(&one), &allow, &[]), Ok(()), "the same disk by another name");
    assert!(matches!(may_write(&find(&two), &allow, &[]).unwrap_err().why, Why::NotAllowed { .. }));
    fs::remove_file(&link).unwrap();
    symlink(&two.path, &link).unwrap();
    // Both the disk found before and the disk found now are refused.
    assert!(matches!(may_write(&listed, &allow, &[]).unwrap_err().why, Why::Changed(_)));
    assert!(matches!(hold(&listed).unwrap_err().why, Why::Changed(_)));
    let now = Disk::find(&link).unwrap();
    assert!(matches!(may_write(&now, &allow, &[]).unwrap_err().why, Why::WrongSerial { .. }));
    assert!(matches!(may_write(&find(&one), &allow, &[]).unwrap_err().why, Why::NotAllowed { .. }));
    fs::remove_file(&link).unwrap();
    fs::write(lab.path("file"), "").unwrap();
    symlink(lab.path("file"), &link).unwrap();
    assert!(
        Disk::find(&link).unwrap_err().to_string().contains("it is a file, not a block device")
    );
    assert!(matches!(may_write(&listed, &allow, &[]).unwrap_err().why, Why::Changed(_)));
}

#[test]
fn read_only_and_small_disks_are_refused() {
    let Some(lab) = Lab::new() else { return };
    let (Some(fixed), Some(small)) = (lab.read_only("a", 256), lab.disk("b", 64)) else { return };
    assert_eq!(why(&lab, &find(&fixed)), Why::ReadOnly);
    assert!(matches!(why(&lab, &find(&small)), Why::TooSmall { .. }));
}

#[test]
fn the_root_is_refused() {
    let Some(lab) = Lab::new() else { return };
    let root = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let number = root.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        (fields.get(4) == Some(&"/")).then(|| fields[2].to_owned())
    });
    let Some(uevent) = number
        .and_then(|number| fs::read_to_string(format!("/sys/dev/block/{number}/uevent")).ok())
    else {
        skipped("the root filesystem here is on no device");
        return;
    };
    let name = uevent.lines().find_map(|line| line.strip_prefix("DEVNAME=")).unwrap();
    let disk = Disk::find(&Path::new("/dev").join(name)).unwrap();
    // It is refused even if the user lists it and gives up its contents.
    let refusal =
        may_write(&disk, &allow(&lab, &[&disk]), slice::from_ref(&disk.named)).unwrap_err();
    assert_eq!(refusal.why, Why::Mounted("/".to_owned()));
    // A container's rules may forbid even root to open it.
    assert!(matches!(hold(&disk).unwrap_err().why, Why::Busy | Why::NoPermission));
}

#[test]
fn a_mounted_disk_and_one_that_holds_something_are_refused() {
    let Some(lab) = Lab::new() else { return };
    let Some(device) = lab.disk("a", 256) else { return };
    let disk = find(&device);
    if !run("mkfs.ext4", &["-q", "-F"], &device.path) {
        return;
    }
    let overwrite = [lab.path("link")];
    symlink(&device.path, &overwrite[0]).unwrap();
    let listed = allow(&lab, &[&disk]);
    let holds = may_write(&disk, &listed, &[]).unwrap_err();
    let said = format!(
        "it holds an ext filesystem; if that is not needed, add --overwrite {}",
        device.path.display()
    );
    assert_eq!(holds.why.to_string(), said);
    assert_eq!(may_write(&disk, &listed, &overwrite), Ok(()), "named once more, by another name");
    let place = lab.mount(&device.path);
    let Some(place) = place else { return };
    let mounted = Why::Mounted(place.path.display().to_string());
    assert_eq!(may_write(&disk, &listed, &overwrite).unwrap_err().why, mounted);
    assert_eq!(hold(&disk).unwrap_err().why, Why::Busy);
}

/// Makes two partitions, with a table that this function writes.
fn partitioned(lab: &Lab) -> Option<(LoopDisk, [PathBuf; 2])> {
    let mut table = [0; 512];
    for (at, (first, sectors)) in
        [(2048_u32, 300_u32 << 11), (2048 + (300 << 11), 200 << 11)].into_iter().enumerate()
    {
        let entry = &mut table[446 + at * 16..][..16];
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&first.to_le_bytes());
        entry[12..].copy_from_slice(&sectors.to_le_bytes());
    }
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    let file = lab.file("a", 512);
    OpenOptions::new().write(true).open(&file).unwrap().write_all_at(&table, 0).unwrap();
    let device = attach(&["--partscan"], &file)?;
    let parts = [1, 2].map(|part| PathBuf::from(format!("{}p{part}", device.path.display())));
    // Not every kernel reads such tables.
    if parts.iter().all(|part| part.exists()) || run("partx", &["--add"], &device.path) {
        return Some((device, parts));
    }
    None
}

#[test]
fn a_partition_of_a_mounted_disk_is_refused() {
    let Some(lab) = Lab::new() else { return };
    let Some((device, parts)) = partitioned(&lab) else { return };
    let [first, second] = parts.each_ref().map(|part| Disk::find(part).unwrap());
    let whole = find(&device);
    assert!(first.serial.as_ref().unwrap().contains("-part1"), "{first:?}");
    assert_ne!(first.serial, second.serial);
    let listed = allow(&lab, &[&first, &second, &whole]);
    assert_eq!(may_write(&first, &listed, &[]), Ok(()));
    assert!(matches!(
        may_write(&whole, &listed, &[]).unwrap_err().why,
        Why::Partitions(names) if names.len() == 2
    ));
    for pair in [[&first, &second], [&whole, &first], [&second, &whole]] {
        let pair = pair.map(Clone::clone);
        assert!(matches!(apart(&pair).unwrap_err().why, Why::OneDisk { .. }), "{pair:?}");
    }
    if !run("mkfs.ext4", &["-q", "-F"], &parts[0]) {
        return;
    }
    let Some(place) = lab.mount(&parts[0]) else { return };
    let again = [parts[1].clone(), device.path.clone()];
    for disk in [&second, &whole] {
        let refusal = may_write(disk, &listed, &again).unwrap_err();
        let said = format!("is mounted at {}", place.path.display());
        assert!(matches!(&refusal.why, Why::Shared { by, .. } if *by == first.name), "{refusal}");
        assert!(refusal.to_string().contains(&said), "{refusal}");
    }
    assert_eq!(hold(&whole).unwrap_err().why, Why::Busy);
}

#[test]
fn a_disk_is_used_once() {
    let Some(lab) = Lab::new() else { return };
    let (Some(one), Some(two)) = (lab.disk("a", 256), lab.disk("b", 256)) else { return };
    let link = lab.path("link");
    symlink(&one.path, &link).unwrap();
    let disks = [find(&one), find(&two), Disk::find(&link).unwrap()];
    assert_eq!(apart(&disks[..2]), Ok(()));
    assert_eq!(apart(&disks).unwrap_err().why, Why::Twice(one.path.clone()));
    // A second loop device has the same file.
    let Some(again) = attach(&[], &lab.path("a")) else { return };
    assert!(matches!(apart(&[find(&one), find(&again)]).unwrap_err().why, Why::OneDisk { .. }));
    assert!(matches!(why(&lab, &find(&one)), Why::SameFile { .. }));
}

#[test]
fn swap_and_disks_that_programs_write_are_refused() {
    let Some(lab) = Lab::new() else { return };
    let Some(device) = lab.disk("a", 256) else { return };
    let disk = find(&device);
    // A program has the disk open, but not exclusively.
    let file = OpenOptions::new().write(true).open(&device.path).unwrap();
    let mut other = std::process::Command::new("sleep").arg("60").stdout(file).spawn().unwrap();
    let found = why(&lab, &disk);
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(
        found.to_string(),
        format!("it is open in sleep (process {}); end this program first", other.id())
    );
    // Readers do no harm.
    let _read = File::open(&device.path).unwrap();
    assert_eq!(may_write(&disk, &allow(&lab, &[&disk]), &[]), Ok(()));
    if !run("mkswap", &["-q"], &device.path) || !run("swapon", &[], &device.path) {
        return;
    }
    let found = may_write(&disk, &allow(&lab, &[&disk]), slice::from_ref(&device.path));
    assert!(run("swapoff", &[], &device.path));
    assert!(matches!(found.unwrap_err().why, Why::Swap(_)));
    assert!(matches!(why(&lab, &disk), Why::Signature { what, .. } if what == "swap space"));
}

#[test]
fn both_disks_of_a_mounted_btrfs_are_refused() {
    let Some(lab) = Lab::new() else { return };
    let (Some(one), Some(two)) = (lab.disk("a", 256), lab.disk("b", 256)) else { return };
    let second = two.path.to_str().unwrap();
    if !run("mkfs.btrfs", &["-q", "-f", "-d", "raid1", "-m", "raid1", second], &one.path) {
        return;
    }
    let again = [one.path.clone(), two.path.clone()];
    let listed = allow(&lab, &[&find(&one), &find(&two)]);
    for device in [&one, &two] {
        assert_eq!(may_write(&find(device), &listed, &again), Ok(()));
        assert!(matches!(
            why(&lab, &find(device)),
            Why::Signature { what, .. } if what == "a btrfs filesystem"
        ));
    }
    let Some(_place) = lab.mount(&one.path) else { return };
    for device in [&one, &two] {
        let refusal = may_write(&find(device), &listed, &again).unwrap_err();
        assert!(matches!(&refusal.why, Why::Mounted(_)), "{refusal}");
        assert_eq!(hold(&find(device)).unwrap_err().why, Why::Busy);
    }
}

#[test]
fn a_loop_device_on_a_disk_holds_it() {
    let Some(lab) = Lab::new() else { return };
    let Some(one) = lab.disk("a", 256) else { return };
    let Some(above) = attach(&[], &one.path) else { return };
    assert!(matches!(why(&lab, &find(&one)), Why::Loop(name) if name == find(&above).name));
    assert!(matches!(apart(&[find(&one), find(&above)]).unwrap_err().why, Why::OneDisk { .. }));
}

#[test]
fn a_disk_that_is_gone_is_no_longer_what_it_was() {
    let Some(lab) = Lab::new() else { return };
    let Some(one) = lab.disk("a", 256) else { return };
    let disk = find(&one);
    let listed = allow(&lab, &[&disk]);
    let path = one.path.clone();
    drop(one);
    // The kernel detaches the device once nobody has it open any more.
    for _ in 0..500 {
        if Disk::find(&path).is_ok_and(|now| now.serial == disk.serial) {
            thread::sleep(Duration::from_millis(10));
        }
    }
    let why = may_write(&disk, &listed, &[]).unwrap_err().why;
    assert!(matches!(why, Why::Changed(_)), "{why}");
}
