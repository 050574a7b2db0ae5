//! fio's JSON as it stands in the file, before it becomes [`super::Fio`].

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use disklab_units::Nanos;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::{Direction, Job, Latency, Options};
use crate::histogram::Histogram;

/// fio has 29 groups of 64 buckets (`FIO_IO_U_PLAT_NR` in its stat.h), and some room.
const MOST_ENTRIES: usize = 4096;
/// Beyond any rate, latency in nanoseconds or deviation that can be measured; keeps sums and
/// products finite.
const LARGEST_NUMBER: f64 = 1e18;

#[derive(serde::Deserialize)]
pub(super) struct Report {
    #[serde(default, rename = "fio version")]
    pub version: String,
    #[serde(default, rename = "global options")]
    pub global: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    pub jobs: Vec<RawJob>,
    /// Instead of `jobs`, where fio drove other machines: one a job and machine, and one over all.
    #[serde(default)]
    pub client_stats: Vec<RawJob>,
}

#[derive(serde::Deserialize)]
pub(super) struct RawJob {
    /// Jobs that report as a group beside others that do not have an entry of their own, with a
    /// name of none.
    #[serde(default, rename = "jobname")]
    name: String,
    #[serde(default)]
    error: i64,
    #[serde(default, rename = "job options")]
    options: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    hostname: Option<String>,
    /// With `unified_rw_reporting`: all directions in one.
    #[serde(default)]
    mixed: RawDirection,
    #[serde(default)]
    read: RawDirection,
    #[serde(default)]
    write: RawDirection,
    #[serde(default)]
    trim: RawDirection,
    #[serde(default)]
    sync: RawSync,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct RawSync {
    total_ios: u64,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct RawDirection {
    #[serde(deserialize_with = "number")]
    iops: f64,
    /// KiB/s: all that there is before fio 3.2.
    #[serde(deserialize_with = "number")]
    bw: f64,
    bw_bytes: Option<u64>,
    io_bytes: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    /// Milliseconds.
    runtime: u64,
    slat_ns: RawLatency,
    clat_ns: RawLatency,
    lat_ns: RawLatency,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct RawLatency {
    min: u64,
    max: u64,
    #[serde(deserialize_with = "number")]
    mean: f64,
    #[serde(deserialize_with = "number")]
    stddev: f64,
    #[serde(rename = "N")]
    count: u64,
    percentile: Pairs<f64>,
    #[serde(deserialize_with = "histogram")]
    bins: Option<Histogram>,
}

impl From<RawJob> for Job {
    fn from(raw: RawJob) -> Self {
        let RawJob { name, error, options, hostname, mixed, read, write, trim, sync } = raw;
        // `unified_rw_reporting=both` tells all once more.
        let apart = read.total_ios > 0 || write.total_ios > 0 || trim.total_ios > 0;
        let mixed = if apart { RawDirection::default() } else { mixed };
        Self {
            name,
            error,
            options: told(options),
            hostname,
            syncs: sync.total_ios,
            mixed: mixed.into(),
            read: read.into(),
            write: write.into(),
            trim: trim.into(),
        }
    }
}

/// Options as fio was given them. Whatever is no text was not written by fio.
pub(super) fn told(options: BTreeMap<String, serde_json::Value>) -> Options {
    let text = |(name, value)| match value {
        serde_json::Value::String(value) => Some((name, value)),
        _ => None,
    };
    options.into_iter().filter_map(text).collect()
}

impl From<RawDirection> for Direction {
    fn from(raw: RawDirection) -> Self {
        Self {
            iops: raw.iops,
            bw_bytes: raw.bw_bytes.unwrap_or((raw.bw * 1024.0) as u64),
            io_bytes: raw.io_bytes,
            total_ios: raw.total_ios,
            short_ios: raw.short_ios,
            drop_ios: raw.drop_ios,
            runtime: Nanos(raw.runtime.saturating_mul(1_000_000)),
            slat: raw.slat_ns.of(raw.total_ios),
            clat: raw.clat_ns.of(raw.total_ios),
            lat: raw.lat_ns.of(raw.total_ios),
        }
    }
}

impl RawLatency {
    fn of(self, requests: u64) -> Latency {
        let raw = self;
        // Older versions print no N: then it is of all requests, if it is of any.
        let counted = raw.bins.as_ref().map_or(0, Histogram::count);
        let seen = if raw.mean > 0.0 { requests } else { 0 };
        let count = [raw.count, counted, seen].into_iter().find(|&count| count > 0).unwrap_or(0);
        // Without a single request some versions print all ones as the least.
        let min = if count > 0 { raw.min } else { 0 };
        Latency {
            count,
            min: Nanos(min),
            max: Nanos(raw.max.max(min)),
            mean_ns: raw.mean,
            stddev_ns: raw.stddev,
            histogram: raw.bins,
            reported: raw.percentile.0,
        }
    }
}

fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(from)?;
    if (0.0..=LARGEST_NUMBER).contains(&number) {
        Ok(number)
    } else {
        Err(de::Error::custom(format_args!("{number} cannot be measured")))
    }
}

fn histogram<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Histogram>, D::Error> {
    let bins = Pairs::<u64>::deserialize(from)?.0;
    if bins.is_empty() {
        return Ok(None);
    }
    let histogram = Histogram::from_bins(bins);
    histogram
        .map(Some)
        .ok_or_else(|| de::Error::custom("the counts of the bins do not fit 64 bits"))
}

/// A JSON object whose keys are numbers (`"99.900000": 1234`), as fio writes percentiles and bins.
struct Pairs<Key>(Vec<(Key, u64)>);

impl<Key> Default for Pairs<Key> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, Key: FromStr> Deserialize<'de> for Pairs<Key> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(PairsVisitor(PhantomData)).map(Self)
    }
}

struct PairsVisitor<Key>(PhantomData<Key>);

impl<'de, Key: FromStr> Visitor<'de> for PairsVisitor<Key> {
    type Value = Vec<(Key, u64)>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "an object of at most {MOST_ENTRIES} numbers by number")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut pairs = Vec::new();
        while let Some((key, count)) = map.next_entry::<String, u64>()? {
            if pairs.len() == MOST_ENTRIES {
                return Err(de::Error::invalid_length(pairs.len() + 1, &self));
            }
            let key = key
                .parse()
                .map_err(|_| de::Error::custom(format_args!("{key:?} is not a number")))?;
            pairs.push((key, count));
        }
        Ok(pairs)
    }
}
