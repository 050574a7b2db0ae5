//! Numbers that do not come from fio: of imported results, of start-ups, of the disks' work.

use disklab_compare::answer;
use disklab_record::{Outcome, Status};
use disklab_results::Spread;
use serde::Serialize;

/// A named number over a cell's trials that are ok.
#[derive(Debug, Serialize)]
pub struct NamedNumbers {
    pub name: String,
    pub unit: String,
    #[serde(flatten)]
    pub spread: Spread,
    /// Number of trials that timed out: their true values are larger.
    pub censored: usize,
    /// The sum of a count, and the sum of its totals. It is None for other numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<(f64, f64)>,
}

impl NamedNumbers {
    /// Returns the median, as far as it is known: `> 60 s`. For counts, it is the sum: `7 of 9
    /// cuts`.
    pub fn median(&self) -> String {
        if let Some((sum, of)) = self.sum {
            return format!("{sum} of {of} {}", self.unit);
        }
        let median = answer::value(self.spread.median, &self.unit);
        let is_least = self.censored > 0 && self.spread.median >= self.spread.max;
        if is_least { format!("> {median}") } else { median }
    }
}

/// Returns the numbers of some outcomes by name.
pub fn over(outcomes: &[&Outcome]) -> Vec<NamedNumbers> {
    let ok = || outcomes.iter().filter(|outcome| outcome.status == Status::Ok);
    let mut names: Vec<(&String, &String)> = ok()
        .flat_map(|outcome| &outcome.measures)
        .map(|(name, measure)| (name, &measure.unit))
        .collect();
    names.sort_unstable();
    names.dedup_by(|(one, _), (other, _)| one == other);
    let spread = |(name, unit): (&String, &String)| {
        let found = || ok().filter_map(|outcome| outcome.measures.get(name));
        let spread = Spread::over(found().map(|measure| measure.value))?;
        let censored = found().filter(|measure| measure.censored).count();
        let of: Option<f64> = found().map(|measure| measure.of).sum();
        let sum = of.map(|of| (found().map(|measure| measure.value).sum(), of));
        Some(NamedNumbers { name: name.clone(), unit: unit.clone(), spread, censored, sum })
    };
    names.into_iter().filter_map(spread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_results::measure::Measure;

    #[test]
    fn counts_are_added_up_so_that_one_trial_shows() {
        let survived = |count: f64| Measure { of: Some(3.0), ..Measure::rate(count, "cuts") };
        let outcome = |count: f64| {
            let text = r#"{"trial":"x+s1","cell":{},"seed_index":1,"seed":1,"status":"ok",
                "reason":null,"virtual_ns":null,
                "wall_ms":0,"sample":null,"remarks":[],"raw":null}"#;
            let mut outcome: Outcome = serde_json::from_str(text).expect("an outcome");
            outcome.measures.insert("power cuts survived".to_owned(), survived(count));
            outcome
        };
        let all = [outcome(3.0), outcome(3.0), outcome(1.0)];
        let found = over(&all.iter().collect::<Vec<_>>());
        // The median would be that of all trials.
        assert_eq!((found[0].median().as_str(), found[0].spread.median), ("7 of 9 cuts", 3.0));
    }
}
