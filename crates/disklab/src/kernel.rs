//! `disklab kernel`: builds guest kernels once, and keeps them.

mod choice;
mod patch;
pub mod progress;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Subcommand;
use disklab_config::kernel::NEWEST;
use disklab_kernels::{
    Btrfs, Build, Cache, Error, Kernel, KernelSource, Overlap, Revision, Share, find, list,
};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::home::Home;
use crate::limits::AtATime;
use crate::screen::Screen;
use crate::table::TextTable;
use crate::{signals, words};
use choice::{could_be, source, unknown_kernel};
use progress::BuildProgress;

/// Build, list, find and patch guest kernels.
///
/// A guest kernel is Linux, compiled as a program (User Mode Linux) with disklab's block driver.
/// `kernel build` takes the source of a supported series, your own tree or a tarball, and keeps the
/// kernel in the cache, so that each kernel is built once. `kernel patch` writes the read policies
/// for a kernel that you build yourself.
#[derive(Debug, clap::Args)]
pub struct KernelArgs {
    #[command(subcommand)]
    verb: KernelVerb,
}

#[derive(Debug, Subcommand)]
enum KernelVerb {
    Build(BuildArgs),
    /// List the kernels that are built.
    List,
    Patch(patch::PatchArgs),
    Path(PathArgs),
}

/// Build a guest kernel, unless it is built already.
///
/// disklab takes the source from Debian's source package, or from your own tree or tarball
/// (--source), and keeps the built kernel in its cache.
#[derive(Debug, clap::Args)]
struct BuildArgs {
    /// The kernel to build: a series of the lab such as 7.3, or newest.
    ///
    /// newest is the newest series whose source can be had. The option also takes what --source
    /// takes, as a suite's kernel axis does. A series gets disklab's read policies beside the
    /// kernel's own policies, under names that begin with disklab-, such as disklab-queue.
    #[arg(long, value_name = "SERIES", default_value = NEWEST)]
    kernel: String,

    /// A kernel tree, a git revision of it (TREE@REV), or a tarball, as the source.
    ///
    /// disklab never writes to the tree. The btrfs of the tree stays as it is and runs its own read
    /// policies; TREE:disklab adds disklab's read policies beside them.
    #[arg(long, value_name = "PATH", conflicts_with = "kernel")]
    source: Option<PathBuf>,

    /// The SHA-256 that the tarball must have.
    #[arg(long, value_name = "HEX", requires = "source")]
    sha256: Option<String>,

    /// Leave out disklab's read policies and build the btrfs of a series unchanged.
    ///
    /// The btrfs of a --source is unchanged anyway, unless the name ends in :disklab.
    #[arg(long, conflicts_with = "source")]
    mainline_btrfs: bool,

    /// The number of compilers that run at a time [default: the number of processors].
    #[arg(long, value_name = "N")]
    jobs: Option<AtATime>,
}

/// Print the path of a built kernel.
#[derive(Debug, clap::Args)]
struct PathArgs {
    /// The kernel: a series such as 7.3, a version such as 7.3.4, or newest.
    #[arg(default_value = NEWEST)]
    kernel: String,

    /// Print the kernel that was built with --mainline-btrfs.
    #[arg(long)]
    mainline_btrfs: bool,
}

pub fn kernel(args: &KernelArgs, screen: &Screen) -> Result<Exit, Failure> {
    match &args.verb {
        KernelVerb::Build(args) => build(args, screen),
        KernelVerb::List => list_built(screen),
        KernelVerb::Patch(args) => patch::patch(args, screen),
        KernelVerb::Path(args) => path(args, screen),
    }
}

fn build(args: &BuildArgs, screen: &Screen) -> Result<Exit, Failure> {
    let home = Home::open()?;
    let (share, series) = (&home.share, home.series());
    let (kernel, path) = if args.kernel.contains('/') {
        (NEWEST, Some(Path::new(&args.kernel)))
    } else {
        (args.kernel.as_str(), args.source.as_deref())
    };
    if kernel != NEWEST && series.iter().all(|known| known.series != kernel) {
        return Err(unknown_kernel(&home, kernel));
    }
    let given = path.map(|path| source(path, args.sha256.as_deref())).transpose()?;
    let cache = &Cache::open()?;
    let (btrfs, jobs) = (btrfs(args.mainline_btrfs), args.jobs.unwrap_or_default().get());
    let maker = Build { cache, share, jobs, stop: signals::watch()? };
    if let Some((source, btrfs)) = &given {
        warn_of_overlap(source, *btrfs, share, screen)?;
    }
    let built = BuildProgress::during(screen, |report| match given {
        Some((source, btrfs)) => maker.from(&source, btrfs, report),
        None if kernel == NEWEST => maker.newest(&series, btrfs, report),
        None => KernelSource::of_series(kernel, &series)
            .and_then(|source| maker.from(&source, btrfs, report)),
    })?;
    let kernel = &built.kernel;
    let took = words::wall(Duration::from_secs_f64(kernel.build_seconds.max(0.0)));
    let how =
        if built.fresh { format!("was built in {took}") } else { "was built before".to_owned() };
    screen.present(&as_json(kernel, share)?, |out| {
        writeln!(out, "Linux {} {how}: {}", kernel.version, kernel.path.display())?;
        let newest = find(cache, share, Btrfs::Policies, NEWEST);
        if newest.is_ok_and(|newest| newest.folder == kernel.folder) {
            return Ok(());
        }
        Ok(writeln!(out, "to use it: disklab run SUITE {}", selection(cache, share, kernel))?)
    })?;
    Ok(Exit::Ok)
}

/// Warns of files that both the source and disklab change.
pub fn warn_of_overlap(
    source: &KernelSource,
    btrfs: Btrfs,
    share: &Share,
    screen: &Screen,
) -> Result<(), Failure> {
    if let Some(overlap) = Overlap::find(source, share, btrfs)? {
        screen.remark(&format!("{}: {overlap}", named_source(source)));
    }
    Ok(())
}

fn named_source(source: &KernelSource) -> String {
    match source {
        KernelSource::Package { package, .. } => package.clone(),
        KernelSource::Tree(path) | KernelSource::Tarball { path, .. } => path.display().to_string(),
        KernelSource::Revision(revision) => {
            format!("{}@{}", revision.repository.display(), Revision::short(&revision.commit))
        }
    }
}

fn btrfs(mainline: bool) -> Btrfs {
    if mainline { Btrfs::Untouched } else { Btrfs::Policies }
}

fn list_built(screen: &Screen) -> Result<Exit, Failure> {
    let (cache, share) = (Cache::open()?, Share::find()?);
    let listing = list(&cache, &share)?;
    let kernels: Vec<_> =
        listing.kernels.iter().map(|kernel| as_json(kernel, &share)).collect::<Result<_, _>>()?;
    let damaged: Vec<_> = listing.damaged.iter().map(ToString::to_string).collect();
    screen.present(&json!({ "kernels": kernels, "damaged": damaged }), |out| {
        if listing.kernels.is_empty() {
            let what = "no kernel is built; `disklab kernel build` builds the newest";
            return Ok(writeln!(out, "{what}")?);
        }
        let mut table = TextTable::with_heads("version|state|source|to select it", screen.color);
        for kernel in &listing.kernels {
            let state = match kernel.current(&share)? {
                Some(Btrfs::Policies) => "ready",
                Some(Btrfs::Untouched) => "ready, its own btrfs only",
                None => "of another disklab",
            };
            let (version, source) = (kernel.version.to_string(), kernel.source.to_string());
            table.row([version, state.to_owned(), source, selection(&cache, &share, kernel)]);
        }
        table.print(screen, "", out)
    })?;
    if !screen.json {
        for damage in damaged {
            screen.complain(&damage);
        }
    }
    Ok(Exit::Ok)
}

/// Returns the argument after `run SUITE` that selects this kernel. It is the version if that finds
/// the kernel, and otherwise the folder. A user's own kernel beside a packaged one of the same
/// version needs the folder.
fn selection(cache: &Cache, share: &Share, kernel: &Kernel) -> String {
    let version = kernel.version.to_string();
    let found = find(cache, share, Btrfs::Policies, &version)
        .is_ok_and(|found| found.folder == kernel.folder);
    format!("--set kernel={}", if found { version } else { kernel.folder.display().to_string() })
}

fn path(args: &PathArgs, screen: &Screen) -> Result<Exit, Failure> {
    let home = Home::open()?;
    let kernel = match find(&Cache::open()?, &home.share, btrfs(args.mainline_btrfs), &args.kernel)
    {
        Ok(kernel) => kernel,
        Err(Error::NoKernel { .. }) if !could_be(&home, &args.kernel) => {
            return Err(unknown_kernel(&home, &args.kernel));
        }
        Err(error) => return Err(error.into()),
    };
    screen.present(&as_json(&kernel, &home.share)?, |out| {
        Ok(writeln!(out, "{}", kernel.path.display())?)
    })?;
    Ok(Exit::Ok)
}

fn as_json(kernel: &Kernel, share: &Share) -> Result<Value, Failure> {
    Ok(json!({
        "version": kernel.version.to_string(),
        "series": kernel.series,
        "ready": kernel.current(share)?.is_some(),
        "mainline_btrfs": kernel.current(share)? == Some(Btrfs::Untouched),
        "btrfs": kernel.btrfs,
        "path": kernel.path,
        "sha256": kernel.sha256,
        "config_sha256": kernel.config_sha256,
        "key": kernel.key,
        "compiler": kernel.compiler,
        "source": kernel.source,
        "revision": kernel.source.revision(),
        "build_seconds": kernel.build_seconds,
    }))
}
