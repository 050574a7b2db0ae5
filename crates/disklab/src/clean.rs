//! `disklab clean`: removes files that disklab can rebuild, and prints their sizes. It never
//! touches records.

mod contents;

use std::io::Write;
use std::path::Path;

use disklab_block_devices::journal;
use disklab_kernels::Cache;
use disklab_units::Bytes;
use serde_json::json;

use crate::exit::{Exit, Failure, cannot};
use crate::records;
use crate::screen::{Paint, Screen};
use crate::table::TextTable;
use crate::{undo, words};
use contents::{CacheContents, CacheItem, CacheKind};

/// Undo the changes of killed runs, and empty the cache.
///
/// Without options, clean undoes what killed runs changed on this machine, and removes what they
/// left in the cache. disklab rebuilds everything in the cache when it is needed. Records are never
/// touched.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub struct CleanArgs {
    /// Also remove the built kernels.
    #[arg(long)]
    kernels: bool,

    /// Also remove the prepared disks.
    #[arg(long)]
    disks: bool,

    /// Also remove the downloaded kernel sources.
    #[arg(long)]
    sources: bool,

    /// Also remove all of these.
    #[arg(long)]
    all: bool,

    /// Print what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,
}

impl CleanArgs {
    fn covers(&self, kind: CacheKind) -> bool {
        match kind {
            CacheKind::Leftover => true,
            CacheKind::Kernel => self.kernels || self.all,
            CacheKind::Disks => self.disks || self.all,
            CacheKind::Source => self.sources || self.all,
        }
    }
}

pub fn clean(args: &CleanArgs, screen: &Screen) -> Result<Exit, Failure> {
    let found = undo::left_by_killed_runs(args.dry_run, screen)?;
    match journal::of_root() {
        0 => {}
        some => screen.remark(&format!(
            "the changes in {} are of runs of root, which may still be running; run `disklab \
             clean` as root to undo them",
            words::count(some, "journal")
        )),
    }
    let cache = Cache::open()?;
    let contents = CacheContents::look(&cache)?;
    if contents.in_use
        && (args.covers(CacheKind::Kernel) || args.covers(CacheKind::Disks))
        && !args.dry_run
    {
        return Err(cannot!(
            "a run uses kernels and disks of {}; wait until it ends, or leave out --kernels, \
             --disks and --all",
            cache.root().display()
        ));
    }
    let (remove, keep): (Vec<_>, Vec<_>) =
        contents.items.into_iter().partition(|item| args.covers(item.kind));
    if !args.dry_run {
        remove.iter().try_for_each(CacheItem::remove)?;
    }
    let records = contents::size(Path::new(records::FOLDER));
    let document = json!({
        "cache": cache.root(), "dry_run": args.dry_run, "removed": remove, "kept": keep,
        "undone": found.undone, "unread": found.unread, "records": records,
    });
    screen.present(&document, |out| {
        found.lines(args.dry_run).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        print(args, &cache, &remove, &keep, screen, out)?;
        if records > Bytes(0) {
            writeln!(out, "\n./{}: {records}; yours to remove", records::FOLDER)?;
        }
        Ok(())
    })?;
    Ok(if found.is_open() { Exit::Cannot } else { Exit::Ok })
}

fn print(
    args: &CleanArgs,
    cache: &Cache,
    remove: &[CacheItem],
    keep: &[CacheItem],
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    if remove.is_empty() {
        writeln!(out, "nothing to remove")?;
    } else {
        writeln!(out, "{}", screen.paint(&format!("{verb}: {}", total(remove)), Paint::Strong))?;
        table(remove, screen).print(screen, "  ", out)?;
    }
    if !keep.is_empty() {
        let head = format!("kept in {}: {}", cache.root().display(), total(keep));
        writeln!(out, "\n{}", screen.paint(&head, Paint::Strong))?;
        table(keep, screen).print(screen, "  ", out)?;
        writeln!(
            out,
            "--kernels, --disks, --sources and --all remove these; they are made again when needed"
        )?;
    }
    Ok(())
}

fn total(items: &[CacheItem]) -> Bytes {
    items.iter().map(|item| item.bytes).sum()
}

fn table(items: &[CacheItem], screen: &Screen) -> TextTable {
    let mut table = TextTable::with_heads("what|>size|where", screen.color);
    for CacheItem { kind, bytes, path, .. } in items {
        table.row([kind.name().to_owned(), bytes.to_string(), path.display().to_string()]);
    }
    table
}
