//! Settings of the disks themselves.

use disklab_config::scheduler::QUEUE;
use disklab_config::{SchedulerChoice, Trial};
use disklab_protocol::setup::Setting;

/// Returns the settings of whole disks, independent of the layers above. Several partitions of a
/// disk share them.
pub fn device_settings(trial: &Trial) -> Vec<Setting> {
    let mut wholes: Vec<&String> = Vec::new();
    for whole in &trial.places.wholes {
        if !wholes.contains(&whole) {
            wholes.push(whole);
        }
    }
    wholes.into_iter().flat_map(|whole| scheduler(trial, whole)).collect()
}

/// Returns a disk's scheduler and then its tunables, whose files exist only under that scheduler.
fn scheduler(trial: &Trial, whole: &str) -> Vec<Setting> {
    let queue = format!("/sys/block/{whole}/queue");
    let SchedulerChoice { scheduler, tunables } = &trial.scheduler;
    let chosen =
        Setting { path: format!("{queue}/scheduler"), value: scheduler.to_string(), choice: true };
    let tuned = tunables.iter().map(|(name, value)| Setting {
        path: if QUEUE.contains(&name.as_str()) {
            format!("{queue}/{name}")
        } else {
            format!("{queue}/iosched/{name}")
        },
        value: value.to_string(),
        choice: false,
    });
    [chosen].into_iter().chain(tuned).collect()
}
