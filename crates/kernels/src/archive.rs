//! The suites to search for a kernel package: those of the Debian archive that this machine uses.
//!
//! The machine's own apt configuration says which mirror and which keyring; only the names of
//! further suites are ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::process::Runner;

/// Suites that carry newer kernels than a machine's own, in the order of the search: the one
/// nearest to a stable release first. A suite that a mirror lacks is skipped with a note.
const ELSEWHERE: [&str; 3] = ["trixie-backports", "forky", "sid"];

/// Names of suites that move from release to release.
const MOVING: [&str; 5] = ["oldstable", "stable", "testing", "unstable", "sid"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suite {
    pub name: String,
    pub uri: String,
    /// The value of `Signed-By`: a keyring's path, or a whole key (then of several lines).
    pub signed_by: Option<String>,
}

/// Returns the suites to search, in order: the machine's own, its release's backports, then
/// `ELSEWHERE`.
pub(crate) fn suites(runner: Runner) -> Result<Vec<Suite>> {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let codename = codename(&release).map_err(|why| Error::NoPackage { tried: vec![why] })?;
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--no-release-info", "--format"]);
    command.arg("$(TARGET_OF)|$(CREATED_BY)|$(COMPONENT)|$(RELEASE)|$(REPO_URI)|$(SOURCESENTRY)");
    let targets = runner.output(command.env("LC_ALL", "C"))?;
    let found =
        from_targets(&targets, codename.as_deref(), &|path| std::fs::read_to_string(path).ok());
    if found.is_empty() {
        let why = "apt on this machine has no Debian archive among its sources (component main)";
        return Err(Error::NoPackage { tried: vec![why.to_owned()] });
    }
    Ok(found)
}

/// Returns the codename in `/etc/os-release`, if it is Debian's. Debian unstable has no codename of
/// its own.
fn codename(os_release: &str) -> std::result::Result<Option<String>, String> {
    let value = |name: &str| {
        os_release.lines().find_map(|line| {
            let text = line.strip_prefix(name)?.strip_prefix('=')?;
            Some(text.trim_matches('"').to_owned())
        })
    };
    match value("ID").as_deref() {
        Some("debian") => Ok(value("VERSION_CODENAME")),
        Some(other) => {
            Err(format!("this machine runs {other}, and only Debian's archive has the packages"))
        }
        None => Err("/etc/os-release does not say that this is Debian".to_owned()),
    }
}

/// An index of one of the machine's own suites.
struct Target<'a> {
    release: &'a str,
    uri: &'a str,
    entry: PathBuf,
}

fn from_targets(
    targets: &str,
    codename: Option<&str>,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Vec<Suite> {
    let targets: Vec<Target> = targets.lines().filter_map(target).collect();
    let of_release = targets.iter().find(|target| Some(target.release) == codename);
    let Some(main) =
        of_release.or_else(|| targets.iter().find(|target| MOVING.contains(&target.release)))
    else {
        return Vec::new();
    };
    let signed_by =
        |target: &Target| read(&target.entry).and_then(|text| signed_by(&text, target.uri));
    let mut suites: Vec<Suite> = Vec::new();
    let mut add = |name: &str, target: &Target| {
        if suites.iter().all(|suite| suite.name != name) {
            suites.push(Suite {
                name: name.into(),
                uri: target.uri.into(),
                signed_by: signed_by(target),
            });
        }
    };
    for target in &targets {
        let of_this_release = codename.is_some_and(|codename| target.release.starts_with(codename));
        if target.uri == main.uri || of_this_release {
            add(target.release, target);
        }
    }
    if let Some(codename) = codename {
        add(&format!("{codename}-backports"), main);
    }
    for name in ELSEWHERE {
        add(name, main);
    }
    suites
}

fn target(line: &str) -> Option<Target<'_>> {
    let mut fields = line.split('|');
    let mut field = || fields.next();
    let (of, by, component) = (field()?, field()?, field()?);
    let (release, uri, entry) = (field()?, field()?, field()?);
    let entry = entry.rsplit_once(':').map_or(entry, |(path, _)| path);
    (of == "deb" && by == "Packages" && component == "main").then(|| Target {
        release,
        uri,
        entry: entry.into(),
    })
}

/// Returns the `Signed-By` of the entry for `uri` in a sources file of either format.
fn signed_by(sources: &str, uri: &str) -> Option<String> {
    let same = |word: &str| word.trim_end_matches('/') == uri.trim_end_matches('/');
    let one_line = sources.lines().filter(|line| line.starts_with("deb")).find_map(|line| {
        let (options, rest) = line.split_once('[')?.1.split_once(']')?;
        let option =
            options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="))?;
        rest.split_whitespace().any(same).then(|| option.to_owned())
    });
    one_line.or_else(|| {
        sources.split("\n\n").find_map(|stanza| {
            field(stanza, "URIs")?
                .split_whitespace()
                .any(same)
                .then(|| field(stanza, "Signed-By"))?
        })
    })
}

/// Returns a field of a deb822 stanza, with its continuation lines unchanged.
fn field(stanza: &str, name: &str) -> Option<String> {
    let mut lines = stanza.lines().filter(|line| !line.starts_with('#'));
    let first = lines.find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })?;
    let more = lines.take_while(|line| line.starts_with([' ', '\t']));
    Some(more.fold(first, |text, line| format!("{text}\n{line}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &str = "\
deb|Packages|main|bookworm|http://mirror.example/debian/|/etc/a.sources:1
deb|DEP-11|main|bookworm|http://mirror.example/debian/|/etc/a.sources:1
deb|Packages|contrib|bookworm|http://mirror.example/debian/|/etc/a.sources:1
deb|Packages|main|bookworm-updates|http://mirror.example/debian/|/etc/a.sources:1
deb|Packages|main|bookworm-security|http://mirror.example/security/|/etc/b.list:3
deb|Packages|main|cloud-sdk-bookworm|https://else.example/apt/|/etc/c.list:1
deb-src|Sources|main|bookworm|http://mirror.example/debian/|/etc/a.sources:1
";

    fn read(path: &Path) -> Option<String> {
        match path.to_str()? {
            "/etc/a.sources" => Some(
                "# a comment\nTypes: deb\nURIs: http://other.example/x\nSigned-By: \
                 /wrong\n\nTypes: deb\n# another\n\
                 URIs: http://mirror.example/debian\nSuites: bookworm\nSigned-By: \
                 /usr/share/keyrings/a.gpg\n"
                    .into(),
            ),
            "/etc/b.list" => Some(
                "deb http://mirror.example/security other main\n\
                 deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/security \
                 bookworm-security main\n"
                    .into(),
            ),
            _ => None,
        }
    }

    #[test]
    fn the_machines_own_suites_come_first_then_backports_then_newer_ones() {
        let suites = from_targets(TARGETS, Some("bookworm"), &read);
        let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "bookworm",
                "bookworm-updates",
                "bookworm-security",
                "bookworm-backports",
                "trixie-backports",
                "forky",
                "sid"
            ]
        );
        for suite in &suites {
            let (uri, key) = match suite.name.as_str() {
                "bookworm-security" => ("http://mirror.example/security/", "/k.gpg"),
                _ => ("http://mirror.example/debian/", "/usr/share/keyrings/a.gpg"),
            };
            assert_eq!(
                (suite.uri.as_str(), suite.signed_by.as_deref()),
                (uri, Some(key)),
                "{}",
                suite.name
            );
        }
    }

    #[test]
    fn a_machine_that_follows_a_moving_suite_has_an_archive_too() {
        let targets = "deb|Packages|main|unstable|http://mirror.example/debian/|/etc/none:1\n";
        let names: Vec<String> = from_targets(targets, Some("forky"), &read)
            .into_iter()
            .map(|suite| suite.name)
            .collect();
        assert_eq!(names, ["unstable", "forky-backports", "trixie-backports", "forky", "sid"]);
    }

    #[test]
    fn no_suite_is_asked_twice() {
        let targets = "deb|Packages|main|trixie|http://m/|/x:1\n\
                       deb|Packages|main|trixie-backports|http://m/|/x:1\n";
        let names: Vec<String> = from_targets(targets, Some("trixie"), &read)
            .into_iter()
            .map(|suite| suite.name)
            .collect();
        assert_eq!(names, ["trixie", "trixie-backports", "forky", "sid"]);
    }

    #[test]
    fn a_machine_without_debian_sources_has_no_suites() {
        assert_eq!(
            from_targets("deb|Packages|main|stable-x|http://m/|/x:1\n", Some("trixie"), &read),
            []
        );
        assert_eq!(from_targets("", None, &read), []);
    }

    #[test]
    fn only_debian_is_debian() {
        let debian = "PRETTY_NAME=\"Debian\"\nVERSION_CODENAME=trixie\nID=debian\n";
        assert_eq!(codename(debian).unwrap().as_deref(), Some("trixie"));
        assert!(codename("ID=ubuntu\nID_LIKE=debian\n").unwrap_err().contains("ubuntu"));
        assert!(codename("").is_err());
    }

    #[test]
    fn a_key_within_the_sources_is_carried_along_whole() {
        let sources =
            "URIs: http://m/debian\nSigned-By:\n -----BEGIN KEY-----\n .\n abc\nSuites: x\n";
        assert_eq!(
            signed_by(sources, "http://m/debian/").unwrap(),
            "\n -----BEGIN KEY-----\n .\n abc"
        );
    }
}
