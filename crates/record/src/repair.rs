//! Repairs damaged lines of `trials.jsonl` from the raw files of their trials.
//!
//! A digest can prove that a repaired line equals the original. The damaged line states this
//! digest, the next line's digest follows from it, or `trials.last` has it. A line without such a
//! proof gets the remark [`Remark::MadeAgain`], and the digests after it are computed anew.

mod pieces;
mod scanned;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use disklab_results::Remark;
use serde::Serialize;

use crate::chain::{self, Chain, LastLine};
use crate::error::RecordError;
use crate::fingerprint;
use crate::manifest::Manifest;
use crate::name;
use crate::outcome::{self, Outcome, Status};
use crate::record::check_keys;
use crate::sync::{self, write_whole};
use crate::writer::locked;
use pieces::{Piece, pieces};
use scanned::{Scanned, member};

/// Replaces the numbers of an outcome by those that follow from the raw files in a folder, and its
/// cell and seed by those of its trial. An error says why that is impossible.
pub type Derive<'a> = &'a dyn Fn(&Path, &mut Outcome) -> Result<(), String>;

/// The result of a repair.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// Trials whose lines equal the originals, as a digest proves.
    pub restored: Vec<String>,
    /// Trials whose lines were made again without such a proof.
    pub made_again: Vec<String>,
    /// Damaged lines that were left unchanged.
    pub left: Vec<LeftLine>,
    /// Number of copies of other lines that were removed.
    pub copies: usize,
    /// Number of lines that are lost.
    pub lost: usize,
    /// Whether the count of lines was changed.
    pub count_written: bool,
    /// Paths of the copies of the damaged files.
    pub kept: Vec<PathBuf>,
}

/// A damaged line that could not be made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftLine {
    /// Number of the line, from 1, in the repaired file.
    pub line: usize,
    pub trial: Option<String>,
    pub reason: String,
}

impl Repaired {
    /// Returns whether every line that was ever written is there, and can be read.
    pub fn is_whole(&self) -> bool {
        self.left.is_empty() && self.lost == 0
    }
}

/// Makes the damaged and the removed lines of a record again. The damaged files are kept beside the
/// new ones. Each file is replaced as a whole, so another repair continues after a crash. With
/// `dry_run` nothing is written.
pub fn repair(folder: &Path, dry_run: bool, derive: Derive) -> Result<Repaired, RecordError> {
    let (manifest, _lock) = locked(folder)?;
    let (lines, last) = (folder.join(name::TRIALS), folder.join(name::LAST));
    let (old, old_last) = (read(&lines)?, read(&last)?);
    let (readable, bad) =
        outcome::parse_what_can_be(old.as_deref().unwrap_or_default(), manifest.chain(), None);
    // A line that is made again gets its key from the manifest.
    check_keys(folder, &manifest, &readable, &bad)?;
    let count = old_last.as_ref().and_then(|bytes| LastLine::parse(bytes).ok());
    let mut work = Work::new(folder, &manifest, count, derive);
    let text = work.text(old.as_deref().unwrap_or_default())?;
    // An older record has no count.
    let is_counted = manifest.has_last_line() || old_last.is_some();
    let count = work.new.last().filter(|_| is_counted).map(|last| last.to_text()).transpose();
    let count = count.map_err(|error| RecordError::io("count", &lines)(error.into()))?;
    let mut done = work.done;
    done.count_written =
        count.as_ref().is_some_and(|count| Some(count.as_bytes()) != old_last.as_deref());
    if dry_run {
        return Ok(done);
    }
    if old.as_deref() != Some(&text) {
        done.kept.extend(keep(&lines, old.as_deref())?);
        write_whole(&lines, &text).map_err(RecordError::io("write", &lines))?;
    }
    if let Some(count) = count.filter(|_| done.count_written) {
        done.kept.extend(keep(&last, old_last.as_deref())?);
        write_whole(&last, count.as_bytes()).map_err(RecordError::io("write", &last))?;
    }
    sync::folder(folder).map_err(RecordError::io("sync", folder))?;
    Ok(done)
}

/// Reads a file. Returns None if it is gone.
fn read(path: &Path) -> Result<Option<Vec<u8>>, RecordError> {
    match disklab_files::read(path, &disklab_files::TRIALS) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RecordError::io("read", path)(error)),
    }
}

/// Copies the content of a file beside it, under an unused name.
fn keep(path: &Path, content: Option<&[u8]>) -> Result<Option<PathBuf>, RecordError> {
    let Some(content) = content else { return Ok(None) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let names = (1..).map(|number: u32| match number {
        1 => format!("{name}.damaged"),
        number => format!("{name}.damaged-{number}"),
    });
    let free = names.map(|name| path.with_file_name(name)).find(|path| !path.exists());
    let free = free.unwrap_or_default();
    write_whole(&free, content).map_err(RecordError::io("write", &free))?;
    Ok(Some(free))
}

/// The outcome of a line that is made again.
struct Made {
    /// The outcome from the damaged line, with the digests of raw files as they are now.
    scanned: Outcome,
    /// The outcome from the raw files.
    derived: Option<Outcome>,
    /// The reason why neither is accepted without a proof.
    why_not: Option<String>,
}

impl Made {
    /// Returns the outcomes that the line may have had. Older lines have no digests of other files.
    fn variants(&self) -> impl Iterator<Item = Outcome> {
        let older = |outcome: &Outcome| Outcome { other_files: BTreeMap::new(), ..outcome.clone() };
        let both = [Some(&self.scanned), self.derived.as_ref()].into_iter().flatten();
        both.flat_map(move |outcome| [outcome.clone(), older(outcome)])
    }
}

/// A line of the new file.
enum NewLine {
    /// A line without its digest.
    Bare { trial: String, attempt: u32, text: String },
    /// A damaged line that stays unchanged.
    Left { bytes: Vec<u8>, trial: Option<String>, reason: String },
}

struct Work<'a> {
    folder: &'a Path,
    manifest: &'a Manifest,
    /// The count of lines, or None if it is gone or damaged.
    count: Option<LastLine>,
    derive: Derive<'a>,
    /// Folders of raw output that no line names, the oldest first.
    free: Vec<String>,
    /// The chain of the old file after the line that was read last.
    old: Chain,
    new: Chain,
    /// Lines that are in the new file, without their digests.
    good: BTreeSet<String>,
    done: Repaired,
}

impl<'a> Work<'a> {
    fn new(
        folder: &'a Path,
        manifest: &'a Manifest,
        count: Option<LastLine>,
        derive: Derive<'a>,
    ) -> Self {
        let (old, new, done) = (manifest.chain(), manifest.chain(), Repaired::default());
        let (free, good) = (Vec::new(), BTreeSet::new());
        Self { folder, manifest, count, derive, free, old, new, good, done }
    }

    /// Returns the repaired file.
    fn text(&mut self, bytes: &[u8]) -> Result<Vec<u8>, RecordError> {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let (lines, mut torn) = bytes.split_at(whole);
        let mut pieces = pieces(lines, self.manifest.chain());
        // An incomplete line from a killed run does not count. If the count includes it, it was a
        // line.
        if self.count.as_ref().is_some_and(|count| count.lines > pieces.len()) && !torn.is_empty() {
            pieces.push(Piece { from: whole, bytes: torn, is_good: false });
            torn = &[];
        }
        self.free = self.unnamed(&pieces);
        let mut made = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            let next = pieces.get(at + 1).map(|next| next.bytes);
            made.extend(self.line(piece, next)?);
        }
        self.add_missing(&mut made, pieces.len())?;
        let mut text = Vec::new();
        for (at, line) in made.into_iter().enumerate() {
            match line {
                NewLine::Bare { text: bare, .. } => text.extend(self.new.seal(bare).into_bytes()),
                NewLine::Left { bytes, trial, reason } => {
                    let _ = self.new.check(&bytes);
                    self.done.left.push(LeftLine { line: at + 1, trial, reason });
                    text.extend(bytes);
                }
            }
            text.push(b'\n');
        }
        text.extend(torn);
        Ok(text)
    }

    /// Returns the folders of raw output that no good line names, the oldest first.
    fn unnamed(&self, pieces: &[Piece]) -> Vec<String> {
        let good = pieces.iter().filter(|piece| piece.is_good);
        let named: BTreeSet<String> = good.filter_map(Piece::raw).collect();
        let folder = self.folder.join(name::RAW);
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut free: Vec<(SystemTime, String)> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let is_free = name::is_attempt(&name) && !named.contains(&format!("raw/{name}"));
                let time = entry.metadata().and_then(|metadata| metadata.modified());
                is_free.then(|| (time.unwrap_or(SystemTime::UNIX_EPOCH), name))
            })
            .collect();
        free.sort_unstable();
        free.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns the new line for a piece of the old file, or None for a copy of a line.
    fn line(&mut self, piece: &Piece, next: Option<&[u8]>) -> Result<Option<NewLine>, RecordError> {
        let before = self.old.clone();
        // The error is ignored, because repairing the damage is the purpose.
        let _ = self.old.check(piece.bytes);
        let scanned = Scanned::read(piece.bytes);
        let text = chain::bare(piece.bytes);
        if piece.is_good {
            let Scanned { outcome: Outcome { trial, raw, .. }, .. } = scanned;
            self.good.insert(text.clone());
            let attempt = number(raw.as_deref());
            return Ok(Some(NewLine::Bare { attempt, trial, text }));
        }
        if self.good.contains(&text) {
            self.done.copies += 1;
            return Ok(None);
        }
        let folders = self.folders_of(piece.bytes);
        let is_listed = self.manifest.all_trials().any(|listed| *listed == scanned.outcome.trial);
        let why = if is_listed {
            "the raw files of its trial are gone"
        } else {
            "nothing in it names a trial of the record"
        };
        let mut reason = why.to_owned();
        for folder in &folders {
            let folder = folder.as_deref();
            let made = match self.make(piece.bytes, &scanned, folder)? {
                Ok(made) => made,
                Err(why) => {
                    reason = why;
                    continue;
                }
            };
            for outcome in made.variants() {
                let text = outcome.to_bare().map_err(|error| self.unwritten(error))?;
                let proof = before.proof(&text, piece.bytes, next, self.count.as_ref());
                if let Some(digest) = proof {
                    self.old.go_on_from(digest);
                    self.free.retain(|free| Some(free.as_str()) != folder);
                    self.done.restored.push(outcome.trial.clone());
                    self.good.insert(text.clone());
                    let attempt = number(folder);
                    return Ok(Some(NewLine::Bare { trial: outcome.trial, attempt, text }));
                }
            }
            reason = match &made.why_not {
                Some(why) => why.clone(),
                None if folders.len() == 1 => return self.unproven(made, folder).map(Some),
                None => "it is not clear which trial's line it is".to_owned(),
            };
        }
        let trial = Some(scanned.outcome.trial).filter(|trial| !trial.is_empty());
        Ok(Some(NewLine::Left { bytes: piece.bytes.to_vec(), trial, reason }))
    }

    fn unwritten(&self, error: serde_json::Error) -> RecordError {
        RecordError::io("write", &self.folder.join(name::TRIALS))(error.into())
    }

    /// Returns a line that no digest proves, with a remark on that.
    fn unproven(&mut self, made: Made, folder: Option<&str>) -> Result<NewLine, RecordError> {
        let mut outcome = made.derived.unwrap_or(made.scanned);
        outcome.remarks.retain(|remark| *remark != Remark::MadeAgain);
        outcome.remarks.push(Remark::MadeAgain);
        let text = outcome.to_bare().map_err(|error| self.unwritten(error))?;
        self.free.retain(|free| Some(free.as_str()) != folder);
        self.done.made_again.push(outcome.trial.clone());
        Ok(NewLine::Bare { trial: outcome.trial, attempt: number(folder), text })
    }

    /// Returns the folders of raw output that a damaged line can belong to: the one that it names,
    /// those of its trial, or all that no line names. None stands for a line without raw output.
    fn folders_of(&self, line: &[u8]) -> Vec<Option<String>> {
        let is_free = |folder: &str| self.free.iter().any(|free| free == folder);
        let raw = member::<Option<String>>(line, "raw");
        let named =
            raw.clone().flatten().and_then(|raw| Some(raw.strip_prefix("raw/")?.to_owned()));
        if let Some(folder) = named.filter(|folder| is_free(folder)) {
            return vec![Some(folder)];
        }
        let trial = member::<String>(line, "trial");
        let is_listed = trial
            .as_ref()
            .is_some_and(|trial| self.manifest.all_trials().any(|listed| listed == trial));
        if raw == Some(None) && is_listed {
            return vec![None];
        }
        let own = |free: &&String| {
            let id = free.split('~').next().unwrap_or_default();
            is_listed && trial.as_deref() == Some(id)
        };
        let own: Vec<Option<String>> = self.free.iter().filter(own).cloned().map(Some).collect();
        if own.is_empty() { self.free.iter().cloned().map(Some).collect() } else { own }
    }

    /// Makes the outcome of a line from its readable parts and from raw files. An error says why
    /// that is impossible.
    fn make(
        &self,
        line: &[u8],
        scanned: &Scanned,
        folder: Option<&str>,
    ) -> Result<Result<Made, String>, RecordError> {
        let Some(folder) = folder else { return Ok(self.without_raw(line, scanned)) };
        let id = folder.split('~').next().unwrap_or_default();
        if !self.manifest.all_trials().any(|listed| listed == id) {
            return Ok(Err(format!("the manifest lists no trial {id}")));
        }
        let raw = self.folder.join(name::RAW).join(folder);
        let mut own = scanned.outcome.clone();
        id.clone_into(&mut own.trial);
        own.key = self.manifest.key(id).cloned();
        own.raw = Some(format!("raw/{folder}"));
        let stated = std::mem::take(&mut own.files);
        own.files = fingerprint::digests(&raw)?;
        own.other_files = fingerprint::other_digests(&raw)?;
        let mut names = stated.keys().chain(own.files.keys());
        let changed = names.find(|file| stated.get(*file) != own.files.get(*file)).cloned();
        let changed = changed.filter(|_| !stated.is_empty());
        // Raw files do not contain how the process ended, so a failed trial stays failed.
        let has_failed = scanned.is_enough && own.status != Status::Ok;
        let mut derived = own.clone();
        let result = if has_failed {
            Err("a trial without a result has no numbers".to_owned())
        } else {
            (self.derive)(&raw, &mut derived)
        };
        let why_not = match (&result, changed) {
            (_, Some(file)) => {
                Some(format!("{folder}/{file} was changed or removed after it was recorded"))
            }
            (Err(_), None) if has_failed && has_no_number(&own) => None,
            (Err(reason), None) => Some(reason.clone()),
            (Ok(()), None) => None,
        };
        let derived = result.is_ok().then_some(derived);
        Ok(Ok(Made { scanned: own, derived, why_not }))
    }

    /// Makes the outcome of a line without raw output, or of an imported result.
    fn without_raw(&self, line: &[u8], scanned: &Scanned) -> Result<Made, String> {
        if !scanned.is_enough {
            return Err("too little of it can be read, and its trial left no raw files".to_owned());
        }
        let mut own = scanned.outcome.clone();
        if let Some(found) = &own.found {
            let is_fit = found.file.strip_prefix("found/").is_some_and(name::is_fit);
            let path = Some(self.folder.join(&found.file)).filter(|path| is_fit && path.is_file());
            let digest = path.and_then(|path| {
                fingerprint::sha256_of(&path, &disklab_files::TRACE).ok().flatten()
            });
            own.files = digest.map(|digest| (found.file.clone(), digest)).into_iter().collect();
        } else {
            own.key = self.manifest.key(&own.trial).cloned();
        }
        let why_not = if own.status == Status::Ok || !has_no_number(&own) {
            Some("its numbers have no raw files that they could be derived from".to_owned())
        } else {
            outcome::parse_line(line).err()
        };
        Ok(Made { scanned: own, derived: None, why_not })
    }

    /// Adds the lines that were removed, before later attempts of the same trial.
    fn add_missing(&mut self, made: &mut Vec<NewLine>, found: usize) -> Result<(), RecordError> {
        let counted = self.count.as_ref().map(|count| count.lines);
        let mut missing = counted.map_or(usize::MAX, |counted| counted.saturating_sub(found));
        if self.count.is_none() && !self.manifest.is_protected() {
            missing = 0;
        }
        // A complete folder without a line shows that a line is gone, also if the count was changed
        // with the lines. A line that stays damaged may be the one of any folder.
        let is_whole = !made.iter().any(|line| matches!(line, NewLine::Left { .. }));
        for folder in self.free.clone() {
            if missing == 0 && !is_whole {
                break;
            }
            let nothing = Scanned::read(b"");
            let Ok(own) = self.make(b"", &nothing, Some(&folder))? else { continue };
            if own.why_not.is_some() {
                continue;
            }
            let line = self.unproven(own, Some(&folder))?;
            let NewLine::Bare { trial, attempt, .. } = &line else { continue };
            let is_later = |other: &NewLine| match other {
                NewLine::Bare { trial: own, attempt: later, .. } => own == trial && later > attempt,
                NewLine::Left { .. } => false,
            };
            let place = made.iter().position(is_later).unwrap_or(made.len());
            made.insert(place, line);
            missing = missing.saturating_sub(1);
        }
        if counted.is_some() {
            self.done.lost = missing;
        }
        Ok(())
    }
}

fn has_no_number(outcome: &Outcome) -> bool {
    outcome.sample.is_none() && outcome.measures.is_empty()
}

/// Returns the number of the attempt whose raw output is in this folder, or 0 without one.
fn number(folder: Option<&str>) -> u32 {
    let Some(folder) = folder else { return 0 };
    folder.split_once('~').map_or(Some(1), |(_, number)| number.parse().ok()).unwrap_or_default()
}
