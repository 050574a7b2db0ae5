//! The parts of a hard disk that do not move: cache, choice among commands, writes.

use disklab_units::Bytes;

use super::cache::{self, Border};
use super::queue::{self, WriteWindow};
use super::work::HddWork;
use super::writes;
use crate::bench::NO_TIME;
use crate::error::Result;
use crate::plan::{Hints, KERNEL_SAYS, NOBODY_SAYS, READ_ONLY};
use crate::sheet::{Provenance, measured, not_visible, observed, percent, size, time};

/// The border that was found, or the reason why none was looked for.
type BorderSeen = Result<Border, &'static str>;

impl HddWork<'_, '_> {
    pub(super) fn cache(&mut self) -> Result<()> {
        let hit = self.hit;
        let ahead = self.bench.if_time("read-ahead", |bench| cache::look_ahead(bench, hit))?;
        let segments =
            self.bench.if_time("places in the cache", |bench| cache::segments(bench, hit))?;
        let behind = ahead.map_or(self.hdd.look_ahead.sectors().0, Border::last);
        let segment =
            self.bench.if_time("size of the cache", |bench| cache::segment(bench, hit, behind))?;
        self.cache_numbers(ahead, segments, segment);
        self.look_ahead(ahead);
        self.segments(segments);
        self.cache_size(segments, segment);
        Ok(())
    }

    /// Sets the cache's numbers to those that were seen, or to the largest that were tried if hits
    /// had no end.
    fn cache_numbers(&mut self, ahead: BorderSeen, segments: BorderSeen, segment: BorderSeen) {
        if let Ok(segments) = segments {
            self.hdd.cache_segments = segments.last().max(1) as u32;
        }
        let count = u64::from(self.hdd.cache_segments);
        if let Ok(ahead) = ahead {
            self.hdd.look_ahead = Bytes(ahead.round() * 512);
        }
        let (least, most) = (Bytes::kib(16).0, Bytes::gib(8).0);
        if let Ok(segment) = segment
            && segment != Border::Nowhere
        {
            self.hdd.cache = Bytes((segment.round() * 512 * count).clamp(least, most));
        }
        // The lab refuses a file whose numbers contradict each other.
        self.hdd.look_ahead = Bytes(self.hdd.look_ahead.0.min(most / count));
        self.hdd.cache = self.hdd.cache.max(Bytes(self.hdd.look_ahead.0 * count));
    }

    fn look_ahead(&mut self, ahead: BorderSeen) {
        let none = "none: after a pause, the block behind a read comes from the medium";
        let mark =
            border_mark(ahead, "reads behind a read, after a pause", observed(none), |last| {
                format!("at least {}: no more was tried", size(last * 512))
            });
        let value = size(self.hdd.look_ahead.0);
        self.sheet.quantity("look_ahead", value, mark.assuming(self.assumed));
    }

    fn segments(&mut self, segments: BorderSeen) {
        let how = "a place is read again after so many others";
        let none = not_visible("no read was a cache hit; a device file needs at least one segment");
        let mark = border_mark(segments, how, none, |last| {
            format!("the cache kept at least {last} places; more were not tried")
        });
        let count = self.hdd.cache_segments;
        self.sheet.number("cache_segments", count, mark.assuming(self.assumed));
    }

    fn cache_size(&mut self, segments: BorderSeen, segment: BorderSeen) {
        let mark = match (segments, segment) {
            (Ok(Border::Within(segments)), Ok(Border::Within(segment))) => {
                let error = segments.error() + segment.error();
                measured(error, "the number of places that the cache keeps, and the size of each")
            }
            (_, Ok(Border::Beyond(last))) => not_visible(format!(
                "the cache kept at least {} of a long read; longer reads were not tried",
                size(last * 512)
            )),
            (_, Ok(Border::Nowhere)) => {
                not_visible("the beginning of a long read was not a cache hit")
            }
            (_, Err(why)) | (Err(why), _) => not_visible(why),
            (Ok(_), Ok(Border::Within(_))) => {
                not_visible("the size of a segment was measured, but not the number of segments")
            }
        };
        self.sheet.quantity("cache", size(self.hdd.cache.0), mark.assuming(self.assumed));
    }

    pub(super) fn queue(&mut self, hints: &Hints) -> Result<()> {
        self.hdd.queue_depth = hints.queue_depth.unwrap_or(self.hdd.queue_depth).clamp(1, 1024);
        let why = if hints.queue_depth.is_some() { KERNEL_SAYS } else { NOBODY_SAYS };
        self.sheet.number("queue_depth", self.hdd.queue_depth, not_visible(why));
        let choice = self.bench.if_time("choice among queued reads", |bench| {
            queue::reads(bench, &self.hdd, self.bytes)
        })?;
        let mark = match choice {
            Ok(Some(choice)) => {
                self.hdd.queue_error = choice.error;
                self.hdd.queue_patience = choice.patience;
                self.hdd.completion_batch = choice.batch;
                let how =
                    "as many random reads a second at depths 2 to 32 as this model serves, to";
                observed(format!("{how} {} %", percent(choice.beside)))
            }
            Ok(None) => not_visible(
                "no values of the queue bring the model within 10 % of the measured rate at each \
                 depth",
            ),
            Err(why) => not_visible(why),
        };
        self.sheet.quantity("queue_error", time(self.hdd.queue_error.0 as f64), mark.clone());
        self.sheet.quantity("queue_patience", time(self.hdd.queue_patience.0 as f64), mark.clone());
        self.sheet.number("completion_batch", self.hdd.completion_batch, mark);
        Ok(())
    }

    pub(super) fn writes(&mut self, hints: &Hints) -> Result<()> {
        self.hdd.write_cache = hints.write_cache.unwrap_or(self.hdd.write_cache);
        self.hdd.write_buffer = self.hdd.write_buffer.min(self.hdd.cache);
        if !self.bench.may_write {
            let why = if hints.write_cache.is_some() { KERNEL_SAYS } else { READ_ONLY };
            self.sheet.number("write_cache", self.hdd.write_cache, not_visible(why));
            self.without_buffer(READ_ONLY);
            return Ok(());
        }
        self.bench.step("write cache");
        self.hdd.write_cache = writes::cached(self.bench, self.turn)?;
        let mark = observed("whether a write waits for the platters");
        self.sheet.number("write_cache", self.hdd.write_cache, mark);
        if !self.hdd.write_cache {
            self.without_buffer("writes go to the medium");
            return Ok(());
        }
        if !self.bench.has_time_for("write buffer") {
            self.without_buffer(NO_TIME);
            return Ok(());
        }
        let Some(buffer) = writes::buffer(self.bench, self.turn)? else {
            self.without_buffer("256 MiB of writes did not fill the buffer");
            return Ok(());
        };
        let found = buffer.round() * 512;
        let held = found.clamp(4096, self.hdd.cache.0.max(4096));
        self.hdd.write_buffer = Bytes(held);
        let mark = if held == found {
            measured(buffer.error(), "random writes until one has to wait")
        } else {
            let found = size(found);
            not_visible(format!("measured {found}, which is more than the cache"))
        };
        self.sheet.quantity("write_buffer", size(held), mark);
        self.remarks.push(if let Some(why) = hints.flush_is_dropped() {
            format!("the time of a flush was not measured: {why}")
        } else {
            let flush = time(writes::flush(self.bench)?);
            format!("a flush takes {flush} for each distant write in the buffer")
        });
        let window = self.bench.if_time("choice among buffered writes", |bench| {
            queue::writes(bench, &self.hdd, self.bytes)
        })?;
        let how = "as many random writes a second as this model takes";
        let mark = window_mark(window, how, &mut self.hdd.write_window);
        self.sheet.number("write_window", self.hdd.write_window, mark);
        Ok(())
    }

    fn without_buffer(&mut self, why: &str) {
        let mark = not_visible(why);
        self.sheet.quantity("write_buffer", size(self.hdd.write_buffer.0), mark.clone());
        self.sheet.number("write_window", self.hdd.write_window, mark);
    }
}

/// Returns the mark of a number that is a border: measured in the way `how` says, `none` if there
/// is nothing before the border, or not visible if the border is `beyond` all that was tried.
fn border_mark(
    seen: BorderSeen,
    how: &str,
    none: Provenance,
    beyond: impl FnOnce(u64) -> String,
) -> Provenance {
    match seen {
        Ok(Border::Within(bounds)) => measured(bounds.error(), how),
        Ok(Border::Nowhere) => none,
        Ok(Border::Beyond(last)) => not_visible(beyond(last)),
        Err(why) => not_visible(why),
    }
}

/// Stores the window that was found in `number`, and returns the mark of that number.
fn window_mark(
    found: Result<Option<WriteWindow>, &'static str>,
    how: &str,
    number: &mut u32,
) -> Provenance {
    match found {
        Ok(Some(WriteWindow { commands, beside })) => {
            *number = commands;
            observed(format!("{how}, to {} %", percent(beside)))
        }
        Ok(None) => {
            not_visible("no write window brings the model within 10 % of the measured time")
        }
        Err(why) => not_visible(why),
    }
}
