//! The interface to the guest kernel: `guest-kernel/files/arch/um/include/shared/disklab.h`, in
//! Rust.
//!
//! The kernel has one CPU and calls with interrupts off, so that calls never overlap and one global
//! library is enough. Stacks are 16 KiB. A panic must not unwind into the kernel: release builds
//! abort, and so does `extern "C"`.

use crate::confinement;
use crate::library::{EndedRequest, Library};
use crate::lifetime;
use crate::order::Arrival;
use disklab_disks::Op;
use disklab_units::Nanos;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_uint, c_ulong, c_ulonglong, c_void};
use std::io::{IoSlice, IoSliceMut};
use std::path::Path;

/// The number `DISKLAB_INTERFACE` of disklab.h.
pub const INTERFACE: u32 = 2;
/// The time `DISKLAB_NEVER` of disklab.h.
const NEVER: u64 = u64::MAX;

/// The structure `disklab_disk` of disklab.h.
#[repr(C)]
pub struct CDisk {
    bytes: c_ulonglong,
    logical_block: c_uint,
    physical_block: c_uint,
    max_sectors: c_uint,
    max_segments: c_uint,
    queue_depth: c_uint,
    tags: c_uint,
    discard_granularity: c_uint,
    rotational: u8,
    write_cache: u8,
    fua: u8,
    spare: u8,
}

/// The structure `disklab_piece` of disklab.h, which is `struct iovec`.
#[repr(C)]
pub struct CPiece {
    buffer: *mut c_void,
    bytes: c_ulong,
}

/// The structure `disklab_library` of disklab.h.
#[repr(C)]
pub struct CLibrary {
    interface: c_uint,
    disks: c_uint,
    heartbeat: *mut u64,
    describe: extern "C" fn(c_uint, &mut CDisk),
    submit: extern "C" fn(
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_ulonglong,
        c_uint,
        c_ulonglong,
    ) -> c_ulonglong,
    advance: extern "C" fn(c_ulonglong, *mut EndedRequest, c_uint, &mut c_uint) -> c_ulonglong,
    transfer: extern "C" fn(c_uint, c_uint, *const CPiece, c_uint, c_ulonglong, c_uint) -> c_int,
    mark: extern "C" fn(c_ulonglong, *const u8, c_uint) -> c_int,
    random: extern "C" fn(*mut u8, c_ulong),
    close: extern "C" fn(c_ulonglong),
}

struct Global(UnsafeCell<Option<(Library, CLibrary)>>);
// SAFETY: There is one CPU, and interrupts are off: see the module.
unsafe impl Sync for Global {}
static GLOBAL: Global = Global(UnsafeCell::new(None));

/// Ends the trial after an invalid call by the guest kernel. The console gives the reason.
fn give_up(what: &str) -> ! {
    eprintln!(
        "disklab: the guest kernel made an invalid call to the disk library ({what}); this is a \
         bug of disklab: please report it with the suite, the trial and its seed"
    );
    std::process::abort()
}

#[allow(clippy::mut_from_ref)] // one caller at a time
fn library() -> &'static mut Library {
    // SAFETY: Calls never overlap: see the module.
    match unsafe { &mut *GLOBAL.0.get() } {
        Some((library, _)) => library,
        None => give_up("a call before disklab_open"),
    }
}

fn next(library: &Library) -> u64 {
    library.next_event().map_or(NEVER, |at| at.0)
}

fn op(code: c_uint) -> Op {
    match code {
        0 => Op::Read,
        1 => Op::Write,
        2 => Op::Flush,
        3 => Op::Discard,
        4 => Op::WriteZeroes,
        _ => give_up(&format!("operation {code}")),
    }
}

/// Sets up the disks that `machine.json` in the working folder describes. Returns null if that
/// fails, with the reason on stderr.
///
/// This is the only symbol of the library. The kernel calls it once, on an ordinary stack, before
/// it starts.
#[unsafe(no_mangle)]
pub extern "C" fn disklab_open(interface: c_uint) -> *const CLibrary {
    match open(interface) {
        Ok(table) => table,
        Err(why) => {
            eprintln!("disklab: {why}");
            std::ptr::null()
        }
    }
}

fn open(interface: c_uint) -> Result<*const CLibrary, String> {
    if interface != INTERFACE {
        return Err(format!(
            "the guest kernel speaks interface {interface}, this disk library {INTERFACE}; build \
             the kernel again with `disklab kernel build`"
        ));
    }
    lifetime::bind()?;
    confinement::isolate().map_err(|why| format!("the guest cannot be confined: {why}"))?;
    let library = Library::open(Path::new("."))
        .map_err(|error| format!("the disks cannot be set up: {error}"))?;
    let table = CLibrary {
        interface: INTERFACE,
        disks: library.machine.disks.len() as c_uint,
        heartbeat: library.heartbeat.clock(),
        describe,
        submit,
        advance,
        transfer,
        mark,
        random,
        close,
    };
    // SAFETY: The kernel calls this once, before any other call.
    let global = unsafe { &mut *GLOBAL.0.get() };
    Ok(&raw const global.insert((library, table)).1)
}

extern "C" fn describe(disk: c_uint, description: &mut CDisk) {
    let Some(disk) = library().machine.disks.get(disk as usize) else {
        give_up(&format!("a description of disk {disk}"))
    };
    let rotational = disk.model.rotational();
    let (max_sectors, max_segments) = disk.model.largest_request();
    *description = CDisk {
        bytes: disk.bytes.0,
        logical_block: 512,
        physical_block: 4096,
        max_sectors,
        max_segments,
        queue_depth: disk.model.queue_depth(),
        tags: disk.model.tags(),
        discard_granularity: if rotational { 0 } else { 4096 },
        rotational: rotational.into(),
        write_cache: disk.model.write_cache().into(),
        // Linux does not use FUA on SATA disks by default (libata.fua=1): it writes and then
        // flushes.
        fua: 0,
        spare: 0,
    };
}

extern "C" fn submit(
    disk: c_uint,
    tag: c_uint,
    code: c_uint,
    fua: c_uint,
    sector: c_ulonglong,
    sectors: c_uint,
    now: c_ulonglong,
) -> c_ulonglong {
    let library = library();
    let arrival =
        Arrival { disk: disk as usize, tag, op: op(code), fua: fua != 0, sector, sectors };
    if let Err(what) = library.submit(Nanos(now), arrival) {
        give_up(&what);
    }
    next(library)
}

extern "C" fn advance(
    now: c_ulonglong,
    done: *mut EndedRequest,
    room: c_uint,
    count: &mut c_uint,
) -> c_ulonglong {
    let library = library();
    library.advance(Nanos(now));
    *count = 0;
    while *count < room {
        let Some(one) = library.ended() else { break };
        // SAFETY: The kernel's array has `room` elements.
        unsafe { done.add(*count as usize).write(one) };
        *count += 1;
    }
    next(library)
}

extern "C" fn transfer(
    disk: c_uint,
    code: c_uint,
    pieces: *const CPiece,
    count: c_uint,
    sector: c_ulonglong,
    sectors: c_uint,
) -> c_int {
    let (library, disk, count) = (library(), disk as usize, count as usize);
    let listed: &[CPiece] =
        // SAFETY: The kernel gives `count` pieces.
        if pieces.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(pieces, count) } };
    let bytes = if listed.is_empty() {
        u64::from(sectors) * 512
    } else {
        listed.iter().fold(0, |sum: u64, piece| sum.saturating_add(piece.bytes))
    };
    if !library.holds(disk, sector, bytes) {
        give_up(&format!("a transfer of {bytes} bytes at sector {sector} of disk {disk}"));
    }
    // By their documentation, IoSlice and IoSliceMut are struct iovec, and so is CPiece.
    match op(code) {
        Op::Read => {
            // SAFETY: The kernel gives `count` pieces, and each is a buffer of its own.
            let pieces = unsafe {
                std::slice::from_raw_parts_mut(pieces.cast_mut().cast::<IoSliceMut>(), count)
            };
            library.read(disk, sector, pieces)
        }
        Op::Write => {
            // SAFETY: The kernel gives `count` pieces, and each is a buffer of its own.
            let pieces = unsafe {
                std::slice::from_raw_parts_mut(pieces.cast_mut().cast::<IoSlice>(), count)
            };
            library.write(disk, sector, pieces)
        }
        Op::Discard | Op::WriteZeroes => library.zero(disk, sector, sectors),
        Op::Flush => 0,
    }
}

extern "C" fn mark(now: c_ulonglong, text: *const u8, length: c_uint) -> c_int {
    // SAFETY: The kernel gives `length` bytes.
    let text = unsafe { std::slice::from_raw_parts(text, length as usize) };
    if text.trim_ascii() == confinement::COMMAND.as_bytes() {
        return confine();
    }
    let understood = str::from_utf8(text).is_ok_and(|text| library().mark(Nanos(now), text.trim()));
    if understood { 0 } else { -rustix::io::Errno::INVAL.raw_os_error() }
}

/// Confines the guest. This makes no mark, so that traces do not depend on the host's abilities.
fn confine() -> c_int {
    match confinement::confine(&library().folders()) {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("disklab: the guest cannot be confined: {why}");
            -rustix::io::Errno::PERM.raw_os_error()
        }
    }
}

extern "C" fn random(buffer: *mut u8, bytes: c_ulong) {
    // SAFETY: The kernel's buffer has `bytes` bytes.
    library().random(unsafe { std::slice::from_raw_parts_mut(buffer, bytes as usize) });
}

extern "C" fn close(now: c_ulonglong) {
    if let Err(error) = library().close(Nanos(now)) {
        eprintln!("disklab: the closing record could not be written: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// gcc lays out the structures of disklab.h in this way on x86-64.
    #[test]
    fn structures_are_laid_out_as_in_c() {
        assert_eq!(
            (
                size_of::<CDisk>(),
                offset_of!(CDisk, discard_granularity),
                offset_of!(CDisk, rotational)
            ),
            (40, 32, 36)
        );
        assert_eq!((size_of::<EndedRequest>(), offset_of!(EndedRequest, error)), (12, 8));
        assert_eq!(size_of::<CPiece>(), size_of::<IoSlice>());
        assert_eq!(
            (size_of::<CLibrary>(), offset_of!(CLibrary, heartbeat), offset_of!(CLibrary, close)),
            (72, 8, 64)
        );
    }
}
