//! Folders of this installation's data: `lab`, `guest-kernel`, `read-policies`, and the `kernels`
//! of a release.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A folder that holds these data folders.
#[derive(Debug, Clone)]
pub struct Share {
    root: PathBuf,
}

impl Share {
    /// Finds the folder: `$DISKLAB_HOME` if it is set, or else `../share/disklab` beside the
    /// executable's folder, or else the nearest folder above the executable that has the data (a
    /// work tree contains its `target`).
    pub fn find() -> Result<Self> {
        let home = env::var_os("DISKLAB_HOME").map(PathBuf::from);
        let executable = env::current_exe().ok();
        Self::search(home.as_deref(), executable.as_deref())
    }

    /// Opens the folder `root`, which must hold the data.
    pub fn open(root: &Path) -> Result<Self> {
        if ["lab", "guest-kernel", "read-policies"].iter().all(|folder| root.join(folder).is_dir())
        {
            Ok(Self { root: root.to_path_buf() })
        } else {
            Err(Error::NoShare { tried: vec![root.display().to_string()] })
        }
    }

    fn search(home: Option<&Path>, executable: Option<&Path>) -> Result<Self> {
        if let Some(home) = home {
            return Self::open(home).map_err(|_| Error::NoShare {
                tried: vec![format!("in DISKLAB_HOME={}", home.display())],
            });
        }
        let Some(folder) = executable.and_then(Path::parent) else {
            return Err(Error::NoShare {
                tried: vec!["nowhere: the executable's own path is unknown".into()],
            });
        };
        let installed = folder.parent().unwrap_or(folder).join("share/disklab");
        std::iter::once(installed.as_path())
            .chain(folder.ancestors())
            .find_map(|root| Self::open(root).ok())
            .ok_or_else(|| Error::NoShare {
                tried: vec![
                    format!("in {}", installed.display()),
                    format!("in {} and the folders above it", folder.display()),
                ],
            })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn lab(&self) -> PathBuf {
        self.root.join("lab")
    }

    /// Returns the folder of a release's built kernels; a work tree has none.
    pub fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    pub fn guest_kernel(&self) -> PathBuf {
        self.root.join("guest-kernel")
    }

    pub fn read_policies(&self) -> PathBuf {
        self.root.join("read-policies")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn with_data(root: &Path) {
        fs::create_dir_all(root.join("lab")).unwrap();
        fs::create_dir_all(root.join("guest-kernel")).unwrap();
        fs::create_dir_all(root.join("read-policies")).unwrap();
    }

    #[test]
    fn an_installation_is_preferred_to_folders_above() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path();
        fs::create_dir_all(prefix.join("bin")).unwrap();
        let executable = prefix.join("bin/disklab");
        with_data(prefix);
        assert_eq!(Share::search(None, Some(&executable)).unwrap().root(), prefix);
        with_data(&prefix.join("share/disklab"));
        assert_eq!(
            Share::search(None, Some(&executable)).unwrap().root(),
            prefix.join("share/disklab")
        );
    }

    #[test]
    fn a_work_tree_is_found_from_its_target_folder() {
        let folder = tempfile::tempdir().unwrap();
        with_data(folder.path());
        fs::create_dir_all(folder.path().join("target/release/lab")).unwrap();
        let found =
            Share::search(None, Some(&folder.path().join("target/release/disklab"))).unwrap();
        assert_eq!(found.lab(), folder.path().join("lab"));
    }

    #[test]
    fn a_wrong_disklab_home_is_an_error_even_where_data_could_be_found() {
        let folder = tempfile::tempdir().unwrap();
        with_data(folder.path());
        let error =
            Share::search(Some(Path::new("/nowhere")), Some(&folder.path().join("disklab")))
                .unwrap_err();
        assert!(error.to_string().contains("DISKLAB_HOME=/nowhere"), "{error}");
    }

    #[test]
    fn where_it_looked_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error =
            Share::search(None, Some(&folder.path().join("bin/disklab"))).unwrap_err().to_string();
        assert!(error.contains("share/disklab") && error.contains("DISKLAB_HOME"), "{error}");
    }
}
