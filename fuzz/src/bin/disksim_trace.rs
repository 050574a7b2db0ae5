#![no_main]

// The input is a trace of requests measured on a drive, which `disklab validate` reads.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    const SECTORS: u64 = 1 << 30;
    if let Ok(requests) = disklab_disksim::trace::read("drive.trace", data, SECTORS) {
        for request in &requests {
            assert!(request.sector + u64::from(request.sectors) <= SECTORS);
        }
    }
});
