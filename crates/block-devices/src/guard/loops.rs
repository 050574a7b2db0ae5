//! A loop device holds neither a file nor a device for itself alone.

use std::fs::Metadata;
use std::path::Path;

use super::Why;
use super::tree::names;
use super::twice::{is_block, is_same};
use crate::machine;

/// That none is made of this file or device.
pub(super) fn none_of(metadata: &Metadata) -> Result<(), Why> {
    for name in names(Path::new("/sys/block"), |entry| entry.join("loop/backing_file").exists())? {
        let folder = Path::new("/sys/block").join(&name);
        let read = |file: &str| {
            machine::text(&folder.join(file)).map_err(|error| {
                let file = folder.join(file);
                let file = file.display();
                Why::Unknown(format!(
                    "{file}: cannot be read: {error}; what {name} is made of is not known"
                ))
            })
        };
        let sectors: u64 = read("size")?.trim().parse().unwrap_or(0);
        let backing =
            Backing { name: &name, path: read("loop/backing_file")?, bytes: sectors * 512 };
        backing.is_another(metadata)?;
    }
    Ok(())
}

/// What a loop device is made of, as the kernel tells it.
struct Backing<'a> {
    name: &'a str,
    /// When it was attached; whether it is still there is another matter.
    path: String,
    bytes: u64,
}

impl Backing<'_> {
    /// By the file itself, which may have several names.
    fn is_another(&self, metadata: &Metadata) -> Result<(), Why> {
        let Self { name, path, bytes } = self;
        let path = path.trim_end_matches('\n');
        match Path::new(path).metadata() {
            Ok(other) if is_same(metadata, &other) => Err(Why::Loop((*name).to_owned())),
            Ok(_) => Ok(()),
            // Removed under that name, or of another namespace: it may be the same file, unless
            // that is too short. Devices are not removed.
            Err(_) if is_block(metadata) || *bytes > metadata.len() => Ok(()),
            Err(error) => Err(Why::Unknown(format!(
                "/dev/{name} may be made of it: its file, {path}, cannot be looked at ({error}); losetup -d /dev/{name} \
                 takes it apart"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::twice::tests::files;
    use super::*;

    #[test]
    fn a_loop_devices_file_is_known_by_any_name() {
        let (_place, one, link, other) = files();
        let behind = |path: &str, bytes| {
            Backing { name: "loop0", path: format!("{path}\n"), bytes }
                .is_another(&one.metadata().unwrap())
        };
        let said = |path: &str, bytes| behind(path, bytes).unwrap_err().to_string();
        assert!(said(one.to_str().unwrap(), 65_536).contains("/dev/loop0 is made of it"));
        assert!(said(link.to_str().unwrap(), 65_536).contains("/dev/loop0 is made of it"));
        assert_eq!(behind(other.to_str().unwrap(), 65_536), Ok(()));
        assert!(said("/gone (deleted)", 65_536).contains("may be made of it"));
        assert_eq!(behind("/gone (deleted)", 70_000), Ok(()), "it is shorter");
    }
}
