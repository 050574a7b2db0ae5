//! Parses the names of kernels and sources on the command line.

use std::path::Path;

use disklab_config::kernel::NEWEST;
use disklab_config::read::unknown;
use disklab_kernels::{Btrfs, KernelSource, split_policies};

use crate::exit::{Failure, mistaken};
use crate::home::Home;

/// Returns the source at a path, and the btrfs for its kernel; `digest` is the SHA-256 that a
/// tarball must have.
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
        (_, Some(_)) => Err(mistaken!(
            "--sha256 checks a tarball, and {} is not one; leave it out",
            path.display()
        )),
        (tree, None) => Ok((tree, btrfs)),
    }
}

/// Returns true if a kernel of this name can exist, built or not.
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
