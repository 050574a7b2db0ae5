//! Finds everything that the tests need, and starts guests.

use disklab_config::Layout;
use disklab_config::device::{Constant, Model};
use disklab_kernels::{Btrfs, Cache, Kernel, Provenance, Share};
use disklab_protocol::action::{Action, Pids, Plan, StartBackground, StopBackground};
use disklab_protocol::closing::Closing;
use disklab_protocol::machine::{GuestMachine, MachineDisk};
use disklab_protocol::measure::{Measure, Measured};
use disklab_protocol::names;
use disklab_protocol::step::Step;
use disklab_runner::End;
use disklab_runner::evidence;
use disklab_runner::guest::Guest;
use disklab_runner::{Installation, Timeouts};
use disklab_trace::TraceEntry;
use disklab_units::{Bytes, Nanos, Seed};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub fn share() -> Share {
    Share::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// Reads the trace in a trial's raw folder.
pub fn entries(raw: &Path) -> Vec<TraceEntry> {
    let path = disklab_trace::find(raw).expect("a trace");
    disklab_trace::open(&path).unwrap().map(Result::unwrap).collect()
}

/// Returns a cache for prepared disks. It is not the user's, and is empty when the tests begin
/// ([`empty_cache`]).
pub fn cache() -> Cache {
    Cache::in_folder(Path::new(CACHE)).unwrap()
}

const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/guests");

pub fn empty_cache() {
    let _ = std::fs::remove_dir_all(CACHE);
}

/// Names the series whose kernels the tests boot, such as `7.3 7.2`. All of them must be built.
const SERIES: &str = "DISKLAB_TEST_SERIES";

/// Returns the series that [`SERIES`] names, or None if it is not set.
fn wanted_series() -> Option<Vec<String>> {
    let wanted = std::env::var(SERIES).ok()?;
    Some(wanted.split_whitespace().map(str::to_owned).collect())
}

fn find_kernel(btrfs: Btrfs) -> disklab_kernels::Result<Kernel> {
    let wanted = wanted_series().and_then(|series| series.into_iter().next());
    let name = wanted.as_deref().unwrap_or("newest");
    disklab_kernels::find(&Cache::open()?, &share(), btrfs, name)
}

/// Returns a kernel of the first series that [`SERIES`] names, or the newest. It is a kernel of the
/// user's cache, since the tests build none.
pub fn kernel() -> Kernel {
    find_kernel(Btrfs::Policies).unwrap()
}

/// Returns the kernel of the same series whose btrfs is that of its source, byte for byte.
pub fn kernel_with_mainline_btrfs() -> Kernel {
    find_kernel(Btrfs::Untouched).expect("`disklab kernel build --mainline-btrfs` builds it")
}

/// Returns a kernel with our btrfs of each series that [`SERIES`] names, or of each built series,
/// the newest first: a suite must work on all of them.
pub fn kernels() -> Vec<Kernel> {
    let mut kernels = disklab_kernels::list(&Cache::open().unwrap(), &share()).unwrap().kernels;
    kernels.retain(|kernel| {
        kernel.current(&share()).unwrap() == Some(Btrfs::Policies)
            && matches!(kernel.source, Provenance::Package { .. })
    });
    kernels.dedup_by(|a, b| a.series == b.series);
    let wanted = wanted_series();
    let is_built = |series: &str| kernels.iter().any(|kernel| kernel.series == series);
    let build = |series: &str| format!("disklab kernel build --kernel {series}");
    for series in wanted.iter().flatten() {
        assert!(is_built(series), "no kernel of {series} is built: {}", build(series));
    }
    let is_wanted =
        |series: &str| wanted.as_ref().is_none_or(|all| all.iter().any(|one| one == series));
    for entry in std::fs::read_dir(share().lab().join("kernels")).unwrap() {
        let path = entry.unwrap().path();
        let series = path.file_stem().unwrap().to_string_lossy();
        if !is_wanted(&series) {
            println!("skipped on {series}: {SERIES} does not name it");
        } else if !is_built(&series) {
            println!("skipped on {series}: {}", build(&series));
        }
    }
    kernels.retain(|kernel| is_wanted(&kernel.series));
    kernels
}

/// Returns true if the kernel has a policy of this name in sysfs. In Linux 6.12, btrfs has only
/// `pid` of its own.
pub fn has_policy(kernel: &Kernel, in_sysfs: &str) -> bool {
    let is_experimental = ["round-robin", "devid"].iter().any(|name| in_sysfs.starts_with(name));
    !is_experimental || kernel.has_option("BTRFS_EXPERIMENTAL")
}

/// Returns a kernel of the user's with OpenZFS. No package's kernel has it, and `make test` builds
/// none.
pub fn kernel_with_zfs() -> Result<Kernel, String> {
    let kernels = disklab_kernels::list(&Cache::open().unwrap(), &share()).unwrap().kernels;
    let has_zfs = |kernel: &Kernel| {
        kernel.has_option(Layout::ZFS) && kernel.current(&share()).unwrap().is_some()
    };
    let is_here = |program: &&str| {
        ["/usr/local/sbin", "/usr/sbin"]
            .iter()
            .any(|folder| Path::new(folder).join(program).is_file())
    };
    match ["zpool", "zfs"].iter().find(|program| !is_here(program)) {
        Some(program) => Err(format!("{program} is not installed")),
        None => kernels.into_iter().find(has_zfs).ok_or_else(|| {
            "no kernel here has OpenZFS: install/zfs-tree, disklab kernel build --source".to_owned()
        }),
    }
}

/// Returns the reason why tests with guests cannot run here.
pub fn missing() -> Option<String> {
    let tools = || disklab_runner::facts::tools().err().map(|error| error.to_string());
    find_kernel(Btrfs::Policies).err().map(|error| error.to_string()).or_else(tools)
}

/// A guest's folder and its description.
pub struct TestGuest {
    pub folder: tempfile::TempDir,
    pub machine: GuestMachine,
    /// Actions before the measurement.
    pub before: Vec<Action>,
    pub background: Option<StartBackground>,
    /// Number of process ids that are used up between the background and the measured load.
    pub pids: u32,
    pub what: Measured,
    /// Actions after the measurement.
    pub after: Vec<Action>,
    pub kernel: Kernel,
    /// Additional kernel parameters.
    pub parameters: Vec<String>,
    pub installation: Installation,
    /// Time without progress after which the guest is killed.
    pub silence: Duration,
    /// Wall time after which the guest is killed.
    pub wall: Duration,
    /// Virtual time at which the guest is killed.
    pub limit: Nanos,
}

/// Returns a disk that takes `micros` for every request.
pub fn constant(bytes: Bytes, micros: u64) -> MachineDisk {
    let latency = Nanos::from_micros(micros);
    let model =
        Model::Constant(Constant { latency, servers: 32, rotational: false, queue_depth: 32 });
    MachineDisk {
        device: "constant".to_owned(),
        bytes,
        size: bytes,
        model,
        image: "0.img".to_owned(),
    }
}

/// Measures the requests of a program.
pub fn program(command: &[&str]) -> Measured {
    Measured::Program { command: command.iter().map(|&word| word.to_owned()).collect(), gate: None }
}

impl TestGuest {
    /// Makes a guest with a disk of 64 MiB that takes 50 us, and measures `command`.
    pub fn new(command: &[&str]) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            machine: GuestMachine {
                build: disklab_guest::BUILD.to_owned(),
                seed: Seed(1),
                disks: vec![constant(Bytes::mib(64), 50)],
                controller: None,
                host: None,
                trace: true,
                power_cuts: None,
            },
            before: Vec::new(),
            background: None,
            pids: 0,
            what: program(command),
            after: Vec::new(),
            kernel: kernel(),
            parameters: Vec::new(),
            installation: Installation::find().unwrap(),
            silence: Duration::from_secs(30),
            wall: Duration::from_secs(600),
            limit: Nanos::from_secs(600),
        }
    }

    /// Makes a guest that measures a shell script and a read of the disk, without which there is no
    /// phase.
    pub fn shell(script: &str) -> Self {
        Self::new(&["sh", "-c", &format!("head -c 4096 /dev/vda >/dev/null; {script}")])
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the guest, and returns its result as a trial's outcome would have it.
    pub fn run(&self) -> Result<Closing, String> {
        static STOP: AtomicBool = AtomicBool::new(false);
        let end = self.run_until(&STOP);
        evidence::judge(self.folder.path(), &end, evidence::Who::Guest)
    }

    pub fn run_until(&self, stop: &AtomicBool) -> End {
        let json = |name: &str, text: serde_json::Result<Vec<u8>>| {
            std::fs::write(self.path(name), text.unwrap()).unwrap();
        };
        json(names::MACHINE, serde_json::to_vec(&self.machine));
        json(names::PLAN, serde_json::to_vec(&self.plan()));
        let parameters: Vec<&str> = self.parameters.iter().map(String::as_str).collect();
        let guest = Guest {
            kernel: &self.kernel.path,
            installation: &self.installation,
            folder: self.folder.path(),
            memory: Bytes::mib(256),
            guests: 2,
            parameters: &parameters,
        };
        let timeouts = Timeouts { silence: self.silence, wall: self.wall, ..Timeouts::default() };
        guest.run(&timeouts, self.limit, stop, &mut |_| ()).unwrap()
    }

    fn plan(&self) -> Plan {
        let start = [Action::Pids(Pids::Align)].into_iter().chain(self.before.clone());
        let background = self.background.clone().map(Action::StartBackground);
        let measure = [
            Action::Pids(Pids::Consume(self.pids)),
            Action::Measure(Measure {
                what: self.what.clone(),
                phase: "measure".to_owned(),
                ramp_ns: 0,
                sync_every_ns: None,
            }),
        ];
        let stop = self.background.iter().map(|_| Action::StopBackground(StopBackground {}));
        Plan::new(start.chain(background).chain(measure).chain(stop).chain(self.after.clone()))
    }

    /// Returns the steps that the first process wrote.
    pub fn steps(&self) -> Vec<Step> {
        Step::read_all(&std::fs::read(self.path(names::STEPS)).unwrap())
    }

    /// Returns the output of the measured program.
    pub fn said(&self) -> String {
        let said = self.steps().into_iter().find_map(|step| match step {
            Step::Program { step, end } if step == "measure" => Some(end.said),
            _ => None,
        });
        said.expect("nothing was measured")
    }

    pub fn processes(&self) -> Vec<String> {
        processes(self.folder.path())
    }
}

/// Lists processes that still run in a guest's folder. Its programs die with its kernel, but not at
/// the same instant: they get some seconds.
pub fn processes(folder: &Path) -> Vec<String> {
    for _ in 0..100 {
        if processes_now(folder).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    processes_now(folder)
}

/// Returns the ids of the processes that run in a guest's folder now.
pub fn processes_now(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let here = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder);
        let alive = std::fs::read_to_string(entry.path().join("stat"))
            .is_ok_and(|stat| !stat.contains(") Z "));
        if here && alive {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}
