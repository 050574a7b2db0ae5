//! `disklab validate`: compares the disk models with drives that were measured.

mod at_depth;
mod published;

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use disklab_disksim::drive::DriveSummary;
use disklab_disksim::{Drive, Validation, trace};
use disklab_files::DISKSIM;
use disklab_kernels::Share;
use disklab_units::prose::count;
use serde::Serialize;

use self::at_depth::ScoredMatrices;
use self::published::PublishedScores;
use crate::exit::{Exit, Failure, cannot, mistaken};
use crate::home::{Home, from_here, paths_in};
use crate::matrix::{DeviceChoice, FoundMatrices};
use crate::screen::{Paint, Screen};
use crate::table::TextTable;
use crate::words::or_dash;

/// Compare the disk models with drives that were measured.
///
/// validate reads two kinds of data. The first is drives as DiskSim describes them (`NAME.parv` and
/// the files that it names) with requests that were measured on the real drive (`NAME.trace` beside
/// it). A closed replay keeps the measured time between two requests, and gives the distance
/// between the distributions of response times. A tracked replay predicts each request from the
/// requests before it. Parameters that the files lack are estimated from the first 15 % of a trace,
/// and scored on the rest.
///
/// The second kind is results at several depths and numbers of jobs: folders of fio's JSON reports
/// as fio-plot makes them, one folder for each drive, and tables (.csv; docs/FORMAT.md has their
/// columns). The modelled disk serves each load without a guest. IOPS, mean, p50, p99 and p99.9 are
/// shown beside the measured values.
///
/// Exit status: 1 if a model misses its bar. For DiskSim's drives, the bar is DiskSim's own result,
/// if it is known. For results at several depths, the bars are a median error of IOPS of 10 %, a
/// largest error of IOPS of 25 %, and median errors of p50 and p99 of 20 %. They apply to all
/// drives together, at each depth up to 32.
#[derive(Debug, clap::Args)]
pub struct ValidateArgs {
    /// Folders, .parv files, reports of fio, or tables.
    ///
    /// [default: the tables of measured drives that this installation has, and DiskSim's drives if
    /// it has them]
    paths: Vec<PathBuf>,

    /// The device that models the drives: a device of the lab, or a file. Can be repeated.
    ///
    /// DRIVE= limits it to that drive, by its name or the end of its name. @ARRAY puts it into the
    /// machine of that array of the lab, whose [host] adds its time to each request. [default: the
    /// columns `device` and `array` of a table]
    #[arg(long = "device", value_name = "[DRIVE=]DEVICE[@ARRAY]")]
    devices: Vec<DeviceChoice>,
}

/// The source of such files.
const SOURCE: &str = "DiskSim 4.0 of Carnegie Mellon University's Parallel Data Laboratory has \
    .parv files in its folder `valid`: https://www.pdl.cmu.edu/DiskSim/";

#[derive(Debug, Default, Serialize)]
struct ValidatedDrive {
    file: PathBuf,
    drive: Option<String>,
    summary: Option<DriveSummary>,
    #[serde(flatten)]
    validation: Option<Validation>,
    disksim: Option<PublishedScores>,
    /// Whether both of DiskSim's scores are reached. It is None if they are not known.
    met: Option<bool>,
    not_modelled: Vec<String>,
    /// The reason why there are no scores.
    failed: Option<String>,
}

pub fn validate(args: &ValidateArgs, screen: &Screen) -> Result<Exit, Failure> {
    let sources = Sources::find(&args.paths)?;
    let matrices = if sources.matrices.is_empty() {
        if !args.devices.is_empty() {
            return Err(mistaken!(
                "--device is for matrices of results, and no path has one; leave --device out"
            ));
        }
        None
    } else {
        let lab = Home::open()?.lab;
        Some(ScoredMatrices::run(sources.matrices, &args.devices, &lab, screen)?)
    };
    let rows: Vec<ValidatedDrive> = sources.parv.into_iter().map(row).collect();
    let missed = matrices.as_ref().is_some_and(ScoredMatrices::missed);
    let exit = if rows.iter().any(|row| row.failed.is_some()) {
        Exit::Mistaken
    } else if missed || rows.iter().any(|row| row.met == Some(false)) {
        Exit::Failed
    } else {
        Exit::Ok
    };
    let (drives, depths) =
        matrices.as_ref().map_or_else(|| (Vec::new(), Vec::new()), ScoredMatrices::json);
    let (passed_over, left_out) =
        matrices.as_ref().map_or_else(Default::default, ScoredMatrices::left_out_json);
    let document = serde_json::json!({
        "unit": "ms", "drives": rows, "matrices": drives, "depths": depths,
        "passed_over": passed_over, "left_out": left_out,
    });
    screen.present(&document, |out| {
        if let Some(matrices) = &matrices {
            matrices.print(screen, out)?;
            if !rows.is_empty() {
                writeln!(out)?;
            }
        }
        if rows.is_empty() { Ok(()) } else { print(&rows, screen, out) }
    })?;
    Ok(exit)
}

/// Drives and tables that the paths hold.
#[derive(Default)]
struct Sources {
    /// DiskSim's drives, sorted by name.
    parv: Vec<PathBuf>,
    matrices: FoundMatrices,
}

impl Sources {
    fn find(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut sources = Self::default();
        if paths.is_empty() {
            return sources.usual();
        }
        for path in paths {
            sources.add(path)?;
        }
        Ok(sources)
    }

    /// Adds the folders of measured drives beside this installation's lab.
    fn usual(mut self) -> Result<Self, Failure> {
        let lab = Share::find()?.lab();
        let measured = lab.join("measured");
        if measured.is_dir() {
            self.add(&from_here(&measured))?;
        }
        let folder = lab.join("../../shared/data/disksim");
        match folder.canonicalize() {
            Ok(folder) => self.add(&from_here(&folder))?,
            Err(_) if self.matrices.is_empty() => {
                return Err(cannot!(
                    "looked for measured drives in {}, which does not exist. Name a folder that \
                     has them: `disklab validate FOLDER`. {SOURCE}",
                    measured.display()
                ));
            }
            Err(_) => {}
        }
        Ok(self)
    }

    fn add(&mut self, path: &Path) -> Result<(), Failure> {
        let is_parv = |file: &Path| file.extension().is_some_and(|extension| extension == "parv");
        if !path.is_dir() && is_parv(path) {
            self.parv.push(path.to_owned());
            return Ok(());
        }
        let found_matrix = self.matrices.read(path)?;
        if !path.is_dir() {
            return Ok(());
        }
        let unreadable = |error| mistaken!("{}: cannot be read: {error}", path.display());
        let mut found = paths_in(path).map_err(unreadable)?;
        found.retain(|file| is_parv(file));
        if found.is_empty() && !found_matrix {
            return Err(mistaken!(
                "{}: it has no .parv file, no report of fio (JSON) and no table (.csv) with the \
                 columns drive, rw, depth and iops. {SOURCE}",
                path.display()
            ));
        }
        self.parv.extend(found);
        Ok(())
    }
}

fn row(file: PathBuf) -> ValidatedDrive {
    match read(&file) {
        Ok((drive, validation)) => {
            let disksim = published::find(&drive.name);
            let met = disksim.map(|disksim| {
                validation.estimated.rms <= disksim.rms
                    && validation.tracked_deviation < disksim.deviation
            });
            ValidatedDrive {
                file,
                drive: Some(drive.name.trim_end_matches("_validate").to_owned()),
                summary: Some(drive.summary),
                validation: Some(validation),
                disksim,
                met,
                not_modelled: drive.left_out,
                failed: None,
            }
        }
        Err(failed) => ValidatedDrive { file, failed: Some(failed), ..ValidatedDrive::default() },
    }
}

fn read(file: &Path) -> Result<(Drive, Validation), String> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut files = |name: &str| {
        let path = Path::new(name);
        // Files name others in the same folder. Paths that lead elsewhere are refused.
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(format!(
                "it is not below {}, and disklab does not read it",
                folder.display()
            ));
        }
        let kind = DISKSIM.inside(path.components().count() - 1);
        disklab_files::read(&folder.join(path), &kind)
            .map_err(|error| format!("cannot be read: {error}"))
    };
    let drive = Drive::read(&name, &mut files).map_err(|error| error.to_string())?;
    let requests = file.with_extension("trace");
    let bytes = disklab_files::read(&requests, &DISKSIM).map_err(|error| {
        format!("{}: cannot read the measured requests: {error}", requests.display())
    })?;
    let requests = trace::read(&requests.display().to_string(), &bytes, drive.summary.sectors);
    let requests = requests.map_err(|error| error.to_string())?;
    let validation = disklab_disksim::validate(&drive.model, &requests);
    Ok((drive, validation))
}

const HEADS: &str = "drive|>requests|>mean\nmeasured|>\nmodel|>RMS\nfiles|>\nestimated|>\n%|\
                     >\nDiskSim|>deviation\nclosed|>\ntracked|>\nDiskSim|angle\nfollowed|\nmet";

fn print(rows: &[ValidatedDrive], screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = TextTable::with_heads(HEADS, screen.color);
    let ms = |value: f64| format!("{value:.3}");
    let yes = |is_so: bool| if is_so { "yes" } else { "no" }.to_owned();
    let known = |value: Option<f64>| or_dash(value.map(ms));
    for row in rows {
        let (Some(drive), Some(found)) = (&row.drive, &row.validation) else { continue };
        table.row([
            drive.clone(),
            found.requests.to_string(),
            ms(found.measured_mean),
            ms(found.estimated.mean),
            ms(found.files.rms),
            ms(found.estimated.rms),
            format!("{:.1}", found.estimated.demerit),
            known(row.disksim.map(|disksim| disksim.rms)),
            ms(found.estimated.deviation),
            ms(found.tracked_deviation),
            known(row.disksim.map(|disksim| disksim.deviation)),
            yes(found.tracking.follows()),
            or_dash(row.met.map(yes)),
        ]);
    }
    table.print(screen, "", out)?;
    writeln!(out)?;
    LEGEND.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    for row in rows {
        writeln!(out)?;
        print_details(row, screen, out)?;
    }
    Ok(())
}

const LEGEND: [&str; 10] = [
    "Times are in milliseconds. In the closed replay, each request waits as long after the",
    "model's completion of the one before as it waited after the measured one. RMS is the",
    "distance between the distributions of measured and modelled response times. `files` uses the",
    "drive's files alone; `estimated` adds the values listed below. The columns `measured`,",
    "`files` and `DiskSim` are over all requests; all others are over requests that had no part",
    "in an estimate. Deviation is the standard deviation of measured minus modelled response",
    "times, request by request; `tracked` predicts each request from the measured requests before",
    "it. If the angle of the platters cannot be followed from one request to the next, the",
    "prediction is the mean over all angles. Met: RMS is at or below DiskSim's, and the tracked",
    "deviation is below DiskSim's.",
];

fn print_details(
    row: &ValidatedDrive,
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let name = row.drive.clone().unwrap_or_else(|| row.file.display().to_string());
    writeln!(out, "{}", screen.paint(&name, Paint::Strong))?;
    if let Some(failed) = &row.failed {
        writeln!(out, "  not replayed: {failed}")?;
    }
    if let Some(found) = &row.validation {
        let (changes, tracking) = (found.changes, found.tracking);
        writeln!(
            out,
            "  estimated from the first {}: command times are longer by {:.3} (read hit), {:.3} \
             (read miss), {:.3} (write)",
            count(changes.requests, "request"),
            changes.read_hit,
            changes.read_miss,
            changes.write
        )?;
        if let Some(sectors) = changes.look_ahead {
            writeln!(out, "  estimated: reads ahead {sectors} sectors, unlike its files")?;
        }
        if changes.only_in_sequence {
            writeln!(
                out,
                "  estimated: reads ahead only after sequential reads, unlike its files"
            )?;
        }
        if tracking.follows() {
            writeln!(
                out,
                "  estimated: a rotation takes {:+.4} % longer; the angle drifts by {} rotations \
                 a request",
                100.0 * tracking.slower,
                tracking.wander
            )?;
        }
    }
    for what in &row.not_modelled {
        writeln!(out, "  not modelled: {what}")?;
    }
    Ok(())
}
