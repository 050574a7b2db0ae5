#![no_main]

//! Fuzzes a record's `trials.jsonl`.

use disklab_record::Chain;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(lines) = disklab_record::outcome::parse(data, Chain::default(), None) {
        for outcome in lines.outcomes {
            let line = outcome.to_line(&mut Chain::default()).expect("it was read");
            let again = disklab_record::outcome::parse(line.as_bytes(), Chain::default(), None);
            assert_eq!(again.expect("its own line").outcomes, [outcome]);
        }
    }
});
