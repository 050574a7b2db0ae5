//! Waits for devices that are still in use. The filesystems of a namespace that has just ended are
//! first written out, which takes minutes on a hard disk. udev opens every disk after a write.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest wait for users that only pass by.
const MOMENT: Duration = Duration::from_secs(10);
/// Longest wait for data in memory to be written.
const WRITTEN: Duration = Duration::from_secs(20 * 60);
/// Shortest wait that is reported to the user.
const UNSAID: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(100);

/// The reason why something could not be undone yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The kernel says that the device is in use, and nobody is seen who uses it.
    Ending(String),
    /// A use that may be over in a moment.
    Passing(String),
    /// A use or an error that does not pass.
    Lasting(String),
}

/// Tries again until `undo` succeeds, meets a lasting obstacle, or takes too long. Passes the
/// reason of a long wait to `waits`, once.
pub fn until_done<T>(
    waits: &mut dyn FnMut(&str),
    mut undo: impl FnMut() -> Result<T, Obstacle>,
) -> Result<T, String> {
    let (begun, mut is_told) = (Instant::now(), false);
    loop {
        let (why, most) = match undo() {
            Ok(done) => return Ok(done),
            Err(Obstacle::Lasting(why)) => return Err(why),
            Err(Obstacle::Passing(why)) => (why, MOMENT),
            Err(Obstacle::Ending(why)) => (why, WRITTEN),
        };
        if begun.elapsed() >= most {
            return Err(why);
        }
        if !is_told && begun.elapsed() >= UNSAID {
            is_told = true;
            waits(&why);
        }
        sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_waited_for_and_what_lasts_is_not() {
        let mut left = 3;
        let done = until_done(&mut |_| (), || {
            left -= 1;
            if left == 0 { Ok("done") } else { Err(Obstacle::Passing("not yet".to_owned())) }
        });
        assert_eq!((done, left), (Ok("done"), 0));
        let mut tries = 0;
        let failed: Result<(), String> = until_done(&mut |_| (), || {
            tries += 1;
            Err(Obstacle::Lasting("gone".to_owned()))
        });
        assert_eq!((failed, tries), (Err("gone".to_owned()), 1));
    }

    #[test]
    fn a_longer_wait_is_told_once() {
        let (mut told, begun) = (Vec::new(), Instant::now());
        let done = until_done(&mut |why| told.push(why.to_owned()), || {
            if begun.elapsed() > UNSAID + 3 * LOOK {
                Ok(())
            } else {
                Err(Obstacle::Ending("sdb is written".to_owned()))
            }
        });
        assert_eq!((done, told), (Ok(()), vec!["sdb is written".to_owned()]));
    }
}
