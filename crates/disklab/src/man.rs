//! `disklab man`: the manual, made from the texts of `--help`.

use std::fs;
use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;

use crate::exit::{Exit, Failure, cannot};
use crate::screen::Screen;

/// Print the manual page, or write the pages of all verbs.
///
/// To read the manual: disklab man | man -l -
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The folder for disklab.1, disklab-run.1 and the other pages.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub fn man(args: &ManArgs, command: Command, screen: &Screen) -> Result<Exit, Failure> {
    let Some(folder) = &args.folder else {
        screen.print(|out| Ok(Man::new(command).render(out)?))?;
        return Ok(Exit::Ok);
    };
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .map_err(|error| cannot!("cannot write to {}: {error}", folder.display()))?;
    Ok(Exit::Ok)
}
