//! Disks that are prepared once: a filesystem with its test file, made by the kernel that will be
//! measured. They are kept as sparse files in the cache, and copied for each trial.

use super::guest::A_DAY_BEFORE;
use super::image;
use super::run::Run;
use super::scratch::remove_folder;
use crate::describe::facts::MkfsTools;
use crate::describe::machine::{DISKS, preparing_machine};
use crate::describe::plan::preparing_plan;
use crate::describe::{stack, startup};
use crate::error::{Error, Result};
use crate::estimate::room;
use crate::interpret::end::End;
use crate::interpret::evidence::{self, Who};
use crate::interpret::fault;
use crate::room::check_room;
use disklab_config::Trial;
use disklab_kernels::{BuildStep, Claim, Kernel};
use disklab_protocol::action::Plan;
use disklab_protocol::machine::MachineDisk;
use disklab_protocol::names;
use disklab_record::outcome::Fault;
use disklab_units::{Bytes, Nanos};
use serde::Serialize;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Part of every key: disks that an older format prepared are not used.
const FORMAT: u32 = 2;

/// Programs that make disks and would read a configuration file of the host.
const CONFIGURED: [&str; 2] = ["mkfs.ext4", "mdadm"];

/// File beside prepared disks with their digests, which is written last.
const DIGESTS: &str = "disks.sha256";

/// Writing 50 GiB takes a virtual minute or two, at a microsecond per request.
const LIMIT: Nanos = Nanos::from_secs(7200);

/// Memory of all preparing guests: the contents must not depend on which trial came first.
const MEMORY: Bytes = Bytes::mib(512);

/// Everything that decides the contents of prepared disks.
#[derive(Serialize)]
struct Ingredients<'a> {
    format: u32,
    kernel: &'a str,
    #[serde(rename = "makers")]
    mkfs_tools: &'a [&'a str],
    disks: &'a [MachineDisk],
    plan: &'a Plan,
    /// Digest of the files of this machine that are put on the disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<String>,
    /// Configuration of the programs that make them, for programs that would read the host's. Older
    /// guests did not keep it out, so that it could show in the disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<&'static str>,
}

/// Prepared disks in the cache.
#[derive(Debug)]
pub struct Prepared {
    folder: PathBuf,
    /// Whether the disks were made now. Otherwise they existed already.
    pub fresh: bool,
    /// Digest of each disk's contents.
    pub digests: Vec<String>,
}

impl Prepared {
    /// Links or copies the disks to `target`, an empty folder.
    pub fn copy(&self, trial: &Trial, target: &Path) -> Result<()> {
        let mut needed = Bytes::mib(64);
        for i in 0..trial.devices.len() {
            needed += image::allocated(&self.disk(i))?;
        }
        check_room(&format!("a copy of the disks of {}", trial.array.name), target, needed)?;
        (0..trial.devices.len())
            .try_for_each(|i| image::copy(&self.disk(i), &target.join(format!("{i}.img"))))
    }

    fn disk(&self, index: usize) -> PathBuf {
        self.folder.join(format!("{index}.img"))
    }
}

/// Returns the key of the disks from which trials start, which is the same for all trials that
/// share them. Returns None for bare disks.
pub fn key(trial: &Trial, kernel: &Kernel, mkfs_tools: &MkfsTools) -> Result<Option<String>> {
    let Some(plan) = preparing_plan(trial) else { return Ok(None) };
    let machine = preparing_machine(trial);
    let all = Ingredients {
        format: FORMAT,
        kernel: &kernel.key,
        mkfs_tools: &mkfs_tools.of_one(trial),
        disks: &machine.disks,
        plan: &plan,
        contents: startup::contents(trial)?,
        configuration: stack::mkfs_tools(trial)
            .iter()
            .any(|tool| CONFIGURED.contains(&tool.as_str()))
            .then_some("none"),
    };
    let text = serde_json::to_vec(&all)
        .map_err(|e| Error::io("describe", Path::new("the disks"))(e.into()))?;
    Ok(Some(disklab_protocol::digest::sha256_hex(&text)[..16].to_owned()))
}

/// Finds the prepared disks of `key`, or makes them. If another disklab is making them, the
/// function reports that and waits.
pub fn get(
    run: &Run,
    trial: &Trial,
    kernel: &Kernel,
    key: &str,
    waiting: &mut dyn FnMut(BuildStep),
) -> Result<Prepared> {
    let (parent, stop) = (run.cache.disks(), run.stop);
    let claim = Claim::take(&parent, key, stop, waiting)?;
    let folder = parent.join(key);
    if let Ok(expected) = fs::read_to_string(folder.join(DIGESTS))
        && digests(&folder, trial.devices.len()).is_ok_and(|found| found == expected)
    {
        return Ok(Prepared { folder, fresh: false, digests: lines(&expected) });
    }
    // The disks are damaged or of an older format. A trial on them would give a wrong result.
    remove_folder(&folder)?;
    check_room(&format!("preparing the disks of {}", trial.array.name), &parent, room(trial))?;
    let scratch = claim.scratch()?;
    let path = scratch.path();
    if let Err((reason, fault)) = make(run, trial, kernel, path)? {
        let array = &trial.array.name;
        if fault == Fault::Machine && fault::is_full(path) {
            let what = format!("disks could not be prepared for {array}");
            return Err(Error::Full { what, reason, path: parent });
        }
        let kept = parent.join(format!("{key}.failed"));
        keep_evidence(path, &kept)?;
        return Err(Error::Prepare { array: array.clone(), reason, fault, kept });
    }
    for i in 0..trial.devices.len() {
        let to = path.join(format!("{i}.img"));
        fs::rename(path.join(DISKS).join(format!("{i}.img")), &to)
            .map_err(Error::io("move", &to))?;
        File::open(&to).and_then(|disk| disk.sync_all()).map_err(Error::io("sync", &to))?;
    }
    let _ = fs::remove_dir(path.join(DISKS));
    let (list, text) = (path.join(DIGESTS), digests(path, trial.devices.len())?);
    fs::write(&list, &text).map_err(Error::io("write", &list))?;
    fs::rename(path, &folder).map_err(Error::io("move the disks to", &folder))?;
    File::open(&parent).and_then(|folder| folder.sync_all()).map_err(Error::io("sync", &parent))?;
    Ok(Prepared { folder, fresh: true, digests: lines(&text) })
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Returns the digests of the disks' contents, one on each line.
fn digests(folder: &Path, disks: usize) -> Result<String> {
    let digest = |i| image::digest(&folder.join(format!("{i}.img"))).map(|digest| digest + "\n");
    (0..disks).map(digest).collect()
}

/// Runs the guest that prepares. The inner error gives the reason why there are no disks, and whose
/// fault that is.
fn make(
    run: &Run,
    trial: &Trial,
    kernel: &Kernel,
    folder: &Path,
) -> Result<std::result::Result<(), (String, Fault)>> {
    let Some(plan) = preparing_plan(trial) else { return Ok(Ok(())) };
    let disks = folder.join(DISKS);
    fs::create_dir(&disks).map_err(Error::io("create", &disks))?;
    write_json(&folder.join(names::MACHINE), &preparing_machine(trial))?;
    write_json(&folder.join(names::PLAN), &plan)?;
    let end = run.guest(kernel, folder, MEMORY, &[A_DAY_BEFORE], LIMIT, &mut |_| ())?;
    if matches!(end, End::Stopped) {
        return Err(Error::Interrupted);
    }
    let judged = evidence::judge(folder, &end, Who::Guest).map(drop);
    Ok(judged.map_err(|reason| {
        let fault = fault::of_guest(folder, &end, Some(&reason));
        (reason, fault)
    }))
}

fn keep_evidence(from: &Path, to: &Path) -> Result<()> {
    remove_folder(to)?;
    fs::create_dir(to).map_err(Error::io("create", to))?;
    for name in
        [names::CONSOLE, names::STEPS, names::ACTIONS, names::MACHINE, names::PLAN, names::STALLED]
    {
        // Files that the guest did not write before it ended do not exist.
        let _ = fs::rename(from.join(name), to.join(name));
    }
    Ok(())
}

/// Writes a description for the guest.
pub fn write_json(path: &Path, what: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec_pretty(what).map_err(|e| Error::io("write", path)(e.into()))?;
    fs::write(path, text).map_err(Error::io("write", path))
}
