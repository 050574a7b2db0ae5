#![no_main]

//! What the disk library says when a guest ends.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = disklab_protocol::closing::parse(data);
});
