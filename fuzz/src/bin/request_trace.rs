#![no_main]

use disklab_trace::timeline::Shape;
use disklab_trace::{TraceEntry, Error, TracePhase, TraceReader, Survey, Timeline, WithDepth, delay};

/// Largest number of entries that are read; inputs with more only take longer.
const ENTRIES: usize = 10_000;

fn entries(data: &[u8]) -> impl Iterator<Item = Result<TraceEntry, Error>> {
    TraceReader::new(data).into_iter().flatten().take(ENTRIES)
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(delay) = delay(entries(data)) {
        let read = WithDepth::new(entries(data), &delay).map(Result::unwrap);
        assert!(read.map(|(entry, _)| entry).eq(entries(data).map(Result::unwrap)));
    }
    let survey = Survey::read(entries(data));
    let whole = TracePhase {
        name: String::new(),
        begin: 0,
        end: u64::MAX,
        ramp: 1,
        entries: 0..u64::MAX,
        cut: false,
    };
    for phase in survey.phases.iter().chain([&whole]) {
        let shape = Shape { bins: 7, columns: 3, rows: 5 };
        Timeline::read(entries(data), &survey, phase, shape).expect("as far as the survey goes");
    }
});
