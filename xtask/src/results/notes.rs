//! Trials without a result, and remarks on trials with one.

use std::collections::BTreeMap;
use std::fmt::Write;

use disklab_record::Status;
use disklab_results::Remark;
use disklab_units::prose::{count, listed};

use super::axes::CellPlace;
use super::merged::Merged;
use super::words::{code, escaped, test};

/// Lists the trials of these places that are not ok: an entry for each cell and reason.
pub fn not_ok(merged: &Merged, places: &[CellPlace], policies: &[&str]) -> String {
    let mut text = String::new();
    for place in places {
        for policy in policies {
            let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
            for trial in merged.trials(place, policy) {
                let reason = match trial.outcome.map(|outcome| (outcome.status, &outcome.reason)) {
                    Some((Status::Ok, _)) => continue,
                    None => "has not run".to_owned(),
                    Some((status @ Status::Interrupted, _) | (status, None)) => status.to_string(),
                    Some((status, Some(reason))) => format!("{status}: {}", escaped(reason)),
                };
                match reasons.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, seeds)) => seeds.push(trial.seed.to_string()),
                    None => reasons.push((reason, vec![trial.seed.to_string()])),
                }
            }
            for (reason, seeds) in reasons {
                let noun = if seeds.len() == 1 { "seed" } else { "seeds" };
                let name = test(&place.workload);
                let _ = writeln!(text, "- {name}, {policy}, {noun} {}: {reason}", listed(&seeds));
            }
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Lists each kind of remark once, with the number of its trials and the first of them.
pub fn remarks(merged: &Merged) -> String {
    let mut kinds: BTreeMap<String, (usize, &str, &Remark)> = BTreeMap::new();
    for trial in merged.all() {
        let mut seen = Vec::new();
        for remark in trial.outcome.iter().flat_map(|outcome| &outcome.remarks) {
            let kind = kind(remark);
            if !seen.contains(&kind) {
                kinds.entry(kind.clone()).or_insert((0, trial.id, remark)).0 += 1;
                seen.push(kind);
            }
        }
    }
    if kinds.is_empty() {
        return "No trial has a remark.\n".to_owned();
    }
    let line = |(kind, (trials, id, remark)): (&String, &(usize, &str, &Remark))| {
        let trials = count(*trials, "trial");
        format!(
            "- `{kind}`, {trials}; the first is {}: {}\n",
            code(id),
            escaped(&remark.to_string())
        )
    };
    kinds.iter().map(line).collect()
}

/// Returns the name of a remark's kind in the record.
fn kind(remark: &Remark) -> String {
    let value = serde_json::to_value(remark).unwrap_or_default();
    value["kind"].as_str().unwrap_or("?").to_owned()
}
