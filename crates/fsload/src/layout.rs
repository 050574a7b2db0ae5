//! The folders and the first files of a set. They depend on the description alone, so that disks
//! can be prepared once for all seeds.

use crate::Failure;
use crate::content::ContentKey;
use crate::size::{draw, gamma};
use disklab_config::fsload::{FilePlace, FileSet, Fsload};
use disklab_units::{Random, Seed};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file's size and folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// Size in bytes when it is laid out, and when it is written as a whole.
    pub size: u64,
    pub there: bool,
    pub leaf: u32,
}

/// The shape of a set's tree of folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderTree {
    leaves: u32,
    /// Folders in a folder above the leaves.
    width: u32,
}

/// Shape of the gamma distribution of folders' widths, as in filebench.
const SHAPE_OF_WIDTHS: f64 = 1.5;
/// The folder of folders that threads make.
const MADE: &str = "folders";
/// Bytes of a file that are written at a time.
const PIECE: u64 = 1 << 20;

/// Returns the seed of the layout of sets and of the contents of laid out files.
fn seed() -> Seed {
    Seed(0).derive("fsload files")
}

/// Returns the key of a file that was overwritten `generation` times since it was laid out. `seed`
/// is the trial's.
pub fn key(seed: Seed, set: usize, slot: u64, generation: u32) -> ContentKey {
    ContentKey::new(if generation == 0 { self::seed() } else { seed }, set, slot, generation)
}

/// Returns all names of a set, and its tree of folders.
pub fn plan(load: &Fsload, set: &FileSet) -> (Vec<Planned>, FolderTree) {
    let FilePlace::Tree { there, width, .. } = set.place else {
        return (Vec::new(), FolderTree { leaves: 0, width: 1 });
    };
    let count = load.count(set);
    let (mut random, mut widths) = (
        Random::new(seed().derive(&set.name)),
        Random::new(seed().derive(&set.name).derive("widths")),
    );
    let mut planned = Vec::with_capacity(count as usize);
    let (mut leaf, mut room) = (0, 0_u32);
    for number in 0..count {
        if room == 0 {
            leaf += u32::from(number > 0);
            room = if width >= count { count } else { leaf_width(width, &mut widths) };
        }
        room -= 1;
        let size = draw(set.size, &mut random);
        planned.push(Planned { size, there: random.below(100) < u64::from(there), leaf });
    }
    (planned, FolderTree { leaves: leaf + 1, width: width.max(2) })
}

fn leaf_width(mean: u32, random: &mut Random) -> u32 {
    let drawn = gamma(SHAPE_OF_WIDTHS, random) * f64::from(mean) / SHAPE_OF_WIDTHS;
    (drawn.round() as u32).max(1)
}

impl FolderTree {
    /// Returns the path of a leaf, relative to the set's own folder.
    fn folder(self, leaf: u32) -> PathBuf {
        let (mut above, mut left, mut parts) = (self.leaves.saturating_sub(1), leaf, Vec::new());
        while above > 0 {
            parts.push(format!("d{:04}", left % self.width));
            (above, left) = (above / self.width, left / self.width);
        }
        parts.iter().rev().collect()
    }

    fn folders(self) -> impl Iterator<Item = PathBuf> {
        (0..self.leaves).map(move |leaf| self.folder(leaf))
    }
}

/// Returns the path of a file, relative to the folder of the load.
pub fn path(set: &FileSet, tree: FolderTree, slot: u64, leaf: u32) -> PathBuf {
    match set.place {
        FilePlace::Tree { .. } => {
            Path::new(&set.name).join(tree.folder(leaf)).join(format!("{slot:08}"))
        }
        FilePlace::Folders { most } => {
            let most = u64::from(most);
            made_folder(slot / most).join(format!("{}-{}", set.name, slot % most + 1))
        }
    }
}

/// Returns the path of a folder that a thread makes, relative to the folder of the load.
pub fn made_folder(number: u64) -> PathBuf {
    Path::new(MADE).join(format!("folder-{number}"))
}

/// Makes all folders and files that exist at the beginning, below an empty folder. Returns the
/// number of files and of bytes.
pub fn lay_out(load: &Fsload, root: &Path) -> Result<(u64, u64), Failure> {
    let failed = |path: &Path, e: &io::Error| format!("fsload: laying out {}: {e}", path.display());
    let mut made = (0, 0);
    let folder = |path: &Path| fs::create_dir_all(path).map_err(|e| failed(path, &e));
    folder(&root.join(MADE))?;
    for (number, set) in load.files.iter().enumerate() {
        let (files, tree) = plan(load, set);
        for path in tree.folders() {
            folder(&root.join(&set.name).join(path))?;
        }
        for (slot, file) in (0..).zip(&files).filter(|(_, file)| file.there) {
            let path = root.join(path(set, tree, slot, file.leaf));
            let mut buffer = vec![0; file.size.min(PIECE) as usize];
            let made_file = File::options().write(true).create_new(true).open(&path);
            let key = ContentKey::new(seed(), number, slot, 0);
            made_file
                .and_then(|mut out| key.write(&mut out, &mut buffer, 0, file.size))
                .map_err(|e| failed(&path, &e))?;
            made = (made.0 + 1, made.1 + file.size);
        }
    }
    File::open(root).and_then(|root| root.sync_all()).map_err(|e| failed(root, &e))?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::load;

    #[test]
    fn folders_have_their_mean_width_and_lie_in_each_other() {
        let load = load("count = 20000\nwidth = 20\nthere = 80\nsize = \"1 KiB\"", "\"stat\"");
        let (files, tree) = plan(&load, &load.files[0]);
        let width = 20_000.0 / f64::from(tree.leaves);
        assert!((18.5..21.5).contains(&width), "{width}");
        // About 1000 folders of 20 files each make three levels.
        let path = path(&load.files[0], tree, 7, files[19_999].leaf);
        assert_eq!(path.components().count(), 5, "{}", path.display());
        let there = files.iter().filter(|file| file.there).count();
        assert!((15_700..16_300).contains(&there), "{there}");
        let mut folders: Vec<_> = tree.folders().collect();
        folders.dedup();
        assert_eq!(folders.len(), tree.leaves as usize);
    }

    #[test]
    fn one_folder_is_enough_for_a_wide_set() {
        let load = load("count = 100\nsize = \"1 KiB\"", "\"stat\"");
        let (files, tree) = plan(&load, &load.files[0]);
        assert_eq!(path(&load.files[0], tree, 99, files[99].leaf), Path::new("files/00000099"));
    }

    #[test]
    fn what_is_laid_out_is_what_was_planned() {
        let load = load("count = 300\nwidth = 7\nthere = 50\nsize = \"1 B to 3 KiB\"", "\"stat\"");
        let folder = tempfile::tempdir().unwrap();
        let (count, bytes) = lay_out(&load, folder.path()).unwrap();
        let (files, tree) = plan(&load, &load.files[0]);
        let there: Vec<_> = (0..).zip(&files).filter(|(_, file)| file.there).collect();
        assert_eq!(
            (count, bytes),
            (there.len() as u64, there.iter().map(|(_, file)| file.size).sum())
        );
        for (slot, file) in there {
            let held =
                fs::read(folder.path().join(path(&load.files[0], tree, slot, file.leaf))).unwrap();
            assert_eq!(held.len() as u64, file.size);
            assert_eq!(
                ContentKey::new(seed(), 0, slot, 0).find_in(&held[..], file.size).unwrap(),
                None
            );
        }
    }
}
