//! `run --on host`: runs a suite on disks of this machine, or in one of its mounted filesystems.

pub mod here;
mod place;

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use disklab_block_devices::{Allow, Disk, guard, journal};
use disklab_config::kernel::NEWEST;
use disklab_config::{Lab, Trial};
use disklab_record::manifest::{OnHost, UntilDecided};
use disklab_runner::Timeouts;
use disklab_runner::host::{Host, HostPlace, Permission};
use disklab_units::Nanos;
use itertools::Itertools;

use crate::exit::{Failure, cannot, mistaken};
use crate::question::{Overrides, Question};
use crate::words;
pub use place::made_of;
use place::{HostQuestion, on_disks};

/// The system that runs the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ExecutorChoice {
    /// Guests on modelled disks, in virtual time.
    #[default]
    Kernel,
    /// This machine's kernel, on its own disks.
    Host,
    /// A fast model of the stack without a kernel, for searches. It models direct reads of btrfs's
    /// mirrors, with the read policies that this program was built with.
    Model,
}

#[derive(Debug, Clone, clap::Args)]
pub struct HostArgs {
    /// The system that runs the trials.
    #[arg(
        long,
        value_enum,
        default_value_t = ExecutorChoice::Kernel,
        value_name = "EXECUTOR",
        help_heading = ON
    )]
    pub on: ExecutorChoice,

    /// The disks of this machine to use, in the order of the array. All their data is lost.
    ///
    /// Each disk must be in the allow file too: see `disklab devices`.
    #[arg(long, value_name = "DEVICE,...", value_delimiter = ',', help_heading = ON)]
    pub devices: Vec<PathBuf>,

    /// The arrays to build from the disks: arrays of the suite, or others of the lab.
    ///
    /// [default: all arrays of the suite that have this number of disks]
    #[arg(long, value_name = "NAME,...", help_heading = ON)]
    pub array: Option<String>,

    /// Run in a mounted filesystem in place of disks: in a folder, or on one file.
    ///
    /// In a folder, disklab makes a folder and removes it again. A file is only read.
    #[arg(long, value_name = "PATH", conflicts_with = "devices", help_heading = ON)]
    pub at: Option<PathBuf>,

    /// The list of disks that may be written [default: ~/.config/disklab/devices.toml].
    #[arg(long, value_name = "FILE", help_heading = ON)]
    pub allow: Option<PathBuf>,

    /// Disks of --devices that may be written although they hold data.
    #[arg(long, value_name = "DEVICE,...", value_delimiter = ',', help_heading = ON)]
    pub overwrite: Vec<PathBuf>,

    /// The idle time before each trial; use of the disks in it counts as a disturbance [default: 1
    /// s].
    #[arg(long, value_name = "TIME", help_heading = ON)]
    pub rest: Option<Nanos>,

    /// The longest time that a load runs before it is measured.
    ///
    /// The load runs until its rate is steady; 0 s measures at once. [default: five times the
    /// measured time]
    #[arg(long, value_name = "TIME", help_heading = ON)]
    pub warm_up: Option<Nanos>,

    /// The seed of the order of trials [default: a new one for each run].
    #[arg(long, value_name = "N", help_heading = ON)]
    pub order: Option<u32>,

    /// Do not measure the trials of the baseline twice.
    ///
    /// The second measurement shows how much two measurements of the same trial differ.
    #[arg(long, help_heading = ON)]
    pub no_pairs: bool,

    /// Print every command and every write, in order, and do none of them.
    #[arg(long, help_heading = ON)]
    pub dry_run: bool,
}

/// Long enough to see programs that write every second.
const REST: Nanos = Nanos::from_secs(1);
const ON: &str = "On this machine's own disks";

impl HostArgs {
    /// Refuses options that need `--on host` without it.
    pub fn check(&self) -> Result<(), Failure> {
        let where_to = [("--devices", !self.devices.is_empty()), ("--at", self.at.is_some())];
        let how = [
            ("--dry-run", self.dry_run),
            ("--rest", self.rest.is_some()),
            ("--warm-up", self.warm_up.is_some()),
            ("--order", self.order.is_some()),
            ("--no-pairs", self.no_pairs),
        ];
        let mut options = where_to.into_iter().chain(self.for_disks()).chain(how);
        let Some((option, _)) = options.find(|(_, is_given)| *is_given) else { return Ok(()) };
        if self.on == ExecutorChoice::Host {
            return Ok(());
        }
        Err(mistaken!("{option} is for this machine's own disks: add --on host, or leave it out"))
    }

    /// Lists options that need `--devices`, and whether each is given.
    fn for_disks(&self) -> [(&'static str, bool); 3] {
        [
            ("--array", self.array.is_some()),
            ("--allow", self.allow.is_some()),
            ("--overwrite", !self.overwrite.is_empty()),
        ]
    }

    /// Refuses options for disks if a filesystem was named.
    fn check_at(&self) -> Result<(), Failure> {
        match self.for_disks().iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(mistaken!(
                "{option} is for disks that are given (--devices); --at makes no filesystem and \
                 overwrites nothing: leave it out"
            )),
            None => Ok(()),
        }
    }

    /// Returns the arguments of a record that is continued. The list of allowed disks must be typed
    /// again, since the record may be somebody else's.
    pub fn recorded(&self, on: &OnHost) -> Result<Self, Failure> {
        if let (None, Some(list)) = (&self.allow, &on.allow)
            && Allow::load(None).map_or(true, |usual| usual.file != *list)
        {
            return Err(mistaken!(
                "--resume: the record's disks were allowed by {0}; name that list again: --allow \
                 {0}",
                list.display()
            ));
        }
        Ok(Self {
            on: ExecutorChoice::Host,
            devices: on.disks.iter().map(|disk| disk.named.clone()).collect(),
            at: on.at.clone(),
            order: Some(on.order),
            rest: self.rest.or(on.rest),
            warm_up: on.warm_up,
            ..self.clone()
        })
    }

    /// Finds the named disks or filesystem, and builds the lab's arrays from them.
    pub fn ask(
        &self,
        lab: &Lab,
        suite: Option<&str>,
        arrays: Option<Vec<String>>,
        overrides: &Overrides,
    ) -> Result<HostQuestion, Failure> {
        if let Some(path) = &self.at {
            self.check_at()?;
            check_namespaces()?;
            return here::ask(path, lab, overrides);
        }
        if self.devices.is_empty() {
            return Err(mistaken!(
                "--on host needs disks: --devices /dev/sdb,/dev/sdc (all data on them is lost), or \
                 --at and a folder of a mounted filesystem; `disklab devices` lists this machine's \
                 disks"
            ));
        }
        let found: Result<Vec<Disk>, _> =
            self.devices.iter().map(|path| Disk::find(path)).collect();
        let disks = found?;
        guard::apart(&disks).map_err(Failure::mistaken)?;
        let allow = Allow::load(self.allow.as_deref())?;
        // A disk that another disklab uses is reported as such, and not as a disk in use.
        drop(disklab_block_devices::claim_disks(&disks).map_err(Failure::cannot)?);
        for disk in &disks {
            guard::may_write(disk, &allow, &self.overwrite).map_err(Failure::mistaken)?;
        }
        for path in &self.overwrite {
            let disk = Disk::find(path)?;
            if disks.iter().all(|known| known.number != disk.number) {
                return Err(mistaken!("--overwrite {}: it is not among --devices", path.display()));
            }
        }
        let overrides = match &self.array {
            Some(arrays) => overrides.with("array", arrays)?,
            None => overrides.clone(),
        };
        let of = if self.array.is_some() { "of --array" } else { "of the suite" };
        let fitting = match arrays {
            Some(arrays) => arrays,
            None => fitting(lab, suite.unwrap_or_default(), &overrides, disks.len(), of)?,
        };
        let overrides = overrides.with("array", &fitting.join(","))?;
        let lab = on_disks(lab, &fitting, &disks);
        let permission = Permission { allow, overwrite: self.overwrite.clone() };
        Ok(HostQuestion { place: HostPlace::Disks { disks, permission }, lab, overrides })
    }

    pub fn host(
        &self,
        place: HostPlace,
        trace: bool,
        stop: &'static AtomicBool,
    ) -> Result<Host, Failure> {
        Ok(Host {
            program: program()?,
            place,
            name: disklab_runner::host::name()?,
            state: journal::folder().map_err(Failure::cannot)?,
            trace,
            rest: self.rest.unwrap_or(REST),
            warm_up: self.warm_up,
            order: self.order.unwrap_or_else(drawn),
            deadline: None,
            timeouts: Timeouts::default(),
            stop,
        })
    }
}

/// Checks that this process may make namespaces: root may, and users may on some machines.
fn check_namespaces() -> Result<(), Failure> {
    let program = program()?;
    disklab_guest::init::host::probe(&program).map_err(|why| {
        cannot!(
            "{why}. Namespaces keep the programs of a trial away from your files. Run disklab as \
             root, or permit namespaces for users; as root: sysctl -w \
             kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), \
             kernel.unprivileged_userns_clone=1 (older Debians) or user.max_user_namespaces=10000"
        )
    })
}

fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| cannot!("cannot find this program itself: {error}"))
}

/// Returns a new random number.
fn drawn() -> u32 {
    RandomState::new().hash_one("order of trials") as u32
}

/// Returns the arrays with which a record was begun, from the settings of its suite.
pub fn arrays(set: &[String]) -> Option<Vec<String>> {
    let values = set.iter().find_map(|setting| setting.strip_prefix("array="))?;
    Some(values.split(',').map(str::to_owned).collect())
}

/// Returns the arrays of a suite that have this number of disks.
fn fitting(
    lab: &Lab,
    suite: &str,
    overrides: &Overrides,
    disks: usize,
    of: &str,
) -> Result<Vec<String>, Failure> {
    let trials = Question::ask(lab, suite, overrides)?.trials;
    let (mut fit, mut known) = (Vec::new(), BTreeSet::new());
    for Trial { array, devices, .. } in &trials {
        if devices.len() == disks && !fit.contains(&array.name) {
            fit.push(array.name.clone());
        }
        known.insert(format!("{} ({})", array.name, words::count(devices.len(), "disk")));
    }
    if fit.is_empty() {
        return Err(mistaken!(
            "--devices: {} named, and no array {of} has this number: {}; name another array of the \
             lab with --array",
            words::count(disks, "disk"),
            known.iter().join(", ")
        ));
    }
    Ok(fit)
}

/// Returns the facts about the machine's disks that a record keeps.
pub fn recorded(host: &Host) -> OnHost {
    let (at, allow) = match &host.place {
        HostPlace::At { path, .. } => (Some(path.clone()), None),
        HostPlace::Disks { permission, .. } => {
            (None, std::path::absolute(&permission.allow.file).ok())
        }
    };
    let disk = |disk: &Disk| disklab_record::manifest::HostDisk {
        named: disk.named.clone(),
        name: disk.name.clone(),
        bytes: disk.bytes,
        model: disk.model.clone(),
        serial: disk.serial.clone(),
    };
    OnHost {
        at,
        allow,
        order: host.order,
        rest: Some(host.rest),
        warm_up: host.warm_up,
        disks: host.place.disks().iter().map(disk).collect(),
    }
}

/// Warns if the record is on the filesystem that is measured. The trace then writes tens of MB a
/// minute there.
pub fn record_is_in_the_way(host: &Host, record: &Path) -> Option<String> {
    let HostPlace::At { path, .. } = &host.place else { return None };
    let filesystem = |path: &Path| rustix::fs::statvfs(path).ok().map(|stat| stat.f_fsid);
    (filesystem(path)? == filesystem(record)?).then(|| {
        format!(
            "the record is on the measured filesystem, {}: while a trial runs, its output, mostly \
             its trace, is written to the same disks; name a folder elsewhere with --out, or leave \
             the trace out (--no-trace)",
            path.display()
        )
    })
}

/// Refuses settings that the running kernel cannot have.
pub fn check_kernels(trials: &[Trial]) -> Result<(), Failure> {
    match trials.iter().find(|trial| trial.kernel != NEWEST) {
        Some(trial) => Err(mistaken!(
            "--on host runs on this machine's kernel, and the suite asks for {}; add --set \
             kernel=newest, and boot another kernel for another record",
            trial.kernel
        )),
        None => Ok(()),
    }
}

/// Prints the actions of the trials, in order. If seeds are added to undecided cells only, the
/// first seeds are printed.
pub fn dry_run(
    host: &Host,
    trials: &[Trial],
    until: Option<&UntilDecided>,
    out: &mut dyn std::io::Write,
) -> Result<(), Failure> {
    let analyses = until.map(|until| until.analyses.as_slice()).unwrap_or_default();
    let first = analyses.first().copied().unwrap_or(u32::MAX);
    let sure: Vec<Trial> =
        trials.iter().filter(|trial| trial.seed_index <= first).cloned().collect();
    for line in disklab_runner::host::script(host, &sure) {
        writeln!(out, "{line}")?;
    }
    let time = words::wall(disklab_runner::host::time(host, &sure));
    writeln!(out, "# {} that would take about {time}", words::count(sure.len(), "trial"))?;
    if let (Some(last), true) = (analyses.last(), sure.len() < trials.len()) {
        writeln!(
            out,
            "# the same with seeds up to {last}, for cells whose verdict is undecided after seed \
             {first}"
        )?;
    }
    Ok(())
}
