//! Finds the files, folders and links that a program used, as they are on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use disklab_config::startup::{EntryKind, StartupAction, StartupEntry};
use disklab_results::strace::{self, Lineage, Use};
use disklab_units::Bytes;

/// Folders that are not on a disk, or belong to other programs.
const ELSEWHERE: [&str; 5] = ["/proc", "/sys", "/dev", "/run", "/tmp"];
/// Largest number of links that the kernel follows.
const MOST_LINKS: u32 = 40;

#[derive(Debug, Default)]
pub struct Needed {
    pub entries: Vec<StartupEntry>,
    pub uses: Vec<NameUse>,
    /// Kinds of things that cannot be recorded, each with a sentence.
    pub left_out: Vec<String>,
    numbers: BTreeMap<PathBuf, u32>,
}

/// First use of an entry's name.
#[derive(Debug)]
pub struct NameUse {
    pub entry: u32,
    /// Time of the use, in s.
    pub at: f64,
    /// Kind of use: [`StartupAction::Look`], [`StartupAction::Miss`] or [`StartupAction::List`].
    pub act: StartupAction,
    /// Thread that used the name, and the number of threads that it had started before.
    pub thread: Lineage,
    pub started: u32,
}

impl Needed {
    /// Finds the entries for these uses on this machine.
    pub fn find(uses: &[Use]) -> Self {
        let mut needed = Self::default();
        let mut missed = BTreeSet::new();
        let (mut places, mut gone, mut seen) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for used in uses {
            if let Some(place) = elsewhere(&used.path) {
                places.insert(place);
                continue;
            }
            if used.path == Path::new("/") {
                continue;
            }
            if used.missing {
                let number =
                    used.path.ancestors().skip(1).find_map(|folder| needed.add(folder, MOST_LINKS));
                if let Some(number) = number.filter(|number| missed.insert(*number)) {
                    needed.used(number, used, StartupAction::Miss);
                }
                continue;
            }
            // The program made this file and removed it again.
            let Some(number) = needed.add(&used.path, MOST_LINKS) else {
                gone.insert(used.path.display().to_string());
                continue;
            };
            // The kernel opens the interpreter, which strace does not see.
            if let Some(interpreter) = used.runs.then(|| interpreter(&used.path)).flatten()
                && let Some(number) = needed.add(&interpreter, MOST_LINKS)
                && seen.insert((number, false))
            {
                needed.used(number, used, StartupAction::Look);
            }
            let is_folder = needed.entries[number as usize].kind == EntryKind::Folder;
            if used.lists && is_folder {
                needed.add_names(&used.path);
            }
            let act =
                if used.lists && is_folder { StartupAction::List } else { StartupAction::Look };
            if seen.insert((number, act == StartupAction::List)) {
                needed.used(number, used, act);
            }
        }
        if !places.is_empty() {
            let places = places.into_iter().collect::<Vec<_>>().join(", ");
            let what = format!("files in {places} are left out: they are on no disk");
            needed.left_out.push(what);
        }
        if let Some(first) = gone.first() {
            let count = gone.len();
            needed.left_out.push(format!(
                "{count} names that no longer exist, or are on no disk, are left out, {first} first"
            ));
        }
        needed
    }

    fn used(&mut self, entry: u32, of: &Use, act: StartupAction) {
        let (thread, started) = (of.thread.clone(), of.started);
        self.uses.push(NameUse { entry, at: of.at, act, thread, started });
    }

    /// Adds the entry at the end of a path's links, with all links and folders on the way.
    fn add(&mut self, path: &Path, links: u32) -> Option<u32> {
        // A link may lead to such a folder.
        if elsewhere(path).is_some() {
            return None;
        }
        let mut so_far = PathBuf::from("/");
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else { continue };
            so_far.push(name);
            let found = fs::symlink_metadata(&so_far).ok()?;
            if found.is_symlink() {
                let target = fs::read_link(&so_far).ok()?;
                self.put(&so_far, EntryKind::Link(target.to_str()?.to_owned()))?;
                let rest: PathBuf = parts.collect();
                // The link may be the first of a chain, of which each is needed.
                let next = strace::plain(&so_far.parent()?.join(target).join(rest))?;
                return self.add(&next, links.checked_sub(1)?);
            }
            if parts.peek().is_none() {
                let kind = if found.is_dir() {
                    EntryKind::Folder
                } else if found.is_file() {
                    EntryKind::File(Bytes(found.len()))
                } else {
                    return None;
                };
                return self.put(&so_far, kind);
            }
        }
        None
    }

    /// Adds the names in a listed folder, so that the folder is as long as here. Files without
    /// other use are empty.
    fn add_names(&mut self, folder: &Path) {
        for name in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = name.path();
            let Ok(kind) = name.file_type() else { continue };
            let link = || fs::read_link(&path).ok()?.to_str().map(str::to_owned);
            let kind = if kind.is_dir() {
                Some(EntryKind::Folder)
            } else if kind.is_symlink() {
                link().map(EntryKind::Link)
            } else {
                Some(EntryKind::File(Bytes(0)))
            };
            if let Some(kind) = kind.filter(|_| !self.numbers.contains_key(&path)) {
                self.put(&path, kind);
            }
        }
    }

    fn put(&mut self, path: &Path, kind: EntryKind) -> Option<u32> {
        if let Some(&number) = self.numbers.get(path) {
            // Until now, only the name of the file was needed.
            self.entries[number as usize].kind = kind;
            return Some(number);
        }
        let number = u32::try_from(self.entries.len()).ok()?;
        // Some paths are not valid text, or would be parsed as several entries.
        let text = path.to_str().filter(|text| !text.contains('\n') && !text.contains(" -> "))?;
        self.entries.push(StartupEntry { path: text.to_owned(), kind });
        self.numbers.insert(path.to_owned(), number);
        Some(number)
    }

    pub fn number(&self, path: &str) -> Option<u32> {
        self.numbers.get(Path::new(path)).copied()
    }
}

fn elsewhere(path: &Path) -> Option<&'static str> {
    ELSEWHERE.into_iter().find(|place| path.starts_with(place))
}

/// Returns the program that the kernel starts for a script, or loads beside a program, such as
/// `/lib64/ld-linux-x86-64.so.2`.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let bytes = fs::read(program).ok()?;
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let line = String::from_utf8_lossy(line.split(|&byte| byte == b'\n').next()?).into_owned();
        return line.split_whitespace().next().map(PathBuf::from);
    }
    goblin::elf::Elf::parse(&bytes).ok()?.interpreter.map(PathBuf::from)
}
