//! Checks of this machine: its abilities, missing parts, and the one command that supplies each.

mod check;
mod machine;

pub use check::{Check, CheckState};

use std::env;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::error::Error;
use crate::kernel;
use crate::recipe::Btrfs;
use crate::share::Share;

/// A line for each thing: `command package what for`.
const PACKAGES: &str = include_str!("../../../install/packages");

/// Makes all checks. Errors of opening the cache and the data are findings too.
pub fn examine(cache: Result<&Cache, &Error>, share: Result<&Share, &Error>) -> Vec<Check> {
    let kernel = cache.ok().zip(share.ok()).map(|(cache, share)| kernel(cache, share));
    let built = kernel.as_ref().is_some_and(|kernel| kernel.state == CheckState::Good);
    let mut checks = vec![machine::processor()];
    checks.extend(tools(&search_path(), rustix::process::geteuid().is_root(), built));
    checks.extend([
        machine::system_calls(),
        machine::memory(),
        machine::shared_memory(Path::new("/dev/shm")),
    ]);
    checks.push(match share {
        Ok(share) => Check::good("data", share.root().display().to_string()),
        Err(error) => {
            let remedy = "set DISKLAB_HOME or run `make install` again";
            Check::missing("data", error.to_string(), remedy)
        }
    });
    match cache {
        Ok(cache) => checks.extend([machine::space(cache, built), machine::copies(cache)]),
        Err(error) => {
            let remedy = "export XDG_CACHE_HOME=/var/tmp/$USER";
            checks.push(Check::bad("cache", error.to_string(), remedy));
        }
    }
    checks.extend(kernel);
    checks
}

fn kernel(cache: &Cache, share: &Share) -> Check {
    match kernel::find(cache, share, Btrfs::Policies, "newest") {
        Ok(kernel) => {
            Check::good("guest kernel", format!("{}, built from {}", kernel.version, kernel.source))
        }
        Err(Error::NoKernel { why, .. }) => {
            Check::missing("guest kernel", why, "disklab kernel build")
        }
        Err(error) => Check::bad("guest kernel", error.to_string(), "disklab kernel build"),
    }
}

/// Returns the search path. Ordinary users of Debian lack the folders of mkfs in theirs.
fn search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from)).collect()
}

/// Checks each tool; the remedy of each missing one is the command that installs all of them. If a
/// kernel is built, the tools for building may be missing.
fn tools(path: &[PathBuf], root: bool, built: bool) -> Vec<Check> {
    let needs: Vec<(&str, &str, &str)> = PACKAGES.lines().filter_map(need).collect();
    let place =
        |tool: &str| path.iter().map(|folder| folder.join(tool)).find(|file| file.is_file());
    let unneeded = |purpose: &str| built && purpose.contains("kernel");
    let lacking =
        |(tool, _, purpose): &&(&str, &str, &str)| place(tool).is_none() && !unneeded(purpose);
    let mut packages: Vec<&str> =
        needs.iter().filter(lacking).map(|(_, package, _)| *package).collect();
    packages.dedup();
    let sudo = if root { "" } else { "sudo " };
    let remedy = format!("{sudo}apt-get install {}", packages.join(" "));
    let check = |(tool, _, purpose): &(&str, &str, &str)| match place(tool) {
        Some(file) => Check::good(tool, file.display().to_string()),
        None if unneeded(purpose) => Check {
            state: CheckState::Unneeded,
            ..Check::good(tool, format!("needed only {purpose}, and one is built"))
        },
        None => Check::missing(tool, format!("needed {purpose}"), remedy.clone()),
    };
    needs.iter().map(check).collect()
}

fn need(line: &str) -> Option<(&str, &str, &str)> {
    let (tool, rest) = line.split_once(char::is_whitespace)?;
    let (package, purpose) = rest.trim_start().split_once(char::is_whitespace)?;
    (tool != "#").then(|| (tool, package, purpose.trim_start()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn missing_tools_share_one_line_that_installs_them() {
        let folder = tempfile::tempdir().unwrap();
        for tool in PACKAGES.lines().filter_map(need).map(|(tool, ..)| tool) {
            if !tool.starts_with('/') && !["flex", "mkfs.btrfs", "mdadm"].contains(&tool) {
                fs::write(folder.path().join(tool), "").unwrap();
            }
        }
        let checks = tools(&[folder.path().to_path_buf()], false, false);
        let missing: Vec<&Check> =
            checks.iter().filter(|check| check.state != CheckState::Good).collect();
        let names: Vec<&str> = missing.iter().map(|check| check.name.as_str()).collect();
        assert_eq!(names, ["flex", "mkfs.btrfs", "mdadm"]);
        for check in missing {
            let line = "sudo apt-get install flex btrfs-progs mdadm";
            assert_eq!(check.remedy.as_deref(), Some(line));
        }
        // With a built kernel, the tools for building are not needed.
        let checks = tools(&[folder.path().to_path_buf()], false, true);
        let of = |name: &str| checks.iter().find(|check| check.name == name).unwrap();
        assert_eq!((of("flex").state, of("flex").remedy.as_deref()), (CheckState::Unneeded, None));
        for tool in ["mkfs.btrfs", "mdadm"] {
            let line = "sudo apt-get install btrfs-progs mdadm";
            assert_eq!(of(tool).remedy.as_deref(), Some(line));
        }
    }

    #[test]
    fn the_list_of_packages_names_what_the_build_runs() {
        let needs: Vec<(&str, &str, &str)> = PACKAGES.lines().filter_map(need).collect();
        for tool in [
            "gcc",
            "make",
            "flex",
            "bison",
            "bc",
            "patch",
            "tar",
            "xz",
            "dpkg-deb",
            "apt-get",
            "fio",
            "mkfs.btrfs",
        ] {
            assert!(needs.iter().any(|need| need.0 == tool), "{tool}");
        }
    }

    #[test]
    fn without_a_cache_that_is_a_finding_and_the_rest_is_checked() {
        let none = Error::NoShare { tried: vec!["here".into()] };
        let checks = examine(Err(&Error::NoHome), Err(&none));
        let of =
            |name: &str| checks.iter().find(|check| check.name == name).map(|check| check.state);
        assert_eq!((of("cache"), of("data")), (Some(CheckState::Bad), Some(CheckState::Missing)));
        assert!(of("memory").is_some() && of("gcc").is_some());
        for check in &checks {
            assert_eq!(check.state == CheckState::Good, check.remedy.is_none(), "{check:?}");
        }
    }

    #[test]
    fn a_built_kernel_is_good_and_an_empty_cache_says_what_to_type() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("lab")).unwrap();
        for (name, text) in [("", "CONFIG_A=y\n"), ("btrfs", "CONFIG_B=y\n")] {
            let insertion = folder.path().join("guest-kernel").join(name);
            fs::create_dir_all(&insertion).unwrap();
            fs::write(insertion.join("config"), text).unwrap();
        }
        fs::create_dir(folder.path().join("read-policies")).unwrap();
        let share = Share::open(folder.path()).unwrap();
        let cache = Cache::in_folder(&folder.path().join("cache")).unwrap();
        let checks = examine(Ok(&cache), Ok(&share));
        let found = checks.iter().find(|check| check.name == "guest kernel").unwrap();
        assert_eq!(
            (found.state, found.remedy.as_deref()),
            (CheckState::Missing, Some("disklab kernel build"))
        );
    }
}
