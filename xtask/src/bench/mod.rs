//! Measures the speed of disklab on this machine, now: figures with their bars.
//!
//! Machines differ and are busy, so that ratios within one run count. Compared cases run in turn, A
//! B A B, and the median of the turns is printed.

mod cells;
mod compare;
mod decisions;
mod disks;
mod figure;
mod guest;
mod host;
mod import;
mod memory;
mod model;
mod rate;
mod report;
mod start;
mod starts;
mod sweep;
mod trace;
mod watch;

use comfy_table::{CellAlignment, Table, presets};

use figure::Figure;

enum Section {
    /// The section needs no guest.
    Bare(fn() -> anyhow::Result<Vec<Figure>>),
    /// The section runs guests, and needs a kernel.
    Guests(fn(&guest::BenchSetup) -> anyhow::Result<Vec<Figure>>),
}

use Section::{Bare, Guests};

/// All sections, in the order in which they run.
const SECTIONS: [(&str, Section); 16] = [
    ("disks", Bare(disks::run)),
    ("full-disk", Bare(disks::full)),
    ("decisions", Bare(|| Ok(decisions::run()))),
    ("compare", Bare(|| Ok(compare::run()))),
    ("import", Bare(import::run)),
    ("report", Bare(report::run)),
    ("sweep", Bare(sweep::run)),
    ("trace", Bare(trace::run)),
    ("watch", Bare(watch::run)),
    ("host", Bare(host::run)),
    ("requests", Guests(rate::run)),
    ("start", Guests(start::run)),
    ("model", Guests(model::run)),
    ("memory", Guests(memory::run)),
    ("cells", Guests(cells::run)),
    ("starts", Guests(starts::run)),
];

/// Runs the sections of these names, or all, and prints a table.
pub fn run(only: &[String]) -> anyhow::Result<()> {
    let known = SECTIONS.map(|(name, _)| name);
    if let Some(name) = only.iter().find(|name| !known.contains(&name.as_str())) {
        anyhow::bail!("bench: unknown section `{name}`; known: {}", known.join(", "));
    }
    let mut figures = Vec::new();
    for (name, section) in SECTIONS {
        if !only.is_empty() && !only.iter().any(|only| only == name) {
            continue;
        }
        eprintln!("{name} ...");
        figures.extend(match section {
            Bare(bench) => bench()?,
            Guests(bench) => bench(&guest::BenchSetup::find()?)?,
        });
    }
    let below = figures.iter().filter(|figure| figure.is_below()).count();
    print(&figures);
    anyhow::ensure!(
        below == 0,
        "{below} of {} figures miss their bars, marked above; is the machine otherwise idle?",
        figures.len()
    );
    Ok(())
}

fn print(figures: &[Figure]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["what", "figure", "bar", "met"]);
    for figure in figures {
        table.add_row(figure.row());
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
}
