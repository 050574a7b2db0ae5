//! Numbers that writing alone shows, and what stands for them where nothing was written.

use super::collection::{self, Collected};
use super::writes::Sustained;
use super::{Known, NO_TIME, READ_ONLY, usual, writes};
use crate::Error;
use crate::bench::Bench;
use crate::device::Hints;
use crate::sheet::{Sheet, percent, plain, rate, size, time};
use disklab_config::device::blocks_needed;
use disklab_units::Bytes;

/// Blocks of each die that the model keeps empty, or writes to, when it begins to collect.
const IN_HAND: u64 = 4;
/// As many blocks as the model counts, less what rounding adds.
const MOST_BLOCKS: u64 = disklab_config::device::MOST_BLOCKS - 500;

/// All that holds only if nothing else writes or collects meanwhile.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    known: &Known,
    hints: &Hints,
    sheet: &mut Sheet,
    remarks: &mut Vec<String>,
) -> Result<(), Error> {
    // As TLC takes.
    sheet.not_visible("erase_block", time(3.5e6), "collecting garbage hides it");
    let bytes = bench.size() * 512;
    if !bench.may_write {
        for (key, value) in [
            ("program_page", time(usual::PROGRAM)),
            ("flush", time(usual::FLUSH)),
            ("write_buffer", size(usual::BUFFER)),
        ] {
            sheet.not_visible(key, value, READ_ONLY);
        }
        raw_size(bytes, known, None, sheet);
        return Ok(());
    }
    bench.step("programs and flushes");
    programs(bench, known, hints, sheet, remarks)?;
    if !bench.has_time_for("write buffer and collection") {
        sheet.not_visible("write_buffer", size(usual::BUFFER), NO_TIME);
        raw_size(bytes, known, None, sheet);
        return Ok(());
    }
    let sustained = writes::sustained(bench)?;
    let buffer = write_buffer(&sustained, sheet);
    let collected = collected(bench, &sustained, buffer, remarks)?;
    raw_size(bytes, known, collected, sheet);
    Ok(())
}

/// In bytes; 0 where none is seen.
fn write_buffer(sustained: &Sustained, sheet: &mut Sheet) -> u64 {
    let Some((found, error)) = sustained.buffer else {
        let why = "the dies take writes as fast as the link brings them";
        sheet.not_visible("write_buffer", size(usual::BUFFER), why);
        return 0;
    };
    // What a device can have.
    let held = found.clamp(64 << 10, 64 << 30);
    if held == found {
        sheet.measured("write_buffer", size(held), error, "how far writes run ahead of the dies");
    } else {
        let why = format!("{} came out, which no device has", plain(&size(found)));
        sheet.not_visible("write_buffer", size(held), why);
    }
    held
}

fn programs(
    bench: &mut Bench<'_>,
    known: &Known,
    hints: &Hints,
    sheet: &mut Sheet,
    remarks: &mut Vec<String>,
) -> Result<(), Error> {
    /// The largest write that reaches the dies at once, in sectors.
    const LARGEST: u64 = 1024;
    /// The shortest program that a device can have, in nanoseconds.
    const LEAST: f64 = 10e3;
    let stripe = u64::from(known.dies) * known.page / 512;
    let found = writes::measure(bench, stripe.min(LARGEST) as u32)?;
    remarks
        .push(format!("a write of 4 KiB into the buffer takes {}", plain(&time(found.buffered))));
    // The command goes on meanwhile, and half of the pages come over their channel as the second.
    let takes = found.programs + known.overhead - 1.5 * known.page_time();
    // Which of a channel's pages a read meets is not known, the channel's time has its own error,
    // and so have all others.
    let error = known.page_time() * (0.5 + 1.5 * known.sizes.beside * 5.0)
        + found.programs_error
        + known.overhead_error;
    // Half of the wait is gone then, or none: three quarters are between these.
    let interrupted = found.later > 0.75 * found.programs;
    let why = if stripe > LARGEST {
        Some("a page of each die is more than one write, so that never all are programming")
    } else if takes < LEAST {
        Some("a read behind writes waits for none")
    } else {
        interrupted.then_some("a read that finds a die programming interrupts it")
    };
    match why {
        None => {
            let (value, how) = (time(takes), "reads that find every die programming");
            sheet.measured_if(
                known.if_true().as_deref(),
                "program_page",
                value,
                error / takes,
                how,
            );
        }
        Some(why) => sheet.not_visible("program_page", time(usual::PROGRAM), why),
    }
    let program = if why.is_none() { (takes, error) } else { (usual::PROGRAM, 0.0) };
    flush(known, hints, &found, (program, why.is_none()), sheet);
    Ok(())
}

/// A program's time with its error, and whether it was seen.
fn flush(
    known: &Known,
    hints: &Hints,
    found: &writes::Writes,
    ((program, program_error), seen): ((f64, f64), bool),
    sheet: &mut Sheet,
) {
    if let Some(why) = hints.flush_is_dropped() {
        return sheet.not_visible("flush", time(usual::FLUSH), why);
    }
    let takes = found.flush - known.overhead - known.link_command - program - known.page_time();
    if takes <= 0.0 {
        let why = "a flush after one write takes no longer than a command and a program";
        return sheet.not_visible("flush", time(0.0), why);
    }
    let error = found.flush * found.flush_error + program_error + known.overhead_error;
    let mut assumed = known.assumed.clone();
    if !seen {
        assumed.push(format!("a program takes {}", plain(&time(program))));
    }
    let if_true = (!assumed.is_empty()).then(|| assumed.join(", and "));
    let how = "a flush after one write, less its program";
    sheet.measured_if(if_true.as_deref(), "flush", time(takes.min(1e9)), error / takes, how);
}

/// Fills the disk and writes on at random, where there is time for it.
fn collected(
    bench: &mut Bench<'_>,
    sustained: &Sustained,
    buffer: u64,
    remarks: &mut Vec<String>,
) -> Result<Option<Collected>, Error> {
    let once = bench.size() as f64 * 512e9 / sustained.rate.max(1.0);
    let left = bench.time_left().0 as f64;
    // The onset comes after a part of the disk, a tenth for most.
    if left < 1.2 * once {
        let minutes = (3.0 * once / 60e9).ceil();
        remarks.push(format!(
            "garbage collection was not looked for: all of the disk is written for that, and then at random, at {} \
             (--time {minutes}min, or a partition)",
            plain(&rate(sustained.rate))
        ));
        return Ok(None);
    }
    let found = collection::measure(bench, buffer)?;
    let Some(onset) = found.onset else {
        let fresh = rate(found.fresh);
        remarks.push(format!(
            "writes at random on the full disk did not become slower than {}",
            plain(&fresh)
        ));
        return Ok(None);
    };
    let steady = if found.is_steady() { "a steady" } else { "not yet steady," };
    remarks.push(format!(
        "garbage collection: on the full disk, after {} (±{} %) of writes of 128 KiB at random, these fall from {} to {steady} \
         {} (±{} %)",
        plain(&size(onset >> 20 << 20)),
        percent(found.window as f64 / onset.max(1) as f64),
        plain(&rate(found.fresh)),
        plain(&rate(found.last)),
        percent(found.change.max(0.01))
    ));
    Ok(Some(found))
}

/// All that the flash holds, and the pages of a block, which go together.
fn raw_size(bytes: u64, known: &Known, collected: Option<Collected>, sheet: &mut Sheet) {
    let onset = collected.and_then(|collected| collected.onset);
    let (pages, raw) = match onset {
        Some(onset) => blocks_for(bytes, known, onset),
        None => usual_blocks(bytes, known),
    };
    sheet.not_visible("pages_per_block", pages.to_string(), "nothing shows where a block ends");
    if onset.is_some() {
        let if_true = format!("no more than {IN_HAND} blocks of each die are kept empty");
        let how = "where writes at random on the full disk become slower";
        sheet.derived("raw_size", size(raw), if_true, how);
    } else {
        let why = "what the flash has beyond the disk's size only shows after long random writing; GiB for GB";
        sheet.not_visible("raw_size", size(raw), why);
    }
}

/// Usual ones, as far as they go with the disk's size.
fn usual_blocks(bytes: u64, known: &Known) -> (u64, u64) {
    let stripe = known.page * u64::from(known.dies);
    let raw = bytes / 1000 * 1074;
    let fits = |pages: u64| raw / (pages * stripe) >= needed(bytes, known, pages);
    let pages = fewest(raw / known.page, fits);
    (pages, raw.max(needed(bytes, known, pages) * pages * stripe))
}

/// Blocks of so many pages that the model needs on each die.
fn needed(bytes: u64, known: &Known, pages: u64) -> u64 {
    blocks_needed(Bytes(bytes), known.dies.into(), Bytes(known.page), Bytes(known.page * pages))
}

/// Those with which the model begins to collect after `onset` bytes of writes to a full disk.
fn blocks_for(bytes: u64, known: &Known, onset: u64) -> (u64, u64) {
    // What is before the onset should be many blocks, of which one more or less does not matter.
    const FINE: u64 = 16;
    let stripe = known.page * u64::from(known.dies);
    let pages = fewest((bytes + onset) / known.page, |pages| pages * stripe * FINE <= onset);
    let block = pages * stripe;
    let blocks = bytes.div_ceil(block) + (onset + block / 2) / block + IN_HAND;
    (pages, blocks.max(needed(bytes, known, pages)) * block)
}

/// Pages of a block, of so many that the flash has: usual ones, or as many more as the model needs
/// to count all, or as many less as `fits` wants.
fn fewest(raw_pages: u64, fits: impl Fn(u64) -> bool) -> u64 {
    /// What a device has at least and at most.
    const PAGES: (u64, u64) = (16, 16_384);
    let counted = |pages: u64| raw_pages / pages <= MOST_BLOCKS;
    let mut pages = 768;
    while !counted(pages) && pages < PAGES.1 {
        pages *= 2;
    }
    while !fits(pages) && pages > PAGES.0 && counted(pages / 2) {
        pages = (pages / 2).max(PAGES.0);
    }
    pages.min(PAGES.1)
}
