//! `disklab device new`: writes a device of the lab from the numbers of a data sheet.

mod measured;
mod quantity;
mod sheet;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use disklab_config::device::{Device, Inheritance, LIKE, inherited_keys};
use disklab_config::read::{TomlReader, unknown};
use disklab_config::{Lab, Model};
use disklab_units::Bytes;
use serde_json::json;

use self::measured::{SheetNumber, lone_read, measure};
use self::quantity::size;
use self::sheet::{Draft, Numbers};
use crate::exit::{Exit, Failure, cannot, mistaken};
use crate::home::{Home, from_here};
use crate::screen::{Paint, Screen};
use crate::table::TextTable;
use crate::whole_file;

/// Describe a disk by the numbers of its data sheet.
///
/// A device is a file of the lab that describes one disk: its capacity, its rates and its times.
/// Arrays name their devices. `device new` writes such a file for a disk that you do not have;
/// `disklab calibrate` measures a disk of this machine instead.
#[derive(Debug, clap::Args)]
pub struct DeviceArgs {
    #[command(subcommand)]
    verb: DeviceVerb,
}

#[derive(Debug, Subcommand)]
enum DeviceVerb {
    New(NewArgs),
}

/// Write a device file from the numbers of a data sheet.
///
/// Numbers that the sheet lacks are taken from a device of the lab (--like), scaled if physics says
/// how. The file lists these numbers with their ranges, in [estimated]. disklab then runs the
/// model, and shows each number of the sheet beside the number of the model. On a terminal, disklab
/// asks for the numbers that the command line lacks.
#[derive(Debug, clap::Args)]
struct NewArgs {
    /// The name of the new device.
    #[arg(value_parser = name)]
    name: String,

    /// A similar device of the lab [default: the nearest in kind, speed and size].
    #[arg(long, value_name = "DEVICE")]
    like: Option<String>,

    #[command(flatten)]
    numbers: Numbers,

    /// A description of the device, on one line.
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,

    /// A new file to write, or - for standard output [default: NAME.toml in the lab's devices].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace an existing file.
    #[arg(long)]
    overwrite: bool,
}

fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with(['-', '_', '.']) {
        Ok(text.to_owned())
    } else {
        Err("a device's name has lower-case letters, digits, `-`, `_` and `.`, a letter or digit \
             first"
            .to_owned())
    }
}

pub fn device(args: &DeviceArgs, screen: &Screen) -> Result<Exit, Failure> {
    let DeviceVerb::New(args) = &args.verb;
    let lab = Home::open()?.lab;
    let output = output(args, &lab)?;
    let numbers = asked(args)?;
    let base = base(args, &numbers, &lab)?;
    let draft = draft(args, &numbers, base, &lab)?;
    let device = read(&args.name, &draft.file(None), &lab)?;
    let file = draft.file(Some(&device));
    let device = read(&args.name, &file, &lab)?;
    let found = measure(&device, &numbers);
    if let Some(output) = &output {
        whole_file::write_text(output, &file)?;
    }
    let inherited = device.inherited.clone();
    let inherited = inherited.unwrap_or(Inheritance { from: base.name.clone(), keys: Vec::new() });
    let document = json!({
        "name": args.name, "file": output, "text": file, "like": inherited.from,
        "inherited": inherited.keys, "estimated": device.estimated, "numbers": found,
    });
    screen.present(&document, |out| match &output {
        Some(output) => report(output, &inherited, &found, screen, out),
        None => Ok(out.write_all(file.as_bytes())?),
    })?;
    if output.is_none() && !screen.json {
        for number in &found {
            screen.remark(&number.in_words());
        }
    }
    Ok(Exit::Ok)
}

/// Returns the path of the file, or None for standard output.
fn output(args: &NewArgs, lab: &Lab) -> Result<Option<PathBuf>, Failure> {
    let own = || lab.folder.join("devices").join(format!("{}.toml", args.name));
    let output = match &args.output {
        Some(output) if output == Path::new("-") => return Ok(None),
        Some(output) => output.clone(),
        None => own(),
    };
    if whole_file::is_taken(&output)? && !args.overwrite {
        return Err(mistaken!(
            "{} exists already; choose another name, name a new file with -o, or replace it with \
             --overwrite",
            output.display()
        ));
    }
    Ok(Some(from_here(&output)))
}

/// Returns the numbers of the command line. On a terminal, it asks for the missing ones.
fn asked(args: &NewArgs) -> Result<Numbers, Failure> {
    let mut numbers = args.numbers.clone();
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        let mut lines = io::stdin().lock();
        numbers.ask(&mut |question| ask(question, &mut lines))?;
    }
    if numbers.size.is_none() && args.like.is_none() {
        return Err(mistaken!(
            "--size is missing: the capacity of the disk, such as 10TB; --rpm, --rate, --seek and \
             --cache of a hard disk, or --rate, --write-rate, --read-iops and --read-latency of an \
             SSD make it more like yours"
        ));
    }
    Ok(numbers)
}

/// Reads a line of the answer, without blanks around it. Returns None for an empty answer.
fn ask(question: &str, lines: &mut dyn BufRead) -> Result<Option<String>, Failure> {
    let _ = write!(io::stderr(), "{question}: ");
    let mut line = String::new();
    let bytes = lines
        .read_line(&mut line)
        .map_err(|error| cannot!("cannot read the answer from standard input: {error}"))?;
    if bytes == 0 {
        return Err(Failure::said(
            Exit::Interrupted,
            "the input ended before all answers; no file \
                                                     was written",
        ));
    }
    Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty()))
}

/// Returns the device that the new one is like.
fn base<'a>(args: &NewArgs, numbers: &Numbers, lab: &'a Lab) -> Result<&'a Device, Failure> {
    if let Some(name) = &args.like {
        let known = lab.devices.get(name);
        let unknown = || unknown("device", name, lab.devices.keys().map(String::as_str));
        return known.ok_or_else(|| mistaken!("--like: {}", unknown()));
    }
    let size = numbers.size.unwrap_or(Bytes(1)).0.max(1) as f64;
    let rotates = numbers.is_hard_disk();
    let apart = |device: &Device| {
        let size = (device.bytes.0.max(1) as f64 / size).ln().abs();
        let speeds = match &device.model {
            Model::Hdd(hdd) => numbers.rpm.map(|rpm| (f64::from(hdd.rpm), f64::from(rpm))),
            // The link tells SATA from NVMe.
            Model::Ssd(ssd) => numbers.rate.map(|rate| (ssd.link.0 as f64, rate.0 as f64)),
            Model::Card(_) | Model::Constant(_) => None,
        };
        // A difference of speed counts for more than a difference of size.
        let speed = speeds.map_or(0.0, |(one, other)| (one / other.max(1.0)).ln().abs());
        size + 10.0 * speed
    };
    let is_alike = |device: &&Device| match &device.model {
        Model::Hdd(_) => rotates && device.inherited.is_none(),
        Model::Ssd(_) => !rotates && device.inherited.is_none(),
        Model::Card(_) | Model::Constant(_) => false,
    };
    let alike = lab.devices.values().filter(is_alike);
    let nearest = alike.min_by(|one, other| apart(one).total_cmp(&apart(other)));
    let kind = if rotates { "hard disk" } else { "SSD" };
    nearest.ok_or_else(|| mistaken!("the lab has no similar {kind}; name a device with --like"))
}

/// Drafts the file: the numbers of the sheet, by the keys of the model.
fn draft(args: &NewArgs, numbers: &Numbers, base: &Device, lab: &Lab) -> Result<Draft, Failure> {
    let summary = args.summary.clone().unwrap_or_else(|| {
        let size = size(numbers.size.unwrap_or(base.bytes));
        format!("{}, {size}, from its data sheet", args.name)
    });
    let mut draft = Draft::new(&args.name, summary, base, numbers).map_err(Failure::mistaken)?;
    if let (Model::Ssd(_), Some(wanted)) = (&base.model, numbers.write_rate) {
        let plain = read(&args.name, &draft.file(None), lab)?;
        draft.set_write_rate(&plain, wanted)?;
    }
    // The latency of a page depends on the rest of the model, and is set last.
    if let (Model::Ssd(_), Some(latency)) = (&base.model, numbers.read_latency) {
        let plain = read(&args.name, &draft.file(None), lab)?;
        draft.set_latency(&plain, lone_read(&plain), latency).map_err(Failure::mistaken)?;
    }
    Ok(draft)
}

/// Reads a file by the lab's rules.
fn read(name: &str, file: &str, lab: &Lab) -> Result<Device, Failure> {
    let inherited = inherited_keys(file, &lab.texts.devices);
    let mut reader = TomlReader::new(name, file);
    if let Some(inherited) = &inherited {
        reader = reader.inheriting(LIKE, inherited);
    }
    let device = reader.read(|table| Device::read(name, table));
    device.map_err(|mistakes| {
        mistaken!(
            "the lab refuses the device that these options describe, and no file was written; \
             change the options, or name another device with --like:\n{mistakes}\nThe refused \
             file:\n{file}"
        )
    })
}

fn report(
    output: &Path,
    inherited: &Inheritance,
    found: &[SheetNumber],
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(out, "{}", screen.paint(&output.display().to_string(), Paint::Strong))?;
    let mut table = TextTable::with_heads("number|>sheet|>model|>off", screen.color);
    for number in found {
        let [sheet, model, off] = number.columns();
        table.row([number.what.to_owned(), sheet, model, off]);
    }
    table.print(screen, "  ", out)?;
    let keys = inherited.keys.join(", ");
    screen.prose(&format!("Inherited from {}: {keys}.", inherited.from), "  ", out)
}

#[cfg(test)]
mod tests;
