//! The calendar against a plain sorted list.

use disklab_des::Calendar;
use disklab_units::Nanos;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Schedule(u64),
    Pop,
    PopDue(u64),
}

fn step() -> impl Strategy<Value = Step> {
    // Few different times, so that ties are common.
    prop_oneof![
        3 => (0..20_u64).prop_map(Step::Schedule),
        1 => Just(Step::Pop),
        2 => (0..20_u64).prop_map(Step::PopDue),
    ]
}

proptest! {
    #[test]
    fn agrees_with_a_sorted_list(steps in prop::collection::vec(step(), 0..300)) {
        let mut calendar = Calendar::new();
        let mut model: Vec<(Nanos, usize)> = Vec::new();
        let take = |model: &mut Vec<(Nanos, usize)>, limit: u64| {
            model.sort_unstable();
            if model.first().is_some_and(|first| first.0.0 <= limit) { Some(model.remove(0)) } else { None }
        };
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Schedule(at) => {
                    calendar.schedule(Nanos(at), number);
                    model.push((Nanos(at), number));
                }
                Step::Pop => prop_assert_eq!(calendar.pop(), take(&mut model, u64::MAX)),
                Step::PopDue(now) => prop_assert_eq!(calendar.pop_due(Nanos(now)), take(&mut model, now)),
            }
            prop_assert_eq!(calendar.len(), model.len());
            prop_assert_eq!(calendar.is_empty(), model.is_empty());
            prop_assert_eq!(calendar.next_at(), model.iter().min().map(|first| first.0));
        }
    }
}

#[test]
fn equal_times_come_out_as_they_went_in() {
    let mut calendar = Calendar::with_capacity(1_000);
    for i in 0..1_000 {
        calendar.schedule(Nanos(i % 3), i);
    }
    let order: Vec<u64> = std::iter::from_fn(|| calendar.pop()).map(|(_, event)| event).collect();
    let mut expected: Vec<u64> = (0..1_000).collect();
    expected.sort_by_key(|i| i % 3); // a stable sort
    assert_eq!(order, expected);
}

#[test]
fn the_end_of_time_is_a_time() {
    let mut calendar = Calendar::new();
    calendar.schedule(Nanos(u64::MAX), 'z');
    calendar.schedule(Nanos(0), 'a');
    assert_eq!(calendar.pop(), Some((Nanos(0), 'a')));
    assert_eq!(calendar.pop_due(Nanos(u64::MAX)), Some((Nanos(u64::MAX), 'z')));
    assert_eq!(calendar.pop(), None);
}
