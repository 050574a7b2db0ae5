//! A fake guest kernel that writes a guest's output at once.
//!
//! It is this program, started by a script in place of a kernel, so that disklab starts, watches
//! and ends it as a kernel. Its output follows from the trial's description and from the disks.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use disklab_protocol::digest::sha256_hex;
use disklab_protocol::machine::GuestMachine;
use disklab_protocol::names;
use disklab_testkit::{CLOSING, requests};

/// Argument with which this program acts as a kernel.
pub const GUEST: &str = "guest";
/// fio's report of random reads.
const FIO: &str = include_str!("../../../results/tests/data/randread.json");
const DISKS: &str = "disks";
/// Offset and number of the bytes that it writes on each disk that it prepares.
const WRITTEN: (u64, usize) = (1 << 20, 64 << 10);
/// Does a guest's work in the current folder.
pub fn run() -> std::io::Result<()> {
    println!("disklab: hello");
    let description = fs::read_to_string(names::MACHINE)?;
    let described: GuestMachine = serde_json::from_str(&description)?;
    let mut beat = [0; 4096];
    beat[..8].copy_from_slice(&9_000_u64.to_le_bytes());
    fs::write(names::HEARTBEAT, beat)?;
    let is_trial = Path::new(DISKS).is_symlink();
    let mut found = Vec::new();
    for (number, disk) in described.disks.iter().enumerate() {
        if is_trial {
            let mut bytes = vec![0; WRITTEN.1];
            File::open(&disk.image)?.read_exact_at(&mut bytes, WRITTEN.0)?;
            found.extend(bytes);
        } else {
            let file = File::create(&disk.image)?;
            file.set_len(disk.bytes.0)?;
            file.write_all_at(&vec![number as u8 + 1; WRITTEN.1], WRITTEN.0)?;
        }
    }
    // Long enough to be observed once or twice.
    std::thread::sleep(Duration::from_millis(3));
    let now =
        9_000 + u64::from_str_radix(&sha256_hex(description.as_bytes())[..4], 16).unwrap_or(0);
    let mut trace_sha256 = "null".to_owned();
    if is_trial {
        let trace = requests(64);
        trace_sha256 = format!("\"{}\"", sha256_hex(&trace));
        fs::write(names::REQUESTS, &trace)?;
        fs::write(names::FIO, FIO)?;
    }
    let now = now + u64::from(found.contains(&0));
    let closing = CLOSING
        .replace(r#""virtual_ns":9"#, &format!(r#""virtual_ns":{now}"#))
        .replace(r#""trace_sha256":null"#, &format!(r#""trace_sha256":{trace_sha256}"#));
    fs::write(names::STEPS, "{\"step\":\"finished\"}\n")?;
    fs::write(names::CLOSING, format!("{closing}\nsha256 {}\n", sha256_hex(closing.as_bytes())))
}
