//! Requests a wall second through the whole path, beside the limit: null_blk in the same kind of guest.
//!
//! fio reads 4 KiB at random, few times and many times; the difference is the requests without the start.

use super::guest::Place;
use super::{Figure, median};

const FEW: u64 = 20_000;
const MANY: u64 = 220_000;
const TURNS: usize = 3;

pub fn run(place: &Place) -> anyhow::Result<Vec<Figure>> {
    // Pinned like a trial's worker: see exec::cpus.
    disklab_exec::cpus::keep_to(disklab_exec::cpus::allowed()[0]);
    let mut figures = Vec::new();
    for (engine, depth) in [("psync", 1), ("libaio", 1), ("libaio", 32), ("io_uring", 1), ("io_uring", 32)] {
        let rate = |file: &str, trace: bool| -> anyhow::Result<f64> {
            let time = |reads: u64| place.run(&fio(engine, depth, file, reads), trace, &mut |_| ());
            let (few, many) = (time(FEW)?, time(MANY)?);
            Ok((MANY - FEW) as f64 / (many.as_secs_f64() - few.as_secs_f64()))
        };
        let (mut limit, mut ours, mut untraced) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            limit.push(rate("/dev/nullb0", false)?);
            ours.push(rate("/dev/vda", true)?);
            untraced.push(rate("/dev/vda", false)?);
        }
        let part = |a: &[f64], b: &[f64]| 100.0 * median(a.iter().zip(b).map(|(a, b)| a / b).collect());
        let (of_limit, cost) = (part(&ours, &limit), 100.0 - part(&ours, &untraced));
        let name = format!("{engine}, depth {depth}");
        figures.push(Figure::new(
            format!("{name}: requests a second, null_blk"),
            format!("{:.0}", median(limit)),
        ));
        figures.push(Figure::new(
            format!("{name}: requests a second, 50 us disk"),
            format!("{:.0}", median(ours)),
        ));
        figures.push(
            Figure::new(format!("{name}: of the limit"), format!("{of_limit:.0} %"))
                .at_least(of_limit, 75.0, " %"),
        );
        figures.push(
            Figure::new(format!("{name}: cost of the trace"), format!("{cost:.1} %"))
                .at_most(cost, 5.0, " %"),
        );
    }
    Ok(figures)
}

fn fio(engine: &str, depth: u32, file: &str, reads: u64) -> Vec<String> {
    let words = [
        "fio --clocksource=clock_gettime --thread --disk_util=0 --eta=never --output-format=terse --name=x --size=1G",
        "--rw=randread --bs=4k --direct=1 --norandommap --randrepeat=0 --randseed=1",
    ];
    let mut command: Vec<String> = words.join(" ").split(' ').map(str::to_owned).collect();
    command.extend([format!("--ioengine={engine}"), format!("--iodepth={depth}")]);
    command.extend([
        format!("--filename={file}"),
        format!("--number_ios={reads}"),
        "--io_size=1T".to_owned(),
    ]);
    command
}
