//! A program that needs data by deadlines.

use super::{Failure, Steps, startup};
use crate::player::{Played, STEP};
use disklab_config::player::Player;
use disklab_config::workload::Rw;
use disklab_units::{Nanos, Random, Seed};
use serde_json::json;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Its first frames are waited for so long.
const LIMIT: Duration = Duration::from_secs(60);

enum News {
    /// Its first frames are in memory.
    Begins(Instant),
    /// Of the frame with this number.
    Ready(u64, Instant),
    Failed(String),
}

/// Plays for so long, and says what became of the frames. Whatever it was is a result.
pub fn measure(
    player: &Player,
    file: &str,
    length: Nanos,
    seed: Seed,
    steps: &mut Steps,
) -> Result<(), Failure> {
    startup::settle();
    let (tell, told) = channel();
    let started = Instant::now();
    // A thread of its own: to a scheduler, a process that has just begun. It opens its file too:
    // others may keep that from it.
    let (what, path) = (*player, file.to_owned());
    let play = move || {
        let read =
            Reader::open(what, &path, seed).and_then(|mut reader| reader.frames(length, &tell));
        if let Err(error) = read {
            // Nobody listens any more when the time is over.
            let _ = tell.send(News::Failed(error.to_string()));
        }
    };
    let thread = std::thread::Builder::new().spawn(play);
    thread.map_err(|e| format!("{STEP}: a thread: {e}"))?;
    let due = player.due(length);
    let mut ready = vec![None; usize::try_from(due).unwrap_or(usize::MAX).min(1 << 24)];
    let mut begun: Option<Instant> = None;
    loop {
        let until = begun.map_or(started + LIMIT, |begun| begun + Duration::from_nanos(length.0));
        match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(News::Begins(at)) => begun = Some(at),
            Ok(News::Ready(frame, at)) => {
                let since =
                    begun.map_or(0, |begun| at.saturating_duration_since(begun).as_nanos() as u64);
                if let Some(slot) =
                    usize::try_from(frame).ok().and_then(|frame| ready.get_mut(frame))
                {
                    *slot = Some(since);
                }
            }
            Ok(News::Failed(reason)) => return Err(format!("{STEP}: {file}: {reason}")),
            Err(RecvTimeoutError::Timeout) => break,
            // It has read all that it will; the last frames are still shown.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
                break;
            }
        }
    }
    let result = match begun {
        Some(begun) => {
            let first = begun.duration_since(started).as_nanos() as u64;
            Played::of(first, &ready, due, player.frame().0, length.0)
        }
        None => Played::never(due, LIMIT.as_nanos() as u64),
    };
    steps.say(&json!({"step": STEP, "played": result}));
    Ok(())
}

struct Reader {
    player: Player,
    file: File,
    /// How many reads the file has from its beginning to its end.
    places: u64,
    random: Random,
    /// So many were made, or left out.
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
            // There is room for it once another was shown.
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

    /// What a frame needs and the one before it did not.
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
