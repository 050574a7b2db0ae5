//! The best of several choices along a range of numbers, and the points at which it changes.

use disklab_results::Spread;
use disklab_stats::Better;

/// Best choice at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Best {
    /// A choice that is best in all of its seeds: its worst seed is better than the best of each
    /// other choice.
    Choice(usize),
    /// No choice is best in all of its seeds.
    Open,
    /// A choice has no result.
    Unknown,
}

/// Successive points of a range with the same best choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Index of the first point, and of the last.
    pub from: usize,
    pub to: usize,
    pub best: Best,
}

/// Finds the stretches of a range. `points` has the spreads of all choices over their seeds at each
/// point, with `None` for a choice without a result.
pub fn stretches(points: &[Vec<Option<Spread>>], better: Better) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (at, choices) in points.iter().enumerate() {
        let best = best(choices, better);
        match stretches.last_mut() {
            Some(last) if last.best == best => last.to = at,
            _ => stretches.push(Stretch { from: at, to: at, best }),
        }
    }
    stretches
}

fn best(choices: &[Option<Spread>], better: Better) -> Best {
    let Some(spreads) = choices.iter().copied().collect::<Option<Vec<Spread>>>() else {
        return Best::Unknown;
    };
    let value = |spread: &Spread| match better {
        Better::Higher => spread.median,
        Better::Lower => -spread.median,
    };
    let all = || spreads.iter().enumerate();
    let Some((at, own)) = all().max_by(|(_, one), (_, other)| value(one).total_cmp(&value(other)))
    else {
        return Best::Unknown;
    };
    let is_first = all().all(|(other, spread)| other == at || !own.overlaps(spread));
    if is_first { Best::Choice(at) } else { Best::Open }
}

/// Text for points at which no choice is best.
const WITHOUT: [(Best, &str); 2] = [
    (Best::Open, "no choice is first in all of its seeds"),
    (Best::Unknown, "not every choice has a result"),
];

/// Describes a range: `latency is first from 1 to 2, queue from 2.828 to 4; between them no choice
/// is first in all of its seeds.` `None` without two choices anywhere.
pub fn sentence(stretches: &[Stretch], points: &[&str], choices: &[&str]) -> Option<String> {
    let point = |at: usize| points.get(at).copied().unwrap_or_default();
    let range = |stretch: &Stretch| between(point(stretch.from), point(stretch.to));
    if choices.len() < 2 || stretches.is_empty() {
        return None;
    }
    if let [only] = stretches
        && let Some((_, words)) = WITHOUT.iter().find(|(best, _)| *best == only.best)
    {
        return Some(format!("{words} anywhere"));
    }
    let won = stretches.iter().filter_map(|stretch| match stretch.best {
        Best::Choice(at) => Some((*choices.get(at)?, range(stretch))),
        Best::Open | Best::Unknown => None,
    });
    let everywhere = if stretches.len() == 1 { "everywhere, " } else { "" };
    let won = won.enumerate().map(|(at, (choice, range))| match at {
        0 => format!("{choice} is first {everywhere}{range}"),
        _ => format!("{choice} {range}"),
    });
    let won = won.collect::<Vec<_>>().join(", ");
    let rest = WITHOUT.into_iter().filter_map(|(best, words)| {
        let own = stretches.iter().filter(|stretch| stretch.best == best).map(range);
        let own = own.collect::<Vec<_>>().join(" and ");
        (!own.is_empty()).then(|| format!("{own} {words}"))
    });
    let parts = std::iter::once(won).filter(|won| !won.is_empty()).chain(rest);
    Some(parts.collect::<Vec<_>>().join("; "))
}

/// Describes which choice is best in samples of several ranges, in the order of one range: `latency
/// is first in 12 of 20 samples, from 1.9 to 4; queue in 5, from 1 to 1.6; in 3 no choice is first
/// in all of its seeds`. Unlike stretches, these may overlap. Returns `None` without two choices.
pub fn sentence_of_samples(
    samples: &[Vec<Option<Spread>>],
    better: Better,
    points: &[&str],
    choices: &[&str],
) -> Option<String> {
    if choices.len() < 2 || samples.is_empty() {
        return None;
    }
    let found: Vec<Best> = samples.iter().map(|spreads| best(spreads, better)).collect();
    let places = |best: Best| {
        found.iter().enumerate().filter(move |(_, known)| **known == best).map(|(at, _)| at)
    };
    let range = |own: &[usize]| {
        let [first, last] = [own.first(), own.last()]
            .map(|at| at.and_then(|at| points.get(*at)).copied().unwrap_or_default());
        between(first, last)
    };
    let won = choices.iter().enumerate().filter_map(|(at, choice)| {
        let own: Vec<usize> = places(Best::Choice(at)).collect();
        (!own.is_empty()).then_some((choice, own))
    });
    let all = samples.len();
    let mut parts: Vec<String> = won
        .enumerate()
        .map(|(at, (choice, own))| match (at, own.len(), range(&own)) {
            (0, number, range) => {
                format!("{choice} is first in {number} of {all} samples, {range}")
            }
            (_, number, range) => format!("{choice} in {number}, {range}"),
        })
        .collect();
    for (best, words) in WITHOUT {
        match places(best).count() {
            0 => {}
            some if some == all => parts.push(format!("{words} in any sample")),
            some => parts.push(format!("in {some} {words}")),
        }
    }
    Some(parts.join("; "))
}

fn between(first: &str, last: &str) -> String {
    if first == last { format!("at {first}") } else { format!("from {first} to {last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spreads<const N: usize>(ranges: [(f64, f64); N]) -> Vec<Option<Spread>> {
        ranges.map(|(min, max)| Some(Spread { min, median: min.midpoint(max), max })).to_vec()
    }

    #[test]
    fn the_winner_changes_where_ranges_are_apart() {
        let points = vec![
            spreads([(10.0, 11.0), (7.0, 9.0)]),
            spreads([(9.0, 10.0), (8.0, 8.5)]),
            spreads([(8.0, 9.0), (8.5, 9.5)]),
            spreads([(5.0, 6.0), (9.0, 9.5)]),
            [vec![None], spreads([(9.0, 9.5)])].concat(),
        ];
        let found = stretches(&points, Better::Higher);
        let expected = [
            (0, 1, Best::Choice(0)),
            (2, 2, Best::Open),
            (3, 3, Best::Choice(1)),
            (4, 4, Best::Unknown),
        ];
        assert_eq!(found, expected.map(|(from, to, best)| Stretch { from, to, best }));
        let points = ["1", "1.4", "2", "2.8", "4"];
        assert_eq!(
            sentence(&found, &points, &["pid", "queue"]).as_deref(),
            Some(
                "pid is first from 1 to 1.4, queue at 2.8; at 2 no choice is first in all of its \
                 seeds; at 4 not every choice has a result"
            )
        );
        let lower = stretches(&[spreads([(1.0, 2.0), (3.0, 4.0)])], Better::Lower);
        assert_eq!(lower[0].best, Best::Choice(0));
        assert_eq!(
            sentence(&lower, &points, &["pid", "queue"]).as_deref(),
            Some("pid is first everywhere, at 1")
        );
        assert_eq!(sentence(&lower, &points, &["pid"]), None);
        let none = stretches(&[vec![None, None], vec![None, None]], Better::Lower);
        assert_eq!(
            sentence(&none, &points, &["pid", "queue"]).as_deref(),
            Some("not every choice has a result anywhere")
        );
    }

    #[test]
    fn of_samples_it_is_told_how_many_each_wins_and_where() {
        let samples = [
            spreads([(10.0, 11.0), (7.0, 9.0)]),
            spreads([(5.0, 6.0), (9.0, 9.5)]),
            spreads([(8.0, 9.0), (8.5, 9.5)]),
            spreads([(9.0, 10.0), (8.0, 8.5)]),
        ];
        let points = ["1", "1.4", "2", "2.8"];
        let told = |samples: &[Vec<Option<Spread>>]| {
            sentence_of_samples(samples, Better::Higher, &points, &["pid", "queue"])
        };
        assert_eq!(
            told(&samples).as_deref(),
            Some(
                "pid is first in 2 of 4 samples, from 1 to 2.8; queue in 1, at 1.4; in 1 no choice \
                 is first in all of its seeds"
            )
        );
        assert_eq!(
            told(&samples[2..3]).as_deref(),
            Some("no choice is first in all of its seeds in any sample")
        );
        assert_eq!(told(&[]), None);
        assert_eq!(sentence_of_samples(&samples, Better::Higher, &points, &["pid"]), None);
    }
}
