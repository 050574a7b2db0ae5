//! `disklab completions`: what a shell needs to complete our command line.

use clap::Command;
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::screen::Screen;

/// Print completions for a shell
///
/// For bash: disklab completions bash > ~/.local/share/bash-completion/completions/disklab
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    #[arg(value_enum)]
    shell: Shell,
}

pub fn completions(
    args: &CompletionsArgs,
    mut command: Command,
    screen: &Screen,
) -> Result<Exit, Failure> {
    // clap_complete panics where it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "disklab", &mut script);
    screen.print(|out| Ok(out.write_all(&script)?))?;
    Ok(Exit::Ok)
}
