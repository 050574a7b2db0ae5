//! Kernel sources from Debian packages: fetched once, kept in the cache, so that no network is
//! needed afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt::{Lists, Offer};
use crate::archive::{self, Suite};
use crate::claim::{Claim, Scratch};
use crate::digest;
use crate::error::{Error, Result};
use crate::file;
use crate::process::Runner;
use crate::provenance::Provenance;
use crate::step::{BuildStep, Report};

/// A kernel tarball out of a package, and what is known about it.
#[derive(Debug)]
pub(crate) struct Package {
    pub tarball: PathBuf,
    pub sha256: String,
    pub provenance: Provenance,
}

/// Returns the package's tarball in the folder `sources`: the existing one, or else the first that
/// a suite offers.
pub(crate) fn obtain(
    sources: &Path,
    package: &str,
    runner: Runner,
    report: Report,
) -> Result<Package> {
    let claim = Claim::take(sources, package, runner.stop, report)?;
    match kept(sources, package, report) {
        Ok(Some(package)) => return Ok(package),
        Ok(None) => {}
        Err(damage) => report(BuildStep::Note(format!("{damage}; fetching {package} again"))),
    }
    let scratch = claim.scratch()?;
    let mut tried = Vec::new();
    for suite in archive::suites(runner)? {
        report(BuildStep::Looking { package: package.to_owned(), suite: suite.name.clone() });
        let place = scratch.path().join(&suite.name);
        let asked = Lists::fetch(&suite, &place, runner)
            .and_then(|lists| Ok((lists.offer(package)?, lists)));
        match asked {
            Ok((Some(offer), lists)) => {
                let archive = lists.download(&offer, &place.join("package"), report)?;
                let found = DownloadedPackage { archive, offer, suite };
                return keep(sources, package, &found, &scratch, runner);
            }
            Ok((None, _)) => tried.push(format!("{package} in {}: not found", suite.name)),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => tried.push(format!("{package} in {}: {}", suite.name, reason(&error))),
        }
    }
    Err(Error::NoPackage { tried })
}

/// A downloaded package.
struct DownloadedPackage {
    archive: PathBuf,
    offer: Offer,
    suite: Suite,
}

/// Returns the paths of a package. `<package>.toml` is written last: if it exists, the tarball
/// beside it is complete.
fn places(sources: &Path, package: &str) -> (PathBuf, PathBuf) {
    (sources.join(format!("{package}.tar.xz")), sources.join(format!("{package}.toml")))
}

fn kept(sources: &Path, package: &str, report: Report) -> Result<Option<Package>> {
    let (tarball, note) = places(sources, package);
    if !tarball.is_file() || !note.is_file() {
        return Ok(None);
    }
    report(BuildStep::Preparing { what: format!("checking {}", tarball.display()) });
    let damaged = |why: String| Error::Damaged { path: sources.to_path_buf(), why };
    let provenance: Provenance = toml::from_str(&file::text(&note)?)
        .map_err(|wrong| damaged(format!("{}: {}", note.display(), wrong.message())))?;
    let Provenance::Package { sha256, .. } = &provenance else {
        return Err(damaged(format!("{} is not about a package", note.display())));
    };
    let (expected, found) = (sha256.clone(), digest::of_file(&tarball)?);
    if found != expected {
        return Err(Error::WrongDigest { path: tarball, expected, found });
    }
    Ok(Some(Package { tarball, sha256: found, provenance }))
}

fn keep(
    sources: &Path,
    package: &str,
    found: &DownloadedPackage,
    scratch: &Scratch,
    runner: Runner,
) -> Result<Package> {
    let opened = scratch.path().join("opened");
    runner.output(Command::new("dpkg-deb").arg("--extract").arg(&found.archive).arg(&opened))?;
    let inside = opened.join("usr/src").join(format!("{package}.tar.xz"));
    if !inside.is_file() {
        let why = format!("the package has no usr/src/{package}.tar.xz");
        return Err(Error::not_a_source(&found.archive, why));
    }
    let sha256 = digest::of_file(&inside)?;
    let provenance = Provenance::Package {
        package: package.to_owned(),
        version: found.offer.version.clone(),
        suite: found.suite.name.clone(),
        sha256: sha256.clone(),
    };
    let (tarball, note) = places(sources, package);
    file::sync(&inside)?;
    file::rename(&inside, &tarball)?;
    let fresh = scratch.path().join("note");
    file::write_synced(&fresh, provenance.to_toml().as_bytes())?;
    file::rename(&fresh, &note)?;
    Ok(Package { tarball, sha256, provenance })
}

/// Formats the reason of an error on one line, for a list of attempts.
fn reason(error: &Error) -> String {
    match error {
        Error::Command { tail, .. } => {
            let said = tail.iter().find(|line| line.starts_with("E: ")).or(tail.last());
            said.map_or_else(|| error.to_string(), |line| line.trim_start_matches("E: ").to_owned())
        }
        _ => error.to_string(),
    }
}
