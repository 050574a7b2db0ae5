//! Runs the program in a guest, on copies of its files, to see what it reads of them.

use std::collections::BTreeMap;

use disklab_exec::run::Event;
use disklab_guest::names;
use disklab_spec::priority::Priority;
use disklab_spec::startup::Startup;
use disklab_spec::suite::metric::STARTUP;
use disklab_spec::workload::Workload;
use disklab_spec::{Lab, Suite};
use disklab_store::manifest::{self, Manifest};
use disklab_store::{Record, Status};
use disklab_units::{Bytes, Nanos};

use crate::exit::Failure;
use crate::home::Home;
use crate::run::ready;
use crate::screen::Screen;
use crate::signals;

const SUITE: &str = r#"
question = "What does the program read?"
seeds = 1
memory = "2 GiB"
kernel = "newest"
[axes]
array = ["constant-ext4"]
workload = ["#;

/// Pages of a file that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub path: String,
    pub how: How,
    pub from: u64,
    pub end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Read,
    /// Of a mapped file.
    Map,
    /// Of a mapped file, and its neighbours were in memory.
    Around,
}

/// What it read, in order, and how long its start took on a disk that takes 50 us for everything.
pub fn run(
    home: &Home,
    name: &str,
    startup: Startup,
    screen: &Screen,
) -> Result<(Vec<Access>, Nanos), Failure> {
    let mut lab: Lab = home.lab.clone();
    let workload = Workload {
        name: name.to_owned(),
        summary: String::new(),
        file_size: Bytes(0),
        own_files: false,
        sync_every: None,
        jobs: Vec::new(),
        startup: Some(startup),
        player: None,
        raw: false,
        priority: Priority::default(),
    };
    lab.workloads.insert(name.to_owned(), workload);
    let text = format!("{SUITE}\"{name}:program\"]\n");
    let suite = Suite::of_text("record-startup", "record-startup", &text, &[])?;
    let trials = suite.trials(&lab)?;
    let run = ready::check(home, &trials, 1, signals::watch()?)?;
    let place = tempfile::tempdir().map_err(|e| Failure::cannot(format!("a temporary folder: {e}")))?;
    let folder = place.path().join("record");
    let now = jiff::Timestamp::now().to_string();
    let ids = trials.iter().map(|trial| trial.id.clone()).collect();
    let asked = manifest::Suite::new("record-startup", text, Vec::new());
    let writer = Record::create_at(&folder, &Manifest::new(env!("CARGO_PKG_VERSION"), &now, asked, ids))?;
    let say = |event: Event<'_>| {
        if let Event::Preparing { .. } = event {
            screen.remark("putting its files on a disk, and starting it in a guest");
        }
    };
    run.carry_out(&trials, &writer, &say)?;
    drop(writer);
    let record = Record::open(&folder)?;
    let outcome = record.lines().iter().find(|outcome| outcome.status == Status::Ok);
    let Some(outcome) = outcome else {
        let reason = record.lines().iter().find_map(|outcome| outcome.reason.clone()).unwrap_or_default();
        return Err(Failure::cannot(format!(
            "in the guest, with nothing but the files that it used here, {reason}"
        )));
    };
    let Some(measure) = outcome.measures.get(STARTUP).filter(|measure| !measure.censored) else {
        return Err(Failure::cannot("it was not ready within 60 s of virtual time in the guest"));
    };
    let ready = Nanos(measure.value as u64);
    let raw = folder.join(outcome.raw.as_deref().unwrap_or_default()).join(names::PAGES);
    let text =
        std::fs::read_to_string(&raw).map_err(|e| Failure::cannot(format!("{}: {e}", raw.display())))?;
    Ok((accesses(&text), ready))
}

/// Lines as the guest's first process writes them; those that make no sense are left out.
fn accesses(text: &str) -> Vec<Access> {
    let mut files: BTreeMap<u64, &str> = BTreeMap::new();
    let mut accesses = Vec::new();
    for line in text.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(what), Some(inode), Some(rest)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let Ok(inode) = inode.parse() else { continue };
        if what == "file" {
            files.insert(inode, rest);
            continue;
        }
        let range =
            rest.split_once(' ').and_then(|(from, end)| Some((from.parse().ok()?, end.parse().ok()?)));
        let how = match what {
            "read" => How::Read,
            "map" => How::Map,
            _ => How::Around,
        };
        let (Some(path), Some((from, end))) = (files.get(&inode), range) else { continue };
        accesses.push(Access { path: (*path).to_owned(), how, from, end });
    }
    accesses
}
