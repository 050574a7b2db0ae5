//! Unpacks a tarball of a kernel tree, for any compression and any name of its top folder.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::file;
use crate::process::Runner;

/// Files that are not unpacked: most of a kernel's files, none of which the guest needs. Writing
/// and removing them can take minutes on a busy disk. If a kernel needs one nevertheless, its build
/// stops and names it. Kconfig files and Makefiles are read even if nothing is built from them, so
/// that mostly the C files alone are left out. (`*` matches `/` too.)
const LEFT_OUT: [&str; 22] = [
    "arch/[!ux]*/*.[chS]",
    "arch/[!ux]*/*.dts*",
    "Documentation/*/*",
    "drivers/accel/*.[ch]",
    "drivers/clk/*.[ch]",
    "drivers/crypto/*.[ch]",
    "drivers/gpu/*.[ch]",
    "drivers/iio/*.[ch]",
    "drivers/infiniband/*.[ch]",
    "drivers/input/*.[ch]",
    "drivers/media/*.[ch]",
    "drivers/net/*/*.[ch]",
    "drivers/pinctrl/*.[ch]",
    "drivers/platform/*.[ch]",
    "drivers/scsi/*.[ch]",
    "drivers/staging/*.[ch]",
    "drivers/usb/*.[ch]",
    "drivers/video/*.[ch]",
    "sound/pci/*.[ch]",
    "sound/soc/*.[ch]",
    "tools/perf/*",
    "tools/testing/*",
];

/// First bytes of the files that tar unpacks: gzip, xz, bzip2, zstd, lzip, lz4, lzop, compress.
const COMPRESSED: [&[u8]; 8] = [
    &[0x1f, 0x8b],
    &[0xfd, b'7', b'z', b'X', b'Z'],
    b"BZh",
    &[0x28, 0xb5, 0x2f, 0xfd],
    b"LZIP",
    &[0x04, 0x22, 0x4d, 0x18],
    &[0x89, b'L', b'Z', b'O'],
    &[0x1f, 0x9d],
];
/// Offset and text of the mark of an uncompressed archive.
const USTAR: (usize, &[u8]) = (257, b"ustar");

/// Returns true if a file can be a tarball, by its first bytes. So a mistake is reported at once.
pub(crate) fn is_one(path: &Path) -> Result<bool> {
    let mut begin = Vec::new();
    let read = disklab_files::open(path, &disklab_files::TARBALL)
        .and_then(|file| file.take(512).read_to_end(&mut begin));
    read.map_err(Error::io("read", path))?;
    let (at, ustar) = USTAR;
    Ok(COMPRESSED.iter().any(|magic| begin.starts_with(magic))
        || begin.get(at..).is_some_and(|rest| rest.starts_with(ustar)))
}

/// Unpacks into the new folder `target`, and returns the folder in it that holds the kernel's top
/// Makefile.
pub(crate) fn unpack(tarball: &Path, target: &Path, runner: Runner) -> Result<PathBuf> {
    let all_but = LEFT_OUT.map(|pattern| format!("--exclude={pattern}"));
    extract(tarball, target, &all_but, runner)
}

/// Unpacks Makefiles and all files below `folders`, as [`unpack`] does.
pub(crate) fn excerpt(
    tarball: &Path,
    folders: &[PathBuf],
    target: &Path,
    runner: Runner,
) -> Result<PathBuf> {
    // The top folder's existence and name are unknown: a member may begin below any folder.
    let mut members = ["--wildcards", "--no-anchored", "Makefile"].map(str::to_owned).to_vec();
    members.extend(folders.iter().map(|folder| format!("{}/*", folder.display())));
    extract(tarball, target, &members, runner)
}

/// Unpacks with tar; `what` are arguments of tar.
fn extract(tarball: &Path, target: &Path, what: &[String], runner: Runner) -> Result<PathBuf> {
    file::create_folder(target)?;
    let mut command = Command::new("tar");
    command
        .args(["--extract", "--no-same-owner", "--file"])
        .arg(tarball)
        .arg("--directory")
        .arg(target);
    command.args(what);
    // Debian's tarballs consist of blocks that xz unpacks on all cores.
    runner.output(command.env("XZ_OPT", "-T0").env("LC_ALL", "C"))?;
    let top = file::names(target)?;
    let roots =
        std::iter::once(target.to_path_buf()).chain(top.iter().map(|name| target.join(name)));
    let found: Vec<PathBuf> = roots.filter(|root| root.join("Makefile").is_file()).collect();
    match <[PathBuf; 1]>::try_from(found) {
        Ok([root]) => Ok(root),
        Err(found) => {
            let why = format!("it has {} top folders with a Makefile", found.len());
            Err(Error::not_a_source(tarball, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicBool;

    use super::*;

    static RUN: AtomicBool = AtomicBool::new(false);
    const RUNNER: Runner = Runner { stop: &RUN };

    /// Packs `members` of a folder with two trees, `a` and `b`, and a `Makefile` of its own.
    fn unpacked(name: &str, members: &[&str]) -> Result<String> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for tree in ["a", "b"] {
            fs::create_dir(root.join(tree)).unwrap();
            fs::write(root.join(tree).join("Makefile"), tree).unwrap();
        }
        fs::write(root.join("Makefile"), "top").unwrap();
        fs::write(root.join("other"), "").unwrap();
        let tarball = root.join(name);
        let mut tar = Command::new("tar");
        RUNNER.output(tar.arg("-C").arg(root).arg("-caf").arg(&tarball).args(members)).unwrap();
        let tree = unpack(&tarball, &root.join("unpacked"), RUNNER)?;
        file::text(&tree.join("Makefile"))
    }

    #[test]
    fn any_top_folder_and_compression_will_do() {
        for name in ["x.tar", "x.tar.gz", "x.tar.xz"] {
            assert_eq!(unpacked(name, &["a"]).unwrap(), "a", "{name}");
        }
        assert_eq!(unpacked("x.tar", &["./b"]).unwrap(), "b");
        assert_eq!(unpacked("x.tar", &["Makefile", "other"]).unwrap(), "top");
    }

    #[test]
    fn what_the_guest_is_not_built_from_stays_packed_but_for_kconfig_and_make() {
        let folder = tempfile::tempdir().unwrap();
        let kept = [
            "linux/Makefile",
            "linux/arch/Kconfig",
            "linux/arch/arm/crypto/Kconfig",
            "linux/arch/um/main.c",
            "linux/arch/x86/um/main.c",
            "linux/Documentation/Kconfig",
            "linux/drivers/gpu/drm/Kconfig",
            "linux/drivers/gpu/drm/Makefile",
            "linux/drivers/net/Space.c",
            "linux/drivers/block/loop.c",
            "linux/include/sound/core.h",
        ];
        let left =
            ["linux/arch/arm64/mm.c", "linux/Documentation/a/b.rst", "linux/drivers/gpu/drm/x.c"];
        for path in kept.iter().chain(&left) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let tarball = folder.path().join("x.tar");
        let mut tar = Command::new("tar");
        RUNNER
            .output(tar.arg("-C").arg(folder.path()).arg("-cf").arg(&tarball).arg("linux"))
            .unwrap();
        let target = folder.path().join("unpacked");
        unpack(&tarball, &target, RUNNER).unwrap();
        for path in kept {
            assert!(target.join(path).is_file(), "{path} is wanted");
        }
        for path in left {
            assert!(!target.join(path).exists(), "{path} is not");
        }
    }

    #[test]
    fn none_or_two_trees_are_refused() {
        for members in [&["other"][..], &["a", "b"]] {
            let error = unpacked("x.tar", members).unwrap_err().to_string();
            assert!(error.contains("x.tar is not a Linux kernel source"), "{error}");
        }
    }

    #[test]
    fn a_tarball_is_known_by_its_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("other"), "text").unwrap();
        for name in ["x.tar", "x.tar.gz", "x.tar.xz"] {
            let mut tar = Command::new("tar");
            let tarball = folder.path().join(name);
            RUNNER
                .output(tar.arg("-C").arg(folder.path()).arg("-caf").arg(&tarball).arg("other"))
                .unwrap();
            assert!(is_one(&tarball).unwrap(), "{name}");
        }
        assert!(!is_one(&folder.path().join("other")).unwrap());
    }

    #[test]
    fn what_is_no_tarball_is_told_by_tar() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tar.xz");
        fs::write(&path, "nonsense").unwrap();
        let error = unpack(&path, &folder.path().join("u"), RUNNER).unwrap_err().to_string();
        assert!(error.contains("x.tar.xz") && error.contains("tar:"), "{error}");
    }
}
