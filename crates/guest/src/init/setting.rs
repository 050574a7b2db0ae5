//! Writes settings, reads them back, and keeps files of sysfs in the record.

use super::kernel_value::{self, find};
use super::patterns::matching;
use super::perform::{Perform, Session};
use super::steps::{Failure, on};
use crate::real_machine::RealMachine;
use crate::site::Site;
use disklab_block_devices::change::Change;
use disklab_protocol::action::{CheckSettings, KeepFiles};
use disklab_protocol::setup::Setting;
use disklab_protocol::shell;
use disklab_protocol::step::Step;
use std::fs;
use std::path::Path;

/// Returns the command line that writes a setting.
pub fn line(setting: &Setting) -> String {
    format!("echo {} > {}", shell::word(&setting.value), setting.path)
}

impl Perform for Setting {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        vec![line(self)]
    }

    fn changes(&self, _: &RealMachine) -> Result<Vec<Change>, String> {
        match kernel_value::changes(Path::new(&self.path), self) {
            // Tunables belong to the scheduler that is chosen before them.
            Err(_) if self.path.starts_with("/sys/block/") => Ok(Vec::new()),
            changes => changes.map_err(|_| self.path.clone()),
        }
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let Self { path, value, .. } = self;
        let set = find(path).and_then(|file| {
            session.environment.note_setting(&file, self)?;
            kernel_value::write(&file, self)
        });
        let says = set.inspect_err(|_| {
            // This is not a failure: the kernel lacks the setting, and there is nothing to measure.
            if let Some(has) = session.environment.lacks(self) {
                let (path, value) = (path.clone(), value.clone());
                session.steps.say(&Step::Lacking { path, value, has });
            }
        })?;
        session.steps.say(&Step::Set { path: path.clone(), value: value.clone(), says });
        Ok(())
    }
}

impl Perform for CheckSettings {
    fn run(&self, _: &mut Session) -> Result<(), Failure> {
        self.all.iter().try_for_each(kernel_value::check)
    }
}

impl Perform for KeepFiles {
    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        // All names come first, so that reading a file does not affect which files are found.
        let found = self.patterns.iter().map(|pattern| matching(pattern));
        for path in found.collect::<Result<Vec<_>, _>>()?.concat() {
            let text = fs::read_to_string(&path).map_err(on(&path))?;
            let says = text.trim().to_owned();
            session.steps.say(&Step::Kept { when: self.when, path, says });
        }
        Ok(())
    }
}
