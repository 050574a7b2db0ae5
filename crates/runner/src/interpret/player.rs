//! Results of a program that needs data by deadlines.

use disklab_config::player::Player;
use disklab_config::suite::metric::{FIRST_FRAME, FRAMES_LATE, FRAMES_LOST, LONGEST_STALL};
use disklab_protocol::step::Step;
use disklab_results::Remark;
use disklab_results::measure::{Better, Measure, Measures};
use disklab_units::Nanos;

/// Half a frame: fewer lost frames cannot be distinguished from none.
const HALF: f64 = 0.5;

/// Returns the measures of its frames. The error gives the reason why there are none.
pub fn measures(player: &Player, steps: &[Step]) -> Result<(Measures, Option<Remark>), String> {
    let last = steps.iter().rev().find_map(|step| match step {
        Step::Player { played } => Some(played),
        _ => None,
    });
    let seen = last.ok_or("the guest reports nothing about the player")?;
    let never = seen.first_frame_ns.is_none();
    let time = |ns: u64, censored| Measure { censored, ..Measure::time(ns as f64) };
    let percent = |frames: f64| frames * 100.0 / seen.due.max(1) as f64;
    let share = |frames: u64| Measure {
        better: Better::Lower,
        least: Some(percent(HALF)),
        ..Measure::rate(percent(frames as f64), "%")
    };
    let stall = Measure {
        least: Some(player.frame().0 as f64 * HALF),
        ..time(seen.longest_stall_ns, never)
    };
    // If the first frame never came, the time without frames is the wait for it.
    let first = seen.first_frame_ns.unwrap_or(seen.longest_stall_ns);
    let measures = [
        (FIRST_FRAME, time(first, never)),
        (FRAMES_LOST, share(seen.lost)),
        (FRAMES_LATE, share(seen.late)),
        (LONGEST_STALL, stall),
    ];
    let late = Remark::NotWithin { what: FIRST_FRAME.to_owned(), limit: Nanos(first) };
    Ok((measures.map(|(name, measure)| (name.to_owned(), measure)).into(), never.then_some(late)))
}
