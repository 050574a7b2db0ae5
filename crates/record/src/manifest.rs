//! `manifest.toml`: what a run was to do, and with what. Written once, before the first trial.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use disklab_protocol::digest::sha256_hex;
use disklab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::merge::Origin;
use crate::name;
use crate::outcome::Outcome;
use crate::part::Part;

/// The version of the manifest written and read here.
pub const SCHEMA: u32 = 1;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Manifest {
    schema: u32,
    /// The version of disklab that makes the record.
    pub disklab: String,
    /// When the run began, RFC 3339.
    pub created: String,
    /// The command line, for the reader.
    pub command: Vec<String>,
    /// Every trial of the run by its id, in the order of the plan.
    pub trials: Vec<String>,
    /// What tells each of them apart by what it is, in the same order. None in older records, nor
    /// of what was imported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Those that are measured a second time, by the ids of the second: how far two measurements of
    /// the same are apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<String>,
    /// Where they are not all that the suite asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    pub suite: Suite,
    /// Where seeds were added only to cells whose verdict was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_decided: Option<UntilDecided>,
    /// Where trials ran on disks of a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_host: Option<OnHost>,
    /// The records that this one was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<Origin>,
    /// Where the results were not made here but found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    #[serde(rename = "kernel", default)]
    pub kernels: Vec<Kernel>,
    /// Programs whose version can show in results: fio, mkfs.
    #[serde(rename = "tool", default)]
    pub tools: Vec<Fact>,
    /// The files of the lab that the trials were made of, by path, with their SHA-256.
    #[serde(rename = "input", default)]
    pub inputs: Vec<Fact>,
    /// The machine, for the reader: no result may depend on it.
    #[serde(rename = "host", default)]
    pub host: Vec<Fact>,
}

/// By what verdicts a run decided which trials it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UntilDecided {
    /// As `compare --metric` takes them.
    pub metrics: Vec<String>,
    pub alpha: f64,
    /// A share.
    pub smallest_effect: f64,
    /// `share` or `any`, as `compare --limit` takes it.
    pub limit: String,
    /// The seeds after which it looked, or would have; the last is the last.
    pub looks: Vec<u32>,
}

/// What trials ran on that were no guests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnHost {
    /// A folder of a filesystem that was there, or a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<PathBuf>,
    /// The list of disks that might be written; of disks only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<PathBuf>,
    /// By which the order of trials was drawn; of records of before, by nothing of the run.
    #[serde(default)]
    pub order: u32,
    /// How long nothing ran before each trial. None in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Nanos>,
    /// How long a load was warmed up at most, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Nanos>,
    /// In the order of the array's.
    #[serde(rename = "disk", default)]
    pub disks: Vec<HostDisk>,
}

/// A disk of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDisk {
    /// As the user named it.
    pub named: PathBuf,
    /// The kernel's name.
    pub name: String,
    pub bytes: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}

/// Results that somebody else's run left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The axes of the cells, in order.
    pub axes: Vec<String>,
    /// What was read, as it was named, and what was passed over, each with the reason.
    #[serde(default)]
    pub passed_over: Vec<String>,
}

/// The question, as it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Suite {
    pub name: String,
    /// What the command line changed in it, `policy=pid,devid` each, so that a resume makes the
    /// same plan.
    pub set: Vec<String>,
    sha256: String,
    text: String,
}

/// A guest kernel, as one value of the kernel axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The axis value that chose it.
    pub name: String,
    /// What it calls itself.
    pub version: String,
    /// Of the cache of kernels: source, configuration and insertions in one.
    pub key: String,
    pub sha256: String,
    pub config_sha256: String,
    /// Where its source is from: a package and its version, or a path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The commit that its source is of, where git knows, in full; with what was changed since
    /// told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// What compiled it, in its own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub compiler: String,
}

/// Something to know, by name.
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

    /// The whole file.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

/// Something that is not as it was when the record was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub what: String,
    pub recorded: String,
    pub now: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Self { what, recorded, now } = self;
        write!(out, "{what}: recorded {recorded}, now {now}")
    }
}

impl Manifest {
    /// A manifest with the suite and its trials; kernels, tools, inputs and host are the caller's
    /// to add.
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

    /// Of a record that lost its own: nothing but the trials that have a line, in the order of the
    /// lines.
    pub(crate) fn of_lines(outcomes: &[Outcome]) -> Self {
        let mut trials: Vec<String> = Vec::new();
        for outcome in outcomes {
            if !trials.contains(&outcome.trial) {
                trials.push(outcome.trial.clone());
            }
        }
        Self::new("", "", Suite::new("", "", Vec::new()), trials)
    }

    /// Reads a manifest, and checks that the suite's text is the one it was written with.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
        }
        let text =
            std::str::from_utf8(bytes).map_err(|error| format!("it is not text: {error}"))?;
        let head: Head = toml::from_str(text).map_err(|error| error.to_string())?;
        if head.schema != SCHEMA {
            return Err(format!("its schema is {}; this disklab reads {SCHEMA}", head.schema));
        }
        let manifest: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if sha256_hex(manifest.suite.text.as_bytes()) != manifest.suite.sha256 {
            return Err(
                "the suite's text was changed after the run: its SHA-256 is another".to_owned()
            );
        }
        manifest.check_trials()?;
        Ok(manifest)
    }

    /// Every trial that is to be run, those of a second time behind the others.
    pub fn all_trials(&self) -> impl Iterator<Item = &String> {
        self.trials.iter().chain(&self.again)
    }

    /// Trials name folders, and each is one trial.
    pub(crate) fn check_trials(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for trial in self.all_trials() {
            if !name::is_fit(trial) {
                return Err(StoreError::Name { name: trial.clone() }.to_string());
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
        toml::to_string_pretty(self).map_err(|error| error.to_string())
    }

    /// What makes trials run `now` another experiment than those recorded: the program, the suite,
    /// its trials, the kernels, the tools, the files of the lab. When, by which command and on
    /// which host do not.
    pub fn mismatches(&self, now: &Self) -> Vec<Mismatch> {
        let mut found = self.question_mismatches(now);
        found.extend(mismatched("kernel", &self.kernel_facts(), &now.kernel_facts()));
        // Of what was not there, there is no result.
        let is_new = |fact: &&Fact| {
            !self.tools.iter().any(|tool| tool.name == fact.name && tool.value == NOT_THERE)
        };
        let tools = |facts: &[Fact]| facts.iter().filter(is_new).cloned().collect::<Vec<_>>();
        found.extend(mismatched("tool", &tools(&self.tools), &tools(&now.tools)));
        found.extend(mismatched("input", &self.inputs, &now.inputs));
        found.extend(mismatched_trials("trials", &self.trials, &now.trials));
        found.extend(mismatched_trials("trials of a second time", &self.again, &now.again));
        let whole = |manifest: &Self| {
            manifest.part.as_ref().map_or(manifest.trials.len() as u32, |part| part.of)
        };
        if found.is_empty() && whole(self) != whole(now) {
            let told = |manifest: &Self| format!("{} trials", whole(manifest));
            found.push(Mismatch {
                what: "the whole suite".to_owned(),
                recorded: told(self),
                now: told(now),
            });
        }
        if found.is_empty() && !self.keys.is_empty() {
            found.extend(self.mismatched_key(now));
        }
        found
    }

    /// What of a record of some of these trials makes it one of another experiment.
    pub fn mismatches_of_part(&self, part: &Self) -> Vec<Mismatch> {
        let mut found = self.question_mismatches(part);
        let all = [
            ("kernel", self.kernel_facts(), part.kernel_facts()),
            ("tool", self.tools.clone(), part.tools.clone()),
            ("input", self.inputs.clone(), part.inputs.clone()),
        ];
        for (kind, mut whole, own) in all {
            // Other trials may need more than these.
            whole.retain(|fact| own.iter().any(|known| known.name == fact.name));
            found.extend(mismatched(kind, &whole, &own));
        }
        found
    }

    /// The same of the program, the suite and what carries it out, without what it was carried out
    /// with.
    pub(crate) fn question_mismatches(&self, now: &Self) -> Vec<Mismatch> {
        let mut found = Vec::new();
        let mut differ = |what: &str, recorded: &str, now: &str| {
            if recorded != now {
                found.push(Mismatch {
                    what: what.to_owned(),
                    recorded: recorded.to_owned(),
                    now: now.to_owned(),
                });
            }
        };
        differ("disklab", &self.disklab, &now.disklab);
        differ("suite", &self.suite.name, &now.suite.name);
        differ(SETTINGS, &quoted(&self.suite.set), &quoted(&now.suite.set));
        differ(
            "until decided",
            &until(self.until_decided.as_ref()),
            &until(now.until_decided.as_ref()),
        );
        differ("executor and disks", &place(self.on_host.as_ref()), &place(now.on_host.as_ref()));
        differ("text of the suite", &named(&self.suite.sha256), &named(&now.suite.sha256));
        found
    }

    /// Each of the kernels, by its name.
    pub(crate) fn kernel_facts(&self) -> Vec<Fact> {
        kernel_facts(&self.kernels)
    }

    /// A trial of both that is not what it was, though its name and all files are.
    fn mismatched_key(&self, now: &Self) -> Option<Mismatch> {
        let pairs = self.keys.iter().zip(&now.keys);
        let (at, (recorded, now)) =
            pairs.enumerate().find(|(_, (recorded, now))| recorded != now)?;
        let what = format!("key of {}", self.trials.get(at)?);
        Some(Mismatch { what, recorded: recorded.clone(), now: now.clone() })
    }
}

/// What `--set` and `--seeds` changed, in messages.
pub(crate) const SETTINGS: &str = "settings of the suite";

/// The value of a tool that some trials need, and were left out for.
pub const NOT_THERE: &str = "not there";

fn place(on: Option<&OnHost>) -> String {
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
    decided.map_or_else(
        || "no".to_owned(),
        |until| {
            let UntilDecided { metrics, alpha, smallest_effect, limit, looks } = until;
            format!(
                "by {}, alpha {alpha}, smallest effect {smallest_effect}, limit {limit}, looks {looks:?}",
                metrics.join(", ")
            )
        },
    )
}

fn named(sha256: &str) -> String {
    format!("SHA-256 {sha256}")
}

fn kernel_facts(kernels: &[Kernel]) -> Vec<Fact> {
    let fact = |kernel: &Kernel| {
        // Source and compiler are in the key.
        let Kernel { name, version, key, sha256, config_sha256, .. } = kernel;
        Fact::new(
            name,
            format!("{version}, key {key}, SHA-256 {sha256}, of its configuration {config_sha256}"),
        )
    };
    kernels.iter().map(fact).collect()
}

/// Facts compared by name; their order does not matter.
fn mismatched(kind: &str, recorded: &[Fact], now: &[Fact]) -> Vec<Mismatch> {
    let value = |facts: &[Fact], name: &str| {
        let fact = facts.iter().find(|fact| fact.name == name);
        fact.map_or_else(|| "none".to_owned(), |fact| fact.value.clone())
    };
    let added = now.iter().filter(|fact| recorded.iter().all(|known| known.name != fact.name));
    let all = recorded.iter().chain(added);
    all.map(|fact| Mismatch {
        what: format!("{kind} {}", fact.name),
        recorded: value(recorded, &fact.name),
        now: value(now, &fact.name),
    })
    .filter(|mismatch| mismatch.recorded != mismatch.now)
    .collect()
}

fn mismatched_trials(what: &str, recorded: &[String], now: &[String]) -> Option<Mismatch> {
    let first = (0..recorded.len().max(now.len())).find(|&at| recorded.get(at) != now.get(at))?;
    let told = |trials: &[String]| {
        let trial = trials.get(first).map_or("none", String::as_str);
        format!("{}, of which number {} is {trial}", trials.len(), first + 1)
    };
    Some(Mismatch { what: what.to_owned(), recorded: told(recorded), now: told(now) })
}
