//! The saving of `--until-decided` compared with designs of a fixed number of seeds, from a record
//! of each. In virtual time a seed is the same trial in both, so that they differ only in the
//! number of trials.

use std::fmt::Write;

use anyhow::Context;
use disklab_compare::{
    CellIndex, Comparison, DecisionRule, MatchedTrials, Metric, SequentialDesign, Trust, compare,
    interim_plan, match_trials,
};
use disklab_record::{Record, Status};
use disklab_stats::Verdict;
use disklab_units::prose::{count, digits};

use super::head::run_command;

pub const NAME: &str = "until-decided";
/// Least number of seeds with which a verdict is possible.
const FEWEST: u32 = 3;

/// Makes the page from a record of `run --until-decided`, and one of the same suite with the same
/// number of seeds for every cell.
pub fn page(decided: &Record, fixed: &Record) -> anyhow::Result<String> {
    let until = interim_plan([decided]).with_context(|| {
        format!(
            "{}: it is not a record of `run --until-decided`; run the suite with that option",
            decided.folder().display()
        )
    })?;
    anyhow::ensure!(
        interim_plan([fixed]).is_none(),
        "{}: it is a record of `run --until-decided` too; run the suite with --seeds alone",
        fixed.folder().display()
    );
    let suites = [decided, fixed].map(|record| record.manifest().suite.sha256());
    anyhow::ensure!(
        suites[0] == suites[1],
        "{} and {} are records of different suites; name two of the same suite",
        decided.folder().display(),
        fixed.folder().display()
    );
    let rule = DecisionRule::recorded(until)?;
    let metrics: Vec<Metric> = until.metrics.iter().map(|name| Metric::of_name(name)).collect();
    let judged = |record,
                  interim: Option<&SequentialDesign>,
                  most: u32|
     -> anyhow::Result<Vec<Comparison>> {
        let matched = match_trials(&[CellIndex::new(record)], None, Trust::Sound)?.1;
        let matched: Vec<MatchedTrials> =
            matched.into_iter().map(|matched| upto(matched, most)).collect();
        Ok(compare(&matched, &metrics, rule, interim)?)
    };
    let sequential = Design {
        name: format!("until decided, analysed after {}", listed_numbers(&until.analyses)),
        trials: ran(decided),
        comparisons: judged(
            decided,
            SequentialDesign::recorded(decided.manifest()).as_ref(),
            u32::MAX,
        )?,
    };
    let most = fixed.lines().iter().map(|outcome| outcome.seed_index).max().unwrap_or(0);
    let last = until.analyses.last().copied().unwrap_or(0);
    anyhow::ensure!(
        most >= last,
        "{}: it has {most} seeds, and the other record was analysed up to seed {last}; run it with \
         --seeds {last}",
        fixed.folder().display()
    );
    let mut designs = Vec::new();
    for seeds in FEWEST..=most {
        let trials = fixed.lines().iter().filter(|outcome| outcome.seed_index <= seeds).count();
        let name = format!("{seeds} seeds of each cell");
        designs.push(Design { name, trials, comparisons: judged(fixed, None, seeds)? });
    }
    let mut page = format!(
        "# Seeds until decided, and a fixed number of seeds\n\n{}\n\n| design | trials | better | \
         worse | same | undecided |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
        answer(&sequential, &designs)
    );
    for design in std::iter::once(&sequential).chain(&designs) {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} |",
            design.name,
            design.trials,
            design.count_of(Verdict::Better),
            design.count_of(Verdict::Worse),
            design.count_of(Verdict::Same),
            design.count_of(Verdict::Undecided)
        );
    }
    let _ = write!(
        page,
        "\nThese commands make the records and the page; every sentence is made from the \
         records:\n\n    {}\n    {}\n    cargo xtask results {NAME} records/decided \
         records/fixed\n\n{}",
        run_command(&decided.manifest().suite, &["--until-decided"], "records/decided"),
        run_command(&fixed.manifest().suite, &[], "records/fixed"),
        caveats(&designs)
    );
    Ok(page)
}

/// A rule for the number of trials, and its result.
struct Design {
    name: String,
    trials: usize,
    comparisons: Vec<Comparison>,
}

impl Design {
    fn count_of(&self, verdict: Verdict) -> usize {
        self.comparisons.iter().filter(|comparison| comparison.verdict == verdict).count()
    }
}

/// Returns the answer: the trials of both kinds of design, and the verdicts in which they differ.
fn answer(sequential: &Design, designs: &[Design]) -> String {
    let verdicts = count(sequential.comparisons.len(), "verdict");
    let open = sequential.count_of(Verdict::Undecided);
    let mut text = format!(
        "`run --until-decided` took {} and left {open} of {verdicts} undecided.",
        count(sequential.trials, "trial")
    );
    match designs.iter().find(|design| design.count_of(Verdict::Undecided) <= open) {
        Some(design) => {
            let _ = write!(
                text,
                " That is {} % of the {} of the smallest fixed design that leaves no more \
                 undecided ({}; {} undecided).",
                digits(100.0 * sequential.trials as f64 / design.trials as f64),
                count(design.trials, "trial"),
                design.name,
                design.count_of(Verdict::Undecided)
            );
        }
        None => text.push_str(" Every fixed design in the table leaves more undecided."),
    }
    let Some(full) = designs.last() else { return text };
    let pairs = || {
        sequential.comparisons.iter().filter_map(|one| {
            let same = |other: &&Comparison| {
                other.cell == one.cell
                    && other.treatment == one.treatment
                    && other.metric == one.metric
            };
            Some((one.verdict, full.comparisons.iter().find(same)?.verdict))
        })
    };
    let (better, worse) = (Verdict::Better, Verdict::Worse);
    let opposite = pairs().filter(|pair| [(better, worse), (worse, better)].contains(pair)).count();
    let other = pairs().filter(|(one, full)| one != full).count();
    if other == 0 {
        let _ = write!(text, " None of its {verdicts} differs from the one that all seeds give.");
    } else {
        let _ = write!(
            text,
            " Of its {verdicts}, {other} differ from the one that all seeds give, and {opposite} \
             are the opposite of it."
        );
    }
    text
}

fn caveats(designs: &[Design]) -> String {
    let most = designs.last().map_or(0, |design| design.trials);
    format!(
        "- The number of seeds that is enough is not known before a run. A user who takes the \
         largest number to be sure runs {}.\n- Both kinds of design limit the share of wrong \
         verdicts of better and worse to the same value. For this, each of the analyses of \
         `--until-decided` has wider intervals than the one analysis of a fixed design.\n- A \
         record names disklab's version and no commit, so this page names no commit of its \
         records. `git log docs/results/{NAME}.md` lists the commits that changed the page.\n",
        count(most, "trial")
    )
}

/// Returns the trials of the first seeds only.
fn upto(mut matched: MatchedTrials, most: u32) -> MatchedTrials {
    matched.treatments.retain(|outcome| outcome.seed_index <= most);
    matched.baselines.retain(|outcome| outcome.seed_index <= most);
    matched
}

fn ran(record: &Record) -> usize {
    let outcomes = record.outcomes().into_iter().filter_map(|(_, outcome)| outcome);
    outcomes.filter(|outcome| outcome.status != Status::NotNeeded).count()
}

fn listed_numbers(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    format!("{} seeds", disklab_units::prose::listed(&numbers))
}
