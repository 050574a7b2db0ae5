//! The data of this installation, and the lab in it.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use disklab_config::{Diagnostics, Lab};
use disklab_kernels::{Series, Share};

use crate::exit::Failure;

#[derive(Debug)]
pub struct Home {
    pub share: Share,
    pub lab: Lab,
}

impl Home {
    pub fn open() -> Result<Self, Failure> {
        let share = Share::find()?;
        // Messages then name files as the user would.
        let lab = Lab::load(&from_here(&share.lab()))?;
        Ok(Self { share, lab })
    }

    /// Opens what of the lab has no mistakes, and returns the mistakes of the other files.
    pub fn open_valid() -> Result<(Self, Diagnostics), Failure> {
        let share = Share::find()?;
        let (lab, mistakes) = Lab::load_valid(&from_here(&share.lab()))?;
        Ok((Self { share, lab }, mistakes))
    }

    /// Returns the supported kernels, the most preferred first.
    pub fn series(&self) -> Vec<Series> {
        let series = |kernel: &disklab_config::Kernel| Series {
            series: kernel.series.clone(),
            package: kernel.package.clone(),
        };
        self.lab.kernels.iter().map(series).collect()
    }
}

/// Returns `path` relative to the current folder if it is below that folder.
pub fn from_here(path: &Path) -> PathBuf {
    let below =
        env::current_dir().ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    below.filter(|below| !below.as_os_str().is_empty()).unwrap_or_else(|| path.to_owned())
}

/// Returns the paths of a folder's entries, sorted by name.
pub fn paths_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort_unstable();
    Ok(paths)
}
