//! Git repositories of the user's own: revisions are looked up and exported, and nothing is checked
//! out or written there.

use std::path::{Path, PathBuf};
use std::process::Command;

use disklab_units::Bytes;

use crate::error::{Error, Result};
use crate::process::{Runner, failure};
use crate::version::Version;

/// Variables with which git points its own child processes (a hook, `git bisect run`) to another
/// repository.
const OF_OTHERS: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// Number of digits of a commit in messages.
const SHORT: usize = 12;

/// A commit of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The repository's folder.
    pub repository: PathBuf,
    /// The commit, in full.
    pub commit: String,
    /// Object that identifies every byte of its files.
    pub(crate) tree: String,
}

impl Revision {
    /// Returns the commit that `name` (a tag, a branch, `HEAD~3`, digits) names in the repository
    /// at `path`.
    pub fn find(path: &Path, name: &str) -> Result<Self> {
        let path = path.canonicalize().map_err(Error::io("find the git repository", path))?;
        // git also accepts a folder within a repository, which is not a repository itself.
        let own = answer(&path, &["rev-parse", "--show-prefix"])?.filter(String::is_empty);
        if own.is_none() {
            return Err(Error::NotARepository { path });
        }
        let wanted = format!("{name}^{{commit}}");
        let Some(commit) =
            answer(&path, &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])?
        else {
            return Err(Error::NoRevision { path, name: name.to_owned() });
        };
        let tree = say(&path, &["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
        Ok(Self { repository: path, commit, tree })
    }

    /// Returns the first digits of a commit, for messages.
    pub fn short(commit: &str) -> &str {
        commit.get(..SHORT).unwrap_or(commit)
    }

    /// Returns the subject of the commit's message.
    pub fn subject(&self) -> Result<String> {
        say(&self.repository, &["show", "--no-patch", "--format=%s", &self.commit])
    }

    /// Returns true if one of its files is `Makefile` at the top, as in every kernel.
    pub(crate) fn has_makefile(&self) -> Result<bool> {
        Ok(answer(&self.repository, &["cat-file", "-e", &format!("{}:Makefile", self.commit)])?
            .is_some())
    }

    /// Returns the version of the kernel by its Makefile, or an error if the revision is not a
    /// kernel.
    pub fn version(&self) -> Result<Version> {
        let read = |why| {
            let why = format!("of {}, {why}", Self::short(&self.commit));
            Error::not_a_source(&self.repository, why)
        };
        if !self.has_makefile()? {
            return Err(read("it has no Makefile".to_owned()));
        }
        let makefile =
            say(&self.repository, &["cat-file", "blob", &format!("{}:Makefile", self.commit)])?;
        Version::of_makefile(&makefile).map_err(read)
    }

    /// Returns the total size of its files.
    pub(crate) fn size(&self) -> Result<Bytes> {
        let listed = say(&self.repository, &["ls-tree", "-r", "-l", &self.commit])?;
        let size =
            |line: &str| line.split_whitespace().nth(3).and_then(|size| size.parse::<u64>().ok());
        Ok(Bytes(listed.lines().filter_map(size).sum()))
    }

    /// Writes a tarball of its files.
    pub(crate) fn export(&self, tarball: &Path, runner: Runner) -> Result<()> {
        let mut archive = git(&self.repository);
        archive.args(["archive", "--format=tar", "--prefix=linux/", "--output"]).arg(tarball);
        runner.output(archive.arg(&self.commit)).map(drop)
    }
}

/// Returns the commit of a work tree, and whether the tree has changed since, or `None` without a
/// commit.
pub(crate) fn state(root: &Path) -> Result<Option<(String, bool)>> {
    let Some(commit) = answer(root, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])? else {
        return Ok(None);
    };
    // The query must not write the index either.
    let changes =
        say(root, &["--no-optional-locks", "status", "--porcelain", "--ignore-submodules=none"])?;
    Ok(Some((commit, !changes.is_empty())))
}

/// Returns the command `git` in a folder, independent of git's environment.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).env("LC_ALL", "C");
    for name in OF_OTHERS {
        command.env_remove(name);
    }
    command
}

/// Runs git and returns its output, without the last newline. A failure is an error with git's
/// message.
pub(crate) fn say(folder: &Path, arguments: &[&str]) -> Result<String> {
    Ok(text(&bytes(folder, arguments)?))
}

/// Runs git and returns its output, byte for byte.
pub(crate) fn bytes(folder: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let (command, output) = run(folder, arguments)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(failure(&command, output.status, &String::from_utf8_lossy(&output.stderr)))
}

fn text(stdout: &[u8]) -> String {
    String::from_utf8_lossy(stdout).trim_end_matches('\n').to_owned()
}

/// Asks git a question that it answers by its exit status. "No" is None: there is no such thing, or
/// no repository. Any other message, for example that the repository belongs to another user, is an
/// error.
fn answer(folder: &Path, arguments: &[&str]) -> Result<Option<String>> {
    let (command, output) = run(folder, arguments)?;
    if output.status.success() {
        return Ok(Some(text(&output.stdout)));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let no = [
        "not a git repository",
        "Needed a single revision",
        "Not a valid object name",
        "does not exist in",
        "exists on disk, but not in",
    ];
    if said.trim().is_empty() || no.iter().any(|no| said.contains(no)) {
        return Ok(None);
    }
    Err(failure(&command, output.status, &said))
}

/// Runs git, and returns its output for any exit status.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Result<(Command, std::process::Output)> {
    let mut command = git(folder);
    command.args(arguments);
    let output = command.output().map_err(|cause| Error::Tool { program: "git".into(), cause })?;
    Ok((command, output))
}
