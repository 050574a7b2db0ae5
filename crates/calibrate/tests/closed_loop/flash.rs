//! Disks without moving parts.

use disklab_spec::device::{Device, Model, Ssd};

use crate::bench::{LOADS, lab, measured, measured_in_noise, off, rate};

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
    for load in LOADS {
        let (wanted, found) = (rate(original, load, 3), rate(copy, load, 3));
        assert!(off(found, wanted) < 0.1, "{load:?}: {found:.1} instead of {wanted:.1} a second");
    }
}

#[test]
fn the_labs_ssd_is_found_again() {
    let original = lab("sata-ssd-1tb");
    let (_, copy) = measured(&original.model, original.bytes, 1, true);
    held(&original, &copy);
}

/// Pages of three kinds, as TLC has them.
#[test]
fn kinds_of_pages_are_told_apart() {
    let mut original = lab("sata-ssd-1tb");
    let Model::Ssd(ssd) = &mut original.model else { panic!("{original:?}") };
    ssd.read_page = vec![60, 90, 140].into_iter().map(disklab_units::Nanos::from_micros).collect();
    let (_, copy) = measured(&original.model, original.bytes, 1, true);
    held(&original, &copy);
}

/// What the host is late by is taken for the disk's, but loads are predicted all the same.
#[test]
fn noise_does_not_hide_an_ssd() {
    let original = lab("sata-ssd-1tb");
    let (_, copy) = measured_in_noise(&original, 2e3);
    let (model, found) = (ssd(&original), ssd(&copy));
    assert_eq!((found.page, found.read_page.len()), (model.page, model.read_page.len()));
    for load in LOADS {
        let (wanted, found) = (rate(&original, load, 3), rate(&copy, load, 3));
        assert!(off(found, wanted) < 0.1, "{load:?}: {found:.1} instead of {wanted:.1} a second");
    }
}
