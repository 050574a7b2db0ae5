#![no_main]

// Requests that were measured on a drive, as `disklab validate` reads them.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    const SECTORS: u64 = 1 << 30;
    if let Ok(requests) = disklab_disksim::trace::read("drive.trace", data, SECTORS) {
        for request in &requests {
            assert!(request.sector + u64::from(request.sectors) <= SECTORS);
        }
    }
});
