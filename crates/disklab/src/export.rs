//! `disklab export`: writes records as tables for pandas, polars, DuckDB, Spark and other readers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use disklab_export::{Exported, Format, Wanted};
use disklab_record::Record;
use disklab_report::Tally;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure, mistaken};
use crate::home::from_here;
use crate::screen::Screen;
use crate::{records, words};

/// Write records as tables: Parquet, CSV or JSON lines.
///
/// Each number is exactly the number of the record. The output folder gets a folder for each table.
/// In it, each record is a partition as Hive names it: suite=NAME/run=NAME. A second export of the
/// same record replaces the first. docs/FORMAT.md lists the columns.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// Records, by their names in ./records or by their paths.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    #[arg(long, value_enum, default_value_t = TableFormat::Parquet)]
    format: TableFormat,

    /// The folder for the tables.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// The tables to write.
    ///
    /// The table `traces` has every request of every disk.
    #[arg(
        long = "table",
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(disklab_export::names()),
        default_values = ["trials", "metrics", "histograms"]
    )]
    tables: Vec<String>,

    /// Write one wide table: a row for each trial, a column for each axis and number, with its
    /// unit.
    #[arg(long, conflicts_with = "tables")]
    flat: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum TableFormat {
    Parquet,
    Csv,
    /// A JSON object for each line.
    Jsonl,
}

impl From<TableFormat> for Format {
    fn from(form: TableFormat) -> Self {
        match form {
            TableFormat::Parquet => Self::Parquet,
            TableFormat::Csv => Self::Csv,
            TableFormat::Jsonl => Self::Jsonl,
        }
    }
}

pub fn export(args: &ExportArgs, screen: &Screen) -> Result<Exit, Failure> {
    if args.output.exists() && !args.output.is_dir() {
        return Err(mistaken!(
            "-o: {} exists and is not a folder; name a new folder",
            args.output.display()
        ));
    }
    let folders: Vec<PathBuf> =
        args.runs.iter().map(|run| records::find(run)).collect::<Result<_, _>>()?;
    let records: Vec<Record> =
        folders.iter().map(|folder| records::open_at(folder, screen)).collect::<Result<_, _>>()?;
    let mut places: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    for record in &records {
        let other = places.insert(disklab_export::own_folder(record), record.folder());
        if let Some(other) = other.filter(|other| !is_one(other, record.folder())) {
            return Err(mistaken!(
                "{} and {} have the same suite and the same name, and would be the same part of \
                 the tables; rename one of the folders",
                other.display(),
                record.folder().display()
            ));
        }
    }
    let is_wanted = |name: &&str| {
        if args.flat {
            *name == disklab_export::FLAT
        } else {
            args.tables.iter().any(|table| table == name)
        }
    };
    let tables: Vec<&str> = disklab_export::names().into_iter().filter(is_wanted).collect();
    let wanted = Wanted { format: args.format.into(), tables: &tables };
    let (mut done, mut tallies): (Vec<Exported>, Vec<Value>) = (Vec::new(), Vec::new());
    for record in &records {
        let (tally, torn) = (Tally::new(record), record.torn_bytes() > 0);
        tallies.push(json!({ "record": record.folder(), "trials": tally, "torn": torn }));
        if !screen.json && tally.missing() > 0 {
            screen.remark(&format!("{}: {tally}", from_here(record.folder()).display()));
        }
        done.extend(disklab_export::export(record, &args.output, wanted)?);
    }
    tell(&done, &tallies, args, screen)
}

fn is_one(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn tell(
    done: &[Exported],
    tallies: &[Value],
    args: &ExportArgs,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let mut rows: BTreeMap<&str, (u64, usize)> = BTreeMap::new();
    for Exported { table, rows: own, .. } in done {
        let (rows, files) = rows.entry(table).or_default();
        *rows += own;
        *files += 1;
    }
    let files = done.iter();
    let files = files.map(
        |Exported { table, path, rows, .. }| json!({ "table": table, "path": path, "rows": rows }),
    );
    let files: Vec<_> = files.collect();
    let document = json!({ "folder": args.output, "files": files, "records": tallies });
    screen.present(&document, |out| {
        for (table, (rows, files)) in rows {
            let (rows, files) = (words::count(rows as usize, "row"), words::count(files, "file"));
            writeln!(out, "{}: {rows} in {files}", from_here(&args.output.join(table)).display())?;
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}
