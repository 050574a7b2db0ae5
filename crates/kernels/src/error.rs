//! Errors between a source and a kernel that can be used; each message ends with what to do about
//! it.

use std::io;
use std::path::{Path, PathBuf};

use disklab_units::Bytes;

use crate::version::Version;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io { doing: &'static str, path: PathBuf, cause: io::Error },

    #[error(
        "no place for the cache: neither XDG_CACHE_HOME nor HOME is set to an absolute path; \
         set one of them, for example XDG_CACHE_HOME=/var/tmp/$USER"
    )]
    NoHome,

    #[error(
        "the cache folder {} cannot be used: {cause}; make it writable or set XDG_CACHE_HOME to a \
         folder that is",
        path.display()
    )]
    CacheUnusable { path: PathBuf, cause: io::Error },

    #[error(
        "the folders `lab`, `guest-kernel` and `read-policies` of disklab were not found (looked \
         {}); set DISKLAB_HOME to the folder that holds them", tried.join(", ")
    )]
    NoShare { tried: Vec<String> },

    #[error(
        "the kernel {} was replaced while it was in use: its SHA-256 has changed; the remaining \
         trials can run with the kernel that the run began with",
        path.display()
    )]
    Replaced { path: PathBuf },

    #[error("{} is not empty; name a folder that is new or empty", path.display())]
    NotEmpty { path: PathBuf },

    #[error(
        "{} is not a Linux kernel source: {why}; give a kernel tree or a tarball of one",
        path.display()
    )]
    NotASource { path: PathBuf, why: String },

    #[error(
        "{} is not the folder of a git repository, which a revision (PATH@REV) needs: give the top \
         folder of one, or leave @REV out to take the files as they are",
        path.display()
    )]
    NotARepository { path: PathBuf },

    #[error(
        "unknown revision {name:?} in {}; `git -C {} log --oneline` and `git tag` show the \
         known ones, and `git fetch --tags` gets those of the remote",
        path.display(), path.display()
    )]
    NoRevision { path: PathBuf, name: String },

    #[error(
        "in {}, the bad revision {bad} does not come after the good one, {good}: exchange them. If \
         the later one is better, still name the earlier one good: bisect then searches for the \
         commit that improved it",
        repository.display()
    )]
    WrongOrder { repository: PathBuf, good: String, bad: String },

    #[error(
        "{} changed while it was copied; build again when no program writes to it",
        path.display()
    )]
    SourceChanged { path: PathBuf },

    #[error(
        "{} is not the expected file: its SHA-256 is {found} instead of {expected}; download it \
         again",
        path.display()
    )]
    WrongDigest { path: PathBuf, expected: String, found: String },

    #[error("unknown kernel series {asked:?}; known are {}", known.join(", "))]
    UnknownSeries { asked: String, known: Vec<String> },

    #[error(
        "cannot get a kernel source:\n{}\nWhat to do: check the network, or give a source of your \
         own (--source with a kernel tree or tarball)",
        indented(tried)
    )]
    NoPackage { tried: Vec<String> },

    #[error(
        "{}, line {line}: {text:?} is not a line of a kernel configuration (CONFIG_NAME=y)",
        path.display()
    )]
    BadFragment { path: PathBuf, line: usize, text: String },

    #[error(
        "Linux {version} ignored these lines of the config files in guest-kernel:\n{}\nWhat to do: \
         correct the file that has the line, since the option was renamed or removed, or needs \
         another one",
        indented(lines)
    )]
    LostConfig { version: Version, lines: Vec<String> },

    #[error(
        "{} does not apply to Linux {version}:\n{}\nWhat to do: put a version that applies at {} \
         (see guest-kernel/README.md), or build a series to which it applies",
        patch.display(), indented(rejects), of_series(patch, version).display()
    )]
    Patch { patch: PathBuf, version: Version, rejects: Vec<String> },

    #[error(
        "{} would overwrite {}, which Linux {version} has itself; give the inserted file another \
         name",
        folder.join(file).display(), file.display()
    )]
    WouldOverwrite { folder: PathBuf, file: PathBuf, version: Version },

    #[error("cannot run {program}: {cause}; `disklab doctor` says how to get what is missing")]
    Tool { program: String, cause: io::Error },

    #[error("`{command}` failed ({status}):\n{}", indented(tail))]
    Command { command: String, status: String, tail: Vec<String> },

    #[error(
        "building Linux {version} failed ({status}):\n{}\nThe whole log: {}",
        indented(tail), log.display()
    )]
    Make { version: Version, status: String, tail: Vec<String>, log: PathBuf },

    #[error(
        "building a kernel needs {need} in {}, and {free} are free; free some space, or set \
         XDG_CACHE_HOME to a folder on a larger disk",
        path.display()
    )]
    NoSpace { path: PathBuf, need: Bytes, free: Bytes },

    #[error("interrupted")]
    Interrupted,

    #[error(
        "the kernel in {} is damaged: {why}; `disklab kernel build` builds it again",
        path.display()
    )]
    Damaged { path: PathBuf, why: String },

    #[error(
        "there is no built kernel at {}, and no kernel source; give the folder that `disklab \
         kernel build` made or the program in it (`disklab kernel list` shows all of them), a \
         kernel tree, or a git revision as TREE@REV",
        path.display()
    )]
    NotAKernel { path: PathBuf },

    #[error(
        "DISKLAB_KERNELS is not TOML with names and folders ({why}); unset it, or write \
         `newest = \"FOLDER\"`"
    )]
    NotGiven { why: String },

    #[error("no built kernel matches {asked:?} ({why}); {}", built(asked, have))]
    NoKernel { asked: String, why: String, have: Vec<String> },
}

impl Error {
    pub(crate) fn not_a_source(path: &Path, why: impl Into<String>) -> Self {
        Self::NotASource { path: path.to_path_buf(), why: why.into() }
    }

    /// Wraps an I/O error for `map_err`: `Error::io("read", &path)`.
    pub(crate) fn io(
        doing: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |cause| Self::Io { doing, path, cause }
    }
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// Returns the path of a patch of the same name for one series.
fn of_series(patch: &Path, version: &Version) -> PathBuf {
    let (folder, series) = (patch.parent().unwrap_or(patch), version.series());
    let folder = if folder.ends_with(&series) { folder.to_path_buf() } else { folder.join(series) };
    folder.join(patch.file_name().unwrap_or_default())
}

fn built(asked: &str, have: &[String]) -> String {
    // A series consists of two numbers.
    let series = asked.split_once('.').is_some_and(|(major, minor)| {
        [major, minor]
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let how = if series { format!(" --kernel {asked}") } else { String::new() };
    if have.is_empty() {
        format!("none is built yet: `disklab kernel build{how}` builds one")
    } else {
        format!("built are {}; `disklab kernel build{how}` builds another", have.join(", "))
    }
}
