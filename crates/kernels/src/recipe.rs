//! Insertions into a kernel source that make it the guest: configuration, files and patches, in two
//! parts.
//!
//! `guest-kernel/` has the insertions that every guest needs. `guest-kernel/btrfs/` adds the
//! policies of `read-policies/` to those of btrfs; without it, btrfs is the source's own, byte for
//! byte.
//!
//! All insertions are read before anything is built, so that the key, the tree and the record agree
//! even if a user edits the files meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::config::Fragment;
use crate::digest::Fields;
use crate::error::{Error, Result};
use crate::file;
use crate::patch;
use crate::process::Runner;
use crate::provenance::Provenance;
use crate::share::Share;
use crate::version::Version;
use serde::{Deserialize, Serialize};

/// Patches by name, which is also the order in which they are applied.
type Patches = BTreeMap<String, Vec<u8>>;

/// Folder of the C files of `read-policies/` in a kernel tree.
pub(crate) const POLICIES_IN_TREE: &str = "fs/btrfs/read-policies";

/// The btrfs of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Btrfs {
    /// The btrfs of its source, with the policies of `read-policies/` beside its own.
    Policies,
    /// The btrfs of its source, byte for byte.
    Untouched,
}

impl std::fmt::Display for Btrfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Policies => "policies",
            Self::Untouched => "untouched",
        })
    }
}

#[derive(Debug)]
pub(crate) struct Recipe {
    pub insertions: Vec<Insertion>,
}

/// A folder with `config`, `files` and `patches`.
#[derive(Debug)]
pub(crate) struct Insertion {
    /// Folder, for messages.
    folder: PathBuf,
    fragment: Fragment,
    /// Files by path inside the tree.
    files: BTreeMap<PathBuf, Insert>,
    patches: Patches,
    /// Parts by series, such as `7.2`.
    series: BTreeMap<String, SeriesPart>,
}

/// A folder `patches/<series>/`.
#[derive(Debug)]
struct SeriesPart {
    /// The folder's file `config`, if it has one: its lines replace those of the same options.
    fragment: Option<Fragment>,
    /// For this series, they replace the general patches of the same names.
    patches: Patches,
}

#[derive(Debug)]
struct Insert {
    contents: Vec<u8>,
    executable: bool,
}

impl Recipe {
    pub fn read(share: &Share, btrfs: Btrfs) -> Result<Self> {
        let mut insertions = vec![Insertion::read(&share.guest_kernel())?];
        if btrfs == Btrfs::Policies {
            insertions.push(Insertion::of_read_policies(share)?);
        }
        Ok(Self { insertions })
    }

    /// Returns the lines of all configurations for a kernel of this version.
    pub fn fragment(&self, version: &Version) -> Fragment {
        let series = version.series();
        let own = |insertion: &'_ Insertion| {
            insertion.series.get(&series).and_then(|part| part.fragment.clone())
        };
        let general = self.insertions.iter().map(|insertion| insertion.fragment.clone());
        general.chain(self.insertions.iter().filter_map(own)).collect()
    }

    /// Returns a digest of every byte that a kernel of this source is made from. The series of a
    /// package is known, so parts of other series do not count. The series of a tree or a tarball
    /// is only known when it is unpacked, so all series count.
    pub fn digest(&self, source: &Provenance) -> String {
        let series = source.series();
        let counts = |name: &str| series.as_deref().is_none_or(|series| series == name);
        let mut fields = Fields::new("recipe");
        for insertion in &self.insertions {
            insertion.add_to(&mut fields, &counts);
        }
        fields.finish()
    }

    /// Returns the files of the kernel that patches change, each with the patch's name.
    pub fn patched(&self) -> BTreeMap<String, String> {
        let all = self.insertions.iter().flat_map(|insertion| {
            let own = insertion.series.values().flat_map(|part| &part.patches);
            insertion.patches.iter().chain(own)
        });
        all.flat_map(|(name, text)| {
            let text = String::from_utf8_lossy(text).into_owned();
            let files = text.lines().filter_map(|line| line.strip_prefix("+++ b/"));
            files.map(|file| (file.to_owned(), name.clone())).collect::<Vec<_>>()
        })
        .collect()
    }

    /// Returns the numbers of files and patches for a kernel of this version.
    pub fn size(&self, version: &Version) -> (usize, usize) {
        self.insertions.iter().fold((0, 0), |(files, patches), insertion| {
            (files + insertion.files.len(), patches + insertion.patches_for(version).len())
        })
    }
}

impl Insertion {
    fn read(folder: &Path) -> Result<Self> {
        let config = folder.join("config");
        let fragment = Fragment::parse(&config, file::text(&config)?)?;
        let mut files = BTreeMap::new();
        if folder.join("files").is_dir() {
            read_files(&folder.join("files"), Path::new(""), &mut files)?;
        }
        let (mut patches, mut series) = (Patches::new(), BTreeMap::new());
        let place = folder.join("patches");
        if place.is_dir() {
            patches = read_patches(&place)?;
            for name in file::names(&place)?.into_iter().filter(|name| place.join(name).is_dir()) {
                series.insert(name.clone(), SeriesPart::read(&place.join(name))?);
            }
        }
        Ok(Self { folder: folder.to_path_buf(), fragment, files, patches, series })
    }

    /// Returns the hook in btrfs, and the policies that it calls.
    pub fn of_read_policies(share: &Share) -> Result<Self> {
        let mut insertion = Self::read(&share.guest_kernel().join("btrfs"))?;
        let policies = share.read_policies();
        for name in file::names(&policies)?.into_iter().filter(|name| is_for_the_kernel(name)) {
            let contents = file::bytes(&policies.join(&name))?;
            let place = Path::new(POLICIES_IN_TREE).join(name);
            insertion.files.insert(place, Insert { contents, executable: false });
        }
        Ok(insertion)
    }

    /// Adds all that is inserted, with the parts of the series for which `counts` returns true.
    fn add_to(&self, fields: &mut Fields, counts: &dyn Fn(&str) -> bool) {
        fields.add("insertion").add(self.fragment.text());
        for (path, insert) in &self.files {
            fields.add("file").add(path.as_os_str().as_encoded_bytes());
            fields.add([u8::from(insert.executable)]).add(&insert.contents);
        }
        let mut add = |series: &str, patches: &Patches| {
            for (name, text) in patches {
                fields.add("patch").add(series).add(name).add(text);
            }
        };
        add("", &self.patches);
        let own = || self.series.iter().filter(|(series, _)| counts(series));
        own().for_each(|(series, part)| add(series, &part.patches));
        for (series, part) in own() {
            if let Some(fragment) = &part.fragment {
                fields.add("config").add(series).add(fragment.text());
            }
        }
    }

    /// Returns the new files by their paths in the tree.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        self.files.iter().map(|(path, insert)| (path.as_path(), insert.contents.as_slice()))
    }

    /// Returns the folders of the files that its patches change.
    pub fn folders(&self) -> Vec<PathBuf> {
        let own = self.series.values().flat_map(|part| part.patches.values());
        let patches = self.patches.values().chain(own);
        let text: String = patches.map(|text| String::from_utf8_lossy(text)).collect();
        let changed = text.lines().filter_map(|line| line.strip_prefix("+++ b/"));
        let mut folders: Vec<_> =
            changed.filter_map(|path| Some(Path::new(path).parent()?.into())).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// Puts files and patches into `tree`; `scratch` is an empty folder for the patches. After an
    /// error the tree is unusable.
    pub fn insert(
        &self,
        tree: &Path,
        version: &Version,
        scratch: &Path,
        runner: Runner,
    ) -> Result<()> {
        for (path, insert) in &self.files {
            let target = tree.join(path);
            if target.symlink_metadata().is_ok() {
                let (folder, version) = (self.folder.join("files"), version.clone());
                return Err(Error::WouldOverwrite { folder, file: path.clone(), version });
            }
            file::create_folder(target.parent().unwrap_or(tree))?;
            file::write(&target, &insert.contents)?;
            let mode = if insert.executable { 0o755 } else { 0o644 };
            fs::set_permissions(&target, fs::Permissions::from_mode(mode))
                .map_err(Error::io("set the mode of", &target))?;
        }
        file::create_folder(scratch)?;
        for (name, (origin, text)) in self.patches_for(version) {
            let copy = scratch.join(name);
            file::write(&copy, text)?;
            let rejects = patch::apply(tree, &copy, runner)?;
            if !rejects.is_empty() {
                return Err(Error::Patch { patch: origin, version: version.clone(), rejects });
            }
        }
        Ok(())
    }

    /// Returns the patches by name, each with its file and its contents.
    pub fn patches_for(&self, version: &Version) -> BTreeMap<&str, (PathBuf, &[u8])> {
        let place = self.folder.join("patches");
        let own = self.series.get_key_value(&version.series());
        let general = self.patches.iter().map(|(name, text)| (name, place.join(name), text));
        let special = own.into_iter().flat_map(|(series, part)| {
            let place = place.join(series);
            part.patches.iter().map(move |(name, text)| (name, place.join(name), text))
        });
        general
            .chain(special)
            .map(|(name, path, text)| (name.as_str(), (path, text.as_slice())))
            .collect()
    }
}

impl SeriesPart {
    fn read(folder: &Path) -> Result<Self> {
        let config = folder.join("config");
        let fragment = if config.is_file() {
            Some(Fragment::parse(&config, file::text(&config)?)?)
        } else {
            None
        };
        Ok(Self { fragment, patches: read_patches(folder)? })
    }
}

/// Returns true for C files of `read-policies/` that belong into the kernel. The others replace the
/// kernel in a user program.
fn is_for_the_kernel(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("c" | "h")) && name != "native.h"
}

fn read_files(root: &Path, below: &Path, into: &mut BTreeMap<PathBuf, Insert>) -> Result<()> {
    for name in file::names(&root.join(below))? {
        let path = below.join(name);
        let full = root.join(&path);
        let metadata = fs::metadata(&full).map_err(Error::io("read", &full))?;
        if metadata.is_dir() {
            read_files(root, &path, into)?;
        } else {
            let executable = metadata.permissions().mode() & 0o111 != 0;
            into.insert(path, Insert { contents: file::bytes(&full)?, executable });
        }
    }
    Ok(())
}

fn read_patches(folder: &Path) -> Result<Patches> {
    file::names(folder)?
        .into_iter()
        .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "patch"))
        .map(|name| Ok((name.clone(), file::bytes(&folder.join(name))?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// Makes a share with `files` (path and contents below `guest-kernel`).
    fn share(files: &[(&str, &str)]) -> (tempfile::TempDir, Share) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("lab")).unwrap();
        fs::create_dir(folder.path().join("read-policies")).unwrap();
        for (path, contents) in [("config", "CONFIG_A=y\n")].iter().chain(files) {
            let path = folder.path().join("guest-kernel").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        let share = Share::open(folder.path()).unwrap();
        (folder, share)
    }

    /// A new policy is in the tree and in the key, and vanishes from both with its file.
    #[test]
    fn a_policy_comes_and_goes_with_its_file() {
        let (folder, share) = share(&[("btrfs/config", "CONFIG_B=y\n")]);
        let key = || Recipe::read(&share, Btrfs::Policies).unwrap().digest(&package("7.3.4-1"));
        let holds = |path: &str| {
            let insertion = Insertion::of_read_policies(&share).unwrap();
            insertion.files().any(|(known, _)| known == Path::new(path))
        };
        let (before, in_tree) = (key(), "fs/btrfs/read-policies/always_last.c");
        assert!(!holds(in_tree));
        let file = folder.path().join("read-policies/always_last.c");
        fs::write(&file, "static int last;\n").unwrap();
        assert!(holds(in_tree));
        assert_ne!(key(), before);
        fs::remove_file(&file).unwrap();
        assert!(!holds(in_tree));
        assert_eq!(key(), before);
    }

    fn package(version: &str) -> Provenance {
        let (package, version) = ("linux-source".to_owned(), version.to_owned());
        Provenance::Package { package, version, suite: String::new(), sha256: String::new() }
    }

    fn edit(from: &str, to: &str) -> String {
        format!("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-{from}\n+{to}\n")
    }

    /// Inserts into a tree whose file `f` says `one`, and returns its contents afterwards.
    fn inserted(share: &Share, version: &str) -> Result<String> {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("f"), "one\n").unwrap();
        let stop = AtomicBool::new(false);
        let version = version.parse().unwrap();
        for insertion in &Recipe::read(share, Btrfs::Untouched)?.insertions {
            let scratch = folder.path().join("p");
            insertion.insert(&tree, &version, &scratch, Runner { stop: &stop })?;
        }
        file::text(&tree.join("f"))
    }

    #[test]
    fn patches_go_in_by_name_and_a_series_replaces_its_own() {
        let (_keep, share) = share(&[
            ("patches/0002-b.patch", &edit("two", "three")),
            ("patches/0001-a.patch", &edit("one", "two")),
            ("patches/7.2/0002-b.patch", &edit("two", "special")),
            ("patches/notes.txt", "no patch"),
        ]);
        assert_eq!(inserted(&share, "7.3.4").unwrap(), "three\n");
        assert_eq!(inserted(&share, "7.2.13").unwrap(), "special\n");
    }

    #[test]
    fn a_patch_that_does_not_fit_says_which_where_and_what_to_do() {
        let (_keep, share) = share(&[("patches/0001-a.patch", &edit("other", "two"))]);
        let error = inserted(&share, "7.3.4").unwrap_err().to_string();
        for part in [
            "guest-kernel/patches/0001-a.patch",
            "Linux 7.3.4",
            "f: hunk 1",
            "patches/7.3/0001-a.patch",
        ] {
            assert!(error.contains(part), "{part} in {error}");
        }
    }

    #[test]
    fn a_file_of_the_kernel_is_never_overwritten() {
        let (_keep, share) = share(&[("files/f", "mine")]);
        let error = inserted(&share, "7.3.4").unwrap_err().to_string();
        assert!(error.contains("guest-kernel/files/f") && error.contains("Linux 7.3.4"), "{error}");
    }

    #[test]
    fn the_digest_stands_for_every_byte_and_name() {
        let digest = |files: &[(&str, &str)]| {
            let (_keep, share) = share(files);
            let (path, sha256) = ("x.tar".to_owned(), String::new());
            let unknown = Provenance::Tarball { path, sha256 };
            Recipe::read(&share, Btrfs::Untouched).unwrap().digest(&unknown)
        };
        let variants: [&[(&str, &str)]; 10] = [
            &[],
            &[("config", "CONFIG_B=y\n")],
            &[("files/a", "1")],
            &[("files/a", "2")],
            &[("files/d/a", "1")],
            &[("patches/a.patch", "1")],
            &[("patches/7.3/a.patch", "1")],
            &[("patches/7.2/a.patch", "1")],
            &[("patches/7.2/config", "CONFIG_B=y\n")],
            &[("patches/7.3/config", "CONFIG_B=y\n")],
        ];
        let digests: std::collections::BTreeSet<String> =
            variants.iter().map(|files| digest(files)).collect();
        assert_eq!(digests.len(), variants.len());
        assert_eq!(digest(&[]), digest(&[("README.md", "not part of it")]));
    }

    #[test]
    fn what_one_series_needs_makes_no_other_kernels_of_another() {
        let digest = |files: &[(&str, &str)], version: &str| {
            let (_keep, share) = share(files);
            Recipe::read(&share, Btrfs::Untouched).unwrap().digest(&package(version))
        };
        let parts = [("patches/6.12/0001-a.patch", "1"), ("patches/6.12/config", "CONFIG_A=n\n")];
        for part in parts {
            assert_eq!(digest(&[part], "7.3.4-1~bpo13+1"), digest(&[], "7.3.4-1~bpo13+1"));
            assert_ne!(digest(&[part], "6.12.117-1"), digest(&[], "6.12.117-1"));
        }
    }

    #[test]
    fn a_series_replaces_lines_of_the_configuration() {
        let (_keep, share) =
            share(&[("patches/6.12/config", "CONFIG_A=n\n"), ("config", "CONFIG_A=y\n")]);
        let recipe = Recipe::read(&share, Btrfs::Untouched).unwrap();
        let lost =
            |version: &str, config: &str| recipe.fragment(&version.parse().unwrap()).lost(config);
        assert_eq!(lost("7.3.4", "CONFIG_A=y\n"), [""; 0]);
        assert_eq!(lost("7.3.4", ""), ["CONFIG_A=y"]);
        assert_eq!(lost("6.12.117", ""), [""; 0]);
        assert_eq!(lost("6.12.117", "CONFIG_A=y\n"), ["CONFIG_A=n"]);
    }
}
