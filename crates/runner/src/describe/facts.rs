//! Facts of the host that could show in a result, or that help to read one.

use super::{power_cut, stack};
use crate::error::{Error, Result};
use disklab_block_devices::PATH;
use disklab_config::Trial;
use disklab_config::policy::ORACLE;
use disklab_protocol::digest::sha256_hex;
use disklab_record::manifest::Fact;
use goblin::elf::Elf;
use rustix::thread::sched_getaffinity;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the versions of `fio`, which every trial runs in its guest, and of the C library that
/// all programs there share.
pub fn tools() -> Result<Vec<Fact>> {
    let libc = said(Command::new("ldd").arg("--version").env("PATH", PATH)).and_then(|out| {
        // musl prints its name on standard error.
        let musl = || first_line(&out.stderr).filter(|line| line.starts_with("musl"));
        first_line(&out.stdout).or_else(musl).ok_or_else(|| {
            io::Error::other(format!("ldd --version ended with {} and printed nothing", out.status))
        })
    });
    let libc = match libc {
        Err(error) if error.kind() == ErrorKind::NotFound => "unknown".to_owned(),
        known => known.map_err(|cause| Error::Tool { program: "ldd".to_owned(), cause })?,
    };
    let fio = program("fio")?;
    check_fio(&fio)?;
    Ok(vec![Fact::new("fio", fio), Fact::new("libc", libc)])
}

/// Version of the first fio that reports percentiles of each kind of latency.
const OLDEST_FIO: (u32, u32) = (3, 18);

/// Checks fio's version by its first word: `fio-3.33`, `fio-3.41-9-g1234`.
fn check_fio(said: &str) -> Result<()> {
    let version = said.split([' ', ',']).next().unwrap_or_default();
    let numbers = || {
        let (major, rest) = version.strip_prefix("fio-")?.split_once('.')?;
        let minor = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    match numbers() {
        Some(numbers) if numbers >= OLDEST_FIO => Ok(()),
        _ => Err(Error::Fio {
            found: version.to_owned(),
            path: place("fio").unwrap_or_default(),
            oldest: format!("{}.{}", OLDEST_FIO.0, OLDEST_FIO.1),
        }),
    }
}

/// Returns the versions of the programs that undo changes on disks of this machine. They are looked
/// up before any change.
pub fn undoing() -> Result<Vec<Fact>> {
    ["blkid", "wipefs"].into_iter().map(tool).collect()
}

/// Lists the programs that a trial runs besides fio: those of its phases and its background, and
/// those that make and check its disks.
pub fn programs(trial: &Trial) -> Vec<String> {
    let beside =
        trial.background.iter().flat_map(disklab_config::background::Background::programs).cloned();
    let of_phases = trial
        .workload
        .phases()
        .into_iter()
        .flat_map(disklab_config::phases::Phases::programs)
        .cloned();
    beside
        .chain(of_phases)
        .chain(stack::mkfs_tools(trial))
        .chain(power_cut::programs(trial))
        .collect()
}

/// Returns the version of one of [`programs`].
pub fn tool(name: &str) -> Result<Fact> {
    Ok(Fact::new(name, program(name)?))
}

/// Returns the reason why a trial cannot run here: a policy that no kernel has, a missing program,
/// or no room for its files.
pub fn obstacle(trial: &Trial) -> Option<String> {
    if trial.policy.as_ref().is_some_and(|policy| policy.policy == ORACLE) {
        return Some(format!(
            "policy `{ORACLE}` asks copies of the disk models when they would end a read, which no \
             kernel can: run it with --on model, or leave it out (--set policy=...)"
        ));
    }
    let is_missing = |name: &String| place(name).is_none();
    let missing: BTreeSet<String> = programs(trial).into_iter().filter(is_missing).collect();
    if missing.is_empty() {
        return trial.unfit.clone();
    }
    let names: Vec<String> = missing.into_iter().collect();
    Some(format!("not installed here: {}; install it to run this trial", names.join(", ")))
}

/// Returns the path at which the guest finds a program.
fn place(name: &str) -> Option<PathBuf> {
    // A program with a path is looked for at that path only.
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    match path.metadata() {
        Ok(file) => file.is_file() && file.permissions().mode() & 0o111 != 0,
        // For other errors, the attempt to run the program gives the reason.
        Err(error) => !matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
        ),
    }
}

/// Versions of the programs that make the contents of disks. They are part of the keys of prepared
/// disks.
pub struct MkfsTools(BTreeMap<String, String>);

impl MkfsTools {
    pub fn find(trials: &[&Trial]) -> Result<Self> {
        let names: BTreeSet<String> =
            trials.iter().flat_map(|trial| stack::mkfs_tools(trial)).collect();
        let known = |name: String| program(&name).map(|version| (name, version));
        names.into_iter().map(known).collect::<Result<_>>().map(Self)
    }

    /// Returns the versions of the programs of one trial, in the order of their use.
    pub fn of_one(&self, trial: &Trial) -> Vec<&str> {
        stack::mkfs_tools(trial)
            .iter()
            .filter_map(|name| self.0.get(name))
            .map(String::as_str)
            .collect()
    }
}

/// Describes the machine for readers of the record.
pub fn host() -> Vec<Fact> {
    let system = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    // The processors that this process may use.
    let processors = sched_getaffinity(None).map_or(1, |set| set.count());
    vec![
        Fact::new("kernel", format!("{} {}", text(system.sysname()), text(system.release()))),
        Fact::new("processor", model.map_or("unknown", |(_, model)| model)),
        Fact::new("processors", processors.to_string()),
    ]
}

/// Returns a program's version, the digest of its file, and a digest of its shared libraries, if
/// any.
fn program(name: &str) -> Result<String> {
    let missing = |cause| Error::Tool { program: name.to_owned(), cause };
    let places = PATH.replace(':', " ");
    let nowhere = || io::Error::new(ErrorKind::NotFound, format!("it is in none of {places}"));
    let path = place(name).ok_or_else(|| missing(nowhere()))?;
    let bytes = std::fs::read(&path).map_err(missing)?;
    let out = said(Command::new(&path).arg("--version")).map_err(missing)?;
    let version = first_line(&out.stdout).unwrap_or_else(|| "unknown version".to_owned());
    let mut digests = format!("{version}, sha256 {}", &sha256_hex(&bytes)[..16]);
    if let Some(loader) = Elf::parse(&bytes).ok().and_then(|elf| elf.interpreter) {
        let libraries = libraries(loader, &path).map_err(missing)?;
        let _ = write!(digests, ", libraries {}", &libraries[..16]);
    }
    Ok(digests)
}

/// Returns a digest of the names and contents of the shared libraries that the loader gives a
/// program.
fn libraries(loader: &str, program: &Path) -> io::Result<String> {
    // Nothing in the guest's environment leads the loader elsewhere.
    let mut list = Command::new(loader);
    list.arg("--list").arg(program).env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD");
    let out = said(&mut list)?;
    if !out.status.success() {
        let words = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        return Err(io::Error::other(format!(
            "{loader} --list ended with {}: {words}",
            out.status
        )));
    }
    let text = String::from_utf8_lossy(&out.stdout);
    let mut files: Vec<&str> = text.lines().filter_map(library).collect();
    files.sort_unstable();
    let mut digests = String::new();
    for file in files {
        let _ = writeln!(digests, "{file} {}", sha256_hex(&std::fs::read(file)?));
    }
    Ok(sha256_hex(digests.as_bytes()))
}

/// Runs a program for its output. A killed program gives an error.
fn said(command: &mut Command) -> io::Result<Output> {
    let out = command.output()?;
    match out.status.signal() {
        Some(_) => Err(io::Error::other(format!("it was killed ({})", out.status))),
        None => Ok(out),
    }
}

/// Returns the file in a line of the loader's list: `libz.so.1 => /lib/libz.so.1 (0x7f..)`, or the
/// loader's own `/lib64/ld.so (0x7f..)`.
fn library(line: &str) -> Option<&str> {
    let (file, _) =
        line.split_once("=> ").map_or(line, |(_, file)| file).trim().rsplit_once(" (0x")?;
    file.starts_with('/').then_some(file)
}

fn first_line(bytes: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(bytes).lines().next()?.trim().to_owned();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use disklab_config::{Lab, Suite};

    use super::{Command, Path, check_fio, libraries, library, obstacle, program, said};

    #[test]
    fn the_oracle_runs_in_the_model_alone() {
        let lab = Lab::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab")));
        let lab = lab.expect("the lab");
        let mut suite: Suite = lab.suite("read-policy-quick").expect("the suite");
        suite.set("policy", "pid,oracle,oracle:all").expect("three policies");
        let trials = suite.trials(&lab).expect("trials");
        for policy in ["pid", "oracle", "oracle:all"] {
            let named = |trial: &&disklab_config::Trial| trial.value("policy") == Some(policy);
            let trial = trials.iter().find(named).expect(policy);
            let refusal = obstacle(trial).filter(|refusal| refusal.contains("disk models"));
            assert_eq!(refusal.is_some(), policy != "pid", "{refusal:?}");
            assert!(refusal.is_none_or(|refusal| refusal.contains("--on model")));
        }
    }

    #[test]
    fn an_old_fio_and_what_is_none_are_refused() {
        for said in ["fio-3.18, sha256 1", "fio-3.41-9-g1234, sha256 1", "fio-4.0-rc1"] {
            check_fio(said).expect(said);
        }
        for said in ["fio-3.17, sha256 1", "fio-2.99", "fio 3.33", "unknown version, sha256 1", ""]
        {
            let why = check_fio(said).expect_err(said).to_string();
            assert!(why.contains("3.18") && why.contains("install"), "{why}");
        }
    }

    #[test]
    fn lines_of_the_loader() {
        assert_eq!(library("\tlinux-vdso.so.1 (0x00007ffd1)"), None);
        assert_eq!(
            library("\tlibz.so.1 => /lib/x/libz.so.1 (0x00007f1)"),
            Some("/lib/x/libz.so.1")
        );
        assert_eq!(
            library("\t/lib64/ld-linux-x86-64.so.2 (0x00007f2)"),
            Some("/lib64/ld-linux-x86-64.so.2")
        );
        assert_eq!(library("\tlibaio.so.1 => not found"), None);
    }

    #[test]
    fn a_program_has_libraries_and_a_script_has_none() {
        assert!(program("fio").is_ok_and(|said| said.contains(", libraries ")));
        assert!(program("ldd").is_ok_and(|said| !said.contains(", libraries ")));
        let own = std::env::current_exe().expect("this test");
        let loader = "/lib64/ld-linux-x86-64.so.2";
        let list = |program| libraries(loader, program).expect("a list");
        assert_ne!(list(&own), list(Path::new("/bin/sh")));
        let killed = said(Command::new("sh").args(["-c", "kill -9 $$"])).expect_err("no words");
        assert!(killed.to_string().contains("it was killed"), "{killed}");
    }
}
