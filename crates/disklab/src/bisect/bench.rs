//! Builds a revision, and measures it in one cell with a given number of seeds.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use disklab_config::Trial;
use disklab_kernels::{Build, Cache, Error, Kernel, KernelSource, Revision};
use disklab_record::{Record, Retry};

use super::asked::BisectionQuestion;
use crate::exit::{Exit, Failure};
use crate::home::Home;
use crate::kernel::progress::BuildProgress;
use crate::run::manifest::{self, By};
use crate::run::progress::run_trials;
use crate::run::{self, ready};
use crate::screen::Screen;

pub struct RevisionBench<'a> {
    pub home: &'a Home,
    pub asked: &'a BisectionQuestion,
    /// The folder of the bisection. Each commit has a record below it.
    pub folder: &'a Path,
    pub jobs: usize,
    pub stop: &'static AtomicBool,
    pub screen: &'a Screen,
}

/// Outcome of a build.
pub enum BuiltRevision {
    Kernel(Box<Kernel>),
    /// The reason why the revision cannot be built.
    Not(String),
}

impl RevisionBench<'_> {
    /// Builds a revision. An error concerns this machine, and not the revision.
    pub fn build(&self, revision: &Revision) -> Result<BuiltRevision, Failure> {
        let cache = &Cache::open()?.held()?;
        let (jobs, stop) = (self.jobs, self.stop);
        let maker = Build { cache, share: &self.home.share, jobs, stop };
        let source = KernelSource::Revision(revision.clone());
        match BuildProgress::during(self.screen, |report| {
            maker.from(&source, self.asked.btrfs, report)
        }) {
            Ok(built) => Ok(BuiltRevision::Kernel(Box::new(built.kernel))),
            Err(
                error @ (Error::Make { .. }
                | Error::Patch { .. }
                | Error::LostConfig { .. }
                | Error::WouldOverwrite { .. }
                | Error::NotASource { .. }),
            ) => Ok(BuiltRevision::Not(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// Measures a commit with the seeds up to `upto`, and returns its record.
    pub fn measure(
        &self,
        revision: &Revision,
        kernel: &Kernel,
        upto: u32,
    ) -> Result<Record, Failure> {
        let question = self.asked.question(self.home, &revision.commit)?;
        let name = question.trials.first().map(|trial| trial.kernel.clone()).unwrap_or_default();
        let kernels = BTreeMap::from([(name, kernel.clone())]);
        let run =
            ready::with(kernels, Cache::open()?.held()?, &question.trials, self.jobs, self.stop)?;
        let by = By::Guests(run);
        let manifest = manifest::describe(self.home, &question, &by)?;
        let folder = self.folder.join(Revision::short(&revision.commit));
        let (writer, _) = run::open(Some(folder), &manifest, Retry::Nothing)?;
        let wanted = |trial: &&Trial| trial.seed_index <= upto;
        let trials: Vec<Trial> = question.trials.iter().filter(wanted).cloned().collect();
        let record = run_trials(by.as_executor(), &trials, writer, self.screen)?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::said(Exit::Interrupted, "interrupted"));
        }
        Ok(record)
    }

    /// Measures an end, which was built before, and returns its record.
    pub fn measure_end(&self, revision: &Revision, upto: u32) -> Result<Record, Failure> {
        match self.build(revision)? {
            BuiltRevision::Kernel(kernel) => self.measure(revision, &kernel, upto),
            BuiltRevision::Not(why) => Err(Failure::cannot(why)),
        }
    }
}
