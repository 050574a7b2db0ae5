//! Runs apt with package lists of its own. The machine's lists, caches, pins and hooks are neither
//! used nor changed.
//!
//! An ordinary user can run it, since apt writes into one private folder only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use disklab_units::Bytes;

use crate::archive::Suite;
use crate::error::Result;
use crate::file;
use crate::process::{Runner, failure};
use crate::step::{BuildStep, Report};

/// apt reads this after the machine's configuration, whose proxies, certificates and credentials
/// remain valid.
const CONFIGURATION: &str = r#"
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb;
Acquire::IndexTargets::deb::Packages
{
  MetaKey "$(COMPONENT)/binary-$(ARCHITECTURE)/Packages";
  flatMetaKey "Packages";
  ShortDescription "Packages";
  Description "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Packages";
};
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
APT::Default-Release "";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
"#;

/// The package lists of one suite, in a private folder.
pub(crate) struct Lists<'a> {
    folder: PathBuf,
    runner: Runner<'a>,
}

/// A package as a suite offers it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    package: String,
    pub version: String,
    file: String,
    size: Bytes,
}

impl<'a> Lists<'a> {
    /// Fetches the list of `suite` into the new folder `folder`, an absolute path.
    pub fn fetch(suite: &Suite, folder: &Path, runner: Runner<'a>) -> Result<Self> {
        for name in ["lists/partial", "cache/archives/partial"] {
            file::create_folder(&folder.join(name))?;
        }
        let signed_by =
            suite.signed_by.as_ref().map(|key| format!("Signed-By: {key}\n")).unwrap_or_default();
        let source = format!(
            "Types: deb\nURIs: {}\nSuites: {}\nComponents: main\n{signed_by}",
            suite.uri, suite.name
        );
        for (name, text) in [
            ("apt.conf", CONFIGURATION),
            ("suite.sources", &source),
            ("status", ""),
            ("preferences", ""),
        ] {
            let path = folder.join(name);
            file::write(&path, text)?;
        }
        let lists = Self { folder: folder.to_path_buf(), runner };
        runner.output(lists.apt_get().arg("update"))?;
        Ok(lists)
    }

    /// Returns the package of that name, if the suite offers it.
    pub fn offer(&self, package: &str) -> Result<Option<Offer>> {
        let mut command = self.apt_get();
        command.args(["--print-uris", "download", package]);
        let (status, text) = self.runner.text(&mut command, &mut || ())?;
        if status.success() {
            text.lines()
                .find_map(|line| offer(line, package))
                .map_or_else(|| Err(failure(&command, status, &text)), |offer| Ok(Some(offer)))
        } else if text.contains("Unable to locate package")
            || text.contains("no installation candidate")
        {
            Ok(None)
        } else {
            Err(failure(&command, status, &text))
        }
    }

    /// Downloads into `folder`; apt checks size and digest against the signed lists.
    pub fn download(&self, offer: &Offer, folder: &Path, report: Report) -> Result<PathBuf> {
        file::create_folder(folder)?;
        let mut command = self.apt_get();
        command
            .arg("download")
            .arg(format!("{}={}", offer.package, offer.version))
            .current_dir(folder);
        let target = folder.join(&offer.file);
        let (status, text) = self.runner.text(&mut command, &mut || {
            let done = Bytes(fs::metadata(&target).map_or(0, |metadata| metadata.len()));
            let package = offer.package.clone();
            report(BuildStep::Downloading { package, done, total: offer.size });
        })?;
        if status.success() && target.is_file() {
            Ok(target)
        } else {
            Err(failure(&command, status, &text))
        }
    }

    fn apt_get(&self) -> Command {
        let mut command = Command::new("apt-get");
        let inside = |name: &str| self.folder.join(name).display().to_string();
        command.arg("--quiet").arg("--config-file").arg(inside("apt.conf"));
        for (option, place) in [
            ("Dir::State", ""),
            ("Dir::State::Lists", "lists"),
            ("Dir::State::status", "status"),
            ("Dir::Cache", "cache"),
            ("Dir::Etc::SourceList", "suite.sources"),
            ("Dir::Etc::Preferences", "preferences"),
        ] {
            command.arg("--option").arg(format!("{option}={}", inside(place)));
        }
        for option in ["Dir::Etc::SourceParts", "Dir::Etc::PreferencesParts"] {
            command.arg("--option").arg(format!("{option}=/dev/null"));
        }
        command.env("LC_ALL", "C");
        command
    }
}

/// Reads a line of `--print-uris`: 'URI' file size digest.
fn offer(line: &str, package: &str) -> Option<Offer> {
    let mut words = line.strip_prefix('\'')?.split_once("' ")?.1.split_whitespace();
    let (file, size) = (words.next()?, words.next()?);
    let version = file.strip_prefix(package)?.strip_prefix('_')?.rsplit_once('_')?.0;
    Some(Offer {
        package: package.to_owned(),
        version: version.replace("%3a", ":"),
        file: file.to_owned(),
        size: Bytes(size.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn an_offer_is_read_from_the_line_that_apt_prints() {
        let line = "'http://m/pool/main/l/linux/linux-source-7.3_7.3.4-1%7ebpo13%2b1_all.deb' \
                    linux-source-7.3_7.3.4-1~bpo13+1_all.deb 166780612 SHA256:703e";
        let found = offer(line, "linux-source-7.3").unwrap();
        assert_eq!((found.version.as_str(), found.size), ("7.3.4-1~bpo13+1", Bytes(166_780_612)));
        assert_eq!(found.file, "linux-source-7.3_7.3.4-1~bpo13+1_all.deb");
        assert_eq!(offer("W: something", "linux-source-7.3"), None);
        assert_eq!(offer(line, "linux-source-7.2"), None);
    }

    /// Makes a suite in a folder, with one unsigned package that holds a text.
    fn repository(folder: &Path) -> Suite {
        let root = folder.join("deb");
        for (path, text) in [
            (
                "DEBIAN/control",
                "Package: linux-source-0.1\nVersion: 0.1.2-3\nArchitecture: all\nMaintainer: n \
                 <e@e>\nDescription: d\n",
            ),
            ("usr/src/text", "hello"),
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        let deb = folder.join("pool/linux-source-0.1_0.1.2-3_all.deb");
        let lists = folder.join("dists/test/main/binary-amd64");
        fs::create_dir_all(deb.parent().unwrap()).unwrap();
        fs::create_dir_all(&lists).unwrap();
        RUNNER.output(Command::new("dpkg-deb").arg("--build").arg(&root).arg(&deb)).unwrap();
        let control = file::text(&root.join("DEBIAN/control")).unwrap();
        let (size, digest) = (deb.metadata().unwrap().len(), crate::digest::of_file(&deb).unwrap());
        let packages = format!(
            "{control}Filename: pool/linux-source-0.1_0.1.2-3_all.deb\nSize: {size}\nSHA256: \
             {digest}\n"
        );
        fs::write(lists.join("Packages"), &packages).unwrap();
        let release = format!(
            "Suite: test\nCodename: test\nArchitectures: amd64\nComponents: main\nSHA256:\n {} {} \
             main/binary-amd64/Packages\n",
            disklab_protocol::digest::sha256_hex(packages.as_bytes()),
            packages.len()
        );
        fs::write(folder.join("dists/test/Release"), release).unwrap();
        // A second field after the first makes apt accept the unsigned suite.
        let signed_by = Some("/usr/share/keyrings/none.gpg\nTrusted: yes".to_owned());
        Suite { name: "test".into(), uri: format!("file:{}", folder.display()), signed_by }
    }

    static RUN: AtomicBool = AtomicBool::new(false);
    const RUNNER: Runner = Runner { stop: &RUN };

    #[test]
    fn a_package_is_found_and_fetched_with_private_lists() {
        let (place, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let suite = repository(place.path());
        let lists = Lists::fetch(&suite, private.path(), RUNNER).unwrap();
        assert_eq!(lists.offer("linux-source-9.9").unwrap(), None);
        let offer = lists.offer("linux-source-0.1").unwrap().unwrap();
        assert_eq!(offer.version, "0.1.2-3");
        let found = lists.download(&offer, &private.path().join("got"), &mut |_| {}).unwrap();
        assert_eq!(crate::digest::of_file(&found).unwrap().len(), 64);
        assert_eq!(found.metadata().unwrap().len(), offer.size.0);
    }

    #[test]
    fn a_package_that_is_not_what_the_lists_say_is_refused() {
        let (place, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let suite = repository(place.path());
        let lists = Lists::fetch(&suite, private.path(), RUNNER).unwrap();
        let offer = lists.offer("linux-source-0.1").unwrap().unwrap();
        let deb = place.path().join("pool/linux-source-0.1_0.1.2-3_all.deb");
        let mut bytes = fs::read(&deb).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&deb, bytes).unwrap();
        let error = lists
            .download(&offer, &private.path().join("got"), &mut |_| {})
            .unwrap_err()
            .to_string();
        assert!(error.contains("Hash Sum mismatch"), "{error}");
    }

    #[test]
    fn a_suite_that_is_not_there_is_an_error_of_apt() {
        let (place, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let suite = Suite { name: "nowhere".into(), signed_by: None, ..repository(place.path()) };
        let error = Lists::fetch(&suite, private.path(), RUNNER).err().unwrap().to_string();
        assert!(error.contains("nowhere"), "{error}");
    }
}
