#![no_main]

use disklab_block_devices::watch::layout::{EVENTS, EventLayout, Field, TraceLayout};
use disklab_block_devices::watch::merge::Merge;
use disklab_block_devices::watch::pages::Pages;
use disklab_block_devices::watch::pairs::{Pairs, WatchedRange, RequestStep};

/// Returns the layout of a kernel with small pages, which begin with the head of Linux 6.18.
fn layout() -> TraceLayout {
    let field = |offset, size| Field { offset, size };
    let event = |(id, (_, kind)): (u16, &(&str, _))| EventLayout {
        kind: *kind,
        id,
        dev: field(4, 4),
        sector: field(8, 8),
        sectors: field(16, 4),
        rwbs: field(20, 4),
    };
    let events = (1..).zip(&EVENTS).map(event).collect();
    TraceLayout { page: 256, timestamp: field(0, 8), commit: field(8, 8), data: 16, events }
}

// The input is the kernel's buffers of two processors.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let layout = layout();
    let (one, other) = data.split_at(data.len() / 2);
    let mut pairs = Pairs::new(vec![WatchedRange { dev: 0, begin: 0, sectors: u64::MAX }]);
    let (mut last, mut issued) = (0, 0);
    for event in Merge::new([one, other].map(|cpu| Pages::new(&layout, cpu)).into()) {
        let Ok(event) = event else { break };
        assert!(event.at >= last, "time goes backwards");
        last = event.at;
        match pairs.take(&event, ()) {
            Some(RequestStep::Arrived(_)) => issued += 1,
            Some(RequestStep::Ended(open)) => assert!(open.at <= event.at),
            None => {}
        }
    }
    assert!(pairs.open().count() <= issued);
});
