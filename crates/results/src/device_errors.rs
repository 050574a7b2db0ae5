//! btrfs's counts of each device's errors, `devinfo/<id>/error_stats`, as the first process read
//! them before and after the measurement. A line has a name and a number, as `btrfs device stats`
//! prints them.

use crate::read_stats::kept;
use crate::remark::Remark;
use disklab_protocol::step::Step;

/// The file of each device that has its counts.
pub const FILE: &str = "error_stats";

/// Returns the errors that btrfs counted during the measurement. `steps` are the first process's.
pub fn remarks(steps: &[Step]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (device_id, [before, after]) in kept(steps, FILE) {
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        for (what, now) in counts(&after) {
            let then = counts(&before).find(|(name, _)| *name == what).map_or(0, |(_, then)| then);
            if now > then {
                let (what, errors) = (what.to_owned(), now - then);
                remarks.push(Remark::DeviceErrors { device_id, what, errors });
            }
        }
    }
    remarks
}

fn counts(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.filter_map(|(what, count)| Some((what, count.trim().parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_came_to_are_told_by_device_and_kind() {
        let step = |when: &str, id: u64, says: &str| {
            let path = format!("/sys/fs/btrfs/x/devinfo/{id}/error_stats");
            serde_json::json!({"step": "kept", "when": when, "path": path, "says": says})
                .to_string()
                + "\n"
        };
        let text = |write: u64| {
            format!(
                "write_errs {write}\nread_errs 4\nflush_errs 0\n\
                 corruption_errs 0\ngeneration_errs 0"
            )
        };
        let steps = [
            step("before", 1, &text(0)),
            step("before", 2, &text(0)),
            step("after", 1, &text(0)),
            step("after", 2, &text(3)),
        ];
        let found = remarks(&Step::read_all(steps.concat().as_bytes()));
        assert_eq!(
            found,
            [Remark::DeviceErrors { device_id: 2, what: "write_errs".to_owned(), errors: 3 }]
        );
        assert!(remarks(&Step::read_all(b"no JSON")).is_empty());
    }
}
