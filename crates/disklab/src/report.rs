//! `disklab report`: records as a page, a text or a picture.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use disklab_compare::{Metric, Weight, answer};
use disklab_report::chart::Provenance;
use disklab_report::pictures::FoundPicture;
use disklab_report::{
    MARKER, Panel, Records, ReportOptions, ReportSource, markdown, page, panels, pictures,
};
use disklab_units::prose::in_shell;

use crate::compare::axis_value;
use crate::exit::{Exit, Failure, mistaken};
use crate::records;
use crate::screen::Screen;
use crate::whole_file;

/// Make a page of a record: verdicts, pictures, and how to repeat them.
///
/// One file that opens without a server and asks nobody for anything. Of a record that is being
/// written, or damaged, it shows what can be read and says what cannot. With several records, the
/// others are held against the first.
#[derive(Debug, clap::Args)]
#[command(after_long_help = panels_in_words())]
pub struct Args {
    /// Records, by their names in ./records or by their paths.
    #[arg(required = true)]
    run: Vec<String>,

    /// Where to; `-` is standard output. By default the record's name in the current folder, such
    /// as read-policy-20261121-210000.html. A file that is there is replaced only if it is a
    /// report.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// What is compared: iops, bandwidth, mean, p50, p99, p99.9, each also of one direction ("read
    /// p99"), or what an imported record calls its numbers. The first is what the matrix shows.
    #[arg(long, value_delimiter = ',')]
    metric: Vec<Metric>,

    /// The value that the others of its axis are held against, instead of the suite's baseline.
    #[arg(long, value_name = "AXIS=VALUE", value_parser = axis_value)]
    baseline: Option<(String, String)>,

    /// Compare as if the cells had no such axis, as in `compare`.
    #[arg(long, value_name = "AXIS", value_delimiter = ',')]
    ignore: Vec<String>,

    /// A cell counts so many times in the recommendation, as in `compare`.
    #[arg(long, value_name = "AXIS=VALUE,...=NUMBER")]
    weight: Vec<Weight>,

    /// A trial to be looked at closer, by its id; a second one stands beside it.
    #[arg(long, value_name = "ID")]
    trial: Vec<String>,

    #[arg(long, value_enum, default_value_t = Format::Html)]
    format: Format,

    /// The panel whose picture is wanted, and which of its pictures: `latency`, `latency/tail`. The
    /// panels are named below.
    #[arg(long, value_name = "NAME", required_if_eq("format", "svg"))]
    panel: Option<String>,

    /// The cell that the picture is of, by as many of its values as tell it from others; else the
    /// one that the page shows first.
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
    /// Tables and verdicts, for a thread or a pull request.
    #[value(alias = "md")]
    Markdown,
    /// One picture.
    Svg,
}

/// At the end of `--help`.
fn panels_in_words() -> String {
    let row = |panel: Panel| {
        let pictures =
            if panel.pictures.is_empty() { String::new() } else { format!(": {}", panel.pictures) };
        format!("\n  {:10} {}{pictures}", panel.name, panel.title)
    };
    let rows: String = panels::in_order().into_iter().map(row).collect();
    format!("Panels, and the pictures that --panel PANEL/PICTURE takes:{rows}")
}

pub fn report(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    if args.panel.is_some() && args.format != Format::Svg {
        return Err(Failure::mistaken("--panel names a picture; it goes with --format svg"));
    }
    let folders = args.run.iter().map(|run| records::find(run)).collect::<Result<Vec<_>, _>>()?;
    check_distinct(&folders)?;
    let records = Records::open(&folders)?;
    let output = args.output.clone().unwrap_or_else(|| default_output(&folders[0], args.format));
    let wanted = ReportOptions {
        metrics: args.metric.clone(),
        baseline: args.baseline.clone(),
        ignored: args.ignore.clone(),
        weights: args.weight.clone(),
        trials: args.trial.clone(),
        command: command(),
        links: folders.iter().map(|folder| link(folder, &output)).collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let has_run = |id: &str| records.all.iter().any(|record| record.outcome(id).is_some());
    if let Some(id) = wanted.trials.iter().find(|id| !has_run(id)) {
        return Err(mistaken!("--trial: no trial `{}` has run", id.escape_debug()));
    }
    if let [_, _, third, ..] = wanted.trials.as_slice() {
        return Err(mistaken!(
            "--trial: two stand beside each other; leave out `{}`",
            third.escape_debug()
        ));
    }
    let source = ReportSource::new(&records, &wanted)?;
    let text = match args.format {
        Format::Html => page::html(&source),
        Format::Markdown => markdown::markdown(&source),
        Format::Svg => picture(args, &source, screen)?,
    };
    if output.as_os_str() == "-" {
        screen.print(|out| Ok(out.write_all(text.as_bytes())?))?;
        return Ok(Exit::Ok);
    }
    write(&output, &text)?;
    for sentence in &source.lost {
        screen.remark(sentence);
    }
    let document = serde_json::json!({
        "file": output, "bytes": text.len(), "lost": source.lost,
        "recommendation": source.recommendation,
    });
    screen.present(&document, |out| Ok(writeln!(out, "{}", output.display())?))?;
    Ok(Exit::Ok)
}

/// A record that is held against itself tells nothing.
fn check_distinct(folders: &[PathBuf]) -> Result<(), Failure> {
    let real = |folder: &PathBuf| folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let all: Vec<PathBuf> = folders.iter().map(real).collect();
    match (0..all.len()).find(|&index| all[..index].contains(&all[index])) {
        Some(index) => Err(mistaken!(
            "{} is named twice; a record can be held against others only",
            folders[index].display()
        )),
        None => Ok(()),
    }
}

/// The picture that is asked for; where it could have been of several cells, of which it is.
fn picture(args: &Args, source: &ReportSource, screen: &Screen) -> Result<String, Failure> {
    let panel = args.panel.as_deref().unwrap_or_default();
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
    name.push(match format {
        Format::Html => ".html",
        Format::Markdown => ".md",
        Format::Svg => ".svg",
    });
    PathBuf::from(name)
}

/// The command line as it was typed.
fn command() -> String {
    let words = std::env::args_os().skip(1).map(|word| in_shell(&word.to_string_lossy()));
    std::iter::once("disklab".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// The way from a report's folder to a record's, where there is one; else the whole path.
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

/// What is there and is no report stays.
fn write(output: &Path, text: &str) -> Result<(), Failure> {
    if output.symlink_metadata().is_ok() && !is_report(output) {
        return Err(mistaken!(
            "{} is there and is no report of disklab's; remove it, or name another file with -o",
            output.display()
        ));
    }
    whole_file::write_text(output, text)
}

fn is_report(path: &Path) -> bool {
    let mut begin = vec![0; MARKER.len()];
    path.is_file()
        && fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok()
        && begin == MARKER.as_bytes()
}
