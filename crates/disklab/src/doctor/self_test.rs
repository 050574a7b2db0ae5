//! One short trial on a bare disk, from boot to results: it takes about a second.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use disklab_config::Suite;
use disklab_config::kernel::NEWEST;
use disklab_kernels::Cache;
use disklab_record::{Manifest, Record, Status, manifest};
use disklab_runner::{Executor, Installation, Patience, run::Run};

use crate::home::Home;
use crate::words;

const NAME: &str = "self-test";

const SUITE: &str = r#"
question = "Does a guest start, serve requests and end?"
seeds = 1
memory = "256 MiB"
runtime = { rotational = "5 ms", solid_state = "5 ms" }
array = "single-constant"
workload = "smoke-randread"
"#;

static STOP: AtomicBool = AtomicBool::new(false);

/// What happened, or why nothing did.
pub fn boot(cache: Cache, installation: Installation) -> Result<String, String> {
    let home = Home::open().map_err(|_| "the lab cannot be read".to_owned())?;
    let suite = Suite::of_text(NAME, NAME, SUITE, &[]).map_err(|mistakes| mistakes.to_string())?;
    let trials = suite.trials(&home.lab).map_err(|mistakes| mistakes.to_string())?;
    let kernel =
        disklab_kernels::find(&cache, &home.share, disklab_kernels::Btrfs::Policies, NEWEST)
            .map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let ids = trials.iter().map(|trial| trial.id.clone()).collect();
    let suite = manifest::Suite::new(NAME, SUITE, Vec::new());
    let manifest = Manifest::new(env!("CARGO_PKG_VERSION"), "", suite, ids);
    let writer =
        Record::create(folder.path(), NAME, &manifest).map_err(|error| error.to_string())?;
    let run = Run {
        kernels: BTreeMap::from([(NEWEST.to_owned(), kernel)]),
        installation,
        cache,
        patience: Patience::default(),
        jobs: 1,
        trace: true,
        deadline: None,
        stop: &STOP,
    };
    let start = Instant::now();
    run.carry_out(&trials, &writer, &|_| ()).map_err(|error| error.to_string())?;
    let took = words::wall(start.elapsed());
    let record = Record::open(writer.folder()).map_err(|error| error.to_string())?;
    match record.lines() {
        [outcome] if outcome.status == Status::Ok => {
            Ok(format!("started, served requests and ended in {took}"))
        }
        [outcome] => Err(outcome.reason.clone().unwrap_or_else(|| outcome.status.to_string())),
        _ => Err("left no result".to_owned()),
    }
}
