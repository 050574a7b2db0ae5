//! Selects some of a suite's trials: by name, by key, or as one of several equal shares.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use disklab_config::Trial;
use disklab_config::read::nearest;
use disklab_kernels::{Build, Cache, Error as KernelError, KernelLookup};
use disklab_runner::{estimate, key};
use itertools::Itertools;

use crate::exit::{Failure, mistaken};
use crate::home::Home;
use crate::question::Question;
use crate::{signals, words};

/// Number of shares from which on `--shard` is refused.
const MOST_SHARDS: u32 = 100_000;

/// Options that choose some of a suite's trials. By default all of them run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Wanted {
    /// Run only these trials, by their keys or by the name of one. Can be repeated.
    ///
    /// `disklab plan SUITE --json` prints the keys and the names.
    #[arg(long = "trial", value_name = "ID,...")]
    trials: Vec<String>,

    /// Run only the Kth of N shares of the trials.
    ///
    /// Each trial is in one share, which is always the same. All shares take about the same time.
    #[arg(long, value_name = "K/N", conflicts_with = "trials")]
    shard: Option<Shard>,
}

/// A share of the trials: `2/3` is the second of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the share, from 1.
    number: u32,
    of: u32,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = || {
            let (number, of) = text.split_once('/')?;
            Some(Self { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? })
        };
        let shard = parsed().ok_or("write it as K/N, such as 2/3 for the second of three")?;
        match shard {
            Self { of: 0 | MOST_SHARDS.., .. } => {
                Err(format!("out of range (1 to {} shares)", MOST_SHARDS - 1))
            }
            Self { number: 0, of } => Err(format!("share 0 is out of range (1 to {of})")),
            Self { number, of } if number > of => {
                Err(format!("share {number} is out of range (1 to {of})"))
            }
            shard => Ok(shard),
        }
    }
}

impl Wanted {
    /// Returns the question with the wanted trials only. `kernels` is called only for trials named
    /// by keys.
    pub fn select(
        &self,
        question: Question,
        kernels: impl FnOnce(&[Trial]) -> Result<BTreeMap<String, String>, Failure>,
    ) -> Result<Question, Failure> {
        if let Some(shard) = self.shard {
            let at = shard.places(&question.trials);
            if at.is_empty() {
                let Shard { number, of } = shard;
                let trials = words::count(question.trials.len(), "trial");
                return Err(mistaken!(
                    "--shard {number}/{of}: the suite has only {trials}; name fewer shares"
                ));
            }
            return Ok(question.only(&at));
        }
        if self.trials.is_empty() {
            return Ok(question);
        }
        let at = named(&self.trials, &question.trials, kernels)?;
        Ok(question.only(&at))
    }
}

impl Shard {
    /// Returns the indices of the share's trials. The longest trial goes first, and each trial goes
    /// to the share with the least work so far.
    fn places(self, trials: &[Trial]) -> Vec<usize> {
        let weight = |trial: &Trial| {
            if trial.unfit.is_some() { Duration::ZERO } else { estimate::wall(trial) }
        };
        self.share_of(&trials.iter().map(weight).collect::<Vec<_>>())
    }

    fn share_of(self, weights: &[Duration]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..weights.len()).collect();
        // The sort is stable: equally long trials keep their order.
        order.sort_by_key(|&at| std::cmp::Reverse(weights[at]));
        // Work of each share, the number of its trials, and the number of the share.
        let mut shares: BTreeSet<(Duration, usize, u32)> =
            (1..=self.of).map(|share| (Duration::ZERO, 0, share)).collect();
        let mut own = Vec::new();
        for at in order {
            let Some((time, count, share)) = shares.pop_first() else { break };
            if share == self.number {
                own.push(at);
            }
            shares.insert((time + weights[at], count + 1, share));
        }
        own.sort_unstable();
        own
    }
}

/// Returns the indices of the named trials, each once, in rising order.
fn named(
    wanted: &[String],
    trials: &[Trial],
    kernels: impl FnOnce(&[Trial]) -> Result<BTreeMap<String, String>, Failure>,
) -> Result<Vec<usize>, Failure> {
    let names: BTreeMap<&str, usize> =
        trials.iter().enumerate().map(|(at, trial)| (trial.id.as_str(), at)).collect();
    let (mut at, mut others) = (BTreeSet::new(), Vec::new());
    for wanted in wanted {
        // A name may contain commas; a key contains none.
        let is_name = names.contains_key(wanted.as_str());
        let words = if is_name { vec![wanted.as_str()] } else { wanted.split(',').collect() };
        for word in words {
            match names.get(word.trim()) {
                Some(found) => _ = at.insert(*found),
                None => others.push(word.trim()),
            }
        }
    }
    if others.is_empty() {
        return Ok(at.into_iter().collect());
    }
    let keys = key::of_all(trials, &kernels(trials)?)?;
    let places = keys.iter().enumerate();
    let by_key = places.filter_map(|(place, key)| Some((key.as_deref()?, place))).into_group_map();
    for wanted in others {
        let Some(found) = by_key.get(wanted) else { return Err(unknown(wanted, trials, &keys)) };
        at.extend(found);
    }
    Ok(at.into_iter().collect())
}

fn unknown(wanted: &str, trials: &[Trial], keys: &[Option<String>]) -> Failure {
    let without_key = trials.iter().zip(keys).filter(|(_, key)| key.is_none());
    let kernels: BTreeSet<&str> = without_key.map(|(trial, _)| trial.kernel.as_str()).collect();
    let hint = if let Some(near) = nearest(wanted, trials.iter().map(|trial| trial.id.as_str())) {
        format!("did you mean `{near}`?")
    } else if kernels.is_empty() {
        "`disklab plan SUITE --json` has the keys and names of all; another kernel or another lab \
         gives other keys"
            .to_owned()
    } else {
        let kernels = kernels.into_iter().join(", ");
        format!(
            "the trial may be one of kernel {kernels}, which is not built; build it with \
             `disklab kernel build`"
        )
    };
    mistaken!("--trial: the suite has no trial `{}`; {hint}", wanted.escape_debug())
}

/// A kernel, by the name that the trials use.
pub type NamedKernel<'a> = (&'a str, Result<KernelLookup, KernelError>);

/// Looks up the kernels of the trials, in the order of their names. Nothing is built.
pub fn look_up<'a>(
    cache: &Cache,
    home: &Home,
    trials: &'a [Trial],
    jobs: usize,
) -> Result<Vec<NamedKernel<'a>>, Failure> {
    let stop = signals::watch()?;
    let maker = Build { cache, share: &home.share, jobs, stop };
    let names: BTreeSet<&str> = trials.iter().map(|trial| trial.kernel.as_str()).collect();
    Ok(names.into_iter().map(|name| (name, maker.look(name, &mut |_| {}))).collect())
}

/// Returns the keys of the kernels that exist or could be built, by the names that the trials use.
pub fn kernels_here(
    home: &Home,
    trials: &[Trial],
    jobs: usize,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut keys = BTreeMap::new();
    for (name, found) in look_up(&Cache::open()?, home, trials, jobs)? {
        let key = match found {
            Ok(KernelLookup::Built(kernel)) => kernel.key,
            Ok(KernelLookup::ToBuild { key, .. }) => key,
            Err(KernelError::NoKernel { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        keys.insert(name.to_owned(), key);
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shard(text: &str) -> Shard {
        text.parse().expect("a shard")
    }

    #[test]
    fn shards_are_counted_from_one() {
        assert_eq!(shard("2/3"), Shard { number: 2, of: 3 });
        for (bad, why) in [
            ("", "K/N"),
            ("3", "K/N"),
            ("a/b", "K/N"),
            ("-1/3", "K/N"),
            ("0/3", "(1 to 3)"),
            ("4/3", "share 4 is out of range"),
            ("1/0", "(1 to"),
            ("1/4000000", "(1 to"),
        ] {
            let error = bad.parse::<Shard>().expect_err(bad);
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn trials_that_take_as_long_are_dealt_out() {
        let equal = [Duration::from_secs(1); 7];
        assert_eq!(shard("1/3").share_of(&equal), [0, 3, 6]);
        assert_eq!(shard("2/3").share_of(&equal), [1, 4]);
        assert_eq!(shard("3/3").share_of(&equal), [2, 5]);
        // Trials that take no time are still spread over the shares.
        assert_eq!(shard("2/2").share_of(&[Duration::ZERO; 4]), [1, 3]);
        let one_is_long = [9, 1, 1, 1].map(Duration::from_secs);
        assert_eq!(shard("1/2").share_of(&one_is_long), [0]);
        assert_eq!(shard("2/2").share_of(&one_is_long), [1, 2, 3]);
    }

    proptest! {
        /// Each trial is in one share. No share has more work than the least one plus one trial.
        #[test]
        fn shares_are_a_partition_and_even(
            weights in prop::collection::vec(0_u64..1_000_000, 0..60),
            of in 1_u32..9,
        ) {
            let weights: Vec<Duration> = weights.into_iter().map(Duration::from_micros).collect();
            let share = |number| Shard { number, of }.share_of(&weights);
            let shares: Vec<Vec<usize>> = (1..=of).map(share).collect();
            let mut all: Vec<usize> = shares.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..weights.len()).collect::<Vec<_>>());
            let time = |share: &Vec<usize>| share.iter().map(|&at| weights[at]).sum::<Duration>();
            let (least, most) = (shares.iter().map(time).min(), shares.iter().map(time).max());
            let longest = weights.iter().max().copied().unwrap_or_default();
            prop_assert!(most.unwrap_or_default() <= least.unwrap_or_default() + longest);
        }
    }
}
