//! Measures the numbers that reads and flushes show.

use super::parallel::{self, DieCount};
use super::work::{SsdWork, usual};
use crate::error::Result;
use crate::numbers::{quantile, spread};
use crate::plan::{Hints, KERNEL_SAYS, NOBODY_SAYS};
use crate::sheet::{measured, not_visible, observed, rate, size, time};
use crate::target::Probe;

/// The least time of a command to a disk and back, in ns. A call that ends in the kernel takes 1
/// us.
const ROUND_TRIP: f64 = 3e3;

/// The largest fraction of a lone read that its command and link may take. If they seem to take
/// more, a flush with nothing to flush does more than a command.
const COMMAND: f64 = 0.8;

impl SsdWork<'_, '_> {
    /// Measures the time of a command with a flush that has nothing to flush.
    pub(super) fn command(&mut self) -> Result<()> {
        let mut times = Vec::new();
        self.bench.one(Probe::flush())?;
        for _ in 0..30 {
            times.push(self.bench.one(Probe::flush())?.nanos());
        }
        // Only the quick flushes count, because the host delays the later ones.
        let empty = quantile(&times, 0.1);
        let read = self.modes.times.first().copied().unwrap_or_default();
        self.overhead = (empty - self.link_command).max(0.0);
        let why = if let Some(why) = self.hints.flush_is_dropped() {
            Some(why)
        } else if empty < ROUND_TRIP {
            Some("an empty flush ends before the disk could answer")
        } else if self.besides() > COMMAND * read {
            Some("a flush with nothing to flush takes as long as a read")
        } else {
            (self.overhead <= 0.0)
                .then_some("a flush with nothing to flush takes no longer than the link does")
        };
        let mark = if let Some(why) = why {
            self.overhead = usual::OVERHEAD * read;
            self.assumed.push(format!("a command takes {}", time(self.overhead)));
            not_visible(format!("{why}; a fifth of a read's time"))
        } else {
            // The error is at least a hundredth: even a clock of 1 ns is no more exact for such a
            // time.
            self.overhead_error = spread(&times, empty).max(0.01 * self.overhead);
            let error = self.overhead_error / self.overhead;
            measured(error, "a flush with nothing to flush")
        };
        self.sheet.quantity("command_overhead", time(self.overhead), mark);
        Ok(())
    }

    /// Measures pages and dies.
    pub(super) fn flash(&mut self) -> Result<()> {
        let mark = match self.sizes.page {
            Some(_) => observed("where a longer read stops taking the channel's time too"),
            None => not_visible("longer reads take longer evenly"),
        };
        self.sheet.quantity("page", size(self.page), mark);
        self.read_page();
        let (page, one) = (self.page, 1e9 / self.die_time().max(1.0));
        let dies = self.bench.if_time("dies", |bench| parallel::dies(bench, page, one))?;
        self.dies = match dies {
            Ok(DieCount::Found(dies) | DieCount::AtLeast(dies)) => dies,
            Ok(DieCount::Unseen) | Err(_) => usual::DIES,
        };
        let (channels, each) = split(self.dies);
        // The flash's whole size is that of the dies that the device has, which may be some more.
        self.dies = channels * each;
        let why = not_visible("the link is full before a channel is");
        self.sheet.number("channels", channels, why);
        let mark = match dies {
            Ok(DieCount::Found(dies)) if channels * each == dies => {
                let assumed = format!("pages have {}", size(self.page));
                let how =
                    format!("{dies} dies in all: reads so many pages apart wait for each other");
                observed(how).assuming(self.sizes.page.is_none().then_some(assumed))
            }
            Ok(DieCount::Found(dies)) => not_visible(format!(
                "{dies} dies, which cannot be split evenly over at most {MOST} channels"
            )),
            Ok(DieCount::AtLeast(tried)) => not_visible(format!(
                "at least {tried} dies in all: reads further apart were not tried"
            )),
            Ok(DieCount::Unseen) => {
                not_visible("no distance between reads makes them wait for one die")
            }
            Err(why) => not_visible(why),
        };
        self.sheet.number("dies_per_channel", each, mark);
        if !matches!(dies, Ok(DieCount::Found(_))) {
            self.assumed.push(format!("there are {} dies", self.dies));
        }
        Ok(())
    }

    fn read_page(&mut self) {
        /// The least time of a page that a device may have, in ns.
        const LEAST: f64 = 1e3;
        let besides = self.besides();
        let read: Vec<f64> = self.modes.times.iter().map(|all| all - besides).collect();
        let quoted = |takes: &f64| format!("\"{}\"", time(takes.max(LEAST)));
        let value = format!("[{}]", read.iter().map(quoted).collect::<Vec<_>>().join(", "));
        let shortest = read.first().copied().unwrap_or_default();
        let mark = if shortest < LEAST {
            not_visible("a lone read takes no longer than command, channel and link")
        } else {
            let error = (self.modes.spread * self.modes.mean + self.overhead_error) / shortest;
            measured(error, "lone reads, less command, channel and link")
                .assuming(self.if_true(None))
        };
        self.sheet.number("read_page", value, mark);
    }

    pub(super) fn bus(&mut self) {
        let mark = match self.sizes.channel {
            Some(_) => {
                // The time that bends the line is about a fifth of a lone read.
                let error = self.sizes.beside * 5.0;
                measured(error, "lone reads within a page, less the link")
            }
            None => not_visible("no page is seen"),
        };
        self.sheet.quantity("channel", rate(self.channel), mark);
        let (link_error, command_error) = self.parallel.link_errors();
        let (link_seen, command_seen) = self.parallel.link_is_seen();
        let mark = if link_seen {
            measured(link_error, "many reads of 128 KiB against many of 4 KiB")
        } else {
            not_visible(
                "the extra time of reads of 128 KiB over reads of 4 KiB is implausible for a link",
            )
        };
        self.sheet.quantity("link", rate(self.link), mark);
        // If the dies limit small reads, the command's share comes out too large. Random places
        // leave some dies idle at any depth, so the dies are the limit above four fifths of what
        // all can do.
        let dies_can = f64::from(self.dies) * 1e9 / self.die_time().max(1.0);
        let mark = if !command_seen {
            not_visible("many reads of 4 KiB take no more of the link than their data does")
        } else if self.parallel.most() < 0.8 * dies_can {
            measured(command_error, "what many reads of 4 KiB take of the link besides their data")
        } else {
            let why =
                "the dies limit small reads, not the link; taken from their rate all the same";
            not_visible(why)
        };
        self.sheet.quantity("link_command", time(self.link_command), mark);
    }

    /// Adds the numbers that only the kernel knows.
    pub(super) fn queue(&mut self) {
        let Hints { queue_depth, queued_flush, .. } = self.hints;
        let depth = queue_depth.unwrap_or(usual::DEPTH).clamp(1, 4096);
        let why = if queue_depth.is_some() { KERNEL_SAYS } else { NOBODY_SAYS };
        self.sheet.number("queue_depth", depth, not_visible(why));
        let why = if queued_flush.is_some() {
            "this is the usual value on this kind of link"
        } else {
            NOBODY_SAYS
        };
        let queued = queued_flush.unwrap_or(false);
        self.sheet.number("queued_flush", queued, not_visible(why));
    }
}

/// The most channels of a device, and the most dies on each.
const MOST: u32 = 64;

/// Returns a number of channels and of dies on each whose product is `dies`, or the nearest
/// possible product.
fn split(dies: u32) -> (u32, u32) {
    // Among several possibilities, those with up to eight channels come first, as is usual.
    let few = || (1..=usual::CHANNELS).rev().chain(usual::CHANNELS + 1..=MOST);
    let equal = |dies: u32| {
        few()
            .find(|count| dies.is_multiple_of(*count) && dies / count <= MOST)
            .map(|count| (count, dies / count))
    };
    let near = (0..dies).find_map(|off| equal(dies + off).or_else(|| equal(dies - off)));
    near.unwrap_or((1, 1))
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
