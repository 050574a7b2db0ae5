//! Guests for benches: one disk of 50 us, or null_blk, and a program.

use anyhow::{Context, ensure};
use disklab_config::device::{Constant, Model};
use disklab_kernels::{Cache, Kernel, Share};
use disklab_protocol::action::{Action, Pids, Plan};
use disklab_protocol::heartbeat::Heartbeat;
use disklab_protocol::machine::{GuestMachine, MachineDisk};
use disklab_protocol::measure::{Measure, Measured};
use disklab_protocol::names;
use disklab_runner::End;
use disklab_runner::guest::Guest;
use disklab_runner::{Installation, Timeouts, evidence};
use disklab_units::{Bytes, Nanos, Seed};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub static STOP: AtomicBool = AtomicBool::new(false);

/// The parts of this machine that benches need.
pub struct BenchSetup {
    pub share: Share,
    pub cache: Cache,
    pub kernel: Kernel,
    pub installation: Installation,
}

impl BenchSetup {
    pub fn find() -> anyhow::Result<Self> {
        let share = Share::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?;
        let cache = Cache::open()?;
        let kernel =
            disklab_kernels::find(&cache, &share, disklab_kernels::Btrfs::Policies, "newest")
                .context("found no built kernel; build one: disklab kernel build")?;
        Ok(Self { share, cache, kernel, installation: Installation::find()? })
    }

    /// Runs `command` in a guest with additional kernel `parameters`, and returns the whole time.
    pub fn run(
        &self,
        command: &[String],
        parameters: &[&str],
        trace: bool,
        seen: &mut dyn FnMut(Heartbeat),
    ) -> anyhow::Result<Duration> {
        let folder = tempfile::tempdir()?;
        let latency = Nanos::from_micros(50);
        let model =
            Model::Constant(Constant { latency, servers: 32, rotational: false, queue_depth: 32 });
        let (bytes, image) = (Bytes::gib(1), "0.img".to_owned());
        let disk = MachineDisk { device: "50 us".to_owned(), bytes, size: bytes, model, image };
        let build = disklab_guest::BUILD.to_owned();
        let machine = GuestMachine {
            build,
            seed: Seed(1),
            disks: vec![disk],
            controller: None,
            host: None,
            trace,
            power_cuts: None,
        };
        let plan = Plan::new([
            Action::Pids(Pids::Align),
            Action::Measure(Measure {
                phase: "measure".to_owned(),
                what: Measured::Program { command: command.to_vec(), gate: None },
                ramp_ns: 0,
                sync_every_ns: None,
            }),
        ]);
        std::fs::write(folder.path().join(names::MACHINE), serde_json::to_vec(&machine)?)?;
        std::fs::write(folder.path().join(names::PLAN), serde_json::to_vec(&plan)?)?;
        let guest = Guest {
            kernel: &self.kernel.path,
            installation: &self.installation,
            folder: folder.path(),
            memory: Bytes::mib(256),
            guests: 1,
            parameters,
        };
        let start = Instant::now();
        let end = guest.run(&Timeouts::default(), Nanos::from_secs(3600), &STOP, seen)?;
        let took = start.elapsed();
        // The library does not see null_blk's requests, so that no phase ends: the end of the
        // program is enough.
        let finished =
            std::fs::read_to_string(folder.path().join(names::STEPS)).unwrap_or_default();
        ensure!(
            matches!(end, End::Exited(_)) && finished.contains("\"status\":\"exit status: 0\""),
            "the guest failed: {:?}; {finished}",
            evidence::judge(folder.path(), &end, evidence::Who::Guest).err()
        );
        Ok(took)
    }
}
