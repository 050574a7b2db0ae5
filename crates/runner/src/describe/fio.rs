//! fio's words for what workloads ask of it.

use super::stack;
use disklab_config::job_file::JobSection;
use disklab_config::workload::{FioLoad, Job};
use disklab_config::{Trial, command};
use disklab_protocol::places::{POOL, TRIAL};
use disklab_units::{Bytes, Nanos, Seed};

/// The test file of a filesystem; where each job has its own, their numbers follow.
pub const TEST_FILE: &str = "test";

/// The test file of a workload that runs beside the measured one.
const BACKGROUND_FILE: &str = "background";

/// A file that fio opens just before its first request, where its own does not tell its start.
const GATE: &str = "/tmp/gate";

const GROUP_REPORTING: &str = "--group_reporting";

/// The task of one fio.
pub struct Load<'a> {
    /// The workload's name.
    name: &'a str,
    pub fio: &'a FioLoad,
    /// Its file; where each job has its own, their numbers follow.
    file: &'static str,
    output: String,
    /// Name by which its seed is derived.
    seed: &'static str,
    ramp: Nanos,
    runtime: Nanos,
    /// Whether its start is waited for.
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

    /// The fio beside the measured workload, which runs until it is ended.
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

    /// The names of its files in [`POOL`]; none where it reads the device itself.
    pub fn files(&self) -> Vec<String> {
        if self.fio.raw {
            Vec::new()
        } else if self.fio.own_files {
            (0..self.fio.files()).map(|number| format!("{}.{number}", self.file)).collect()
        } else {
            vec![self.file.to_owned()]
        }
    }

    /// Whether it reads a device itself.
    pub fn is_bare(&self, trial: &Trial) -> bool {
        self.fio.raw || trial.array.layout.filesystem().is_none()
    }

    /// The file whose opening tells that fio begins.
    pub fn gate(&self, trial: &Trial) -> String {
        if self.has_extra_gate(trial) {
            GATE.to_owned()
        } else {
            format!("{POOL}/{}", self.files()[0])
        }
    }

    /// Whether it has no file of its own, or programs beside it may have that file open: the kernel
    /// gives no lease on an open file.
    fn has_extra_gate(&self, trial: &Trial) -> bool {
        let beside = trial.background.iter().flat_map(|background| &background.processes);
        let mut words = beside.flat_map(|process| &process.command);
        self.is_bare(trial) || words.any(|word| word.trim_end_matches('/') == command::POOL)
    }

    /// fio's command line.
    pub fn command(&self, trial: &Trial) -> Vec<String> {
        let w = self.fio;
        let mut arguments = program(&self.output, trial.seed.derive(self.seed));
        if !w.sections.is_empty() {
            // Sections are told apart: their jobs are added up afterwards, by name.
            arguments.retain(|word| word != GROUP_REPORTING);
            let sections = w.sections.iter().enumerate();
            arguments
                .extend(sections.flat_map(|(number, one)| self.section(trial, one, number == 0)));
        } else if w.own_files {
            // A definition for each job: fio has no other way to tell jobs their files.
            let each = w.jobs.iter().flat_map(|job| (0..job.numjobs).map(move |_| job));
            for (number, job) in each.enumerate() {
                arguments.extend(self.job(trial, &Job { numjobs: 1, ..job.clone() }, number));
            }
        } else {
            arguments.extend(w.jobs.iter().flat_map(|job| self.job(trial, job, 0)));
        }
        arguments
    }

    /// The options of one section of a job file. Ours stand last, so that they hold.
    fn section(&self, trial: &Trial, section: &JobSection, is_first: bool) -> Vec<String> {
        let mut options = vec![
            format!("--name={}", section.name),
            format!("--filename={}", self.path(trial, 0)),
            format!("--size={}", section.size.0),
        ];
        options.extend((section.stonewall && !is_first).then(|| "--stonewall".to_owned()));
        options.extend(section.options.iter().map(|option| format!("--{option}")));
        // Else verify leaves a file where fio was started.
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

    /// The option that opens the extra gate just before the first request; what fio appends to
    /// write to a file is never come to.
    fn opens_gate(&self, trial: &Trial, is_first: bool) -> Option<String> {
        (is_first && self.gated && self.has_extra_gate(trial))
            .then(|| format!("--exec_prerun=exec 3<{GATE}; exit 0;"))
    }

    /// The file of this number, or the bare device.
    fn path(&self, trial: &Trial, number: usize) -> String {
        if self.is_bare(trial) {
            stack::device(trial)
        } else {
            format!("{POOL}/{}", self.files().swap_remove(number))
        }
    }

    /// The options of one definition, on the file of this number.
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
            // On a bare device, a part of its own.
            options.push(format!("--offset={}", w.file_size.0 * number as u64));
        }
        options.extend(self.opens_gate(trial, number == 0));
        options
    }
}

/// All fios of a trial, the measured one first.
pub fn loads(trial: &Trial) -> Vec<Load<'_>> {
    let measured = trial.workload.fio().map(|fio| Load::of_measured(trial, fio));
    measured.into_iter().chain(Load::beside(trial)).collect()
}

/// The measured fio's command, to run before it for no longer than this; None where something else
/// is measured, or is to begin with cold caches.
pub fn warming(trial: &Trial, runtime: Nanos) -> Option<Vec<String>> {
    // A job file may write what it verifies.
    let fio = trial.workload.fio().filter(|fio| fio.is_direct() && fio.sections.is_empty())?;
    let load = Load {
        output: "/tmp/warm-up.json".to_owned(),
        // Not the requests that are measured.
        seed: "warm-up",
        ramp: Nanos::ZERO,
        runtime,
        gated: false,
        ..Load::of_measured(trial, fio)
    };
    Some(load.command(trial))
}

/// Whether the workload's requests are not the only ones.
pub fn is_accompanied(trial: &Trial) -> bool {
    trial.background.is_some() || trial.power_cut.is_some()
}

/// Whether the disks' phase is a window of its own, the same for all jobs. fio ends each job's ramp
/// with the first request that the job finishes after it: where a scheduler has jobs wait for
/// seconds, they measure at different times, and their sum is more than the disks ever moved.
pub fn has_one_window(trial: &Trial) -> bool {
    trial.workload.fio().is_some_and(|fio| fio.own_files)
}

/// Whether fio is waited for, to see when it begins.
pub fn is_gated(trial: &Trial) -> bool {
    is_accompanied(trial) || has_one_window(trial)
}

/// How long fio measures: where the window is the disks', from its start on.
pub fn fio_runtime(trial: &Trial) -> Nanos {
    if has_one_window(trial) { trial.ramp + trial.runtime } else { trial.runtime }
}

/// The program, and what holds for all jobs. `--thread` and `--disk_util=0` save what fio's start
/// costs and change nothing it measures. `clock_gettime` needs no system call; each read of the
/// processor's counter, which fio would take for its clock, is one for the guest's kernel.
pub fn program(output: &str, seed: Seed) -> Vec<String> {
    let mut fio = stack::words(
        "fio --clocksource=clock_gettime --thread --disk_util=0 --eta=never --output-format=json+",
    );
    fio.push(format!("--output={output}"));
    // With randrepeat, which is fio's default, the seed would not reach the offsets. fio reads it
    // as a number of at most 63 bits.
    fio.extend(["--randrepeat=0".to_owned(), format!("--randseed={}", seed.0 >> 1)]);
    // Percentiles of the same latency that the mean is of.
    fio.extend(["--lat_percentiles=1", GROUP_REPORTING, "--exitall_on_error"].map(str::to_owned));
    fio
}

/// A definition of jobs on a file, but for how long they run.
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
