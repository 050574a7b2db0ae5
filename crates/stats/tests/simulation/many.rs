//! Checks the guarantees of corrections for many cells.

use disklab_stats::{Correction, LocationTest, one_sample_t};

use crate::source::{Rate, TrialSource};

/// Tests forty cells, ten of them with an effect. By Benjamini and Hochberg, the share of false
/// ones among the findings is at most 5 % on average. Because 30 of the 40 cells have no effect,
/// the limit is 30 / 40 of that. By Holm, any false one is found in at most 5 % of families.
#[test]
fn false_findings() {
    const FAMILIES: usize = 1_000;
    let mut source = TrialSource::new("many");
    let (mut share, mut found, mut any) = (0.0, 0, Rate::default());
    for _ in 0..FAMILIES {
        let p_values: Vec<f64> = (0..40)
            .map(|cell| {
                let effect = if cell < 10 { 1.5 } else { 0.0 };
                let values: Vec<f64> = (0..8).map(|_| effect + source.normal()).collect();
                one_sample_t(&values).unwrap().tails(0.0).two_sided()
            })
            .collect();
        let findings = |correction: Correction| -> Vec<usize> {
            let adjusted = correction.adjust(p_values.iter().copied()).unwrap();
            (0..40).filter(|&cell| adjusted[cell] <= 0.05).collect()
        };
        let by_share = findings(Correction::BenjaminiHochberg);
        let false_ones = by_share.iter().filter(|&&cell| cell >= 10).count();
        share += false_ones as f64 / by_share.len().max(1) as f64;
        found += by_share.len() - false_ones;
        any.count(findings(Correction::Holm).iter().any(|&cell| cell >= 10));
    }
    let share = 100.0 * share / FAMILIES as f64;
    let power = 100.0 * found as f64 / (10 * FAMILIES) as f64;
    println!(
        "\nBenjamini-Hochberg: {share:.2} % of findings false, {power:.0} % of effects found; \
         Holm: any false in {:.2} %",
        any.percent()
    );
    assert!(share < 5.0 && power > 60.0);
    any.assert_at_most(5.0, "Holm");
}
