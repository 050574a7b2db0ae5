//! A list of mounts, as the kernel has one for each mount namespace: proc(5).

/// A line of the list.
pub struct Mount<'a> {
    /// Number of the device, such as `8:16`; some filesystems have one of their own.
    pub number: &'a str,
    /// The part of the filesystem that is mounted.
    pub root: &'a str,
    pub place: &'a str,
    pub source: &'a str,
    /// Options of the filesystem.
    pub options: &'a str,
}

/// Parses all mounts. Their words are still escaped ([`unescaped`]).
pub fn mounts(mountinfo: &str) -> impl Iterator<Item = Mount<'_>> {
    mountinfo.lines().filter_map(|line| {
        let (mount, filesystem) = line.split_once(" - ").unwrap_or((line, ""));
        let mut fields = mount.split(' ').skip(2);
        let (number, root, place) = (fields.next()?, fields.next()?, fields.next()?);
        let mut words = filesystem.split(' ').skip(1);
        let (source, options) =
            (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        Some(Mount { number, root, place, source, options })
    })
}

/// Returns a word with its escapes replaced. The kernel writes spaces and the like as a backslash
/// and three octal digits.
pub fn unescaped(word: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind
            .get(..3)
            .filter(|_| first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok());
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

    #[test]
    fn a_line_tells_what_is_mounted_where() {
        let line = concat!(
            r"36 25 0:32 /sub /mnt/my\040pool rw shared:7 - ",
            r"btrfs /dev/mapper/a\134b rw,space_cache"
        );
        let mount = mounts(line).next().unwrap();
        let expected = ("0:32", "/sub", "/mnt/my pool", r"/dev/mapper/a\b", "rw,space_cache");
        let found = (
            mount.number,
            mount.root,
            &*unescaped(mount.place),
            &*unescaped(mount.source),
            mount.options,
        );
        assert_eq!(found, expected);
        assert_eq!(mounts("no mount").count(), 0);
    }

    #[test]
    fn what_is_no_escape_stays() {
        assert_eq!(
            (unescaped(r"a\9"), unescaped(r"a\040b\x\")),
            (r"a\9".to_owned(), r"a b\x\".to_owned())
        );
        assert_eq!(unescaped(""), "");
        // A letter beyond ASCII has several bytes, and the kernel may escape them or not.
        assert_eq!(
            (unescaped("\\303\\244"), unescaped("\u{e4}")),
            ("\u{e4}".to_owned(), "\u{e4}".to_owned())
        );
    }
}
