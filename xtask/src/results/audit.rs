//! The page `published-tables`: published rows that cannot be true, and the conclusions from the
//! others.

use std::fmt::Write;

use anyhow::Context;
use disklab_foreign::ResultRow;
use disklab_foreign::csv;
use disklab_results::Remark;
use disklab_results::integrity::{Claim, check};
use disklab_units::prose::{count, digits};
use itertools::Itertools;

use super::published::FIRST_RUN;

pub const NAME: &str = "published-tables";

/// File name and text of each table of measured rows.
const TABLES: [(&str, &str); 2] = [
    (
        "btrfs-read-policy.csv",
        include_str!("../../../docs/results/published/btrfs-read-policy.csv"),
    ),
    (
        "btrfs-read-policy-rw.csv",
        include_str!("../../../docs/results/published/btrfs-read-policy-rw.csv"),
    ),
];
/// Baseline of the comparisons, and the policy that the tables are said to favour.
const BASELINE: &str = "pid";
const FAVOURITE: &str = "queue";

/// The rules of the first table.
const RULES: &str = "\
## Rows that cannot be true

A row contradicts itself, and cannot be true, if it breaks one of these rules.

- The number of requests in flight is rate times latency (Little's law), and fio keeps depth times \
jobs in flight. A row breaks this rule if the two differ by more than a factor of two.
- A percentile bounds the mean from both sides, by the share of the slowest hundredth or thousandth.
- Bandwidth is IOPS times the size of a request.

";

/// The end of the page.
const LIMITS: &str = "
## Limits

- **Runs.** Each number is one run. Only the first author has a second run, of some cells, and the \
policies may have changed between the two. No table has a spread or an interval.
- **Conditions.** The tables do not say which versions of the kernel, of fio and of the policies \
ran, or how many disks of which size and model they ran on. So no row can be repeated exactly.
- **Sources.** The author of forza-2025-05-08 says that an AI made this table from raw data, so \
that it may have errors. The raw data is not in this tree. The first author's first run is prose \
in the gist; this page uses it for the factors between two runs only.
- **Checks.** A row that breaks no rule may still be wrong: the rules find only numbers that \
contradict each other. Rows without percentiles are not checked by the second rule.
- **Comparisons.** The factor beside the defragmentation is the largest of at most six cells. A \
policy has to be that much faster or slower there to be *clearly* ahead or behind.
- **Record.** The page is made from the published files alone. So it names no record, kernel or \
commit of disklab.
";

/// A published row and its contradictions.
struct Audited {
    table: &'static str,
    row: ResultRow,
    doubts: Vec<Remark>,
    /// Whether only the mean latency contradicts the rest.
    only_mean: bool,
}

impl Audited {
    fn value(&self, axis: &str) -> &str {
        self.row.cell.iter().find(|(known, _)| known == axis).map_or("", |(_, value)| value)
    }

    fn iops(&self) -> Option<f64> {
        self.row.measures.get("iops").map(|measure| measure.value).filter(|iops| *iops > 0.0)
    }

    fn has_result(&self) -> bool {
        !self.row.remarks.iter().any(Remark::voids)
    }

    /// Returns all values except the policy. Rows that differ in the policy only are compared.
    fn place(&self) -> String {
        let others = self.row.cell.iter().filter(|(axis, _)| axis != "policy" && axis != "source");
        others.map(|(_, value)| value).join(", ")
    }
}

pub fn page() -> anyhow::Result<String> {
    let rows = rows()?;
    let conclusions = conclusions(&rows)?;
    Ok(format!(
        "# What the published tables still say\n\n{}\n\n{}\nThese commands make this page from \
         [published/](published/README.md), and print the same findings:\n\n    cargo xtask \
         results {NAME}\n    disklab audit docs/results/published\n\n{RULES}{}{}{}{LIMITS}",
        answer(&rows, &conclusions),
        by_source(&rows),
        only_the_mean(&rows),
        conclusions.text,
        list(&rows)
    ))
}

fn answer(rows: &[Audited], conclusions: &Conclusions) -> String {
    let doubtful = rows.iter().filter(|row| !row.doubts.is_empty()).count();
    let Conclusions { cells, ahead, behind, .. } = conclusions;
    format!(
        "{doubtful} of {} published rows contradict themselves. In the sound rows, `{FAVOURITE}` \
         is clearly ahead of `{BASELINE}` in {ahead} of {}, and clearly behind in {behind}. \
         *Clearly* means by a larger factor than any between two published runs of one cell. In \
         the other cells, one run does not decide.",
        rows.len(),
        count(*cells, "cell")
    )
}

fn rows() -> anyhow::Result<Vec<Audited>> {
    let mut all = Vec::new();
    for (table, text) in TABLES {
        for row in csv::parse(text.as_bytes()).with_context(|| table.to_owned())? {
            let doubts: Vec<Remark> =
                check(&row.claim).into_iter().filter(Remark::doubts).collect();
            let only_mean = !doubts.is_empty() && check(&without_mean(&row.claim)).is_empty();
            all.push(Audited { table, row, doubts, only_mean });
        }
    }
    Ok(all)
}

fn without_mean(claim: &Claim) -> Claim {
    let mut claim = claim.clone();
    for part in &mut claim.parts {
        part.mean = None;
        part.latency.mean = None;
    }
    claim
}

/// Returns the sources in the order of the tables.
fn sources(rows: &[Audited]) -> Vec<&str> {
    rows.iter().map(|row| row.value("source")).unique().collect()
}

fn by_source(rows: &[Audited]) -> String {
    let mut text = String::from(
        "| source | rows | without a number | cannot be true | Little's law | percentile against \
         mean | size of a request |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for source in sources(rows) {
        let own: Vec<&Audited> = rows.iter().filter(|row| row.value("source") == source).collect();
        let having =
            |is: fn(&Remark) -> bool| own.iter().filter(|row| row.doubts.iter().any(is)).count();
        let _ = writeln!(
            text,
            "| {source} | {} | {} | {} | {} | {} | {} |",
            own.len(),
            own.iter().filter(|row| !row.has_result()).count(),
            own.iter().filter(|row| !row.doubts.is_empty()).count(),
            having(|remark| matches!(remark, Remark::InFlight { .. })),
            having(|remark| matches!(remark, Remark::PercentileAgainstMean { .. })),
            having(|remark| matches!(remark, Remark::RequestSize { .. })),
        );
    }
    text
}

fn only_the_mean(rows: &[Audited]) -> String {
    let mut text = String::from(
        "## The wrong number of these rows\n\nIf IOPS, depth and percentiles of a row agree \
         without the mean, the mean alone is wrong. Most likely it is the submission latency, or a \
         number of another unit.\n\n\
         | source | cannot be true | the mean alone is wrong | another number too |\n| --- | ---: \
         | ---: | ---: |\n",
    );
    for source in sources(rows) {
        let own =
            || rows.iter().filter(|row| row.value("source") == source && !row.doubts.is_empty());
        let (all, mean) = (own().count(), own().filter(|row| row.only_mean).count());
        if all > 0 {
            let _ = writeln!(text, "| {source} | {all} | {mean} | {} |", all - mean);
        }
    }
    text.push('\n');
    text
}

/// The section about sound rows, and the favourite's number of cells, and of those in which it is
/// clearly ahead or behind.
#[derive(Default)]
struct Conclusions {
    text: String,
    cells: usize,
    ahead: usize,
    behind: usize,
}

/// Compares each policy's IOPS with the baseline's in cells where both are sound, and says how much
/// of the difference chance could explain.
fn conclusions(rows: &[Audited]) -> anyhow::Result<Conclusions> {
    let (idle, busy) = (apart(rows, "none")?, apart(rows, "defrag")?);
    let mut text = format!(
        "## Policies compared in sound rows\n\nEach number is one run. So no table says how far \
         two runs of one cell differ. The first author has two runs of some cells. They differ by \
         up to a factor of {} without a background, and of {} beside the defragmentation. These \
         factors are the only measure of chance, and the second author has other disks. The table \
         compares the IOPS of each policy with those of `{BASELINE}` in the same cell. *Clearly* \
         means by more than that factor.\n\n\
         | source | policy | cells | ahead | behind | clearly ahead | clearly behind |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
        digits(idle),
        digits(busy)
    );
    let mut favourite = Conclusions::default();
    for source in sources(rows) {
        let sound = |row: &&Audited| {
            row.value("source") == source && row.doubts.is_empty() && row.iops().is_some()
        };
        let mut ratios: Vec<(&str, f64, f64)> = Vec::new();
        for row in rows.iter().filter(sound).filter(|row| row.value("policy") != BASELINE) {
            let same = |other: &&Audited| {
                other.value("policy") == BASELINE
                    && other.place() == row.place()
                    && other.table == row.table
            };
            let baseline = rows.iter().filter(sound).find(same).and_then(Audited::iops);
            if let (Some(iops), Some(baseline)) = (row.iops(), baseline) {
                let chance = if row.value("background") == "defrag" { busy } else { idle };
                ratios.push((row.value("policy"), iops / baseline, chance));
            }
        }
        for policy in ratios.iter().map(|(policy, ..)| *policy).unique() {
            let number = |is: fn(f64, f64) -> bool| {
                let own = ratios.iter().filter(|(known, ..)| *known == policy);
                own.filter(|(_, ratio, chance)| is(*ratio, *chance)).count()
            };
            let cells = number(|_, _| true);
            let (ahead, behind) = (number(|ratio, _| ratio > 1.0), number(|ratio, _| ratio < 1.0));
            let clear = number(|ratio, chance| ratio > chance);
            let clearly_behind = number(|ratio, chance| ratio < 1.0 / chance);
            let _ = writeln!(
                text,
                "| {source} | {policy} | {cells} | {ahead} | {behind} | {clear} | \
                 {clearly_behind} |"
            );
            if policy == FAVOURITE {
                favourite.cells += cells;
                favourite.ahead += clear;
                favourite.behind += clearly_behind;
            }
        }
    }
    let _ = writeln!(
        text,
        "\nRows that contradict themselves are not compared, so this page says nothing about \
         `{FAVOURITE}` in their cells.\n"
    );
    Ok(Conclusions { text, ..favourite })
}

/// Returns the largest factor between the first author's two runs of one cell, with this
/// background.
fn apart(rows: &[Audited], background: &str) -> anyhow::Result<f64> {
    let first =
        csv::parse(FIRST_RUN.as_bytes()).context("cannot parse btrfs-read-policy-first-run.csv")?;
    let mut most = 1.0_f64;
    for row in first {
        let first = Audited { table: "", row, doubts: Vec::new(), only_mean: false };
        let same = |other: &&Audited| {
            other.value("source") == "kakra-run2"
                && other.place() == first.place()
                && other.value("policy") == first.value("policy")
                && other.value("background") == background
                && other.doubts.is_empty()
        };
        if let (Some(one), Some(other)) =
            (first.iops(), rows.iter().find(same).and_then(Audited::iops))
        {
            most = most.max(one / other).max(other / one);
        }
    }
    Ok(most)
}

fn list(rows: &[Audited]) -> String {
    let mut text = String::from(
        "## The rows\n\n<details><summary>Each row that cannot be true, and why</summary>\n\n",
    );
    for row in rows.iter().filter(|row| !row.doubts.is_empty()) {
        let _ = writeln!(
            text,
            "- {} {} ({}): {}",
            row.table,
            row.row.place,
            row.row.cell.iter().map(|(_, value)| value).join(", "),
            row.doubts.iter().join("; ")
        );
    }
    text.push_str("\n</details>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_the_tree_is_what_the_command_makes() {
        let page = page().expect("the published tables");
        assert!(page.contains("| forza-2025-05-08 | 120 | 0 | 87 | 87 |"), "{page}");
        assert!(page.contains("| kakra-run2 | 30 | 1 | 1 |"), "{page}");
        assert_eq!(
            crate::results::wrapped(&page),
            include_str!("../../../docs/results/published-tables.md"),
            "cargo xtask results {NAME}"
        );
    }
}
