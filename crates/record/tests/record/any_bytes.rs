//! Tests that no bytes make a parser panic.

use disklab_record::{Chain, Manifest, Status, outcome};
use proptest::prelude::*;

use crate::manifest;

fn lines() -> Vec<u8> {
    let outcomes = ["a", "b", "c"].map(|trial| crate::outcome(trial, Status::Failed));
    outcomes
        .iter()
        .map(|outcome| outcome.to_line(&mut Chain::default()).expect("plain data"))
        .collect::<String>()
        .into_bytes()
}

fn text_of_manifest() -> Vec<u8> {
    manifest(&["a", "b"]).to_toml().expect("text").into_bytes()
}

fn damaged(original: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let byte =
        prop_oneof![Just(b'\n'), Just(b'{'), Just(b'"'), Just(b'['), Just(b'9'), any::<u8>()];
    (prop::collection::vec((0..original.len(), byte), 1..6), 0..original.len()).prop_map(
        move |(changes, cut)| {
            let mut bytes = original.clone();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            if cut % 2 == 0 {
                bytes.truncate(cut);
            }
            bytes
        },
    )
}

/// Reads lines, and checks that the outcomes are exactly those of the whole lines.
fn read_lines(bytes: &[u8]) {
    match outcome::parse(bytes, Chain::default(), None) {
        Ok(lines) => {
            assert_eq!(lines.whole + lines.torn, bytes.len());
            let newlines = bytes.iter().filter(|byte| **byte == b'\n');
            assert_eq!(
                lines.outcomes.len(),
                newlines.fold(0, |count, _| count + 1),
                "no line is passed over"
            );
        }
        Err(bad) => assert!(bad.line >= 1 && !bad.message.is_empty()),
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_lines(&bytes);
        let _ = Manifest::parse(&bytes);
    }

    #[test]
    fn damaged_lines(bytes in damaged(lines())) {
        read_lines(&bytes);
    }

    #[test]
    fn a_damaged_manifest(bytes in damaged(text_of_manifest())) {
        if let Ok(manifest) = Manifest::parse(&bytes) {
            let text = manifest.to_toml().expect("text");
            prop_assert_eq!(Manifest::parse(text.as_bytes()), Ok(manifest));
        }
    }
}
