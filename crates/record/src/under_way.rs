//! Which trials a run is at.

use std::collections::BTreeSet;
use std::fs;

use crate::name;
use crate::record::Record;

impl Record {
    /// Trials with raw output that is not whole: they run now, or ran when their run was killed.
    pub fn under_way(&self) -> BTreeSet<String> {
        let folders = fs::read_dir(self.folder().join("raw")).into_iter().flatten().flatten();
        let parts: BTreeSet<String> =
            folders.filter_map(|folder| folder.file_name().into_string().ok()).collect();
        let trials = self.manifest().trials.iter();
        trials.filter(|trial| parts.contains(&name::part(trial))).cloned().collect()
    }
}
