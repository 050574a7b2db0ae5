//! Common code of the fuzz targets. Each is a parser of bytes that somebody else wrote, and must
//! answer any bytes with a value or an error. `cargo xtask fuzz` builds and runs them.

use disklab_foreign::{FORMATS, File};
use disklab_results::integrity;

/// Reads `data` as a format of others' results, and checks whether the result can be true.
pub fn foreign(name: &str, data: &[u8]) {
    let format = FORMATS.iter().find(|format| format.name == name).expect("a format of that name");
    // Formats of several files read a second one beside the first: it is the same data here.
    let beside = |_: &str| Some(data.to_vec());
    // Some formats require certain names.
    let path = match name {
        "fio logs" => "folder/a_lat.1.log",
        "btrfs read policy benchmarks" => "folder/defrag_on_policy_pid_fio_randread_4k_qd1_fio.txt",
        _ => "folder/a.csv",
    };
    let file = File { path, bytes: data, beside: &beside };
    let _ = (format.claims)(&file);
    if let Ok(rows) = (format.read)(&file) {
        for row in rows {
            for remark in integrity::check(&row.claim) {
                assert!(!remark.to_string().is_empty());
            }
        }
    }
}
