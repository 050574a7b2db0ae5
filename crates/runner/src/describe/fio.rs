//! Translates workloads to fio's options.

use super::stack;
use disklab_config::job_file::JobSection;
use disklab_config::workload::{FioLoad, Job};
use disklab_config::{Trial, command};
use disklab_protocol::places::{POOL, TRIAL};
use disklab_units::{Bytes, Nanos, Seed};

/// Test file of a filesystem. If each job has its own file, a number follows.
pub const TEST_FILE: &str = "test";

/// Test file of a workload that runs beside the measured one.
const BACKGROUND_FILE: &str = "background";

/// A file that fio opens just before its first request, for loads whose own file does not show the
/// start.
const GATE: &str = "/tmp/gate";

const GROUP_REPORTING: &str = "--group_reporting";

/// The task of one fio.
pub struct Load<'a> {
    /// Name of the workload.
    name: &'a str,
    pub fio: &'a FioLoad,
    /// File of the load. If each job has its own file, a number follows.
    file: &'static str,
    output: String,
    /// Name from which its seed is derived.
    seed: &'static str,
    ramp: Nanos,
    runtime: Nanos,
    /// Whether the plan waits for its start.
    gated: bool,
}

impl<'a> Load<'a> {
    pub fn of_measured(trial: &'a Trial, fio: &'a FioLoad) -> Self {
        Self {
            name: &trial.workload.name,
            fio,
            file: TEST_FILE,
            output: format!("{TRIAL}/{}", disklab_protocol::names::FIO),
            seed: "fio",
            ramp: if has_one_window(trial) { Nanos::ZERO } else { trial.ramp },
            runtime: fio_runtime(trial),
            gated: is_gated(trial),
        }
    }

    /// Returns the fio beside the measured workload, which runs until it is ended.
    pub fn beside(trial: &'a Trial) -> Option<Self> {
        let workload = trial.background.as_ref()?.workload.as_ref()?;
        Some(Self {
            name: &workload.name,
            fio: workload.fio()?,
            file: BACKGROUND_FILE,
            output: "/tmp/background.json".to_owned(),
            seed: "background",
            ramp: Nanos::ZERO,
            runtime: Nanos::from_secs(7 * 24 * 3600),
            gated: false,
        })
    }

    /// Returns the names of its files in [`POOL`], or none if it reads the device itself.
    pub fn files(&self) -> Vec<String> {
        if self.fio.raw {
            Vec::new()
        } else if self.fio.own_files {
            (0..self.fio.files()).map(|number| format!("{}.{number}", self.file)).collect()
        } else {
            vec![self.file.to_owned()]
        }
    }

    /// Returns true if it reads a device itself.
    pub fn is_bare(&self, trial: &Trial) -> bool {
        self.fio.raw || trial.array.layout.filesystem().is_none()
    }

    /// Returns the file whose opening marks fio's start.
    pub fn gate(&self, trial: &Trial) -> String {
        if self.has_extra_gate(trial) {
            GATE.to_owned()
        } else {
            format!("{POOL}/{}", self.files()[0])
        }
    }

    /// Returns true if it needs an extra gate: it has no file of its own, or programs beside it may
    /// hold that file open. The kernel gives no lease on an open file.
    fn has_extra_gate(&self, trial: &Trial) -> bool {
        let beside = trial.background.iter().flat_map(|background| &background.processes);
        let mut words = beside.flat_map(|process| &process.command);
        self.is_bare(trial) || words.any(|word| word.trim_end_matches('/') == command::POOL)
    }

    /// Returns fio's command line.
    pub fn command(&self, trial: &Trial) -> Vec<String> {
        let w = self.fio;
        let mut arguments = program(&self.output, trial.seed.derive(self.seed));
        if !w.sections.is_empty() {
            // Sections are reported separately, and their jobs are summed up later by name.
            arguments.retain(|word| word != GROUP_REPORTING);
            let sections = w.sections.iter().enumerate();
            arguments
                .extend(sections.flat_map(|(number, one)| self.section(trial, one, number == 0)));
        } else if w.own_files {
            // Each job needs a definition: fio has no other way to give jobs their files.
            let each = w.jobs.iter().flat_map(|job| (0..job.numjobs).map(move |_| job));
            for (number, job) in each.enumerate() {
                arguments.extend(self.job(trial, &Job { numjobs: 1, ..job.clone() }, number));
            }
        } else {
            arguments.extend(w.jobs.iter().flat_map(|job| self.job(trial, job, 0)));
        }
        arguments
    }

    /// Returns the options of one section of a job file. disklab's own options come last, so that
    /// they win.
    fn section(&self, trial: &Trial, section: &JobSection, is_first: bool) -> Vec<String> {
        let mut options = vec![
            format!("--name={}", section.name),
            format!("--filename={}", self.path(trial, 0)),
            format!("--size={}", section.size.0),
        ];
        options.extend((section.stonewall && !is_first).then(|| "--stonewall".to_owned()));
        options.extend(section.options.iter().map(|option| format!("--{option}")));
        // Without this option, verify leaves a file in fio's working directory.
        let verifies = section.options.iter().any(|option| option.starts_with("verify"));
        options.extend(verifies.then(|| "--verify_state_save=0".to_owned()));
        options.push(format!("--runtime={}us", self.runtime.0.div_ceil(1000)));
        if section.time_based {
            options.push("--time_based".to_owned());
            if self.ramp.0 > 0 {
                options.push(format!("--ramp_time={}us", self.ramp.0.div_ceil(1000)));
            }
        }
        options.extend(self.opens_gate(trial, is_first));
        options
    }

    /// Returns the option that opens the extra gate just before the first request. fio appends text
    /// to the command that would write to a file, and the command ends before that text.
    fn opens_gate(&self, trial: &Trial, is_first: bool) -> Option<String> {
        (is_first && self.gated && self.has_extra_gate(trial))
            .then(|| format!("--exec_prerun=exec 3<{GATE}; exit 0;"))
    }

    /// Returns the path of the file with this number, or the bare device.
    fn path(&self, trial: &Trial, number: usize) -> String {
        if self.is_bare(trial) {
            stack::device(trial)
        } else {
            format!("{POOL}/{}", self.files().swap_remove(number))
        }
    }

    /// Returns the options of one definition, on the file with this number.
    fn job(&self, trial: &Trial, job: &Job, number: usize) -> Vec<String> {
        let w = self.fio;
        let bare = self.is_bare(trial);
        let mut options = self::job(self.name, &self.path(trial, number), w.file_size, job);
        options.extend([
            "--time_based".to_owned(),
            format!("--runtime={}us", self.runtime.0.div_ceil(1000)),
        ]);
        if self.ramp.0 > 0 {
            options.push(format!("--ramp_time={}us", self.ramp.0.div_ceil(1000)));
        }
        if bare && w.own_files {
            // On a bare device, each job has its own part.
            options.push(format!("--offset={}", w.file_size.0 * number as u64));
        }
        options.extend(self.opens_gate(trial, number == 0));
        options
    }
}

/// Returns all fios of a trial, the measured one first.
pub fn loads(trial: &Trial) -> Vec<Load<'_>> {
    let measured = trial.workload.fio().map(|fio| Load::of_measured(trial, fio));
    measured.into_iter().chain(Load::beside(trial)).collect()
}

/// Returns the measured fio's command for a warm-up of at most `runtime`. Returns None if the trial
/// measures another program, or begins with cold caches.
pub fn warming(trial: &Trial, runtime: Nanos) -> Option<Vec<String>> {
    // A job file may write the data that it verifies.
    let fio = trial.workload.fio().filter(|fio| fio.is_direct() && fio.sections.is_empty())?;
    let load = Load {
        output: "/tmp/warm-up.json".to_owned(),
        // The warm-up's requests differ from the measured ones.
        seed: "warm-up",
        ramp: Nanos::ZERO,
        runtime,
        gated: false,
        ..Load::of_measured(trial, fio)
    };
    Some(load.command(trial))
}

/// Returns true if the workload's requests are not the only ones.
pub fn is_accompanied(trial: &Trial) -> bool {
    trial.background.is_some() || trial.power_cut.is_some()
}

/// Returns true if the disks' phase is a window of its own, the same for all jobs. fio ends each
/// job's ramp with the job's first request after the ramp. If a scheduler makes jobs wait for
/// seconds, they measure at different times, and their sum is more than the disks ever moved.
pub fn has_one_window(trial: &Trial) -> bool {
    trial.workload.fio().is_some_and(|fio| fio.own_files)
}

/// Returns true if the plan waits for fio, to see when it begins.
pub fn is_gated(trial: &Trial) -> bool {
    is_accompanied(trial) || has_one_window(trial)
}

/// Returns the time that fio measures. If the window is that of the disks, it begins with fio's
/// start.
pub fn fio_runtime(trial: &Trial) -> Nanos {
    if has_one_window(trial) { trial.ramp + trial.runtime } else { trial.runtime }
}

/// Returns the program, and the options of all jobs. `--thread` and `--disk_util=0` make fio's
/// start faster and change no results. `clock_gettime` needs no system call. Reading the
/// processor's counter, fio's default clock, traps into the guest's kernel.
pub fn program(output: &str, seed: Seed) -> Vec<String> {
    let mut fio = stack::words(
        "fio --clocksource=clock_gettime --thread --disk_util=0 --eta=never --output-format=json+",
    );
    fio.push(format!("--output={output}"));
    // With randrepeat, fio's default, the seed would not affect the offsets. fio reads the seed as
    // a number of at most 63 bits.
    fio.extend(["--randrepeat=0".to_owned(), format!("--randseed={}", seed.0 >> 1)]);
    // Percentiles are of the same latency as the mean.
    fio.extend(["--lat_percentiles=1", GROUP_REPORTING, "--exitall_on_error"].map(str::to_owned));
    fio
}

/// Returns a definition of jobs on a file, without their run time.
pub fn job(name: &str, file: &str, size: Bytes, job: &Job) -> Vec<String> {
    let mut options = vec![
        format!("--name={name}"),
        format!("--filename={file}"),
        format!("--size={}", size.0),
        format!("--rw={}", job.rw),
        format!("--bs={}", job.bs.0),
        format!("--ioengine={}", job.ioengine),
        format!("--iodepth={}", job.iodepth),
        format!("--numjobs={}", job.numjobs),
        format!("--direct={}", u8::from(job.direct)),
    ];
    if job.rw.reads() && job.rw.writes() {
        options.push(format!("--rwmixread={}", job.rwmixread));
    }
    options.extend(job.rate.map(|rate| format!("--rate={}", rate.0)));
    let flags = [
        ("norandommap", job.norandommap),
        ("refill_buffers", job.refill_buffers),
        ("zero_buffers", job.zero_buffers),
    ];
    options.extend(flags.iter().filter(|(_, on)| *on).map(|(name, _)| format!("--{name}")));
    options
}
