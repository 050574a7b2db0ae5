#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    disklab_fuzz::foreign("btrfs read policy benchmarks", data);
});
