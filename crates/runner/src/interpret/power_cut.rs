//! Power cuts: their results in a trial.

use disklab_config::Trial;
use disklab_config::suite::metric::SURVIVED;
use disklab_protocol::closing::{Closing, PowerCut};
use disklab_results::Remark;
use disklab_results::measure::{Better, Measure, Measures};
use disklab_units::Nanos;
use std::collections::BTreeSet;

/// Half a cut: fewer surviving cuts cannot be distinguished from none.
const HALF: f64 = 0.5;

/// The state of the disks after a trial's cuts.
#[derive(Debug, Default)]
pub struct Left {
    /// Number of cuts. Each has one state or more.
    cuts: usize,
    /// Time of mounting, and number of promised records, for each survived state.
    survived: Vec<(Option<Nanos>, u64)>,
    /// The other states: number of the cut (from 1), the state in words, and the reason why it was
    /// not survived.
    lost: Vec<(usize, String, String)>,
}

/// Returns the results and remarks that a trial's cuts add. Returns an error if the suite asks for
/// cuts and there were none.
pub fn results(
    trial: &Trial,
    closing: &Closing,
    left: &Left,
) -> Result<(Measures, Option<Remark>), String> {
    let Some(asked) = trial.power_cut else { return Ok((Measures::new(), None)) };
    if left.cuts < asked.cuts as usize {
        return Err(format!(
            "of {} power cuts, only {} came before the guest's end",
            asked.cuts, left.cuts
        ));
    }
    let unflushed = closing.power_cuts.iter().map(|cut| cut.lost).max().unwrap_or_default();
    // Blocks that the disks lost are not a merit of the filesystem. They show that there was
    // something to lose.
    let unflushed = Measure { better: Better::Lower, ..Measure::rate(unflushed as f64, "blocks") };
    let survived = Measure {
        least: Some(HALF),
        of: Some(left.cuts as f64),
        ..Measure::rate(left.cuts.saturating_sub(left.cuts_lost()) as f64, "cuts")
    };
    let mut measures = Measures::from([
        (SURVIVED.to_owned(), survived),
        ("unflushed blocks lost".to_owned(), unflushed),
    ]);
    if let Some(slowest) = left.survived.iter().filter_map(|(took, _)| *took).max() {
        measures.insert("slowest mount after a cut".to_owned(), Measure::time(slowest.0 as f64));
    }
    if let Some(records) = left.survived.iter().map(|(_, records)| *records).max() {
        let records = Measure::rate(records as f64, "records");
        measures.insert("fsynced records, all found".to_owned(), records);
    }
    Ok((measures, left.remark()))
}

impl Left {
    /// Adds the result of the next state: the time of mounting, or the reason why the state was not
    /// survived.
    pub fn add(&mut self, state: &PowerCut, looked: Result<Option<Nanos>, String>) {
        self.cuts += usize::from(state.kept.is_none());
        match looked {
            Ok(took) => self.survived.push((took, state.acknowledged)),
            Err(reason) => {
                let kept = state.kept.map_or_else(String::new, |kept| format!(", {kept} kept"));
                self.lost.push((self.cuts, format!("at {}{kept}", state.at), reason));
            }
        }
    }

    /// Returns the number of cuts of which at least one state was not survived.
    fn cuts_lost(&self) -> usize {
        self.lost.iter().map(|(cut, ..)| cut).collect::<BTreeSet<_>>().len()
    }

    fn remark(&self) -> Option<Remark> {
        let (number, state, reason) = self.lost.first()?;
        Some(Remark::NotSurvived {
            cuts: self.cuts as u64,
            lost: self.cuts_lost() as u64,
            first: format!("cut {number}, {state}: {reason}"),
        })
    }
}
