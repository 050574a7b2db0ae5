//! `disklab array new --from-machine`: drafts an array file from the disks of this machine, and
//! writes to no disk.

mod draft;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use clap::Subcommand;
use disklab_config::Lab;
use disklab_config::array::Array;
use disklab_config::machine::groups::{self, DiskGroup};
use disklab_config::machine::lsblk;
use disklab_config::read::TomlReader;

use self::draft::Draft;
use crate::exit::{Exit, Failure, cannot};
use crate::home::Home;
use crate::screen::Screen;
use crate::whole_file;

/// Draft an array from the disks of this machine.
///
/// An array is a file of the lab that names its devices, and the RAID profile and filesystem on
/// them. Suites name their arrays, as does `run --set array=NAME`. `array new` writes a draft,
/// which you can edit; docs/FORMAT.md lists the keys.
#[derive(Debug, clap::Args)]
pub struct ArrayArgs {
    #[command(subcommand)]
    verb: ArrayVerb,
}

#[derive(Debug, Subcommand)]
enum ArrayVerb {
    New(NewArgs),
}

/// Draft an array file from the disks of this machine.
///
/// disklab asks lsblk for the disks, and btrfs, mdadm and zpool for their arrays, if these programs
/// are installed. Run it as root to see all of them. It drafts the array with the most disks, and
/// names the others. Each disk becomes the device of the lab that is nearest in kind and size,
/// until `disklab calibrate` has measured the disk. Nothing is written to any disk.
#[derive(Debug, clap::Args)]
struct NewArgs {
    /// Take the disks of this machine.
    #[arg(long, required = true)]
    from_machine: bool,

    /// A new file to write, in place of standard output.
    ///
    /// In lab/arrays, its name is the name of the array.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn array(args: &ArrayArgs, screen: &Screen) -> Result<Exit, Failure> {
    let ArrayVerb::New(args) = &args.verb;
    let output = whole_file::new_file(args.output.as_ref())?;
    let lab = Home::open()?.lab;
    let draft = look(&lab)?;
    let file = draft.file();
    check(&lab, &file)?;
    if screen.json {
        screen.json(&draft.json())?;
    }
    match output {
        Some(output) => whole_file::write_text(output, &file)?,
        None if screen.json => {}
        None => screen.print(|out| Ok(out.write_all(file.as_bytes())?))?,
    }
    Ok(Exit::Ok)
}

/// Drafts an array from the answers of this machine's tools.
fn look(lab: &Lab) -> Result<Draft, Failure> {
    let columns = "PATH,TYPE,SIZE,ROTA,MODEL";
    let listed = ask("lsblk", &["--json", "--bytes", "--output", columns]);
    let listed =
        listed.map_err(|why| cannot!("cannot list disks: lsblk {why}; install util-linux"))?;
    let mut disks = lsblk::read(&listed)
        .map_err(|error| cannot!("cannot parse the output of `lsblk --json`: {error}"))?;
    let mut unasked = Vec::new();
    let mut groups: Vec<DiskGroup> = Vec::new();
    let mut add = |tool: &str, arguments: &[&str], parse: fn(&str) -> Vec<DiskGroup>| match ask(
        tool, arguments,
    ) {
        Ok(said) => groups.extend(parse(&said)),
        Err(why) => unasked.push(format!("{tool} {why}")),
    };
    add("btrfs", &["filesystem", "show"], groups::btrfs);
    add("mdadm", &["--detail", "--scan", "--verbose"], groups::md);
    add("zpool", &["status", "-P"], groups::zfs);
    // Names below /dev/disk and /dev/mapper are links.
    let real = |path: &str| {
        fs::canonicalize(path)
            .map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
    };
    let lists = groups.iter_mut().map(|group| &mut group.paths);
    for paths in lists.chain(disks.iter_mut().map(|disk| &mut disk.paths)) {
        for path in paths {
            *path = real(path);
        }
    }
    Draft::new(&lab.devices, &disks, &groups, unasked).map_err(Failure::cannot)
}

/// Returns the standard output of a program, or the reason why there is none.
fn ask(tool: &str, arguments: &[&str]) -> Result<String, String> {
    // The locale makes the output English, and /dev/null gives the program no input.
    let output = Command::new(tool)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(std::process::Stdio::null())
        .output();
    let output = output.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "is not installed".to_owned(),
        _ => format!("cannot be run: {error}"),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("it printed nothing").trim().to_owned();
        return Err(format!("failed ({}): {said}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks that the lab takes the file.
fn check(lab: &Lab, file: &str) -> Result<(), Failure> {
    let devices =
        lab.devices.iter().map(|(name, device)| (name.clone(), Some(device.clone()))).collect();
    TomlReader::new("draft", file).read(|table| Array::read("draft", table, &devices))?;
    Ok(())
}
