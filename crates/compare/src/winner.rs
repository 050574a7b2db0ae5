//! Which of several choices is best along a range of numbers, and where that changes.

use disklab_collect::Spread;
use disklab_stats::Better;

/// Points of a range, one after the other, at which the same choice is best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The place of the first point, and of the last.
    pub from: usize,
    pub to: usize,
    /// The choice; `None`: no choice is best in all of its seeds.
    pub winner: Option<usize>,
}

/// Of each point the spreads of all choices over their seeds; `None` where one has no result. A choice is best where its worst
/// seed is better than the best of each other.
pub fn stretches(points: &[Vec<Option<Spread>>], better: Better) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (at, choices) in points.iter().enumerate() {
        let winner = winner(choices, better);
        match stretches.last_mut() {
            Some(last) if last.winner == winner => last.to = at,
            _ => stretches.push(Stretch { from: at, to: at, winner }),
        }
    }
    stretches
}

fn winner(choices: &[Option<Spread>], better: Better) -> Option<usize> {
    let spreads = || choices.iter().enumerate().filter_map(|(at, spread)| Some((at, (*spread)?)));
    let value = |spread: &Spread| match better {
        Better::Higher => spread.median,
        Better::Lower => -spread.median,
    };
    let (best, own) = spreads().max_by(|(_, one), (_, other)| value(one).total_cmp(&value(other)))?;
    let others: Vec<Spread> = spreads().filter(|(at, _)| *at != best).map(|(_, spread)| spread).collect();
    (!others.is_empty() && others.iter().all(|other| !own.overlaps(other))).then_some(best)
}

/// `latency is first from 1 to 2, queue from 2.828 to 4; between them no choice is first in all of its seeds.` `None` without
/// two choices anywhere.
pub fn sentence(stretches: &[Stretch], points: &[&str], choices: &[&str]) -> Option<String> {
    let point = |at: usize| points.get(at).copied().unwrap_or_default();
    let range = |it: &Stretch| {
        if it.from == it.to {
            format!("at {}", point(it.from))
        } else {
            format!("from {} to {}", point(it.from), point(it.to))
        }
    };
    let won: Vec<(&str, &Stretch)> =
        stretches.iter().filter_map(|it| Some((*choices.get(it.winner?)?, it))).collect();
    if choices.len() < 2 || stretches.is_empty() {
        return None;
    }
    if won.is_empty() {
        return Some("no choice is first in all of its seeds anywhere".to_owned());
    }
    let everywhere = stretches.len() == 1;
    let told = won.iter().enumerate().map(|(at, (choice, it))| match at {
        0 if everywhere => format!("{choice} is first everywhere, {}", range(it)),
        0 => format!("{choice} is first {}", range(it)),
        _ => format!("{choice} {}", range(it)),
    });
    let open: Vec<String> = stretches.iter().filter(|it| it.winner.is_none()).map(range).collect();
    let rest = if open.is_empty() {
        String::new()
    } else {
        format!("; {} no choice is first in all of its seeds", open.join(" and "))
    };
    Some(format!("{}{rest}", told.collect::<Vec<_>>().join(", ")))
}

/// Of samples of several ranges, in the order of one of these: `latency is first in 12 of 20 samples, from 1.9 to 4; queue in 5,
/// from 1 to 1.6; in 3 no choice is first in all of its seeds`. Unlike stretches these may overlap. `None` without two choices.
pub fn sentence_of_samples(
    samples: &[Vec<Option<Spread>>],
    better: Better,
    points: &[&str],
    choices: &[&str],
) -> Option<String> {
    if choices.len() < 2 || samples.is_empty() {
        return None;
    }
    let mut won: Vec<Vec<usize>> = vec![Vec::new(); choices.len()];
    for (at, spreads) in samples.iter().enumerate() {
        if let Some(own) = winner(spreads, better).and_then(|winner| won.get_mut(winner)) {
            own.push(at);
        }
    }
    let open = samples.len() - won.iter().map(Vec::len).sum::<usize>();
    let range = |own: &[usize]| {
        let ends = [own.first(), own.last()]
            .map(|at| at.and_then(|at| points.get(*at)).copied().unwrap_or_default());
        if ends[0] == ends[1] {
            format!("at {}", ends[0])
        } else {
            format!("from {} to {}", ends[0], ends[1])
        }
    };
    let told = choices.iter().zip(&won).filter(|(_, own)| !own.is_empty()).enumerate();
    let mut parts: Vec<String> = told
        .map(|(at, (choice, own))| match at {
            0 => format!("{choice} is first in {} of {} samples, {}", own.len(), samples.len(), range(own)),
            _ => format!("{choice} in {}, {}", own.len(), range(own)),
        })
        .collect();
    if parts.is_empty() {
        return Some("no choice is first in all of its seeds in any sample".to_owned());
    }
    if open > 0 {
        parts.push(format!("in {open} no choice is first in all of its seeds"));
    }
    Some(parts.join("; "))
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
        let expected = [(0, 1, Some(0)), (2, 2, None), (3, 3, Some(1)), (4, 4, None)];
        assert_eq!(found, expected.map(|(from, to, winner)| Stretch { from, to, winner }));
        let points = ["1", "1.4", "2", "2.8", "4"];
        assert_eq!(
            sentence(&found, &points, &["pid", "queue"]).as_deref(),
            Some(
                "pid is first from 1 to 1.4, queue at 2.8; at 2 and at 4 no choice is first in all of its seeds"
            )
        );
        let lower = stretches(&[spreads([(1.0, 2.0), (3.0, 4.0)])], Better::Lower);
        assert_eq!(lower[0].winner, Some(0));
        assert_eq!(
            sentence(&lower, &points, &["pid", "queue"]).as_deref(),
            Some("pid is first everywhere, at 1")
        );
        assert_eq!(sentence(&lower, &points, &["pid"]), None);
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
                "pid is first in 2 of 4 samples, from 1 to 2.8; queue in 1, at 1.4; in 1 no choice is first in all of its seeds"
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
