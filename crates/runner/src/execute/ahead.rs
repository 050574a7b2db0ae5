//! Prepares disks ahead of trials that others run, on machines that get copies of them.

use super::prepared;
use super::run::Run;
use super::share::share;
use crate::describe::facts::{self, MkfsTools};
use crate::error::{Error, Result};
use disklab_config::Trial;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Trials that begin on the same prepared disks.
#[derive(Debug)]
pub struct Ready<'a> {
    pub trials: Vec<&'a Trial>,
    /// Key of their disks, or None for trials that begin on bare disks, or cannot run here.
    pub key: Option<&'a str>,
    /// Path of the disks, or the reason why there are none.
    pub disks: std::result::Result<Option<PathBuf>, String>,
}

impl Run {
    /// Prepares the disks of `trials`, and calls `ready` for each set as soon as it is there,
    /// possibly from several threads.
    pub fn prepare_ahead(&self, trials: &[&Trial], ready: &(dyn Fn(Ready) + Sync)) -> Result<()> {
        let (fit, unfit): (Vec<&Trial>, Vec<&Trial>) =
            trials.iter().partition(|trial| facts::obstacle(trial).is_none());
        let mkfs_tools = MkfsTools::find(&fit)?;
        let mut sets: BTreeMap<Option<String>, Vec<&Trial>> = BTreeMap::new();
        for trial in fit {
            sets.entry(prepared::key(trial, self.kernel(trial), &mkfs_tools)?)
                .or_default()
                .push(trial);
        }
        let mut bare = sets.remove(&None).unwrap_or_default();
        bare.extend(unfit);
        if !bare.is_empty() {
            ready(Ready { trials: bare, key: None, disks: Ok(None) });
        }
        let sets: Vec<(Option<String>, Vec<&Trial>)> = sets.into_iter().collect();
        share(self.jobs, sets.len(), &|i| {
            let (key, trials) = &sets[i];
            let (Some(key), Some(first)) = (key, trials.first()) else { return Ok(()) };
            let disks = match prepared::get(self, first, self.kernel(first), key, &mut |_| ()) {
                Err(Error::Interrupted | Error::Cache(disklab_kernels::Error::Interrupted)) => {
                    return Ok(());
                }
                Err(error) => Err(error.to_string()),
                Ok(_) => Ok(Some(self.cache.disks().join(key))),
            };
            ready(Ready { trials: trials.clone(), key: Some(key), disks });
            Ok(())
        })
    }
}
