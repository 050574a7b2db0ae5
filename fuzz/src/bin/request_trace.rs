#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(entries) = disklab_guest::trace::entries(data) {
        entries.take(100_000).for_each(drop);
    }
});
