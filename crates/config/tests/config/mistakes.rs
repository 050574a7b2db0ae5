//! Tests every kind of wrong input, with the whole message for it.

use crate::small_lab::SmallLab;
use disklab_config::{Lab, Suite};

/// Returns the mistakes of the lab if one of its files has this text.
fn lab_with(path: &str, text: &str) -> String {
    let lab = SmallLab::new();
    lab.write(path, text);
    let mistakes = Lab::load(lab.path()).expect_err("no mistake was found");
    lab.relative(&mistakes)
}

/// Returns the mistakes of reading the suite if a piece of it is replaced.
fn suite_with(from: &str, to: &str) -> String {
    SmallLab::new().suite(from, to).expect_err("no mistake was found")
}

/// Returns the mistakes of the matrix if a piece of a valid suite is replaced.
fn matrix_with(from: &str, to: &str) -> String {
    let lab = SmallLab::new();
    let suite = lab.suite(from, to).expect("the suite itself has mistakes");
    lab.trials(&suite).expect_err("no mistake was found")
}

#[test]
fn devices() {
    let constant = "summary = \"x\"\nsize = \"10 GiB\"\n[constant]\n";
    let with = |text: &str| lab_with("devices/plain.toml", text);
    assert_eq!(
        with(&format!("{constant}latncy = \"50us\"\nservers = 0\nqueue_depth = \"deep\"\n")),
        "\
devices/plain.toml:4:1: constant.latncy: unknown key; did you mean `latency`?
devices/plain.toml:5:11: constant.servers: 0 is out of range (1 to 4096)
devices/plain.toml:6:15: constant.queue_depth: expected a whole number, found a string"
    );
    assert_eq!(
        with(&format!("{constant}latency = \"50us\"\nservers = 64\nqueue_depth = 32\n")),
        "devices/plain.toml:5:11: constant.servers: 64 is more than queue_depth, 32"
    );
    let rest = "[constant]\nlatency = \"50us\"\nservers = 1\nqueue_depth = 1\n";
    assert_eq!(
        with(&format!("summary = \"x\"\nsize = \"0\"\n{rest}")),
        "devices/plain.toml:2:8: size: 0 B is out of range (1 MiB to 182 TiB)"
    );
    assert_eq!(
        with(&format!("summary = \"x\"\nsize = \"4 XB\"\n{rest}")),
        "devices/plain.toml:2:8: size: `4 XB` has an unknown unit `XB`: \
         use one of B, k, K, KiB, kB, m, M, MiB, MB, g, G, GiB, GB, t, T, TiB, TB"
    );
    assert_eq!(
        with("summary = \"x\"\nsize = \"1 GiB\"\n"),
        "devices/plain.toml:1:1: a device needs one of the tables [hdd], [ssd], [card] and \
         [constant]"
    );
    assert_eq!(
        with("summary = \"x\"\nsize = \"1 GiB\"\n[constnat]\nlatency = \"50us\"\n"),
        "\
devices/plain.toml:1:1: a device needs one of the tables [hdd], [ssd], [card] and [constant]
devices/plain.toml:3:2: constnat: unknown key; did you mean `constant`?"
    );
    assert_eq!(
        with(&format!("summary = \"x\"\nsize = \"1 GiB\"\n{rest}[ssd]\n")),
        "devices/plain.toml:3:1: constant: a device has one of [hdd], [ssd], [card] and \
         [constant]; [ssd] is here too"
    );
}

#[test]
fn a_broken_device_is_not_also_an_unknown_one() {
    let found = lab_with("devices/plain.toml", "size = 3 = 4");
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(found.starts_with("devices/plain.toml:1:10: not TOML: "), "{found}");
}

#[test]
fn arrays() {
    let with = |text: &str| lab_with("arrays/pair.toml", &format!("summary = \"x\"\n{text}"));
    assert_eq!(
        with("join = \"btrfs-riad1\"\ndevices = [\"plan\"]\n"),
        "\
arrays/pair.toml:2:8: join: unknown join `btrfs-riad1`; did you mean `btrfs-raid1`?
arrays/pair.toml:3:12: devices: unknown device `plan`; did you mean `plain`?"
    );
    assert_eq!(
        with("join = \"btrfs-raid1\"\ndevices = [\"plain\"]\n"),
        "arrays/pair.toml:3:11: devices: btrfs-raid1 needs at least 2 devices, here are 1"
    );
    assert_eq!(
        with("join = \"btrfs-raid1c4\"\ndevices = [\"plain\", \"plain\", \"plain\"]\n"),
        "arrays/pair.toml:3:11: devices: btrfs-raid1c4 needs at least 4 devices, here are 3"
    );
    assert_eq!(
        with("join = \"single\"\ndevices = [\"plain\", \"plain\"]\n"),
        "arrays/pair.toml:3:11: devices: single takes one device, here are 2; for several there \
         are btrfs-single and md-raid0"
    );
    assert_eq!(
        with("join = \"btrfs-raid1\"\ndevices = []\n"),
        "arrays/pair.toml:3:11: devices: needs at least one element"
    );
    assert_eq!(
        with("join = \"btrfs-raid1\"\npart = \"11 GiB\"\ndevices = [\"turning\", \"plain\"]\n"),
        "arrays/pair.toml:4:23: devices: `plain` has only 10 GiB, less than the part to use, 11 GiB"
    );
    assert_eq!(
        with("join = \"btrfs-raid0\"\npart = \"1 MiB\"\ndevices = [\"plain\"]\n"),
        "arrays/pair.toml:4:12: devices: 1 MiB of `plain` is too little for btrfs: at least 128 \
         MiB of each"
    );
    assert_eq!(
        with("join = \"single\"\npart = \"0\"\ndevices = [\"plain\"]\n"),
        "arrays/pair.toml:4:12: devices: 0 B of `plain` is too little for a disk: at least 4 KiB \
         of each"
    );
    assert_eq!(
        with(
            "join = \"btrfs-raid1\"\ndevices = [\"plain\", \"plain\"]\n[controller]\n\
             read = \"1 B/s\"\nwrit = \"2 MB/s\"\n"
        ),
        "\
arrays/pair.toml:5:8: controller.read: 1 B/s is out of range (977 KiB/s to 238 GiB/s)
arrays/pair.toml:6:1: controller.writ: unknown key; did you mean `write`?"
    );
    assert_eq!(
        with(
            "join = \"single\"\ndevices = [\"plain\"]\n[host]\nsubmit = \"1 s\"\n\
             requests_per_second = 0\nlink = \"fast\"\nwake = \"5 us\"\n"
        ),
        "\
arrays/pair.toml:5:10: host.submit: 1 s is out of range (0 ns to 10 ms)
arrays/pair.toml:6:23: host.requests_per_second: 0 is out of range (100 to 100000000)
arrays/pair.toml:7:8: host.link: `fast` has no `/s` at its end: write `210 MB/s` or `190 MiB/s`
arrays/pair.toml:8:1: host.wake: unknown key; known: submit, complete, requests_per_second, link"
    );
    assert_eq!(
        with(
            "join = \"btrfs-raid1\"\ndevices = [\"plain\", \"plain\"]\n[cache]\n\
             device = \"plane\"\nmode = \"writeback\"\n"
        ),
        "arrays/pair.toml:5:10: cache.device: unknown device `plane`; did you mean `plain`?"
    );
    assert_eq!(
        with(
            "join = \"btrfs-raid1\"\ndevices = [\"plain\", \"plain\"]\n[cache]\n\
             device = \"plain\"\npart = \"20 MiB\"\nmode = \"writback\"\n"
        ),
        "\
arrays/pair.toml:5:10: cache.device: 20 MiB of `plain` is too little for a cache: at least 1 GiB \
of each
arrays/pair.toml:7:8: cache.mode: unknown cache mode `writback`; did you mean `writeback`?"
    );
    assert_eq!(
        with(
            "join = \"single\"\ndevices = [\"plain\"]\n[cache]\ndevice = \"plain\"\n\
             mode = \"writeback\"\n"
        ),
        "arrays/pair.toml:4:1: cache: a cache is in front of the disks of one btrfs; `single` has \
         none"
    );
}

#[test]
fn workloads() {
    let with = |text: &str| lab_with("workloads/random.toml", &format!("summary = \"x\"\n{text}"));
    assert_eq!(
        with(
            "rw = \"ranread\"\nbs = \"4k\"\nfilesize = \"1G\"\nioengine = \"libioa\"\niodept = 4\n"
        ),
        "\
workloads/random.toml:2:6: rw: unknown rw `ranread`; did you mean `randread`?
workloads/random.toml:5:12: ioengine: unknown ioengine `libioa`; did you mean `libaio`?
workloads/random.toml:6:1: iodept: unknown key; did you mean `iodepth`?"
    );
    assert_eq!(
        with(
            "rw = \"read\"\nbs = \"1000\"\nfilesize = \"1G\"\nioengine = \"psync\"\n\
        iodepth = 2\n"
        ),
        "\
workloads/random.toml:3:6: bs: 1000 bytes are not a whole number of 512-byte sectors
workloads/random.toml:6:11: iodepth: psync waits for each request, so that only 1 is possible; \
use numjobs for more"
    );
    assert_eq!(
        with("rw = \"read\"\nbs = \"1M\"\nfilesize = \"512k\"\nioengine = \"psync\"\n"),
        "workloads/random.toml:3:6: bs: 1 MiB is more than filesize, 512 KiB"
    );
    assert_eq!(
        with("rw = \"read\"\nbs = \"0\"\nfilesize = \"0\"\nioengine = \"psync\"\nnumjobs = 0\n"),
        "\
workloads/random.toml:3:6: bs: 0 B is out of range (512 B to 64 MiB)
workloads/random.toml:4:12: filesize: 0 B is out of range (64 KiB to 90.9 TiB)
workloads/random.toml:6:11: numjobs: 0 is out of range (1 to 256)"
    );
}

#[test]
fn parameters_of_policies() {
    let with = |text: &str| lab_with("policies/pid.toml", &format!("summary = \"x\"\n{text}"));
    assert_eq!(
        with("parameter = 3\n"),
        "policies/pid.toml:2:13: parameter: expected tables, each under a `[[parameter]]` of its \
         own"
    );
    let number = "kind = \"number\"\nleast = 5\nmost = 10\nsummary = \"s\"\n";
    assert_eq!(
        with(&format!(
            "[[parameter]]\nkey = \"a\"\nkind = \"nubmer\"\nleast = 5\nsummary = \"s\"\n\
             [[parameter]]\nkey = \"B_\"\n{number}default = 3\n"
        )),
        "\
policies/pid.toml:4:8: parameter.kind: unknown kind of parameter `nubmer`; did you mean \
`number`?
policies/pid.toml:8:7: parameter.key: `B_` is not a word: lower-case letters, digits and `-`, a \
letter first
policies/pid.toml:13:11: parameter.default: 3 is out of range (5 to 10)"
    );
    assert_eq!(
        with(
            "[[parameter]]\nkey = \"a\"\nkind = \"word\"\nwords = [\"all\", \"a,b\"]\n\
             default = \"al\"\nsummary = \"s\"\n"
        ),
        "\
policies/pid.toml:5:17: parameter.words: `a,b` is not a word: lower-case letters, digits and `-`, \
a letter first
policies/pid.toml:6:11: parameter.default: unknown value `al`; did you mean `all`?"
    );
    let twice = format!("[[parameter]]\nkey = \"a\"\ndefault = 7\n{number}");
    assert_eq!(
        with(&format!("{twice}{twice}")),
        "policies/pid.toml:10:7: parameter.key: `a` is given twice"
    );
}

#[test]
fn policies_and_kernels() {
    assert_eq!(
        lab_with(
            "policies/pid.toml",
            "summary = \"x\"\nargument = \"byte\"\n\
        needs = [\"CONFIG_X\"]\n"
        ),
        "\
policies/pid.toml:2:1: argument: unknown key; known: summary, needs, parameter
policies/pid.toml:3:10: needs: `CONFIG_X` is not a kernel option without its CONFIG_, such as \
BTRFS_EXPERIMENTAL"
    );
    assert_eq!(
        lab_with(
            "kernels/7.3.toml",
            "summary = \"x\"\npackage = \"linux source\"\npreference = 0\n"
        ),
        "\
kernels/7.3.toml:2:11: package: `linux source` is not the name of a Debian package
kernels/7.3.toml:3:14: preference: 0 is out of range (1 to 1000)"
    );
    assert_eq!(
        lab_with(
            "kernels/7.3.toml",
            "summary = \"x\"\npackage = \"linux-source-7.3\"\npreference = 2\n"
        ),
        "kernels: 7.2 and 7.3 have the same preference"
    );
    assert_eq!(
        lab_with(
            "kernels/newer.toml",
            "summary = \"x\"\npackage = \"linux-source-7.4\"\npreference = 3\n"
        ),
        "kernels/newer.toml:1:1: `newer` is not a kernel series such as 7.3, which the file must \
         be named after"
    );
}

#[test]
fn files() {
    assert_eq!(
        Lab::load("/nonexistent/lab".as_ref()).unwrap_err().to_string(),
        "/nonexistent/lab: no such folder; a lab is a folder with devices, arrays and workloads"
    );
    assert_eq!(
        lab_with("arrays/My array.toml", "summary = \"x\"\n"),
        "arrays/My array.toml: a name has only lower-case letters, digits, `-`, `_` and `.`, \
         and begins with a letter or a digit"
    );
    let lab = SmallLab::new();
    let error = lab.load().suite("qestion").unwrap_err();
    assert_eq!(lab.relative(&error), "suites: unknown suite `qestion`; did you mean `question`?");
    let error = lab.load().suite("suites/none.toml").unwrap_err().to_string();
    assert_eq!(
        error,
        "suites/none.toml: cannot be read: No such file or directory (os error 2); name a suite's \
         file, or a suite that `disklab list` prints"
    );
}

#[test]
fn all_files_are_told_at_once() {
    let lab = SmallLab::new();
    lab.write("devices/plain.toml", "size = \"1 GiB\"\n");
    lab.write("policies/pid.toml", "");
    let mistakes = Lab::load(lab.path()).unwrap_err();
    assert_eq!(
        lab.relative(&mistakes),
        "\
devices/plain.toml:1:1: a device needs one of the tables [hdd], [ssd], [card] and [constant]
devices/plain.toml:1:1: summary: is missing: a string
policies/pid.toml:1:1: summary: is missing: a string"
    );
}

#[test]
fn suites_by_themselves() {
    for (from, to, message) in [
        ("seeds = 2", "seeds = 0", "2:9: seeds: 0 is out of range (1 to 1000)"),
        ("seeds = 2", "seed = 2", "2:1: seed: unknown key; did you mean `seeds`?"),
        ("\"256 MiB\"", "\"1 KiB\"", "3:10: memory: 1 KiB is out of range (192 MiB to 256 GiB)"),
        ("\"20s\"", "\"0\"", "4:26: runtime.rotational: 0 ns is out of range (1 ms to 86400 s)"),
        (
            "\"300ms\"",
            "\"300 days\"",
            "4:47: runtime.solid_state: `300 days` has an unknown unit `days`: use one of ns, us, \
             ms, s, min, h",
        ),
        (
            ", solid_state = \"300ms\"",
            "",
            "4:11: runtime.solid_state: is missing: a time in quotes, such as \"8.5 ms\"",
        ),
        (
            "[axes]",
            "[axes]\ndrive = [\"x\"]",
            "9:1: axes.drive: unknown key; known: array, workload, jobs, background, policy, \
             scheduler, kernel, memory, disks, device, runtime, ramp, metadata, estimated",
        ),
        (
            "policy = [",
            "polcy = [",
            "6:23: baseline.policy: the suite has no axis `policy`\n\
             suites/question.toml:11:1: axes.polcy: unknown key; did you mean `policy`?",
        ),
        (
            "workload = [\"random\"]\n",
            "",
            "1:1: workload: is missing: a list in [axes], or one fixed value at the top",
        ),
        ("[\"random\"]", "[]", "10:12: axes.workload: needs at least one element"),
        (
            "[\"random\"]",
            "[\"random\", \"random\"]",
            "10:23: axes.workload: `random` is given twice",
        ),
        (
            "\"round-robin:4k\"",
            "\"round-robin:4k\", \"round-robin:4096\"",
            "11:36: axes.policy: `round-robin:4096` is given twice",
        ),
        (
            "\"round-robin:4k\"",
            "\"waiting:120,reads\"",
            "11:18: axes.policy: after `waiting:`, `reads` is not key=value: only the first value \
             may go without its key",
        ),
        (
            "\"round-robin:4k\"",
            "\"waiting:count=\"",
            "11:18: axes.policy: after `waiting:`, a value is empty",
        ),
        (
            "[axes]",
            "[axes]\nscheduler = [\"bqf\"]",
            "9:14: axes.scheduler: unknown scheduler `bqf`; did you mean `bfq`?",
        ),
        (
            "[axes]",
            "[axes]\nkernel = [\"7.3\"]",
            "5:10: kernel: is in [axes] too: leave one of the two",
        ),
        (
            "\"pid\" }",
            "\"pud\" }",
            "6:23: baseline.policy: unknown value `pud`; did you mean `pid`?",
        ),
        (
            "{ policy = \"pid\" }",
            "{ }",
            "6:12: baseline: expected one axis and its value, such as { policy = \"pid\" }",
        ),
        (
            "{ policy = \"pid\" }",
            "{ scheduler = \"none\" }",
            "6:26: baseline.scheduler: the suite has no axis `scheduler`",
        ),
        (
            "kernel = \"newest\"",
            "mount_options = [\"noatime,ssd\"]",
            "5:18: mount_options: `noatime,ssd` is not one mount option",
        ),
    ] {
        assert_eq!(
            suite_with(from, to),
            format!("suites/question.toml:{message}"),
            "`{to}` for `{from}`"
        );
    }
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn suites_in_their_lab() {
    for (from, to, message) in [
        (
            "\"turning-pair\"",
            "\"turnin-pair\"",
            "9:18: axes.array: unknown array `turnin-pair`; did you mean `turning-pair`?",
        ),
        (
            "\"random\"",
            "\"randon\"",
            "10:13: axes.workload: unknown workload `randon`; did you mean `random`?",
        ),
        (
            "\"round-robin:4k\"",
            "\"roundrobin:4k\"",
            "11:18: axes.policy: unknown policy `roundrobin`; did you mean `round-robin`?",
        ),
        ("\"newest\"", "\"7.4\"", "5:10: kernel: unknown kernel `7.4`; did you mean `7.3`?"),
        ("\"newest\"", "\"newst\"", "5:10: kernel: unknown kernel `newst`; did you mean `newest`?"),
        (
            "\"pid\", ",
            "\"pid\", \"pid:4k\", ",
            "11:18: axes.policy: policy `pid` takes no parameters",
        ),
        (
            "\"round-robin:4k\"",
            "\"round-robin:lots\"",
            "11:18: axes.policy: `bytes` of `round-robin`: `lots` is not a size: write `4k`, `50 \
             GiB` or `4 TB` (k, M, G, T, KiB, MiB, ... count in 1024, kB, MB, GB, TB in 1000)",
        ),
        (
            "\"round-robin:4k\"",
            "\"waiting:125\", \"waiting\"",
            "11:33: axes.policy: `waiting` is given twice",
        ),
        (
            "\"round-robin:4k\"",
            "\"waiting:150,count=reads\", \"waiting:count=reads,margin=150\"",
            "11:45: axes.policy: `waiting:150,count=reads` is given twice",
        ),
        (
            "\"round-robin:4k\"",
            "\"waiting:1001\"",
            "11:18: axes.policy: `margin` of `waiting`: 1001 is out of range (100 to 1000)",
        ),
        (
            "\"round-robin:4k\"",
            "\"waiting:much\"",
            "11:18: axes.policy: `margin` of `waiting`: `much` is not a whole number",
        ),
        (
            "\"round-robin:4k\"",
            "\"waiting:count=raeds\"",
            "11:18: axes.policy: `count` of `waiting`: unknown value `raeds`; did you mean \
             `reads`?",
        ),
        (
            "\"round-robin:4k\"",
            "\"waiting:cuont=reads\"",
            "11:18: axes.policy: `waiting`: unknown parameter `cuont`; did you mean `count`?",
        ),
        (
            "\"round-robin:4k\"",
            "\"waiting:125,margin=125\"",
            "11:18: axes.policy: `margin` of `waiting`: is given twice",
        ),
        (
            "\"round-robin:4k\"",
            "\"round-robin:5000\"",
            "11:18: axes.policy: `bytes` of `round-robin`: 5000 bytes are not a multiple of 4096; \
             the kernel would round them up",
        ),
        (
            "\"round-robin:4k\"",
            "\"round-robin:0\"",
            "11:18: axes.policy: `bytes` of `round-robin`: 0 B is out of range (4 KiB to 1 \
             GiB)",
        ),
        (
            "\"round-robin:4k\"",
            "\"devid:3\"",
            "11:18: axes.policy: `device` of `devid`: device 3 is out of range (1 to 2)",
        ),
        (
            "\"pair\", \"turning-pair\"",
            "\"alone\"",
            "11:11: axes.policy: nothing uses this axis: none of the arrays has mirrors that a \
             policy could choose from",
        ),
        (
            "\"pair\", ",
            "\"pair\", \"alone\", ",
            "9:18: axes.array: array `alone` (single) has no mirrors: its results would be the \
             same for each policy; leave it out, or fix one policy",
        ),
    ] {
        assert_eq!(
            matrix_with(from, to),
            format!("suites/question.toml:{message}"),
            "`{to}` for `{from}`"
        );
    }
}

#[test]
fn a_file_larger_than_the_array() {
    let lab = SmallLab::new();
    lab.write(
        "workloads/random.toml",
        "summary = \"x\"\nrw = \"read\"\nbs = \"4k\"\nfilesize = \"10 GiB\"\n\
         ioengine = \"psync\"\n",
    );
    let suite = lab.suite("\"pair\", \"turning-pair\"", "\"pair\"").unwrap();
    assert_eq!(
        lab.trials(&suite).unwrap_err(),
        "suites/question.toml:10:13: axes.workload: its file of 10 GiB is larger than array \
         `pair` holds: 9 GiB at most; smaller: \
         --set workload.filesize=SIZE"
    );
}

#[test]
fn command_line() {
    let lab = SmallLab::new();
    let mut suite = lab.suite("Which?", "Which?").unwrap();
    let mut set = |axis: &str, values: &str| suite.set(axis, values).unwrap_err().to_string();
    assert_eq!(set("polcy", "pid"), "--set: polcy: unknown axis `polcy`; did you mean `policy`?");
    let known = set("zzz", "1");
    let end = "ramp, metadata, estimated, device.KEY, disk.2.KEY, policy.KEY, ...";
    assert!(known.ends_with(end), "{known}");
    assert_eq!(
        set("policy", "pid,"),
        "--set: policy: a value is empty; write values with commas between them"
    );
    assert_eq!(set("policy", "pid,pid"), "--set: policy: `pid` is given twice");
    assert_eq!(
        set("scheduler", "x"),
        "--set: scheduler: unknown scheduler `x`; known: none, mq-deadline, kyber, bfq"
    );
    let text = include_str!("../../../../lab/suites/smoke.toml");
    let seeds =
        |seeds: &str| Suite::of_text("smoke", "smoke.toml", text, &[format!("seeds={seeds}")]);
    assert_eq!(seeds("0").unwrap_err().to_string(), "--seeds: 0 is out of range (1 to 1000)");
    assert_eq!(seeds("4-6").unwrap().seeds().numbers(), 4..=6);
    suite.set("policy", "piid").unwrap();
    assert_eq!(
        lab.trials(&suite).unwrap_err(),
        "--set: policy: unknown policy `piid`; did you mean `pid`?"
    );
}
