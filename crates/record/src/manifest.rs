//! `manifest.toml`: the plan of a run and its tools. The file is written once, before the first
//! trial.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use disklab_protocol::digest::sha256_hex;
use disklab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::chain::Chain;
use crate::mismatch::Mismatch;
use crate::name::{self, UnfitName};
use crate::outcome::Outcome;
use crate::part::Part;
use crate::schema::Versioned;

/// The version of the manifests that are written. Records of version 1 have no digests, of the
/// manifest or of the lines.
pub const SCHEMA: u32 = 3;

/// The beginning of a manifest's first line, before the SHA-256 of all lines below it.
const DIGEST: &str = "digest = \"";

/// The value of [`Manifest::executor`] for trials in the fast model of the stack.
pub const MODEL: &str = "model";

/// The manifest of a run. TOML leaves out each field that is None.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Manifest {
    schema: u32,
    /// The version of disklab that makes the record.
    pub disklab: String,
    /// Time at which the run began, in RFC 3339.
    pub created: String,
    /// The command line, for the reader.
    pub command: Vec<String>,
    /// Every trial of the run by its id, in the order of the plan.
    pub trials: Vec<String>,
    /// The digest of each trial's definition, in the same order. The list is empty in older
    /// records, and for imported results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Ids of second measurements, which show how far two measurements of one trial are apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<String>,
    /// The place of the trials in the suite, if they are only some of its trials.
    pub part: Option<Part>,
    pub suite: Suite,
    /// The rule by which seeds were added only to cells whose verdict was open.
    pub until_decided: Option<UntilDecided>,
    /// `model` if trials ran in the fast model of the stack. It is None if they ran in guests, or
    /// on disks of a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// The disks, if trials ran on disks of a machine.
    pub on_host: Option<OnHost>,
    /// The records that this one was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<Origin>,
    /// The seeds that were added, each time after results could be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<Extension>,
    /// The origin of imported results.
    pub imported: Option<Imported>,
    #[serde(rename = "kernel", default)]
    pub kernels: Vec<Kernel>,
    /// Programs whose version can show in results: fio, mkfs.
    #[serde(rename = "tool", default)]
    pub tools: Vec<Fact>,
    /// The files of the lab that the trials were made of, by path, with their SHA-256.
    #[serde(rename = "input", default)]
    pub inputs: Vec<Fact>,
    /// Devices whose files take numbers from another device: each by its name, with the keys and
    /// the other device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherited: Vec<Fact>,
    /// The machine, for the reader: no result may depend on it.
    #[serde(rename = "host", default)]
    pub host: Vec<Fact>,
}

/// The criteria by which a run decided which trials it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UntilDecided {
    /// The metrics, spelled as for `compare --metric`.
    pub metrics: Vec<String>,
    pub alpha: f64,
    /// The smallest effect of interest, as a share.
    pub smallest_effect: f64,
    /// Error control: `share` or `any`, as `compare --limit` takes it.
    pub limit: String,
    /// The seeds after which interim analyses are made; the last is the run's last seed.
    #[serde(rename = "looks")]
    pub analyses: Vec<u32>,
}

/// The disks of a machine that trials ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnHost {
    /// A folder of an existing filesystem, or a file.
    pub at: Option<PathBuf>,
    /// The list of disks that may be written, or None if the trials did not run on disks.
    pub allow: Option<PathBuf>,
    /// Seed for the order of the trials. It is 0 in older records, whose order does not depend on
    /// the run.
    #[serde(default)]
    pub order: u32,
    /// Time without load before each trial. It is None in older records.
    pub rest: Option<Nanos>,
    /// The longest warm-up of a load, if the user gave one.
    pub warm_up: Option<Nanos>,
    /// The disks in the order of the array's.
    #[serde(rename = "disk", default)]
    pub disks: Vec<HostDisk>,
}

/// A disk of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDisk {
    /// The path that the user gave.
    pub named: PathBuf,
    /// The kernel's name.
    pub name: String,
    pub bytes: Bytes,
    pub model: Option<String>,
    pub serial: Option<String>,
}

/// A record that another was merged from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Name of the record's folder.
    pub record: String,
    pub created: String,
    /// Number of trials that are from that record.
    pub trials: usize,
}

/// Seeds that were added to a record after its results could be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extension {
    /// Time of the extension, in RFC 3339.
    pub created: String,
    /// The command line, for the reader.
    pub command: Vec<String>,
    /// The last seed before, counted from the record's first, or 0 if the results of other seeds
    /// than the first ones were seen.
    pub after: u32,
    /// The last seed after the extension.
    pub upto: u32,
}

/// Results of somebody else's run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The axes of the cells, in order.
    pub axes: Vec<String>,
    /// The paths that the user named for reading, and the files that were not read, each with the
    /// reason.
    #[serde(default)]
    pub passed_over: Vec<String>,
}

/// The question of the run, as the user asked it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Suite {
    pub name: String,
    /// The user's changes on the command line, such as `policy=pid,devid`. A resume needs them to
    /// make the same plan.
    pub set: Vec<String>,
    sha256: String,
    text: String,
}

/// A guest kernel, as one value of the kernel axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The axis value that chose it.
    pub name: String,
    /// The version that the kernel reports. The text is empty for the fast model.
    pub version: String,
    /// Key of the kernel in the cache of kernels: a digest of source, configuration and patches.
    pub key: String,
    pub sha256: String,
    pub config_sha256: String,
    /// The origin of its source: a package and its version, or a path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The full commit of the source, if git knows it, and whether the source was changed since.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// The compiler's version line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub compiler: String,
    /// Origin of the kernel's btrfs. `untouched`: it is that of the source. `policies`: disklab's
    /// read policies stand beside its own, under names that begin with `disklab-`; for the source
    /// of a package, plain names mean disklab's policies. It is empty in records of older programs,
    /// in whose kernels disklab's policies replaced the kernel's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub btrfs: String,
}

impl Kernel {
    /// Returns the name of the tested system, by [`system`].
    pub fn system(&self) -> String {
        system(&self.version)
    }
}

/// Returns the name of the tested system by a kernel's version: `Linux 7.3.4`, or the fast model
/// for an empty version.
pub fn system(version: &str) -> String {
    if version.is_empty() { "the fast model".to_owned() } else { format!("Linux {version}") }
}

/// A named fact about the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub name: String,
    pub value: String,
}

impl Fact {
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

impl Suite {
    pub fn new(name: impl Into<String>, text: impl Into<String>, set: Vec<String>) -> Self {
        let text = text.into();
        Self { name: name.into(), set, sha256: sha256_hex(text.as_bytes()), text }
    }

    /// Returns the text of the whole file.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

impl Manifest {
    /// Returns a manifest with the suite and its trials; the caller adds kernels, tools, inputs and
    /// host.
    pub fn new(disklab: &str, created: &str, suite: Suite, trials: Vec<String>) -> Self {
        Self {
            schema: SCHEMA,
            disklab: disklab.to_owned(),
            created: created.to_owned(),
            trials,
            suite,
            ..Self::default()
        }
    }

    /// Builds the manifest of a record that lost its own: with only the trials that have a line, in
    /// the order of the lines.
    pub(crate) fn of_lines(outcomes: &[Outcome]) -> Self {
        let mut seen = BTreeSet::new();
        let all = outcomes.iter().map(|outcome| &outcome.trial);
        let trials = all.filter(|trial| seen.insert(*trial)).cloned().collect();
        Self::new("", "", Suite::new("", "", Vec::new()), trials)
    }

    /// Parses a manifest, and checks that the suite's text has the recorded digest.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text =
            std::str::from_utf8(bytes).map_err(|error| format!("it is not text: {error}"))?;
        let head: Versioned = toml::from_str(text).map_err(|error| error.to_string())?;
        head.check(SCHEMA)?;
        check_digest(text, head.schema)?;
        let manifest: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if sha256_hex(manifest.suite.text.as_bytes()) != manifest.suite.sha256 {
            return Err(
                "the suite's text was changed after the run: its SHA-256 is another".to_owned()
            );
        }
        manifest.check_trials()?;
        Ok(manifest)
    }

    /// Returns every trial that is to be run; second measurements come after the others.
    pub fn all_trials(&self) -> impl Iterator<Item = &String> {
        self.trials.iter().chain(&self.again)
    }

    /// Returns a trial's key, or None if the record has no keys.
    pub(crate) fn key(&self, trial: &str) -> Option<&String> {
        let place = self.trials.iter().position(|listed| listed == trial)?;
        self.keys.get(place)
    }

    /// Returns the keys of all trials that have one.
    pub(crate) fn keys_of_trials(&self) -> BTreeMap<&str, &str> {
        self.trials.iter().map(String::as_str).zip(self.keys.iter().map(String::as_str)).collect()
    }

    /// Checks that every trial can name a folder, and is listed once.
    pub(crate) fn check_trials(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for trial in self.all_trials() {
            if !name::is_fit(trial) {
                return Err(UnfitName(trial.clone()).to_string());
            }
            if !seen.insert(trial) {
                return Err(format!("trial {trial} is listed twice"));
            }
        }
        if !self.keys.is_empty() && self.keys.len() != self.trials.len() {
            return Err(format!(
                "{} keys are not those of {} trials",
                self.keys.len(),
                self.trials.len()
            ));
        }
        self.part.as_ref().map_or(Ok(()), |part| part.check(self.trials.len()))
    }

    pub fn to_toml(&self) -> Result<String, String> {
        let text = toml::to_string_pretty(self).map_err(|error| error.to_string())?;
        if !self.is_protected() {
            return Ok(text);
        }
        Ok(format!("{DIGEST}{}\"\n{text}", sha256_hex(text.as_bytes())))
    }

    /// Returns whether the manifest and the lines of the record have digests. Those of older
    /// programs have none.
    pub fn is_protected(&self) -> bool {
        self.schema > 1
    }

    /// Returns whether the record has a file that counts its lines. Records of older programs have
    /// none.
    pub fn has_last_line(&self) -> bool {
        self.schema > 2
    }

    /// Turns the manifest of an older record into that of a new one.
    pub(crate) fn protect(&mut self) {
        self.schema = SCHEMA;
    }

    /// Returns the chain of the record's lines, before the first.
    pub fn chain(&self) -> Chain {
        Chain::new(self.is_protected())
    }

    /// Returns the number of trials in the suite.
    pub(crate) fn trials_of_suite(&self) -> usize {
        self.part.as_ref().map_or(self.trials.len(), |part| part.of as usize)
    }

    /// Lists the differences that make trials run `now` another experiment than those recorded: the
    /// program, the suite, its trials, the kernels, the tools, the files of the lab. Time, command
    /// and host do not count.
    pub fn mismatches(&self, now: &Self) -> Vec<Mismatch> {
        let mut found = self.question_mismatches(now);
        found.extend(mismatched("kernel", &self.kernel_facts(), &now.kernel_facts()));
        // No result depends on a tool that was not there.
        let is_new = |fact: &&Fact| {
            !self.tools.iter().any(|tool| tool.name == fact.name && tool.value == NOT_THERE)
        };
        let tools = |facts: &[Fact]| facts.iter().filter(is_new).cloned().collect::<Vec<_>>();
        found.extend(mismatched("tool", &tools(&self.tools), &tools(&now.tools)));
        found.extend(mismatched("input", &self.inputs, &now.inputs));
        found.extend(mismatched_trials("trials", &self.trials, &now.trials));
        found.extend(mismatched_trials("trials of a second time", &self.again, &now.again));
        if found.is_empty() {
            found.extend(self.mismatched_size(now));
        }
        if found.is_empty() && !self.keys.is_empty() {
            found.extend(self.mismatched_key(now));
        }
        found
    }

    /// Returns the first and the last seed that the suite asks for, or None for imported results,
    /// and for a suite that cannot be read.
    pub fn seeds(&self) -> Option<(u32, u32)> {
        let set = self.suite.set.iter().rev().find_map(|setting| seeds_setting(setting));
        if let Some(text) = set {
            let (first, last) = text.split_once('-').unwrap_or(("1", text));
            return Some((first.trim().parse().ok()?, last.trim().parse().ok()?));
        }
        let suite: toml::Table = self.suite.text.parse().ok()?;
        let count = u32::try_from(suite.get("seeds")?.as_integer()?).ok()?;
        Some((1, count))
    }

    /// Returns whether both manifests are of one suite, with disjoint seeds, so that their results
    /// can be pooled.
    pub fn has_other_seeds(&self, other: &Self) -> bool {
        let settings = |manifest: &Self| -> Vec<String> {
            let set = manifest.suite.set.iter();
            set.filter(|setting| seeds_setting(setting).is_none()).cloned().collect()
        };
        let is_of_one_suite = self.imported.is_none()
            && self.suite.sha256 == other.suite.sha256
            && settings(self) == settings(other);
        let seeds = self.seeds().zip(other.seeds());
        is_of_one_suite && seeds.is_some_and(|(own, its)| own.1 < its.0 || its.1 < own.0)
    }

    /// Replaces the seeds among the settings of the suite.
    pub(crate) fn set_seeds(&mut self, first: u32, last: u32) {
        self.suite.set.retain(|setting| seeds_setting(setting).is_none());
        let seeds = if first == 1 { last.to_string() } else { format!("{first}-{last}") };
        self.suite.set.push(format!("{SEEDS}={seeds}"));
    }

    /// Returns the manifest after adding the trials of `now`, which contain the record's own: the
    /// same suite with more seeds. An error lists the other differences.
    pub(crate) fn extended_to(
        &self,
        now: &Self,
        extension: Extension,
    ) -> Result<Self, Vec<Mismatch>> {
        let own: BTreeSet<&String> = self.all_trials().collect();
        let is_own = |trial: &&String| own.contains(*trial);
        let keys = now.trials.iter().zip(&now.keys).filter(|(trial, _)| is_own(trial));
        let settings = |set: &[String]| -> Vec<String> {
            set.iter().filter(|setting| seeds_setting(setting).is_none()).cloned().collect()
        };
        let mut before = Self {
            trials: now.trials.iter().filter(is_own).cloned().collect(),
            keys: keys.map(|(_, key)| key.clone()).collect(),
            again: now.again.iter().filter(is_own).cloned().collect(),
            until_decided: self.until_decided.clone(),
            ..now.clone()
        };
        if settings(&self.suite.set) == settings(&now.suite.set) {
            before.suite.set.clone_from(&self.suite.set);
        }
        let differences = self.mismatches(&before);
        if !differences.is_empty() {
            return Err(differences);
        }
        let mut extended = self.clone();
        extended.suite.set.clone_from(&now.suite.set);
        extended.trials.clone_from(&now.trials);
        // Older records have no keys.
        if !self.keys.is_empty() {
            extended.keys.clone_from(&now.keys);
        }
        extended.again.clone_from(&now.again);
        extended.until_decided.clone_from(&now.until_decided);
        extended.extended.push(extension);
        Ok(extended)
    }

    /// Lists the differences that make a record of some of these trials one of another experiment.
    pub fn mismatches_of_part(&self, part: &Self) -> Vec<Mismatch> {
        let mut found = self.question_mismatches(part);
        let all = [
            ("kernel", self.kernel_facts(), part.kernel_facts()),
            ("tool", self.tools.clone(), part.tools.clone()),
            ("input", self.inputs.clone(), part.inputs.clone()),
        ];
        for (kind, mut whole, own) in all {
            // Other trials may need further facts.
            whole.retain(|fact| own.iter().any(|known| known.name == fact.name));
            found.extend(mismatched(kind, &whole, &own));
        }
        found
    }

    /// Compares the program, the suite and the executor, but no kernels, tools or files.
    pub(crate) fn question_mismatches(&self, now: &Self) -> Vec<Mismatch> {
        let pairs = self.question().into_iter().zip(now.question());
        pairs.filter_map(|((what, was), (_, is))| Mismatch::between(what, was, is)).collect()
    }

    fn question(&self) -> [(&'static str, String); 6] {
        [
            ("disklab", self.disklab.clone()),
            ("suite", self.suite.name.clone()),
            (SETTINGS, quoted(&self.suite.set)),
            ("until decided", until(self.until_decided.as_ref())),
            ("executor and disks", self.executor_in_words()),
            ("text of the suite", format!("SHA-256 {}", self.suite.sha256)),
        ]
    }

    /// Returns the executor of the trials, with the disks of a machine.
    fn executor_in_words(&self) -> String {
        self.executor.clone().unwrap_or_else(|| executor(self.on_host.as_ref()))
    }

    /// Returns whether the trials ran in the fast model of the stack, whose results serve searches
    /// only.
    pub fn is_of_model(&self) -> bool {
        self.executor.as_deref() == Some(MODEL)
    }

    /// Returns the difference in the number of trials of the whole suite, if there is one.
    pub(crate) fn mismatched_size(&self, now: &Self) -> Option<Mismatch> {
        let size = |manifest: &Self| format!("{} trials", manifest.trials_of_suite());
        Mismatch::between("the whole suite", size(self), size(now))
    }

    /// Returns a fact for each kernel, by its name.
    pub(crate) fn kernel_facts(&self) -> Vec<Fact> {
        let fact = |kernel: &Kernel| {
            // The key covers source and compiler.
            let Kernel { name, version, key, sha256, config_sha256, .. } = kernel;
            let value = format!(
                "{version}, key {key}, SHA-256 {sha256}, of its configuration {config_sha256}"
            );
            Fact::new(name, value)
        };
        self.kernels.iter().map(fact).collect()
    }

    /// Returns a trial of both manifests whose key differs, though its name and all files are the
    /// same.
    fn mismatched_key(&self, now: &Self) -> Option<Mismatch> {
        let mut keys = self.trials.iter().zip(self.keys.iter().zip(&now.keys));
        keys.find_map(|(trial, (recorded, now))| {
            Mismatch::between(format!("key of {trial}"), recorded, now)
        })
    }
}

/// The name of the seeds among the settings of a suite.
const SEEDS: &str = "seeds";

/// Returns the value of a setting if it sets the seeds.
fn seeds_setting(setting: &str) -> Option<&str> {
    setting.strip_prefix(SEEDS)?.strip_prefix('=')
}

/// The name of changes by `--set` and `--seeds` in messages.
pub(crate) const SETTINGS: &str = "settings of the suite";

/// The value of a missing tool that some trials need, which were left out.
pub const NOT_THERE: &str = "not there";

/// Checks that a manifest fits its digest.
fn check_digest(text: &str, schema: u32) -> Result<(), String> {
    let stated = text.strip_prefix(DIGEST).and_then(|rest| rest.split_once("\"\n"));
    match stated {
        Some((digest, below)) if sha256_hex(below.as_bytes()) == digest => Ok(()),
        None if schema == 1 && !text.starts_with("digest") => Ok(()),
        _ => Err("it was changed after it was written: its digest does not fit".to_owned()),
    }
}

fn executor(on: Option<&OnHost>) -> String {
    let Some(OnHost { at, disks, warm_up, allow: _, order: _, rest: _ }) = on else {
        return "kernel".to_owned();
    };
    let disk = |disk: &HostDisk| {
        let serial = disk.serial.as_deref().unwrap_or("no serial");
        format!("{} ({serial}, {})", disk.named.display(), disk.bytes)
    };
    let at = at.iter().map(|path| format!("at {}", path.display()));
    let all: Vec<String> = at.chain(disks.iter().map(disk)).collect();
    let warm_up = warm_up.map_or_else(String::new, |limit| format!(", warm-up {limit}"));
    format!("host, {}{warm_up}", all.join(", "))
}

fn quoted(values: &[String]) -> String {
    if values.is_empty() { "none".to_owned() } else { format!("`{}`", values.join("` `")) }
}

fn until(decided: Option<&UntilDecided>) -> String {
    let Some(UntilDecided { metrics, alpha, smallest_effect, limit, analyses }) = decided else {
        return "no".to_owned();
    };
    let metrics = metrics.join(", ");
    let analyses: Vec<_> = analyses.iter().map(u32::to_string).collect();
    format!(
        "by {metrics}, alpha {alpha}, smallest effect {smallest_effect}, limit {limit}, \
        interim analyses after {} seeds",
        analyses.join(", ")
    )
}

/// Compares facts by name; their order does not matter.
fn mismatched(kind: &str, recorded: &[Fact], now: &[Fact]) -> Vec<Mismatch> {
    let value = |facts: &[Fact], name: &str| {
        let fact = facts.iter().find(|fact| fact.name == name);
        fact.map_or_else(|| "none".to_owned(), |fact| fact.value.clone())
    };
    let added = now.iter().filter(|fact| recorded.iter().all(|known| known.name != fact.name));
    let all = recorded.iter().chain(added).map(|fact| fact.name.as_str());
    let differing =
        |name| Mismatch::between(format!("{kind} {name}"), value(recorded, name), value(now, name));
    all.filter_map(differing).collect()
}

fn mismatched_trials(what: &str, recorded: &[String], now: &[String]) -> Option<Mismatch> {
    let first = (0..recorded.len().max(now.len())).find(|&at| recorded.get(at) != now.get(at))?;
    let count_and_trial = |trials: &[String]| {
        let trial = trials.get(first).map_or("none", String::as_str);
        format!("{}, of which number {} is {trial}", trials.len(), first + 1)
    };
    Mismatch::between(what, count_and_trial(recorded), count_and_trial(now))
}
