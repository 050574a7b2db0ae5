//! The contents of a disk or a file, by the signatures of formats at fixed places. Only the kinds
//! in these lists are found: blkid knows more ([`super::blkid`]), but is not everywhere.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Kinds with these bytes at this offset from the start.
const AT_START: [(&str, u64, &[u8]); 50] = [
    ("a partition table (GPT)", 512, b"EFI PART"),
    ("a partition table (GPT)", 4096, b"EFI PART"),
    ("a boot sector, with a partition table (MBR) or a FAT or NTFS filesystem", 510, b"\x55\xaa"),
    ("a partition table (Apple)", 0, b"ER\x02\x00"),
    ("an ext filesystem", 0x438, b"\x53\xef"),
    ("a btrfs filesystem", 0x1_0040, b"_BHRfS_M"),
    ("an XFS filesystem", 0, b"XFSB"),
    ("an F2FS filesystem", 1024, b"\x10\x20\xf5\xf2"),
    ("a bcachefs filesystem or bcache", 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca"),
    ("a bcachefs filesystem", 4120, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9"),
    ("swap space", 4086, b"SWAPSPACE2"),
    ("swap space, or a machine that sleeps", 4086, b"S1SUSPEND"),
    ("an LVM volume", 512, b"LABELONE"),
    ("an LVM volume", 0, b"LABELONE"),
    ("an LVM volume", 1024, b"LABELONE"),
    ("an LVM volume", 1536, b"LABELONE"),
    ("a LUKS volume", 0, b"LUKS\xba\xbe"),
    ("a LUKS volume", 0x4000, b"SKUL\xba\xbe"),
    ("a part of an md array", 4096, MD),
    ("a part of an md array", 0, MD),
    ("a squashfs filesystem", 0, b"hsqs"),
    ("an ISO 9660 filesystem", 32769, b"CD001"),
    ("a UDF filesystem", 32769, b"BEA01"),
    ("a ReiserFS filesystem", 65588, b"ReIsEr"),
    ("a JFS filesystem", 32768, b"JFS1"),
    ("an EROFS filesystem", 1024, b"\xe2\xe1\xf5\xe0"),
    ("a NILFS filesystem", 1030, b"\x34\x34"),
    ("an APFS container", 32, b"NXSB"),
    ("an HFS+ filesystem", 1024, b"H+\x00\x04"),
    ("an HFSX filesystem", 1024, b"HX\x00\x05"),
    ("an HFS filesystem", 1024, b"BD"),
    ("an OCFS2 filesystem", 1024, OCFS2),
    ("an OCFS2 filesystem", 2048, OCFS2),
    ("an OCFS2 filesystem", 4096, OCFS2),
    ("an OCFS2 filesystem", 8192, OCFS2),
    ("a GFS2 filesystem", 65536, b"\x01\x16\x19\x70"),
    ("a VMFS volume", 1 << 20, b"\x0d\xd0\x01\xc0"),
    ("a Ceph BlueStore device", 0, b"bluestore block device"),
    ("a disk of a virtual machine (qcow2)", 0, b"QFI\xfb"),
    ("a disk of a virtual machine (QED)", 0, b"QED\x00"),
    ("a disk of a virtual machine (VMDK)", 0, b"KDMV"),
    ("a disk of a virtual machine (VMDK)", 0, b"COWD"),
    ("a disk of a virtual machine (VMDK)", 0, b"# Disk DescriptorFile"),
    ("a disk of a virtual machine (VDI)", 64, b"\x7f\x10\xda\xbe"),
    ("a disk of a virtual machine (VDI)", 0, b"<<< "),
    ("a disk of a virtual machine (VHD)", 0, b"conectix"),
    ("a disk of a virtual machine (VHDX)", 0, b"vhdxfile"),
    ("a disk of a virtual machine (Parallels)", 0, b"WithoutFreeSpace"),
    ("a disk of a virtual machine (Parallels)", 0, b"WithouFreSpacExt"),
    ("a part of a RAID (DDF)", 0, DDF),
];

/// Kinds with these bytes at this distance from the end. A sector may have 512 bytes or 4096.
const AT_END: [(&str, u64, &[u8]); 13] = [
    ("a partition table (GPT)", 512, b"EFI PART"),
    ("a partition table (GPT)", 4096, b"EFI PART"),
    ("a part of a RAID (Intel Matrix Storage, IMSM)", 2 * 512, IMSM),
    ("a part of a RAID (Intel Matrix Storage, IMSM)", 2 * 4096, IMSM),
    ("a part of a RAID (DDF)", 512, DDF),
    ("a part of a RAID (DDF)", 257 * 512, DDF),
    ("a part of a RAID (DDF)", 4096, DDF),
    // In the superblock, 4 KiB before the end, after 60 bytes: of versions 8.3, 8.4 (unclean) and
    // 9.
    ("a DRBD volume", 4096 - 60, b"\x83\x74\x02\x6b"),
    ("a DRBD volume", 4096 - 60, b"\x83\x74\x02\x6c"),
    ("a DRBD volume", 4096 - 60, b"\x83\x74\x02\x6d"),
    ("a part of a RAID (NVIDIA)", 2 * 512, b"NVIDIA"),
    ("a part of a RAID (LSI MegaRAID)", 512, b"$XIDE$"),
    ("a disk of a virtual machine (VHD)", 512, b"conectix"),
];

const MD: &[u8] = b"\xfc\x4e\x2b\xa9";
const OCFS2: &[u8] = b"OCFSV2";
const IMSM: &[u8] = b"Intel Raid ISM Cfg Sig. ";
const DDF: &[u8] = b"\xde\x11\xde\x11";
/// Magic number of the superblocks in a ZFS label, in both byte orders, each at a multiple of 1
/// KiB. Two labels are at the start and two at the end, each of 256 KiB.
const ZFS: [&[u8]; 2] = [b"\x0c\xb1\xba\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\xba\xb1\x0c"];

/// Bytes to read from the start, up to the farthest signature above, and from the end, as far as
/// labels of ZFS reach. Labels begin at a multiple of their length.
const START: usize = (1 << 20) + 4096;
const END: u64 = 3 * (256 << 10);

/// Returns the contents of a disk or a file, if their kind is in the lists.
pub(super) fn find(mut file: &File) -> io::Result<Option<&'static str>> {
    let size = file.seek(SeekFrom::End(0))?;
    let start = read(file, 0, START)?;
    let from = size.saturating_sub(END) / 4096 * 4096;
    let end = read(file, from, END as usize + 4096)?;
    let has = |bytes: &[u8], place: u64, mark: &[u8]| {
        bytes.get(place as usize..).is_some_and(|rest| rest.starts_with(mark))
    };
    let at_start = AT_START.iter().find(|(_, place, mark)| has(&start, *place, mark));
    let at_end = || {
        AT_END.iter().find(|(_, back, mark)| {
            size.checked_sub(*back)
                .and_then(|place| place.checked_sub(from))
                .is_some_and(|at| has(&end, at, mark))
        })
    };
    if let Some((what, ..)) = at_start.or_else(at_end) {
        return Ok(Some(what));
    }
    let every = |bytes: &[u8], step: usize, mark: &[u8]| {
        (0..bytes.len()).step_by(step).any(|place| bytes[place..].starts_with(mark))
    };
    if ZFS.iter().any(|mark| every(&start, 1024, mark) || every(&end, 1024, mark)) {
        return Ok(Some("a part of a ZFS pool"));
    }
    // Old md arrays have their superblock at the end, at a multiple of 4 KiB.
    Ok(every(&end, 4096, MD).then_some("a part of an md array"))
}

fn read(mut file: &File, at: u64, most: usize) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn with(size: u64, bytes: &[u8], at: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file.write_all_at(bytes, at).unwrap();
        file
    }

    #[test]
    fn whatever_may_be_somebodys_is_seen() {
        // A file may have any length.
        for size in [4 << 20, (4 << 20) + 512, 40_000_000] {
            for (what, at, bytes) in AT_START {
                assert!(find(&with(size, bytes, at)).unwrap().is_some(), "{what}");
            }
            for (what, back, bytes) in AT_END {
                assert!(
                    find(&with(size, bytes, size - back)).unwrap().is_some(),
                    "{what} in {size}"
                );
            }
            for mark in ZFS {
                let pool = Some("a part of a ZFS pool");
                assert_eq!(find(&with(size, mark, (128 << 10) + 3072)).unwrap(), pool);
                let last = size / (256 << 10) * (256 << 10) - (128 << 10);
                assert_eq!(find(&with(size, mark, last)).unwrap(), pool);
                assert_eq!(find(&with(size, mark, last - (256 << 10))).unwrap(), pool);
            }
            let md = (size / 65536 - 1) * 65536;
            assert_eq!(find(&with(size, MD, md)).unwrap(), Some("a part of an md array"));
            assert_eq!(find(&with(size, b"", 0)).unwrap(), None);
        }
        assert_eq!(find(&with(0, b"", 0)).unwrap(), None);
    }
}
