//! Generates arbitrary texts and values for properties.

use disklab_read_policies::{
    BLOCK_BITS, Choice, Kind, Mirror, Parameter, Policy, Request, policies,
};
use proptest::prelude::*;
use proptest::strategy::Union;

use crate::BITS;

/// Small numbers collide, which large ones never do.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..4_u64, 0..1_u64 << 32, any::<u64>(), Just(u64::MAX)]
}

fn queue() -> impl Strategy<Value = u32> {
    prop_oneof![0..4_u32, any::<u32>(), Just(u32::MAX)]
}

pub fn mirror() -> impl Strategy<Value = Mirror> {
    let places = (number(), number(), number(), number(), number(), number());
    let times = (number(), number(), number(), number(), number());
    let others = (queue(), queue(), -100..=10_000, any::<bool>(), any::<bool>());
    (places, times, others).prop_map(|(places, times, others)| {
        let (physical, next_read, run_start, sent, head, optimal_io) = places;
        let (devid, ios, wait, recent_ios, recent_wait) = times;
        let (reads_in_flight, writes_in_flight, age, rotational, live) = others;
        Mirror {
            devid,
            physical,
            next_read,
            run_start,
            sent,
            head,
            optimal_io,
            ios,
            wait,
            recent_ios,
            recent_wait,
            reads_in_flight,
            writes_in_flight,
            age,
            rotational,
            live,
        }
    })
}

pub fn request() -> impl Strategy<Value = Request> {
    let mirrors = prop::collection::vec(mirror(), 1..=4);
    (mirrors, BLOCK_BITS, number(), number(), any::<u32>(), any::<u32>()).prop_map(
        |(mirrors, bits, logical, length, blocks, pid)| {
            Request::new(&mirrors, bits).unwrap().place(logical, length).after(blocks).by(pid)
        },
    )
}

/// Generates a value of a parameter in any of its spellings.
fn value(parameter: &Parameter) -> BoxedStrategy<String> {
    match &parameter.kind {
        Kind::Number { range, .. } => range.clone().prop_map(|value| value.to_string()).boxed(),
        Kind::Bytes { range, .. } => {
            let kib = (1..=range.end() >> 10).prop_map(|kib| format!("{kib}k"));
            let mib = (1..=range.end() >> 20).prop_map(|mib| format!("{mib}M"));
            let blocks = (1..=range.end() >> 12).prop_map(|blocks| (blocks << 12).to_string());
            prop_oneof![kib, mib, blocks, Just("1G".to_owned())].boxed()
        }
        Kind::Device => (1..=4_u32).prop_map(|device| device.to_string()).boxed(),
        Kind::Word { words, .. } => {
            prop::sample::select(words.clone()).prop_map(str::to_owned).boxed()
        }
    }
}

/// Generates a valid text for a policy: some of its parameters, in any order, each with its key or
/// the first without.
fn text_of(policy: &'static Policy) -> BoxedStrategy<String> {
    if policy.parameters.is_empty() {
        return Just(policy.name.to_owned()).boxed();
    }
    let values: Vec<_> = policy.parameters.iter().map(value).collect();
    let some = prop::sample::subsequence((0..values.len()).collect::<Vec<_>>(), 0..=values.len())
        .prop_shuffle();
    (some, values, any::<bool>())
        .prop_map(|(some, values, keyless)| {
            let mut text = policy.name.to_owned();
            for (place, index) in some.into_iter().enumerate() {
                text.push(if place == 0 { ':' } else { ',' });
                if !(keyless && place == 0 && index == 0) {
                    text.push_str(policy.parameters[index].key);
                    text.push('=');
                }
                text += &values[index];
            }
            text
        })
        .boxed()
}

pub fn text() -> impl Strategy<Value = String> {
    Union::new(policies().iter().map(text_of))
}

pub fn choice() -> impl Strategy<Value = Choice> {
    text().prop_map(|text| {
        Choice::parse(&text, BITS).unwrap_or_else(|| panic!("`{text}` is refused"))
    })
}

proptest! {
    #[test]
    fn a_live_mirror_is_answered_if_there_is_one(request in request(), choice in choice()) {
        let answer = choice.decide(&request);
        prop_assert!(answer < request.mirrors().len(), "{choice}: {answer}");
        let any_live = request.mirrors().iter().any(|mirror| mirror.live);
        prop_assert!(request.mirrors()[answer].live || !any_live, "{choice}: {answer}");
    }
}

#[test]
fn what_no_filesystem_has_is_refused() {
    let five = [Mirror::default(); 5];
    assert!(Request::new(&[], BITS).is_none());
    assert!(Request::new(&five, BITS).is_none());
    assert!(Request::new(&five[..4], BITS).is_some());
    assert!(Request::new(&five[..4], 64).is_none());
    assert!(Choice::parse("pid", 64).is_none());
}
