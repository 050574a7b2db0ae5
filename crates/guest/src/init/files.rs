//! Writes test files and reads blocks of them.

use super::direct::{self, BLOCK, Buffer};
use super::perform::{Perform, Session};
use super::steps::Failure;
use super::trees::Scatter;
use crate::site::Site;
use disklab_protocol::action::{WarmMetadata, WriteFiles};
use disklab_protocol::places::{POOL, TREES};
use disklab_protocol::setup::ZeroFile;
use disklab_protocol::step::Step;
use disklab_units::{Random, Seed};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Number of parts of a file. After each part, a part of the trees is written.
const PARTS: u64 = 64;

impl Perform for WriteFiles {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        let files =
            self.files.iter().map(|file| format!("# write {} to {POOL}/{}", file.bytes, file.name));
        let trees = self.trees.iter().map(|_| format!("# write fragmented trees below {TREES}"));
        files.chain(trees).collect()
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let contents = |of: &str| self.contents.map(|contents| contents.derive(of));
        let trees = self.trees.as_ref().map(|trees| Scatter::create(trees, contents("trees")));
        let mut trees = trees.transpose()?;
        for file in &self.files {
            write_file(file, contents(&file.name), trees.as_mut())?;
            session.steps.say(&Step::Written { file: file.name.clone(), bytes: file.bytes });
        }
        if let Some(trees) = trees {
            let (fragments, extents) = trees.finish()?;
            session.steps.say(&Step::Scattered { fragments, extents });
        }
        Ok(())
    }
}

impl Perform for WarmMetadata {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        vec![format!("# read a block of each {} of {POOL}/{}", self.every, self.name)]
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let path = Path::new(POOL).join(&self.name);
        let failed = |e| format!("reading {}: {e}", path.display());
        let file = direct::open(&path).map_err(failed)?;
        let blocks = file.metadata().map_err(failed)?.len() / self.every.0.max(BLOCK as u64);
        let mut block = Buffer::zeroes(BLOCK);
        for number in 0..blocks {
            file.read_exact_at(block.bytes_mut(), number * self.every.0).map_err(failed)?;
        }
        session.steps.say(&Step::Touched { file: self.name.clone(), blocks });
        Ok(())
    }
}

/// Writes a file with direct I/O, so that the page cache does not change. It writes sequentially,
/// as the gist's script lays out its file, zeroes or random data.
fn write_file(
    file: &ZeroFile,
    contents: Option<Seed>,
    mut trees: Option<&mut Scatter>,
) -> Result<(), Failure> {
    const LENGTH: usize = 1 << 20;
    let path = Path::new(POOL).join(&file.name);
    let failed = |e| format!("writing {} to {}: {e}", file.bytes, path.display());
    let mut out = direct::create(&path).map_err(failed)?;
    let mut buffer = Buffer::zeroes(LENGTH);
    let mut random = contents.map(Random::new);
    let (mut written, mut part) = (0, 1);
    while written < file.bytes.0 {
        let length = (file.bytes.0 - written).min(LENGTH as u64);
        if let Some(random) = &mut random {
            direct::fill(buffer.bytes_mut(), random);
        }
        out.write_all(&buffer.bytes()[..length as usize]).map_err(failed)?;
        written += length;
        if let Some(trees) = trees.as_deref_mut()
            && written >= file.bytes.0 / PARTS * part
        {
            trees.write(written, file.bytes.0)?;
            part = written / (file.bytes.0 / PARTS).max(1) + 1;
        }
    }
    out.sync_all().map_err(failed)
}
