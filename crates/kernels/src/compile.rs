//! Runs the kernel's own build: configures, checks the configuration, and compiles. All output goes
//! to a log.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::config::Fragment;
use crate::error::{Error, Result};
use crate::file;
use crate::process::{Runner, Sign};
use crate::step::{BuildStep, Report};
use crate::version::Version;

/// Prefix of make's line about a compiled object. Other steps take almost no time.
const COMPILED: &str = "  CC ";

/// Least number of objects from which a remaining time is predicted.
const ENOUGH: u32 = 20;

/// Optional tools of the kernel's build. Their presence goes into the configuration, so that the
/// same kernel would differ from machine to machine; the guest needs none of them.
const UNUSED_TOOLS: [&str; 3] = ["RUSTC=false", "BINDGEN=false", "PAHOLE=false"];

/// Number of lines of a failed build that are shown.
const SHOWN: usize = 12;

/// The build of one kernel.
pub(crate) struct Compilation<'a> {
    /// The tree with everything inserted.
    pub tree: &'a Path,
    /// Folder of the objects; made here.
    pub objects: &'a Path,
    pub version: &'a Version,
    /// Log of make's output, kept if the build fails.
    pub log: &'a Path,
    pub jobs: usize,
    pub runner: Runner<'a>,
}

impl Compilation<'_> {
    /// Writes `.config` into the objects' folder: the smallest configuration and the fragment.
    pub fn configure(&self, fragment: &Fragment) -> Result<()> {
        file::create_folder(self.objects)?;
        File::create(self.log).map_err(Error::io("create the log", self.log))?;
        if [".config", "include/config", "arch/um/include/generated"]
            .iter()
            .any(|at| self.tree.join(at).exists())
        {
            // The user has built in this tree. A copy must be clean for a build in another folder.
            self.succeed(
                Command::new("make").current_dir(self.tree).args(["ARCH=um", "mrproper"]),
            )?;
        }
        self.succeed(self.make().arg("tinyconfig"))?;
        let path = self.objects.join(".config");
        let tiny = file::text(&path)?;
        file::write(&path, tiny + fragment.text())?;
        self.succeed(self.make().arg("olddefconfig"))?;
        let lines = fragment.lost(&file::text(&path)?);
        if lines.is_empty() {
            Ok(())
        } else {
            Err(Error::LostConfig { version: self.version.clone(), lines })
        }
    }

    /// Builds `linux`; `expected` is the expected number of objects. Returns the actual number.
    pub fn compile(&self, expected: u32, report: Report) -> Result<u32> {
        let start = Instant::now();
        let mut done = 0;
        let mut make = self.make();
        make.arg(format!("-j{}", self.jobs)).arg("linux");
        report(BuildStep::Compiling { done, total: expected, remaining: None });
        self.logged(&mut make, &mut |line| {
            if line.starts_with(COMPILED) {
                done += 1;
                let total = expected.max(done + 1);
                let remaining = remaining(start.elapsed(), done, total);
                report(BuildStep::Compiling { done, total, remaining });
            }
        })?;
        Ok(done)
    }

    fn make(&self) -> Command {
        let mut make = Command::new("make");
        make.arg("-C")
            .arg(self.tree)
            .arg("ARCH=um")
            .arg(format!("O={}", self.objects.display()))
            .args(UNUSED_TOOLS);
        make
    }

    fn succeed(&self, make: &mut Command) -> Result<()> {
        self.logged(make, &mut |_| {})
    }

    /// Runs make in an environment of its own. No setting of a user or an outer make changes the
    /// kernel, and the same source gives the same bytes on any day and machine.
    fn logged(&self, make: &mut Command, watch: &mut dyn FnMut(&str)) -> Result<()> {
        make.env_clear();
        for name in ["PATH", "HOME", "TMPDIR"] {
            make.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        // For users with ccache's gcc in the path: the folder of the build must make no difference.
        make.envs(std::env::var_os("CCACHE_DIR").map(|folder| ("CCACHE_DIR", folder)));
        make.envs(self.tree.parent().map(|folder| ("CCACHE_BASEDIR", folder)));
        make.env("LC_ALL", "C");
        make.env("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970");
        make.env("KBUILD_BUILD_VERSION", "1");
        make.env("KBUILD_BUILD_USER", "disklab").env("KBUILD_BUILD_HOST", "disklab");
        let mut log = File::options()
            .append(true)
            .open(self.log)
            .map_err(Error::io("write to the log", self.log))?;
        let mut written = Ok(());
        let status = self.runner.watch(make, &mut |sign| {
            if let Sign::Line(line) = sign {
                if written.is_ok() {
                    written = writeln!(log, "{line}");
                }
                watch(line);
            }
        })?;
        written.map_err(Error::io("write to the log", self.log))?;
        if status.success() {
            return Ok(());
        }
        let log = std::fs::read(self.log).map_err(Error::io("read the log", self.log))?;
        Err(Error::Make {
            version: self.version.clone(),
            status: status.to_string(),
            tail: last_words(&String::from_utf8_lossy(&log)),
            log: self.log.to_path_buf(),
        })
    }
}

fn remaining(elapsed: Duration, done: u32, total: u32) -> Option<Duration> {
    (done >= ENOUGH).then(|| elapsed / done * total.saturating_sub(done))
}

/// Returns the lines of a log around its first error, or its last lines. Later errors are often
/// consequences of the first. Some tools name the cause just before make reports the failure.
fn last_words(log: &str) -> Vec<String> {
    const BEFORE: usize = 3;
    let lines: Vec<&str> = log.lines().collect();
    let tells = |line: &&str| {
        ["error:", "*** ", "undefined reference"].iter().any(|word| line.contains(word))
    };
    let start = match lines.iter().position(tells) {
        Some(first) => first.saturating_sub(BEFORE),
        None => lines.len().saturating_sub(SHOWN),
    };
    lines[start..].iter().take(SHOWN).map(|&line| line.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_in_proportion() {
        assert_eq!(remaining(Duration::from_secs(10), 5, 100), None);
        assert_eq!(remaining(Duration::from_secs(10), 50, 100), Some(Duration::from_secs(10)));
        assert_eq!(remaining(Duration::from_secs(10), 100, 100), Some(Duration::ZERO));
    }

    #[test]
    fn the_first_error_is_found_among_thousands_of_lines() {
        let mut log = "  CC      a.o\n".repeat(5000);
        log.push_str("Kconfig:1: can't open file\nmake[2]: *** [conf] Error 1\n");
        log.push_str(&"  CC      b.o\n".repeat(50));
        let shown = last_words(&log);
        assert_eq!(shown.len(), SHOWN);
        assert_eq!(
            shown[2..5],
            ["Kconfig:1: can't open file", "make[2]: *** [conf] Error 1", "  CC      b.o"]
        );
        assert_eq!(last_words("one\ntwo\n"), ["one", "two"]);
    }
}
