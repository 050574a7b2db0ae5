//! Contents of a disk according to util-linux's blkid, if it is installed. It knows many more
//! kinds, and detects those that contradict each other.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// Paths of blkid on all systems that have it. Users' PATH often lacks the folders of
/// administrators.
const PLACES: [&str; 5] =
    ["/usr/sbin/blkid", "/sbin/blkid", "/usr/bin/blkid", "/bin/blkid", "blkid"];

/// Returns the contents that blkid finds, if any. An error forbids writing too: blkid is installed
/// and does not know.
pub(super) fn find(device: &Path) -> Result<Option<String>, String> {
    for place in PLACES {
        let mut command = Command::new(place);
        // Looks for all kinds, and bypasses the cache.
        command.args(["-p", "-o", "export", "--"]).arg(device);
        match command.env("LC_ALL", "C").stdin(Stdio::null()).output() {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound) => {}
            Err(error) => return Err(format!("{place} cannot be run ({error})")),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stdout);
                return meaning(output.status.code(), &said);
            }
        }
    }
    Ok(None)
}

/// Interprets blkid's exit code: 0 is something, 2 nothing, 8 several things that contradict each
/// other.
fn meaning(code: Option<i32>, said: &str) -> Result<Option<String>, String> {
    match code {
        // blkid reports a partition as such, whether or not the partition holds anything.
        Some(0) => {
            let of_itself = |key: &str| {
                key == "DEVNAME" || key.starts_with("PART_ENTRY_") || key.ends_with("_IO_SIZE")
            };
            let found: Vec<(&str, &str)> = said
                .lines()
                .filter_map(|line| line.split_once('='))
                .filter(|(key, _)| !of_itself(key) && !GEOMETRY.contains(key))
                .collect();
            let kind = found.iter().find(|(key, _)| matches!(*key, "TYPE" | "PTTYPE"));
            Ok(kind.or(found.first()).map(|(key, value)| format!("{key}={value}")))
        }
        Some(2) => Ok(None),
        Some(8) => Ok(Some("several things at once, which contradict each other".to_owned())),
        Some(code) => Err(format!("blkid -p ended with exit code {code}")),
        None => Err("blkid -p was killed".to_owned()),
    }
}

/// Keys about the disk itself and not about its contents.
const GEOMETRY: [&str; 4] =
    ["LOGICAL_SECTOR_SIZE", "PHYSICAL_SECTOR_SIZE", "ALIGNMENT_OFFSET", "DAX"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_answers_mean_what_its_manual_says() {
        assert_eq!(meaning(Some(2), ""), Ok(None));
        let empty =
            "DEVNAME=/dev/sda1\nPART_ENTRY_SCHEME=gpt\nPART_ENTRY_NAME=x\nMINIMUM_IO_SIZE=512\n";
        assert_eq!(meaning(Some(0), empty), Ok(None));
        let said = |text: &str| meaning(Some(0), text).unwrap();
        assert_eq!(said(&format!("{empty}UUID=1\nTYPE=ocfs2\n")).as_deref(), Some("TYPE=ocfs2"));
        assert_eq!(said("DEVNAME=a\nPTUUID=1\nPTTYPE=dos\n").as_deref(), Some("PTTYPE=dos"));
        assert_eq!(
            said("NEW_KIND=1\n").as_deref(),
            Some("NEW_KIND=1"),
            "what is not known is something"
        );
        assert!(meaning(Some(8), "").unwrap().is_some_and(|what| what.contains("contradict")));
        for code in [Some(1), Some(4), None] {
            assert!(meaning(code, "").is_err());
        }
    }

    /// Runs blkid itself, if it is installed, on a kind that `super::signature` does not know.
    #[test]
    fn it_finds_what_the_list_does_not() {
        if !PLACES.iter().any(|place| Path::new(place).exists()) {
            disklab_testkit::skipped("no blkid here");
            return;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4 << 20).unwrap();
        assert_eq!(find(file.path()), Ok(None), "an empty file");
        // VxFS, version 4: a magic number without anything else to check.
        let vxfs = b"\xf5\xfc\x01\xa5\x04\x00\x00\x00";
        std::os::unix::fs::FileExt::write_all_at(file.as_file(), vxfs, 1024).unwrap();
        assert_eq!(super::super::signature::find(file.as_file()).unwrap(), None);
        assert_eq!(find(file.path()), Ok(Some("TYPE=vxfs".to_owned())));
    }
}
