//! Tests of the lab's disks that were fitted to measured drives at every depth: SSDs in the hosts
//! in which they were measured, a hard disk, and arrays of hard disks. `cargo test -p disklab-disks
//! --test at_depth -- --nocapture` prints the tables of docs/results/disk-models.md.

mod drive;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use disklab_config::device::{Device, Model};
use disklab_config::host::HostTime;
use disklab_config::read::TomlReader;
use disklab_config::{Array, Lab};
use disklab_disks::{Bank, Op, Request, build};
use disklab_units::{Bytes, Nanos, Random, Seed};

/// Folder of fio's results, and of devices written from data sheets alone. The tests read them
/// there.
const FOLDER: &str = "/work/shared/data/fio-plot";

/// A measured drive: its set and name in the results, its device, the array that describes its
/// host, and the device of its data sheet in [`FOLDER`], if there is one.
struct MeasuredDrive {
    set: &'static str,
    drive: &'static str,
    device: &'static str,
    array: &'static str,
    sheet: Option<&'static str>,
    /// Whether the drive must meet the bars. It need not if the model has no such host.
    counts: bool,
}

const fn drive(
    set: &'static str,
    drive: &'static str,
    device: &'static str,
    array: &'static str,
) -> MeasuredDrive {
    MeasuredDrive { set, drive, device, array, sheet: None, counts: true }
}

const PM883: Option<&str> = Some("pm883");
const PRO860: Option<&str> = Some("pro860");

const DRIVES: [MeasuredDrive; 8] = [
    MeasuredDrive {
        sheet: PRO860,
        ..drive("SERVER/IBM_M1015", "SAMSUNG_860_PRO", "samsung-860-pro-512gb", "host-ibm-m1015")
    },
    MeasuredDrive {
        sheet: PM883,
        ..drive("SERVER/IBM_M1015", "SAMSUNG_PM883", "samsung-pm883-480gb", "host-ibm-m1015")
    },
    drive(
        "HPMICROSERVERG8/SATA300",
        "SAMSUNG860PRO",
        "samsung-860-pro-512gb-trimmed",
        "host-microserver-g8",
    ),
    MeasuredDrive {
        sheet: PM883,
        ..drive(
            "HPMICROSERVERG8/SATA300",
            "SAMSUNGPM833",
            "samsung-pm833-480gb",
            "host-microserver-g8",
        )
    },
    drive("HPMICROSERVERG8/SATA300", "crucial250-01", "crucial-250gb", "host-microserver-g8"),
    drive("HPMICROSERVERG8/SATA300", "crucial250-02", "crucial-250gb", "host-microserver-g8"),
    drive(
        "HPMICROSERVERG10",
        "SATA_AHCI_SAMSUNG_PM833_MZ7LH480HAHQ",
        "samsung-pm833-480gb-trimmed",
        "host-microserver-g10",
    ),
    MeasuredDrive {
        sheet: PRO860,
        counts: false,
        ..drive("HPDL380G8/HBA", "SAMSUNG_860PRO", "samsung-860-pro-512gb", "host-dl380-g8")
    },
];

const NO_HOST: HostTime =
    HostTime { submit: Nanos::ZERO, complete: Nanos::ZERO, requests_per_second: None, link: None };

/// IOPS, and the median and the 99th percentile, in us, of what fio calls clat.
type Numbers = [f64; 3];

/// Returns the measured numbers of a drive, by load, jobs and depth.
fn measured(of: &MeasuredDrive, text: &str) -> BTreeMap<(String, usize, usize), Numbers> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| head.iter().position(|other| *other == name).expect("a column");
    let [set, drive, load, depth, jobs, iops, p50, p99] =
        ["set", "drive", "workload", "depth", "jobs", "iops", "p50_ms", "p99_ms"].map(column);
    let rows = lines.map(|line| line.split(',').collect::<Vec<_>>());
    let rows = rows.filter(|row| row[set] == of.set && row[drive] == of.drive);
    let number = |text: &str| text.parse::<f64>().expect("a number");
    rows.map(|row| {
        let key = (row[load].to_owned(), number(row[jobs]) as usize, number(row[depth]) as usize);
        (key, [number(row[iops]), number(row[p50]) * 1e3, number(row[p99]) * 1e3])
    })
    .collect()
}

/// Returns the same numbers of the model.
fn modelled(device: &Device, host: HostTime, op: Op, depth: usize) -> Numbers {
    modelled_array(device, 1, device.bytes, host, op, depth)
}

/// Returns the numbers of `disks` disks under random requests of 4 KiB to the first `used` bytes of
/// each, `depth` at a time. fio's clat begins when a request has left the program.
fn modelled_array(
    device: &Device,
    disks: u64,
    used: Bytes,
    host: HostTime,
    op: Op,
    depth: usize,
) -> Numbers {
    const COUNT: usize = 60_000;
    let disk = |seed| build(&device.model.connected_to(&host), device.bytes, Seed(seed));
    let mut bank = Bank::new((1..=disks).map(disk).collect(), None, Some(host));
    let mut random = Random::new(Seed(3));
    let mut next = |id: u32| {
        let disk = if disks > 1 { random.below(disks) } else { 0 };
        let sector = random.below(used.0 / 4096) * 8;
        (disk as usize, Request { id, op, sector, sectors: 8, fua: false })
    };
    let (mut now, mut started, mut done) = (Nanos(0), Nanos(0), Vec::new());
    let (mut submitted, mut latencies) = (vec![Nanos(0); depth], Vec::with_capacity(COUNT));
    for id in 0..depth {
        let (disk, request) = next(id as u32);
        bank.submit(now, disk, request);
    }
    // The first fifth fills the buffers and does not count.
    let mut count = 0;
    while count < COUNT {
        now = bank.next_event().expect("requests are under way");
        bank.advance(now, &mut done);
        for (_, completion) in done.drain(..) {
            count += 1;
            let submitted = &mut submitted[completion.id as usize];
            if count > COUNT / 5 {
                latencies.push(host.completion_latency(completion.at - *submitted));
            } else {
                started = now;
            }
            *submitted = now;
            let (disk, request) = next(completion.id);
            bank.submit(now, disk, request);
        }
    }
    assert_eq!(bank.violations().next(), None);
    latencies.sort_unstable();
    let at = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize].0 as f64 / 1e3;
    [latencies.len() as f64 / (now - started).as_secs_f64(), at(0.5), at(0.99)]
}

fn find_device(lab: &Lab, name: &str) -> Device {
    lab.devices.get(name).cloned().unwrap_or_else(|| panic!("the lab has no device {name}"))
}

fn read_device(file: &str) -> Device {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let read = TomlReader::new(file, &text).read(|table| Device::read("a device", table));
    read.unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn errors(model: Numbers, measured: Numbers) -> Numbers {
    [0, 1, 2].map(|which| (model[which] / measured[which] - 1.0) * 100.0)
}

fn size(errors: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = errors.into_iter().map(f64::abs).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

fn median(errors: impl IntoIterator<Item = f64>) -> f64 {
    let all = size(errors);
    let middle = all.len() / 2;
    if all.len().is_multiple_of(2) {
        f64::midpoint(all[middle - 1], all[middle])
    } else {
        all[middle]
    }
}

/// Reads of one job meet the bars at every depth. For IOPS the bars are a median error of 10 % and
/// a worst error of 25 %; for the median latency and the 99th percentile, a median error of 20 %.
/// The test also prints the errors of several jobs with depth times jobs up to the drive's 32,
/// which are the same within a few per cent.
#[test]
fn fitted_ssds_are_near_at_every_depth() {
    let Ok(text) = std::fs::read_to_string(format!("{FOLDER}/fio-plot.csv")) else {
        // This prints what `disklab_testkit::skipped` does, which this crate may not use.
        eprintln!("skipped: {FOLDER} is not on this machine");
        return;
    };
    let lab = Lab::load(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab"));
    let lab = lab.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let mut table = String::new();
    let mut reads: BTreeMap<usize, Vec<(Numbers, bool)>> = BTreeMap::new();
    let mut of_sheets: [Vec<Numbers>; 3] = Default::default();
    for of in &DRIVES {
        let device = find_device(&lab, of.device);
        let Array { host: Some(host), .. } = lab.arrays[of.array] else { panic!("{}", of.array) };
        let measured = measured(of, &text);
        assert!(measured.len() > 90, "{} of {}", measured.len(), of.drive);
        writeln!(table, "{} {}", of.set, of.drive).unwrap();
        for (load, op) in [("randread", Op::Read), ("randwrite", Op::Write)] {
            for depth in [1, 2, 4, 8, 16, 32] {
                let model = modelled(&device, host, op, depth);
                let of_one = measured[&(load.to_owned(), 1, depth)];
                let off = errors(model, of_one);
                let jobs = measured.iter().filter(|((other, jobs, each), _)| {
                    other == load && *jobs > 1 && jobs * each == depth
                });
                let with_jobs: Vec<Numbers> =
                    jobs.map(|(_, measured)| errors(model, *measured)).collect();
                write!(
                    table,
                    "  {load:9} {depth:2} | {:6.0} {:6.0} {:+4.0} % | {:5.0} {:5.0} {:+4.0} % | \
                     {:5.0} {:5.0} {:+4.0} %",
                    of_one[0],
                    model[0],
                    off[0],
                    of_one[1],
                    model[1],
                    off[1],
                    of_one[2],
                    model[2],
                    off[2]
                )
                .unwrap();
                if !with_jobs.is_empty() {
                    let [iops, p50, p99] =
                        [0, 1, 2].map(|which| median(with_jobs.iter().map(|off| off[which])));
                    write!(table, " | {iops:3.0} {p50:3.0} {p99:3.0} %").unwrap();
                }
                table.push('\n');
                if op == Op::Read {
                    reads.entry(depth).or_default().push((off, of.counts));
                    if let Some(sheet) = of.sheet.filter(|_| of.counts) {
                        let sheet = read_device(&format!("{FOLDER}/{sheet}.toml"));
                        for (which, host) in [NO_HOST, host].into_iter().enumerate() {
                            let model = modelled(&sheet, host, op, depth);
                            of_sheets[which].push(errors(model, of_one));
                        }
                        of_sheets[2].push(off);
                    }
                }
            }
        }
    }
    let (mut missed, mut of_all) = (Vec::new(), String::new());
    for (depth, all) in &reads {
        let of = |which: usize, counting: bool| {
            let counts = move |(_, counts): &&(Numbers, bool)| *counts || !counting;
            all.iter().filter(counts).map(move |(off, _)| off[which])
        };
        for counting in [false, true] {
            let [iops, p50, p99] = [0, 1, 2].map(|which| median(of(which, counting)));
            let worst = size(of(0, counting)).pop().unwrap_or_default();
            let who = if counting { "without the DL380" } else { "all" };
            writeln!(
                of_all,
                "  {depth:2} {who:17} | {iops:4.1} {worst:5.1} | {p50:4.1} | {p99:4.1}"
            )
            .unwrap();
            if counting && (iops > 10.0 || worst > 25.0 || p50 > 20.0 || p99 > 20.0) {
                missed.push(*depth);
            }
        }
    }
    of_all.push_str("  three drives with sheets, all depths\n");
    for (who, all) in ["sheet", "sheet and host", "fitted, and host"].iter().zip(&of_sheets) {
        let [iops, p50, p99] = [0, 1, 2].map(|which| median(all.iter().map(|off| off[which])));
        let worst = size(all.iter().map(|off| off[0])).pop().unwrap_or_default();
        writeln!(of_all, "  {who:20} | {iops:4.1} {worst:5.1} | {p50:4.1} | {p99:4.1}").unwrap();
    }
    println!("{table}\nReads, one job: IOPS median and worst, p50 and p99 median, %\n{of_all}");
    assert!(missed.is_empty(), "the bars are missed at {missed:?}");
}

/// Hard disks, single or in an array, that were measured at every depth.
struct MeasuredHardDisks {
    set: &'static str,
    drive: &'static str,
    device: &'static str,
    disks: u64,
    /// The bytes used on each disk: a seventh of fio's file, because one disk of eight has the
    /// parity.
    used: Option<Bytes>,
    /// Replaces the device's value: a time of short seeks that was fitted to depth 1.
    seek_track_to_track: Option<Nanos>,
}

const HARD_DISKS: [MeasuredHardDisks; 3] = [
    MeasuredHardDisks {
        set: "HPMICROSERVERG10",
        drive: "SATA_AHCI_SAMSUNGF1_1TB_7K2RPM",
        device: "samsung-f1-hd103uj",
        disks: 1,
        used: None,
        seek_track_to_track: None,
    },
    MeasuredHardDisks {
        set: "SERVER/IBM_M1015",
        drive: "8x2TBRAID5MDADM",
        device: "nas-4tb",
        disks: 8,
        used: Some(Bytes(Bytes::gib(100).0 / 7)),
        seek_track_to_track: Some(Nanos::from_micros(4_500)),
    },
    MeasuredHardDisks {
        set: "SERVER/HIGHPOINT",
        drive: "RAID5",
        device: "nas-4tb",
        disks: 8,
        used: Some(Bytes(Bytes::mib(50_000).0 / 7)),
        seek_track_to_track: Some(Nanos::from_micros(4_500)),
    },
];

/// Reads on these disks meet the bars of [`fitted_ssds_are_near_at_every_depth`].
#[test]
fn hard_disks_are_near_at_every_depth() {
    let Ok(text) = std::fs::read_to_string(format!("{FOLDER}/fio-plot.csv")) else {
        eprintln!("skipped: {FOLDER} is not on this machine");
        return;
    };
    let lab = Lab::load(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab"));
    let lab = lab.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let mut all: BTreeMap<usize, Vec<Numbers>> = BTreeMap::new();
    for of in HARD_DISKS {
        let mut device = find_device(&lab, of.device);
        if let (Some(seek), Model::Hdd(hdd)) = (of.seek_track_to_track, &mut device.model) {
            hdd.seek_track_to_track = seek;
        }
        let measured = measured(&drive(of.set, of.drive, "", ""), &text);
        println!("{} {}, as {} of {}", of.set, of.drive, of.disks, of.device);
        for depth in [1, 2, 4, 8, 16, 32] {
            let used = of.used.unwrap_or(device.bytes);
            let model = modelled_array(&device, of.disks, used, NO_HOST, Op::Read, depth);
            let of_drive = measured[&("randread".to_owned(), 1, depth)];
            let off = errors(model, of_drive);
            let row = [0, 1, 2].map(|which| {
                let unit = if which == 0 { 1.0 } else { 1e3 };
                let (measured, model) = (of_drive[which] / unit, model[which] / unit);
                format!("{measured:7.1} {model:7.1} {:+4.0} %", off[which])
            });
            println!("  {depth:2} | {}", row.join(" | "));
            all.entry(depth).or_default().push(off);
        }
    }
    println!("Reads, one job: IOPS median and worst, p50 and p99 median, %");
    let mut missed = Vec::new();
    for (depth, all) in all {
        let [iops, p50, p99] = [0, 1, 2].map(|which| median(all.iter().map(|off| off[which])));
        let worst = size(all.iter().map(|off| off[0])).pop().unwrap_or_default();
        println!("  {depth:2} | {iops:4.1} {worst:5.1} | {p50:4.1} | {p99:4.1}");
        if iops > 10.0 || worst > 25.0 || p50 > 20.0 || p99 > 20.0 {
            missed.push(depth);
        }
    }
    assert!(missed.is_empty(), "the bars are missed at {missed:?}");
}
