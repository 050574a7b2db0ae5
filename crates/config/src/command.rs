//! Commands of workloads and backgrounds, and the placeholders in them.

use crate::read::{TomlTable, values};

/// Placeholder for the path of a tree.
pub const TREE: &str = "{tree}";
/// Placeholder for the mount point of the filesystem.
pub const POOL: &str = "{pool}";

/// Placeholder for the number of jobs.
pub const JOBS_WORD: &str = "{jobs}";
/// Placeholder for the device that the filesystem is on.
pub const DEVICE: &str = "{device}";
/// Placeholder for the last disk of the array.
pub const LAST: &str = "{last}";
/// Placeholder for the first spare disk.
pub const SPARE: &str = "{spare}";

/// Reads `command`, a program and its arguments.
pub(crate) fn read_command(table: &TomlTable<'_, '_>, has_trees: bool) -> Option<Vec<String>> {
    let words = table.required_list::<String>("command");
    for word in words.iter().filter(|word| word.value.contains('\0')) {
        table.wrong_at(&word.place, "a program's argument cannot have a NUL");
    }
    if let Some(program) = words.first().filter(|program| program.value.is_empty()) {
        table.wrong_at(&program.place, "the program's name is empty");
    }
    if let Some(word) = words.iter().find(|word| word.value.contains(TREE)).filter(|_| !has_trees) {
        let message = format!("`{TREE}` stands for one of the [trees], and there are none");
        table.wrong_at(&word.place, message);
    }
    (!words.is_empty()).then(|| values(words))
}

/// Returns a command with its placeholders replaced. Without a spare disk, `{spare}` stays.
pub fn filled(
    command: &[String],
    pool: &str,
    device: &str,
    last: &str,
    spare: Option<&str>,
    jobs: u32,
) -> Vec<String> {
    let fill = |word: &String| {
        let word = word.replace(POOL, pool).replace(DEVICE, device).replace(LAST, last);
        word.replace(SPARE, spare.unwrap_or(SPARE)).replace(JOBS_WORD, &jobs.to_string())
    };
    command.iter().map(fill).collect()
}
