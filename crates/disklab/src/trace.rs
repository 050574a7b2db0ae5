//! `disklab trace`: every request that a trial's disks served, as text for other programs.

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

/// Print every request that a trial's disks served.
///
/// csv: a line for each request, in the order in which they ended, and one for each mark of a
/// phase: disk, operation, FUA, first sector and number of sectors of 512 bytes, when it was
/// submitted, started by the disk and ended (virtual ns since the guest's boot), the mark, and its
/// depth: the requests that its disk had right after it arrived, itself included.
///
/// blkparse: what blkparse(1) prints unless told otherwise, in the order of time: Q when a request
/// arrives at its disk, D when the disk begins with it, C when it ends; a mark is a message (m).
/// What a trace does not have is 0: processor, process and its name, error. The device is 254,
/// which is for local use, and the number of the disk: 254,0 is vda, or the first real disk that
/// the run was given. Sequence numbers count a disk's lines. Times are s since the guest's boot.
/// Programs that want blktrace's own binary files (seekwatcher, iowatcher, btt) cannot read this.
#[derive(Debug, clap::Args)]
pub struct TraceArgs {
    /// A record, by its name in ./records or by its path.
    run: String,

    /// One of its trials: its cell's values and seed, such as hdd-raid1+randread-4k-qd1+pid+s1.
    trial: String,

    #[arg(long, value_enum, default_value_t = TraceFormat::Csv)]
    format: TraceFormat,

    /// A new file instead of standard output; it is there once it is whole.
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
                "{} is gone since the trial was recorded: restore it from a copy of the record",
                raw.join(name).display()
            ));
        }
        _ => find(&raw)?,
    };
    let name = path.file_name().unwrap_or_default();
    if disklab_record::changed(&record, outcome)?.iter().any(|file| name == file.as_str()) {
        screen.remark(&format!("{} was changed since it was recorded", path.display()));
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

/// The kernel's name of a disk of a trial: of this machine's as it was then, or a guest's.
fn name_of(record: &Record, index: usize) -> String {
    let disks =
        record.manifest().on_host.as_ref().map(|on| on.disks.as_slice()).unwrap_or_default();
    disks.get(index).map_or_else(|| disk_name(index), |disk| disk.name.clone())
}

/// Twice over the trace: what happened when, and for how long to wait for it.
fn print(
    path: &Path,
    format: TraceFormat,
    name: &dyn Fn(usize) -> String,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let damaged = |error: disklab_trace::Error| unreadable(path, &error);
    // Of a damaged trace, what there is of it is printed before that is said.
    let delay = delay(open(path)?.map_while(Result::ok).map(Ok)).map_err(damaged)?;
    let entries = open(path)?;
    match format {
        TraceFormat::Csv => csv::write(entries, &delay, name, out),
        TraceFormat::Blkparse => blkparse::write(entries, &delay, out),
    }?
    .map_err(damaged)
}

/// Where a trial's raw output is.
pub fn raw(record: &Record, outcome: &Outcome) -> Result<PathBuf, Failure> {
    record.raw(outcome).ok_or_else(|| mistaken!("trial {} left no raw output", outcome.trial))
}

/// The trace in a trial's raw output.
fn find(raw: &Path) -> Result<PathBuf, Failure> {
    disklab_trace::find(raw).ok_or_else(|| {
        let why =
            "it was switched off (run --no-trace), or the trial failed before its guest began";
        mistaken!("there is no trace of requests in {}: {why}", raw.display())
    })
}

pub fn open(path: &Path) -> Result<TraceReader<Box<dyn std::io::Read>>, Failure> {
    disklab_trace::open(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &disklab_trace::Error) -> Failure {
    mistaken!("{}: {error}", path.display())
}
