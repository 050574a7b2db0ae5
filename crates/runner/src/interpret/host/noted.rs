//! Makes remarks on a trial from the steps of its first process.

use crate::describe::host::plan::{choice, not_had};
use disklab_files::TRIAL;
use disklab_protocol::names;
use disklab_protocol::step::Step;
use disklab_results::{Remark, device_errors};
use disklab_units::Nanos;
use std::path::Path;

/// Returns remarks on a trial that has ended in `folder`.
pub fn remarks(folder: &Path) -> Vec<Remark> {
    let steps = steps(folder);
    let remarks = steps.iter().filter_map(|step| match step {
        Step::Warmed { steady: false, took_ns, off_percent, rise_percent, .. } => {
            Some(Remark::NotSteady {
                within: Nanos(*took_ns),
                off_percent: *off_percent,
                rise_percent: *rise_percent,
            })
        }
        Step::Caches { dropped: false, error } => {
            Some(Remark::CachesKept { why: error.clone().unwrap_or_default() })
        }
        _ => None,
    });
    // A load warms up after the caches were dropped, and its remark still comes first.
    let (not_steady, kept): (Vec<_>, Vec<_>) =
        remarks.partition(|remark| matches!(remark, Remark::NotSteady { .. }));
    not_steady.into_iter().chain(kept).chain(device_errors::remarks(&steps)).collect()
}

/// Returns a choice that this machine's kernel lacks, and the reason why a trial with it cannot
/// run.
pub fn lacking(folder: &Path) -> Option<(String, String)> {
    steps(folder).iter().rev().find_map(|step| match step {
        Step::Lacking { path, value, has } => {
            Some((choice(value).to_owned(), not_had(value, path, has)))
        }
        _ => None,
    })
}

fn steps(folder: &Path) -> Vec<Step> {
    Step::read_all(&disklab_files::read(&folder.join(names::STEPS), &TRIAL).unwrap_or_default())
}
