//! The work of a trial's disks while it measured, whether fio measured or something else.

use std::borrow::Cow;

use disklab_protocol::closing::{self, Closing};
use disklab_protocol::names;
use disklab_record::{Outcome, Record};
use disklab_results::Sample;
use disklab_results::sample::{DeviceSample, of_disks};

use crate::source::CellChoice;

/// The samples of all trials that gave a result and have a record of their disks.
pub fn samples<'a>(choice: &CellChoice<'a>) -> Vec<Cow<'a, Sample>> {
    choice.results().filter_map(|(tried, outcome)| sample(tried.record, outcome)).collect()
}

/// A trial that fio did not measure (a start-up, a player) has no sample of its own: the disks'
/// closing record stands for it. `None`: nothing is known of its disks.
pub fn sample<'a>(record: &Record, outcome: &'a Outcome) -> Option<Cow<'a, Sample>> {
    match &outcome.sample {
        Some(sample) => (!sample.devices.is_empty()).then_some(Cow::Borrowed(sample)),
        None => of_disks(&closing(record, outcome)?).map(Cow::Owned),
    }
}

/// The name of a disk with what it is a model of: `vdb ironwolf-8tb`.
pub fn name(disk: &DeviceSample) -> String {
    let model = disk.device.iter().map(|device| format!(" {device}"));
    disk.name.clone() + &model.collect::<String>()
}

/// `None` where it cannot be read.
pub fn closing(record: &Record, outcome: &Outcome) -> Option<Closing> {
    let path = record.raw(outcome)?.join(names::CLOSING);
    closing::parse(&disklab_files::read(&path, &disklab_files::RAW).ok()?).ok()
}
