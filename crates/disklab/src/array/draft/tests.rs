use disklab_config::array::Array;
use disklab_config::machine::{groups, lsblk};
use disklab_config::read::TomlReader;

use super::*;

fn devices() -> BTreeMap<String, Device> {
    let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    disklab_config::Lab::load(std::path::Path::new(lab))
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
        .devices
}

/// Returns the drafted file as parsed by the lab.
fn drafted(listing: &str, groups: &[DiskGroup], unasked: &[&str]) -> (Array, String) {
    let disks = lsblk::read(listing).unwrap();
    let unasked = unasked.iter().map(|&tool| tool.to_owned()).collect();
    let file = Draft::new(&devices(), &disks, groups, unasked).unwrap().file();
    let known = devices().into_iter().map(|(name, device)| (name, Some(device))).collect();
    let array = TomlReader::new("draft", &file).read(|table| Array::read("draft", table, &known));
    (array.unwrap_or_else(|mistakes| panic!("{mistakes}\n{file}")), file)
}

const LSBLK: &str = include_str!("lsblk.json");
const BTRFS: &str = include_str!("btrfs.txt");
const MDADM: &str = include_str!("mdadm.txt");
const ZPOOL: &str = include_str!("zpool.txt");

#[test]
fn disks_are_those_that_could_be_measured() {
    let disks = lsblk::read(LSBLK).unwrap();
    let paths: Vec<&str> = disks.iter().map(|disk| disk.path.as_str()).collect();
    assert_eq!(
        paths,
        ["/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd", "/dev/nvme0n1", "/dev/nvme1n1"]
    );
    assert!(disks[0].rotational && !disks[4].rotational);
    assert_eq!(disks[0].model.as_deref(), Some("ST4000NM0033-9ZM170"));
    assert!(disks[4].paths.contains(&"/dev/md0".to_owned()), "{:?}", disks[4].paths);
}

#[test]
fn btrfs_is_drafted_in_the_order_of_its_devices() {
    let groups = groups::btrfs(BTRFS);
    assert_eq!(groups.len(), 2);
    let (array, file) = drafted(LSBLK, &groups, &["zpool is not installed"]);
    assert_eq!(array.devices, ["nas-12tb", "nas-4tb", "nas-4tb"]);
    assert_eq!(array.layout.to_string(), "btrfs-raid1");
    assert!(file.contains("btrfs pool; disklab does not know its profile"), "{file}");
    assert!(file.contains("# not asked: zpool is not installed"), "{file}");
    assert!(file.contains("\"nas-12tb\", # /dev/sdc: ST12000VN0008, 10.9 TiB, turns"), "{file}");
}

#[test]
fn md_says_its_level() {
    let groups = groups::md(MDADM);
    assert_eq!(groups[0].paths, ["/dev/nvme0n1p2", "/dev/nvme1n1p2"]);
    let (array, file) = drafted(LSBLK, &groups, &[]);
    assert_eq!(
        (array.layout.to_string(), array.devices.len()),
        ("btrfs-raid1".to_owned(), 2),
        "{file}"
    );
    assert!(array.devices.iter().all(|device| device == "nvme-1tb"), "{file}");
}

#[test]
fn a_zfs_pool_of_mirrors_is_raid10_without_its_cache() {
    let groups = groups::zfs(ZPOOL);
    assert_eq!(groups[0].paths, ["/dev/sda1", "/dev/sdb1", "/dev/sdc1", "/dev/sdd1"]);
    let (array, file) = drafted(LSBLK, &groups, &[]);
    assert_eq!(
        (array.layout.to_string(), array.devices.len()),
        ("btrfs-raid10".to_owned(), 4),
        "{file}"
    );
}

#[test]
fn the_largest_group_is_drafted_and_the_others_are_named() {
    let all = [groups::btrfs(BTRFS), groups::md(MDADM)].concat();
    let (array, file) = drafted(LSBLK, &all, &[]);
    assert_eq!(array.devices.len(), 3);
    assert!(
        file.contains("# also on this machine: md /dev/md0 (raid1) on /dev/nvme0n1, /dev/nvme1n1"),
        "{file}"
    );
}

#[test]
fn disks_that_are_not_joined_are_all_drafted() {
    let (array, file) = drafted(LSBLK, &[], &[]);
    assert_eq!(array.devices.len(), 6, "{file}");
    let one = r#"{"blockdevices": [{"path": "/dev/vda", "type": "disk", 
        "size": "256000000000", "rota": "1", "model": null}]}"#;
    let (array, file) = drafted(one, &[], &[]);
    assert_eq!((array.layout, array.devices.len()), (Layout::SINGLE, 1), "{file}");
}

#[test]
fn a_machine_without_disks_is_an_error() {
    let error = Draft::new(&devices(), &[], &[], Vec::new()).unwrap_err();
    assert_eq!(error, "lsblk lists no disk on this machine");
}
