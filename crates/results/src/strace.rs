//! Parses the output of `strace -f -y -ttt -e trace=%file,getdents64,clone,clone3,fork,vfork`: the
//! names that a program used, in order, and the threads that used them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The first use of a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    /// Seconds since the first line.
    pub at: f64,
    /// Absolute path without `.` and `..`; links in it are not resolved.
    pub path: PathBuf,
    /// Whether the folder of this name was listed.
    pub lists: bool,
    /// Whether the file was executed.
    pub runs: bool,
    /// Whether no file has the name.
    pub missing: bool,
    /// The thread that used the name.
    pub thread: Lineage,
    /// Number of threads and processes that this thread had started before.
    pub started: u32,
}

/// The place of a thread or process in the tree of all: indices of children, from 0, on the way
/// from the first one, which has the empty list. Another run of a program has other ids, and the
/// same lineages.
pub type Lineage = Vec<u32>;

/// Calls whose first argument is a name.
const PLAIN: [&str; 9] =
    ["open", "execve", "stat", "lstat", "access", "readlink", "statfs", "chdir", "getxattr"];
/// Calls whose first argument is the folder for the name in the second.
const AT: [&str; 6] = ["openat", "newfstatat", "faccessat", "faccessat2", "readlinkat", "statx"];

/// Parses the output; `cwd` is where the program began. Calls that failed for another reason than a
/// missing name are left out, as are unintelligible lines.
pub fn uses(text: &[u8], cwd: &Path) -> Vec<Use> {
    let text = String::from_utf8_lossy(text);
    let lineages = lineages(&text);
    let (folders, unfinished, started) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut reader = StraceReader { cwd, folders, unfinished, begun: None, lineages, started };
    text.lines().filter_map(|line| reader.line(line)).collect()
}

/// Returns the lineage of each id. They are read before the uses, because a child may stand in the
/// output before the end of the call that started it.
fn lineages(text: &str) -> BTreeMap<u64, Lineage> {
    let mut lineages: BTreeMap<u64, Lineage> = BTreeMap::new();
    let mut started: BTreeMap<u64, u32> = BTreeMap::new();
    for line in text.lines() {
        let Some(pid) = line.split_whitespace().next().and_then(|pid| pid.parse().ok()) else {
            continue;
        };
        if lineages.is_empty() {
            lineages.insert(pid, Lineage::new());
        }
        let (Some(child), Some(parent)) = (child(line), lineages.get(&pid)) else { continue };
        let count = started.entry(pid).or_default();
        let lineage = [parent.as_slice(), &[*count]].concat();
        *count += 1;
        lineages.insert(child, lineage);
    }
    lineages
}

/// Returns the id that a line reports as started: `7 1.0 clone(child_stack=NULL, ...) = 8`.
fn child(line: &str) -> Option<u64> {
    const STARTS: [&str; 4] = ["clone", "clone3", "fork", "vfork"];
    let call = line.split_whitespace().nth(2)?;
    let name = match call {
        "<..." => line.split_whitespace().nth(3)?,
        _ => call.split_once('(')?.0,
    };
    let (_, result) = line.rsplit_once(" = ").filter(|_| STARTS.contains(&name))?;
    // A clone of another namespace has further words.
    result.split_whitespace().next()?.parse().ok()
}

/// Returns the exit status of the first process in the output, once it has ended: `7 1700000000.1
/// +++ exited with 0 +++`.
pub fn first_exit(text: &[u8]) -> Option<i32> {
    let text = String::from_utf8_lossy(text);
    let first = text.lines().next()?.split_whitespace().next()?;
    let exits = text.lines().filter_map(|line| line.split_once(" +++ exited with "));
    let mut own = exits.filter(|(head, _)| head.split_whitespace().next() == Some(first));
    own.next()?.1.strip_suffix(" +++")?.parse().ok()
}

/// Returns the processes that have not ended.
pub fn running(text: &[u8]) -> BTreeSet<i32> {
    let text = String::from_utf8_lossy(text);
    let mut running = BTreeSet::new();
    for (pid, rest) in text.lines().filter_map(|line| line.split_once(' ')) {
        let Ok(pid) = pid.parse() else { continue };
        if rest.contains(" +++ exited with ") || rest.contains(" +++ killed by ") {
            running.remove(&pid);
        } else if pid > 1 {
            running.insert(pid);
        }
    }
    running
}

struct StraceReader<'a> {
    cwd: &'a Path,
    /// Working folders of processes that have changed it.
    folders: BTreeMap<u64, PathBuf>,
    /// The first halves of calls that another process's line interrupted.
    unfinished: BTreeMap<u64, String>,
    begun: Option<f64>,
    lineages: BTreeMap<u64, Lineage>,
    /// Number of threads and processes that each has started so far.
    started: BTreeMap<u64, u32>,
}

impl StraceReader<'_> {
    fn line(&mut self, line: &str) -> Option<Use> {
        let (pid, rest) = line.trim_start().split_once(' ')?;
        let pid: u64 = pid.parse().ok()?;
        let (time, call) = rest.trim_start().split_once(' ')?;
        let time: f64 = time.parse().ok().filter(|time: &f64| time.is_finite())?;
        let begun = *self.begun.get_or_insert(time);
        let at = (time - begun).max(0.0);
        if child(line).is_some() {
            *self.started.entry(pid).or_default() += 1;
        }
        if let Some(first) = call.strip_suffix("<unfinished ...>") {
            self.unfinished.insert(pid, first.trim_end().to_owned());
            return None;
        }
        if let Some(resumed) = call.strip_prefix("<... ") {
            let whole = self.unfinished.remove(&pid)? + resumed.split_once("resumed>")?.1;
            return self.call(pid, at, &whole);
        }
        self.call(pid, at, call)
    }

    fn call(&mut self, pid: u64, at: f64, call: &str) -> Option<Use> {
        let (name, arguments) = call.split_once('(')?;
        let result = call.rsplit_once(" = ")?.1;
        let missing = result.starts_with("-1 ENOENT");
        if !missing && result.starts_with(['-', '?']) {
            return None;
        }
        let here = self.folders.get(&pid).map_or(self.cwd, PathBuf::as_path);
        let is_at = AT.contains(&name);
        let path = if name == "getdents64" {
            descriptor(arguments)?.0
        } else if is_at {
            let (folder, rest) = descriptor(arguments)?;
            folder.join(quoted(rest.trim_start_matches([',', ' ']))?.0)
        } else if PLAIN.contains(&name) {
            here.join(quoted(arguments)?.0)
        } else {
            return None;
        };
        let path = plain(&path)?;
        if name == "chdir" && !missing {
            self.folders.insert(pid, path.clone());
        }
        // If the line of its start is missing, it counts as the first.
        let thread = self.lineages.get(&pid).cloned().unwrap_or_default();
        let started = self.started.get(&pid).copied().unwrap_or_default();
        Some(Use {
            at,
            path,
            lists: name == "getdents64",
            runs: name == "execve",
            missing,
            thread,
            started,
        })
    }
}

/// Splits `3</usr/bin>, ...` or `AT_FDCWD</root>, ...` into the folder and the rest.
fn descriptor(text: &str) -> Option<(PathBuf, &str)> {
    let (_, rest) = text.split_once('<').filter(|(name, _)| !name.contains(['"', ',']))?;
    let (path, rest) = rest.split_once('>')?;
    path.starts_with('/').then(|| (PathBuf::from(path), rest))
}

/// Splits `"/etc/passwd", ...` into the name and the rest. Returns None if the name was cut off.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().enumerate();
    while let Some((place, byte)) = rest.next() {
        match byte {
            b'"' => {
                let after = &inner[place + 1..];
                let name = String::from_utf8(bytes).ok()?;
                return (!after.starts_with("...") && !name.is_empty()).then_some((name, after));
            }
            b'\\' => {
                let (place, escape) = rest.next()?;
                let plain = match escape {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'v' => 11,
                    b'f' => 12,
                    b'0'..=b'7' => {
                        let digits = inner[place..]
                            .bytes()
                            .take(3)
                            .take_while(|digit| (b'0'..=b'7').contains(digit));
                        let digits: Vec<u8> = digits.collect();
                        rest.by_ref().take(digits.len() - 1).for_each(|_| ());
                        let value = digits
                            .iter()
                            .fold(0_u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
                        u8::try_from(value).ok()?
                    }
                    other => other,
                };
                bytes.push(plain);
            }
            other => bytes.push(other),
        }
    }
    None
}

/// Returns the path without `.` and `..`. Returns None if it is not absolute.
pub fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::from("/");
    for part in path.is_absolute().then(|| path.components())? {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => drop(plain.pop()),
            _ => {}
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_may_end_before_others() {
        let text = b"7 1.0 execve(\"/bin/sh\", [\"sh\"], 0x7 /* 4 vars */) = 0\n\
              8 1.1 +++ exited with 3 +++\n";
        assert_eq!(first_exit(text), None);
        assert_eq!(
            first_exit(&[text.as_slice(), b"7 1.2 +++ exited with 0 +++\n"].concat()),
            Some(0)
        );
        assert_eq!(first_exit(b""), None);
        assert_eq!(running(text), BTreeSet::from([7]));
    }

    #[test]
    fn names_are_read_in_order_with_what_failed_left_out() {
        let text = br#"10 100.0 execve("/usr/bin/git", ["git", "status"], 0x7ffd /* 20 vars */) = 0
10 100.1 access("/etc/ld.so.preload", R_OK) = -1 ENOENT (No such file or directory)
10 100.2 openat(AT_FDCWD</home/a>, "x\303\244 \"y\"", O_RDONLY|O_CLOEXEC) = 3</home/a/x>
10 100.25 chdir("sub")                      = 0
11 100.3 newfstatat(3</home/a>, "../b", {st_mode=S_IFREG|0644, st_size=1, ...}, 0 <unfinished ...>
10 100.4 stat("c", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0
11 100.5 <... newfstatat resumed>) = 0
10 100.6 getdents64(4</home/a/sub>, 0x55 /* 3 entries */, 32768) = 80
10 100.7 newfstatat(3</home/a/x>, "", {st_mode=S_IFREG|0644, st_size=1, ...}, AT_EMPTY_PATH) = 0
10 100.8 +++ exited with 0 +++
nonsense
"#;
        let found = uses(text, Path::new("/home/a"));
        let missing: Vec<_> = found
            .iter()
            .filter(|used| used.missing)
            .map(|used| used.path.to_str().unwrap())
            .collect();
        assert_eq!(missing, ["/etc/ld.so.preload"]);
        let told: Vec<_> =
            found.iter().map(|used| (used.path.to_str().unwrap(), used.lists)).collect();
        let expected = [
            ("/usr/bin/git", false),
            ("/etc/ld.so.preload", false),
            ("/home/a/xä \"y\"", false),
            ("/home/a/sub", false),
            ("/home/a/sub/c", false),
            ("/home/b", false),
            ("/home/a/sub", true),
        ];
        assert_eq!(told, expected);
        assert!((found[6].at - 0.6).abs() < 1e-6);
    }

    #[test]
    fn threads_are_known_by_who_started_them() {
        let text = br#"10 1.0 execve("/bin/sh", ["sh"], 0x7 /* 4 vars */) = 0
10 1.1 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7f) = 11
12 1.2 openat(AT_FDCWD</>, "early", O_RDONLY) = 3</early>
10 1.3 clone3({flags=CLONE_VM, exit_signal=0}, 88 <unfinished ...>
11 1.4 vfork( <unfinished ...>
13 1.5 execve("/bin/b", ["b"], 0x7 /* 4 vars */) = 0
11 1.6 <... vfork resumed>)         = 13
10 1.7 <... clone3 resumed> => {parent_tid=[12]}, 88) = 12
10 1.8 clone(child_stack=NULL, flags=SIGCHLD) = -1 EAGAIN (Resource temporarily unavailable)
10 1.9 openat(AT_FDCWD</>, "late", O_RDONLY) = 3</late>
99 2.0 openat(AT_FDCWD</>, "whose", O_RDONLY) = 3</whose>
"#;
        let found = uses(text, Path::new("/"));
        let told: Vec<_> = found
            .iter()
            .map(|used| (used.path.to_str().unwrap(), used.thread.as_slice(), used.started))
            .collect();
        let expected: [(&str, &[u32], u32); 5] = [
            ("/bin/sh", &[], 0),
            ("/early", &[1], 0),
            ("/bin/b", &[0, 0], 0),
            ("/late", &[], 2),
            ("/whose", &[], 0),
        ];
        assert_eq!(told, expected);
    }
}
