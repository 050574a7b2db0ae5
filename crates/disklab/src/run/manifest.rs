//! Facts about a run that a record holds before the first trial.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use disklab_config::Trial;
use disklab_config::device::Inheritance;
use disklab_config::lab::JOB_FILE;
use disklab_config::policy::PREFIX;
use disklab_guest::confinement::{gap, landlock_version};
use disklab_protocol::digest::sha256_hex;
use disklab_record::Manifest;
use disklab_record::manifest::{Fact, Kernel, MODEL, NOT_THERE, Suite};
use disklab_report::panels::repeat::COMMIT;
use disklab_runner::host::{Host, HostPlace};
use disklab_runner::{Error, Executor, facts, key};
use disklab_runner::{Model, Run};
use disklab_units::Nanos;
use itertools::Itertools;

use crate::exit::{Failure, cannot};
use crate::home::Home;
use crate::question::Question;
use crate::run::on_host;

/// The executor of the trials.
pub enum By {
    Guests(Run),
    Host(Host),
    Model(Model),
}

impl By {
    pub fn as_executor(&self) -> &dyn Executor {
        match self {
            Self::Guests(run) => run,
            Self::Host(host) => host,
            Self::Model(model) => model,
        }
    }

    /// Returns the reason why a trial will be skipped, as far as it is known before the trial
    /// begins.
    pub fn obstacle(&self, trial: &Trial) -> Option<String> {
        match self {
            Self::Guests(run) => run.obstacle(trial),
            Self::Host(_) => facts::obstacle(trial),
            Self::Model(_) => disklab_model::obstacle(trial),
        }
    }

    /// Sets the time after which no trial begins.
    pub fn end_by(&mut self, budget: Option<Nanos>) {
        let deadline = budget.map(|budget| Instant::now() + Duration::from_nanos(budget.0));
        match self {
            Self::Guests(run) => run.deadline = deadline,
            Self::Host(host) => host.deadline = deadline,
            Self::Model(model) => model.deadline = deadline,
        }
    }
}

pub fn describe(home: &Home, question: &Question, by: &By) -> Result<Manifest, Failure> {
    let suite = Suite::new(&question.suite.name, &question.text, question.set.clone());
    let trials = question.trials.iter().map(|trial| trial.id.clone()).collect();
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut manifest = Manifest::new(env!("CARGO_PKG_VERSION"), &now, suite, trials);
    manifest.command =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    manifest.part.clone_from(&question.part);
    manifest.kernels = match by {
        By::Guests(run) => run.kernels.iter().map(guest_kernel).collect(),
        By::Host(_) => {
            question.trials.first().map(|trial| own_kernel(&trial.kernel)).into_iter().collect()
        }
        By::Model(_) => {
            let names: BTreeSet<&str> =
                question.trials.iter().map(|trial| trial.kernel.as_str()).collect();
            names.into_iter().map(no_kernel).collect()
        }
    };
    manifest.keys = keys(&question.trials, &manifest.kernels)?;
    if let By::Model(_) = by {
        manifest.executor = Some(MODEL.to_owned());
        manifest.inherited = inherited(&question.trials);
        return complete(manifest, home, question, by);
    }
    manifest.tools = facts::tools()?;
    let programs: BTreeSet<String> = question.trials.iter().flat_map(facts::programs).collect();
    for program in programs {
        if manifest.tools.iter().all(|tool| tool.name != program) {
            let tool = match facts::tool(&program) {
                Err(error)
                    if question.trials.iter().all(|trial| facts::obstacle(trial).is_some()) =>
                {
                    return Err(needed(&error, &program, question));
                }
                // Trials that need the missing tool are skipped, each with this reason.
                Err(Error::Tool { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
                    Fact::new(&program, NOT_THERE)
                }
                other => other?,
            };
            manifest.tools.push(tool);
        }
    }
    match by {
        // The library contains the disk models, and other models give other results.
        By::Guests(run) => {
            let gap = gap(landlock_version());
            let may = gap.map_or_else(|| "whole".to_owned(), |gap| format!("guests can {gap}"));
            manifest.host.push(Fact::new("confinement", may));
            manifest.inherited = inherited(&question.trials);
            manifest.tools.push(Fact::new("disk library", digest(&run.installation.library)?));
        }
        By::Host(host) => {
            manifest.on_host = Some(on_host::recorded(host));
            if matches!(host.place, HostPlace::Disks { .. }) {
                manifest.tools.extend(facts::undoing()?);
            }
        }
        By::Model(_) => {}
    }
    complete(manifest, home, question, by)
}

/// Adds the files of the lab and facts about the machine.
fn complete(
    mut manifest: Manifest,
    home: &Home,
    question: &Question,
    by: &By,
) -> Result<Manifest, Failure> {
    manifest.inputs = inputs(home, question, by)?;
    manifest.host = [facts::host(), manifest.host].concat();
    manifest.host.extend(option_env!("DISKLAB_COMMIT").map(|commit| Fact::new(COMMIT, commit)));
    Ok(manifest)
}

/// Lists the numbers that devices take from other devices.
fn inherited(trials: &[Trial]) -> Vec<Fact> {
    let devices = trials.iter().flat_map(|trial| &trial.devices);
    let all: BTreeMap<&str, String> = devices
        .filter_map(|device| {
            let Inheritance { from, keys } = device.inherited.as_ref()?;
            Some((device.name.as_str(), format!("{} from {from}", keys.join(", "))))
        })
        .collect();
    all.into_iter().map(|(device, keys)| Fact::new(device, keys)).collect()
}

fn keys(trials: &[Trial], kernels: &[Kernel]) -> Result<Vec<String>, Failure> {
    let kernels = kernels.iter().map(|kernel| (kernel.name.clone(), kernel.key.clone())).collect();
    Ok(key::of_all(trials, &kernels)?.into_iter().flatten().collect())
}

/// Returns the keys of this machine's kernel, by the trials' names for it.
pub fn own_kernels(trials: &[Trial]) -> BTreeMap<String, String> {
    trials.iter().map(|trial| (trial.kernel.clone(), own_kernel(&trial.kernel).key)).collect()
}

fn guest_kernel((name, kernel): (&String, &disklab_kernels::Kernel)) -> Kernel {
    Kernel {
        name: name.clone(),
        version: kernel.version.to_string(),
        key: kernel.key.clone(),
        sha256: kernel.sha256.clone(),
        config_sha256: kernel.config_sha256.clone(),
        source: kernel.source.to_string(),
        revision: kernel.source.revision().unwrap_or_default(),
        compiler: kernel.compiler.clone(),
        btrfs: kernel.btrfs.map(|btrfs| btrfs.to_string()).unwrap_or_default(),
    }
}

/// Returns keys for trials without a kernel, by the trials' names for kernels.
pub fn no_kernels(trials: &[Trial]) -> BTreeMap<String, String> {
    trials.iter().map(|trial| (trial.kernel.clone(), no_kernel(&trial.kernel).key)).collect()
}

/// Returns the entry of the fast model, which takes the place of a kernel. Its key keeps its trials
/// apart from a kernel's trials.
fn no_kernel(name: &str) -> Kernel {
    Kernel {
        name: name.to_owned(),
        version: String::new(),
        key: format!("{MODEL} of {}", disklab_guest::BUILD),
        sha256: String::new(),
        config_sha256: String::new(),
        source: String::new(),
        revision: String::new(),
        compiler: String::new(),
        btrfs: String::new(),
    }
}

/// Returns the entry of the running kernel, of which only the version that it reports is known.
fn own_kernel(name: &str) -> Kernel {
    let system = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    Kernel {
        name: name.to_owned(),
        version: text(system.release()),
        key: text(system.version()),
        sha256: String::new(),
        config_sha256: String::new(),
        source: "this machine's own".to_owned(),
        revision: String::new(),
        compiler: String::new(),
        btrfs: String::new(),
    }
}

/// Reports a missing program: its purpose, and how to get it.
fn needed(error: &disklab_runner::Error, program: &str, question: &Question) -> Failure {
    let needs = |trial: &&Trial| facts::programs(trial).iter().any(|name| name == program);
    let trials: Vec<&Trial> = question.trials.iter().filter(needs).collect();
    let first = trials.first().map_or("none", |trial| trial.id.as_str());
    let backgrounds = trials.iter().filter_map(|trial| trial.background.as_ref());
    let names = backgrounds.map(|background| &background.name).sorted().dedup().join(", ");
    let leave_out = if names.is_empty() {
        "--set".to_owned()
    } else {
        format!("--set background=..., without {names}")
    };
    cannot!(
        "{error}; {} of {} trials need it, {first} first\nWhat to do: install it, or leave out \
         what needs it ({leave_out})",
        trials.len(),
        question.trials.len()
    )
}

/// Lists the files of the lab that the trials were made of.
fn inputs(home: &Home, question: &Question, by: &By) -> Result<Vec<Fact>, Failure> {
    let mut files = BTreeSet::new();
    let real = matches!(by, By::Host(_));
    for trial in &question.trials {
        // A mounted filesystem is not an array of the lab.
        files.extend(
            Some(("arrays", trial.array.name.as_str()))
                .filter(|(_, name)| home.lab.arrays.contains_key(*name)),
        );
        files.insert(("workloads", trial.workload.name.as_str()));
        if !real {
            files.extend(trial.devices.iter().map(|device| ("devices", device.name.as_str())));
            // These devices take numbers from other devices, whose files count too.
            let inherited = trial.devices.iter().filter_map(|device| device.inherited.as_ref());
            files.extend(inherited.map(|inherited| ("devices", inherited.from.as_str())));
        }
        // A background has its own file, or runs a workload by its name or in its file.
        if let Some(background) = &trial.background {
            let workload = background.workload.as_ref().map(|workload| workload.name.as_str());
            files.extend(workload.map(|name| ("workloads", name)));
            let own = Some(background.name.as_str()).filter(|name| workload != Some(name));
            files.extend(own.map(|name| ("backgrounds", name)));
        }
        let policy = trial.policy.iter().map(|policy| policy.policy.as_str());
        // A policy of disklab's with a prefixed name in sysfs has the file of its plain name.
        let has_file = |name: &str| home.lab.folder.join(format!("policies/{name}.toml")).is_file();
        files.extend(policy.map(|name| {
            ("policies", if has_file(name) { name } else { name.trim_start_matches(PREFIX) })
        }));
    }
    let fact = |(kind, name): (&str, &str)| -> Result<Fact, Failure> {
        if kind == "workloads" && name.ends_with(JOB_FILE) {
            return Ok(Fact::new(name, digest(Path::new(name))?));
        }
        let path = home.lab.folder.join(kind).join(format!("{name}.toml"));
        Ok(Fact::new(format!("lab/{kind}/{name}.toml"), digest(&path)?))
    };
    let mut facts: Vec<Fact> = files.iter().copied().map(fact).collect::<Result<_, _>>()?;
    for (kind, name) in files {
        let text = home.lab.texts.workloads.get(name).filter(|_| kind == "workloads");
        let table: Option<toml::Table> = text.and_then(|text| text.parse().ok());
        if let Some(path) = table.as_ref().and_then(|table| table.get("fio")?.as_str()) {
            let file = home.lab.folder.join(kind).join(path);
            facts.push(Fact::new(format!("lab/{kind}/{path}"), digest(&file)?));
        }
    }
    Ok(facts)
}

fn digest(path: &Path) -> Result<String, Failure> {
    let bytes = disklab_files::read(path, &disklab_files::PROGRAM)
        .map_err(|error| cannot!("cannot read {}: {error}", path.display()))?;
    Ok(sha256_hex(&bytes))
}
