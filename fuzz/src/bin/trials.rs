#![no_main]

//! A record's `trials.jsonl`.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(lines) = disklab_record::outcome::parse(data) {
        for outcome in lines.outcomes {
            let line = outcome.to_line().expect("what was read can be written");
            assert_eq!(
                disklab_record::outcome::parse(line.as_bytes()).expect("its own line").outcomes,
                [outcome]
            );
        }
    }
});
