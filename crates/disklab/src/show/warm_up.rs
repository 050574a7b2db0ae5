//! Describes the warm-up of a load: whether it became steady before it was measured.

use disklab_protocol::step::Step;
use disklab_units::Nanos;
use disklab_units::prose::digits;
use itertools::Itertools;

/// Returns the sentence, or `None` if there was no warm-up.
pub fn sentence(steps: &[Step]) -> Option<String> {
    steps.iter().find_map(|step| {
        let Step::Warmed { steady, took_ns, every_ns, rates, .. } = step else { return None };
        let how = if *steady { "until it was steady" } else { "and was not steady then" };
        let (took, every) = (Nanos(*took_ns), Nanos(*every_ns));
        Some(format!(
            "it ran for {took}, {how}; requests a second, each over {every}: {}",
            rates.iter().copied().map(digits).join(", ")
        ))
    })
}
