//! What tells trials apart by what they are, whatever they and their parts are called: a digest of
//! all that decides a trial's results, once names are settled. It is the same on every machine, so
//! that trials can be asked for and put together by it.
//!
//! A name counts where it stands in what a trial leaves, and only there: a device's is in the
//! closing record, a workload's in fio's report, a policy's is the kernel's word. Of two trials of
//! one key, every raw output has the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use disklab_config::Trial;
use disklab_protocol::digest::sha256_hex;
use serde_json::{Value, json};

/// Goes up when a key no longer means what it meant.
const FORMAT: u32 = 1;
/// Digits of a key.
pub const LENGTH: usize = 16;

/// Two trials that are not one, and cannot be told apart by their keys.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "the trials {first} and {second} have one key, {key}, and are not the same: a chance of one \
     in 2^64; change anything of one of them, its memory by a MiB say"
)]
pub struct Collision {
    pub first: String,
    pub second: String,
    pub key: String,
}

/// The keys of trials, in their order; None of those whose kernel is not among `kernels`, which has
/// the keys of kernels by the trials' names for them.
pub fn of_all(
    trials: &[Trial],
    kernels: &BTreeMap<String, String>,
) -> Result<Vec<Option<String>>, Collision> {
    let digests: Vec<Option<String>> =
        trials.iter().map(|trial| Some(digest(trial, kernels.get(&trial.kernel)?))).collect();
    let named = || trials.iter().map(|trial| trial.id.as_str()).zip(&digests);
    check(named().filter_map(|(name, digest)| Some((name, digest.as_deref()?))))?;
    Ok(digests.into_iter().map(|digest| digest.map(short)).collect())
}

fn short(mut digest: String) -> String {
    digest.truncate(LENGTH);
    digest
}

/// Fails if two different digests begin alike.
fn check<'a>(digests: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), Collision> {
    let all: BTreeSet<(&str, &str)> = digests.map(|(name, digest)| (digest, name)).collect();
    let key = |digest: &str| short(digest.to_owned());
    let mut pairs = all.iter().zip(all.iter().skip(1));
    match pairs.find(|((one, _), (other, _))| one != other && key(one) == key(other)) {
        None => Ok(()),
        Some(((one, first), (_, second))) => Err(Collision {
            first: (*first).to_owned(),
            second: (*second).to_owned(),
            key: key(one),
        }),
    }
}

/// `kernel` is the kernel's own key.
fn digest(trial: &Trial, kernel: &str) -> String {
    let trial = without_names(trial);
    // Plain data: what cannot be written is never made.
    let mut trial = serde_json::to_value(trial).unwrap_or_default();
    for pointer in ["/workload", "/background/workload"] {
        trial.pointer_mut(pointer).map(fill_up_workload);
    }
    drop_empty(&mut trial);
    let all = json!({ "format": FORMAT, "kernel": kernel, "trial": trial });
    sha256_hex(all.to_string().as_bytes())
}

/// Returns the trial without the fields that do not count.
fn without_names(trial: &Trial) -> Trial {
    let mut trial = trial.clone();
    for text in [&mut trial.id, &mut trial.kernel, &mut trial.array.name, &mut trial.array.summary]
    {
        text.clear();
    }
    trial.cell.clear();
    // Told by the kernel and by what needs it.
    trial.needs.clear();
    // A reason in words, which follows from the rest.
    trial.unfit = None;
    // These stand with the devices themselves; how many there are of each kind counts.
    let replica = trial.array.replica.iter_mut().flat_map(|replica| &mut replica.devices);
    let cache = trial.array.cache.iter_mut().map(|cache| &mut cache.device);
    trial
        .array
        .devices
        .iter_mut()
        .chain(&mut trial.array.spares)
        .chain(cache)
        .chain(replica)
        .for_each(String::clear);
    for device in &mut trial.devices {
        device.summary.clear();
        // What is known of the numbers does not change them.
        device.estimated.clear();
        device.inherited = None;
    }
    trial.workload.summary.clear();
    // A job file's name is its path. fio's report has the names of the sections instead.
    if !trial.workload.sections().is_empty() {
        trial.workload.name.clear();
    }
    if let Some(background) = &mut trial.background {
        background.name.clear();
        background.summary.clear();
        background.workload.iter_mut().for_each(|workload| workload.summary.clear());
    }
    // Whether a value is also the default says nothing more.
    for value in trial.policy.iter_mut().flat_map(|policy| &mut policy.values) {
        value.default = false;
    }
    trial
}

/// Adds what every workload had when keys were first written, whatever it does.
fn fill_up_workload(workload: &mut Value) {
    let Some(fields) = workload.as_object_mut() else { return };
    for (name, absent) in
        [("file_size", json!(0)), ("own_files", false.into()), ("raw", false.into())]
    {
        fields.entry(name).or_insert(absent);
    }
}

/// A part that is not there is as one that nobody has thought of yet: a new part of trials leaves
/// the keys of those without it.
fn drop_empty(value: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(drop_empty);
            map.retain(|_, value| !is_empty(value));
        }
        // What a list has not, others of it may have: places count.
        Value::Array(list) => list.iter_mut().for_each(drop_empty),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use disklab_config::Lab;
    use disklab_units::Bytes;

    use super::*;

    fn trials(suite: &str) -> Vec<Trial> {
        let lab = Lab::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab")))
            .expect("the lab");
        lab.suite(suite).expect("the suite").trials(&lab).expect("trials")
    }

    fn key(trial: &Trial) -> String {
        digest(trial, "a kernel")
    }

    /// Path in a lab that never changes, and contents.
    const PINNED: &[(&str, &str)] = &[
        (
            "devices/plain.toml",
            "summary = \"plain\"\nsize = \"10 GiB\"\n[constant]\nlatency = \"50us\"\nservers = \
             4\nqueue_depth = 32\n",
        ),
        (
            "arrays/pair.toml",
            "summary = \"pair\"\njoin = \"btrfs-raid1\"\ndevices = [\"plain\", \"plain\"]\n",
        ),
        (
            "workloads/random.toml",
            "summary = \"random\"\nrw = \"randread\"\nbs = \"4k\"\nfilesize = \"1 GiB\"\nioengine \
             = \"libaio\"\n",
        ),
        ("policies/pid.toml", "summary = \"pid\"\n"),
        (
            "policies/turns.toml",
            "summary = \"turns\"\n[[parameter]]\nkey = \"bytes\"\nkind = \"bytes\"\nleast = \"1 \
             B\"\nmost = \"1 GiB\"\n\
             default = \"256 KiB\"\nsummary = \"a turn\"\n",
        ),
        ("kernels/7.3.toml", "summary = \"7.3\"\npackage = \"linux-source-7.3\"\npreference = 1\n"),
        (
            "suites/pinned.toml",
            "question = \"Which?\"\nseeds = 1\nmemory = \"256 MiB\"\nkernel = \
             \"newest\"\nbaseline = { policy = \"pid\" }\n\
             runtime = { rotational = \"20s\", solid_state = \"300ms\" }\n[axes]\narray = \
             [\"pair\"]\n\
             workload = [\"random\"]\npolicy = [\"pid\", \"turns:4k\"]\n",
        ),
    ];

    /// Where this fails, trials have other ids than those that records have and that scripts ask
    /// for. What was added to trials should be absent where nobody asks for it; where every trial
    /// really has become another one, [`FORMAT`] goes up.
    #[test]
    fn the_ids_of_years_ago_are_those_of_today() {
        let place = tempfile::tempdir().expect("a folder");
        for (path, text) in PINNED {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let lab = Lab::load(place.path()).expect("the lab");
        let trials = lab.suite("pinned").expect("the suite").trials(&lab).expect("trials");
        let kernels = [("newest".to_owned(), "a kernel".to_owned())].into();
        let keys = of_all(&trials, &kernels).expect("no collision");
        assert_eq!(keys, ["cae74a18ba87d044", "895b2d8a278512b2"].map(|key| Some(key.to_owned())));
    }

    #[test]
    fn names_do_not_count_unless_they_are_in_results() {
        let trial = trials("smoke").swap_remove(0);
        let changed = |change: &dyn Fn(&mut Trial)| {
            let mut other = trial.clone();
            change(&mut other);
            key(&other)
        };
        for same in [
            changed(&|trial| trial.id.push('x')),
            changed(&|trial| trial.array.name.push('x')),
            changed(&|trial| trial.array.summary.push('x')),
            changed(&|trial| trial.array.devices[0].push('x')),
            changed(&|trial| trial.devices[0].summary.push('x')),
            changed(&|trial| trial.workload.summary.push('x')),
            changed(&|trial| trial.kernel.push('x')),
            changed(&|trial| trial.cell.clear()),
        ] {
            assert_eq!(same, key(&trial));
        }
        for other in [
            changed(&|trial| trial.memory += Bytes(4096)),
            changed(&|trial| trial.seed.0 += 1),
            changed(&|trial| trial.devices[0].used.0 -= 4096),
            changed(&|trial| trial.devices[0].name.push('x')),
            changed(&|trial| trial.workload.name.push('x')),
            changed(&|trial| trial.workload.fio_mut().expect("fio").jobs[0].iodepth += 1),
            changed(&|trial| trial.policy = None),
            changed(&|trial| trial.mount_options.push("noatime".to_owned())),
            changed(&|trial| trial.runtime.0 += 1),
            digest(&trial, "another kernel"),
        ] {
            assert_ne!(other, key(&trial));
        }
    }

    #[test]
    fn keys_are_the_same_each_time_and_differ_where_trials_do() {
        let kernels = [("newest".to_owned(), "a kernel".to_owned())].into();
        let keys = of_all(&trials("smoke"), &kernels).expect("no collision");
        assert_eq!(keys, of_all(&trials("smoke"), &kernels).expect("no collision"));
        let distinct: BTreeSet<_> = keys.iter().flatten().collect();
        assert_eq!(distinct.len(), keys.len());
        let is_short =
            |key: &&String| key.len() == LENGTH && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(distinct.iter().all(is_short), "{distinct:?}");
        assert_eq!(
            of_all(&trials("smoke"), &BTreeMap::new()).expect("no collision"),
            vec![None; keys.len()]
        );
    }

    #[test]
    fn digests_that_begin_alike_are_told() {
        let (one, other) = (format!("{}0", "a".repeat(LENGTH)), format!("{}1", "a".repeat(LENGTH)));
        let found = check([("x", one.as_str()), ("y", other.as_str()), ("z", "bbbb")].into_iter());
        let expected =
            Collision { first: "x".to_owned(), second: "y".to_owned(), key: "a".repeat(LENGTH) };
        assert_eq!(found, Err(expected));
        assert_eq!(check([("x", one.as_str()), ("y", one.as_str())].into_iter()), Ok(()));
    }
}
