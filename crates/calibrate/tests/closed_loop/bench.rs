//! Modelled disks to measure, and loads for comparing two disks.

use std::sync::atomic::AtomicBool;

use disklab_calibrate::modelled::Modelled;
use disklab_calibrate::{
    Calibration, CalibrationPlan, Hints, Probe, Target, Timed, USUAL_TIME, calibrate, read_back,
};
use disklab_config::device::{Device, Model};
use disklab_disks::build;
use disklab_units::{Bytes, Random, Seed};

use crate::noise::Noisy;

pub fn lab(name: &str) -> Device {
    let file = format!("{}/../../lab/devices/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text =
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("reading {file}: {error}"));
    read_back(name, &text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// Measures a disk of this model. Returns the result and the device that its file describes.
pub fn measured(model: &Model, bytes: Bytes, seed: u64, may_write: bool) -> (Calibration, Device) {
    found(&mut Modelled::new(build(model, bytes, Seed(seed)), bytes), may_write, Hints::default())
}

/// Measures a device with the kernel's facts about it.
pub fn measured_with(device: &Device, hints: Hints) -> (Calibration, Device) {
    let disk = build(&device.model, device.bytes, Seed(1));
    found(&mut Modelled::new(disk, device.bytes), true, hints)
}

/// Measures a device on a machine that is late by `late` ns on average.
pub fn measured_in_noise(device: &Device, late: f64) -> (Calibration, Device) {
    let disk = build(&device.model, device.bytes, Seed(1));
    found(&mut Noisy::new(Modelled::new(disk, device.bytes), late), true, Hints::default())
}

fn found(target: &mut dyn Target, may_write: bool, hints: Hints) -> (Calibration, Device) {
    let stop = AtomicBool::new(false);
    let plan = CalibrationPlan { time: USUAL_TIME, may_write, hints };
    let found =
        calibrate(target, &plan, &mut |_, _| (), &stop).unwrap_or_else(|error| panic!("{error}"));
    let file = found.file(&["made by a test".to_owned()]);
    let device =
        read_back("measured", &file).unwrap_or_else(|mistakes| panic!("{mistakes}\n{file}"));
    (found, device)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadOrder {
    Random,
    Sequential,
    /// Random requests, three of ten of which are writes.
    Mixed,
}

const LOADS: [(LoadOrder, usize); 9] = [
    (LoadOrder::Random, 1),
    (LoadOrder::Random, 8),
    (LoadOrder::Random, 32),
    (LoadOrder::Sequential, 1),
    (LoadOrder::Sequential, 8),
    (LoadOrder::Sequential, 32),
    (LoadOrder::Mixed, 1),
    (LoadOrder::Mixed, 8),
    (LoadOrder::Mixed, 32),
];

/// Returns the IOPS of a disk: 4 KiB at random places, or 128 KiB sequentially. The places differ
/// from those of the measurement.
fn rate(device: &Device, (order, depth): (LoadOrder, usize), seed: u64) -> f64 {
    let count = if device.model.rotational() { 4_000 } else { 20_000 };
    let mut random = Random::new(Seed(seed).derive("load"));
    let sectors = device.bytes.sectors().0;
    let probes: Vec<Probe> = (0..count)
        .map(|index| {
            let place = random.below(sectors / 8 - 1) * 8;
            match order {
                LoadOrder::Sequential => Probe::read(sectors / 5 / 8 * 8 + index * 256, 256),
                LoadOrder::Mixed if random.below(10) < 3 => Probe::write(place, 8),
                _ => Probe::read(place, 8),
            }
        })
        .collect();
    let mut disk = Modelled::new(build(&device.model, device.bytes, Seed(seed)), device.bytes);
    let timed: Vec<Timed> = disk.serve(depth, &probes).unwrap();
    // The first tenth does not count, because a buffer fills at the beginning.
    let mut done: Vec<u64> = timed.iter().map(|timed| timed.done.0).collect();
    done.sort_unstable();
    let from = done.len() / 10;
    (done.len() - 1 - from) as f64 * 1e9 / (done[done.len() - 1] - done[from]) as f64
}

pub fn off(found: f64, wanted: f64) -> f64 {
    (found / wanted - 1.0).abs()
}

/// Returns the loads that the copy serves more than a tenth slower or faster. Prints the error of
/// each load: docs/CALIBRATE.md has some of them.
pub fn mispredicted(original: &Device, copy: &Device) -> Vec<String> {
    let off = |load| {
        let (wanted, found) = (rate(original, load, 3), rate(copy, load, 3));
        let change = 100.0 * (found / wanted - 1.0);
        let line = format!("{load:?}: {found:.1} instead of {wanted:.1} a second, {change:+.1} %");
        println!("{line}");
        (off(found, wanted) > 0.1).then_some(line)
    };
    LOADS.into_iter().filter_map(off).collect()
}
