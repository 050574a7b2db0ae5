#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = disklab_record::Manifest::parse(data);
});
