#![no_main]

use disklab_disksim::{Drive, MeasuredRequest, replay};
use disklab_units::Nanos;

// The input is a drive's files, separated by lines of `%%`. The first file may include the others
// by any name. A drive that was read can serve requests.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split("\n%%\n").map(|part| part.as_bytes().to_vec());
    let mut files = |_: &str| parts.next().ok_or_else(|| "is not there".to_owned());
    let Ok(drive) = Drive::read("drive.parv", &mut files) else { return };
    let last = drive.summary.sectors.saturating_sub(8);
    let request = |(index, sector): (usize, u64)| MeasuredRequest {
        write: index % 3 == 2,
        sector,
        sectors: drive.summary.sectors.min(8) as u32,
        response: Nanos::ZERO,
        gap: Nanos::from_millis(5),
    };
    let requests: Vec<MeasuredRequest> =
        [0, last, last / 2, 0, 8.min(last)].into_iter().enumerate().map(request).collect();
    assert_eq!(replay::closed(&drive.model, &requests, Nanos::ZERO).len(), requests.len());
});
