//! Tests `disklab bisect`: mistaken input without a guest, and its walk with real guests. The
//! repository holds "kernels" that are the user's kernel, or a program that exits at once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use disklab_kernels::{Btrfs, Cache, Share, find};

use crate::{Done, HOME, disklab, done, guests};

const MAKEFILE: &str = "\
VERSION = 7
PATCHLEVEL = 3
SUBLEVEL = 4
EXTRAVERSION =

tinyconfig:
\t@echo CONFIG_TINY=y > $(O)/.config
olddefconfig:
\t@true
linux:
\t@sh build.sh $(O)/linux
";

fn git(tree: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(arguments).current_dir(tree);
    let done = done(git.output().expect("git"));
    assert_eq!(done.status, Some(0), "git {arguments:?}: {}", done.err);
    done.out.trim().to_owned()
}

/// Makes a repository in `here` with a commit for each of these scripts, which build the kernel.
/// Returns the commit ids.
fn repository(here: &Path, scripts: &[String]) -> Vec<String> {
    let tree = here.join("linux");
    fs::create_dir(&tree).expect("a folder");
    git(&tree, &["init", "-q"]);
    fs::write(tree.join("Makefile"), MAKEFILE).expect("room");
    let commit = |(number, script): (usize, &String)| {
        fs::write(tree.join("build.sh"), script).expect("room");
        git(&tree, &["add", "."]);
        git(&tree, &["commit", "-q", "--allow-empty", "-m", &format!("change {number}")]);
        git(&tree, &["rev-parse", "HEAD"])
    };
    scripts.iter().enumerate().map(commit).collect()
}

fn bisect(here: &Path, arguments: &[&str]) -> Done {
    let home = here.join("home");
    let mut command = disklab(here);
    if home.exists() {
        command.env("DISKLAB_HOME", home);
    }
    done(command.arg("bisect").args(arguments).output().expect("it starts"))
}

#[test]
fn mistakes_are_told_with_what_to_do_before_anything_is_built() {
    let here = tempfile::tempdir().expect("a folder");
    let scripts: Vec<String> = (1..=3).map(|number| format!("# {number}\n")).collect();
    let commits = repository(here.path(), &scripts);
    let cell = ["--cell", "policy=pid"];
    for (arguments, expected) in [
        (&["--good", "v1", "--bad", "HEAD"][..], "unknown revision \"v1\""),
        (&["--good", "HEAD", "--bad", "HEAD~1"], "does not come after the good one"),
        (&["--good", "HEAD~1", "--bad", &commits[1]], "exchange them"),
    ] {
        let all = [&["--kernel", "linux", "--suite", "smoke"], &cell[..], arguments].concat();
        let told = bisect(here.path(), &all);
        assert_eq!((told.status, told.err.contains(expected)), (Some(2), true), "{}", told.err);
    }
    let ends = ["--good", "HEAD~1", "--bad", "HEAD", "--kernel", "linux"];
    for (arguments, expected) in [
        (&["--suite", "smoke"][..], "--cell policy=... one of"),
        (&["--suite", "smoke", "--cell", "kernel=7.3"], "bisect chooses the kernels"),
        (&["--suite", "smok", "--cell", "policy=pid"], "did you mean `smoke`?"),
        (
            &["--suite", "smoke", "--cell", "policy=pid", "--metric", "iopss"],
            "did you mean `iops`?",
        ),
        (
            &["--suite", "smoke", "--cell", "policy=pid", "--metric", "find time"],
            "unknown metric `find time`",
        ),
    ] {
        let told = bisect(here.path(), &[&ends[..], arguments].concat());
        assert_eq!((told.status, told.err.contains(expected)), (Some(2), true), "{}", told.err);
    }
    let told = bisect(here.path(), &["--good", "a", "--bad", "b", "--suite", "smoke"]);
    assert!(told.err.contains("is not the folder of a git repository"), "{}", told.err);
    // This is a repository, and not one of a kernel, whatever else its folder holds.
    let makefile = here.path().join("linux/Makefile");
    let tree = here.path().join("linux");
    let commit = || {
        let twice = ["commit", "-q", "--allow-empty", "-m", "no kernel"];
        (0..2).for_each(|_| drop(git(&tree, &twice)));
    };
    for (step, expected) in [
        ("gone", "it has no Makefile"),
        ("not committed", "it has no Makefile"),
        ("another", "does not set VERSION"),
    ] {
        match step {
            "gone" => drop(git(&tree, &["rm", "-q", "Makefile"])),
            "not committed" => fs::write(&makefile, "all:\n").expect("room"),
            _ => drop(git(&tree, &["add", "Makefile"])),
        }
        commit();
        let smoke = ["--suite", "smoke", "--cell", "policy=pid"];
        let told = bisect(here.path(), &[&ends[..], &smoke].concat());
        assert_eq!((told.status, told.err.contains(expected)), (Some(2), true), "{}", told.err);
        assert!(told.err.contains("is not a Linux kernel source"), "{}", told.err);
    }
    let told = bisect(here.path(), &["--resume", "nothing"]);
    assert_eq!(told.status, Some(2), "{}", told.err);
    assert!(!here.path().join("records").exists());
}

/// Makes a home whose guest-kernel inserts nothing, since these trees are not kernels.
fn home(here: &Path) {
    let home = here.join("home");
    fs::create_dir_all(home.join("guest-kernel/btrfs")).expect("a folder");
    fs::write(
        home.join("guest-kernel/config"),
        "CONFIG_BTRFS_EXPERIMENTAL=y\nCONFIG_MQ_IOSCHED_DEADLINE=y\n",
    )
    .expect("room");
    fs::write(home.join("guest-kernel/btrfs/config"), "").expect("room");
    fs::create_dir(home.join("read-policies")).expect("a folder");
    symlink(Path::new(HOME).join("lab"), home.join("lab")).expect("a link");
}

#[test]
fn the_commit_since_which_trials_fail_is_found_around_one_that_does_not_build() {
    let Some(here) = guests::place() else { return };
    let here = here.path();
    home(here);
    let share = Share::open(Path::new(HOME)).expect("this work tree");
    let cache = Cache::in_folder(&here.join("cache/disklab")).expect("a cache");
    let real = find(&cache, &share, Btrfs::Policies, "newest").expect("linked there").path;
    let boots =
        |number: u32| format!("cp {} $1\nchmod u+w $1\necho {number} >> $1\n", real.display());
    let ends = |number: u32| format!("printf '#!/bin/sh\\nexit {number}\\n' > $1\nchmod +x $1\n");
    let broken = "echo 'fs/x.c:1: error: what is this'; exit 1\n".to_owned();
    // The fourth script builds the same as the third, in another way.
    let scripts = [
        boots(1),
        boots(2),
        boots(3),
        boots(3) + "# the same\n",
        broken,
        ends(6),
        ends(7),
        ends(8),
    ];
    let commits = repository(here, &scripts);
    let cell = ["--suite", "mine.toml", "--kernel", "linux", "--seeds", "3", "--out", "b"];
    let found = bisect(here, &[&cell[..], &["--good", &commits[0], "--bad", "HEAD"]].concat());
    let told = found.out.clone() + &found.err;
    // The first bad commit may be the one that does not build, or the one after it.
    assert_eq!(found.status, Some(4), "{told}");
    assert!(found.out.contains(&commits[4]) && found.out.contains(&commits[5]), "{told}");
    assert!(!found.out.contains(&commits[3]) && !found.out.contains(&commits[6]), "{told}");
    assert!(
        told.contains("bisect searches for the commit that makes trials fail")
            && told.contains("it does not build"),
        "{told}"
    );

    // The bisection continues after its last step was lost, while the tree has changed.
    fs::write(here.join("linux/build.sh"), ends(9)).expect("room");
    let steps = fs::read_to_string(here.join("b/steps.jsonl")).expect("steps");
    fs::write(here.join("b/steps.jsonl"), &steps[..steps.len() - 20]).expect("room");
    let again = bisect(here, &["--resume", "./b"]);
    // The output names the folder by its argument.
    let told = again.out.replace("./b", "b");
    assert_eq!((again.status, &told), (Some(4), &found.out), "{}", again.err);
    let lines = |text: &str| {
        text.lines().filter(|line| line.ends_with('}')).map(str::to_owned).collect::<Vec<_>>()
    };
    let now = fs::read_to_string(here.join("b/steps.jsonl")).expect("steps");
    assert_eq!(lines(&now), lines(&steps), "a step is judged again as it was");

    let same = ["--suite", "mine.toml", "--kernel", "linux", "--seeds", "3", "--out", "c"];
    let same = bisect(here, &[&same[..], &["--good", &commits[0], "--bad", &commits[2]]].concat());
    assert_eq!(same.status, Some(2), "{}{}", same.out, same.err);
    assert!(
        same.out.contains("the two ends do not differ: IOPS of the bad end is"),
        "{}",
        same.out
    );
    assert_eq!(
        git(&here.join("linux"), &["status", "--porcelain"]),
        "M build.sh",
        "the tree is the user's"
    );
}
