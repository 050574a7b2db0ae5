#![no_main]

//! Fuzzes the closing record of the disk library.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = disklab_protocol::closing::parse(data);
});
