//! Runs one short trial on a bare disk, from boot to results, which takes about a second.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use disklab_config::Suite;
use disklab_config::kernel::NEWEST;
use disklab_kernels::{Btrfs, Cache, find};
use disklab_record::{Status, manifest};
use disklab_runner::Run;
use disklab_runner::{Installation, Timeouts};

use crate::exit::{Failure, cannot};
use crate::home::Home;
use crate::run::own_suite;
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

/// Boots a guest, and describes the result. An error gives the reason of the failure.
pub fn boot(cache: Cache, installation: Installation) -> Result<String, Failure> {
    let home = Home::open()?;
    let trials = Suite::of_text(NAME, NAME, SUITE, &[])?.trials(&home.lab)?;
    let kernel = find(&cache, &home.share, Btrfs::Policies, NEWEST)?;
    let folder =
        tempfile::tempdir().map_err(|error| cannot!("cannot make a temporary folder: {error}"))?;
    let run = Run {
        kernels: BTreeMap::from([(NEWEST.to_owned(), kernel)]),
        installation,
        cache,
        timeouts: Timeouts::default(),
        jobs: 1,
        trace: true,
        deadline: None,
        stop: &STOP,
    };
    let start = Instant::now();
    let suite = manifest::Suite::new(NAME, SUITE, Vec::new());
    let record = own_suite(&run, suite, &trials, &folder.path().join(NAME), &|_| ())?;
    let took = words::wall(start.elapsed());
    match record.lines() {
        [outcome] if outcome.status == Status::Ok => {
            Ok(format!("started, served requests and ended in {took}"))
        }
        [outcome] => {
            let reason = outcome.reason.clone();
            Err(Failure::cannot(reason.unwrap_or_else(|| outcome.status.to_string())))
        }
        _ => Err(cannot!("the guest ended, and its trial was not recorded")),
    }
}
