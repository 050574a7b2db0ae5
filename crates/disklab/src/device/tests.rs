use std::collections::VecDeque;

use disklab_units::{Nanos, Rate};

use super::*;
use crate::device::quantity::{rate, time};

#[test]
fn numbers_are_asked_for_until_they_are_right_or_nothing() {
    let mut answers: VecDeque<Option<&str>> =
        [Some("ten"), Some("10TB"), Some("7200"), Some("210MB/s"), None, Some("256MiB")].into();
    let mut questions = Vec::new();
    let mut numbers = Numbers::default();
    let mut ask = |question: &str| {
        questions.push(question.to_owned());
        Ok(answers.pop_front().flatten().map(str::to_owned))
    };
    numbers.ask(&mut ask).expect("answers");
    assert_eq!(numbers.size, Some(Bytes(10_000_000_000_000)));
    assert_eq!((numbers.rpm, numbers.seek), (Some(7200), None));
    assert_eq!(numbers.cache, Some(Bytes::mib(256)));
    assert!(questions[1].contains("ten"), "the mistake is told: {questions:?}");
    assert_eq!(questions.len(), 6, "an SSD's numbers are not asked for: {questions:?}");
}

#[test]
fn names_are_those_of_files_in_the_lab() {
    assert!(name("ironwolf-10tb").is_ok());
    for wrong in ["", "Iron", "../x", ".x", "a b"] {
        assert!(name(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn numbers_are_written_in_units_that_are_exact() {
    assert_eq!(size(Bytes(10_000_000_000_000)), "10 TB");
    assert_eq!((size(Bytes::mib(256)), size(Bytes(1))), ("256 MiB".to_owned(), "1 B".to_owned()));
    assert_eq!((time(Nanos(8_500_000)), time(Nanos(0))), ("8500 us".to_owned(), "0 ns".to_owned()));
    assert_eq!(rate(Rate(210_000_000)), "210 MB/s");
}
