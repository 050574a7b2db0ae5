//! Remarks that exclude no trial from verdicts. Each kind is listed once below the table of the
//! cells, with its other trials.

use std::mem::discriminant;

use disklab_results::Remark;
use disklab_units::prose::{count, listed};
use itertools::Itertools;

/// Largest number of other trials that are named by their ids.
const NAMED: usize = 3;

/// Kinds of remarks in order of appearance, with all their trials.
#[derive(Debug, Default)]
pub struct Notes<'a> {
    all: Vec<(&'a Remark, Vec<&'a str>)>,
}

impl<'a> Notes<'a> {
    /// Returns the number of a remark's kind, counted from 1.
    pub fn number(&mut self, remark: &'a Remark, trial: &'a str) -> usize {
        let known =
            self.all.iter().position(|(known, _)| discriminant(*known) == discriminant(remark));
        let at = known.unwrap_or(self.all.len());
        if known.is_none() {
            self.all.push((remark, Vec::new()));
        }
        if self.all[at].1.last() != Some(&trial) {
            self.all[at].1.push(trial);
        }
        at + 1
    }

    /// Returns the numbers of the kinds among the remarks on a trial, counted from 1.
    pub fn numbers(&mut self, remarks: &'a [Remark], trial: &'a str) -> Vec<usize> {
        // A missing choice is reported with the comparisons.
        let said = remarks.iter().filter(|remark| !remark.doubts() && !remark.is_no_choice());
        said.map(|remark| self.number(remark, trial)).unique().collect()
    }

    /// Returns the notes in the order of their numbers: the first of each kind in full.
    pub fn sentences(&self) -> Vec<String> {
        let sentence = |(remark, trials): &(&Remark, Vec<&str>)| {
            let (first, others) =
                trials.split_first().map_or(("", &[][..]), |(first, others)| (*first, others));
            let others = match others {
                [] => String::new(),
                few if few.len() <= NAMED => format!("; likewise {}", listed(few)),
                many => format!("; likewise {}", count(many.len(), "other trial")),
            };
            format!("{first}: {remark}{others}")
        };
        self.all.iter().map(sentence).collect()
    }
}
