#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = disklab_config::Suite::of_text("a", "a.toml", text, &[]);
    }
});
