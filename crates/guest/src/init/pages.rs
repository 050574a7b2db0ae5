//! What a program reads of its files: each access to their pages, in order, by the kernel's own events.

use super::{Failure, mounted};
use crate::names;
use crate::plan::{Entries, ROOT, TRIAL};
use disklab_spec::startup::EntryKind;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const TRACING: &str = "/sys/kernel/tracing";
/// A read(2) of cached or uncached pages, the access to a mapped page that is not mapped yet, and that to one whose
/// neighbours are in memory, which the kernel maps with it.
const EVENTS: [&str; 3] = ["mm_filemap_get_pages", "mm_filemap_fault", "mm_filemap_map_pages"];
/// Of the kernel's own buffer: more than any start-up fills.
const BUFFER_KIB: &str = "65536";
const PAGE: u64 = 4096;

/// They are recorded from now on.
pub fn begin() -> Result<(), Failure> {
    if !Path::new(TRACING).join("trace").exists() {
        mounted("tracefs", TRACING, "")?;
    }
    put("buffer_size_kb", BUFFER_KIB)?;
    EVENTS.iter().try_for_each(|event| put(&format!("events/filemap/{event}/enable"), "1"))
}

/// Writes what was recorded of these files: `file INODE PATH` lines, then `read INODE FROM END`, `map
/// INODE FROM END` and `around INODE FROM END`.
pub fn end(entries: &Entries) -> Result<(), Failure> {
    EVENTS.iter().try_for_each(|event| put(&format!("events/filemap/{event}/enable"), "0"))?;
    let trace = Path::new(TRACING).join("trace");
    let trace = fs::read_to_string(&trace).map_err(|e| format!("{}: {e}", trace.display()))?;
    let mut text = String::new();
    let mut known: BTreeMap<u64, &str> = BTreeMap::new();
    for entry in entries.all.iter().filter(|entry| matches!(entry.kind, EntryKind::File(_))) {
        // One that the program removed is not there any more.
        if let Ok(found) = fs::symlink_metadata(format!("{ROOT}{}", entry.path)) {
            known.insert(found.ino(), &entry.path);
        }
    }
    for (inode, path) in &known {
        let _ = writeln!(text, "file {inode} {path}");
    }
    for (act, inode, from, end) in trace.lines().filter_map(access) {
        if known.contains_key(&inode) {
            let _ = writeln!(text, "{act} {inode} {from} {end}");
        }
    }
    let path = Path::new(TRIAL).join(names::PAGES);
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// `... mm_filemap_fault: dev=254:0 ino=c ofs=8192`, as `map`, inode, first byte and end.
fn access(line: &str) -> Option<(&'static str, u64, u64, u64)> {
    let (_, rest) = line.split_once(" ino=")?;
    let (inode, rest) = rest.split_once(" ofs=")?;
    let inode = u64::from_str_radix(inode, 16).ok()?;
    if line.contains("mm_filemap_fault:") {
        let from: u64 = rest.trim().parse().ok()?;
        return Some(("map", inode, from, from + PAGE));
    }
    let (from, last) = rest.trim().split_once('-')?;
    let (from, last): (u64, u64) = (from.parse().ok()?, last.parse().ok()?);
    if line.contains("mm_filemap_map_pages:") {
        return Some(("around", inode, from, from + PAGE));
    }
    // The event has the page after the last one, and its last byte.
    Some(("read", inode, from, (last + 1).saturating_sub(PAGE).max(from + PAGE)))
}

fn put(name: &str, value: &str) -> Result<(), Failure> {
    let path = Path::new(TRACING).join(name);
    fs::write(&path, value).map_err(|e| format!("writing {value} to {}: {e}", path.display()))
}
