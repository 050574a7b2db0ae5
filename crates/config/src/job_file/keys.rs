//! The keys of fio's job files: those that disklab takes, and those that it refuses, with the
//! reason.

/// Keys that disklab takes: they are only data. fio itself checks their values.
pub const TAKEN: &[&str] = &[
    "blockalign",
    "bs",
    "bs_is_seq_rand",
    "bs_unaligned",
    "bsrange",
    "bssplit",
    "buffer_compress_chunk",
    "buffer_compress_percentage",
    "buffer_pattern",
    "buffered",
    "dedupe_percentage",
    "direct",
    "do_verify",
    "end_fsync",
    "exitall",
    "fadvise_hint",
    "fdatasync",
    "filesize",
    "flow",
    "flow_id",
    "flow_sleep",
    "fsync",
    "fsync_on_close",
    "invalidate",
    "io_size",
    "io_submit_mode",
    "iodepth",
    "iodepth_batch",
    "iodepth_batch_complete_max",
    "iodepth_batch_complete_min",
    "iodepth_low",
    "ioengine",
    "latency_percentile",
    "latency_run",
    "latency_target",
    "latency_window",
    "loops",
    "max_latency",
    "new_group",
    "norandommap",
    "number_ios",
    "numjobs",
    "offset",
    "offset_align",
    "offset_increment",
    "percentage_random",
    "random_distribution",
    "random_generator",
    "rate",
    "rate_cycle",
    "rate_ignore_thinktime",
    "rate_iops",
    "rate_iops_min",
    "rate_min",
    "rate_process",
    "refill_buffers",
    "rw",
    "rw_sequencer",
    "rwmixread",
    "rwmixwrite",
    "scramble_buffers",
    "serialize_overlap",
    "size",
    "softrandommap",
    "startdelay",
    "stonewall",
    "sync",
    "sync_file_range",
    "thinktime",
    "thinktime_blocks",
    "thinktime_blocks_type",
    "thinktime_iotime",
    "time_based",
    "verify",
    "verify_backlog",
    "verify_backlog_batch",
    "verify_fatal",
    "verify_interval",
    "verify_offset",
    "verify_only",
    "verify_pattern",
    "wait_for",
    "write_barrier",
    "zero_buffers",
];

/// Keys that have no effect here: disklab runs all jobs as threads, and reports each section.
pub const IGNORED: &[&str] = &["description", "group_reporting", "thread"];

/// Keys that disklab refuses, grouped by reason.
pub const REFUSED: &[(&str, &str)] = &[
    (
        "filename directory filename_format unique_filename opendir nrfiles openfiles \
         file_service_type lockfile fallocate overwrite file_append create_on_open \
         create_serialize create_fsync create_only allow_file_create allow_mounted_write unlink \
         unlink_each_loop fill_device pre_read",
        "disklab lays one file out on the array's filesystem, and all sections work on it",
    ),
    (
        "output output-format write_bw_log write_lat_log write_hist_log write_iops_log \
         per_job_logs log_avg_msec log_hist_msec write_iolog verify_state_save verify_state_load \
         verify_dump profile",
        "disklab keeps the results, and a trial writes no other files",
    ),
    (
        "clat_percentiles lat_percentiles slat_percentiles percentile_list gtod_reduce \
         disable_lat disable_clat disable_slat disable_bw_measurement unified_rw_reporting stats \
         disk_util significant_figures",
        "disklab says what fio reports, so that trials can be compared",
    ),
    ("exec_prerun exec_postrun include", "programs and files of others are not taken"),
    (
        "read_iolog replay_no_stall replay_redirect merge_blktrace_file",
        "the job would read another file, which the record would not have",
    ),
    ("ioscheduler", "the suite's `scheduler` says it"),
    ("runtime timeout", "the suite's `runtime` says how long a section runs at most"),
    ("ramp_time", "the suite's `ramp` says it, for sections with `time_based`"),
    ("clocksource gtod_cpu", "fio's clock is the guest's virtual one"),
    ("randseed randrepeat allrandrepeat", "the trial's seed decides what is drawn"),
    (
        "prio prioclass nice cgroup cgroup_weight cgroup_nodelete",
        "the workload has `ioprio` and `weight`",
    ),
    ("uid gid", "trials run as root of the guest"),
    (
        "cpus_allowed cpumask cpus_allowed_policy numa_cpu_nodes numa_mem_policy",
        "a guest has one processor",
    ),
    (
        "thinktime_spin cpuload cpuchunks hipri sqthread_poll",
        "code takes no virtual time, so that what spins would never end; `thinktime` waits",
    ),
    ("continue_on_error ignore_error error_dump", "an error of fio fails the trial"),
    ("hostname port server client", "a trial is of one machine"),
    ("kb_base unit_base", "sizes are of 1024, fio's default"),
];

/// Returns the usual name of a key that has several names.
pub fn usual(key: &str) -> &str {
    match key {
        "readwrite" => "rw",
        "blocksize" => "bs",
        "blocksize_range" => "bsrange",
        "blocksize_unaligned" => "bs_unaligned",
        "ba" => "blockalign",
        "io_limit" => "io_size",
        "wait_for_previous" => "stonewall",
        "iodepth_batch_submit" => "iodepth_batch",
        "iodepth_batch_complete" => "iodepth_batch_complete_min",
        other => other,
    }
}
