//! How many requests a second the models carry on one core, with 32 under way. Prints a JSON line for each; the bar
//! is 1 million for a hard disk that chooses among 32, 2 million for reads and 1 million for writes of an SSD. The last
//! line is an SSD whose every write makes it collect garbage; its memory is what the process took at most.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::time::Instant;

use disklab_des::Random;
use disklab_disks::{Disk, Op, Request, build, build_checked};
use disklab_spec::device::{Device, Model, Preconditioned};
use disklab_spec::read::Reader;
use disklab_units::{Bytes, Nanos, Seed};

const REQUESTS: u32 = 2_000_000;
const DEPTH: u32 = 32;

fn main() {
    let devices = [
        ("nas-4tb", include_str!("../../../lab/devices/nas-4tb.toml")),
        ("sata-ssd-1tb", include_str!("../../../lab/devices/sata-ssd-1tb.toml")),
        ("constant-50us", include_str!("../../../lab/devices/constant-50us.toml")),
    ];
    for (name, source) in devices {
        let mut device = match Reader::new(name, source).read(|table| Device::read(name, table)) {
            Ok(device) => device,
            Err(mistakes) => panic!("{mistakes}"),
        };
        for op in [Op::Read, Op::Write] {
            print_rate(name, op, random_requests(&device, op, build));
            print_rate(&format!("{name}, checked"), op, random_requests(&device, op, build_checked));
        }
        if let Model::Ssd(ssd) = &mut device.model {
            ssd.preconditioned = Preconditioned::AtRandom;
            print_rate(
                &format!("{name} preconditioned at random"),
                Op::Write,
                random_requests(&device, Op::Write, build),
            );
        }
    }
    println!("{{\"bench\":\"disk-memory\",\"most_kib\":{}}}", most_kib());
}

fn print_rate(device: &str, op: Op, rate: f64) {
    println!(
        "{{\"bench\":\"disk-requests\",\"device\":\"{device}\",\"op\":\"{op:?}\",\"depth\":{DEPTH},\
         \"requests_per_second\":{rate:.0}}}"
    );
}

/// Of this process; 0 where there is no such file.
fn most_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Random 4 KiB requests, called as the guest's driver does.
fn random_requests(device: &Device, op: Op, build: impl Fn(&Model, Bytes, Seed) -> Box<dyn Disk>) -> f64 {
    let mut random = Random::new(Seed(1));
    let mut disk = build(&device.model, device.bytes, Seed(1));
    let blocks = device.bytes.0 / 4096;
    let mut request = |id| Request { id, op, sector: random.below(blocks) * 8, sectors: 8, fua: false };
    for id in 0..DEPTH {
        disk.submit(Nanos::ZERO, request(id));
    }
    let mut done = Vec::with_capacity(DEPTH as usize);
    let mut submitted = DEPTH;
    let start = Instant::now();
    while let Some(now) = disk.next_event() {
        disk.advance(now, &mut done);
        for completion in done.drain(..) {
            if submitted < REQUESTS {
                disk.submit(now, request(completion.id));
                submitted += 1;
            }
        }
    }
    f64::from(REQUESTS) / start.elapsed().as_secs_f64()
}
