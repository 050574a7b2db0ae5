//! Names of files and folders in a record: its own, runs, trials, and a trial's attempts.

pub(crate) use disklab_protocol::names::{CLOSING, LAST, LOCK, MANIFEST, RAW, TRIALS};

/// Largest number of bytes of a name. Filesystems allow 255; the rest is for the marks that are
/// added here.
const LONGEST: usize = 200;

/// A name that no folder in a record can have.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` cannot be the name of a folder in a record: it has 1 to 200 of letters, digits and \
    `+-_.,:=@%`, and no `.` in front"
)]
pub struct UnfitName(pub String);

/// Returns whether `name` can be a folder of its own anywhere, with room for the marks that are
/// added here.
pub fn is_fit(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST
        && !name.starts_with('.')
        && name.chars().all(is_fit_letter)
}

pub fn is_fit_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "+-_.,:=@%".contains(letter)
}

/// Returns the name of a trial's folder of raw output while the trial runs.
pub fn part(trial: &str) -> String {
    format!(".{trial}.part")
}

/// Returns the name of a trial's folder of raw output by attempt, from 1. `~` is in no trial's
/// name, so no two attempts share a folder.
pub fn attempt(trial: &str, attempt: u32) -> String {
    if attempt == 1 { trial.to_owned() } else { format!("{trial}~{attempt}") }
}

/// Returns whether `folder` is a name that [`attempt`] returns for some trial.
pub fn is_attempt(folder: &str) -> bool {
    let (trial, number) = folder.split_once('~').unwrap_or((folder, "2"));
    is_fit(trial) && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        for fit in ["hdd-raid1+rand-4k+round-robin:4096+none+7.3+s1", "a", &"x".repeat(200)] {
            assert!(is_fit(fit) && is_attempt(fit), "{fit}");
            assert!(is_attempt(&attempt(fit, 3)), "{fit}");
        }
        for unfit in
            ["", ".", "..", ".a.part", "a/b", "a\0", "a b", "ä", "a~2", "\n", &"x".repeat(201)]
        {
            assert!(!is_fit(unfit), "{unfit:?}");
        }
        for unfit in ["a~", "a~b", "~2", "../a~2", "a~2/..", "a~2~3"] {
            assert!(!is_attempt(unfit), "{unfit:?}");
        }
    }
}
