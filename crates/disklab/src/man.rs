//! `disklab man`: the manual, made of the same words as `--help`.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::exit::{Exit, Failure};
use crate::screen::Screen;

/// Print the manual page, or write the pages of all verbs into a folder.
///
/// To read it: disklab man | man -l -
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to write disklab.1, disklab-run.1 and the others.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub fn man(args: &Args, screen: &Screen) -> Result<Exit, Failure> {
    let Some(folder) = &args.folder else {
        let mut out = screen.out();
        Man::new(Cli::command()).render(&mut out)?;
        out.flush()?;
        return Ok(Exit::Ok);
    };
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map_err(|error| {
            Failure::cannot(format!("cannot write to {}: {error}", folder.display()))
        })?;
    Ok(Exit::Ok)
}
