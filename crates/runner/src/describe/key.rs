//! Keys that identify trials by their contents, independent of names. A key is a digest of
//! everything that decides a trial's results, once names are resolved. It is the same on every
//! machine, so that trials can be requested and merged by their keys.
//!
//! A name counts only if the trial's raw output contains it: a device's name is in the closing
//! record, a workload's in fio's report, and a policy's is the kernel's own. Two trials with the
//! same key have the same bytes in every raw file.

use std::collections::{BTreeMap, BTreeSet};

use disklab_config::Trial;
use disklab_protocol::digest::sha256_hex;
use serde_json::{Value, json};

/// Version of keys, raised if a key no longer means the same.
const FORMAT: u32 = 1;
/// Length of a key in digits.
pub const LENGTH: usize = 16;

/// Error about two different trials with the same key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "the trials {first} and {second} differ and have the same key, {key}, which has a chance of \
     one in 2^64; change one of them, such as its memory by 1 MiB"
)]
pub struct Collision {
    pub first: String,
    pub second: String,
    pub key: String,
}

/// Returns the keys of trials, in their order. A key is None if the trial's kernel is not in
/// `kernels`, which maps the trials' names for kernels to keys.
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

/// Fails if two different digests have the same beginning.
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

/// Returns the digest of a trial; `kernel` is the kernel's own key.
fn digest(trial: &Trial, kernel: &str) -> String {
    let trial = without_names(trial);
    // A trial is plain data, whose serialization never fails.
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
    // These follow from the kernel, and from the parts that need them.
    trial.needs.clear();
    // The reason follows from the other fields.
    trial.unfit = None;
    // The devices themselves carry these numbers. Only the number of devices of each kind counts.
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
        // Knowledge about the numbers does not change the numbers.
        device.estimated.clear();
        device.inherited = None;
    }
    trial.workload.summary.clear();
    // The name of a job file is its path. fio's report has the names of the sections instead.
    if !trial.workload.sections().is_empty() {
        trial.workload.name.clear();
    }
    if let Some(background) = &mut trial.background {
        background.name.clear();
        background.summary.clear();
        background.workload.iter_mut().for_each(|workload| workload.summary.clear());
    }
    // It does not matter whether a value is also the default.
    for value in trial.policy.iter_mut().flat_map(|policy| &mut policy.values) {
        value.default = false;
    }
    trial
}

/// Adds fields that every workload had when keys were introduced, whatever the workload does.
fn fill_up_workload(workload: &mut Value) {
    let Some(fields) = workload.as_object_mut() else { return };
    for (name, absent) in
        [("file_size", json!(0)), ("own_files", false.into()), ("raw", false.into())]
    {
        fields.entry(name).or_insert(absent);
    }
}

/// Drops empty fields, which equal fields that did not exist yet. So a new field leaves the keys of
/// trials without it unchanged.
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
        // List items are not dropped, since their positions count.
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

    /// If this test fails, trials have other ids than in existing records and scripts. A new field
    /// should be absent from trials that do not use it. If every trial has really changed, raise
    /// [`FORMAT`].
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
