//! fio's words for what workloads ask of it.

use disklab_config::workload::Job;
use disklab_units::{Bytes, Seed};

/// The program, and what holds for all jobs. `--thread` and `--disk_util=0` save what fio's start
/// costs and change nothing it measures; `clock_gettime` is virtual where the processor's own
/// counter would be real.
pub fn program(output: &str, seed: Seed) -> Vec<String> {
    vec![
        "fio".to_owned(),
        "--clocksource=clock_gettime".to_owned(),
        "--thread".to_owned(),
        "--disk_util=0".to_owned(),
        "--eta=never".to_owned(),
        "--output-format=json+".to_owned(),
        format!("--output={output}"),
        // With randrepeat, which is fio's default, the seed would not reach the offsets. fio reads
        // it as a number of at most 63 bits.
        "--randrepeat=0".to_owned(),
        format!("--randseed={}", seed.0 >> 1),
        // Percentiles of the same latency that the mean is of.
        "--lat_percentiles=1".to_owned(),
        "--group_reporting".to_owned(),
        "--exitall_on_error".to_owned(),
    ]
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
