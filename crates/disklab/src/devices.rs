//! `disklab devices`: lists the disks of this machine, and which of them may be written. It writes
//! to no disk.

use std::io::Write;
use std::path::PathBuf;

use disklab_block_devices::guard::{is_free, used_by};
use disklab_block_devices::{Allow, Disk, Why, allow};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::screen::{Paint, Screen};
use crate::table::TextTable;
use crate::words::or_dash;

/// List this machine's disks, and which of them may be written.
///
/// `disklab run` writes a disk, and destroys all data on it, only under four conditions: the allow
/// file lists the disk, the command line names it, nothing uses it, and it holds no known data. For
/// each disk that may not be written, devices prints the reason. If an entry in the allow file
/// would permit a disk, devices prints the lines to add. It writes nothing. `disklab calibrate
/// --write` does not read the allow file: its command line names the disk twice.
#[derive(Debug, clap::Args)]
pub struct DevicesArgs {
    /// The list of disks that may be written [default: ~/.config/disklab/devices.toml].
    #[arg(long, value_name = "FILE")]
    allow: Option<PathBuf>,
}

struct SeenDisk {
    disk: Disk,
    used_by: Vec<String>,
    /// The reason why the disk would not be written now.
    why: Option<Why>,
    /// Lines to add to the allow file, if nothing else stands against the disk.
    lines: Option<String>,
}

impl SeenDisk {
    fn look(disk: Disk, allow: &Allow) -> Self {
        let used_by = used_by(&disk).unwrap_or_else(|refusal| vec![refusal.why.to_string()]);
        let free = is_free(&disk, &[]).map_err(|refusal| refusal.why);
        let listed = allow.permits(&disk);
        let could_be = matches!(free, Ok(()) | Err(Why::Signature { .. }));
        let lines = (could_be && matches!(listed, Err(Why::NotAllowed { .. })))
            .then(|| allow::lines(&disk));
        Self { why: free.and(listed).err(), disk, used_by, lines }
    }

    fn json(&self) -> serde_json::Value {
        let Self { disk, used_by, why, lines } = self;
        json!({
            "path": disk.named, "model": disk.model, "serial": disk.serial, "bytes": disk.bytes.0,
            "rotational": disk.rotational, "used_by": used_by, "writable": why.is_none(),
            "why_not": why.as_ref().map(ToString::to_string), "allow_lines": lines,
        })
    }
}

pub fn devices(args: &DevicesArgs, screen: &Screen) -> Result<Exit, Failure> {
    let allow = Allow::load(args.allow.as_deref())?;
    let seen: Vec<SeenDisk> =
        Disk::all()?.into_iter().map(|disk| SeenDisk::look(disk, &allow)).collect();
    let devices: Vec<_> = seen.iter().map(SeenDisk::json).collect();
    screen.present(&json!({ "allow_file": allow.file, "devices": devices }), |out| {
        print(screen, &allow, &seen, out)
    })?;
    Ok(Exit::Ok)
}

fn print(
    screen: &Screen,
    allow: &Allow,
    seen: &[SeenDisk],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if seen.is_empty() {
        return Ok(writeln!(out, "no disks here")?);
    }
    let heads = "device|>size|model|serial|used by|written";
    let mut table = TextTable::with_heads(heads, screen.color);
    for SeenDisk { disk, used_by, why, lines } in seen {
        let written = match (why, lines) {
            (None, _) => "if named",
            (_, Some(_)) => "if listed",
            _ => "no",
        };
        table.row([
            disk.named.display().to_string(),
            disk.bytes.to_string(),
            or_dash(disk.model.as_ref()),
            or_dash(disk.serial.as_ref()),
            or_dash((!used_by.is_empty()).then(|| used_by.join(", "))),
            written.to_owned(),
        ]);
    }
    table.print(screen, "", out)?;
    // The lines for the allow file already say that the disk is not listed.
    let told = |seen: &&SeenDisk| {
        !(seen.lines.is_some() && matches!(seen.why, Some(Why::NotAllowed { .. })))
    };
    let reason =
        |seen: &SeenDisk| Some(format!("{}: {}", seen.disk.named.display(), seen.why.as_ref()?));
    let reasons: Vec<String> = seen.iter().filter(told).filter_map(reason).collect();
    if !reasons.is_empty() {
        writeln!(out, "\n{}\n{}", screen.paint("Not written", Paint::Strong), reasons.join("\n"))?;
    }
    let lines: Vec<&str> = seen.iter().filter_map(|seen| seen.lines.as_deref()).collect();
    if !lines.is_empty() {
        let head = format!("For {}, if all on the disk may be lost", allow.file.display());
        writeln!(out, "\n{}\n{}", screen.paint(&head, Paint::Strong), lines.join("\n").trim_end())?;
    }
    Ok(())
}
