//! Checks before the first trial that everything is there, in place of a failure after an hour.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use disklab_config::Trial;
use disklab_config::policy::{EXPERIMENTAL, OPTION};
use disklab_kernels::{Btrfs, Build, Built, Cache, Kernel};
use disklab_runner::Run;
use disklab_runner::{Installation, Timeouts};

use crate::exit::Failure;
use crate::home::Home;
use crate::kernel::progress::BuildProgress;
use crate::kernel::warn_of_overlap;
use crate::limits;
use crate::screen::Screen;
use crate::words;

/// Checks the trials' needs. A kernel that is a tree or a revision is built first, with a message.
pub fn check(
    home: &Home,
    trials: &[Trial],
    jobs: usize,
    stop: &'static AtomicBool,
    screen: &Screen,
) -> Result<Run, Failure> {
    // The cache is held before the kernels are looked up, so that nobody removes them.
    let cache = Cache::open()?.held()?;
    let maker = Build { cache: &cache, share: &home.share, jobs, stop };
    let mut kernels: BTreeMap<String, Kernel> = BTreeMap::new();
    for trial in trials {
        if !kernels.contains_key(&trial.kernel) {
            if let Some((source, btrfs)) = maker.source_of(&trial.kernel)? {
                warn_of_overlap(&source, btrfs, &home.share, screen)?;
            }
            kernels.insert(trial.kernel.clone(), named(maker, &trial.kernel, screen)?);
        }
    }
    with(kernels, cache, trials, jobs, stop)
}

fn named(maker: Build, name: &str, screen: &Screen) -> Result<Kernel, Failure> {
    // Only paths are ever built. A bar for kernels that are found at once would flash.
    let mut progress = name.contains('/').then(|| BuildProgress::new(screen));
    let built = maker.named(name, &mut |step| {
        if let Some(progress) = &mut progress {
            progress.step(step.clone());
        }
    });
    progress.iter().for_each(BuildProgress::end);
    let Built { kernel, fresh } = built?;
    if fresh {
        let took = words::wall(Duration::from_secs_f64(kernel.build_seconds.max(0.0)));
        screen.remark(&format!(
            "kernel {name}: Linux {} of {}, {}, built in {took}",
            kernel.version,
            kernel.source,
            match kernel.btrfs {
                Some(Btrfs::Policies) => "with disklab's read policies beside its own",
                _ => "with its own read policies only",
            }
        ));
    }
    Ok(kernel)
}

/// Makes a run with these kernels, by the trials' names for them.
pub fn with(
    kernels: BTreeMap<String, Kernel>,
    cache: Cache,
    trials: &[Trial],
    jobs: usize,
    stop: &'static AtomicBool,
) -> Result<Run, Failure> {
    for (name, kernel) in &kernels {
        check_options(name, kernel, trials)?;
    }
    limits::check_open_files()?;
    limits::check_file_size(trials)?;
    let installation = Installation::find()?;
    let timeouts = Timeouts::default();
    Ok(Run { kernels, installation, cache, timeouts, jobs, trace: true, deadline: None, stop })
}

/// Refuses a kernel without options that trials need. If it lacks a read policy, the trials of that
/// policy are skipped with this reason, since other policies may exist.
pub fn check_options(name: &str, kernel: &Kernel, trials: &[Trial]) -> Result<(), Failure> {
    let own: Vec<&Trial> = trials.iter().filter(|trial| trial.kernel == name).collect();
    let has = |option: &str| [OPTION, EXPERIMENTAL].contains(&option) || kernel.has_option(option);
    let lacking = lacking(has, own.iter().copied());
    if lacking.is_empty() {
        return Ok(());
    }
    let kernel = format!("kernel {name} (Linux {}, {})", kernel.version, kernel.path.display());
    Err(Failure::mistaken(without(&kernel, &lacking, &own)))
}

/// Returns the options that these trials need and the kernel lacks.
fn lacking<'a>(
    has: impl Fn(&str) -> bool,
    trials: impl IntoIterator<Item = &'a Trial>,
) -> Vec<String> {
    let needed: BTreeSet<&String> = trials.into_iter().flat_map(|trial| &trial.needs).collect();
    needed.into_iter().filter(|need| !has(need)).cloned().collect()
}

/// Lists every missing option, and a trial for each that needs it.
fn without(kernel: &str, lacking: &[String], trials: &[&Trial]) -> String {
    let line = |option: &String| {
        let who = trials.iter().find(|trial| trial.needs.contains(option));
        format!(
            "  CONFIG_{option}, which {} needs\n",
            who.map_or("nobody", |trial| trial.id.as_str())
        )
    };
    format!(
        "{kernel} was built without\n{}What to do: build a kernel that has it, or leave out what \
         needs it (--set)",
        lacking.iter().map(line).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use disklab_config::Lab;

    use super::*;

    #[test]
    fn an_option_that_a_kernel_lacks_is_named_with_who_needs_it() {
        let lab = Lab::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab"))).unwrap();
        let trials = lab.suite("smoke").unwrap().trials(&lab).unwrap();
        let found = super::lacking(|option| option != "BTRFS_EXPERIMENTAL", &trials);
        assert_eq!(found, ["BTRFS_EXPERIMENTAL"]);
        let text = without("kernel 7.3", &found, &trials.iter().collect::<Vec<_>>());
        let expected = "kernel 7.3 was built without\n  CONFIG_BTRFS_EXPERIMENTAL, which \
                        constant-raid1+smoke-randread+round-robin=4096+s1 needs\n";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(super::lacking(|_| true, &trials), [""; 0]);
    }
}
