//! The decision rule of verdicts, and the limit on wrong verdicts.

use disklab_record::manifest::UntilDecided;
use disklab_stats::Correction;
use serde::Serialize;

use crate::error::Error;

/// Rule by which verdicts are made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DecisionRule {
    pub alpha: f64,
    /// Smallest effect of interest, as a share.
    pub smallest_effect: f64,
    #[serde(rename = "limit")]
    pub error_control: ErrorControl,
}

/// The error rate that alpha limits over many cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ErrorControl {
    /// The false discovery rate: at most this share of the verdicts "better" and "worse" is wrong,
    /// on average (Benjamini and Hochberg).
    #[serde(rename = "share")]
    Fdr,
    /// The familywise error rate: the chance that any verdict is wrong (Holm). Needs more seeds.
    #[serde(rename = "any")]
    Fwer,
}

impl ErrorControl {
    /// Returns the word for command lines and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fdr => "share",
            Self::Fwer => "any",
        }
    }

    pub(crate) const fn correction(self) -> Correction {
        match self {
            Self::Fdr => Correction::BenjaminiHochberg,
            Self::Fwer => Correction::Holm,
        }
    }
}

impl DecisionRule {
    /// The rule of `disklab compare` without options, and of every report.
    pub const DEFAULT: Self =
        Self { alpha: 0.05, smallest_effect: 0.02, error_control: ErrorControl::Fdr };

    /// Returns the rule with which a run decided.
    pub fn recorded(until: &UntilDecided) -> Result<Self, Error> {
        let UntilDecided { alpha, smallest_effect, ref limit, .. } = *until;
        let error_control = [ErrorControl::Fdr, ErrorControl::Fwer]
            .into_iter()
            .find(|control| control.name() == limit)
            .ok_or_else(|| Error::UnknownLimit { limit: limit.clone() })?;
        Ok(Self { alpha, smallest_effect, error_control })
    }
}
