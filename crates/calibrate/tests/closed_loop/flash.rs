//! Tests with disks without moving parts.

use disklab_calibrate::modelled::Modelled;
use disklab_calibrate::sheet::Provenance;
use disklab_calibrate::{Hints, Probe, Target};
use disklab_config::device::{Device, Model, Ssd};
use disklab_disks::build;
use disklab_units::{Bytes, Nanos, Random, Rate, Seed};

use crate::bench::{lab, measured, measured_in_noise, measured_with, mispredicted, off};

fn ssd(device: &Device) -> &Ssd {
    match &device.model {
        Model::Ssd(ssd) => ssd,
        other => panic!("{} was taken for something else: {other:?}", device.name),
    }
}

fn held(original: &Device, copy: &Device) {
    let (model, found) = (ssd(original), ssd(copy));
    let dies = |ssd: &Ssd| ssd.channels * ssd.dies_per_channel;
    assert_eq!((found.page, dies(found)), (model.page, dies(model)));
    assert_eq!(found.read_page.len(), model.read_page.len(), "{:?}", found.read_page);
    let pairs = [
        ("read_page", found.read_page[0].0, model.read_page[0].0),
        ("program_page", found.program_page.0, model.program_page.0),
        ("command_overhead", found.command_overhead.0, model.command_overhead.0),
        ("link_command", found.link_command.0, model.link_command.0),
        ("flush", found.flush.0, model.flush.0),
        ("link", found.link.0, model.link.0),
        ("channel", found.channel.0, model.channel.0),
    ];
    for (what, found, wanted) in pairs {
        assert!(off(found as f64, wanted as f64) < 0.05, "{what}: {found} instead of {wanted}");
    }
    assert_eq!(mispredicted(original, copy), Vec::<String>::new());
}

#[test]
fn the_labs_ssd_is_found_again() {
    let original = lab("sata-ssd-1tb");
    let (_, copy) = measured(&original.model, original.bytes, 1, true);
    held(&original, &copy);
}

/// Three kinds of pages, as in TLC, are distinguished.
#[test]
fn kinds_of_pages_are_told_apart() {
    let mut original = lab("sata-ssd-1tb");
    let Model::Ssd(ssd) = &mut original.model else { panic!("{original:?}") };
    ssd.read_page = vec![60, 90, 140].into_iter().map(disklab_units::Nanos::from_micros).collect();
    let (_, copy) = measured(&original.model, original.bytes, 1, true);
    held(&original, &copy);
}

/// The link times of reads and writes are both found, whichever is longer.
#[test]
fn writes_take_another_time_of_the_link_than_reads() {
    for (reads, writes) in [(12_000, 3_000), (3_000, 12_000)] {
        let mut original = lab("sata-ssd-1tb");
        let Model::Ssd(ssd) = &mut original.model else { panic!("{original:?}") };
        (ssd.link_command, ssd.link_command_read) = (Nanos(writes), Some(Nanos(reads)));
        let (_, copy) = measured(&original.model, original.bytes, 1, true);
        let found = self::ssd(&copy);
        let command = found.link_command_read.map_or(0, |command| command.0);
        assert!(off(command as f64, reads as f64) < 0.06, "reads: {command} instead of {reads}");
        let command = found.link_command.0;
        assert!(off(command as f64, writes as f64) < 0.06, "writes: {command}, not {writes}");
    }
    let same = lab("sata-ssd-1tb");
    let (_, copy) = measured(&same.model, same.bytes, 1, true);
    assert_eq!(ssd(&copy).link_command_read, None);
}

/// The share of slow pages is found: a third of the pages, and a tenth.
#[test]
fn shares_of_kinds_of_pages_are_told() {
    for (quick, tolerated) in [(2, 0.0), (9, 0.03)] {
        let mut original = lab("sata-ssd-1tb");
        let Model::Ssd(ssd) = &mut original.model else { panic!("{original:?}") };
        ssd.read_page = vec![Nanos::from_micros(60); quick];
        ssd.read_page.push(Nanos::from_micros(120));
        let (_, copy) = measured(&original.model, original.bytes, 1, false);
        let found = &self::ssd(&copy).read_page;
        let slow = found.iter().filter(|page| page.0 > 90_000).count();
        let (share, wanted) = (slow as f64 / found.len() as f64, 1.0 / (quick + 1) as f64);
        assert!((share - wanted).abs() <= tolerated + 1e-9, "{share}: {found:?}");
    }
}

/// Returns a small disk whose dies are slower than the link, and whose flash is a tenth larger than
/// the disk.
fn small() -> Device {
    let mut original = lab("sata-ssd-1tb");
    original.bytes = Bytes::gib(4);
    let Model::Ssd(ssd) = &mut original.model else { panic!("{original:?}") };
    (ssd.program_page, ssd.write_buffer) = (Nanos::from_millis(1), Bytes::mib(16));
    (ssd.raw_size, ssd.pages_per_block) = (Bytes::mib(4608), 64);
    original
}

/// Returns the rate, in bytes a second, of random writes of 128 KiB all over the disk. Before that,
/// such writes have written `passes` times the disk's size.
fn worn(device: &Device, passes: u64) -> f64 {
    let mut disk = Modelled::new(build(&device.model, device.bytes, Seed(3)), device.bytes);
    let mut random = Random::new(Seed(3));
    let all = device.bytes.sectors().0 / 256;
    let mut write = |count: u64| {
        let probes: Vec<Probe> =
            (0..count).map(|_| Probe::write(random.below(all) * 256, 256)).collect();
        let timed = disk.serve(8, &probes).unwrap();
        (timed[0].submitted, timed.iter().map(|timed| timed.done).max().unwrap())
    };
    write(all * passes);
    let (begun, end) = write(all / 4);
    (all / 4 * 256 * 512) as f64 * 1e9 / (end.0 - begun.0) as f64
}

/// Returns the number with its unit that follows `words` in a remark, and the relative error in
/// brackets behind it.
fn said(remarks: &[String], words: &str) -> (String, f64) {
    let remark = remarks.iter().find(|remark| remark.contains(words)).expect("a remark");
    let rest = &remark[remark.find(words).unwrap() + words.len()..];
    let (value, rest) = rest.split_once(" (±").unwrap();
    let (error, _) = rest.split_once(" %").unwrap();
    (value.trim().to_owned(), error.parse::<f64>().unwrap() / 100.0)
}

#[test]
fn the_write_buffer_and_the_collection_of_garbage_are_found_again() {
    let original = small();
    let (found, copy) = measured(&original.model, original.bytes, 1, true);
    let (model, its) = (ssd(&original), ssd(&copy));
    let error =
        |key: &str| match &found.sheet.lines.iter().find(|line| line.key == key).unwrap().mark {
            Provenance::Measured { error: Some(error), .. } => *error,
            other => panic!("{key}: {other:?}"),
        };
    for (key, found, wanted) in [
        ("write_buffer", its.write_buffer.0, model.write_buffer.0),
        ("program_page", its.program_page.0, model.program_page.0),
        ("flush", its.flush.0, model.flush.0),
    ] {
        let off = off(found as f64, wanted as f64);
        assert!(
            off <= error(key) && error(key) < 0.1,
            "{key}: {off} off, and {} stated",
            error(key)
        );
    }
    // The model keeps four blocks of each die.
    let kept = 4 * u64::from(model.dies()) * model.block().0;
    let (onset, error) = said(&found.remarks, "on the full disk, after ");
    let onset: Bytes = onset.parse().unwrap();
    let spare = model.raw_size.0 - original.bytes.0 - kept;
    assert!(
        off(onset.0 as f64, spare as f64) <= error && error < 0.05,
        "{onset}, not {spare}: {error}"
    );
    let (steady, error) = said(&found.remarks, "to a steady ");
    let steady: Rate = steady.parse().unwrap();
    let wanted = worn(&original, 3);
    assert!(
        off(steady.0 as f64, wanted) <= error && error < 0.05,
        "{steady}, not {wanted}: {error}"
    );
    // The copy behaves in the same way.
    assert!(off(its.raw_size.0 as f64, model.raw_size.0 as f64) < 0.03, "{}", its.raw_size);
    assert!(off(worn(&copy, 3), wanted) < 0.1, "{} instead of {wanted}", worn(&copy, 3));
}

/// The host's delays count as the disk's, but loads are predicted nevertheless.
#[test]
fn noise_does_not_hide_an_ssd() {
    let original = lab("sata-ssd-1tb");
    let (_, copy) = measured_in_noise(&original, 10e3);
    let (model, found) = (ssd(&original), ssd(&copy));
    assert_eq!((found.page, found.read_page.len()), (model.page, model.read_page.len()));
    assert_eq!(mispredicted(&original, &copy), Vec::<String>::new());
}

/// A flush that the kernel drops, or may drop, says nothing about the disk, and numbers that depend
/// on it are not marked as measured.
#[test]
fn a_flush_that_is_dropped_measures_nothing() {
    let original = lab("sata-ssd-1tb");
    let dropped = [
        (
            Hints { write_cache: Some(false), ..Hints::default() },
            "the kernel reports no write cache",
        ),
        (Hints { file: true, ..Hints::default() }, "it is a file"),
    ];
    for (hints, why) in dropped {
        let (found, _) = measured_with(&original, hints);
        let seen =
            |key| found.unseen().find(|unseen| unseen.0 == key).map(|unseen| unseen.1.to_owned());
        assert!(
            seen("command_overhead").is_some_and(|said| said.starts_with(why)),
            "{:?}",
            found.sheet
        );
        assert!(seen("flush").is_some_and(|said| said.starts_with(why)), "{:?}", found.sheet);
        let derived: Vec<(&str, &str)> = found.derived().collect();
        assert!(
            derived
                .iter()
                .any(|line| line.0 == "read_page" && line.1.starts_with("a command takes "))
        );
        assert!(derived.iter().any(|line| line.0 == "program_page"), "{derived:?}");
    }
    let (found, _) =
        measured_with(&original, Hints { write_cache: Some(true), ..Hints::default() });
    assert!(found.derived().next().is_none() && found.unseen().all(|unseen| unseen.0 != "flush"));
}

/// The time of a flush minus an assumed program time is not marked as measured either.
#[test]
fn a_program_that_does_not_show_makes_no_measured_flush() {
    let mut original = lab("sata-ssd-1tb");
    let Model::Ssd(ssd) = &mut original.model else { panic!("{original:?}") };
    // Reads interrupt programs.
    ssd.suspend = Some(Nanos::from_micros(30));
    let (found, _) = measured(&original.model, original.bytes, 1, true);
    assert!(found.unseen().any(|unseen| unseen.0 == "program_page"), "{:?}", found.sheet);
    let derived: Vec<(&str, &str)> = found.derived().collect();
    assert_eq!(derived, [("flush", "a program takes 500 us")]);
}
