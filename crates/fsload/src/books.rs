//! The account of files: their expected contents, who has them open, and what was promised.

use crate::choice::Chooser;
use crate::content::ContentKey;
use crate::layout::{self, FolderTree};
use crate::promises::{FileVersion, Note};
use crate::report::Files;
use disklab_config::fsload::{FilePlace, FileSet, Fsload, Pick};
use disklab_units::{Random, Seed};
use std::path::PathBuf;

/// The account of all sets.
#[derive(Debug)]
pub struct Books {
    sets: Vec<Set>,
    /// The seed of all contents that are written from now on.
    seed: Seed,
    /// Number of folders that threads have made or are making.
    folders: u64,
    /// Numbers of the folders that exist.
    made: Vec<u64>,
    /// Notes of promises, or None if no power cut needs them.
    pub notes: Option<Vec<Note>>,
}

#[derive(Debug)]
struct Set {
    description: FileSet,
    tree: FolderTree,
    slots: Vec<Slot>,
    /// Slots that were written last, the newest at the end. The list is kept for threads that pick
    /// recent files.
    recent: Vec<u32>,
    most_recent: usize,
    /// The slot at which the search for a free name begins.
    next_free: usize,
}

/// A name of a set, and the state of the file that may have it.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// Size in bytes with which the file is written as a whole.
    own: u64,
    leaf: u32,
    there: bool,
    size: u64,
    generation: u32,
    readers: u16,
    writer: bool,
    promised: bool,
}

/// A file that a thread is working on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub set: usize,
    pub slot: usize,
    pub path: PathBuf,
    pub size: u64,
    /// Size in bytes with which the file is written as a whole.
    pub own: u64,
    /// Whether no other thread works on the file.
    pub alone: bool,
}

impl Books {
    /// Returns the account of a load whose files were just laid out.
    pub fn new(load: &Fsload, seed: Seed, notes_promises: bool) -> Self {
        let recent = |threads: &disklab_config::fsload::FileThreads| match threads.pick {
            Pick::Recent(among) => among as usize,
            _ => 0,
        };
        let most_recent = load.threads.iter().map(recent).max().unwrap_or_default();
        let set = |set: &FileSet| {
            let (planned, tree) = layout::plan(load, set);
            let slot = |file: &layout::Planned| Slot {
                own: file.size,
                leaf: file.leaf,
                there: file.there,
                size: if file.there { file.size } else { 0 },
                ..Slot::default()
            };
            let slots = planned.iter().map(slot).collect();
            Set {
                description: set.clone(),
                tree,
                slots,
                recent: Vec::new(),
                most_recent,
                next_free: 0,
            }
        };
        let notes = notes_promises.then(Vec::new);
        Self {
            sets: load.files.iter().map(set).collect(),
            seed,
            folders: 0,
            made: Vec::new(),
            notes,
        }
    }

    /// Returns the number of names of a set.
    pub fn names(&self, set: usize) -> usize {
        self.sets[set].slots.len()
    }

    /// Takes a file that exists and that nobody writes. If `alone` is set, nobody may have it open.
    pub fn take(
        &mut self,
        set: usize,
        alone: bool,
        chooser: &mut Chooser,
        random: &mut Random,
    ) -> Option<Taken> {
        let Set { slots, recent, .. } = &self.sets[set];
        let fits = |slot: usize| slots[slot].there && slots[slot].is_free(alone);
        let slot = chooser.choose(slots.len(), recent, random, fits)?;
        Some(self.hold(set, slot, alone))
    }

    /// Takes a name that is free. No other thread gets it until it is given back.
    pub fn take_free(&mut self, set: usize) -> Option<Taken> {
        let Set { slots, next_free, .. } = &self.sets[set];
        let fits = |slot: &usize| !slots[*slot].there && slots[*slot].is_free(true);
        let slot = (*next_free..slots.len()).chain(0..*next_free).find(fits)?;
        self.sets[set].next_free = slot + 1;
        Some(self.hold(set, slot, true))
    }

    /// Takes the file of a folder with this number, from 1, unless somebody writes it. `wanted`
    /// says whether the file has to exist.
    pub fn take_in_folder(
        &mut self,
        set: usize,
        folder: u64,
        number: u32,
        wanted: TakenFor,
    ) -> Option<Taken> {
        let FilePlace::Folders { most } = self.sets[set].description.place else { return None };
        let slot = usize::try_from(folder * u64::from(most) + u64::from(number) - 1).ok()?;
        let found = self.sets[set].slots.get(slot).filter(|_| number <= most)?;
        let fits = match wanted {
            // A reader of a file that is replaced goes on reading the old one.
            TakenFor::ToRead => found.there,
            TakenFor::ToReplace => !found.writer,
        };
        fits.then(|| self.hold(set, slot, wanted == TakenFor::ToReplace))
    }

    fn hold(&mut self, set: usize, slot: usize, alone: bool) -> Taken {
        let Set { description, tree, slots, .. } = &mut self.sets[set];
        let held = &mut slots[slot];
        if alone {
            held.writer = true;
        } else {
            held.readers += 1;
        }
        let path = layout::path(description, *tree, slot as u64, held.leaf);
        Taken { set, slot, path, size: held.size, own: held.own, alone }
    }

    /// Gives a file back: this thread no longer works on it.
    pub fn leave(&mut self, taken: &Taken) {
        let slot = &mut self.sets[taken.set].slots[taken.slot];
        if taken.alone {
            slot.writer = false;
        } else {
            slot.readers -= 1;
        }
    }

    /// Returns the key of the file's contents. If `anew` is set, returns the key of the contents
    /// with which it is overwritten next.
    pub fn key(&self, set: usize, slot: usize, anew: bool) -> ContentKey {
        let generation = self.sets[set].slots[slot].generation + u32::from(anew);
        layout::key(self.seed, set, slot as u64, generation)
    }

    /// Records that a file was created or overwritten with `size` bytes.
    pub fn wrote_anew(&mut self, taken: &Taken, size: u64) {
        let set = &mut self.sets[taken.set];
        let slot = &mut set.slots[taken.slot];
        (slot.generation, slot.size, slot.there) = (slot.generation + 1, size, true);
        set.was_written(taken.slot);
    }

    pub fn appended(&mut self, taken: &Taken, bytes: u64) {
        let set = &mut self.sets[taken.set];
        set.slots[taken.slot].size += bytes;
        set.was_written(taken.slot);
    }

    pub fn deleted(&mut self, taken: &Taken) {
        let set = &mut self.sets[taken.set];
        (set.slots[taken.slot].there, set.slots[taken.slot].size) = (false, 0);
    }

    /// Returns the number of a folder that is about to be made, and makes room for its files.
    pub fn next_folder(&mut self) -> u64 {
        self.folders += 1;
        for set in &mut self.sets {
            if let FilePlace::Folders { most } = set.description.place {
                let slots = self.folders * u64::from(most);
                set.slots.resize(usize::try_from(slots).unwrap_or(usize::MAX), Slot::default());
            }
        }
        self.folders - 1
    }

    pub fn made_folder(&mut self, number: u64) {
        self.made.push(number);
    }

    /// Returns the number of any folder that was made.
    pub fn any_folder(&self, random: &mut Random) -> Option<u64> {
        self.made.get(random.below(self.made.len() as u64) as usize).copied()
    }

    /// Returns the largest number of files of a set that a folder can have.
    pub fn most_in_folder(&self, set: usize) -> u32 {
        match self.sets[set].description.place {
            FilePlace::Folders { most } => most,
            FilePlace::Tree { .. } => 0,
        }
    }

    /// Returns the current size of the file.
    pub fn size(&self, taken: &Taken) -> u64 {
        self.sets[taken.set].slots[taken.slot].size
    }

    /// Records that a file was fsynced; returns the number of the note, if notes are taken.
    pub fn promise(&mut self, taken: &Taken) -> Option<u64> {
        let slot = &mut self.sets[taken.set].slots[taken.slot];
        let held = FileVersion { generation: slot.generation, size: slot.size };
        slot.promised = true;
        self.note(taken, Some(held))
    }

    /// Takes back the promise of a file that is about to change; returns the number of the note, if
    /// there was a promise.
    pub fn take_back(&mut self, taken: &Taken) -> Option<u64> {
        let slot = &mut self.sets[taken.set].slots[taken.slot];
        std::mem::take(&mut slot.promised).then(|| self.note(taken, None)).flatten()
    }

    fn note(&mut self, taken: &Taken, kept: Option<FileVersion>) -> Option<u64> {
        let notes = self.notes.as_mut()?;
        notes.push(Note { set: taken.set as u32, slot: taken.slot as u64, kept });
        Some(notes.len() as u64)
    }

    /// Returns the path of every name, and the key and size of its file's contents if the file
    /// exists.
    pub fn all(&self) -> impl Iterator<Item = (PathBuf, Option<(ContentKey, u64)>)> {
        self.sets.iter().enumerate().flat_map(move |(number, set)| {
            set.slots.iter().enumerate().map(move |(slot, file)| {
                let path = layout::path(&set.description, set.tree, slot as u64, file.leaf);
                (path, file.there.then(|| (self.key(number, slot, false), file.size)))
            })
        })
    }

    /// Returns the number of files and bytes of each set.
    pub fn totals(&self) -> Vec<Files> {
        let total = |set: &Set| {
            let there = set.slots.iter().filter(|slot| slot.there);
            Files {
                set: set.description.name.clone(),
                count: there.clone().count() as u64,
                bytes: there.map(|slot| slot.size).sum(),
            }
        };
        self.sets.iter().map(total).collect()
    }
}

/// The purpose for which a file of a folder is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenFor {
    ToRead,
    ToReplace,
}

impl Slot {
    fn is_free(&self, alone: bool) -> bool {
        !self.writer && (self.readers == 0 || !alone)
    }
}

impl Set {
    fn was_written(&mut self, slot: usize) {
        if self.most_recent == 0 {
            return;
        }
        // The list may grow to twice the length that is asked for, so that it is rarely moved.
        if self.recent.len() >= 2 * self.most_recent {
            self.recent.drain(..self.most_recent);
        }
        self.recent.push(slot as u32);
    }
}
