//! What of a hard disk is not mechanics: cache, choice among commands, writes.

use disklab_spec::device::Hdd;
use disklab_units::Bytes;

use super::{NO_TIME, Work, cache, queue, writes};
use crate::Error;
use crate::device::Hints;
use crate::sheet::{percent, plain, size, time};

const READ_ONLY: &str = "it was only read (--write)";

impl Work<'_, '_> {
    pub(super) fn cache(&mut self) -> Result<(), Error> {
        let ahead = if self.bench.has_time_for("read-ahead") {
            cache::look_ahead(self.bench, self.hit)?.ok_or("nothing is read ahead, or more than 64 MiB")
        } else {
            Err(NO_TIME)
        };
        let segments = if self.bench.has_time_for("places in the cache") {
            cache::segments(self.bench, self.hit)?.ok_or("nothing is remembered, or more than 512 places")
        } else {
            Err(NO_TIME)
        };
        let behind = ahead.map_or(self.hdd.look_ahead.sectors().0, |bounds| bounds.low);
        let segment = if self.bench.has_time_for("size of the cache") {
            cache::segment(self.bench, self.hit, behind)?
                .ok_or("a long read is not remembered, or all of it is")
        } else {
            Err(NO_TIME)
        };
        self.write_cache_sizes(ahead, segments, segment);
        Ok(())
    }

    fn write_cache_sizes(
        &mut self,
        ahead: Result<cache::Bounds, &'static str>,
        segments: Result<cache::Bounds, &'static str>,
        segment: Result<cache::Bounds, &'static str>,
    ) {
        if let Ok(segments) = segments {
            self.hdd.cache_segments = segments.low as u32;
        }
        let count = u64::from(self.hdd.cache_segments);
        if let Ok(ahead) = ahead {
            self.hdd.look_ahead = Bytes(ahead.round() * 512);
        }
        if let Ok(segment) = segment {
            self.hdd.cache = Bytes((segment.round() * 512 * count).clamp(16 << 10, 8 << 30));
        }
        // A file whose numbers cannot be true together would be refused.
        self.hdd.cache = self.hdd.cache.max(Bytes(self.hdd.look_ahead.0 * count));
        let Hdd { look_ahead, cache, cache_segments, .. } = self.hdd;
        match ahead {
            Ok(bounds) => {
                let how = "reads behind a read, after a pause";
                self.sheet.measured("look_ahead", size(look_ahead.0), bounds.error(), how);
            }
            Err(why) => self.sheet.not_visible("look_ahead", size(look_ahead.0), why),
        }
        match segments {
            Ok(bounds) => {
                let how = "a place is read again after so many others";
                self.sheet.measured("cache_segments", cache_segments.to_string(), bounds.error(), how);
            }
            Err(why) => self.sheet.not_visible("cache_segments", cache_segments.to_string(), why),
        }
        match (segments, segment) {
            (Ok(segments), Ok(segment)) => {
                let how = "places that are remembered, and how much of each";
                self.sheet.measured("cache", size(cache.0), segments.error() + segment.error(), how);
            }
            (Err(why), _) | (_, Err(why)) => self.sheet.not_visible("cache", size(cache.0), why),
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
            queue::reads(self.bench, &self.hdd, self.bytes)?.ok_or("no model comes near")
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
            Err(why) => self.sheet.not_visible("queue_window", self.hdd.queue_window.to_string(), why),
        }
        Ok(())
    }

    pub(super) fn writes(&mut self, hints: &Hints) -> Result<(), Error> {
        self.hdd.write_cache = hints.write_cache.unwrap_or(self.hdd.write_cache);
        self.hdd.write_buffer = self.hdd.write_buffer.min(self.hdd.cache);
        if !self.bench.may_write {
            let why = if hints.write_cache.is_some() { "this is what the kernel says" } else { READ_ONLY };
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
        self.hdd.write_buffer = Bytes((buffer.round() * 512).clamp(4096, self.hdd.cache.0.max(4096)));
        let how = "random writes until one has to wait";
        self.sheet.measured("write_buffer", size(self.hdd.write_buffer.0), buffer.error(), how);
        let flush = writes::flush(self.bench)?;
        self.remarks.push(format!("a flush takes {} for each write far from others", plain(&time(flush))));
        let window = if self.bench.has_time_for("choice among buffered writes") {
            queue::writes(self.bench, &self.hdd, self.bytes)?.ok_or("no model comes near")
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
            Err(why) => self.sheet.not_visible("write_window", self.hdd.write_window.to_string(), why),
        }
        Ok(())
    }

    fn without_buffer(&mut self, why: &str) {
        self.sheet.not_visible("write_buffer", size(self.hdd.write_buffer.0), why);
        self.sheet.not_visible("write_window", self.hdd.write_window.to_string(), why);
    }
}
