//! Commands of workloads and backgrounds, and the words in them that stand for something.

use crate::read::{TomlTable, values};

/// What stands for a tree in a command.
pub const TREE: &str = "{tree}";
/// What stands for where the filesystem is mounted.
pub const POOL: &str = "{pool}";

/// What stands for the number of jobs in a command.
pub const JOBS_WORD: &str = "{jobs}";
/// What stands for the device that the filesystem is on.
pub const DEVICE: &str = "{device}";
/// What stands for the last disk of the array.
pub const LAST: &str = "{last}";
/// What stands for the first spare disk.
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

/// A command with what its words stand for; `spare` where there is one.
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
