//! The numbers behind a trial's pictures.

use disklab_trace::Timeline;
use disklab_trace::timeline::TimelineBin;
use disklab_units::prose::digits;

use crate::chart::Table;

/// Rows of a table: stretches of time.
const STRETCHES: usize = 12;

/// The bins of each row of a table: from, to.
pub fn stretches(line: &Timeline) -> Vec<(usize, usize)> {
    let each = line.bins.count.div_ceil(STRETCHES).max(1);
    let from = (0..line.bins.count).step_by(each);
    from.map(|from| (from, (from + each).min(line.bins.count))).collect()
}

/// A row for each stretch of time, a column for each disk.
pub fn table(line: &Timeline, names: &[String], show: &dyn Fn(&TimelineBin) -> String) -> Table {
    let mut table = Table::new(std::iter::once("s".to_owned()).chain(names.iter().cloned()));
    for (from, to) in stretches(line) {
        let at = |edge: usize| digits((line.bins.edge(edge) - line.bins.begin) as f64 / 1e9);
        let fields = line.disks.iter().map(|disk| show(&TimelineBin::joined(&disk.bins[from..to])));
        table.row(std::iter::once(format!("{} to {}", at(from), at(to))).chain(fields));
    }
    table
}
