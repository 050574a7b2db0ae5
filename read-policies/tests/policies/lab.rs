//! Writes `lab/policies/*.toml` from the C files.

use disklab_read_policies::{Kind, Parameter, Policy};

/// The beginning of the first line of a file written from a C file. Other files are written by
/// people.
pub const HEADER: &str = "# Written from read-policies/";

/// The kernel option that mainline's policies need, except `pid`.
const MAINLINE: &str = "BTRFS_EXPERIMENTAL";
/// The kernel option that all others need, which guest-kernel/ adds.
const OURS: &str = "BTRFS_READ_POLICIES";

/// Returns the name of a policy's file.
pub fn name(policy: &Policy) -> String {
    format!("{}.toml", policy.name)
}

/// Returns the text of a policy's file.
pub fn text(policy: &Policy) -> String {
    let header = format!(
        "{HEADER}{} by `cargo test -p disklab-read-policies`: do not edit.\n",
        policy.file()
    );
    let summary = format!("summary = {:?}\n", policy.summary);
    let needs = need(policy).map(|option| format!("needs = [{option:?}]\n")).unwrap_or_default();
    let parameters: Vec<_> = policy.parameters.iter().map(lines).collect();
    header + &summary + &needs + &parameters.concat()
}

fn need(policy: &Policy) -> Option<&'static str> {
    match policy.name {
        "pid" => None,
        _ if policy.mainline => Some(MAINLINE),
        _ => Some(OURS),
    }
}

/// Returns the table of a parameter, with an empty line before it.
fn lines(parameter: &Parameter) -> String {
    let range = |kind: &str, least: String, most: String, default: String| {
        format!("kind = {kind:?}\nleast = {least}\nmost = {most}\ndefault = {default}\n")
    };
    let kind = match &parameter.kind {
        Kind::Number { range: r, default } => {
            range("number", r.start().to_string(), r.end().to_string(), default.to_string())
        }
        Kind::Bytes { range: r, default } => {
            range("bytes", size(*r.start()), size(*r.end()), size(*default))
        }
        Kind::Device => "kind = \"device\"\n".to_owned(),
        Kind::Word { words, default } => {
            let default = words.get(*default).unwrap_or(&"");
            format!("kind = \"word\"\nwords = {words:?}\ndefault = {default:?}\n")
        }
    };
    format!("\n[[parameter]]\nkey = {:?}\n{kind}summary = {:?}\n", parameter.key, parameter.summary)
}

/// Formats a size in the largest unit of which it is a whole number.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units.iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    match whole {
        Some((shift, unit)) => format!("\"{} {unit}\"", bytes >> shift),
        None => format!("\"{bytes} B\""),
    }
}
