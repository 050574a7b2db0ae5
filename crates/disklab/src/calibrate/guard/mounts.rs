//! What is mounted, by /proc/self/mountinfo: a line for each mount, with fields between spaces as proc(5) has them.

use std::fs;

/// Where no list is, nothing is known to be free.
pub(super) fn read() -> Result<String, String> {
    let file = "/proc/self/mountinfo";
    let text = fs::read_to_string(file).map_err(|error| {
        format!("{file}, which tells what is mounted, cannot be read: {error}; is /proc mounted?")
    })?;
    // There is a root at least.
    if text.trim().is_empty() {
        Err(format!("{file}, which tells what is mounted, is empty"))
    } else {
        Ok(text)
    }
}

/// Where a device is mounted, by its number, or by the name that a filesystem of several devices was mounted by.
pub(super) fn of_device(mountinfo: &str, number: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
    let found = mounts(mountinfo).find(|mount| {
        mount.number == number || mount.source.starts_with("/dev/") && is_it(&unescaped(mount.source))
    });
    found.map(|mount| unescaped(mount.place))
}

/// Where a file is mounted over another.
pub(super) fn of_file(mountinfo: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
    // A whole filesystem is no file; and those that do not answer are not asked.
    let places = mounts(mountinfo).filter(|mount| mount.root != "/").map(|mount| unescaped(mount.place));
    places.into_iter().find(|place| is_it(place))
}

struct Mount<'a> {
    number: &'a str,
    /// What of the filesystem is mounted.
    root: &'a str,
    place: &'a str,
    source: &'a str,
}

fn mounts(mountinfo: &str) -> impl Iterator<Item = Mount<'_>> {
    mountinfo.lines().filter_map(|line| {
        let (mount, filesystem) = line.split_once(" - ").unwrap_or((line, ""));
        let mut fields = mount.split(' ').skip(2);
        let (number, root, place) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Mount { number, root, place, source: filesystem.split(' ').nth(1).unwrap_or_default() })
    })
}

/// The kernel writes spaces and the like as a backslash and three octal digits.
pub(super) fn unescaped(word: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code =
            behind.get(..3).filter(|_| first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = &behind[3..];
        } else {
            bytes.push(first);
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                        28 27 8:1 / /mnt/a\\040b rw - xfs /dev/sda1 rw\n\
                        29 27 0:45 /@home /home rw shared:2 - btrfs /dev/sdb rw,space_cache=v2\n\
                        30 27 254:0 /var/image /opt/image rw - ext4 /dev/vda rw\n";

    #[test]
    fn a_mount_is_found_by_its_number() {
        let of = |number| of_device(TEXT, number, |_| false);
        assert_eq!(of("8:1").as_deref(), Some("/mnt/a b"));
        assert_eq!(of("8:0"), None);
    }

    /// btrfs has a number of its own.
    #[test]
    fn or_by_what_was_mounted() {
        assert_eq!(of_device(TEXT, "8:16", |source| source == "/dev/sdb").as_deref(), Some("/home"));
    }

    #[test]
    fn a_file_is_mounted_where_it_is_found_again() {
        assert_eq!(of_file(TEXT, |place| place == "/opt/image").as_deref(), Some("/opt/image"));
        assert_eq!(of_file(TEXT, |place| place == "/"), None, "a whole filesystem is none");
    }

    #[test]
    fn this_machines_list_is_read() {
        assert!(read().unwrap().contains(" / "));
        assert_eq!((unescaped("a\\040b\\x\\"), unescaped("")), ("a b\\x\\".to_owned(), String::new()));
    }
}
