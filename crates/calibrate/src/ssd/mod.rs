//! A disk without moving parts: part by part, later ones on what earlier ones found.

mod latency;
mod parallel;
mod sizes;
mod writes;

use self::latency::Modes;
use self::parallel::Parallel;
use self::sizes::Sizes;
use crate::Error;
use crate::bench::Bench;
use crate::device::Hints;
use crate::numbers::median;
use crate::sheet::{Sheet, plain, rate, size, time};
use crate::target::Probe;

/// In the order of a device's file.
const KEYS: [&str; 16] = [
    "channels",
    "dies_per_channel",
    "page",
    "raw_size",
    "read_page",
    "program_page",
    "erase_block",
    "pages_per_block",
    "channel",
    "link",
    "link_command",
    "command_overhead",
    "queue_depth",
    "write_buffer",
    "flush",
    "queued_flush",
];

/// How many times [`Bench::step`] is called here.
pub(crate) const STEPS: u32 = 6;

/// What stands where nothing was seen: a SATA disk with TLC.
mod usual {
    pub const CHANNELS: u32 = 8;
    pub const DIES: u32 = 16;
    pub const PAGE: u64 = 16 << 10;
    pub const PROGRAM: f64 = 500e3;
    pub const CHANNEL: f64 = 1.2e9;
    /// A part of a lone read's time, where a flush tells nothing.
    pub const OVERHEAD: f64 = 0.2;
    pub const BUFFER: u64 = 32 << 20;
    pub const FLUSH: f64 = 1e6;
    pub const DEPTH: u32 = 32;
}

const READ_ONLY: &str = "it was only read (--write)";
const NO_TIME: &str = "no time was left (--time)";

/// Nanoseconds and bytes a second, as far as they are known.
struct Known {
    modes: Modes,
    sizes: Sizes,
    parallel: Parallel,
    page: u64,
    channel: f64,
    link: f64,
    link_command: f64,
    overhead: f64,
    dies: u32,
}

impl Known {
    /// What of a lone read of 4 KiB is not the die's.
    fn besides(&self) -> f64 {
        self.overhead + 4096e9 / self.channel + 4096e9 / self.link + self.link_command
    }

    /// A page over its channel.
    fn page_time(&self) -> f64 {
        self.page as f64 * 1e9 / self.channel
    }
}

pub(crate) fn measure(bench: &mut Bench<'_>, hints: &Hints) -> Result<(Sheet, Vec<String>), Error> {
    let mut sheet = Sheet::default();
    let mut remarks = Vec::new();
    bench.step("latency of reads");
    let modes = latency::measure(bench)?;
    bench.step("sizes of reads");
    let sizes = sizes::measure(bench)?;
    bench.step("reads at once");
    let parallel = parallel::measure(bench)?;
    remarks.push(format!(
        "random reads of 4 KiB a second, at depth {:?}: {:?}; nine tenths of the most from depth {} on",
        parallel::DEPTHS,
        parallel.iops.iter().map(|iops| iops.round() as u64).collect::<Vec<_>>(),
        parallel.knee()
    ));
    let page = sizes.page.unwrap_or(usual::PAGE);
    let channel = sizes.channel.unwrap_or(usual::CHANNEL);
    let (link, link_command) = parallel.link();
    let mut known =
        Known { modes, sizes, parallel, page, channel, link, link_command, overhead: 0.0, dies: usual::DIES };
    overhead(bench, &mut known, &mut sheet)?;
    flash(bench, &mut known, &mut sheet)?;
    bus(&known, &mut sheet);
    queue(hints, &mut sheet);
    write(bench, &known, &mut sheet, &mut remarks)?;
    sheet.sort(&KEYS);
    Ok((sheet, remarks))
}

/// A flush with nothing to flush is a command and no more.
fn overhead(bench: &mut Bench<'_>, known: &mut Known, sheet: &mut Sheet) -> Result<(), Error> {
    let mut times = Vec::new();
    bench.one(Probe::flush())?;
    for _ in 0..30 {
        times.push(bench.one(Probe::flush())?.latency().0 as f64);
    }
    let empty = median(&times);
    let away: Vec<f64> = times.iter().map(|time| (time / empty.max(1.0) - 1.0).abs()).collect();
    let read = known.modes.times.first().copied().unwrap_or_default();
    known.overhead = (empty - known.link_command).max(0.0);
    if known.overhead > 0.0 && known.besides() < 0.8 * read {
        let how = "a flush with nothing to flush";
        sheet.measured("command_overhead", time(known.overhead), median(&away).max(0.01), how);
    } else {
        known.overhead = usual::OVERHEAD * read;
        let why = "a flush with nothing to flush takes as long as a read, or no time; a fifth of a read's";
        sheet.not_visible("command_overhead", time(known.overhead), why);
    }
    Ok(())
}

fn flash(bench: &mut Bench<'_>, known: &mut Known, sheet: &mut Sheet) -> Result<(), Error> {
    match known.sizes.page {
        Some(page) => {
            sheet.found("page", size(page), "where a longer read stops taking the channel's time too");
        }
        None => sheet.not_visible("page", size(known.page), "longer reads take longer evenly"),
    }
    let besides = known.besides();
    let read: Vec<String> = known.modes.times.iter().map(|all| time((all - besides).max(1e3))).collect();
    let shortest = known.modes.times.first().map_or(1.0, |all| (all - besides).max(1e3));
    let error = known.modes.spread * known.modes.mean / shortest;
    let how = "lone reads, less command, channel and link";
    sheet.measured("read_page", format!("[{}]", read.join(", ")), error, how);
    let dies = if bench.has_time_for("dies") {
        parallel::dies(bench, known.page)?.ok_or("no distance between reads makes them wait for one die")
    } else {
        Err(NO_TIME)
    };
    known.dies = dies.unwrap_or(usual::DIES);
    let channels = (1..=usual::CHANNELS).rev().find(|count| known.dies.is_multiple_of(*count)).unwrap_or(1);
    let why = "the link is full before a channel is";
    sheet.not_visible("channels", channels.to_string(), why);
    let each = (known.dies / channels).clamp(1, 64).to_string();
    match dies {
        Ok(dies) => {
            let how = format!("{dies} dies in all: reads so many pages apart wait for each other");
            sheet.found("dies_per_channel", each, how);
        }
        Err(why) => sheet.not_visible("dies_per_channel", each, why),
    }
    Ok(())
}

fn bus(known: &Known, sheet: &mut Sheet) {
    match known.sizes.channel {
        Some(channel) => {
            let how = "lone reads within a page, less the link";
            sheet.measured("channel", rate(channel), known.sizes.beside * 5.0, how);
        }
        None => sheet.not_visible("channel", rate(known.channel), "no page is seen"),
    }
    let (link_error, command_error) = known.parallel.link_errors();
    sheet.measured("link", rate(known.link), link_error, "many reads of 128 KiB against many of 4 KiB");
    // Were it the dies that limit small reads, the command's share would come out too large.
    let die = known.modes.mean - known.besides() + 4096e9 / known.channel;
    let dies_can = f64::from(known.dies) * 1e9 / die.max(1.0);
    if known.parallel.most() < 0.8 * dies_can {
        let how = "what many reads of 4 KiB take of the link besides their data";
        sheet.measured("link_command", time(known.link_command), command_error, how);
    } else {
        let why = "the dies limit small reads, not the link; taken from their rate all the same";
        sheet.not_visible("link_command", time(known.link_command), why);
    }
}

fn queue(hints: &Hints, sheet: &mut Sheet) {
    let depth = hints.queue_depth.unwrap_or(usual::DEPTH).clamp(1, 4096);
    let why = match hints.queue_depth {
        Some(_) => "this is what the kernel says",
        None => "nobody says it; that of SATA",
    };
    sheet.not_visible("queue_depth", depth.to_string(), why);
    let queued = hints.queued_flush.unwrap_or(false);
    let why = match hints.queued_flush {
        Some(_) => "so have it the disk's kind of link",
        None => "nobody says it; that of SATA",
    };
    sheet.not_visible("queued_flush", queued.to_string(), why);
}

/// What only writing shows, or why it was not seen.
struct Written {
    program: Result<f64, &'static str>,
    /// With their errors.
    flush: Result<(f64, f64), &'static str>,
    buffer: Result<(u64, f64), &'static str>,
}

fn write(
    bench: &mut Bench<'_>,
    known: &Known,
    sheet: &mut Sheet,
    remarks: &mut Vec<String>,
) -> Result<(), Error> {
    let (pages, raw) = blocks(bench.size() * 512, known);
    sheet.not_visible("erase_block", time(3.5e6), "collecting garbage hides it");
    sheet.not_visible("pages_per_block", pages.to_string(), "nothing shows where a block ends");
    let why = "what the flash has beyond the disk's size only shows after long random writing; GiB for GB";
    sheet.not_visible("raw_size", size(raw), why);
    let Written { program, flush, buffer } = if bench.may_write {
        written(bench, known, remarks)?
    } else {
        Written { program: Err(READ_ONLY), flush: Err(READ_ONLY), buffer: Err(READ_ONLY) }
    };
    match program {
        Ok(takes) => {
            let error = known.page_time() / 2.0 / takes;
            sheet.measured("program_page", time(takes), error, "reads that find every die programming");
        }
        Err(why) => sheet.not_visible("program_page", time(usual::PROGRAM), why),
    }
    match flush {
        Ok((takes, error)) => {
            sheet.measured("flush", time(takes), error, "a flush after one write, less its program");
        }
        Err(why) => sheet.not_visible("flush", time(usual::FLUSH), why),
    }
    match buffer {
        Ok((bytes, error)) => {
            let bytes = bytes.clamp(64 << 10, 64 << 30);
            sheet.measured("write_buffer", size(bytes), error, "how far writes run ahead of the dies");
        }
        Err(why) => sheet.not_visible("write_buffer", size(usual::BUFFER), why),
    }
    Ok(())
}

/// Pages of a block and all that the flash holds, where neither is known: usual ones, as far as they go with the disk's
/// size. The model needs eight blocks more on each die than that fills, and counts no more than 65 532.
fn blocks(bytes: u64, known: &Known) -> (u64, u64) {
    const SPARE: u64 = 8;
    let raw = bytes / 1000 * 1074;
    let block = |pages: u64| pages * known.page * u64::from(known.dies);
    let fits = |pages: u64| raw / block(pages) >= bytes.div_ceil(block(pages)) + SPARE;
    let few = |pages: u64| raw / (pages * known.page) <= 65_000;
    let mut pages = 768;
    while !few(pages) && pages < 16_384 {
        pages *= 2;
    }
    while !fits(pages) && pages > 16 {
        pages = (pages / 2).max(16);
    }
    (pages, raw.max((bytes.div_ceil(block(pages)) + SPARE) * block(pages)))
}

fn written(bench: &mut Bench<'_>, known: &Known, remarks: &mut Vec<String>) -> Result<Written, Error> {
    bench.step("programs and flushes");
    let stripe = (u64::from(known.dies) * known.page / 512).min(1024) as u32;
    let found = writes::measure(bench, stripe)?;
    // The command goes on meanwhile, and half of the pages come over their channel as the second.
    let takes = found.programs + known.overhead - 1.5 * known.page_time();
    let program = if takes > 10e3 { Ok(takes) } else { Err("a read behind writes waits for none") };
    let takes = program.unwrap_or(usual::PROGRAM) + known.page_time();
    let flush_error = found.flush_error;
    let flush = (found.flush - known.overhead - known.link_command - takes).clamp(0.0, 1e9);
    remarks.push(format!("a write of 4 KiB into the buffer takes {}", plain(&time(found.buffered))));
    if !bench.has_time_for("write buffer and collection") {
        return Ok(Written { program, flush: Ok((flush, flush_error)), buffer: Err(NO_TIME) });
    }
    let found = writes::sustained(bench)?;
    let before = rate(found.rate);
    remarks.push(match found.falls {
        None => format!(
            "1 GiB of random writes did not become slower than {} (garbage collection)",
            plain(&before)
        ),
        Some((bytes, slow)) => format!(
            "garbage collection: after {} of random writes they fall from {} to {}",
            plain(&size(bytes)),
            plain(&before),
            plain(&rate(slow))
        ),
    });
    let buffer = found.buffer.ok_or("the dies take writes as fast as the link brings them");
    Ok(Written { program, flush: Ok((flush, flush_error)), buffer })
}
