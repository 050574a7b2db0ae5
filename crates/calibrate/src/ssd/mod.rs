//! A disk without moving parts: part by part, later ones on what earlier ones found.

mod changes;
mod collection;
mod latency;
mod parallel;
mod sizes;
mod writes;

use self::latency::Modes;
use self::parallel::{Dies, Parallel};
use self::sizes::Sizes;
use crate::Error;
use crate::bench::Bench;
use crate::device::Hints;
use crate::numbers::{median, quantile};
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
    /// How far that may be off, in nanoseconds.
    overhead_error: f64,
    dies: u32,
    /// What stands in the place of numbers that were not seen, which others are reckoned from.
    assumed: Vec<String>,
}

impl Known {
    /// What of a lone read of 4 KiB is not the die's.
    fn besides(&self) -> f64 {
        self.overhead + 4096e9 / self.channel + 4096e9 / self.link + self.link_command
    }

    /// What has to be true for what is reckoned from other numbers.
    fn if_true(&self) -> Option<String> {
        (!self.assumed.is_empty()).then(|| self.assumed.join(", and "))
    }

    /// What a die is busy for with a read of 4 KiB, in the mean.
    fn die_time(&self) -> f64 {
        self.modes.mean - self.besides() + 4096e9 / self.channel
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
    let (overhead_error, dies, mut assumed) = (0.0, usual::DIES, Vec::new());
    if sizes.channel.is_none() {
        assumed.push(format!(
            "a channel moves {} in pages of {}",
            plain(&rate(channel)),
            plain(&size(page))
        ));
    }
    let overhead = 0.0;
    let mut known = Known {
        modes,
        sizes,
        parallel,
        page,
        channel,
        link,
        link_command,
        overhead,
        overhead_error,
        dies,
        assumed,
    };
    command(bench, &mut known, hints, &mut sheet)?;
    flash(bench, &mut known, &mut sheet)?;
    bus(&known, &mut sheet);
    queue(hints, &mut sheet);
    changes::measure(bench, &known, hints, &mut sheet, &mut remarks)?;
    sheet.sort(&KEYS);
    Ok((sheet, remarks))
}

/// No command goes to a disk and back in less, in nanoseconds: a call that ends in the kernel takes
/// one microsecond.
const ROUND_TRIP: f64 = 3e3;

/// Of a lone read, a command with its link takes no more than this part: where it seems to, a flush
/// with nothing to flush does more than a command.
const COMMAND: f64 = 0.8;

/// A flush with nothing to flush is a command and no more.
fn command(
    bench: &mut Bench<'_>,
    known: &mut Known,
    hints: &Hints,
    sheet: &mut Sheet,
) -> Result<(), Error> {
    let mut times = Vec::new();
    bench.one(Probe::flush())?;
    for _ in 0..30 {
        times.push(bench.one(Probe::flush())?.latency().0 as f64);
    }
    // The quick ones: what is later is late for reasons of the host's.
    let empty = quantile(&times, 0.1);
    let away: Vec<f64> = times.iter().map(|time| (time - empty).abs()).collect();
    let read = known.modes.times.first().copied().unwrap_or_default();
    known.overhead = (empty - known.link_command).max(0.0);
    let why = if let Some(why) = hints.flush_is_dropped() {
        Some(why)
    } else if empty < ROUND_TRIP {
        Some("a flush ends too soon to have been at the disk")
    } else if known.besides() > COMMAND * read {
        Some("a flush with nothing to flush takes as long as a read")
    } else {
        (known.overhead <= 0.0)
            .then_some("a flush with nothing to flush takes no longer than the link does")
    };
    let Some(why) = why else {
        // Neither is a clock of nanoseconds exact to less than a hundredth of such a time.
        known.overhead_error = median(&away).max(0.01 * known.overhead);
        let error = known.overhead_error / known.overhead;
        sheet.measured(
            "command_overhead",
            time(known.overhead),
            error,
            "a flush with nothing to flush",
        );
        return Ok(());
    };
    known.overhead = usual::OVERHEAD * read;
    let value = time(known.overhead);
    known.assumed.push(format!("a command takes {}", plain(&value)));
    sheet.not_visible("command_overhead", value, format!("{why}; a fifth of a read's time"));
    Ok(())
}

/// Pages and dies.
fn flash(bench: &mut Bench<'_>, known: &mut Known, sheet: &mut Sheet) -> Result<(), Error> {
    match known.sizes.page {
        Some(page) => {
            sheet.found(
                "page",
                size(page),
                "where a longer read stops taking the channel's time too",
            );
        }
        None => sheet.not_visible("page", size(known.page), "longer reads take longer evenly"),
    }
    read_page(known, sheet);
    let dies = if bench.has_time_for("dies") {
        parallel::dies(bench, known.page, 1e9 / known.die_time().max(1.0))?
    } else {
        Dies::NotTried
    };
    known.dies = match dies {
        Dies::Found(dies) => dies,
        Dies::AtLeast(tried) => tried,
        Dies::Unseen | Dies::NotTried => usual::DIES,
    };
    let (channels, each) = split(known.dies);
    let why = "the link is full before a channel is";
    sheet.not_visible("channels", channels.to_string(), why);
    let (key, value) = ("dies_per_channel", each.to_string());
    match dies {
        Dies::Found(dies) if channels * each == dies => {
            let how = format!("{dies} dies in all: reads so many pages apart wait for each other");
            match known.sizes.page {
                Some(_) => sheet.found(key, value, how),
                None => sheet.derived(
                    key,
                    value,
                    format!("pages have {}", plain(&size(known.page))),
                    how,
                ),
            }
        }
        Dies::Found(dies) => {
            let why = format!("{dies} dies in all, which no equal number on each channel makes");
            sheet.not_visible(key, value, why);
        }
        Dies::AtLeast(tried) => {
            let why = format!("at least {tried} dies in all: reads further apart were not tried");
            sheet.not_visible(key, value, why);
        }
        Dies::Unseen => {
            sheet.not_visible(key, value, "no distance between reads makes them wait for one die");
        }
        Dies::NotTried => sheet.not_visible(key, value, NO_TIME),
    }
    if !matches!(dies, Dies::Found(_)) {
        known.assumed.push(format!("there are {} dies", known.dies));
    }
    Ok(())
}

fn read_page(known: &Known, sheet: &mut Sheet) {
    /// The least that a device has.
    const LEAST: f64 = 1e3;
    let besides = known.besides();
    let read: Vec<f64> = known.modes.times.iter().map(|all| all - besides).collect();
    let words: Vec<String> = read.iter().map(|takes| time(takes.max(LEAST))).collect();
    let value = format!("[{}]", words.join(", "));
    let shortest = read.first().copied().unwrap_or_default();
    if shortest < LEAST {
        let why = "a lone read takes no longer than command, channel and link";
        return sheet.not_visible("read_page", value, why);
    }
    let error = (known.modes.spread * known.modes.mean + known.overhead_error) / shortest;
    let how = "lone reads, less command, channel and link";
    sheet.measured_if(known.if_true().as_deref(), "read_page", value, error, how);
}

/// What a device has of either at most.
const MOST: u32 = 64;

/// Channels, and dies on each: as many in all, or where no equal numbers make that, the nearest.
fn split(dies: u32) -> (u32, u32) {
    // Of several, usually no more than eight channels.
    let few = || (1..=usual::CHANNELS).rev().chain(usual::CHANNELS + 1..=MOST);
    let equal = |dies: u32| {
        few()
            .find(|count| dies.is_multiple_of(*count) && dies / count <= MOST)
            .map(|count| (count, dies / count))
    };
    let near = (0..dies).find_map(|off| equal(dies + off).or_else(|| equal(dies - off)));
    near.unwrap_or((1, 1))
}

fn bus(known: &Known, sheet: &mut Sheet) {
    match known.sizes.channel {
        Some(channel) => {
            // What bends the line is about a fifth of a lone read's time.
            let error = known.sizes.beside * 5.0;
            sheet.measured(
                "channel",
                rate(channel),
                error,
                "lone reads within a page, less the link",
            );
        }
        None => sheet.not_visible("channel", rate(known.channel), "no page is seen"),
    }
    let (link_error, command_error) = known.parallel.link_errors();
    let (link_seen, command_seen) = known.parallel.link_is_seen();
    if link_seen {
        sheet.measured(
            "link",
            rate(known.link),
            link_error,
            "many reads of 128 KiB against many of 4 KiB",
        );
    } else {
        let why = "many reads of 128 KiB take what no link does more than many of 4 KiB";
        sheet.not_visible("link", rate(known.link), why);
    }
    // Were it the dies that limit small reads, the command's share would come out too large. Places
    // drawn at random leave some dies idle at any depth; above four fifths of what all can do, they
    // are what limits.
    let dies_can = f64::from(known.dies) * 1e9 / known.die_time().max(1.0);
    if !command_seen {
        let why = "many reads of 4 KiB take no more of the link than their data does";
        sheet.not_visible("link_command", time(known.link_command), why);
    } else if known.parallel.most() < 0.8 * dies_can {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dies_are_spread_over_channels_that_a_device_can_have() {
        assert_eq!(split(16), (8, 2));
        assert_eq!(split(12), (6, 2));
        assert_eq!(split(7), (7, 1));
        assert_eq!(split(256), (8, 32));
        assert_eq!(split(143), (11, 13));
        // 127 is a prime number.
        assert_eq!(split(127), (8, 16));
        for dies in 1..=256 {
            let (channels, each) = split(dies);
            assert!(
                channels <= MOST && each <= MOST && (channels * each).abs_diff(dies) <= 2,
                "{dies}"
            );
        }
    }
}
