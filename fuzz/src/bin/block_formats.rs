#![no_main]

use disklab_block_devices::watch::layout::{EventLayout, EventKind, TraceLayout};
use disklab_block_devices::watch::stat::Stat;

// The input is the kernel's descriptions of its events and of its disks.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let said = String::from_utf8_lossy(data);
    if let Ok(layout) = TraceLayout::of_page(&said, 4096) {
        assert!(layout.data < layout.page);
    }
    let _ = TraceLayout::check_event_header(&said);
    let _ = EventLayout::parse(EventKind::Issue, &said);
    if let Some(stat) = Stat::parse(&said) {
        assert_eq!(stat.since(&stat).bytes(), 0);
    }
});
