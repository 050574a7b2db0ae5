//! `disklab bisect`: finds the first kernel revision that changes the results of a cell.
//!
//! - `asked`: the question, kept in the bisection's folder so that it can be continued;
//! - `bench`: builds and measures a revision;
//! - `ends`: the difference of the good and the bad end, and the end that a step belongs to;
//! - here: the walk and its messages.

mod asked;
mod bench;
mod ends;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use disklab_compare::Metric;
use disklab_kernels::{Answer, Bisection, Btrfs, Next, Overlap, Revision, split_policies};
use serde::Serialize;

use crate::compare::{axis_value, chance, share};
use crate::exit::{Exit, Failure, cannot};
use crate::home::{Home, from_here};
use crate::plan::Jobs;
use crate::screen::{Paint, Screen};
use crate::{records, signals, words};
use asked::{BisectionQuestion, JudgedRevision};
use bench::{BuiltRevision, RevisionBench};
use ends::{Ends, EndsSeen, StepSide};

/// Find the kernel commit that changed a result, by git bisect.
///
/// Each step builds a revision, runs the cell on it, and says whether the result is like that of
/// the good end or like that of the bad end. If a step is undecided, more seeds run. A revision
/// that does not build or boot is skipped. bisect first checks that the two ends differ. If all
/// trials of the bad end fail and no trial of the good end does, bisect searches for the commit
/// that introduced the failure.
///
/// The tree is never changed: git bisect works in a repository of its own that borrows the tree's
/// objects. The records of all steps are in ./records/bisect-<suite>-<date>-<time>.
///
/// Exit status: 0 found, 2 the ends do not differ, 4 undecided.
#[derive(Debug, clap::Args)]
pub struct BisectArgs {
    /// The git repository of the kernel.
    ///
    /// The btrfs of each revision stays as it is and runs its own read policies. TREE:disklab adds
    /// disklab's read policies beside them.
    #[arg(long, value_name = "TREE", default_value = ".")]
    kernel: PathBuf,

    /// A revision before the change.
    #[arg(long, value_name = "REV", required_unless_present = "resume")]
    good: Option<String>,

    /// A revision after the change.
    #[arg(long, value_name = "REV", required_unless_present = "resume")]
    bad: Option<String>,

    /// A suite by its name in the lab, or by the path of its file.
    #[arg(long, required_unless_present = "resume")]
    suite: Option<String>,

    /// A value of the cell to run. Give the option once for each axis that has several values in
    /// the suite.
    #[arg(long, value_name = "AXIS=VALUE", value_parser = axis_value)]
    cell: Vec<(String, String)>,

    /// The metric to compare.
    ///
    /// [default: the first metric that the suite names and the cell has, or else the usual metric
    /// of its workload]
    #[arg(long)]
    metric: Option<Metric>,

    /// The largest number of seeds for a step. Fewer run if they decide.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 12,
        value_parser = clap::value_parser!(u32).range(3..=1000)
    )]
    seeds: u32,

    /// The chance of a wrong answer, for each step and for the check that the ends differ.
    #[arg(long, default_value_t = 0.05, value_parser = chance)]
    alpha: f64,

    /// The least difference between the ends, in per cent.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = share)]
    smallest_effect: f64,

    #[command(flatten)]
    jobs: Jobs,

    /// The folder of the bisection. An existing bisection is continued.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Continue a bisection, by its name in ./records or by its path.
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["good", "bad", "suite", "cell", "out", "kernel"]
    )]
    resume: Option<String>,
}

pub fn bisect(args: &BisectArgs, screen: &Screen) -> Result<Exit, Failure> {
    let home = Home::open()?;
    let stop = signals::watch()?;
    let (folder, asked) = begin(args, &home, screen)?;
    let bench = RevisionBench {
        home: &home,
        asked: &asked,
        folder: &folder,
        jobs: args.jobs.get(),
        stop,
        screen,
    };
    let told = walk(&bench);
    if told.is_err() && stop.load(Ordering::Relaxed) {
        screen.remark(&format!(
            "to continue: disklab bisect --resume {}",
            from_here(&folder).display()
        ));
    }
    told?.tell(&bench, screen)
}

/// Returns the folder and its question. An existing bisection is continued; otherwise the folder is
/// made.
fn begin(
    args: &BisectArgs,
    home: &Home,
    screen: &Screen,
) -> Result<(PathBuf, BisectionQuestion), Failure> {
    let begun = match (&args.resume, &args.out) {
        (Some(name), _) => Some(records::find(name)?),
        (None, Some(out)) if BisectionQuestion::is_in(out) => Some(out.clone()),
        _ => None,
    };
    if let Some(folder) = begun {
        let asked = BisectionQuestion::read(&folder)?;
        return Ok((folder, asked));
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let tree = args.kernel.to_str();
    let (tree, btrfs) = tree.map_or((&*args.kernel, Btrfs::Untouched), |tree| {
        let (tree, btrfs) = split_policies(tree);
        (Path::new(tree), btrfs)
    });
    let find = |name: &Option<String>| Revision::find(tree, &text(name));
    let (good, bad) = (find(&args.good)?, find(&args.bad)?);
    [&good, &bad].iter().try_for_each(|end| end.version().map(drop))?;
    let asked = BisectionQuestion {
        suite: text(&args.suite),
        set: args.cell.iter().map(|(axis, value)| format!("{axis}={value}")).collect(),
        repository: good.repository.clone(),
        good: good.commit.clone(),
        bad: bad.commit.clone(),
        metric: args.metric.clone().map(String::from),
        seeds: args.seeds,
        alpha: args.alpha,
        smallest_effect: args.smallest_effect,
        btrfs,
    };
    // Mistaken input is reported before the folder is made.
    Bisection::in_order(&good, &bad)?;
    asked.interim_analyses()?;
    let question = asked.question(home, &good.commit)?;
    question.metric(asked.metric.as_deref())?;
    let name = records::name_now(&format!("bisect-{}", question.suite.name));
    let folder = args.out.clone().unwrap_or_else(|| Path::new(records::FOLDER).join(name));
    asked.write(&folder)?;
    if let Some(overlap) = Overlap::between(&good, &bad, &home.share, asked.btrfs)? {
        screen.remark(&format!("between the ends, {overlap}"));
    }
    Ok((folder, asked))
}

/// The outcome of a bisection.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum BisectionEnd {
    /// The first commit with other results.
    First { commit: String, subject: String },
    /// The first commit is one of these.
    Among(Vec<String>),
    /// The ends are the same.
    Nothing(String),
    /// The seeds could not decide if the ends differ.
    Undecided(String),
}

fn walk(bench: &RevisionBench) -> Result<BisectionEnd, Failure> {
    let (asked, screen) = (bench.asked, bench.screen);
    let mut bisection = Bisection::begin(&asked.good()?, &asked.bad()?, &bench.folder.join("git"))?;
    let ends = match ends(bench)? {
        Ok(ends) => ends,
        Err(found) => return Ok(found),
    };
    screen.remark(&ends.in_words(&asked.metric(bench.home)?));
    let mut known = JudgedRevision::all(bench.folder)?;
    let mut number = 0;
    while let Next::Judge { revision, more } = bisection.next().clone() {
        number += 1;
        let before = known.iter().find(|step| step.commit == revision.commit).cloned();
        let judged = if let Some(judged) = before {
            judged
        } else {
            let judged = judge(bench, &ends, &known, &revision)?;
            judged.note(bench.folder)?;
            known.push(judged.clone());
            judged
        };
        let of = more.map_or_else(String::new, |more| format!(" of about {}", number + more));
        let (commit, subject) = (Revision::short(&revision.commit), revision.subject()?);
        screen.remark(&format!("step {number}{of}: {commit} ({subject}): {}", judged.in_words()));
        bisection.tell(&revision, judged.answer())?;
    }
    Ok(match bisection.next() {
        Next::Among(revisions) => {
            let line =
                |revision: &Revision| Ok(format!("{} {}", revision.commit, revision.subject()?));
            BisectionEnd::Among(revisions.iter().map(line).collect::<Result<_, Failure>>()?)
        }
        Next::First(first) | Next::Judge { revision: first, .. } => {
            BisectionEnd::First { commit: first.commit.clone(), subject: first.subject()? }
        }
    })
}

/// Measures both ends with as many seeds as are needed to decide how they differ. If they do not
/// differ, the bisection ends.
fn ends(bench: &RevisionBench) -> Result<Result<Ends, BisectionEnd>, Failure> {
    let asked = bench.asked;
    let [good, bad] = [("good", asked.good()?), ("bad", asked.bad()?)].map(|(side, revision)| {
        match bench.build(&revision)? {
            BuiltRevision::Kernel(kernel) => Ok((side, revision, kernel)),
            BuiltRevision::Not(why) => Err(cannot!(
                "the {side} revision, {}, does not build: {why}\nName another revision near it.",
                Revision::short(&revision.commit)
            )),
        }
    });
    let ((_, good, kernel), (_, bad, other)) = (good?, bad?);
    if kernel.sha256 == other.sha256 {
        let what = "both revisions build the same kernel, since no file that the guest is built \
                    from changed between them";
        return Ok(Err(BisectionEnd::Nothing(what.to_owned())));
    }
    let (analyses, alpha) = asked.interim_analyses()?;
    for &upto in &analyses {
        let (first, second) =
            (bench.measure(&good, &kernel, upto)?, bench.measure(&bad, &other, upto)?);
        match Ends::compare(&first, &second, asked, &asked.metric(bench.home)?, alpha)? {
            EndsSeen::Apart(ends) => return Ok(Ok(ends)),
            EndsSeen::Alike(what) => return Ok(Err(BisectionEnd::Nothing(what))),
            EndsSeen::Open(what) if Some(&upto) == analyses.last() => {
                return Ok(Err(BisectionEnd::Undecided(what)));
            }
            EndsSeen::Open(_) => {}
        }
    }
    Ok(Err(BisectionEnd::Undecided("no seed was analysed".to_owned())))
}

fn judge(
    bench: &RevisionBench,
    ends: &Ends,
    known: &[JudgedRevision],
    revision: &Revision,
) -> Result<JudgedRevision, Failure> {
    let judged = |answer: Answer, why: String, program: &str| {
        JudgedRevision::new(&revision.commit, answer, why, program)
    };
    let kernel = match bench.build(revision)? {
        BuiltRevision::Kernel(kernel) => kernel,
        BuiltRevision::Not(why) => {
            let first = why.lines().next().unwrap_or_default();
            return Ok(judged(Answer::Skip, format!("it does not build: {first}"), ""));
        }
    };
    // Most commits change no file that the guest kernel is built from.
    if let Some(same) = known.iter().find(|step| step.program == kernel.sha256) {
        let why = format!("the same kernel as {}", Revision::short(&same.commit));
        return Ok(judged(same.answer(), why, &kernel.sha256));
    }
    let asked = bench.asked;
    for (end, answer) in [(asked.good()?, Answer::Good), (asked.bad()?, Answer::Bad)] {
        if let BuiltRevision::Kernel(other) = bench.build(&end)?
            && other.sha256 == kernel.sha256
        {
            return Ok(judged(answer, "the same kernel as that end".to_owned(), &kernel.sha256));
        }
    }
    let (analyses, alpha) = asked.interim_analyses()?;
    let mut open = String::new();
    for &upto in &analyses {
        let step = bench.measure(revision, &kernel, upto)?;
        let good = bench.measure_end(&asked.good()?, upto)?;
        match ends.side(&step, &good, &asked.metric(bench.home)?, alpha)? {
            StepSide::Like(answer, why) => return Ok(judged(answer, why, &kernel.sha256)),
            StepSide::Open(why) => open = why,
        }
    }
    Ok(judged(
        Answer::Skip,
        format!("still undecided after {} seeds: {open}", asked.seeds),
        &kernel.sha256,
    ))
}

impl BisectionEnd {
    fn tell(&self, bench: &RevisionBench, screen: &Screen) -> Result<Exit, Failure> {
        let exit = match self {
            Self::First { .. } => Exit::Ok,
            Self::Nothing(_) => Exit::Mistaken,
            Self::Among(_) | Self::Undecided(_) => Exit::Undecided,
        };
        let steps = JudgedRevision::all(bench.folder)?;
        let document = serde_json::json!({
            "folder": bench.folder, "asked": bench.asked, "steps": steps, "end": self,
        });
        screen.present(&document, |out| {
            match self {
                Self::First { commit, subject } => {
                    let head = format!("{commit} is the first bad commit");
                    writeln!(out, "{}\n    {subject}", screen.paint(&head, Paint::Strong))?;
                }
                Self::Among(lines) => {
                    writeln!(
                        out,
                        "the first bad commit is one of these; all but one could not be judged:"
                    )?;
                    lines.iter().try_for_each(|line| writeln!(out, "    {line}"))?;
                }
                Self::Nothing(what) => writeln!(
                    out,
                    "the two ends do not differ: {what}\nTry another cell or metric, or revisions \
                     that are farther apart."
                )?,
                Self::Undecided(what) => writeln!(
                    out,
                    "it is undecided whether the two ends differ: {what}\nTry more seeds \
                     (--seeds), or another cell or metric."
                )?,
            }
            let judged = words::count(steps.len(), "step");
            Ok(writeln!(out, "{judged}; their records: {}", from_here(bench.folder).display())?)
        })?;
        Ok(exit)
    }
}
