//! Pictures of one trial over time: lines for each disk, and the addresses of its requests.

mod frame;
mod lines;
mod measure;
mod scale;
mod strips;

pub use frame::{DRAWN, LEFT};
pub use lines::over_seconds;
pub use measure::{DiskMeasure, SEEKS, THROUGHPUT};
pub use scale::Scale;

use crate::chart::Chart;
use crate::watched::WatchedTrial;
use measure::MEASURES;

/// Draws the pictures. The kind of each begins with `side`.
pub fn pictures(trial: &WatchedTrial, side: &str, scale: &Scale) -> Vec<Chart> {
    let mut charts: Vec<Chart> = MEASURES
        .iter()
        .zip(&scale.tops)
        .map(|(measure, top)| lines::lines(measure, *top, trial, side, scale))
        .collect();
    charts.push(strips::addresses(trial, side, scale));
    charts
}

#[cfg(test)]
mod tests {
    use disklab_disks::Op;
    use disklab_trace::timeline::Shape;
    use disklab_trace::{Served, Survey, Timeline, TraceEntry, TracePhase};

    use super::*;
    use crate::addresses::Beyond;
    use crate::watched::Detail;

    fn watched() -> WatchedTrial {
        let read = |at: u64| {
            let (submitted, ended) = (at * 10_000_000, at * 10_000_000 + 5_000_000);
            let served = Served {
                disk: 0,
                op: Op::Read,
                fua: false,
                sector: at * 100,
                sectors: 2048,
                submitted,
                started: submitted,
                ended,
            };
            Ok(TraceEntry::Served(served))
        };
        let entries = || (0..100).map(read);
        let survey = Survey::read(entries());
        let entries_of = 0..u64::MAX;
        let phase = TracePhase {
            name: "measure".to_owned(),
            begin: 0,
            end: 1_000_000_000,
            ramp: 1,
            entries: entries_of,
            cut: false,
        };
        let line =
            Timeline::read(entries(), &survey, &phase, Shape { bins: 24, columns: 8, rows: 4 })
                .unwrap();
        WatchedTrial {
            label: "a trial".to_owned(),
            names: vec!["<b>vda".to_owned()],
            line,
            frames: vec![(1 << 20, 5 << 20)],
            beyond: vec![[
                Beyond {
                    writes: 2,
                    from: 1 << 29,
                    to: 1 << 29,
                    columns: vec![3],
                    ..Beyond::default()
                },
                Beyond::default(),
            ]],
            detail: Detail::Fine,
            cut: false,
            seconds: 1.0,
            phases: Vec::new(),
        }
    }

    #[test]
    fn pictures_have_their_numbers_in_tables_and_names_as_text() {
        let trial = watched();
        let charts = pictures(&trial, "a", &Scale::of_each(std::slice::from_ref(&trial))[0]);
        let kinds: Vec<_> = charts.iter().map(|chart| chart.kind.as_str()).collect();
        assert_eq!(kinds, ["a-throughput", "a-seeks", "a-depth", "a-utilisation", "a-addresses"]);
        // 100 reads of 1 MiB take a second, with the disk busy for half of it, and none continues
        // the previous one.
        for (chart, whole) in charts.iter().zip(["100", "99.0", "0.50", "50.0"]) {
            assert!(chart.says.ends_with(&format!("<b>vda {whole}")), "{}", chart.says);
            assert_eq!((chart.table.rows.len(), chart.table.head.len()), (12, 2));
        }
        let drawn: String =
            charts.iter().map(|chart| chart.figure(&chart.kind).into_string()).collect();
        assert!(drawn.contains("&lt;b&gt;vda") && !drawn.contains("<b>vda"));
        assert!(drawn.contains("data:image/png;base64,iVBORw0KGgo"));
        assert!(drawn.contains(">2.5</text>") && drawn.contains(">0.5</text>"), "{drawn}");
        // Requests beyond the frame are marked and named.
        assert!(drawn.contains("▲ 2</text>"), "{drawn}");
        assert!(charts[4].note.contains("<b>vda 2 writes at 256 GiB"), "{}", charts[4].note);
        assert_eq!(drawn.matches("class=\"fine\"").count(), 1);
    }

    #[test]
    fn what_a_cut_trace_does_not_tell_is_said_in_its_place() {
        let whole = watched();
        let cut = WatchedTrial { cut: true, seconds: 4.0, ..watched() };
        let scale =
            Scale { seconds: 4.0, ..Scale::of_each(std::slice::from_ref(&whole))[0].clone() };
        for (trial, is_cut) in [(&whole, false), (&cut, true)] {
            for chart in pictures(trial, "a", &scale) {
                let drawn = chart.figure("a").into_string();
                assert_eq!(drawn.contains(">not in the trace</text>"), is_cut, "{drawn}");
                assert_eq!(
                    chart.about.ends_with("cut off: its trace ends after 1.00 s"),
                    is_cut,
                    "{}",
                    chart.about
                );
            }
        }
    }

    #[test]
    fn phases_are_told_and_named_where_they_have_room() {
        let phases = [("create", 0.0, 0.6), ("read", 0.6, 0.95), ("mount", 0.95, 1.0)];
        let phases = phases.map(|(name, from, to)| (name.to_owned(), from, to)).to_vec();
        let trial = WatchedTrial { phases, ..watched() };
        for chart in pictures(&trial, "a", &Scale::of_each(std::slice::from_ref(&trial))[0]) {
            assert!(
                chart.about.starts_with("a trial: create 0 to 0.60 s, read 0.60 to"),
                "{}",
                chart.about
            );
            let drawn = chart.figure("a").into_string();
            let named = [">create</text>", ">read</text>", ">mount</text>"]
                .map(|name| drawn.contains(name));
            assert_eq!(named, [true, true, false], "{}", chart.kind);
        }
    }

    /// A cell of hard disks and SSDs has such trials.
    #[test]
    fn a_short_trial_is_not_on_the_axis_of_long_ones() {
        let all = [20.0, 0.3, 19.0, 0.31].map(|seconds| WatchedTrial { seconds, ..watched() });
        let scales = Scale::of_each(&all);
        let of =
            |number: usize| scales.iter().map(|scale| scale.number == number).collect::<Vec<_>>();
        assert_eq!(
            scales.iter().map(|scale| scale.seconds).collect::<Vec<_>>(),
            [20.0, 0.31, 20.0, 0.31]
        );
        assert_eq!(
            (of(0), of(1)),
            (vec![false, true, false, true], vec![true, false, true, false])
        );
        for chart in pictures(&all[1], "a", &scales[1]) {
            assert_eq!(chart.about, "a trial; its axis is 0.31 s long");
        }
        let alike = [20.0, 19.0].map(|seconds| WatchedTrial { seconds, ..watched() });
        let scales = Scale::of_each(&alike);
        assert_eq!(scales[0], scales[1]);
        assert_eq!(pictures(&alike[1], "a", &scales[1])[0].about, "a trial");
    }
}
