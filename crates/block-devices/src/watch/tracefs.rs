//! The kernel's tracing files, in a private mount that no path leads to and that ends with this
//! process.

use std::fs::File;
use std::io::{self, Read, Write};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, DirEntry, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// Largest number of bytes of a file that is read here.
const MOST: usize = 64 << 10;

/// A folder of tracing files, and its name in errors.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    name: String,
}

/// Opens the folder that contains all instances.
pub fn open() -> io::Result<Folder> {
    let mounted = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).and_then(|context| {
        fsconfig_create(context.as_fd())?;
        fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    });
    let advice = |error: &io::Error| match Errno::from_io_error(error) {
        Some(Errno::PERM) => "only root may, and no kernel that is locked down lets anybody",
        Some(Errno::NODEV) => "this kernel is built without it",
        _ => "the kernel's log may say more",
    };
    let fd = mounted.map_err(io::Error::from).map_err(|error| {
        io::Error::new(error.kind(), format!("mount tracefs: {error}; {}", advice(&error)))
    })?;
    Ok(Folder { fd, name: "tracefs".to_owned() })
}

impl Folder {
    /// Opens a folder inside this one.
    pub fn folder(&self, path: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = openat(self.fd(), path, flags, Mode::empty()).map_err(self.failed_on(path))?;
        Ok(Self { fd, name: format!("{}/{path}", self.name) })
    }

    /// Makes a folder, which must not exist.
    pub fn make(&self, path: &str) -> io::Result<Self> {
        let mode = Mode::RUSR | Mode::WUSR | Mode::XUSR;
        mkdirat(self.fd(), path, mode).map_err(self.failed_on(path))?;
        self.folder(path)
    }

    pub fn remove(&self, path: &str) -> io::Result<()> {
        unlinkat(self.fd(), path, AtFlags::REMOVEDIR).map_err(self.failed_on(path))
    }

    pub fn read(&self, path: &str) -> io::Result<String> {
        // Some of these files give only as much as fits into the first read.
        let mut text = vec![0; MOST];
        let mut length = 0;
        let read = self.open(path, OFlags::RDONLY).and_then(|mut file| {
            loop {
                match file.read(&mut text[length..])? {
                    0 => return Ok(()),
                    more => length += more,
                }
            }
        });
        read.map_err(self.failed_on(path))?;
        Ok(String::from_utf8_lossy(&text[..length]).into_owned())
    }

    pub fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let written = self
            .open(path, OFlags::WRONLY | OFlags::TRUNC)
            .and_then(|mut f| f.write_all(text.as_bytes()));
        written.map_err(self.failed_on(path))
    }

    /// Opens the pipe of a CPU. Reads return whole pages, and an error if there is nothing to read.
    pub fn pipe(&self, path: &str) -> io::Result<File> {
        self.open(path, OFlags::RDONLY | OFlags::NONBLOCK).map_err(self.failed_on(path))
    }

    /// Returns the names of the entries of a folder inside this one.
    pub fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let folder = self.folder(path)?;
        let name = |entry: DirEntry| entry.file_name().to_string_lossy().into_owned();
        let names = Dir::read_from(&folder.fd).and_then(|entries| {
            entries.map(|entry| entry.map(name)).collect::<rustix::io::Result<_>>()
        });
        names.map_err(self.failed_on(path))
    }

    fn open(&self, path: &str, flags: OFlags) -> io::Result<File> {
        Ok(File::from(openat(self.fd(), path, flags | OFlags::CLOEXEC, Mode::empty())?))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    fn failed_on<E: Into<io::Error>>(&self, path: &str) -> impl Fn(E) -> io::Error {
        let path = format!("{}/{path}", self.name);
        move |error| {
            let error: io::Error = error.into();
            io::Error::new(error.kind(), format!("{path}: {error}"))
        }
    }
}
