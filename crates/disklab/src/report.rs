//! `disklab report`: writes records as a page, a text or a picture.

use std::io::Read;
use std::path::{Path, PathBuf};

use disklab_compare::{Metric, Weight, answer};
use disklab_report::chart::{Provenance, rendered};
use disklab_report::pictures::FoundPicture;
use disklab_report::{
    MARKER, Panel, Records, ReportOptions, ReportSource, markdown, numbers, page, panels, pictures,
};

use crate::compare::axis_value;
use crate::exit::{Exit, Failure, cannot, mistaken};
use crate::records;
use crate::screen::Screen;
use crate::{whole_file, words};

/// Write a page with the verdicts and pictures of a record.
///
/// The page also says how to repeat the run. It is one file that opens without a server and loads
/// nothing from the network. If a record is damaged or still being written, the page shows the
/// readable part and names the rest. With several records, the others are compared with the first.
#[derive(Debug, clap::Args)]
#[command(after_long_help = panels_in_words())]
pub struct Args {
    /// Records, by their names in ./records or by their paths.
    #[arg(required = true)]
    run: Vec<String>,

    /// The file to write; `-` is standard output.
    ///
    /// The ending chooses the format: .html, .md, .svg, .png or .csv. An existing file is replaced
    /// only if it is a report. [default: the record's name in the current folder, such as
    /// read-policy-20261121-210000.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The metrics to compare: iops, bandwidth, mean, p50, p99 or p99.9.
    ///
    /// A metric of latency can be limited to one direction ("read p99"). Other numbers have the
    /// names that the record has for them. The matrix of the page shows the first metric.
    #[arg(long, value_delimiter = ',')]
    metric: Vec<Metric>,

    /// The value to compare with, in place of the suite's baseline.
    #[arg(long, value_name = "AXIS=VALUE", value_parser = axis_value)]
    baseline: Option<(String, String)>,

    /// Compare as if the cells had no such axis, as in `compare`.
    #[arg(long, value_name = "AXIS", value_delimiter = ',')]
    ignore: Vec<String>,

    /// The weight of some cells in the recommendation, as in `compare`.
    #[arg(long, value_name = "AXIS=VALUE,...=NUMBER")]
    weight: Vec<Weight>,

    /// A trial to show in detail, by its id. A second trial is shown beside it.
    #[arg(long, value_name = "ID")]
    trial: Vec<String>,

    /// The title of the page [default: the suite's question, or a title made of the axes].
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// The format, if the ending of --output does not say it [default: html].
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// For .svg and .png: the panel, and optionally the picture, to draw.
    ///
    /// Examples: `latency`, `latency/tail`. The panels are listed below. [default: the forest plot
    /// of all cells]
    #[arg(long, value_name = "NAME")]
    panel: Option<String>,

    /// The cell to draw, by as many of its values as are needed to tell it from other cells.
    ///
    /// [default: the cell that the page shows first]
    #[arg(
        long,
        value_name = "AXIS=VALUE",
        value_delimiter = ',',
        value_parser = axis_value,
        requires = "panel"
    )]
    cell: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Html,
    /// Tables and verdicts, for a mailing list or a pull request.
    #[value(alias = "md")]
    Markdown,
    /// A single picture, as vectors.
    Svg,
    /// A single picture, as pixels, drawn with a font that is part of disklab.
    Png,
    /// A table of all numbers, with the intervals as columns low and high.
    Csv,
}

/// Panel of a picture if `--panel` names none.
const FIRST_PANEL: &str = "question";

impl Format {
    const ALL: [Self; 5] = [Self::Html, Self::Markdown, Self::Svg, Self::Png, Self::Csv];

    /// Returns the file endings of a format, the usual one first.
    const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Html => &["html", "htm"],
            Self::Markdown => &["md", "markdown"],
            Self::Svg => &["svg"],
            Self::Png => &["png"],
            Self::Csv => &["csv"],
        }
    }

    const fn is_picture(self) -> bool {
        matches!(self, Self::Svg | Self::Png)
    }

    /// Returns the format that `--format` or the ending of the file gives.
    fn chosen(args: &Args) -> Result<Self, Failure> {
        let output = args.output.as_deref().filter(|output| output.as_os_str() != "-");
        let ending = output.and_then(Path::extension).map(|ending| ending.to_string_lossy());
        let Some((output, ending)) = output.zip(ending) else {
            return Ok(args.format.unwrap_or(Self::Html));
        };
        let small = ending.to_ascii_lowercase();
        let of_file = Self::ALL.into_iter().find(|one| one.endings().contains(&small.as_str()));
        match (args.format, of_file) {
            (Some(wanted), Some(of_file)) if wanted != of_file => Err(mistaken!(
                "{}: its ending says {}, and --format says {}; leave --format out, or name the \
                 file otherwise",
                output.display(),
                of_file.endings()[0],
                wanted.endings()[0]
            )),
            (Some(wanted), _) => Ok(wanted),
            (None, Some(of_file)) => Ok(of_file),
            (None, None) => {
                let known = Self::ALL.map(|one| format!(".{}", one.endings()[0])).join(", ");
                Err(mistaken!(
                    "{}: unknown ending .{}; the known ones are {known}; with --format the file \
                     may have any name",
                    output.display(),
                    ending.escape_debug()
                ))
            }
        }
    }
}

/// Number of columns for the list of panels, which every terminal has: clap would wrap longer lines
/// without an indent.
const HELP_COLUMNS: usize = 78;

/// Returns the list of panels for the end of `--help`.
fn panels_in_words() -> String {
    let panels = panels::in_order();
    let width = panels.iter().map(|panel| panel.name.len()).max().unwrap_or_default();
    let row = |panel: Panel| {
        let pictures =
            if panel.pictures.is_empty() { String::new() } else { format!(": {}", panel.pictures) };
        let text = format!("{}{pictures}", panel.title);
        let first = format!("\n  {:width$}  ", panel.name);
        let indent = " ".repeat(width + 4);
        words::filled(text.split(' '), HELP_COLUMNS, &first, &indent).join("\n")
    };
    let rows: String = panels.into_iter().map(row).collect();
    format!("Panels, and the pictures that --panel PANEL/PICTURE takes:{rows}")
}

pub fn report(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let format = Format::chosen(args)?;
    if args.panel.is_some() && !format.is_picture() {
        return Err(Failure::mistaken(
            "--panel draws a picture; add --format svg or png, or a file of that kind with -o",
        ));
    }
    let folders = args.run.iter().map(|run| records::find(run)).collect::<Result<Vec<_>, _>>()?;
    check_distinct(&folders)?;
    let records = Records::open(&folders)?;
    for record in &records.all {
        records::remark_if_unprotected(record, screen);
    }
    let output = args.output.clone().unwrap_or_else(|| default_output(&folders[0], format));
    let wanted = ReportOptions {
        metrics: args.metric.clone(),
        baseline: args.baseline.clone(),
        ignored: args.ignore.clone(),
        weights: args.weight.clone(),
        trials: args.trial.clone(),
        command: words::command_line(),
        links: folders.iter().map(|folder| link(folder, &output)).collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        title: args.title.clone(),
    };
    let has_run = |id: &str| records.all.iter().any(|record| record.outcome(id).is_some());
    if let Some(id) = wanted.trials.iter().find(|id| !has_run(id)) {
        return Err(mistaken!(
            "--trial: the records have no result of a trial `{}`; `disklab show RUN` lists them",
            id.escape_debug()
        ));
    }
    if let [_, _, third, ..] = wanted.trials.as_slice() {
        return Err(mistaken!(
            "--trial: the page shows at most two trials; leave out `{}`",
            third.escape_debug()
        ));
    }
    let source = ReportSource::new(&records, &wanted)?;
    let bytes = match format {
        Format::Html => page::html(&source).into_bytes(),
        Format::Markdown => markdown::markdown(&source).into_bytes(),
        Format::Csv => numbers::csv(&source).into_bytes(),
        Format::Svg => picture(args, &source, screen)?.into_bytes(),
        Format::Png => rendered::png(&picture(args, &source, screen)?, &wanted.command)
            .map_err(|error| cannot!("the picture cannot be rendered: {error}"))?,
    };
    if output.as_os_str() == "-" {
        screen.print(|out| Ok(out.write_all(&bytes)?))?;
        return Ok(Exit::Ok);
    }
    write(&output, &bytes)?;
    for sentence in &source.lost {
        screen.remark(sentence);
    }
    let document = serde_json::json!({
        "file": output, "bytes": bytes.len(), "lost": source.lost,
        "recommendation": source.recommendation,
    });
    screen.present(&document, |out| Ok(writeln!(out, "{}", output.display())?))?;
    Ok(Exit::Ok)
}

/// Refuses to compare a record with itself.
fn check_distinct(folders: &[PathBuf]) -> Result<(), Failure> {
    let real = |folder: &PathBuf| folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let all: Vec<PathBuf> = folders.iter().map(real).collect();
    match (0..all.len()).find(|&index| all[..index].contains(&all[index])) {
        Some(index) => Err(mistaken!(
            "{} is named twice; a record can be compared with other records only",
            folders[index].display()
        )),
        None => Ok(()),
    }
}

/// Draws the requested picture. If it could show several cells, a remark names the cell.
fn picture(args: &Args, source: &ReportSource, screen: &Screen) -> Result<String, Failure> {
    let panel = args.panel.as_deref().unwrap_or(FIRST_PANEL);
    let (panel, kind) =
        panel.split_once('/').map_or((panel, None), |(panel, kind)| (panel, Some(kind)));
    let FoundPicture { chart, others } =
        pictures::find(source, panel, kind, &args.cell).map_err(Failure::mistaken)?;
    if !others.is_empty() {
        let axes: Vec<String> =
            chart.cell.0.iter().map(|(axis, _)| format!("{axis}=...")).collect();
        screen.remark(&format!(
            "the picture is of {}, one of {} cells; --cell {} chooses another",
            answer::values(&chart.cell),
            others.len() + 1,
            axes.join(",")
        ));
    }
    Ok(chart.standalone(&Provenance {
        records: source.names().join(", "),
        command: source.wanted.command.clone(),
        disklab: source.wanted.version.clone(),
    }))
}

fn default_output(folder: &Path, format: Format) -> PathBuf {
    let name =
        folder.canonicalize().ok().and_then(|folder| folder.file_name().map(ToOwned::to_owned));
    let mut name = name.unwrap_or_else(|| "report".into());
    name.push(".");
    name.push(format.endings()[0]);
    PathBuf::from(name)
}

/// Returns the relative path from a report's folder to a record, if there is one, or else the whole
/// path.
fn link(folder: &Path, output: &Path) -> String {
    let from =
        output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let way = from.canonicalize().and_then(|from| Ok((from, folder.canonicalize()?)));
    let Ok((from, to)) = way else { return folder.display().to_string() };
    let shared =
        from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(shared).map(|_| Path::new("..").to_owned());
    let down: PathBuf = to.components().skip(shared).collect();
    up.chain([down]).collect::<PathBuf>().display().to_string()
}

/// Writes a report. An existing file that is not a report is kept.
pub fn write(output: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if whole_file::is_taken(output)? && !is_report(output) {
        return Err(mistaken!(
            "{} exists and is not a report of disklab's; remove it, or name another file with -o",
            output.display()
        ));
    }
    whole_file::write(output, |file| Ok(file.write_all(bytes)?))
}

/// Number of first bytes that identify a report.
const BEGIN: u64 = 256;

fn is_report(path: &Path) -> bool {
    let mut begin = Vec::new();
    path.is_file()
        && disklab_files::open(path, &disklab_files::RESULTS)
            .and_then(|file| file.take(BEGIN).read_to_end(&mut begin))
            .is_ok()
        && (begin.starts_with(MARKER.as_bytes())
            || begin.starts_with(numbers::csv_begin().as_bytes())
            || rendered::is_report(&begin))
}
