//! `disklab trace`: prints every request that a trial's disks served, for other programs.

mod blkparse;
pub mod csv;

use std::io::Write;
use std::path::{Path, PathBuf};

use disklab_config::places::disk_name;
use disklab_record::{Outcome, Record};
use disklab_trace::{TraceReader, delay};

use crate::exit::{Exit, Failure, mistaken};
use crate::records;
use crate::screen::Screen;
use crate::show;
use crate::whole_file;

/// Print every request that the disks of a trial served.
///
/// csv has a line for each request, in the order in which the requests ended, and a line for each
/// mark of a phase. The columns name the disk, the operation, FUA, the first sector and the number
/// of sectors (of 512 bytes). Then come the times at which the request was submitted, started by
/// the disk and ended (virtual ns since the guest's boot), the mark, and the depth. The depth is
/// the number of requests that the disk had right after this request arrived, this request
/// included.
///
/// blkparse prints the default lines of blkparse(1), in the order of time: Q when a request arrives
/// at its disk, D when the disk begins to serve it, C when it ends; a mark is a message (m). Fields
/// that a trace lacks are 0: processor, process and its name, error. The device is 254, a number
/// for local use, and the number of the disk: 254,0 is vda, or the first real disk that the run was
/// given. Each disk has sequence numbers of its own. Times are seconds since the guest's boot.
/// Programs that need blktrace's own binary files (seekwatcher, iowatcher, btt) cannot read this
/// output.
#[derive(Debug, clap::Args)]
pub struct TraceArgs {
    /// A record, by its name in ./records or by its path.
    run: String,

    /// A trial of the record, by the values of its cell and its seed.
    ///
    /// Example: hdd-raid1+randread-4k-qd1+pid+s1.
    trial: String,

    #[arg(long, value_enum, default_value_t = TraceFormat::Csv)]
    format: TraceFormat,

    /// A new file to write, in place of standard output.
    ///
    /// The file appears under its name once it is complete.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TraceFormat {
    Csv,
    Blkparse,
}

pub fn trace(args: &TraceArgs, screen: &Screen) -> Result<Exit, Failure> {
    if screen.json {
        return Err(mistaken!("a trace is printed as --format csv or blkparse; leave out --json"));
    }
    let record = records::with_trial(&records::find(&args.run)?, &args.trial, screen)?;
    let outcome = show::outcome(&record, &args.trial)?;
    let raw = raw(&record, outcome)?;
    let recorded = [disklab_trace::PACKED, disklab_trace::PLAIN];
    let recorded = recorded.into_iter().find(|name| outcome.files.contains_key(*name));
    let path = match (disklab_trace::find(&raw), recorded) {
        (None, Some(name)) => {
            return Err(mistaken!(
                "{} was removed after the trial was recorded: restore it from a copy of the record",
                raw.join(name).display()
            ));
        }
        _ => find(&raw)?,
    };
    let name = path.file_name().unwrap_or_default();
    if disklab_record::changed(&record, outcome)?.iter().any(|file| name == file.as_str()) {
        screen.remark(&format!("{} was changed after it was recorded", path.display()));
    }
    let name = |index| name_of(&record, index);
    if let Some(output) = whole_file::new_file(args.output.as_ref())? {
        whole_file::write(output, |out| print(&path, args.format, &name, out))?;
    } else {
        let mut out = screen.out();
        let printed = print(&path, args.format, &name, &mut out);
        out.flush()?;
        printed?;
    }
    Ok(Exit::Ok)
}

/// Returns the kernel's name for a disk of a trial: of this machine at that time, or of a guest.
fn name_of(record: &Record, index: usize) -> String {
    let disks =
        record.manifest().on_host.as_ref().map(|on| on.disks.as_slice()).unwrap_or_default();
    disks.get(index).map_or_else(|| disk_name(index), |disk| disk.name.clone())
}

/// Reads the trace twice: once for the order of time, and once to find how long to wait for it.
fn print(
    path: &Path,
    format: TraceFormat,
    name: &dyn Fn(usize) -> String,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let damaged = |error: disklab_trace::Error| unreadable(path, &error);
    // The readable part of a damaged trace is printed before the error.
    let delay = delay(open(path)?.map_while(Result::ok).map(Ok)).map_err(damaged)?;
    let entries = open(path)?;
    match format {
        TraceFormat::Csv => csv::write(entries, &delay, name, out),
        TraceFormat::Blkparse => blkparse::write(entries, &delay, out),
    }?
    .map_err(damaged)
}

/// Returns the folder of a trial's raw output.
pub fn raw(record: &Record, outcome: &Outcome) -> Result<PathBuf, Failure> {
    record.raw(outcome).ok_or_else(|| {
        mistaken!(
            "trial {0} left no raw output; `disklab show {1} {0}` says why",
            outcome.trial,
            record.folder().display()
        )
    })
}

/// Finds the trace in a trial's raw output.
fn find(raw: &Path) -> Result<PathBuf, Failure> {
    disklab_trace::find(raw).ok_or_else(|| {
        let why =
            "it was switched off (run --no-trace), or the trial failed before its guest began";
        mistaken!("{} has no trace of requests: {why}", raw.display())
    })
}

pub fn open(path: &Path) -> Result<TraceReader<Box<dyn std::io::Read>>, Failure> {
    disklab_trace::open(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &disklab_trace::Error) -> Failure {
    mistaken!("{}: {error}", path.display())
}
