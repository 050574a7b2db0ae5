//! The work of a trial's disks while it measured, whether fio measured or something else.

use std::borrow::Cow;

use disklab_protocol::closing::{self, Closing};
use disklab_protocol::names;
use disklab_record::{Outcome, Record};
use disklab_results::Sample;
use disklab_results::sample::{DeviceSample, of_disks};

use crate::source::CellChoice;

/// Returns the samples of all trials with a result and a record of their disks.
pub fn samples<'a>(choice: &CellChoice<'a>) -> Vec<Cow<'a, Sample>> {
    choice.results().filter_map(|(tried, outcome)| sample(tried.record, outcome)).collect()
}

/// Returns the sample of a trial. A trial that fio did not measure (a start-up, a player) has none
/// of its own: the disks' closing record replaces it. `None` means that nothing is known about its
/// disks.
pub fn sample<'a>(record: &Record, outcome: &'a Outcome) -> Option<Cow<'a, Sample>> {
    match &outcome.sample {
        Some(sample) => (!sample.devices.is_empty()).then_some(Cow::Borrowed(sample)),
        None => of_disks(&closing(record, outcome)?).map(Cow::Owned),
    }
}

/// Returns the name of a disk with its model: `vdb ironwolf-8tb`.
pub fn name(disk: &DeviceSample) -> String {
    let model = disk.device.iter().map(|device| format!(" {device}"));
    disk.name.clone() + &model.collect::<String>()
}

/// Reads the closing record. Returns `None` if it cannot be read.
pub fn closing(record: &Record, outcome: &Outcome) -> Option<Closing> {
    let path = record.raw(outcome)?.join(names::CLOSING);
    closing::parse(&disklab_files::read(&path, &disklab_files::RAW).ok()?).ok()
}
