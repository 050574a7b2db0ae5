//! Draws the candidates of a search: a policy with values from ranges.

use std::str::FromStr;

use disklab_config::policy::{ParameterKind, WantedPolicy};
use disklab_config::read::unknown;
use disklab_config::suite::sweep::{Range, latin_hypercube};
use disklab_config::{Lab, Policy};
use disklab_units::Seed;

/// A parameter and its range in a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedParameter {
    key: String,
    range: Range,
}

impl FromStr for SearchedParameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, range) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}`: write PARAM=LOW..HIGH, such as piece=1MiB..64MiB"))?;
        Ok(Self { key: key.trim().to_owned(), range: range.parse()? })
    }
}

/// A policy with values of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Spelling for `--set policy=`.
    pub text: String,
    /// Name in cells, without default values.
    pub name: String,
}

/// Returns the policy without changes, then `count` others, or fewer if some are equal after
/// rounding. The error names the mistake in the policy, its parameters or their ranges.
pub fn candidates(
    lab: &Lab,
    policy: &str,
    over: &[SearchedParameter],
    count: u32,
    seed: Seed,
) -> Result<Vec<Candidate>, String> {
    let wanted: WantedPolicy = policy.parse()?;
    let known = lab.policies.get(&wanted.policy).ok_or_else(|| {
        unknown("policy", &wanted.policy, lab.policies.keys().map(String::as_str))
    })?;
    for (index, parameter) in over.iter().enumerate() {
        check(known, parameter)?;
        if over[..index].iter().any(|other| other.key == parameter.key) {
            return Err(format!("`{}` is named twice; name it once", parameter.key));
        }
        for end in parameter.range.ends() {
            candidate(known, &with(policy, [(&*parameter.key, end.to_string())]))?;
        }
    }
    let ranges: Vec<(&str, Range)> =
        over.iter().map(|parameter| (&*parameter.key, parameter.range)).collect();
    let mut all = vec![candidate(known, policy)?];
    for sample in latin_hypercube(&ranges, count, seed) {
        let keys = over.iter().map(|parameter| &*parameter.key);
        let values = sample.iter().map(ToString::to_string);
        let drawn = candidate(known, &with(policy, keys.zip(values)))?;
        if all.iter().all(|other| other.name != drawn.name) {
            all.push(drawn);
        }
    }
    Ok(all)
}

fn check(policy: &Policy, SearchedParameter { key, .. }: &SearchedParameter) -> Result<(), String> {
    let name = &policy.name;
    if policy.parameters.is_empty() {
        return Err(format!("policy `{name}` has no parameters to search"));
    }
    let known = policy.parameters.iter().find(|known| known.key == *key).ok_or_else(|| {
        let keys = policy.parameters.iter().map(|parameter| parameter.key.as_str());
        format!("`{name}`: {}", unknown("parameter", key, keys))
    })?;
    match known.kind {
        ParameterKind::Number { .. } | ParameterKind::Bytes { .. } => Ok(()),
        ParameterKind::Word { .. } | ParameterKind::Device => Err(format!(
            "`{key}` of `{name}` is not a number; search once for each of its values, \
             --policy {name}:{key}=VALUE"
        )),
    }
}

fn candidate(policy: &Policy, text: &str) -> Result<Candidate, String> {
    let choice = text.parse::<WantedPolicy>()?.settle(policy, 1)?;
    Ok(Candidate { text: text.to_owned(), name: choice.to_string() })
}

/// Returns the spelling of a policy with more values.
fn with<'a>(policy: &str, values: impl IntoIterator<Item = (&'a str, String)>) -> String {
    values.into_iter().fold(policy.to_owned(), |text, (key, value)| {
        let between = if text.contains(':') { ',' } else { ':' };
        format!("{text}{between}{key}={value}")
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn drawn(policy: &str, over: &[&str], seed: u64) -> Result<Vec<String>, String> {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab"));
        let lab = Lab::load(folder).expect("the lab");
        let over: Vec<SearchedParameter> =
            over.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        let all = candidates(&lab, policy, &over, 8, Seed(seed))?;
        Ok(all.into_iter().map(|candidate| candidate.text).collect())
    }

    #[test]
    fn the_same_seed_draws_the_same_values_and_the_defaults_come_first() {
        let over = ["piece=1MiB..64MiB", "margin=100..400"];
        let all = drawn("streams", &over, 1).expect("candidates");
        assert_eq!((all.len(), &*all[0]), (9, "streams"));
        assert_eq!(all, drawn("streams", &over, 1).expect("candidates"));
        assert_ne!(all, drawn("streams", &over, 2).expect("candidates"));
        assert!(all[1].starts_with("streams:piece=") && all[1].contains(",margin="), "{all:?}");
        let fixed = drawn("streams:margin=150", &over[..1], 1).expect("candidates");
        assert!(fixed.iter().all(|text| text.starts_with("streams:margin=150")), "{fixed:?}");
        let few = drawn("streams", &["margin=100..102"], 1).expect("candidates");
        assert_eq!(few.len(), 4, "three different values, and the default: {few:?}");
    }

    #[test]
    fn mistakes_are_told() {
        for (policy, over, words) in [
            ("stream", "piece=1MiB..2MiB", "did you mean `streams`?"),
            ("streams", "pice=1MiB..2MiB", "did you mean `piece`?"),
            ("streams", "piece=2MiB..1MiB", "1MiB is not above the other end, 2MiB"),
            ("streams", "piece=1MiB..1MiB", "is not above"),
            ("streams", "piece=1MiB..20", "not of the same kind"),
            ("streams", "piece=1MiB", "write LOW..HIGH"),
            ("streams", "piece", "write PARAM=LOW..HIGH"),
            ("streams", "piece=1MiB..2GiB", "`piece` of `streams`"),
            ("pid", "piece=1MiB..2MiB", "has no parameters"),
            ("queue", "ties=1..2", "is not a number"),
        ] {
            let refused = drawn(policy, &[over], 1).expect_err(over);
            assert!(refused.contains(words), "{policy} {over}: {refused}");
        }
        let twice = drawn("streams", &["margin=100..200", "margin=100..300"], 1);
        assert!(twice.expect_err("twice").contains("twice"));
    }
}
