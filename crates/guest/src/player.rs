//! What the first process says of a program that needs data by deadlines.

use serde::{Deserialize, Serialize};

/// The step's name in the record; its field `played` holds a [`Played`].
pub const STEP: &str = "player";

/// What was seen of frames, in virtual ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// From its start until the first frame could be shown. None: it never could.
    pub first_frame_ns: Option<u64>,
    /// How many were due in the time that it played.
    pub due: u64,
    /// Shown after their time.
    pub late: u64,
    /// Their data came when the next was due already, or never.
    pub lost: u64,
    /// For how long one was shown beyond its own time.
    pub longest_stall_ns: u64,
}

impl Played {
    /// It never began, and was given up after this time.
    pub fn never(due: u64, limit_ns: u64) -> Self {
        Self { first_frame_ns: None, due, late: 0, lost: due, longest_stall_ns: limit_ns }
    }

    /// `ready` has when the data of each frame was there, from the moment on at which the first was
    /// due; a frame that is missing at its end never was. A frame takes `frame_ns`, and the time to
    /// play is over after `length_ns`.
    pub fn of(
        first_frame_ns: u64,
        ready: &[Option<u64>],
        due: u64,
        frame_ns: u64,
        length_ns: u64,
    ) -> Self {
        let mut played = Self {
            first_frame_ns: Some(first_frame_ns),
            due,
            late: 0,
            lost: 0,
            longest_stall_ns: 0,
        };
        // Until when the frame that is shown was to be.
        let mut over = 0;
        for frame in 0..due {
            let at = frame * frame_ns;
            let ready =
                usize::try_from(frame).ok().and_then(|frame| ready.get(frame).copied().flatten());
            match ready.filter(|&ready| ready < (at + frame_ns).min(length_ns)) {
                Some(ready) => {
                    played.late += u64::from(ready > at);
                    let shown = ready.max(at);
                    played.longest_stall_ns =
                        played.longest_stall_ns.max(shown.saturating_sub(over));
                    over = shown + frame_ns;
                }
                None => played.lost += 1,
            }
        }
        played.longest_stall_ns = played.longest_stall_ns.max(length_ns.saturating_sub(over));
        played
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: u64 = 40;

    fn of(ready: &[Option<u64>]) -> (u64, u64, u64) {
        let played = Played::of(7, ready, 5, FRAME, 5 * FRAME);
        assert_eq!((played.first_frame_ns, played.due), (Some(7), 5));
        (played.late, played.lost, played.longest_stall_ns)
    }

    #[test]
    fn what_comes_in_time_is_neither_late_nor_lost() {
        assert_eq!(of(&[Some(0), Some(0), Some(80), Some(120), Some(100)]), (0, 0, 0));
    }

    #[test]
    fn late_frames_are_shown_and_lost_ones_are_not() {
        // The second comes 10 late; the third when the fourth is due.
        assert_eq!(of(&[Some(0), Some(50), Some(120), Some(120), Some(160)]), (1, 1, 30));
        // Nothing comes after the second.
        assert_eq!(of(&[Some(0), Some(0)]), (0, 3, 120));
        assert_eq!(of(&[Some(0), None, None, None, Some(165)]), (1, 3, 125));
    }
}
