//! Tests that a new policy is one new C file: everything else is written or compiled from the files
//! in the folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use disklab_read_policies::registry;

use crate::repository;

const NEW: &str = r#"// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "policy.h"

static u32 choose(const struct read_request *read, const u64 *values)
{
	return read->count - 1;
}

const struct read_policy read_policy_always_last = {
	.name = "always-last",
	.summary = "the last mirror",
	.choose = choose,
};
"#;

/// A program that reads a policy's name and prints its answer for three idle mirrors. Its exit
/// status is 22 (EINVAL) if there is no such policy.
const ASK: &str = r#"
#include <stdio.h>
#include "choice.h"

int main(int argc, char **argv)
{
	struct read_request read = { .block_bits = 12, .count = 3 };
	struct read_choice choice;

	for (u32 i = 0; i < 3; i++)
		read.mirrors[i].live = true;
	if (argc < 2 || read_choice_parse(argv[1], strlen(argv[1]), 12, &choice))
		return EINVAL;
	printf("%u of %zu\n", read_decide(choice.policy, choice.values, &read), READ_POLICIES);
	return 0;
}
"#;

fn write_registry(folder: &Path) -> Vec<String> {
    let names = registry::policies(folder).unwrap();
    fs::write(folder.join("registry.h"), registry::header(&names)).unwrap();
    names
}

/// Returns the answer of a program with all policies in the folder. Returns `None` if it does not
/// know the policy.
fn ask(folder: &Path, policy: &str) -> Option<String> {
    let scratch = tempfile::tempdir().unwrap();
    let (source, program) = (scratch.path().join("ask.c"), scratch.path().join("ask"));
    fs::write(&source, ASK).unwrap();
    let policies =
        registry::policies(folder).unwrap().into_iter().map(|name| folder.join(name + ".c"));
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=gnu11", "-Wall", "-Werror", "-I"])
        .arg(folder)
        .arg("-o")
        .arg(&program)
        .arg(&source);
    let built = compiler.args(policies).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(program).arg(policy).output().unwrap();
    ran.status.success().then(|| String::from_utf8(ran.stdout).unwrap())
}

#[test]
fn a_policy_comes_and_goes_with_its_file() {
    let copy = tempfile::tempdir().unwrap();
    let folder = copy.path();
    for entry in fs::read_dir(repository("read-policies")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    let before = write_registry(folder);
    let registry = fs::read_to_string(folder.join("registry.h")).unwrap();
    assert_eq!(ask(folder, "always-last"), None);

    fs::write(folder.join("always_last.c"), NEW).unwrap();
    assert_eq!(write_registry(folder).len(), before.len() + 1);
    // The kernel has mainline's policies already.
    assert_eq!(ask(folder, "pid"), None);
    let answer = ask(folder, "always-last");
    assert_eq!(answer, Some(format!("2 of {}\n", before.len() + 1)));
    assert_eq!(ask(folder, "queue"), Some(format!("0 of {}\n", before.len() + 1)));

    fs::remove_file(folder.join("always_last.c")).unwrap();
    write_registry(folder);
    assert_eq!(fs::read_to_string(folder.join("registry.h")).unwrap(), registry);
    assert_eq!(ask(folder, "always-last"), None);
}
