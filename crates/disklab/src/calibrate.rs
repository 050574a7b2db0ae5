//! `disklab calibrate`: measures a disk of this machine, and writes it as a device of the lab.

mod fitted_file;
mod from_fio;
mod known;

use std::io::Write;
use std::path::{Path, PathBuf};

use disklab_block_devices::Disk;
use disklab_calibrate::block::BlockTarget;
use disklab_calibrate::sheet::{Provenance, SheetLine};
use disklab_calibrate::{Calibration, CalibrationPlan, Error, read_back};
use disklab_units::Nanos;
use disklab_units::prose::is_hidden;
use jiff::Zoned;
use serde_json::{Value, json};

use self::from_fio::{FromFioArgs, fitted};
use self::known::{KnownDevice, known_device};
use crate::bar::Bar;
use crate::exit::{Exit, Failure, cannot, mistaken};
use crate::screen::Screen;
use crate::words::command_line;
use crate::{signals, whole_file};

/// Measure a disk, and write its model as a device of the lab.
///
/// calibrate finds out whether the disk rotates. Of a hard disk it measures rotation, seek curve,
/// zones, tracks, heads, cache, link, and the choice among queued commands. Of an SSD it measures
/// the latency of pages, the dies, the channels and the link. Each number comes with its error and
/// the method. Numbers that cannot be measured from outside get a default, and the file says why.
///
/// calibrate only reads, unless --write names the disk a second time. Writing destroys all data on
/// the disk, and shows its write buffer, programs and flushes. Let nothing else use the disk
/// meanwhile.
///
/// With --from-fio, no disk is needed: the device is fitted to published results of fio at several
/// depths. disklab searches for the numbers that such results identify until the modelled disk
/// gives the measured results. The other numbers come from --sheet and from the device that --like
/// names. The file says how well the device fits. It also says how well a fit to the first and last
/// depth predicts the other depths, and the reverse.
#[derive(Debug, clap::Args)]
pub struct CalibrateArgs {
    /// A block device such as /dev/sdb, or a file of some GB on it.
    #[arg(required_unless_present_any = ["from_fio", "like", "sheet", "drive", "array"])]
    device: Option<PathBuf>,

    #[command(flatten)]
    published: FromFioArgs,

    /// The name of the disk in the file [default: the kernel's name for it].
    #[arg(long, value_parser = one_line)]
    name: Option<String>,

    /// A new file to write, in place of standard output.
    ///
    /// The file appears under its name once it is complete. In lab/devices, its name is the name of
    /// the device.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// DEVICE again: also measure writes, which destroys all data on the disk.
    ///
    /// calibrate refuses a disk that is mounted or in use, or that has partitions, a filesystem or
    /// other known data.
    #[arg(long, value_name = "DEVICE")]
    write: Option<PathBuf>,

    /// The time after which optional measurements are left out.
    #[arg(long, default_value = "5min", value_parser = time, value_name = "TIME")]
    time: Nanos,
}

/// Accepts a name of one line.
fn one_line(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.chars().any(is_hidden) {
        return Err("write a name of one line, without control characters".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses a time in the lab's units, or in minutes.
fn time(text: &str) -> Result<Nanos, String> {
    let minutes = text.strip_suffix("min").map(|number| number.trim().parse::<u32>());
    let time = match minutes {
        Some(Ok(minutes)) => Nanos::from_secs(u64::from(minutes) * 60),
        _ => text.parse::<Nanos>().map_err(|_| "write `90s` or `5min`".to_owned())?,
    };
    let range = Nanos::from_secs(10)..=Nanos::from_secs(24 * 3600);
    if range.contains(&time) { Ok(time) } else { Err("out of range (10s to 1440min)".to_owned()) }
}

pub fn calibrate(args: &CalibrateArgs, screen: &Screen) -> Result<Exit, Failure> {
    let output = whole_file::new_file(args.output.as_ref())?;
    match (&args.device, args.published.asked()?) {
        (_, Some((path, like))) => {
            let fitted = fitted(&args.published, path, like, args.name.as_deref(), screen)?;
            let mut document = json(&fitted.found);
            document["fit"] = fitted.document;
            present(output, &fitted.file, &document, &fitted.found, screen)
        }
        (Some(device), None) => measured(device, output, args, screen),
        (None, None) => Err(mistaken!(
            "calibrate: name a disk to measure, or published results with --from-fio"
        )),
    }
}

/// Measures a disk of this machine.
fn measured(
    device: &Path,
    output: Option<&Path>,
    args: &CalibrateArgs,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let known = known_device(device);
    if let Some(again) = &args.write {
        disklab_block_devices::guard::named_twice(device, again)?;
        screen.remark(&format!(
            "all data on {} ({}) is being destroyed, since the command line names it twice",
            device.display(),
            known.model
        ));
    }
    // Only disks can be claimed. A file is measured without a claim.
    let _claim = match Disk::find(device) {
        Ok(disk) => {
            let claim = disklab_block_devices::claim_disks(&[disk]).map_err(Failure::cannot)?;
            claim.remarks.iter().for_each(|remark| screen.remark(remark));
            Some(claim)
        }
        Err(_) => None,
    };
    let stop = signals::watch()?;
    let mut block = BlockTarget::open(device, args.write.is_some(), stop)
        .map_err(|error| failure(device, error))?;
    let plan =
        CalibrationPlan { time: args.time, may_write: args.write.is_some(), hints: known.hints };
    let bar = Bar::new(screen, Some(100), "{bar:30} {percent:>3} % {elapsed} {msg}");
    let mut watch = |what: &str, part: f64| {
        bar.drawn().iter().for_each(|bar| bar.set_position((part * 100.0) as u64));
        bar.message(what);
    };
    let found = disklab_calibrate::calibrate(&mut block, &plan, &mut watch, stop);
    bar.end();
    let mut found = found.map_err(|error| failure(device, error))?;
    found.remarks.extend(contradictions(&known, &found));
    if let Some(name) = &args.name {
        found.summary = format!("{name} ({})", found.summary);
    }
    let file = found.file(&head(args, &known));
    // If the lab refuses the file, measuring went wrong: the numbers are printed and no file is
    // written.
    if let Err(mistakes) = read_back("measured", &file) {
        return Err(cannot!(
            "{}: the lab refuses the device that the measured numbers describe, and no file was \
             written; measure again when nothing else uses the disk:\n{mistakes}\nThe refused \
             file:\n{file}",
            device.display()
        ));
    }
    present(output, &file, &json(&found), &found, screen)
}

/// Writes the file, and prints the results.
fn present(
    output: Option<&Path>,
    file: &str,
    document: &Value,
    found: &Calibration,
    screen: &Screen,
) -> Result<Exit, Failure> {
    output.map_or(Ok(()), |output| whole_file::write_text(output, file))?;
    screen.present(document, |out| match output {
        Some(output) => report(out, output, found),
        None => Ok(out.write_all(file.as_bytes())?),
    })?;
    Ok(Exit::Ok)
}

fn failure(device: &Path, error: Error) -> Failure {
    match error {
        Error::Interrupted => Failure::said(Exit::Interrupted, "interrupted; no file was written"),
        Error::TooSmall { .. } => {
            mistaken!("{}: {error}; name the whole disk, or a larger file on it", device.display())
        }
        Error::Io { .. } | Error::Unclear(_) => Failure::cannot(error),
    }
}

/// Lists facts from the kernel that the measurement contradicts.
fn contradictions(known: &KnownDevice, found: &Calibration) -> Option<String> {
    let turns = found.family == "hdd";
    let said = known.rotational.filter(|&said| said != turns)?;
    let word = |turns: bool| if turns { "turns" } else { "does not turn" };
    Some(format!(
        "the kernel reports that the disk {}, but its latencies show that it {}",
        word(said),
        word(turns)
    ))
}

/// Returns the head of the file: the disk, the date and the method of the measurement.
fn head(args: &CalibrateArgs, known: &KnownDevice) -> Vec<String> {
    let system = rustix::system::uname();
    let mut head = vec![
        format!(
            "{}, measured {} by `{}`",
            known.model,
            Zoned::now().strftime("%Y-%m-%d"),
            command_line()
        ),
        format!("under Linux {}", system.release().to_string_lossy()),
        "[meas] measured; the error is that of the measurement. [est] not measured, with the \
         reason: a default, or derived under the named assumption."
            .to_owned(),
    ];
    let limits = [
        (
            known.part,
            "measured on a part of a disk or a file: the full seek and the zones are those of this \
             part",
        ),
        (
            args.write.is_none(),
            "reads only: numbers that only writes show are defaults, and mixed loads are predicted \
             less well",
        ),
    ];
    head.extend(
        limits.iter().filter(|(applies, _)| *applies).map(|(_, limit)| (*limit).to_owned()),
    );
    head
}

fn report(out: &mut dyn Write, output: &Path, found: &Calibration) -> Result<(), Failure> {
    writeln!(out, "{}: {}", output.display(), found.summary)?;
    for (key, why) in found.unseen() {
        writeln!(out, "  {key} was not measured: {why}")?;
    }
    for (key, if_true) in found.derived() {
        writeln!(out, "  {key} is derived, and right if {if_true}")?;
    }
    for remark in &found.remarks {
        writeln!(out, "  {remark}")?;
    }
    Ok(())
}

fn json(found: &Calibration) -> Value {
    let line = |SheetLine { key, value, mark }: &SheetLine| {
        let value = value.trim_matches('"');
        match mark {
            Provenance::Measured { error, how } => {
                json!({ "key": key, "value": value, "seen": true, "error": error, "how": how })
            }
            Provenance::Derived { how, if_true } => {
                json!({ "key": key, "value": value, "seen": false, "how": how, "if": if_true })
            }
            Provenance::Fitted { error, how } => {
                json!({ "key": key, "value": value, "seen": true, "error": error, "how": how })
            }
            Provenance::Stated => {
                let how = "of the data sheet";
                json!({ "key": key, "value": value, "seen": false, "how": how })
            }
            Provenance::NotVisible { why } | Provenance::NotDetermined { why } => {
                json!({ "key": key, "value": value, "seen": false, "why": why })
            }
        }
    };
    json!({
        "summary": found.summary,
        "bytes": found.bytes.0,
        "family": found.family,
        "numbers": found.sheet.lines.iter().map(line).collect::<Vec<_>>(),
        "remarks": found.remarks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_minutes_too() {
        assert_eq!(time("2min"), Ok(Nanos::from_secs(120)));
        assert_eq!(time("90s"), Ok(Nanos::from_secs(90)));
        assert!(time("1s").is_err() && time("soon").is_err());
    }
}
