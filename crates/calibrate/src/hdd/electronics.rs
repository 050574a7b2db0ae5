//! What of a hard disk is not mechanics: cache, choice among commands, writes.

use disklab_units::Bytes;

use super::cache::Border;
use super::{NO_TIME, Work, cache, queue, writes};
use crate::Error;
use crate::device::Hints;
use crate::sheet::{percent, plain, size, time};

const READ_ONLY: &str = "it was only read (--write)";

const FAR: &str = "with no window the model comes within 10 % of what was measured";

/// What was found out, or why nothing was tried.
type Seen = Result<Border, &'static str>;

impl Work<'_, '_> {
    pub(super) fn cache(&mut self) -> Result<(), Error> {
        let ahead = if self.bench.has_time_for("read-ahead") {
            Ok(cache::look_ahead(self.bench, self.hit)?)
        } else {
            Err(NO_TIME)
        };
        let segments = if self.bench.has_time_for("places in the cache") {
            Ok(cache::segments(self.bench, self.hit)?)
        } else {
            Err(NO_TIME)
        };
        let behind = match ahead {
            Ok(Border::Nowhere) => 0,
            Ok(Border::Within(bounds)) => bounds.low,
            Ok(Border::Beyond(last)) => last,
            Err(_) => self.hdd.look_ahead.sectors().0,
        };
        let segment = if self.bench.has_time_for("size of the cache") {
            Ok(cache::segment(self.bench, self.hit, behind)?)
        } else {
            Err(NO_TIME)
        };
        self.cache_numbers(ahead, segments, segment);
        self.look_ahead(ahead);
        self.segments(segments);
        self.cache_size(segments, segment);
        Ok(())
    }

    /// As many and as much as was seen, and where hits had no end, as was tried.
    fn cache_numbers(&mut self, ahead: Seen, segments: Seen, segment: Seen) {
        match segments {
            Ok(Border::Within(bounds)) => self.hdd.cache_segments = bounds.low as u32,
            Ok(Border::Beyond(last)) => self.hdd.cache_segments = last as u32,
            Ok(Border::Nowhere) => self.hdd.cache_segments = 1,
            Err(_) => {}
        }
        let count = u64::from(self.hdd.cache_segments);
        match ahead {
            Ok(Border::Within(bounds)) => self.hdd.look_ahead = Bytes(bounds.round() * 512),
            Ok(Border::Beyond(last)) => self.hdd.look_ahead = Bytes(last * 512),
            Ok(Border::Nowhere) => self.hdd.look_ahead = Bytes::ZERO,
            Err(_) => {}
        }
        let each = match segment {
            Ok(Border::Within(bounds)) => Some(bounds.round()),
            Ok(Border::Beyond(last)) => Some(last),
            _ => None,
        };
        let (least, most) = (Bytes::kib(16).0, Bytes::gib(8).0);
        if let Some(each) = each {
            self.hdd.cache = Bytes((each * 512 * count).clamp(least, most));
        }
        // A file whose numbers cannot be true together would be refused.
        self.hdd.look_ahead = Bytes(self.hdd.look_ahead.0.min(most / count));
        self.hdd.cache = self.hdd.cache.max(Bytes(self.hdd.look_ahead.0 * count));
    }

    fn look_ahead(&mut self, ahead: Seen) {
        let value = size(self.hdd.look_ahead.0);
        let how = "reads behind a read, after a pause";
        match ahead {
            Ok(Border::Within(bounds)) => {
                self.sheet.measured_if(self.assumed, "look_ahead", value, bounds.error(), how);
            }
            Ok(Border::Nowhere) => {
                let how = "none: after a pause, the block behind a read comes from the medium";
                match self.assumed {
                    None => self.sheet.found("look_ahead", value, how),
                    Some(assumed) => self.sheet.derived("look_ahead", value, assumed, how),
                }
            }
            Ok(Border::Beyond(last)) => {
                let why = format!("at least {}: no more was tried", plain(&size(last * 512)));
                self.sheet.not_visible("look_ahead", value, why);
            }
            Err(why) => self.sheet.not_visible("look_ahead", value, why),
        }
    }

    fn segments(&mut self, segments: Seen) {
        let value = self.hdd.cache_segments.to_string();
        match segments {
            Ok(Border::Within(bounds)) => {
                let how = "a place is read again after so many others";
                self.sheet.measured_if(self.assumed, "cache_segments", value, bounds.error(), how);
            }
            Ok(Border::Nowhere) => {
                let why = "no place is remembered; a device has one at least";
                self.sheet.not_visible("cache_segments", value, why);
            }
            Ok(Border::Beyond(last)) => {
                let why = format!("at least {last} places are remembered: no more were tried");
                self.sheet.not_visible("cache_segments", value, why);
            }
            Err(why) => self.sheet.not_visible("cache_segments", value, why),
        }
    }

    fn cache_size(&mut self, segments: Seen, segment: Seen) {
        let value = size(self.hdd.cache.0);
        match (segments, segment) {
            (Ok(Border::Within(segments)), Ok(Border::Within(segment))) => {
                let how = "places that are remembered, and how much of each";
                let error = segments.error() + segment.error();
                self.sheet.measured_if(self.assumed, "cache", value, error, how);
            }
            (_, Ok(Border::Beyond(last))) => {
                let last = size(last * 512);
                let why = format!(
                    "at least {} of a long read are remembered: no more was tried",
                    plain(&last)
                );
                self.sheet.not_visible("cache", value, why);
            }
            (_, Ok(Border::Nowhere)) => {
                self.sheet.not_visible(
                    "cache",
                    value,
                    "the beginning of a long read is not remembered",
                );
            }
            (_, Err(why)) | (Err(why), _) => self.sheet.not_visible("cache", value, why),
            (Ok(_), Ok(Border::Within(_))) => {
                let why = "how much of each place is remembered was seen, but not of how many";
                self.sheet.not_visible("cache", value, why);
            }
        }
    }

    pub(super) fn queue(&mut self, hints: &Hints) -> Result<(), Error> {
        self.hdd.queue_depth = hints.queue_depth.unwrap_or(self.hdd.queue_depth).clamp(1, 1024);
        let why = match hints.queue_depth {
            Some(_) => "this is what the kernel says",
            None => "nobody says it; that of SATA",
        };
        self.sheet.not_visible("queue_depth", self.hdd.queue_depth.to_string(), why);
        let window = if self.bench.has_time_for("choice among queued reads") {
            queue::reads(self.bench, &self.hdd, self.bytes)?.ok_or(FAR)
        } else {
            Err(NO_TIME)
        };
        match window {
            Ok(window) => {
                self.hdd.queue_window = window.commands;
                let how = format!(
                    "as many random reads a second at depth 32 as this model serves, to {} %",
                    percent(window.beside)
                );
                self.sheet.found("queue_window", window.commands.to_string(), how);
            }
            Err(why) => {
                self.sheet.not_visible("queue_window", self.hdd.queue_window.to_string(), why)
            }
        }
        Ok(())
    }

    pub(super) fn writes(&mut self, hints: &Hints) -> Result<(), Error> {
        self.hdd.write_cache = hints.write_cache.unwrap_or(self.hdd.write_cache);
        self.hdd.write_buffer = self.hdd.write_buffer.min(self.hdd.cache);
        if !self.bench.may_write {
            let why = if hints.write_cache.is_some() {
                "this is what the kernel says"
            } else {
                READ_ONLY
            };
            self.sheet.not_visible("write_cache", self.hdd.write_cache.to_string(), why);
            self.without_buffer(READ_ONLY);
            return Ok(());
        }
        self.bench.step("write cache");
        self.hdd.write_cache = writes::cached(self.bench, self.turn)?;
        let word = self.hdd.write_cache.to_string();
        self.sheet.found("write_cache", word, "whether a write waits for the platters");
        if !self.hdd.write_cache {
            self.without_buffer("writes go to the medium");
            return Ok(());
        }
        if !self.bench.has_time_for("write buffer") {
            self.without_buffer(NO_TIME);
            return Ok(());
        }
        let Some(buffer) = writes::buffer(self.bench, self.turn)? else {
            self.without_buffer("256 MiB of writes found no end of it");
            return Ok(());
        };
        let found = buffer.round() * 512;
        self.hdd.write_buffer = Bytes(found.clamp(4096, self.hdd.cache.0.max(4096)));
        let value = size(self.hdd.write_buffer.0);
        if self.hdd.write_buffer.0 == found {
            let how = "random writes until one has to wait";
            self.sheet.measured("write_buffer", value, buffer.error(), how);
        } else {
            let why = format!("{} came out, more than the whole cache", plain(&size(found)));
            self.sheet.not_visible("write_buffer", value, why);
        }
        let flush = if let Some(why) = hints.flush_is_dropped() {
            format!("what a flush takes was not measured: {why}")
        } else {
            let flush = writes::flush(self.bench)?;
            format!("a flush takes {} for each write far from others", plain(&time(flush)))
        };
        self.remarks.push(flush);
        let window = if self.bench.has_time_for("choice among buffered writes") {
            queue::writes(self.bench, &self.hdd, self.bytes)?.ok_or(FAR)
        } else {
            Err(NO_TIME)
        };
        match window {
            Ok(window) => {
                self.hdd.write_window = window.commands;
                let off = percent(window.beside);
                let how = format!("as many random writes a second as this model takes, to {off} %");
                self.sheet.found("write_window", window.commands.to_string(), how);
            }
            Err(why) => {
                self.sheet.not_visible("write_window", self.hdd.write_window.to_string(), why)
            }
        }
        Ok(())
    }

    fn without_buffer(&mut self, why: &str) {
        self.sheet.not_visible("write_buffer", size(self.hdd.write_buffer.0), why);
        self.sheet.not_visible("write_window", self.hdd.write_window.to_string(), why);
    }
}
