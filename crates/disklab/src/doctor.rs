//! `disklab doctor`: checks this machine, and says how to get missing parts.

mod self_test;

use std::fmt::Display;
use std::io::Write;

use disklab_kernels::doctor::{Check, CheckState, examine};
use disklab_kernels::{Cache, Share};
use disklab_runner::Installation;
use itertools::Itertools;

use crate::exit::{Exit, Failure};
use crate::screen::{Paint, Screen};
use crate::table::TextTable;

/// Check this machine, and say how to get what is missing.
///
/// If a guest kernel is built and all else is complete, doctor also starts a guest for about a
/// second.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {}

pub fn doctor(_: &DoctorArgs, screen: &Screen) -> Result<Exit, Failure> {
    let (cache, share) = (Cache::open(), Share::find());
    let mut checks = examine(cache.as_ref(), share.as_ref());
    let installation = Installation::find();
    checks.push(match &installation {
        Ok(found) => good("disk library", found.library.display().to_string()),
        Err(error) => missing("disk library", error, "cargo build --release"),
    });
    let complete = checks.iter().all(|check| check.state.will_do());
    if let (true, Ok(cache), Ok(installation)) = (complete, cache, installation) {
        checks.push(match self_test::boot(cache, installation) {
            Ok(detail) => good("a guest", detail),
            Err(reason) => {
                missing("a guest", reason, "disklab run smoke    # its record tells more")
            }
        });
    }
    screen.present(&serde_json::json!({ "checks": checks }), |out| print(&checks, screen, out))?;
    let complete = checks.iter().all(|check| check.state.will_do());
    Ok(if complete { Exit::Ok } else { Exit::Cannot })
}

fn good(name: &str, detail: String) -> Check {
    Check { name: name.to_owned(), state: CheckState::Good, detail, remedy: None }
}

fn missing(name: &str, why: impl Display, remedy: &str) -> Check {
    let remedy = Some(remedy.to_owned());
    Check { name: name.to_owned(), state: CheckState::Missing, detail: why.to_string(), remedy }
}

fn print(checks: &[Check], screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = TextTable::with_heads("check|state|found", screen.color);
    for Check { name, state, detail, .. } in checks {
        let state = match state {
            CheckState::Good => "ok",
            CheckState::Missing => "missing",
            CheckState::Bad => "wrong",
            CheckState::Unneeded => "not needed",
        };
        table.row([name.as_str(), state, detail]);
    }
    table.print(screen, "", out)?;
    writeln!(out)?;
    // A remedy that several checks share is printed once.
    let remedies = checks.iter().filter_map(|check| check.remedy.as_deref());
    let remedies: Vec<&str> = remedies.unique().collect();
    if remedies.is_empty() {
        writeln!(out, "{}", screen.paint("This machine has all that disklab needs.", Paint::Good))?;
    } else {
        writeln!(out, "{}", screen.paint("To do:", Paint::Bad))?;
        remedies.iter().try_for_each(|remedy| writeln!(out, "  {remedy}"))?;
    }
    Ok(())
}
