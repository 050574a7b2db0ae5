//! Tests the patch series on real kernel sources: those in this machine's cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use disklab_kernels::{Cache, KernelSource, PatchSeries, Share};

static RUN: AtomicBool = AtomicBool::new(false);
const AUTHOR: &str = "A Tester <tester@example.org>";
const HOOK: &str = "0001-read-policies.patch";

/// Returns the kernel tarballs that `kernel build` fetched.
fn sources() -> Vec<PathBuf> {
    let folder = Cache::open().map(|cache| cache.sources());
    let entries = folder.ok().and_then(|folder| fs::read_dir(folder).ok());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = paths.filter(|path| path.to_string_lossy().contains(".tar.")).collect();
    found.sort();
    found
}

fn share() -> Share {
    Share::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        said(&output.stdout),
        said(&output.stderr)
    );
    said(&output.stdout)
}

/// `git am` accepts the series on a vanilla tree of each series, and checkpatch finds no error in
/// it. The resulting btrfs equals the one that patch(1) and a copy of the files make, from which
/// the guest's kernel is built.
#[test]
fn git_am_takes_the_series_on_every_kernel() {
    let sources = sources();
    if sources.is_empty() {
        assert!(
            std::env::var_os("DISKLAB_NEED_GUEST").is_none(),
            "no kernel source is in the cache: disklab kernel build"
        );
        disklab_testkit::skipped(
            "no kernel source is in the cache; `disklab kernel build` fetches one",
        );
        return;
    }
    // The time of each is mostly one thread that unpacks.
    std::thread::scope(|scope| {
        for source in &sources {
            scope.spawn(move || {
                println!("on {}", source.display());
                series_on(source);
            });
        }
    });
}

fn series_on(source: &Path) {
    let place = tempfile::tempdir().unwrap();
    let (tree, out) = (place.path().join("tree"), place.path().join("series"));
    let cache = Cache::in_folder(&place.path().join("cache")).unwrap();
    let series = PatchSeries { cache: &cache, share: &share(), author: AUTHOR, stop: &RUN };
    let tarball = KernelSource::find(source).unwrap();
    let (version, patches) = series.write(&tarball, &out, &mut |_| ()).unwrap();
    assert_eq!(patches.len(), 3);
    let refused = series.write(&tarball, &out, &mut |_| ()).unwrap_err().to_string();
    assert!(refused.contains("is not empty"), "{refused}");

    fs::create_dir(&tree).unwrap();
    let members = [
        "fs/btrfs/*",
        "scripts/checkpatch.pl",
        "scripts/spelling.txt",
        "scripts/const_structs.checkpatch",
    ];
    run(Command::new("tar")
        .args(["--extract", "--strip-components=1", "--wildcards", "--no-anchored", "--file"])
        .arg(source)
        .arg("--directory")
        .arg(&tree)
        .args(members));
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=A Tester", "-c", "user.email=tester@example.org"];
        run(Command::new("git").args(identity).args(words).current_dir(&tree))
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "vanilla"]);
    git(&["branch", "vanilla"]);
    for patch in &patches {
        let patch = patch.to_str().unwrap();
        git(&["am", "--quiet", patch]);
        let check = Command::new("perl")
            .args(["scripts/checkpatch.pl", "--no-tree", "--terse", patch])
            .current_dir(&tree)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&check.stdout);
        println!("{said}");
        assert!(said.contains("total: 0 errors"), "{patch}: {said}");
    }
    assert_eq!(git(&["log", "--format=%an <%ae>", "-1"]).trim(), AUTHOR);
    let other = place.path().join("other");
    let insertion = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-kernel/btrfs");
    run(Command::new("git")
        .args(["clone", "--quiet", "--branch", "vanilla"])
        .args([&tree, &other]));
    let own = insertion.join("patches").join(version.series()).join(HOOK);
    let hook = if own.exists() { own } else { insertion.join("patches").join(HOOK) };
    run(Command::new("patch")
        .args(["-p1", "--no-backup-if-mismatch", "-i"])
        .arg(&hook)
        .arg("-d")
        .arg(&other));
    run(Command::new("cp").arg("-r").arg(insertion.join("files/.")).arg(&other));
    let policies = other.join("fs/btrfs/read-policies");
    fs::create_dir(&policies).unwrap();
    for file in fs::read_dir(share().read_policies()).unwrap().map(|file| file.unwrap().path()) {
        let is_code = file.extension().is_some_and(|ending| ending == "c" || ending == "h");
        if is_code && !file.ends_with("native.h") {
            fs::copy(&file, policies.join(file.file_name().unwrap())).unwrap();
        }
    }
    run(Command::new("diff").args(["-r", "--exclude=.git"]).args([&tree, &other]));
    assert!(git(&["diff", "--stat", "vanilla"]).contains("fs/btrfs/volumes.c"));
}
