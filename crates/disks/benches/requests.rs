//! How many requests a second the models carry on one core, with 32 under way. Prints a JSON line for each; the bar
//! is 1 million for a hard disk that chooses among 32.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::time::Instant;

use disklab_des::Random;
use disklab_disks::{Op, Request, build};
use disklab_spec::device::Device;
use disklab_spec::read::Reader;
use disklab_units::{Nanos, Seed};

const REQUESTS: u32 = 2_000_000;
const DEPTH: u32 = 32;

fn main() {
    let devices = [
        ("nas-4tb", include_str!("../../../lab/devices/nas-4tb.toml")),
        ("sata-ssd-1tb", include_str!("../../../lab/devices/sata-ssd-1tb.toml")),
        ("constant-50us", include_str!("../../../lab/devices/constant-50us.toml")),
    ];
    for (name, source) in devices {
        let device = match Reader::new(name, source).read(|table| Device::read(name, table)) {
            Ok(device) => device,
            Err(mistakes) => panic!("{mistakes}"),
        };
        for op in [Op::Read, Op::Write] {
            let rate = random_requests(&device, op);
            println!(
                "{{\"bench\":\"disk-requests\",\"device\":\"{name}\",\"op\":\"{op:?}\",\"depth\":{DEPTH},\
                 \"requests_per_second\":{rate:.0}}}"
            );
        }
    }
}

/// Random 4 KiB requests, called as the guest's driver does.
fn random_requests(device: &Device, op: Op) -> f64 {
    let mut random = Random::new(Seed(1));
    let mut disk = build(&device.model, device.bytes, Seed(1));
    let blocks = device.bytes.0 / 4096;
    let mut request = || Request { id: 0, op, sector: random.below(blocks) * 8, sectors: 8, fua: false };
    for _ in 0..DEPTH {
        disk.submit(Nanos::ZERO, request());
    }
    let mut done = Vec::with_capacity(DEPTH as usize);
    let mut submitted = DEPTH;
    let start = Instant::now();
    while let Some(now) = disk.next_event() {
        disk.advance(now, &mut done);
        for _ in done.drain(..) {
            if submitted < REQUESTS {
                disk.submit(now, request());
                submitted += 1;
            }
        }
    }
    f64::from(REQUESTS) / start.elapsed().as_secs_f64()
}
