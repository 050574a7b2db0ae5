//! Tests builds from tiny trees whose Makefile behaves like the kernel's.

mod place;
mod revisions;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use disklab_kernels::{
    Btrfs, Build, BuildStep, Built, Error, Kernel, KernelSource, Series, find, list,
};

use crate::place::{BuildPlace, MAKEFILE, RUN, note};

#[test]
fn a_kernel_is_built_once_and_its_record_tells_of_what() {
    let place = BuildPlace::new();
    let (built, steps) = place.build(&place.tree());
    let Built { kernel, fresh } = built.unwrap();
    assert!(fresh);
    assert_eq!((kernel.version.to_string().as_str(), kernel.series.as_str()), ("7.3.4", "7.3"));
    assert!(
        kernel.has_option("BTRFS_EXPERIMENTAL")
            && kernel.has_option("TINY")
            && !kernel.has_option("MODULES")
    );
    assert_eq!(fs::read_to_string(&kernel.path).unwrap(), "true\nthe disks\n");
    assert!(
        fs::read_to_string(kernel.folder.join("build.log")).unwrap().contains("  LD      linux\n")
    );
    assert!(kernel.source.to_string().ends_with("/tree"));
    assert!(steps.contains(&BuildStep::Inserting { files: 2, patches: 0 }));
    assert!(
        steps.iter().any(|step| matches!(step, BuildStep::Compiling { done: 1, .. })),
        "{steps:?}"
    );
    assert_eq!(place.kernels(), [format!("7.3.4-{}", &kernel.key[..12])]);

    let again = place.built();
    assert!(!again.fresh);
    assert_eq!(again.kernel.sha256, kernel.sha256);
}

#[test]
fn whatever_changes_makes_another_kernel() {
    let place = BuildPlace::new();
    place.built();
    for (path, text) in [
        ("tree/build.sh", "true # edited\n"),
        ("share/guest-kernel/config", "CONFIG_OTHER=y\n"),
        ("share/guest-kernel/files/inserted", "other disks\n"),
        (
            "share/guest-kernel/patches/1.patch",
            "--- a/build.sh\n+++ b/build.sh\n@@ -1 +1 @@\n-true # edited\n+true\n",
        ),
    ] {
        let before = place.kernels().len();
        place.write(path, text);
        assert!(place.built().fresh, "{path}");
        assert!(!place.built().fresh, "{path}");
        assert_eq!(place.kernels().len(), before + 1, "{path}");
    }
}

#[test]
fn damaged_and_half_written_kernels_are_reported_set_aside_and_rebuilt() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("cannot read kernel.toml", |folder| fs::remove_file(folder.join("kernel.toml")).unwrap()),
        ("cannot read linux", |folder| fs::remove_file(folder.join("linux")).unwrap()),
        ("linux is not the file that was built", |folder| {
            fs::write(folder.join("linux"), "true\n").unwrap();
        }),
        ("kernel.toml", |folder| {
            fs::write(folder.join("kernel.toml"), "format = 1\nversion = \"7.").unwrap();
        }),
    ];
    for (why, damage) in damages {
        let place = BuildPlace::new();
        let kernel = place.built().kernel;
        damage(&kernel.folder);
        let listing = list(&place.cache(), &place.share()).unwrap();
        assert!(listing.kernels.is_empty() && listing.damaged.len() == 1, "{why}");
        let error = find(&place.cache(), &place.share(), Btrfs::Policies, "newest")
            .unwrap_err()
            .to_string();
        assert!(error.contains(why) && error.contains("disklab kernel build"), "{error}");

        let (built, steps) = place.build(&place.tree());
        assert!(built.unwrap().fresh);
        assert!(note(&steps).contains(why) && note(&steps).contains(".damaged"), "{steps:?}");
        assert_eq!(Kernel::open(&kernel.folder).unwrap().sha256, kernel.sha256);
        assert_eq!(list(&place.cache(), &place.share()).unwrap().damaged.len(), 0);
    }
}

#[test]
fn of_two_builds_at_once_one_waits_and_takes_what_the_other_made() {
    let place = BuildPlace::new();
    place.write(
        "tree/build.sh",
        &format!("while [ ! -e {} ]; do sleep 0.02; done\n", place.path("go").display()),
    );
    let (cache, share, source) = (place.cache(), place.share(), place.tree());
    let build = Build { cache: &cache, share: &share, jobs: 1, stop: &RUN };
    let (compiling, hear_compiling) = mpsc::channel();
    let (waiting, hear_waiting) = mpsc::channel();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            build.from(&source, Btrfs::Policies, &mut |step| {
                if let BuildStep::Compiling { done: 1, .. } = step {
                    compiling.send(()).unwrap();
                }
            })
        });
        hear_compiling.recv().unwrap();
        let second = scope.spawn(|| {
            build.from(&source, Btrfs::Policies, &mut |step| {
                if let BuildStep::Waiting { .. } = step {
                    waiting.send(()).unwrap();
                }
            })
        });
        hear_waiting.recv().unwrap();
        place.write("go", "");
        assert!(first.join().unwrap().unwrap().fresh);
        assert!(!second.join().unwrap().unwrap().fresh);
    });
    assert_eq!(place.kernels().len(), 1);
}

#[test]
fn a_stopped_build_leaves_nothing_running_and_nothing_behind() {
    let place = BuildPlace::new();
    let alive = place.path("alive");
    place.write(
        "tree/build.sh",
        &format!("while sleep 0.02; do date >> {}; done\n", alive.display()),
    );
    let stop = AtomicBool::new(false);
    let (cache, share) = (place.cache(), place.share());
    let build = Build { cache: &cache, share: &share, jobs: 1, stop: &stop };
    let result = std::thread::scope(|scope| {
        let result = scope.spawn(|| build.from(&place.tree(), Btrfs::Policies, &mut |_| {}));
        let deadline = Instant::now() + Duration::from_secs(20);
        while !alive.exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        stop.store(true, Ordering::Relaxed);
        result.join().unwrap()
    });
    assert!(matches!(result, Err(Error::Interrupted)));
    let size = fs::metadata(&alive).unwrap().len();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(fs::metadata(&alive).unwrap().len(), size, "make's children still run");
    assert!(!place.kernels().iter().any(|name| name.starts_with('.')), "{:?}", place.kernels());
}

#[test]
fn what_a_killed_build_left_is_removed_by_the_next() {
    let place = BuildPlace::new();
    place.cache();
    place.write("cache/kernels/.tmp-0123456789ab/source/Makefile", "");
    place.built();
    assert_eq!(place.kernels().len(), 1);
}

#[test]
fn a_failed_build_shows_its_errors_and_keeps_its_log() {
    let place = BuildPlace::new();
    place.write("tree/build.sh", "echo 'fs/x.c:1:2: error: what is this' >&2; exit 1\n");
    let (result, _) = place.build(&place.tree());
    let Err(Error::Make { log, tail, .. }) = result else { panic!("{result:?}") };
    assert!(tail.contains(&"fs/x.c:1:2: error: what is this".to_owned()), "{tail:?}");
    assert!(fs::read_to_string(&log).unwrap().contains("what is this"));
    assert!(!place.kernels().iter().any(|name| name.starts_with('.')), "{:?}", place.kernels());
}

#[test]
fn a_line_that_the_configuration_lost_is_named_before_anything_is_compiled() {
    let place = BuildPlace::new();
    place.write("share/guest-kernel/config", "CONFIG_KEPT=y\nCONFIG_LOST=y\nCONFIG_FORCED=n\n");
    let (result, steps) = place.build(&place.tree());
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("Linux 7.3.4") && error.contains("  CONFIG_LOST=y\n  CONFIG_FORCED=n\n"),
        "{error}"
    );
    assert!(!error.contains("KEPT"), "{error}");
    assert!(!steps.iter().any(|step| matches!(step, BuildStep::Compiling { .. })));
}

#[test]
fn a_file_of_the_kernel_is_not_overwritten_and_a_wrong_patch_is_named() {
    let place = BuildPlace::new();
    place.write(
        "share/guest-kernel/patches/2.patch",
        "--- a/build.sh\n+++ b/build.sh\n@@ -1 +1 @@\n-false\n+true\n",
    );
    let error = place.refused();
    assert!(
        error.contains("patches/2.patch does not apply to Linux 7.3.4:\n  build.sh: hunk 1"),
        "{error}"
    );
    place.write("share/guest-kernel/files/Makefile", "all:\n");
    let error = place.refused();
    assert!(error.contains("guest-kernel/files/Makefile would overwrite"), "{error}");
}

#[test]
fn a_tree_is_not_touched_even_if_somebody_built_in_it() {
    let place = BuildPlace::new();
    place.write("tree/.config", "CONFIG_X86=y\n");
    place.write(
        "share/guest-kernel/patches/1.patch",
        "--- a/build.sh\n+++ b/build.sh\n@@ -1 +1 @@\n-true\n+echo\n",
    );
    assert!(place.built().fresh);
    let mut names: Vec<String> = fs::read_dir(place.path("tree"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".config", "Makefile", "build.sh"]);
    assert_eq!(fs::read_to_string(place.path("tree/build.sh")).unwrap(), "true\n");
}

#[test]
fn a_tree_that_may_only_be_read_will_do() {
    let place = BuildPlace::new();
    fs::set_permissions(place.path("tree/build.sh"), fs::Permissions::from_mode(0o444)).unwrap();
    place.write(
        "share/guest-kernel/patches/1.patch",
        "--- a/build.sh\n+++ b/build.sh\n@@ -1 +1 @@\n-true\n+echo\n",
    );
    assert!(place.built().fresh);
}

#[test]
fn a_tarball_gives_a_kernel_and_a_wrong_one_is_refused() {
    let place = BuildPlace::new();
    let path = place.path("linux.tar.xz");
    let status = Command::new("tar")
        .arg("-C")
        .arg(place.path(""))
        .arg("-cJf")
        .arg(&path)
        .arg("tree")
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(
        KernelSource::find(&path).unwrap(),
        KernelSource::Tarball { path: path.clone(), sha256: None }
    );
    assert!(place.build(&KernelSource::find(&path).unwrap()).0.unwrap().fresh);

    let expected = "0".repeat(64);
    let wrong = KernelSource::Tarball { path, sha256: Some(expected.clone()) };
    let error = place.build(&wrong).0.unwrap_err().to_string();
    assert!(error.contains("linux.tar.xz") && error.contains(&expected), "{error}");
}

#[test]
fn what_is_no_kernel_is_refused() {
    let place = BuildPlace::new();
    place.write("tree/Makefile", "all:\n");
    assert!(place.refused().contains("does not set VERSION"));
    fs::remove_file(place.path("tree/Makefile")).unwrap();
    assert!(place.refused().contains("tree is not a Linux kernel source"));
    assert!(
        KernelSource::find(&place.path("nowhere")).unwrap_err().to_string().contains("nowhere")
    );
}

#[test]
fn a_series_is_known_by_name() {
    let series =
        |text: &str| Series { series: text.into(), package: format!("linux-source-{text}") };
    let known = [series("7.3"), series("7.2")];
    let package =
        KernelSource::Package { series: "7.2".into(), package: "linux-source-7.2".into() };
    assert_eq!(KernelSource::of_series("7.2", &known).unwrap(), package);
    let error = KernelSource::of_series("9.9", &known).unwrap_err().to_string();
    assert!(error.contains("9.9") && error.contains("7.3, 7.2"), "{error}");
}

#[test]
fn a_kernel_is_found_by_every_name_a_suite_may_use() {
    let place = BuildPlace::new();
    let old = place.built().kernel;
    place.write("tree/Makefile", &MAKEFILE.replace("SUBLEVEL = 4", "SUBLEVEL = 12"));
    let new = place.built().kernel;
    let found = |value: &str| {
        find(&place.cache(), &place.share(), Btrfs::Policies, value).map(|kernel| kernel.key)
    };
    for (value, kernel) in [
        ("newest", &new),
        ("7.3", &new),
        ("7.3.4", &old),
        (old.folder.to_str().unwrap(), &old),
        (old.path.to_str().unwrap(), &old),
    ] {
        assert_eq!(found(value).unwrap(), kernel.key, "{value}");
    }
    for value in ["7.2", "7.3.5", "latest", ""] {
        let error = found(value).unwrap_err().to_string();
        assert!(
            error.contains(&format!("{value:?}")) && error.contains("7.3.12, 7.3.4"),
            "{error}"
        );
    }

    place.write("share/guest-kernel/files/inserted", "newer disks\n");
    let error = found("newest").unwrap_err().to_string();
    assert!(
        error.contains("7.3.12 was built with another configuration or other inserted files"),
        "{error}"
    );
    assert_eq!(found(old.path.to_str().unwrap()).unwrap(), old.key);
    assert_eq!(new.current(&place.share()).unwrap(), None);
}

#[test]
fn a_kernel_of_an_installed_release_is_found_and_an_own_build_goes_before_it() {
    let place = BuildPlace::new();
    let installed = place.built().kernel;
    let name = installed.folder.file_name().unwrap();
    fs::create_dir(place.path("share/kernels")).unwrap();
    fs::rename(&installed.folder, place.path("share/kernels").join(name)).unwrap();
    let found = || find(&place.cache(), &place.share(), Btrfs::Policies, "newest").unwrap();
    assert_eq!(found().key, installed.key);
    assert_eq!(found().folder, place.path("share/kernels").join(name));
    assert_eq!(list(&place.cache(), &place.share()).unwrap().kernels.len(), 1);

    place.write("tree/Makefile", &MAKEFILE.replace("SUBLEVEL = 4", "SUBLEVEL = 5"));
    let built = place.built().kernel;
    assert_eq!(found().key, built.key);

    place.write(&format!("share/kernels/{}/config", name.to_str().unwrap()), "CONFIG_OTHER=y\n");
    let listing = list(&place.cache(), &place.share()).unwrap();
    assert_eq!((listing.kernels.len(), listing.damaged.len()), (1, 1));
}

/// A tree's btrfs is its own, and disklab's read policies are added on request only.
#[test]
fn a_tree_has_its_own_btrfs_unless_disklabs_policies_are_asked_for() {
    let place = BuildPlace::new();
    let tree = place.path("tree").display().to_string();
    let own = place.named(&tree).unwrap().kernel;
    let both = place.named(&format!("{tree}:disklab")).unwrap().kernel;
    assert_ne!(own.key, both.key);
    assert_eq!((own.btrfs, both.btrfs), (Some(Btrfs::Untouched), Some(Btrfs::Policies)));
    let has = |kernel: &disklab_kernels::Kernel| kernel.has_option("BTRFS_READ_POLICIES");
    assert!(!has(&own) && has(&both));
    assert!(!own.plain_names_are_ours() && !both.plain_names_are_ours(), "it is no lab's kernel");
    assert_eq!(place.built().kernel.key, both.key);
    // A folder whose name has this ending is a tree with that name.
    std::fs::rename(place.path("tree"), place.path("tree:disklab")).unwrap();
    let odd = place.named(&format!("{tree}:disklab")).unwrap().kernel;
    assert_eq!((odd.key, odd.btrfs), (own.key, Some(Btrfs::Untouched)));
}
