//! DiskSim's own scores on the traces that come with it.

/// Scores of a drive, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct PublishedScores {
    /// Root mean square of the horizontal distance between the distributions of response times, in
    /// a closed replay.
    pub rms: f64,
    /// Standard deviation of the difference between measured and simulated response time of a
    /// request.
    pub deviation: f64,
}

/// Scores in microseconds by the drive's name in its files, for the seven drives whose files we
/// have. The RMS is that of the validation results that come with DiskSim 4.0 (`valid/`). The
/// deviation is computed from the simulated times of the same runs.
const PUBLISHED: [(&str, u32, u32); 7] = [
    ("QUANTUM_QM39100TD-SW", 378, 3054),
    ("SEAGATE_ST32171W", 348, 2440),
    ("SEAGATE_ST39102LW", 107, 1843),
    ("QUANTUM_TORNADO", 268, 1778),
    ("HP_C2247A", 90, 2305),
    ("HP_C3323A", 306, 4083),
    ("DEC_RZ26", 340, 3586),
];

/// Finds the scores of a drive by its name in the file. Names of files for validation end with a
/// mark.
pub fn find(name: &str) -> Option<PublishedScores> {
    let known = PUBLISHED.iter().find(|(known, ..)| *known == name.trim_end_matches("_validate"));
    let millis = |micros: u32| f64::from(micros) / 1000.0;
    known.map(|&(_, rms, deviation)| PublishedScores {
        rms: millis(rms),
        deviation: millis(deviation),
    })
}
