//! Power cuts: their results in a trial.

use disklab_config::Trial;
use disklab_config::suite::metric::SURVIVED;
use disklab_protocol::closing::{Closing, PowerCut};
use disklab_results::Remark;
use disklab_results::measure::{Better, Measure, Measures};
use disklab_units::Nanos;

/// Half a cut: fewer surviving cuts cannot be distinguished from none.
const HALF: f64 = 0.5;

/// The state of the disks after a trial's cuts.
#[derive(Debug, Default)]
pub struct Left {
    /// Time of mounting, and number of promised records, for each survived cut.
    pub survived: Vec<(Option<Nanos>, u64)>,
    /// The other cuts: number (from 1), time, and the reason why the cut was not survived.
    pub lost: Vec<(usize, Nanos, String)>,
}

/// Returns the results and remarks that a trial's cuts add. Returns an error if the suite asks for
/// cuts and there were none.
pub fn results(
    trial: &Trial,
    closing: &Closing,
    left: &Left,
) -> Result<(Measures, Option<Remark>), String> {
    let Some(asked) = trial.power_cut else { return Ok((Measures::new(), None)) };
    let cuts = &closing.power_cuts;
    if cuts.len() < asked.cuts as usize {
        return Err(format!(
            "of {} power cuts, only {} came before the guest's end",
            asked.cuts,
            cuts.len()
        ));
    }
    let unflushed = cuts.iter().map(|cut| cut.lost).max().unwrap_or_default();
    // Blocks that the disks lost are not a merit of the filesystem. They show that there was
    // something to lose.
    let unflushed = Measure { better: Better::Lower, ..Measure::rate(unflushed as f64, "blocks") };
    let survived = Measure {
        least: Some(HALF),
        of: Some(cuts.len() as f64),
        ..Measure::rate(left.survived.len() as f64, "cuts")
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
    Ok((measures, left.remark(cuts.len())))
}

impl Left {
    /// Adds the result of cut `number`, counted from 0: the time of mounting, or the reason why the
    /// cut was not survived.
    pub fn add(&mut self, number: usize, cut: &PowerCut, looked: Result<Option<Nanos>, String>) {
        match looked {
            Ok(took) => self.survived.push((took, cut.acknowledged)),
            Err(reason) => self.lost.push((number + 1, cut.at, reason)),
        }
    }

    fn remark(&self, cuts: usize) -> Option<Remark> {
        let (number, at, reason) = self.lost.first()?;
        Some(Remark::NotSurvived {
            cuts: cuts as u64,
            lost: self.lost.len() as u64,
            first: format!("cut {number}, at {at}: {reason}"),
        })
    }
}
