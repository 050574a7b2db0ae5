//! fio's own job files as workloads.
//!
//! A workload's file names one with `fio = "mine.fio"`, and a suite may name one directly. Somebody
//! else may have written it. So disklab takes keys that are only data (see keys.rs), and refuses
//! all others: fio itself would run programs, include files, and read the environment.
//!
//! All sections work on one file, which disklab lays out: `size` and `offset` are parts of it.

mod keys;

pub use keys::{IGNORED, REFUSED, TAKEN};

use std::collections::BTreeSet;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::job::{FILES, Ioengine, JOBS, Job, Rw};
use crate::read::unknown;

/// A section of a job file, with the keys of `[global]` before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSection {
    pub name: String,
    /// fio's options, each `key=value` or `key`, without those that disklab sets.
    pub options: Vec<String>,
    /// The part of the file that the section works on.
    pub size: Bytes,
    /// Whether the section begins only after all sections before it have ended.
    pub stonewall: bool,
    /// Whether the section runs for as long as the suite says; otherwise it ends when its bytes are
    /// done.
    pub time_based: bool,
}

/// A parsed job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFile {
    pub sections: Vec<JobSection>,
    /// A rough form of each section, for estimates and lists.
    pub jobs: Vec<Job>,
    /// The size of the file that all sections work on.
    pub file_size: Bytes,
}

/// Returns the name of a result of one section.
pub fn metric(section: &str, what: &str) -> String {
    format!("[{section}] {what}")
}

const MOST_SECTIONS: usize = 64;
const LONGEST_VALUE: usize = 256;
const BLOCKS: std::ops::RangeInclusive<u64> = 512..=64 << 20;
/// Characters that values may have besides letters and digits. Others are excluded because fio runs
/// programs for backticks, replaces words that begin with `$`, and reads files for patterns in
/// single quotes.
const MARKS: &[u8] = b"_.,:/%+-*";

/// A section during parsing: each key with its value and its line. The last value of a key counts.
#[derive(Clone, Default)]
struct Lines {
    name: String,
    number: usize,
    options: Vec<(String, Option<String>, usize)>,
}

impl Lines {
    fn set(&mut self, key: &str, value: Option<&str>, number: usize) {
        self.options.retain(|(known, ..)| known != key);
        self.options.push((key.to_owned(), value.map(str::to_owned), number));
    }

    fn value(&self, key: &str) -> Option<(&str, usize)> {
        let (_, value, number) = self.options.iter().find(|(known, ..)| known == key)?;
        Some((value.as_deref().unwrap_or("1"), *number))
    }

    fn is_on(&self, key: &str) -> bool {
        self.value(key).is_some_and(|(value, _)| value != "0")
    }
}

impl JobFile {
    /// Parses a job file. `file_size` is the workload's own, if it has one; otherwise the file is
    /// as large as its sections need. The error holds all mistakes, each with its line.
    pub fn parse(text: &str, file_size: Option<Bytes>) -> Result<Self, Vec<String>> {
        let mut mistakes = Vec::new();
        let sections = sections(text, &mut mistakes);
        if sections.is_empty() {
            mistakes
                .push("it has no section besides [global]; add a section for each job".to_owned());
        }
        if sections.len() > MOST_SECTIONS {
            let count = sections.len();
            return Err(vec![format!("{count} sections are out of range (1 to {MOST_SECTIONS})")]);
        }
        let mut names = BTreeSet::new();
        for section in &sections {
            check_section(section, &mut mistakes);
            if !names.insert(&section.name) {
                let Lines { name, number, .. } = section;
                mistakes.push(format!("line {number}: the name `{name}` is given twice"));
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let file_size = match file_size.or_else(|| needed(&sections)) {
            Some(size) if FILES.contains(&size) => size,
            Some(size) => {
                let (least, most) = (FILES.start(), FILES.end());
                return Err(vec![format!(
                    "the file's {size} are out of range ({least} to {most})"
                )]);
            }
            None => {
                let advice = "give a section `size=1g`, or the workload a `filesize`";
                return Err(vec![format!("nothing says how large the file is: {advice}")]);
            }
        };
        let (mut found, mut jobs) = (Vec::new(), Vec::new());
        for section in &sections {
            match settle(section, file_size) {
                Ok((section, job)) => {
                    found.push(section);
                    jobs.push(job);
                }
                Err(mistake) => mistakes.push(mistake),
            }
        }
        let all = jobs.iter().map(|job| job.numjobs).fold(0, u32::saturating_add);
        if all > *JOBS.end() {
            let most = JOBS.end();
            mistakes.push(format!("{all} jobs together are out of range (1 to {most})"));
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(Self { sections: found, jobs, file_size })
    }
}

/// Returns the number of groups of sections that run one after the other.
pub fn groups(sections: &[JobSection]) -> u32 {
    let later = sections.iter().skip(1).filter(|section| section.stonewall).count();
    u32::try_from(later).unwrap_or(u32::MAX).saturating_add(1)
}

/// Returns the sections of a file, each with the globals before it.
fn sections(text: &str, mistakes: &mut Vec<String>) -> Vec<Lines> {
    let (mut global, mut found) = (Lines::default(), Vec::<Lines>::new());
    let mut is_global = None;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let Some(name) = rest.strip_suffix(']') else {
                mistakes.push(format!("line {number}: a section is `[name]`, on a line by itself"));
                continue;
            };
            is_global = Some(name == "global");
            if name != "global" {
                // The caller refuses too many sections, once all are counted.
                found.push(Lines { name: name.to_owned(), number, ..global.clone() });
                if found.len() > MOST_SECTIONS {
                    return found;
                }
            }
            continue;
        }
        let (key, value) =
            line.split_once('=').map_or((line, None), |(key, value)| (key, Some(value.trim())));
        let key = keys::usual(key.trim());
        let section = match is_global {
            Some(true) => &mut global,
            Some(false) => match found.last_mut() {
                Some(section) => section,
                None => continue,
            },
            None => {
                mistakes.push(format!("line {number}: `{}` is in no section", shown(line)));
                continue;
            }
        };
        match check_key(key, value) {
            Err(message) => mistakes.push(format!("line {number}: {message}")),
            Ok(()) if IGNORED.contains(&key) => {}
            Ok(()) if key == "name" && is_global == Some(false) => {
                value.unwrap_or_default().clone_into(&mut section.name);
            }
            Ok(()) => section.set(key, value, number),
        }
    }
    found
}

fn check_key(key: &str, value: Option<&str>) -> Result<(), String> {
    if let Some((_, why)) = REFUSED.iter().find(|(known, _)| known.split(' ').any(|one| one == key))
    {
        return Err(format!("`{key}` is not supported: {why}"));
    }
    if !TAKEN.contains(&key) && !IGNORED.contains(&key) && key != "name" {
        return Err(unknown("key", shown(key).as_str(), TAKEN.iter().copied()));
    }
    let Some(value) = value.filter(|_| !IGNORED.contains(&key)) else { return Ok(()) };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || MARKS.contains(&byte);
    if value.is_empty() || value.len() > LONGEST_VALUE || !value.bytes().all(is_plain) {
        let marks = String::from_utf8_lossy(MARKS);
        return Err(format!(
            "`{key}={}`: a value has from 1 to {LONGEST_VALUE} letters, digits and `{marks}`; fio \
             would run programs and read files and the environment for others",
            shown(value)
        ));
    }
    Ok(())
}

/// Returns the text of a job file, shortened and escaped for a message.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    short.escape_debug().to_string()
}

fn check_section(section: &Lines, mistakes: &mut Vec<String>) {
    let Lines { name, number, .. } = section;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) || name == "global" {
        let rule = "a section's name has from 1 to 64 letters, digits, `-`, `_` and `.`";
        mistakes.push(format!("line {number}: `[{}]`: {rule}", shown(name)));
    }
    let sizes = ["size", "filesize", "offset", "offset_increment"];
    mistakes.extend(sizes.iter().filter_map(|key| size(section, key).err()));
}

/// A size in a job file. `4k` is 4096 bytes, as in fio.
#[derive(Clone, Copy)]
enum Size {
    Bytes(u64),
    Percent(u64),
}

impl Size {
    fn parse(text: &str) -> Option<Self> {
        if let Some(percent) = text.strip_suffix('%') {
            return percent.parse().ok().filter(|percent| *percent <= 100).map(Self::Percent);
        }
        let lower = text.to_ascii_lowercase();
        let lower = lower.strip_suffix('b').unwrap_or(&lower);
        let digits = lower.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let shift = match &lower[digits.len()..] {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            "t" => 40,
            _ => return None,
        };
        digits.parse::<u64>().ok()?.checked_mul(1 << shift).map(Self::Bytes)
    }

    fn bytes_of(self, file: Bytes) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            // Percentages give whole blocks, so that direct requests stay aligned.
            Self::Percent(percent) => file.0 / 100 * percent / 4096 * 4096,
        }
    }
}

fn size(section: &Lines, key: &str) -> Result<Option<Size>, String> {
    let Some((value, number)) = section.value(key) else { return Ok(None) };
    let message = || {
        let form = "a size is a number with k, m, g or t (of 1024), or per cent of the file";
        format!("line {number}: `{key}={value}`: {form}")
    };
    Size::parse(value).map(Some).ok_or_else(message)
}

/// Returns the size of a file that has room for all sections whose sizes are in bytes.
fn needed(sections: &[Lines]) -> Option<Bytes> {
    let of_one = |section: &Lines| {
        let bytes = |key| match size(section, key) {
            Ok(Some(Size::Bytes(bytes))) => Some(bytes),
            _ => None,
        };
        let numjobs = section.value("numjobs").and_then(|(value, _)| value.parse().ok());
        let steps = numjobs.unwrap_or(1u64).saturating_sub(1);
        let step = bytes("offset_increment").unwrap_or(0).saturating_mul(steps);
        let begin = bytes("offset").unwrap_or(0).saturating_add(step);
        let end = bytes("size").map(|size| size.saturating_add(begin));
        end.max(bytes("filesize"))
    };
    sections.iter().filter_map(of_one).max().map(Bytes)
}

fn number(section: &Lines, key: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32, String> {
    let Some((value, number)) = section.value(key) else { return Ok(1) };
    let parsed = value.parse().ok().filter(|parsed| range.contains(parsed));
    let (least, most) = range.into_inner();
    parsed.ok_or_else(|| {
        format!("line {number}: `{key}={value}` is out of range ({least} to {most})")
    })
}

/// Returns the section with its sizes in bytes, and its rough form.
fn settle(section: &Lines, file: Bytes) -> Result<(JobSection, Job), String> {
    let at = section.number;
    let numjobs = number(section, "numjobs", JOBS)?;
    let iodepth = number(section, "iodepth", 1..=4096)?;
    let of_file = |key| Ok::<_, String>(size(section, key)?.map(|size| size.bytes_of(file)));
    let offset = of_file("offset")?.unwrap_or(0);
    let increment = of_file("offset_increment")?.unwrap_or(0);
    let begin = offset.saturating_add(increment.saturating_mul(u64::from(numjobs) - 1));
    let size = of_file("size")?.unwrap_or_else(|| file.0.saturating_sub(begin));
    if size == 0 || begin.saturating_add(size) > file.0 {
        let name = &section.name;
        return Err(format!(
            "line {at}: [{name}] works on {} from {} on, and the file has {file}",
            Bytes(size),
            Bytes(begin)
        ));
    }
    let job = rough(section, numjobs, iodepth)?;
    let apart = ["size", "filesize", "offset", "offset_increment", "time_based", "stonewall"];
    let mut options: Vec<String> = section
        .options
        .iter()
        .filter(|(key, ..)| !apart.contains(&key.as_str()))
        .map(|(key, value, _)| match value {
            Some(value) => format!("{key}={value}"),
            None => key.clone(),
        })
        .collect();
    options.extend((offset > 0).then(|| format!("offset={offset}")));
    options.extend((increment > 0).then(|| format!("offset_increment={increment}")));
    let found = JobSection {
        name: section.name.clone(),
        options,
        size: Bytes(size),
        stonewall: section.is_on("stonewall"),
        time_based: section.is_on("time_based"),
    };
    Ok((found, job))
}

fn rough(section: &Lines, numjobs: u32, iodepth: u32) -> Result<Job, String> {
    let at = section.number;
    let (rw, line) = section.value("rw").unwrap_or(("read", at));
    let rw = match rw.split(':').next().unwrap_or_default() {
        "read" => Rw::Read,
        "write" => Rw::Write,
        "randread" => Rw::Randread,
        "randwrite" => Rw::Randwrite,
        "rw" | "readwrite" => Rw::Rw,
        "randrw" => Rw::Randrw,
        _ => {
            let known = "read, write, randread, randwrite, rw, randrw";
            return Err(format!("line {line}: `rw={rw}` is not supported; known: {known}"));
        }
    };
    let (engine, line) = section.value("ioengine").unwrap_or(("psync", at));
    let ioengine = match engine {
        "psync" | "sync" | "pvsync" | "pvsync2" => Ioengine::Psync,
        "libaio" => Ioengine::Libaio,
        "io_uring" => Ioengine::IoUring,
        _ => {
            let known = "psync, sync, pvsync, pvsync2, libaio, io_uring";
            return Err(format!(
                "line {line}: `ioengine={engine}` is not supported; known: {known}"
            ));
        }
    };
    let direct = match section.value("direct") {
        Some(_) => section.is_on("direct"),
        None => section.value("buffered").is_some_and(|(value, _)| value == "0"),
    };
    Ok(Job {
        rw,
        bs: largest_block(section)?,
        ioengine,
        iodepth: if ioengine == Ioengine::Psync { 1 } else { iodepth },
        numjobs,
        direct,
        norandommap: section.is_on("norandommap"),
        refill_buffers: section.is_on("refill_buffers"),
        zero_buffers: section.is_on("zero_buffers"),
        rwmixread: 50,
        rate: None,
    })
}

/// Returns the largest block of `bs=4k,8k`, `bsrange=4k-64k` or `bssplit=4k/50:64k/50`; 4 KiB
/// without any of these.
fn largest_block(section: &Lines) -> Result<Bytes, String> {
    let mut largest = None;
    for key in ["bs", "bsrange", "bssplit"] {
        let Some((value, line)) = section.value(key) else { continue };
        let parts = value.split([',', ':', '-']).filter(|part| !part.is_empty());
        for part in parts.map(|part| part.split('/').next().unwrap_or_default()) {
            match Size::parse(part) {
                Some(Size::Bytes(bytes)) if BLOCKS.contains(&bytes) => {
                    largest = largest.max(Some(bytes));
                }
                _ => {
                    let rule = "blocks have from 512 bytes to 64m";
                    return Err(format!("line {line}: `{key}={value}`: {rule}"));
                }
            }
        }
    }
    Ok(Bytes(largest.unwrap_or(4096)))
}

#[cfg(test)]
mod tests;
