//! `disklab search`: searches for better parameters of a read policy in the fast model, and runs
//! the best of them on the kernel.

mod score;
mod space;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use disklab_compare::Metric;
use disklab_config::suite::Seeds;
use disklab_record::outcome::Cell;
use disklab_record::{Record, RecordError, Retry, Status};
use disklab_runner::{Model, Run};
use disklab_stats::Better;
use disklab_units::Seed;
use serde::Serialize;
use serde_json::json;

use crate::exit::{Exit, Failure, mistaken};
use crate::home::Home;
use crate::oracle::{ORACLES, POLICY, is_oracle};
use crate::plan::Jobs;
use crate::question::{Overrides, Question};
use crate::run::manifest::{self, By};
use crate::run::progress::run_trials;
use crate::run::{self, ready};
use crate::screen::Screen;
use crate::table::TextTable;
use crate::{records, signals, words};
use score::{Measurements, Score, rank};
use space::{Candidate, SearchedParameter, candidates};

/// Search for better parameters of a read policy.
///
/// Candidates run in the fast model. Each round runs them with more seeds and keeps the better
/// half: 1 seed, then 2 in all, 4, and so on up to --seeds. A candidate is compared with the best
/// of the suite's other policies in each cell. Each round is a record of its own, <OUT>-1, <OUT>-2
/// and so on. The same command again continues a search that was stopped.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// A suite of read policies by its name (see `disklab list suites`), or the path of its file.
    suite: String,

    /// The policy, with fixed values of other parameters: streams, latency-rr:burst=100.
    #[arg(long, value_name = "POLICY")]
    policy: String,

    /// Parameters of the policy and their ranges: piece=1MiB..64MiB,margin=100..400. Values are
    /// drawn by equal factors, or by equal distances if a range begins at 0.
    #[arg(long, value_name = "PARAM=LOW..HIGH,...", value_delimiter = ',', required = true)]
    over: Vec<SearchedParameter>,

    /// Number of candidates of the first round, besides the policy without changes. They are a
    /// Latin hypercube.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 32,
        value_parser = clap::value_parser!(u32).range(2..=1000)
    )]
    candidates: u32,

    /// Seed for the draw of the candidates.
    #[arg(long, value_name = "N", default_value_t = 1)]
    draw: u64,

    /// Metric that is compared [default: the suite's first, or IOPS].
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,

    /// Also run this number of the best candidates on the kernel, beside the policy without changes
    /// and the others.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    on_kernel: Option<u32>,

    #[command(flatten)]
    overrides: Overrides,

    #[command(flatten)]
    jobs: Jobs,

    /// Beginning of the records' paths [default: ./records/<SUITE>-<POLICY>]. Records that exist
    /// are continued.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// A candidate with its score.
#[derive(Debug, Clone, Serialize)]
struct ScoredCandidate {
    policy: String,
    #[serde(skip)]
    name: String,
    /// Whether no other candidate is better in both mean and worst cell.
    is_on_front: bool,
    /// Number of seeds that the candidate ran with.
    seeds: u32,
    #[serde(flatten)]
    score: Score,
}

/// The records and the scores of a step of the search.
#[derive(Debug, Serialize)]
struct SearchStep {
    record: PathBuf,
    seeds: u32,
    candidates: Vec<ScoredCandidate>,
}

pub fn search(args: &SearchArgs, screen: &Screen) -> Result<Exit, Failure> {
    let home = Home::open()?;
    let base = Question::ask(&home.lab, &args.suite, &args.overrides)?;
    let seed = Seed(args.draw);
    let candidates = candidates(&home.lab, &args.policy, &args.over, args.candidates, seed)
        .map_err(|message| mistaken!("search: {message}"))?;
    let search = Search {
        args,
        home: &home,
        others: others(&base, &candidates[0])?,
        metric: base.metric(args.metric.as_deref())?,
        out: args.out.clone().unwrap_or_else(|| default_out(&base, &args.policy)),
        stop: signals::watch()?,
        screen,
    };
    let (steps, modelled) = search.in_model(&base, candidates.clone())?;
    let on_kernel = args.on_kernel.map(|count| {
        let best = steps.last().map(|step| step.candidates.as_slice()).unwrap_or_default();
        let wanted = candidates.into_iter().enumerate().filter(|(index, candidate)| {
            let mut chosen = best.iter().take(count as usize);
            *index == 0 || chosen.any(|scored| scored.name == candidate.name)
        });
        let wanted: Vec<Candidate> = wanted.map(|(_, candidate)| candidate).collect();
        search.on_kernel(&base, &wanted, &modelled)
    });
    let on_kernel = on_kernel.transpose()?;
    search.print(&steps, on_kernel.as_ref())?;
    Ok(Exit::Ok)
}

fn default_out(base: &Question, policy: &str) -> PathBuf {
    let policy = policy.split(':').next().unwrap_or_default();
    Path::new(records::FOLDER).join(format!("{}-{policy}", base.suite.name))
}

/// Returns the names, as in cells, of the suite's policies, except for the searched policy and the
/// oracles.
fn others(base: &Question, own: &Candidate) -> Result<Vec<String>, Failure> {
    let own = own.name.split(':').next();
    let mut others: Vec<String> = Vec::new();
    for policy in base.trials.iter().filter_map(|trial| trial.policy.as_ref()) {
        let name = policy.to_string();
        if Some(&*policy.policy) != own && !is_oracle(&name) && !others.contains(&name) {
            others.push(name);
        }
    }
    if others.is_empty() {
        return Err(mistaken!(
            "search: suite `{}` sets no other read policy to compare candidates with: name some \
             (--set policy=pid,queue), or use a suite of read policies, such as read-policy",
            base.suite.name
        ));
    }
    Ok(others)
}

/// Returns the new seeds of each round: one in the first, then as many as all rounds before had.
fn rounds(seeds: Seeds) -> Vec<Seeds> {
    let mut rounds = vec![seeds.upto(seeds.first())];
    while let Some(last) =
        rounds.last().map(|round| round.last()).filter(|&last| last < seeds.last())
    {
        let count = last - seeds.first() + 1;
        rounds.push(seeds.after(last).upto((last + count).min(seeds.last())));
    }
    rounds
}

/// The state that all steps of a search share.
struct Search<'a> {
    args: &'a SearchArgs,
    home: &'a Home,
    /// Names of the other policies, as in cells.
    others: Vec<String>,
    metric: Metric,
    out: PathBuf,
    stop: &'static AtomicBool,
    screen: &'a Screen,
}

impl Search<'_> {
    /// Runs the rounds in the model. Returns the rounds, and all measurements.
    fn in_model(
        &self,
        base: &Question,
        mut candidates: Vec<Candidate>,
    ) -> Result<(Vec<SearchStep>, Measurements), Failure> {
        let (mut measured, mut steps) = (Measurements::default(), Vec::new());
        let rounds = rounds(base.suite.seeds());
        for (seeds, number) in rounds.iter().zip(1..) {
            let said = words::count(candidates.len(), "candidate");
            self.screen.remark(&format!("round {number} of {}: {said}", rounds.len()));
            let question = self.question(&candidates, Some(ORACLES), *seeds)?;
            let question = question.that_model_runs("search", self.screen)?;
            let jobs = self.args.jobs.get();
            let by = By::Model(Model { jobs, deadline: None, stop: self.stop });
            let (record, better) = self.run(&number.to_string(), &question, &by, &mut measured)?;
            let seeds = seeds.last() - base.suite.seeds().first() + 1;
            let scored = self.scored(&candidates, seeds, &measured, &measured, better);
            // The policy without changes is kept to the end.
            let kept = scored.len().div_ceil(2);
            let is_kept = |name: &str| scored.iter().take(kept).any(|scored| scored.name == name);
            let own = candidates[0].name.clone();
            candidates.retain(|one| one.name == own || is_kept(&one.name));
            steps.push(SearchStep { record, seeds, candidates: scored });
        }
        Ok((steps, measured))
    }

    fn on_kernel(
        &self,
        base: &Question,
        candidates: &[Candidate],
        modelled: &Measurements,
    ) -> Result<SearchStep, Failure> {
        let said = words::count(candidates.len(), "candidate");
        self.screen.remark(&format!("on the kernel: {said}"));
        let seeds = base.suite.seeds();
        let question = self.question(candidates, None, seeds)?;
        let question = question.that_model_runs("search", self.screen)?;
        let (home, jobs) = (self.home, self.args.jobs.get());
        let run = ready::check(home, &question.trials, jobs, self.stop, self.screen)?;
        let by = By::Guests(Run { trace: false, ..run });
        let mut measured = Measurements::default();
        let (record, better) = self.run("kernel", &question, &by, &mut measured)?;
        let seeds = seeds.count();
        let candidates = self.scored(candidates, seeds, &measured, modelled, better);
        Ok(SearchStep { record, seeds, candidates })
    }

    /// Returns the suite with candidates, the other policies, and `besides` as its policies.
    fn question(
        &self,
        candidates: &[Candidate],
        besides: Option<&str>,
        seeds: Seeds,
    ) -> Result<Question, Failure> {
        let texts = candidates.iter().map(|candidate| &*candidate.text);
        let policies: Vec<&str> =
            texts.chain(self.others.iter().map(String::as_str)).chain(besides).collect();
        let overrides = self.args.overrides.with(POLICY, &policies.join(","))?.at_seeds(seeds);
        Question::ask(&self.home.lab, &self.args.suite, &overrides)
    }

    /// Runs the trials that a record lacks, and adds its results to `measured`. Returns the
    /// record's folder, and whether higher or lower values are better.
    fn run(
        &self,
        suffix: &str,
        question: &Question,
        by: &By,
        measured: &mut Measurements,
    ) -> Result<(PathBuf, Better), Failure> {
        let mut folder = self.out.clone().into_os_string();
        folder.push(format!("-{suffix}"));
        let folder = PathBuf::from(folder);
        let manifest = manifest::describe(self.home, question, by)?;
        let opened = run::open(Some(folder.clone()), &manifest, Retry::Nothing);
        let (writer, _) = opened.map_err(|error| match error {
            RecordError::Mismatch { .. } => mistaken!(
                "search: {} belongs to another search: its suite, candidates, lab or disklab \
                 differ; name other records with --out",
                folder.display()
            ),
            error => error.into(),
        })?;
        let record = run_trials(by.as_executor(), &question.trials, writer, self.screen)?;
        if self.stop.load(Ordering::Relaxed) {
            let message = "interrupted; the same command again continues";
            return Err(Failure::said(Exit::Interrupted, message.to_owned()));
        }
        let better = self.add(&record, question, measured);
        Ok((folder, better))
    }

    fn add(&self, record: &Record, question: &Question, measured: &mut Measurements) -> Better {
        let mut outcomes = Vec::new();
        for trial in &question.trials {
            let (Some(policy), Some(outcome)) = (&trial.policy, record.outcome(&trial.id)) else {
                continue;
            };
            if outcome.status == Status::Ok
                && outcome.is_sound()
                && let Some(value) = self.metric.value_in(outcome)
            {
                let cell = Cell(trial.cell.clone()).without(POLICY);
                measured.add(cell, &policy.to_string(), trial.seed_index, value);
            }
            outcomes.push(outcome);
        }
        self.metric.better(outcomes)
    }

    /// Returns candidates with their scores, the best first.
    fn scored(
        &self,
        candidates: &[Candidate],
        seeds: u32,
        measured: &Measurements,
        bounds: &Measurements,
        better: Better,
    ) -> Vec<ScoredCandidate> {
        let scored = |candidate: &Candidate| {
            let score = measured.score(&candidate.name, &self.others, bounds, better)?;
            let (policy, name) = (candidate.text.clone(), candidate.name.clone());
            Some(ScoredCandidate { policy, name, is_on_front: false, seeds, score })
        };
        let mut scored: Vec<ScoredCandidate> = candidates.iter().filter_map(scored).collect();
        let front = rank(&mut scored, |candidate| &candidate.score);
        scored.iter_mut().take(front).for_each(|candidate| candidate.is_on_front = true);
        scored
    }

    fn print(&self, steps: &[SearchStep], on_kernel: Option<&SearchStep>) -> Result<(), Failure> {
        let document = json!({
            "metric": &self.metric, "others": self.others, "rounds": steps, "kernel": on_kernel,
        });
        self.screen.present(&document, |to| {
            if let Some(last) = steps.last() {
                self.print_step("in the fast model", last, to)?;
            }
            if let Some(step) = on_kernel {
                writeln!(to)?;
                self.print_step("on the kernel", step, to)?;
            }
            let explained = format!(
                "Ratios of {} to the best of {} in each cell: their geometric mean, and the least \
                 of them. *: no other candidate is better in both. The oracle is the fast model's.",
                self.metric.name(),
                self.others.join(", ")
            );
            writeln!(to)?;
            for line in words::filled(explained.split_whitespace(), self.screen.width, "", "") {
                writeln!(to, "{line}")?;
            }
            Ok(())
        })
    }

    fn print_step(
        &self,
        heading: &str,
        step: &SearchStep,
        to: &mut dyn Write,
    ) -> Result<(), Failure> {
        let seeds = words::count(step.seeds as usize, "seed");
        writeln!(to, "{heading}, {seeds}: {}", step.record.display())?;
        let heads = "candidate||>to the best|>worst|in|>of the oracle's";
        let mut table = TextTable::with_heads(heads, self.screen.color);
        let most = step.candidates.iter().map(|candidate| candidate.score.cells).max();
        for ScoredCandidate { policy, is_on_front, score, .. } in &step.candidates {
            let lacking = most.filter(|most| score.cells < *most);
            let of_cells = lacking.map(|most| format!(" (only {} of {most} cells)", score.cells));
            let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
            let share = score.of_oracle.map(|share| format!("{:.1} %", share * 100.0));
            table.row([
                policy.clone(),
                if *is_on_front { "*" } else { "" }.to_owned(),
                change(score.mean),
                change(score.worst),
                score.worst_cell.clone() + &of_cells.unwrap_or_default(),
                words::or_dash(share),
            ]);
        }
        table.print(self.screen, "", to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_as_many_more_seeds_as_there_were() {
        let told = |seeds: &str| {
            let seeds: Seeds = seeds.parse().expect("seeds");
            rounds(seeds).iter().map(|round| (round.first(), round.last())).collect::<Vec<_>>()
        };
        assert_eq!(told("1"), [(1, 1)]);
        assert_eq!(told("4"), [(1, 1), (2, 2), (3, 4)]);
        assert_eq!(told("3-8"), [(3, 3), (4, 4), (5, 6), (7, 8)]);
    }
}
