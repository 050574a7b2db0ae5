//! Interim analyses: records whose results were seen before all of their seeds were run.

use disklab_record::{Manifest, Record};
use disklab_stats::{Analysis, share_of_stage};
use disklab_units::prose::listed;
use serde::Serialize;

/// The way in which a record got its seeds: a run added seeds until verdicts were decided, or a
/// user extended the record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SequentialDesign {
    analyses: Vec<SeedAnalysis>,
    /// Last seeds before each extension.
    #[serde(skip)]
    extended_after: Vec<u32>,
}

/// An analysis of the first seeds of a record.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeedAnalysis {
    /// Last seed in the analysis, or None for all seeds of the record.
    pub upto: Option<u32>,
    /// The analysis's part of alpha.
    pub share: f64,
}

impl SequentialDesign {
    /// Returns the analyses of a record, or None if its number of seeds was fixed from the start.
    pub fn recorded(manifest: &Manifest) -> Option<Self> {
        let extended_after: Vec<u32> =
            manifest.extended.iter().map(|extension| extension.after).collect();
        let stages = extended_after.len() + 1;
        let analyses = if let Some(until) = &manifest.until_decided {
            let stage = |seed: u32| extended_after.iter().filter(|after| seed > **after).count();
            let share = |&seed: &u32| {
                let own = stage(seed);
                let count = until.analyses.iter().filter(|other| stage(**other) == own).count();
                SeedAnalysis { upto: Some(seed), share: share_of_stage(own, stages) / count as f64 }
            };
            until.analyses.iter().map(share).collect()
        } else if extended_after.is_empty() {
            return None;
        } else {
            let ends = extended_after.iter().map(|after| Some(*after)).chain([None]);
            let analysis =
                |(stage, upto)| SeedAnalysis { upto, share: share_of_stage(stage, stages) };
            ends.enumerate().map(analysis).collect()
        };
        Some(Self { analyses, extended_after })
    }

    /// Returns the design for a comparison of several records: the one that leaves the least alpha
    /// to the last analysis.
    pub fn among<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Self> {
        let designs = records.into_iter().filter_map(|record| Self::recorded(record.manifest()));
        designs.min_by(|one, other| one.last_share().total_cmp(&other.last_share()))
    }

    /// Returns the design without the analyses of later seeds.
    #[must_use]
    pub fn upto(mut self, seed: u32) -> Self {
        self.analyses.retain(|analysis| analysis.upto.is_none_or(|upto| upto <= seed));
        self
    }

    /// Returns the last analysis's part of alpha.
    pub fn last_share(&self) -> f64 {
        self.analyses.last().map_or(1.0, |analysis| analysis.share)
    }

    /// Returns the part of alpha for a record's verdicts after seeds were added to it.
    pub fn next_share(design: Option<&Self>) -> f64 {
        let stages = design.map_or(1, |design| design.extended_after.len() + 1);
        share_of_stage(stages, stages + 1)
    }

    /// Returns the analyses by their numbers of pairs; `seeds` are those of all pairs, rising.
    pub fn by_pairs(&self, seeds: &[u32]) -> Vec<Analysis> {
        let pairs = |upto: u32| seeds.partition_point(|seed| *seed <= upto);
        let analysis = |one: &SeedAnalysis| Analysis {
            pairs: one.upto.map_or(seeds.len(), pairs),
            share: one.share,
        };
        self.analyses.iter().map(analysis).collect()
    }

    /// Returns a sentence on the user's interim analyses: `Seeds were added after seed 5, ...`.
    pub fn in_words(&self) -> Option<String> {
        let after: Vec<String> = self
            .extended_after
            .iter()
            .map(|seed| if *seed == 0 { "other seeds".to_owned() } else { format!("seed {seed}") })
            .collect();
        let share = self.last_share().recip().round();
        (!after.is_empty()).then(|| {
            format!(
                "Seeds were added after an interim analysis of the results ({}), so these verdicts \
                 have 1/{share} of alpha",
                listed(&after)
            )
        })
    }
}
