//! Runs the program in a guest, on copies of its files, to see which parts it reads. Also runs its
//! replay, to see if the replay takes as long.

use std::collections::BTreeMap;

use disklab_config::priority::Priority;
use disklab_config::startup::{Startup, StartupStep, Way};
use disklab_config::suite::metric::STARTUP;
use disklab_config::workload::{Workload, WorkloadKind};
use disklab_config::{Lab, Suite};
use disklab_protocol::names;
use disklab_protocol::pages::{PageAccess, PageLine};
use disklab_record::manifest;
use disklab_record::{Outcome, Record, Status};
use disklab_runner::Event;
use disklab_units::Nanos;
use tempfile::TempDir;

use crate::exit::{Failure, cannot};
use crate::home::Home;
use crate::run::{own_suite, ready};
use crate::screen::Screen;
use crate::signals;

const SUITE: &str = r#"
question = "What does the program read?"
seeds = 1
memory = "2 GiB"
kernel = "newest"
[axes]
"#;
/// Array with a disk that takes 50 us for every request.
const SWIFT: &str = "constant-ext4";
/// Disks on which program and replay are compared: on one the order matters most, on the other the
/// waits.
pub const COMPARED: [(&str, &str); 2] = [("a hard disk", "bfq-hdd"), ("an SSD", "bfq-ssd")];

/// Action of a thread or process of the program. They are numbered in the order in which they
/// started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadEvent {
    pub thread: u32,
    pub what: ThreadAct,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadAct {
    Access(FileAccess),
    /// A lookup of a name, by its path, with nothing in memory.
    Look(String),
    Starts(u32),
    Wakes(u32),
    /// A wait for the end of this thread, or of any thread that it started.
    Waits(Option<u32>),
    Ends,
}

/// Pages of a file that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAccess {
    pub path: String,
    pub how: PageAccess,
    pub from: u64,
    pub end: u64,
}

/// Start of the program in a guest.
pub struct Start {
    /// Events on a disk that takes 50 us for every request, in order.
    pub events: Vec<ThreadEvent>,
    /// Time of the start on that disk.
    pub ready: Nanos,
    /// Times of the start on the otherwise idle disks of [`COMPARED`].
    pub compared: [Nanos; 2],
}

pub fn run(home: &Home, name: &str, startup: Startup, screen: &Screen) -> Result<Start, Failure> {
    let say = |event: Event<'_>| {
        if let Event::Preparing { .. } = event {
            screen.remark("copying its files to a disk, and starting it in a guest");
        }
    };
    let arrays = [SWIFT, COMPARED[0].1, COMPARED[1].1];
    let record = StartRecord::make(home, name, startup, &arrays, screen, &say)?;
    let (outcome, ready) = record.start(SWIFT)?;
    let compared = record.compared()?;
    let raw =
        record.record.folder().join(outcome.raw.as_deref().unwrap_or_default()).join(names::PAGES);
    let text =
        std::fs::read_to_string(&raw).map_err(|e| cannot!("cannot read {}: {e}", raw.display()))?;
    Ok(Start { events: events(&text), ready, compared })
}

/// Returns the times of the replay on the disks of [`COMPARED`], without computing. Computing takes
/// no time in a guest.
pub fn replayed(
    home: &Home,
    name: &str,
    startup: &Startup,
    screen: &Screen,
) -> Result<[Nanos; 2], Failure> {
    let mut startup = startup.clone();
    for step in startup.threads.0.iter_mut().flatten() {
        if let StartupStep::Use { think, .. } = step {
            *think = Nanos::ZERO;
        }
    }
    let arrays = COMPARED.map(|(_, array)| array);
    StartRecord::make(home, name, startup, &arrays, screen, &|_| ())?.compared()
}

struct StartRecord {
    record: Record,
    _place: TempDir,
}

impl StartRecord {
    /// Starts the program, or its replay, in a guest on each of these arrays.
    fn make(
        home: &Home,
        name: &str,
        startup: Startup,
        arrays: &[&str],
        screen: &Screen,
        say: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Self, Failure> {
        let value = match startup.way {
            Way::Program => format!("{name}:program"),
            Way::Replay => name.to_owned(),
        };
        let mut lab: Lab = home.lab.clone();
        let workload = Workload {
            name: name.to_owned(),
            summary: String::new(),
            kind: WorkloadKind::Startup(startup),
            priority: Priority::default(),
        };
        lab.workloads.insert(name.to_owned(), workload);
        let text = format!("{SUITE}array = {arrays:?}\nworkload = [{value:?}]\n");
        let suite = Suite::of_text("record-startup", "record-startup", &text, &[])?;
        let trials = suite.trials(&lab)?;
        let ready = ready::check(home, &trials, 1, signals::watch()?, screen)?;
        let place =
            tempfile::tempdir().map_err(|e| cannot!("cannot make a temporary folder: {e}"))?;
        let asked = manifest::Suite::new("record-startup", text, Vec::new());
        let folder = place.path().join("record");
        let record = own_suite(&ready, asked, &trials, &folder, say)?;
        Ok(Self { record, _place: place })
    }

    fn compared(&self) -> Result<[Nanos; 2], Failure> {
        let [hard_disk, ssd] = COMPARED.map(|(_, array)| self.start(array));
        Ok([hard_disk?.1, ssd?.1])
    }

    /// Returns the outcome on this array, and the time of the start.
    fn start(&self, array: &str) -> Result<(&Outcome, Nanos), Failure> {
        let outcome = self
            .record
            .lines()
            .iter()
            .find(|outcome| outcome.cell.value("array").is_none_or(|value| value == array));
        let reason = || outcome.and_then(|outcome| outcome.reason.clone()).unwrap_or_default();
        let outcome = outcome.filter(|outcome| outcome.status == Status::Ok).ok_or_else(|| {
            cannot!(
                "the program did not start in the guest, which has only the files that the \
                 recorded start used: {}",
                reason()
            )
        })?;
        match outcome.measures.get(STARTUP).filter(|measure| !measure.censored) {
            Some(measure) => Ok((outcome, Nanos(measure.value as u64))),
            None => Err(cannot!(
                "the program was not ready within 60 s of virtual time in the guest, on array \
                 {array}"
            )),
        }
    }
}

/// Parses the lines that the guest's first process writes. Malformed lines are left out.
fn events(text: &str) -> Vec<ThreadEvent> {
    let mut files: BTreeMap<u64, &str> = BTreeMap::new();
    let mut events = Vec::new();
    let mut thread = 0;
    for line in text.lines().filter_map(PageLine::read) {
        let path = |inode| files.get(&inode).map(|path: &&str| (*path).to_owned());
        let what = match line {
            PageLine::File { inode, path } => {
                files.insert(inode, path);
                None
            }
            PageLine::Thread(number) => {
                thread = number;
                None
            }
            PageLine::Access { how, inode, from, end } => {
                path(inode).map(|path| ThreadAct::Access(FileAccess { path, how, from, end }))
            }
            PageLine::Look { inode } => path(inode).map(ThreadAct::Look),
            PageLine::Starts(other) => Some(ThreadAct::Starts(other)),
            PageLine::Wakes(other) => Some(ThreadAct::Wakes(other)),
            PageLine::Waits(whom) => Some(ThreadAct::Waits(whom)),
            PageLine::Ends => Some(ThreadAct::Ends),
        };
        events.extend(what.map(|what| ThreadEvent { thread, what }));
    }
    events
}
