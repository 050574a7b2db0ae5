//! `run --on host`: the same suite, on disks of this machine or on a filesystem that it has.

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

/// Where trials run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ExecutorChoice {
    /// In guests, on modelled disks, in virtual time.
    #[default]
    Kernel,
    /// By this machine's kernel, on its own disks.
    Host,
    /// In a fast model of the stack without a kernel, for searches: direct reads of btrfs's
    /// mirrors, with the policies that this program was built with.
    Model,
}

#[derive(Debug, Clone, clap::Args)]
pub struct HostArgs {
    /// Carry trials out in guests on modelled disks, on this machine's own, or in a fast model
    /// without a kernel.
    #[arg(
        long,
        value_enum,
        default_value_t = ExecutorChoice::Kernel,
        value_name = "EXECUTOR",
        help_heading = ON
    )]
    pub on: ExecutorChoice,

    /// Disks of this machine, in the order of the array's, which lose all that is on them. Each has
    /// to be in the allow file too: see `disklab devices`.
    #[arg(long, value_name = "DEVICE,...", value_delimiter = ',', help_heading = ON)]
    pub devices: Vec<PathBuf>,

    /// Which of the suite's arrays to make of them, or another of the lab [default: all of the
    /// suite's that have so many disks].
    #[arg(long, value_name = "NAME,...", help_heading = ON)]
    pub array: Option<String>,

    /// Instead of disks: a folder of a mounted filesystem, where a folder is made and removed
    /// again, or one file, which is only read.
    #[arg(long, value_name = "PATH", conflicts_with = "devices", help_heading = ON)]
    pub at: Option<PathBuf>,

    /// The list of disks that may be written [default: ~/.config/disklab/devices.toml].
    #[arg(long, value_name = "FILE", help_heading = ON)]
    pub allow: Option<PathBuf>,

    /// A disk of --devices, named again, that may be written although it holds something.
    #[arg(long, value_name = "DEVICE,...", value_delimiter = ',', help_heading = ON)]
    pub overwrite: Vec<PathBuf>,

    /// Before each trial nothing of ours runs for so long; what then uses the disks disturbs
    /// [default: 1 s].
    #[arg(long, value_name = "TIME", help_heading = ON)]
    pub rest: Option<Nanos>,

    /// A load runs before it is measured until its rate is steady, for so long at most; 0 s: not at
    /// all [default: five times as long as it is measured].
    #[arg(long, value_name = "TIME", help_heading = ON)]
    pub warm_up: Option<Nanos>,

    /// The order of trials is drawn by this number [default: another for each run].
    #[arg(long, value_name = "N", help_heading = ON)]
    pub order: Option<u32>,

    /// Do not measure the baseline's trials twice: what two measurements of the same differ by
    /// stays unknown.
    #[arg(long, help_heading = ON)]
    pub no_pairs: bool,

    /// Print every command and every write, in order, and do none of it.
    #[arg(long, help_heading = ON)]
    pub dry_run: bool,
}

/// Long enough to see what writes every second.
const REST: Nanos = Nanos::from_secs(1);
const ON: &str = "On this machine's own disks";

impl HostArgs {
    /// Refuses options that only go with `--on host` where it is not said.
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

    /// Options that only go with `--devices`, and whether they are given.
    fn for_disks(&self) -> [(&'static str, bool); 3] {
        [
            ("--array", self.array.is_some()),
            ("--allow", self.allow.is_some()),
            ("--overwrite", !self.overwrite.is_empty()),
        ]
    }

    /// Refuses options that only go with disks, where a filesystem was named.
    fn check_at(&self) -> Result<(), Failure> {
        match self.for_disks().iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(mistaken!(
                "{option} is for disks that are given (--devices); --at makes no filesystem and \
                 overwrites nothing: leave it out"
            )),
            None => Ok(()),
        }
    }

    /// The same as a record has it, for one that is continued. Which list of disks counts has to be
    /// typed again: a record may be somebody else's.
    pub fn recorded(&self, on: &OnHost) -> Result<Self, Failure> {
        if let (None, Some(list)) = (&self.allow, &on.allow)
            && Allow::load(None).map_or(true, |usual| usual.file != *list)
        {
            return Err(mistaken!(
                "--resume: its disks were allowed by {0}; name that list again: --allow {0}",
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

    /// Finds what is named, and puts it in the place of what the lab's arrays are made of.
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
                "--on host: on which disks? --devices /dev/sdb,/dev/sdc (they lose all that is \
                 on them), or --at a folder of a mounted filesystem; `disklab devices` lists this \
                 machine's disks"
            ));
        }
        let found: Result<Vec<Disk>, _> =
            self.devices.iter().map(|path| Disk::find(path)).collect();
        let disks = found?;
        guard::apart(&disks).map_err(Failure::mistaken)?;
        let allow = Allow::load(self.allow.as_deref())?;
        // What another disklab has in use is not to be taken for somebody's.
        drop(disklab_block_devices::claim_disks(&disks).map_err(Failure::cannot)?);
        for disk in &disks {
            guard::may_write(disk, &allow, &self.overwrite).map_err(Failure::mistaken)?;
        }
        for path in &self.overwrite {
            let disk = Disk::find(path)?;
            if disks.iter().all(|known| known.number != disk.number) {
                return Err(mistaken!("--overwrite {}: it is none of --devices", path.display()));
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

/// Root has them; users where the machine lets them.
fn check_namespaces() -> Result<(), Failure> {
    let program = program()?;
    disklab_guest::init::host::probe(&program).map_err(|why| {
        cannot!(
            "{why}. They keep what a trial starts away from your files. Run it as root; or \
            let users have them, as root: sysctl -w \
             kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), \
             kernel.unprivileged_userns_clone=1 (older Debians) or \
             user.max_user_namespaces=10000"
        )
    })
}

fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| cannot!("cannot find this program itself: {error}"))
}

/// Another one each time.
fn drawn() -> u32 {
    RandomState::new().hash_one("order of trials") as u32
}

/// Those that a record was begun with, by the settings of its suite.
pub fn arrays(set: &[String]) -> Option<Vec<String>> {
    let values = set.iter().find_map(|setting| setting.strip_prefix("array="))?;
    Some(values.split(',').map(str::to_owned).collect())
}

/// The arrays of a suite that have so many disks.
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
            "--devices: {} named, and no array {of} has so many: {}; --array takes another of \
             the lab",
            words::count(disks, "disk"),
            known.iter().join(", ")
        ));
    }
    Ok(fit)
}

/// What a record keeps of it.
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

/// What a record on the filesystem that is measured adds to it: pages of the trace, tens of MB a
/// minute.
pub fn record_is_in_the_way(host: &Host, record: &Path) -> Option<String> {
    let HostPlace::At { path, .. } = &host.place else { return None };
    let filesystem = |path: &Path| rustix::fs::statvfs(path).ok().map(|stat| stat.f_fsid);
    (filesystem(path)? == filesystem(record)?).then(|| {
        format!(
            "the record is on the filesystem that is measured, {}: what is written of each trial \
             while it runs, its trace above all, \
             is written to the same disks; name a folder elsewhere by --out, or leave the trace \
             out (--no-trace)",
            path.display()
        )
    })
}

/// What cannot be asked of the kernel that runs already.
pub fn check_kernels(trials: &[Trial]) -> Result<(), Failure> {
    match trials.iter().find(|trial| trial.kernel != NEWEST) {
        Some(trial) => Err(mistaken!(
            "--on host: the kernel is the one that runs, and the suite asks for {}: --set \
             kernel=newest, and boot another for \
             another record",
            trial.kernel
        )),
        None => Ok(()),
    }
}

/// Prints what the trials would do, in order; of seeds that are added where a verdict is open,
/// those that are not.
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
            "# the same with seeds up to {last}, of cells whose verdict is still open after seed \
             {first}"
        )?;
    }
    Ok(())
}
