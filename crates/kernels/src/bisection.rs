//! Runs `git bisect` on a user's repository, in another repository that has no files and borrows
//! the user's objects. The user's work tree, and a bisection that is in progress there, stay
//! unchanged.

use std::path::{Path, PathBuf};

use crate::claim::remove_folder;
use crate::error::{Error, Result};
use crate::file;
use crate::git::{Revision, run, say};
use crate::process::failure;

/// The verdict on a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Good,
    Bad,
    /// The revision cannot be judged.
    Skip,
}

/// The next step after an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Judge this revision. About `more` steps follow, unless git cannot say.
    Judge { revision: Revision, more: Option<u32> },
    /// The first bad revision.
    First(Revision),
    /// The first bad revision is among these, of which all but the last could not be judged.
    Among(Vec<Revision>),
}

#[derive(Debug)]
pub struct Bisection {
    /// The user's repository.
    repository: PathBuf,
    /// disklab's repository.
    folder: PathBuf,
    next: Next,
}

impl Answer {
    const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skip => "skip",
        }
    }
}

impl Bisection {
    /// Refuses a bad revision that does not come after the good one.
    pub fn in_order(good: &Revision, bad: &Revision) -> Result<()> {
        if good.commit == bad.commit || is_ancestor(bad, good)? {
            return Err(Error::WrongOrder {
                repository: good.repository.clone(),
                good: Revision::short(&good.commit).to_owned(),
                bad: Revision::short(&bad.commit).to_owned(),
            });
        }
        Ok(())
    }

    /// Begins a bisection in `folder`, which is made anew.
    pub fn begin(good: &Revision, bad: &Revision, folder: &Path) -> Result<Self> {
        Self::in_order(good, bad)?;
        borrow(&good.repository, folder, bad)?;
        let repository = good.repository.clone();
        let next = Next::First(bad.clone());
        let mut bisection = Self { repository, folder: folder.to_owned(), next };
        bisection.go_on(&["start", "--no-checkout", &bad.commit, &good.commit])?;
        Ok(bisection)
    }

    pub fn next(&self) -> &Next {
        &self.next
    }

    /// Records the verdict on `revision`, and moves on.
    pub fn tell(&mut self, revision: &Revision, answer: Answer) -> Result<()> {
        self.go_on(&[answer.word(), &revision.commit])
    }

    fn go_on(&mut self, arguments: &[&str]) -> Result<()> {
        let (command, output) = run(&self.folder, &[&["bisect"], arguments].concat())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        self.next = if let Some(commit) =
            said.lines().find_map(|line| line.strip_suffix(" is the first bad commit"))
        {
            Next::First(self.revision(commit)?)
        } else if said.contains("The first bad commit could be any of") {
            let commits = said.lines().filter(|line| {
                line.len() >= 40 && line.bytes().all(|digit| digit.is_ascii_hexdigit())
            });
            Next::Among(commits.map(|commit| self.revision(commit)).collect::<Result<_>>()?)
        } else if output.status.success() {
            let commit = say(&self.folder, &["rev-parse", "--verify", "BISECT_HEAD"])?;
            Next::Judge { revision: self.revision(&commit)?, more: steps(&said) }
        } else {
            return Err(failure(&command, output.status, &said));
        };
        Ok(())
    }

    fn revision(&self, commit: &str) -> Result<Revision> {
        Revision::find(&self.repository, commit)
    }
}

fn is_ancestor(first: &Revision, second: &Revision) -> Result<bool> {
    let question = ["merge-base", "--is-ancestor", &first.commit, &second.commit];
    let (command, output) = run(&first.repository, &question)?;
    match output.status.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(failure(&command, output.status, &String::from_utf8_lossy(&output.stderr))),
    }
}

/// Makes a bare repository in `folder` that has the other's objects, and its HEAD at `head`.
fn borrow(repository: &Path, folder: &Path, head: &Revision) -> Result<()> {
    remove_folder(folder)?;
    file::create_folder(folder)?;
    say(folder, &["init", "--quiet", "--bare"])?;
    let place =
        |name| say(repository, &["rev-parse", "--path-format=absolute", "--git-path", name]);
    let (alternates, objects) = (folder.join("objects/info/alternates"), place("objects")?);
    file::write(&alternates, objects + "\n")?;
    // This file lists the ends of a shallow clone's history.
    let shallow = PathBuf::from(place("shallow")?);
    if shallow.is_file() {
        file::copy(&shallow, &folder.join("shallow"))?;
    }
    say(folder, &["update-ref", "--no-deref", "HEAD", &head.commit]).map(drop)
}

/// Parses `Bisecting: 3 revisions left to test after this (roughly 2 steps)`.
fn steps(said: &str) -> Option<u32> {
    said.split_once("(roughly ")?.1.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Makes a repository of this number of commits, with the revisions `v1`, `v2`...
    fn repository(commits: u32) -> (tempfile::TempDir, Vec<Revision>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("linux");
        fs::create_dir(&root).unwrap();
        say(&root, &["init", "--quiet"]).unwrap();
        let mut revisions = Vec::new();
        for number in 1..=commits {
            fs::write(root.join("Makefile"), format!("all: {number}\n")).unwrap();
            say(&root, &["add", "Makefile"]).unwrap();
            let who = ["-c", "user.name=n", "-c", "user.email=e"];
            say(&root, &[&who[..], &["commit", "-qm", &format!("change {number}")]].concat())
                .unwrap();
            revisions.push(Revision::find(&root, "HEAD").unwrap());
        }
        (folder, revisions)
    }

    /// Walks from the first revision to the last. The revisions of `skip` cannot be judged. Returns
    /// the number of judgements, and the end.
    fn walk(all: &[Revision], first_bad: usize, skip: &[usize], folder: &Path) -> (usize, Next) {
        let mut bisection = Bisection::begin(&all[0], &all[all.len() - 1], folder).unwrap();
        let mut judged = 0;
        while let Next::Judge { revision, .. } = bisection.next().clone() {
            let at = all.iter().position(|known| *known == revision).unwrap();
            let answer = match at {
                at if skip.contains(&at) => Answer::Skip,
                at if at >= first_bad => Answer::Bad,
                _ => Answer::Good,
            };
            judged += 1;
            bisection.tell(&revision, answer).unwrap();
        }
        (judged, bisection.next().clone())
    }

    #[test]
    fn the_first_bad_one_is_found_and_the_repository_stays_as_it_was() {
        let (folder, all) = repository(12);
        let root = &all[0].repository;
        fs::write(root.join("mine"), "not committed\n").unwrap();
        let before = (
            say(root, &["status", "--porcelain"]).unwrap(),
            file::names(&root.join(".git")).unwrap(),
        );
        for first_bad in 1..12 {
            let (judged, end) = walk(&all, first_bad, &[], &folder.path().join("bisect"));
            assert_eq!(end, Next::First(all[first_bad].clone()), "{first_bad}");
            assert!(judged <= 4, "{judged}");
        }
        let after = (
            say(root, &["status", "--porcelain"]).unwrap(),
            file::names(&root.join(".git")).unwrap(),
        );
        assert_eq!(before, after);
    }

    #[test]
    fn what_cannot_be_judged_is_walked_around_or_told_as_what_it_may_be() {
        let (folder, all) = repository(12);
        let place = folder.path().join("bisect");
        assert_eq!(walk(&all, 8, &[5, 6], &place).1, Next::First(all[8].clone()));
        let (_, end) = walk(&all, 8, &[7, 8], &place);
        let Next::Among(mut among) = end else { panic!("{end:?}") };
        among.sort_by_key(|revision| all.iter().position(|known| known == revision));
        assert_eq!(among, all[7..=9]);
    }

    #[test]
    fn a_bad_one_that_does_not_come_after_the_good_one_is_refused() {
        let (folder, all) = repository(3);
        for (good, bad) in [(2, 0), (1, 1)] {
            let error = Bisection::begin(&all[good], &all[bad], &folder.path().join("b"))
                .unwrap_err()
                .to_string();
            assert!(error.contains("exchange them"), "{error}");
        }
    }

    #[test]
    fn a_shallow_clone_is_walked_too() {
        let (folder, all) = repository(9);
        let shallow = folder.path().join("shallow");
        let from = format!("file://{}", all[0].repository.display());
        say(folder.path(), &["clone", "-q", "--depth=5", &from, shallow.to_str().unwrap()])
            .unwrap();
        let own: Vec<Revision> =
            all[4..].iter().map(|known| Revision::find(&shallow, &known.commit).unwrap()).collect();
        assert_eq!(walk(&own, 2, &[], &folder.path().join("b")).1, Next::First(own[2].clone()));
    }
}
