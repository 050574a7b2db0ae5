#![no_main]

//! Fuzzes the steps of a guest's first process, with btrfs's counts.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let steps = disklab_protocol::step::Step::read_all(data);
    let _ = disklab_results::read_stats::add(&steps, &mut disklab_results::Sample::default());
});
