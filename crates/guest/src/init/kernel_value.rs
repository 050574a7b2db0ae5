//! Files of sysfs that are settings: their values, their choices, and the changes by writing them.

use super::patterns::matching;
use super::steps::Failure;
use disklab_block_devices::change::Change;
use disklab_block_devices::change::value::{agrees, bracketed, other};
use disklab_protocol::setup::Setting;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes `setting` to its file at `path`, and returns the file's new contents.
pub fn write(path: &Path, setting: &Setting) -> Result<String, Failure> {
    let name = path.display();
    fs::write(path, &setting.value).map_err(|e| {
        let offers = fs::read_to_string(path).ok().filter(|_| setting.choice);
        let offers = offers
            .map_or_else(String::new, |text| format!("; this kernel has {:?} there", text.trim()));
        format!("writing {:?} to {name}: {e}{offers}", setting.value)
    })?;
    let text = fs::read_to_string(path).map_err(|e| format!("reading {name}: {e}"))?;
    let text = text.trim().to_owned();
    let active = if setting.choice { bracketed(&text) } else { Some(text.as_str()) };
    if active.is_some_and(|active| agrees(active, &setting.value)) {
        Ok(text)
    } else {
        Err(format!("{name}: wrote {:?}, and read back {text:?}", setting.value))
    }
}

/// Checks that a setting still holds. On a real machine, others may change it during a trial, whose
/// result then belongs to neither value.
pub fn check(setting: &Setting) -> Result<(), Failure> {
    let path = find(&setting.path)?;
    other(&path, &setting.value).map_or(Ok(()), |now| {
        Err(format!(
            "{}: it was set to {:?}, and is {now:?} after the trial: another program changed it \
             meanwhile (tuned, udev, another benchmark?)",
            path.display(),
            setting.value
        ))
    })
}

/// Returns the choices of this machine's kernel, if the wanted one is not among them.
pub fn lacking(setting: &Setting) -> Option<String> {
    if !setting.choice {
        return None;
    }
    let Ok(path) = find(&setting.path) else { return Some("no such file".to_owned()) };
    let text = fs::read_to_string(path).ok()?;
    (!offers(&text, setting)).then(|| text.trim().to_owned())
}

/// Returns true if the choice is among those of a file such as `pid [round-robin:262144] devid:1`.
pub fn offers(text: &str, setting: &Setting) -> bool {
    let name =
        |word: &str| word.trim_matches(['[', ']']).split(':').next().unwrap_or_default().to_owned();
    text.split_whitespace().any(|word| name(word) == name(&setting.value))
}

/// Returns the changes by writing a setting, with which the present value can be restored.
///
/// A scheduler that is chosen again begins with default tunables and queue depth. Their present
/// values are noted before the scheduler, so that they are restored after it.
pub fn changes(path: &Path, setting: &Setting) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::new();
    if let (Some("scheduler"), Some(queue)) =
        (path.file_name().and_then(|name| name.to_str()), path.parent())
    {
        let tunables = fs::read_dir(queue.join("iosched"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let mut tunables: Vec<PathBuf> = tunables.chain([queue.join("nr_requests")]).collect();
        tunables.sort();
        // Some files can only be read, and some only be written.
        changes.extend(
            tunables
                .iter()
                .filter(|path| is_writable(path))
                .filter_map(|path| Some(Change::value(path, &now(path, false)?))),
        );
    }
    let was = now(path, setting.choice).ok_or_else(|| {
        format!(
            "{}: its value cannot be read, so it could not be restored; nothing was changed",
            path.display()
        )
    })?;
    let had = had_parameter(path, setting);
    changes.push(Change::set(path, &was, &setting.value, had.as_deref()));
    Ok(changes)
}

/// Returns the setting's choice with its present parameter, if it has one and is not active:
/// `round-robin:262144` for `[pid] round-robin:262144`.
fn had_parameter(path: &Path, setting: &Setting) -> Option<String> {
    let text = fs::read_to_string(path).ok().filter(|_| setting.choice)?;
    let (name, _) = setting.value.split_once(':')?;
    let mut choices = text.split_whitespace();
    choices.find(|word| word.split_once(':').is_some_and(|(own, _)| own == name)).map(str::to_owned)
}

fn is_writable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.permissions().mode() & 0o200 != 0)
}

fn now(path: &Path, choice: bool) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    Some(if choice { bracketed(text).unwrap_or(text) } else { text }.to_owned())
}

/// Returns the only file that matches a path.
pub fn find(path: &str) -> Result<PathBuf, Failure> {
    let mut found = matching(path)?;
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(format!("{path}: this kernel has no such file")),
        n => Err(format!("{path}: {n} files match, expected one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(setting: &Setting) -> Result<String, Failure> {
        write(&find(&setting.path)?, setting)
    }

    fn setting(path: String, value: &str, choice: bool) -> Setting {
        Setting { path, value: value.to_owned(), choice }
    }

    #[test]
    fn a_setting_that_does_not_take_effect_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("uuid")).unwrap();
        let file = folder.path().join("uuid/policy");
        fs::write(&file, "").unwrap();
        let path = format!("{}/*/policy", folder.path().display());
        // A plain file contains just the written text, and no brackets.
        let error = apply(&setting(path.clone(), "pid", true)).unwrap_err();
        assert!(error.contains("wrote \"pid\", and read back \"pid\""), "{error}");
        assert!(apply(&setting(path, "[pid]", true)).unwrap_err().contains("read back"));
        assert_eq!(apply(&setting(file.display().to_string(), "4096", false)).unwrap(), "4096");
    }

    #[test]
    fn a_scheduler_is_put_back_before_its_tunables() {
        let place = tempfile::tempdir().unwrap();
        let queue = place.path().join("queue");
        fs::create_dir_all(queue.join("iosched")).unwrap();
        for (name, text) in [
            ("scheduler", "none [mq-deadline] bfq\n"),
            ("nr_requests", "64\n"),
            ("iosched/read_expire", "100\n"),
            ("read_ahead_kb", "128\n"),
        ] {
            fs::write(queue.join(name), text).unwrap();
        }
        let noted = |name: &str, choice| {
            let changes =
                changes(&queue.join(name), &setting(String::new(), "64", choice)).unwrap();
            let short = |change: &Change| match change {
                Change::Value { path, was, .. } => {
                    format!("{} {was}", path.strip_prefix(&queue).unwrap().display())
                }
                other => format!("{other:?}"),
            };
            changes.iter().map(short).collect::<Vec<_>>()
        };
        // The changes are undone in reverse order.
        assert_eq!(
            noted("scheduler", true),
            ["iosched/read_expire 100", "nr_requests 64", "scheduler mq-deadline"]
        );
        assert_eq!(noted("read_ahead_kb", false), ["read_ahead_kb 128"]);
        fs::write(queue.join("policy"), "[pid] round-robin:262144 devid:1\n").unwrap();
        let round_robin = setting(String::new(), "round-robin:4096", true);
        let change = changes(&queue.join("policy"), &round_robin).unwrap().remove(0);
        assert!(
            matches!(&change, Change::Value { had: Some(had), .. } if had == "round-robin:262144")
        );
        fs::write(queue.join("policy"), "pid [round-robin:4096] devid:1\n").unwrap();
        assert!(change.undo(true, &mut |_| {}).is_some());
        assert_eq!(fs::read_to_string(queue.join("policy")).unwrap(), "pid");
        assert!(change.undo_line("").contains("round-robin:262144 > "));
        let nothing = setting(String::new(), "64", false);
        assert!(
            changes(&queue.join("nothing"), &nothing).unwrap_err().contains("nothing was changed")
        );
    }

    #[test]
    fn a_star_must_fit_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = format!("{}/*/policy", folder.path().display());
        assert!(apply(&setting(path.clone(), "pid", true)).unwrap_err().contains("no such file"));
        for name in ["a", "b"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("policy"), "").unwrap();
        }
        assert!(apply(&setting(path, "pid", true)).unwrap_err().contains("2 files match"));
    }
}
