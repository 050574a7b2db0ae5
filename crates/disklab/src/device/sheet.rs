//! The numbers of a data sheet, and the device file that they make.

use std::fmt::Write as _;

use disklab_config::device::{Device, Estimate, LIKE, Model, Ssd};
use disklab_units::prose::visible;
use disklab_units::{Bytes, Nanos, Rate};

use super::quantity::{rate, size, time};
use crate::exit::{Failure, mistaken};

/// The numbers of a data sheet. All of them are optional.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Numbers {
    /// The capacity, such as 10TB or 960GB.
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,

    /// The speed of a hard disk, in revolutions per minute.
    #[arg(long, value_name = "N")]
    pub rpm: Option<u32>,

    /// The sustained rate of sequential reads, such as 210MB/s.
    ///
    /// For a hard disk, it is the rate at the outer edge ("max. sustained transfer rate").
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,

    /// The average read seek of a hard disk, such as 8ms.
    #[arg(long, value_name = "TIME")]
    pub seek: Option<Nanos>,

    /// The cache of a hard disk, such as 256MiB.
    #[arg(long, value_name = "SIZE")]
    pub cache: Option<Bytes>,

    /// The sustained rate of sequential writes of an SSD, such as 510MB/s.
    #[arg(long, value_name = "RATE")]
    pub write_rate: Option<Rate>,

    /// Random reads of 4 KiB per second with a deep queue, of an SSD.
    #[arg(long, value_name = "N")]
    pub read_iops: Option<u32>,

    /// The latency of a single random read of 4 KiB, of an SSD, such as 80us.
    #[arg(long, value_name = "TIME")]
    pub read_latency: Option<Nanos>,
}

/// Asks a question, and returns the answer unless it is empty.
type Asker<'a> = &'a mut dyn FnMut(&str) -> Result<Option<String>, Failure>;

impl Numbers {
    pub const fn is_hard_disk(&self) -> bool {
        self.rpm.is_some() || self.seek.is_some() || self.cache.is_some()
    }

    const fn is_ssd(&self) -> bool {
        self.write_rate.is_some() || self.read_iops.is_some() || self.read_latency.is_some()
    }

    /// Asks for the numbers that are not given. An empty answer leaves a number out.
    pub fn ask(&mut self, ask: Asker) -> Result<(), Failure> {
        fill(&mut self.size, "capacity, such as 10TB", ask)?;
        if !self.is_ssd() {
            fill(&mut self.rpm, "revolutions a minute, such as 7200; nothing for an SSD", ask)?;
        }
        fill(&mut self.rate, "rate of sequential reads, such as 210MB/s", ask)?;
        if self.is_hard_disk() {
            fill(&mut self.seek, "average seek of reads, such as 8.5ms", ask)?;
            fill(&mut self.cache, "cache, such as 256MiB", ask)
        } else {
            fill(&mut self.write_rate, "rate of sequential writes, such as 510MB/s", ask)?;
            fill(&mut self.read_iops, "random reads a second, queue deep, such as 95000", ask)?;
            fill(&mut self.read_latency, "time of a random read alone, such as 80us", ask)
        }
    }
}

/// Asks until the answer is a number or empty.
fn fill<T: std::str::FromStr<Err: std::fmt::Display>>(
    number: &mut Option<T>,
    question: &str,
    ask: Asker,
) -> Result<(), Failure> {
    let mut complaint = String::new();
    while number.is_none() {
        let Some(answer) = ask(&format!("{complaint}{question}"))? else { return Ok(()) };
        match answer.parse() {
            Ok(value) => *number = Some(value),
            Err(error) => complaint = format!("{error}\n"),
        }
    }
    Ok(())
}

/// A device file that is not complete yet.
#[derive(Debug)]
pub struct Draft {
    name: String,
    summary: String,
    like: String,
    size: Option<Bytes>,
    family: &'static str,
    /// Lines of the file: key, value as TOML, and origin.
    lines: Vec<(&'static str, String, &'static str)>,
}

impl Draft {
    /// Begins a draft. Numbers that this kind of disk does not have are refused.
    pub fn new(
        name: &str,
        summary: String,
        base: &Device,
        numbers: &Numbers,
    ) -> Result<Self, String> {
        let lines = match &base.model {
            Model::Hdd(_) if numbers.is_ssd() => {
                return Err(format!(
                    "--write-rate, --read-iops and --read-latency are for SSDs, and {} is a hard \
                     disk",
                    base.name
                ));
            }
            Model::Ssd(_) if numbers.is_hard_disk() => {
                return Err(format!(
                    "--rpm, --seek and --cache are for hard disks, and {} is an SSD",
                    base.name
                ));
            }
            Model::Hdd(_) => hdd_lines(numbers),
            Model::Ssd(ssd) => ssd_lines(numbers, ssd)?,
            Model::Card(_) | Model::Constant(_) => {
                return Err(format!("{} is neither a hard disk nor an SSD", base.name));
            }
        };
        Ok(Self {
            name: name.to_owned(),
            summary,
            like: base.name.clone(),
            size: numbers.size,
            family: base.model.family(),
            lines,
        })
    }

    /// Scales the page read time so that a single read takes `latency` in place of `lone`.
    pub fn set_latency(
        &mut self,
        plain: &Device,
        lone: Nanos,
        latency: Nanos,
    ) -> Result<(), String> {
        let Model::Ssd(ssd) = &plain.model else { return Ok(()) };
        let shifted = |page: &Nanos| (page.0 + latency.0).checked_sub(lone.0);
        if ssd.read_page.iter().map(shifted).any(|page| page.is_none_or(|page| page < 1000)) {
            return Err(format!(
                "--read-latency {latency} leaves no time for the flash: without it, a read \
                 takes {lone} in all; name a faster device with --like"
            ));
        }
        let pages = ssd.read_page.iter().filter_map(shifted);
        let pages = pages.map(|page| format!("\"{}\"", time(Nanos(page))));
        let list = format!("[{}]", pages.collect::<Vec<_>>().join(", "));
        self.lines.push(("read_page", list, "makes the sheet's latency of a lone read"));
        Ok(())
    }

    /// Returns the text of the file. With the device that the file makes, the text has the ranges
    /// of inherited numbers too.
    pub fn file(&self, made: Option<&Device>) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "# {}: written by `disklab device new` from the numbers of a data sheet.\n\
             # [sheet] of the data sheet. All other numbers are inherited from {}.\n\
             summary = {}\n{LIKE} = \"{}\"",
            visible(&self.name),
            self.like,
            quoted(&self.summary),
            self.like
        );
        if let Some(size) = self.size {
            let _ = writeln!(out, "size = \"{}\" # [sheet]", self::size(size));
        }
        if !self.lines.is_empty() {
            let _ = writeln!(out, "\n[{}]", self.family);
        }
        for (key, value, origin) in &self.lines {
            let _ = writeln!(out, "{key} = {value} # {origin}");
        }
        let estimated = made.map_or(&[][..], |device| &device.estimated);
        if !estimated.is_empty() {
            let _ = writeln!(out, "\n[estimated] # inherited, and the ranges in which they may be");
        }
        for Estimate { key, low, high } in estimated {
            let _ = writeln!(out, "{key} = [{}, {}]", value(low), value(high));
        }
        out
    }
}

fn hdd_lines(numbers: &Numbers) -> Vec<(&'static str, String, &'static str)> {
    const SHEET: &str = "[sheet]";
    let quantity = |text: String| format!("\"{text}\"");
    let all = [
        ("rpm", numbers.rpm.map(|rpm| rpm.to_string())),
        ("seek_average", numbers.seek.map(|seek| quantity(time(seek)))),
        ("rate_outer", numbers.rate.map(|outer| quantity(rate(outer)))),
        ("cache", numbers.cache.map(|cache| quantity(size(cache)))),
    ];
    all.into_iter().filter_map(|(key, value)| Some((key, value?, SHEET))).collect()
}

/// Returns the lines of an SSD. The rate of reads is that of the link. The rate of writes is that
/// of all dies programming. The link's time for each command limits the reads per second with a
/// deep queue.
fn ssd_lines(
    numbers: &Numbers,
    base: &Ssd,
) -> Result<Vec<(&'static str, String, &'static str)>, String> {
    let mut lines = Vec::new();
    let link = numbers.rate.unwrap_or(base.link);
    if numbers.rate.is_some() {
        lines.push(("link", format!("\"{}\"", rate(link)), "[sheet] sequential reads"));
    }
    if let Some(iops) = numbers.read_iops {
        let each = 1_000_000_000 / u64::from(iops.max(1));
        let data = 4096 * 1_000_000_000 / link.0.max(1);
        let command = each.checked_sub(data).ok_or_else(|| {
            format!(
                "--read-iops {iops}: reads of 4 KiB at this rate exceed the rate of the link, \
                     {link}"
            )
        })?;
        lines.push((
            "link_command",
            format!("\"{}\"", time(Nanos(command))),
            "makes the sheet's reads a second",
        ));
    }
    Ok(lines)
}

impl Draft {
    /// Sets the program time so that all dies together write at `wanted`.
    pub fn set_write_rate(&mut self, plain: &Device, wanted: Rate) -> Result<(), Failure> {
        let Model::Ssd(ssd) = &plain.model else { return Ok(()) };
        let row = u128::from(ssd.row().0) * u128::from(ssd.dies());
        let program = row * 1_000_000_000 / u128::from(wanted.0.max(1));
        if !(10_000..=100_000_000).contains(&program) {
            return Err(mistaken!(
                "--write-rate {wanted}: the {} dies of {} cannot write at this rate; name another \
                 device with --like",
                ssd.dies(),
                self.like
            ));
        }
        let program = format!("\"{}\"", time(Nanos(program as u64)));
        self.lines.push(("program_page", program, "makes the sheet's sequential writes"));
        Ok(())
    }
}

/// Formats the end of a range: a whole number as it is, everything else in quotes.
fn value(text: &str) -> String {
    if text.parse::<u64>().is_ok() { text.to_owned() } else { quoted(text) }
}

/// Formats text as a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.chars().filter(|letter| !letter.is_control()).collect()).to_string()
}
