//! A program that needs data by deadlines.

use super::filesystem::settle;
use super::steps::{Failure, Steps};
use super::threads::spawn;
use disklab_config::player::Player;
use disklab_config::workload::Rw;
use disklab_protocol::step::{PlayerSummary, Step};
use disklab_units::{Nanos, Random, Seed};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Name of its failures.
const STEP: &str = "player";
/// Timeout for its first frames.
const LIMIT: Duration = Duration::from_secs(60);

enum News {
    /// The first frames are in memory.
    Begins(Instant),
    /// The data of the frame with this number is in memory.
    Ready(u64, Instant),
    Failed(String),
}

/// Plays for this long, and reports the frames. Any number of lost frames is a result.
pub fn measure(
    player: &Player,
    file: &str,
    length: Nanos,
    seed: Seed,
    steps: &mut Steps,
) -> Result<(), Failure> {
    settle();
    let (tell, told) = channel();
    let started = Instant::now();
    // The player has a thread of its own, which to a scheduler is a new process. The thread also
    // opens the file, since others may delay that.
    let (what, path) = (*player, file.to_owned());
    let play = move || {
        let read =
            Reader::open(what, &path, seed).and_then(|mut reader| reader.frames(length, &tell));
        if let Err(error) = read {
            // After the time is over, nothing receives this.
            let _ = tell.send(News::Failed(error.to_string()));
        }
    };
    spawn(STEP, play)?;
    let due = player.due(length);
    let mut ready = vec![None; due.min(1 << 24) as usize];
    let mut begun: Option<Instant> = None;
    loop {
        let until = begun.map_or(started + LIMIT, |begun| begun + Duration::from_nanos(length.0));
        match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(News::Begins(at)) => begun = Some(at),
            Ok(News::Ready(frame, at)) => {
                let since =
                    begun.map_or(0, |begun| at.saturating_duration_since(begun).as_nanos() as u64);
                if let Some(slot) = ready.get_mut(frame as usize) {
                    *slot = Some(since);
                }
            }
            Ok(News::Failed(reason)) => return Err(format!("{STEP}: {file}: {reason}")),
            Err(RecvTimeoutError::Timeout) => break,
            // The thread has read everything; the last frames are still shown.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
                break;
            }
        }
    }
    let frames = if let Some(begun) = begun {
        let first = begun.duration_since(started).as_nanos() as u64;
        summary(first, &ready, due, player.frame().0, length.0)
    } else {
        let longest_stall_ns = LIMIT.as_nanos() as u64;
        PlayerSummary { due, lost: due, longest_stall_ns, ..PlayerSummary::default() }
    };
    steps.say(&Step::Player { played: frames });
    Ok(())
}

struct Reader {
    player: Player,
    file: File,
    /// Number of reads in the file from its beginning to its end.
    places: u64,
    random: Random,
    /// Number of reads that were made or left out.
    reads: u64,
}

impl Reader {
    fn open(player: Player, path: &str, seed: Seed) -> std::io::Result<Self> {
        let file = File::open(path)?;
        let places = file.metadata()?.len() / player.bs.0.max(1);
        Ok(Self { player, file, places, random: Random::new(seed), reads: 0 })
    }

    fn frames(&mut self, length: Nanos, tell: &Sender<News>) -> std::io::Result<()> {
        let (frame_time, ahead) = (self.player.frame(), u64::from(self.player.ahead));
        let due = self.player.due(length);
        for frame in 0..ahead {
            self.read(frame)?;
        }
        let begun = Instant::now();
        let _ = tell.send(News::Begins(begun));
        for frame in 0..ahead {
            let _ = tell.send(News::Ready(frame, begun));
        }
        for frame in ahead..due {
            // There is room for the frame once another was shown.
            let room = begun + Duration::from_nanos((frame - ahead) * frame_time.0);
            std::thread::sleep(room.saturating_duration_since(Instant::now()));
            let is_lost = begun.elapsed().as_nanos() as u64 >= (frame + 1) * frame_time.0;
            if is_lost && self.player.rw == Rw::Randread {
                self.reads = self.player.reads(frame + 1);
                continue;
            }
            self.read(frame)?;
            let _ = tell.send(News::Ready(frame, Instant::now()));
        }
        Ok(())
    }

    /// Reads the data that this frame needs, and the previous frame did not.
    fn read(&mut self, frame: u64) -> std::io::Result<()> {
        let mut piece = vec![0; self.player.bs.0 as usize];
        while self.reads < self.player.reads(frame + 1) {
            let place = match self.player.rw {
                Rw::Randread => self.random.below(self.places),
                _ => self.reads,
            };
            self.file.read_exact_at(&mut piece, place * self.player.bs.0)?;
            self.reads += 1;
        }
        Ok(())
    }
}

/// Counts the frames. `ready` has the time at which the data of each frame was there, from the
/// moment on at which the first was due. Frames missing at its end never came. A frame takes
/// `frame_ns`, and the time to play ends after `length_ns`.
fn summary(
    first_frame_ns: u64,
    ready: &[Option<u64>],
    due: u64,
    frame_ns: u64,
    length_ns: u64,
) -> PlayerSummary {
    let first_frame_ns = Some(first_frame_ns);
    let mut played = PlayerSummary { first_frame_ns, due, ..PlayerSummary::default() };
    // Time at which the shown frame was to end.
    let mut over = 0;
    for frame in 0..due {
        let at = frame * frame_ns;
        let ready = ready.get(frame as usize).copied().flatten();
        match ready.filter(|&ready| ready < (at + frame_ns).min(length_ns)) {
            Some(ready) => {
                played.late += u64::from(ready > at);
                let shown = ready.max(at);
                played.longest_stall_ns = played.longest_stall_ns.max(shown.saturating_sub(over));
                over = shown + frame_ns;
            }
            None => played.lost += 1,
        }
    }
    played.longest_stall_ns = played.longest_stall_ns.max(length_ns.saturating_sub(over));
    played
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: u64 = 40;

    fn counts(ready: &[Option<u64>]) -> (u64, u64, u64) {
        let played = summary(7, ready, 5, FRAME, 5 * FRAME);
        assert_eq!((played.first_frame_ns, played.due), (Some(7), 5));
        (played.late, played.lost, played.longest_stall_ns)
    }

    #[test]
    fn what_comes_in_time_is_neither_late_nor_lost() {
        assert_eq!(counts(&[Some(0), Some(0), Some(80), Some(120), Some(100)]), (0, 0, 0));
    }

    #[test]
    fn late_frames_are_shown_and_lost_ones_are_not() {
        // The second frame comes 10 late; the third comes when the fourth is due.
        assert_eq!(counts(&[Some(0), Some(50), Some(120), Some(120), Some(160)]), (1, 1, 30));
        // No frame comes after the second.
        assert_eq!(counts(&[Some(0), Some(0)]), (0, 3, 120));
        assert_eq!(counts(&[Some(0), None, None, None, Some(165)]), (1, 3, 125));
    }
}
