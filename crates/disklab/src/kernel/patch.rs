//! `disklab kernel patch`: the read policies as a series for `git am`.

use std::path::PathBuf;
use std::process::Command;

use disklab_config::kernel::NEWEST;
use disklab_kernels::{Cache, KernelSource, PatchSeries};
use serde_json::json;

use super::choice::{source, unknown_kernel};
use super::progress::BuildProgress;
use crate::exit::{Exit, Failure, mistaken};
use crate::home::Home;
use crate::screen::Screen;
use crate::signals;

/// Write the read policies as patches for your own kernel.
///
/// The patches are for `git am` on a vanilla tree. They add the policies, the hook in btrfs that
/// calls the policies, and the documentation. The kernel's own policies stay as they are; the new
/// ones have names that begin with disklab-, such as disklab-queue.
///
/// disklab checks that the patches fit the source before it writes anything. To use the policies,
/// turn on CONFIG_BTRFS_EXPERIMENTAL and CONFIG_BTRFS_READ_POLICIES. Linux 6.12 has only the
/// second.
#[derive(Debug, clap::Args)]
pub struct PatchArgs {
    /// The kernel to patch: a series of the lab such as 7.3, or newest.
    #[arg(long, value_name = "SERIES", default_value = NEWEST)]
    kernel: String,

    /// A kernel tree, or a tarball of one, in place of the distribution's source.
    #[arg(long, value_name = "PATH", conflicts_with = "kernel")]
    source: Option<PathBuf>,

    /// The folder for the patches. It must be new or empty.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// The author who signs the patches off [default: the name and mail that git knows].
    #[arg(long, value_name = "NAME <MAIL>")]
    author: Option<String>,
}

pub fn patch(args: &PatchArgs, screen: &Screen) -> Result<Exit, Failure> {
    let home = Home::open()?;
    let series = home.series();
    let source = if let Some(path) = &args.source {
        source(path, None)?.0
    } else {
        let wanted = if args.kernel == NEWEST { series.first() } else { None };
        let of_series = |known: &str| {
            args.kernel
                .strip_prefix(known)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let wanted = wanted.or_else(|| series.iter().find(|series| of_series(&series.series)));
        KernelSource::from(wanted.ok_or_else(|| unknown_kernel(&home, &args.kernel))?)
    };
    let author = args.author.as_deref().map_or_else(author_of_git, check)?;
    let cache = Cache::open()?;
    let maker =
        PatchSeries { cache: &cache, share: &home.share, author: &author, stop: signals::watch()? };
    let (version, files) =
        BuildProgress::during(screen, |report| maker.write(&source, &args.out, report))?;
    let kernel = &args.kernel;
    let is_exact = args.source.is_none() && kernel.split('.').count() > 2;
    if is_exact && *kernel != version.to_string() {
        screen.remark(&format!("Linux {kernel} was asked for; the package here has {version}"));
    }
    screen.present(&json!({ "version": version.to_string(), "files": files }), |out| {
        files.iter().try_for_each(|file| writeln!(out, "{}", file.display()))?;
        let all = args.out.join("*.patch");
        Ok(writeln!(out, "the patches fit Linux {version}: git am {}", all.display())?)
    })?;
    Ok(Exit::Ok)
}

/// Checks that the author is one line with a mail address at its end.
fn check(author: &str) -> Result<String, Failure> {
    let sound = author.split_once(" <").is_some_and(|(name, mail)| {
        !name.trim().is_empty() && mail.contains('@') && mail.find('>') == Some(mail.len() - 1)
    });
    if !sound || author.chars().any(char::is_control) {
        return Err(mistaken!("--author {author:?} is not of the form \"Name <mail@host>\""));
    }
    Ok(author.to_owned())
}

fn author_of_git() -> Result<String, Failure> {
    let ask = |key: &str| {
        let output = Command::new("git").args(["config", "--get", key]).output().ok()?;
        let value = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !value.is_empty()).then_some(value)
    };
    let found = ask("user.name").zip(ask("user.email"));
    let author = found.map(|(name, mail)| format!("{name} <{mail}>"));
    author.and_then(|author| check(&author).ok()).ok_or_else(|| {
        mistaken!(
            "a patch needs an author, and git has no user.name and user.email; add --author \"Name \
             <mail@host>\""
        )
    })
}
