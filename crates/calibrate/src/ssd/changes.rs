//! Measures the numbers that only writes show, and sets defaults where nothing was written.

use disklab_config::device::{MOST_BLOCKS, blocks_needed};
use disklab_units::Bytes;

use super::collection::{self, Collected};
use super::parallel;
use super::work::{SsdWork, usual};
use super::writes::{self, Sustained, WriteTimes};
use crate::bench::NO_TIME;
use crate::error::Result;
use crate::plan::READ_ONLY;
use crate::sheet::{measured, not_visible, observed, percent, rate, size, time};

/// Number of blocks of each die that the model keeps empty, or writes to, when it begins to
/// collect.
const IN_HAND: u64 = 4;

impl SsdWork<'_, '_> {
    /// Measures everything that holds only if nothing else writes or collects meanwhile.
    pub(super) fn changes(&mut self) -> Result<()> {
        // This is the erase time of TLC, in ns.
        let hidden = not_visible("collecting garbage hides it");
        self.sheet.quantity("erase_block", time(3.5e6), hidden);
        if !self.bench.may_write {
            for (key, value) in [
                ("program_page", time(usual::PROGRAM)),
                ("flush", time(usual::FLUSH)),
                ("write_buffer", size(usual::BUFFER)),
            ] {
                self.sheet.quantity(key, value, not_visible(READ_ONLY));
            }
            self.raw_size(None);
            return Ok(());
        }
        self.bench.step("programs and flushes");
        self.programs()?;
        self.writes_at_depths()?;
        if !self.bench.has_time_for("write buffer and collection") {
            let mark = not_visible(NO_TIME);
            self.sheet.quantity("write_buffer", size(usual::BUFFER), mark);
            self.raw_size(None);
            return Ok(());
        }
        let sustained = writes::sustained(self.bench)?;
        let buffer = self.write_buffer(&sustained);
        let onset = self.onset(&sustained, buffer)?;
        self.raw_size(onset);
        Ok(())
    }

    /// Measures the time that a write takes on the link besides its data, if it differs from that
    /// of a read.
    fn writes_at_depths(&mut self) -> Result<()> {
        /// The least difference, as a fraction of a write's time, that is more than chance.
        const APART: f64 = 0.1;
        /// Greatest relative difference of a run's halves; beyond it, the run has met the buffer's
        /// end.
        const UNEVEN: f64 = 0.05;
        let found = parallel::writes(self.bench)?;
        self.remarks.push(format!(
            "random writes of 4 KiB a second into the buffer, at depth {:?}: {:?}",
            parallel::DEPTHS,
            found.each.iter().map(|each| (1e9 / each).round() as u64).collect::<Vec<_>>(),
        ));
        let each = found.each.iter().copied().fold(f64::MAX, f64::min);
        let command = each - 4096e9 / self.link;
        let is_other = (command - self.link_command).abs() > APART * each;
        if found.drift > UNEVEN || !is_other || !(0.0..=1e6).contains(&command) {
            return Ok(());
        }
        let error = found.drift * each / command.max(1.0);
        for line in &mut self.sheet.lines {
            if line.key == "link_command" {
                "link_command_read".clone_into(&mut line.key);
            }
        }
        let how = "what many writes of 4 KiB take of the link besides their data";
        self.sheet.quantity("link_command", time(command), measured(error, how));
        Ok(())
    }

    /// Returns the size of the write buffer in bytes, or 0 if none is seen.
    fn write_buffer(&mut self, sustained: &Sustained) -> u64 {
        let Some((found, error)) = sustained.buffer else {
            let mark = not_visible("the dies take writes as fast as the link brings them");
            self.sheet.quantity("write_buffer", size(usual::BUFFER), mark);
            return 0;
        };
        // This is the range that a device of the lab may have.
        let held = found.clamp(64 << 10, 64 << 30);
        let mark = if held == found {
            measured(error, "how far writes run ahead of the dies")
        } else {
            let found = size(found);
            not_visible(format!("measured {found}, outside the range that a device file permits"))
        };
        self.sheet.quantity("write_buffer", size(held), mark);
        held
    }

    fn programs(&mut self) -> Result<()> {
        /// The largest write that reaches the dies at once, in sectors.
        const LARGEST: u64 = 1024;
        /// The shortest program that a device may have, in ns.
        const LEAST: f64 = 10e3;
        let stripe = u64::from(self.dies) * self.page / 512;
        let found = writes::measure(self.bench, stripe.min(LARGEST) as u32)?;
        let buffered = time(found.buffered);
        self.remarks.push(format!("a write of 4 KiB into the buffer takes {buffered}"));
        // The command is processed meanwhile, and half of the pages come over their channel as the
        // second one.
        let takes = found.programs + self.overhead - 1.5 * self.page_time();
        // It is not known which of a channel's pages a read meets. The time of the channel and all
        // other times have errors of their own.
        let error = self.page_time() * (0.5 + 1.5 * self.sizes.beside * 5.0)
            + found.programs_error
            + self.overhead_error;
        // Half of the wait is over by then, or none of it; three quarters is between the two.
        let interrupted = found.later > 0.75 * found.programs;
        let why = if stripe > LARGEST {
            Some("one write cannot fill a page of each die, so the dies never program all at once")
        } else if takes < LEAST {
            Some("reads do not wait for writes")
        } else {
            interrupted.then_some("a read that finds a die programming interrupts it")
        };
        let (program, mark) = match why {
            None => (
                (takes, error),
                measured(error / takes, "reads that find every die programming")
                    .assuming(self.if_true(None)),
            ),
            Some(why) => ((usual::PROGRAM, 0.0), not_visible(why)),
        };
        self.sheet.quantity("program_page", time(program.0), mark);
        self.flush(&found, program, why.is_none());
        Ok(())
    }

    /// Adds the time of a flush. `seen` says whether the program's time was measured; its error
    /// stands beside it.
    fn flush(&mut self, found: &WriteTimes, (program, program_error): (f64, f64), seen: bool) {
        let takes = found.flush - self.overhead - self.link_command - program - self.page_time();
        let (value, mark) = if let Some(why) = self.hints.flush_is_dropped() {
            (usual::FLUSH, not_visible(why))
        } else if takes <= 0.0 {
            let why = "a flush after one write takes no longer than a command and a program";
            (0.0, not_visible(why))
        } else {
            let error = found.flush * found.flush_error + program_error + self.overhead_error;
            let assumed = (!seen).then(|| format!("a program takes {}", time(program)));
            let how = "a flush after one write, less its program";
            (takes.min(1e9), measured(error / takes, how).assuming(self.if_true(assumed)))
        };
        self.sheet.quantity("flush", time(value), mark);
    }

    /// Fills the disk and continues with random writes, if there is time. Returns the number of
    /// bytes after which the random writes become slower, if they do.
    fn onset(&mut self, sustained: &Sustained, buffer: u64) -> Result<Option<u64>> {
        let once = self.bench.size() as f64 * 512e9 / sustained.rate.max(1.0);
        let left = self.bench.time_left().0 as f64;
        // The onset comes after a fraction of the disk, on most disks a tenth.
        if left < 1.2 * once {
            let minutes = (3.0 * once / 60e9).ceil();
            self.remarks.push(format!(
                "garbage collection was not measured: all of the disk is written for that, and \
                 then at random, at {} (--time {minutes}min, or a partition)",
                rate(sustained.rate)
            ));
            return Ok(None);
        }
        let found = collection::measure(self.bench, buffer)?;
        let Collected { onset, fresh, .. } = found;
        let fresh = rate(fresh);
        self.remarks.push(if let Some(onset) = onset {
            let steady = if found.is_steady() { "a steady" } else { "not yet steady," };
            format!(
                "garbage collection: on the full disk, after {} (±{} %) of writes of 128 KiB at \
                 random, these fall from {fresh} to {steady} {} (±{} %)",
                size(onset >> 20 << 20),
                percent(found.window as f64 / onset.max(1) as f64),
                rate(found.last),
                percent(found.change.max(0.01))
            )
        } else {
            format!("writes at random on the full disk did not become slower than {fresh}")
        });
        Ok(onset)
    }

    /// Adds the flash's whole size and the pages of a block, which depend on each other.
    fn raw_size(&mut self, onset: Option<u64>) {
        let flash = FlashBlocks {
            bytes: self.bench.size() * 512,
            page: self.page,
            dies: u64::from(self.dies),
            stripe: self.page * u64::from(self.dies),
        };
        let (pages, raw) = match onset {
            Some(onset) => flash.blocks_for(onset),
            None => flash.usual_blocks(),
        };
        let hidden = not_visible("nothing shows where a block ends");
        self.sheet.number("pages_per_block", pages, hidden);
        let mark = if onset.is_some() {
            let if_true = format!("no more than {IN_HAND} blocks of each die are kept empty");
            observed("where writes at random on the full disk become slower")
                .assuming(Some(if_true))
        } else {
            not_visible(
                "what the flash has beyond the disk's size only shows after long random writing; \
                 GiB for GB",
            )
        };
        self.sheet.quantity("raw_size", size(raw), mark);
    }
}

/// The sizes, in bytes, from which blocks are computed.
struct FlashBlocks {
    /// The disk's size.
    bytes: u64,
    page: u64,
    dies: u64,
    /// The size of one page of each die.
    stripe: u64,
}

impl FlashBlocks {
    /// Returns the usual pages of a block and bytes of the flash, as far as they fit the disk's
    /// size.
    fn usual_blocks(&self) -> (u64, u64) {
        let raw = self.bytes / 1000 * 1074;
        let fits = |pages: u64| raw / (pages * self.stripe) >= self.needed(pages);
        let pages = fewest(raw / self.page, fits);
        (pages, raw.max(self.needed(pages) * pages * self.stripe))
    }

    /// Returns the number of blocks of `pages` pages that the model needs on each die.
    fn needed(&self, pages: u64) -> u64 {
        let (page, block) = (Bytes(self.page), Bytes(self.page * pages));
        blocks_needed(Bytes(self.bytes), self.dies, page, block)
    }

    /// Returns the pages of a block, and the bytes in all, with which the model begins to collect
    /// after `onset` bytes of writes to a full disk.
    fn blocks_for(&self, onset: u64) -> (u64, u64) {
        // There should be many blocks before the onset, so that one more or less does not matter.
        const FINE: u64 = 16;
        let fits = |pages: u64| pages * self.stripe * FINE <= onset;
        let pages = fewest((self.bytes + onset) / self.page, fits);
        let block = pages * self.stripe;
        let blocks = self.bytes.div_ceil(block) + (onset + block / 2) / block + IN_HAND;
        (pages, blocks.max(self.needed(pages)) * block)
    }
}

/// Returns the pages of a block for flash of `raw_pages` pages: the usual number, or as many more
/// as the model needs to count all blocks, or as many fewer as `fits` requires.
fn fewest(raw_pages: u64, fits: impl Fn(u64) -> bool) -> u64 {
    /// The fewest and the most pages of a device's block.
    const PAGES: (u64, u64) = (16, 16_384);
    // The limit is the most blocks that the model counts, minus those that rounding adds.
    let counted = |pages: u64| raw_pages / pages <= MOST_BLOCKS - 500;
    let mut pages = 768;
    while !counted(pages) && pages < PAGES.1 {
        pages *= 2;
    }
    while !fits(pages) && pages > PAGES.0 && counted(pages / 2) {
        pages = (pages / 2).max(PAGES.0);
    }
    pages.min(PAGES.1)
}
