//! The question of a bisection, and the verdicts of its steps. Two files in the bisection's folder
//! hold them, from which it is continued.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use disklab_compare::Metric;
use disklab_config::suite::{Axis, Seeds};
use disklab_kernels::{Answer, Btrfs, Revision, WITH_POLICIES};
use disklab_stats::InterimAnalyses;
use serde::{Deserialize, Serialize};

use crate::exit::{Failure, cannot, mistaken};
use crate::home::Home;
use crate::question::{Overrides, Question};
use crate::whole_file;

const ASKED: &str = "bisect.toml";
const STEPS: &str = "steps.jsonl";

/// Contents of `bisect.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectionQuestion {
    pub suite: String,
    /// The cell, as settings of the suite.
    pub set: Vec<String>,
    pub repository: PathBuf,
    /// Commit ids of the two ends.
    pub good: String,
    pub bad: String,
    pub metric: Option<String>,
    /// Largest number of seeds for a step.
    pub seeds: u32,
    pub alpha: f64,
    pub smallest_effect: f64,
    /// The btrfs that the kernels are built with.
    #[serde(default = "untouched")]
    pub btrfs: Btrfs,
}

/// Returns the default for files of older programs, which had no such key. Kernels that those
/// programs built are built again.
fn untouched() -> Btrfs {
    Btrfs::Untouched
}

/// A line of `steps.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedRevision {
    pub commit: String,
    verdict: String,
    why: String,
    /// SHA-256 of the kernel. The text is empty if the kernel did not build.
    pub program: String,
}

impl BisectionQuestion {
    pub fn is_in(folder: &Path) -> bool {
        folder.join(ASKED).is_file()
    }

    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(ASKED);
        let text = disklab_files::read_text(&path, &disklab_files::BISECTION).map_err(|error| {
            mistaken!(
                "{} is not the folder of a bisection: {}: {error}",
                folder.display(),
                path.display()
            )
        })?;
        toml::from_str(&text).map_err(|wrong| mistaken!("{}: {}", path.display(), wrong.message()))
    }

    /// Begins a folder. A folder that holds anything else is refused.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        let used = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
        if used {
            return Err(mistaken!(
                "--out: {} holds files of something else; name a new folder",
                folder.display()
            ));
        }
        fs::create_dir_all(folder)
            .map_err(|error| cannot!("cannot create {}: {error}", folder.display()))?;
        let text = toml::to_string(self).map_err(|error| Failure::cannot(error.to_string()))?;
        whole_file::write_text(&folder.join(ASKED), &text)
    }

    pub fn good(&self) -> Result<Revision, Failure> {
        Ok(Revision::find(&self.repository, &self.good)?)
    }

    pub fn bad(&self) -> Result<Revision, Failure> {
        Ok(Revision::find(&self.repository, &self.bad)?)
    }

    /// Returns the seeds after which interim analyses are made, and the alpha of each.
    pub fn interim_analyses(&self) -> Result<(Vec<u32>, f64), Failure> {
        let analyses = InterimAnalyses::plan(self.seeds as usize, self.alpha)
            .map_err(|error| mistaken!("--seeds {}: {error}", self.seeds))?;
        let at = analyses.trials().iter().filter_map(|&trials| u32::try_from(trials).ok());
        Ok((at.collect(), analyses.alpha()))
    }

    /// Returns the cell with the kernel of a commit, and with all seeds that a step may take.
    pub fn question(&self, home: &Home, commit: &str) -> Result<Question, Failure> {
        let kernel = Axis::Kernel.as_str();
        if self.set.iter().any(|setting| setting.starts_with(&format!("{kernel}="))) {
            return Err(mistaken!(
                "--cell kernel=...: bisect chooses the kernels; leave this setting out"
            ));
        }
        let suffix = if self.btrfs == Btrfs::Policies { WITH_POLICIES } else { "" };
        let (tree, commit) = (self.repository.display(), Revision::short(commit));
        let kernel = format!("{kernel}={tree}@{commit}{suffix}");
        let set = self.set.iter().cloned().chain([kernel]);
        let question = Question::ask(
            &home.lab,
            &self.suite,
            &Overrides::from_settings(set, Seeds::first_ones(self.seeds))?,
        )?;
        let several: Vec<String> = question
            .suite
            .axes()
            .iter()
            .filter(|axis| axis.values.len() > 1)
            .map(|axis| {
                let values: Vec<&str> =
                    axis.values.iter().map(|value| value.value.as_str()).collect();
                format!("\n  --cell {}=... one of {}", axis.axis, values.join(", "))
            })
            .collect();
        if several.is_empty() {
            return Ok(question);
        }
        let what = "bisect runs one cell, and the suite has several; choose with";
        Err(mistaken!("{what}{}", several.concat()))
    }

    pub fn metric(&self, home: &Home) -> Result<Metric, Failure> {
        self.question(home, &self.good)?.metric(self.metric.as_deref())
    }
}

impl JudgedRevision {
    /// Reads the verdicts of earlier steps. A line that was not written completely is ignored.
    pub fn all(folder: &Path) -> Result<Vec<Self>, Failure> {
        let path = folder.join(STEPS);
        match disklab_files::read_text(&path, &disklab_files::BISECTION) {
            Ok(text) => {
                Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(cannot!("cannot read {}: {error}", path.display())),
        }
    }

    pub fn note(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(STEPS);
        let line = serde_json::to_string(self)?;
        let append = || {
            let mut file = fs::File::options().create(true).append(true).open(&path)?;
            // A line before it may have been torn.
            writeln!(file, "\n{line}")?;
            file.sync_all()
        };
        append().map_err(|error| cannot!("cannot write {}: {error}", path.display()))
    }

    pub fn new(commit: &str, answer: Answer, why: String, program: &str) -> Self {
        let verdict = match answer {
            Answer::Good => "good",
            Answer::Bad => "bad",
            Answer::Skip => "skip",
        };
        let [commit, verdict, program] = [commit, verdict, program].map(str::to_owned);
        Self { commit, verdict, why, program }
    }

    pub fn answer(&self) -> Answer {
        match self.verdict.as_str() {
            "good" => Answer::Good,
            "bad" => Answer::Bad,
            _ => Answer::Skip,
        }
    }

    pub fn in_words(&self) -> String {
        format!("{}, {}", self.verdict, self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bisection_is_read_as_it_was_written_but_for_a_torn_step() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("bisect");
        let asked = BisectionQuestion {
            suite: "smoke".to_owned(),
            set: vec!["policy=pid".to_owned()],
            repository: "/src/linux".into(),
            good: "1".repeat(40),
            bad: "2".repeat(40),
            metric: None,
            seeds: 12,
            alpha: 0.05,
            smallest_effect: 0.02,
            btrfs: Btrfs::Untouched,
        };
        asked.write(&folder).expect("written");
        assert_eq!(BisectionQuestion::read(&folder).expect("read"), asked);
        let judged = |commit: &str| {
            JudgedRevision::new(commit, Answer::Skip, "it does not build".to_owned(), "")
        };
        judged("a").note(&folder).expect("room");
        let mut file = fs::File::options().append(true).open(folder.join(STEPS)).expect("there");
        write!(file, "{{\"commit\":\"to").expect("room");
        judged("b").note(&folder).expect("room");
        assert_eq!(JudgedRevision::all(&folder).expect("read"), [judged("a"), judged("b")]);
        assert!(asked.write(&folder).is_err(), "there is one already");
    }
}
