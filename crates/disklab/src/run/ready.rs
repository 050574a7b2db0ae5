//! All that must be there before the first trial: better said now than after an hour.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use disklab_exec::run::Run;
use disklab_exec::{Installation, Patience};
use disklab_kernels::{Cache, Kernel, find};
use disklab_spec::Trial;

use crate::exit::Failure;
use crate::home::Home;
use crate::plan;

pub fn check(home: &Home, trials: &[Trial], jobs: usize, stop: &'static AtomicBool) -> Result<Run, Failure> {
    let cache = Cache::open()?;
    let mut kernels: BTreeMap<String, Kernel> = BTreeMap::new();
    for trial in trials {
        if !kernels.contains_key(&trial.kernel) {
            kernels.insert(trial.kernel.clone(), find(&cache, &home.share, &trial.kernel)?);
        }
    }
    for (name, kernel) in &kernels {
        check_options(name, kernel, trials)?;
    }
    let installation = Installation::find()?;
    Ok(Run { kernels, installation, cache, patience: Patience::default(), jobs, stop })
}

/// Every option that is lacking, and one trial for each that needs it.
fn check_options(name: &str, kernel: &Kernel, trials: &[Trial]) -> Result<(), Failure> {
    let own = || trials.iter().filter(|trial| trial.kernel == name);
    let lacking = plan::lacking(kernel, own());
    if lacking.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = lacking
        .iter()
        .map(|option| {
            let who = own().find(|trial| trial.needs.contains(option)).map_or("", |trial| trial.id.as_str());
            format!("  CONFIG_{option}, which {who} needs")
        })
        .collect();
    Err(Failure::mistaken(format!(
        "kernel {name} (Linux {}, {}) was built without\n{}\nWhat to do: build a kernel that has it, or leave out what \
         needs it (--set)",
        kernel.version,
        kernel.path.display(),
        lines.join("\n")
    )))
}
