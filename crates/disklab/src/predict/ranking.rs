//! Checks whether a prediction ranks the policies of a cell as the measurement does.

use disklab_record::Record;
use disklab_record::outcome::Cell;
use indexmap::IndexMap;
use serde::Serialize;

use crate::oracle::{POLICY, medians};

/// The least difference of measured IOPS, as a share, with which two policies have a rank.
const TIE: f64 = 0.05;

/// The policies of a cell, ranked by IOPS.
#[derive(Debug, PartialEq, Serialize)]
pub struct PolicyRanking {
    pub cell: String,
    /// Number of pairs of policies whose measured IOPS differ by more than a tie.
    pub pairs: usize,
    /// Pairs that the prediction ranks in the other order. The better policy of each comes first.
    pub reversed: Vec<[String; 2]>,
}

/// Returns the ranking of each cell that has at least two policies in both records.
pub fn rankings(measured: &Record, predicted: &Record) -> Vec<PolicyRanking> {
    let [measured, predicted] = [measured, predicted].map(medians);
    let mut cells: IndexMap<Cell, Vec<(String, f64, f64)>> = IndexMap::new();
    for (cell, iops) in measured {
        let policy = cell.value(POLICY).map(str::to_owned);
        if let (Some(policy), Some(other)) = (policy, predicted.get(&cell)) {
            cells.entry(cell.without(POLICY)).or_default().push((policy, iops, *other));
        }
    }
    let several = cells.into_iter().filter(|(_, policies)| policies.len() > 1);
    several.map(|(cell, policies)| ranking(&cell, &policies)).collect()
}

/// Ranks the policies of a cell. Each of `policies` has a name, measured IOPS and predicted IOPS.
fn ranking(cell: &Cell, policies: &[(String, f64, f64)]) -> PolicyRanking {
    let values: Vec<&str> = cell.0.iter().map(|(_, value)| value.as_str()).collect();
    let (mut pairs, mut reversed) = (0, Vec::new());
    for (better, one, one_predicted) in policies {
        for (worse, other, other_predicted) in policies {
            if *one > *other * (1.0 + TIE) {
                pairs += 1;
                if one_predicted < other_predicted {
                    reversed.push([better.clone(), worse.clone()]);
                }
            }
        }
    }
    PolicyRanking { cell: values.join(", "), pairs, reversed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_policies_that_are_apart_have_a_rank() {
        let policies = |numbers: [(f64, f64); 3]| {
            let names = ["pid", "queue", "devid"].map(str::to_owned);
            let all = names.into_iter().zip(numbers);
            all.map(|(name, (one, other))| (name, one, other)).collect::<Vec<_>>()
        };
        let cell = Cell(vec![("array".to_owned(), "a".to_owned())]);
        let same = ranking(&cell, &policies([(100.0, 90.0), (150.0, 160.0), (98.0, 91.0)]));
        assert_eq!((same.pairs, same.reversed), (2, vec![]), "pid and devid are a tie");
        let other = ranking(&cell, &policies([(100.0, 170.0), (150.0, 160.0), (98.0, 91.0)]));
        assert_eq!(other.reversed, [["queue".to_owned(), "pid".to_owned()]]);
    }
}
