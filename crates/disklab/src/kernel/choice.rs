//! Kernels and their sources, as the command line names them.

use std::path::Path;

use disklab_config::kernel::NEWEST;
use disklab_config::read::unknown;
use disklab_kernels::{Btrfs, KernelSource, split_policies};

use crate::exit::{Failure, mistaken};
use crate::home::Home;

/// The source at a path, and the btrfs that its kernel is to have; `digest` is what a tarball's
/// SHA-256 must be.
pub fn source(path: &Path, digest: Option<&str>) -> Result<(KernelSource, Btrfs), Failure> {
    let text = path.to_str();
    let (path, btrfs) = text.map_or((path, Btrfs::Untouched), |text| {
        let (source, btrfs) = split_policies(text);
        (Path::new(source), btrfs)
    });
    let found = KernelSource::find(path).map_err(Failure::mistaken)?;
    match (found, digest) {
        (KernelSource::Tarball { path, .. }, digest) => {
            let sha256 = digest.map(str::to_lowercase);
            Ok((KernelSource::Tarball { path, sha256 }, btrfs))
        }
        (_, Some(_)) => Err(mistaken!("--sha256 is for a tarball, and {} is none", path.display())),
        (tree, None) => Ok((tree, btrfs)),
    }
}

/// Whether there can be a kernel of this name, built or not.
pub fn could_be(home: &Home, name: &str) -> bool {
    name == NEWEST
        || name.contains('/')
        || name.parse::<disklab_kernels::Version>().is_ok()
        || home.lab.kernels.iter().any(|kernel| kernel.series == name)
}

pub fn unknown_kernel(home: &Home, name: &str) -> Failure {
    let known = home.lab.kernels.iter().map(|kernel| kernel.series.as_str()).chain([NEWEST]);
    Failure::mistaken(unknown("kernel", name, known))
}
