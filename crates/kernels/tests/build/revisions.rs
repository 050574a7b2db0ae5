//! Trees of git, and revisions of them.

use std::fs;

use disklab_kernels::{Built, Kernel, KernelLookup, Provenance};

use crate::place::BuildPlace;

#[test]
fn a_revision_is_built_beside_others_and_the_tree_stays_as_it_is() {
    let place = BuildPlace::new();
    place.two_revisions();
    place.write("tree/build.sh", "true # mine\n");
    place.write("tree/new", "mine\n");
    let before = (place.git(&["status", "--porcelain"]), place.git(&["rev-parse", "HEAD"]));
    for (name, text) in [
        ("one", "true # one\n"),
        ("HEAD", "true # two\n"),
        ("HEAD~1", "true # one\n"),
        ("HEAD@{1}", "true # one\n"),
    ] {
        let Built { kernel, .. } = place.named(&place.at_revision(name)).unwrap();
        assert_eq!(
            fs::read_to_string(&kernel.path).unwrap(),
            format!("{text}the disks\n"),
            "{name}"
        );
        let commit = place.git(&["rev-parse", name]);
        assert_eq!(kernel.source.revision(), Some(commit.clone()), "{name}");
        assert!(
            kernel.source.to_string().ends_with(&format!("/tree at {}", &commit[..12])),
            "{}",
            kernel.source
        );
    }
    assert_eq!(place.kernels().len(), 2, "each once: {:?}", place.kernels());
    assert_eq!(before, (place.git(&["status", "--porcelain"]), place.git(&["rev-parse", "HEAD"])));
    assert!(!place.path("tree/.git/worktrees").exists());
}

#[test]
fn a_tree_says_which_commit_it_is_and_whether_it_was_changed() {
    let place = BuildPlace::new();
    let revision =
        || place.named(place.path("tree").to_str().unwrap()).unwrap().kernel.source.revision();
    assert_eq!(revision(), None, "it is not git's");
    place.git(&["init", "-q"]);
    assert_eq!(revision(), None, "it has no commit");
    place.two_revisions();
    let commit = place.git(&["rev-parse", "two"]);
    assert_eq!(revision(), Some(commit.clone()));
    place.write("tree/build.sh", "true # edited\n");
    let built = place.built();
    assert_eq!(built.kernel.source.revision(), Some(format!("{commit} with changes")));
    assert!(built.kernel.source.to_string().ends_with(" with changes"), "{}", built.kernel.source);
    let again = Kernel::open(&built.kernel.folder).unwrap().source;
    assert!(matches!(again, Provenance::Tree { changed: true, .. }), "{again:?}");
}

#[test]
fn what_would_be_built_is_told_and_not_built() {
    let place = BuildPlace::new();
    place.two_revisions();
    let to_build = |value: &str| match place.look(value).unwrap() {
        KernelLookup::ToBuild { from, took, .. } => (from.to_string(), took.is_some()),
        KernelLookup::Built(kernel) => panic!("{kernel:?}"),
    };
    let (from, known) = to_build(&place.at_revision("one"));
    assert!(from.contains("/tree at ") && !known, "{from}");
    assert!(place.kernels().is_empty());
    place.named(&place.at_revision("one")).unwrap();
    assert!(matches!(place.look(&place.at_revision("one")).unwrap(), KernelLookup::Built(_)));
    assert!(to_build(place.path("tree").to_str().unwrap()).1, "now there is a build to go by");
}

#[test]
fn a_revision_that_is_not_there_is_told_with_what_to_do() {
    let place = BuildPlace::new();
    let refused = |value: &str| place.named(value).unwrap_err().to_string();
    let error = refused(&place.at_revision("one"));
    assert!(error.contains("is not the folder of a git repository"), "{error}");
    place.two_revisions();
    let error = refused(&place.at_revision("v9.9"));
    assert!(error.contains("unknown revision \"v9.9\"") && error.contains("git tag"), "{error}");
    place.write("tree/arch/x", "");
    let error = refused(&format!("{}@one", place.path("tree/arch").display()));
    assert!(error.contains("arch is not the folder of a git repository"), "{error}");
    let error = refused(&format!("{}@one", place.path("nowhere").display()));
    assert!(error.contains("no built kernel at") && error.contains("TREE@REV"), "{error}");
    place.git(&["rm", "-q", "Makefile"]);
    place.git(&["commit", "-qm", "none"]);
    let error = refused(&place.at_revision("HEAD"));
    assert!(error.contains("is not a Linux kernel source: HEAD has no Makefile"), "{error}");
    assert!(place.kernels().is_empty());
}

#[test]
fn a_folder_with_an_at_in_its_name_is_itself() {
    let place = BuildPlace::new();
    fs::rename(place.path("tree"), place.path("tree@home")).unwrap();
    let named = place.named(place.path("tree@home").to_str().unwrap()).unwrap();
    assert!(named.kernel.source.to_string().ends_with("/tree@home"), "{}", named.kernel.source);
}
