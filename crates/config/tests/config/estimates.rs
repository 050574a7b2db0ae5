//! Tests devices with estimates, and devices that are like another.

use std::path::Path;

use disklab_config::Lab;
use disklab_config::device::{Device, Estimate, Model};
use disklab_units::{Nanos, Rate};

use crate::small_lab::SmallLab;

fn repository_lab() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab")
}

/// Loads the small lab with the repository's devices, and one more.
fn lab_with(text: &str) -> (SmallLab, Result<Lab, String>) {
    let lab = SmallLab::new();
    for entry in std::fs::read_dir(repository_lab().join("devices")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        lab.write(&format!("devices/{name}"), &std::fs::read_to_string(&path).unwrap());
    }
    lab.write("devices/mine.toml", text);
    let loaded = Lab::load(lab.path()).map_err(|mistakes| lab.relative(&mistakes));
    (lab, loaded)
}

fn mine(text: &str) -> Device {
    lab_with(text).1.expect("no mistakes").devices["mine"].clone()
}

const NAS: &str = "summary = \"mine\"\nlike = \"nas-4tb\"\nsize = \"10 TB\"\n[hdd]\nrpm = 7200\n\
                   seek_average = \"8 ms\"\nrate_outer = \"210 MB/s\"\ncache = \"256 MiB\"\n";

/// Returns the number of trials of a suite that sweeps one key of a device over the ends of its
/// range.
fn sweep(lab: &SmallLab, device: &str, estimate: &Estimate) -> Result<usize, String> {
    lab.write(
        "arrays/one.toml",
        &format!("summary = \"one\"\njoin = \"single\"\ndevices = [\"{device}\"]\n"),
    );
    let Estimate { key, low, high } = estimate;
    lab.write(
        "suites/ends.toml",
        &format!(
            "question = \"Which?\"\nseeds = 1\nmemory = \"256 MiB\"\nkernel = \"newest\"\n\
             runtime = {{ rotational = \"20s\", solid_state = \"300ms\" }}\n\
             [axes]\narray = [\"one\"]\nworkload = [\"random\"]\n\
             \"device.{key}\" = [\"{low}\", \"{high}\"]\n"
        ),
    );
    let loaded = Lab::load(lab.path()).map_err(|mistakes| lab.relative(&mistakes))?;
    let trials = loaded.suite("ends").and_then(|suite| suite.trials(&loaded));
    trials.map(|trials| trials.len()).map_err(|mistakes| lab.relative(&mistakes))
}

#[test]
fn both_ends_of_every_estimate_of_the_lab_can_be_swept() {
    let (lab, loaded) = lab_with(NAS);
    let loaded = loaded.unwrap();
    let mut estimates = 0;
    for device in loaded.devices.values() {
        for estimate in &device.estimated {
            let trials = sweep(&lab, &device.name, estimate);
            assert_eq!(trials, Ok(2), "{}: {estimate:?}", device.name);
            estimates += 1;
        }
    }
    assert!(estimates > 150, "{estimates}");
    let nas = &loaded.devices["nas-4tb"];
    let age = nas.estimated.iter().find(|estimate| estimate.key == "queue_patience").unwrap();
    assert_eq!((age.low.as_str(), age.high.as_str()), ("2 s", "10 s"));
    assert_eq!(nas.inherited, None);
}

#[test]
fn a_device_takes_what_it_lacks_from_another_and_scales_it() {
    let device = mine(NAS);
    let Model::Hdd(hdd) = &device.model else { panic!("{device:?}") };
    assert_eq!(device.bytes.0, 10_000_000_000_000 / 4096 * 4096);
    // The other device has 17 ms for an average of 8.5 ms, and 83 MB/s for 175 MB/s at the outer
    // edge.
    assert_eq!(hdd.seek_full, Nanos::from_millis(16));
    assert_eq!(hdd.rate_inner, Rate(99_600_000));
    assert_eq!((hdd.zones, hdd.surfaces, hdd.queue_patience), (24, 10, Nanos::from_secs(5)));
    let inherited = device.inherited.as_ref().unwrap();
    assert_eq!(inherited.from, "nas-4tb");
    assert!(inherited.keys.contains(&"cache_segments".to_owned()), "{inherited:?}");
    assert!(!inherited.keys.contains(&"rpm".to_owned()), "{inherited:?}");
    let range = |key: &str| {
        let estimate = device.estimated.iter().find(|estimate| estimate.key == key);
        estimate.map(|estimate| (estimate.low.as_str(), estimate.high.as_str()))
    };
    // The ranges are the other device's own; one scaled like the number; and a factor, where the
    // other has no range.
    assert_eq!(range("queue_patience"), Some(("2 s", "10 s")));
    assert_eq!(range("seek_full"), Some(("14.4 ms", "18.4 ms")));
    assert_eq!(range("surfaces"), Some(("5", "20")));
    assert_eq!(range("rpm"), None);
    let own = mine(&format!("{NAS}[estimated]\nqueue_patience = [\"1 s\", \"2 s\"]\n"));
    let ages = own.estimated.iter().filter(|estimate| estimate.key == "queue_patience");
    assert_eq!(ages.map(|age| age.low.as_str()).collect::<Vec<_>>(), ["1 s"]);
}

#[test]
fn an_ssd_of_another_size_has_other_dies() {
    for (size, dies) in [("250 GB", 4), ("500 GB", 8), ("1 TB", 16), ("2 TB", 32), ("8 TB", 128)] {
        let device =
            mine(&format!("summary = \"s\"\nlike = \"sata-ssd-1tb\"\nsize = \"{size}\"\n"));
        let Model::Ssd(ssd) = &device.model else { panic!("{device:?}") };
        assert_eq!(ssd.dies(), dies, "{size}");
        assert!(ssd.raw_size > device.bytes, "{size}: {}", ssd.raw_size);
    }
}

#[test]
fn mistakes_of_a_device_that_is_like_another() {
    let wrong = |text: &str| lab_with(text).1.expect_err("no mistake was found");
    let head = "summary = \"s\"\nsize = \"1 TB\"\n";
    assert_eq!(
        wrong(&format!("{head}like = \"nas-4bt\"\n")),
        "devices/mine.toml:3:8: like: unknown device `nas-4bt`; did you mean `nas-4tb`?"
    );
    assert_eq!(
        wrong(&format!("{head}like = \"nas-4tb\"\n[ssd]\nchannels = 4\n")),
        "devices/mine.toml:3:8: like: device `nas-4tb` is a [hdd], and this one is a [ssd]"
    );
    assert_eq!(
        wrong(&format!("{head}like = \"mine\"\n")),
        "devices/mine.toml:3:8: like: device `mine` is itself like `mine`: name a device whose \
         file has all keys"
    );
    assert_eq!(
        wrong(&format!("{head}like = 4\n")),
        "devices/mine.toml:1:1: a device needs one of the tables [hdd], [ssd], [card] and \
         [constant]\ndevices/mine.toml:3:8: like: expected a string, found a number"
    );
    // A mistake of an inherited number is reported at the key that names its origin.
    assert_eq!(
        wrong("summary = \"s\"\nsize = \"10 MB\"\nlike = \"nas-4tb\"\n").lines().next(),
        Some(
            "devices/mine.toml:3:8: hdd.zones: 9.54 MiB are too few for 24 zones: at 167 MiB/s \
             and 7200 rpm one track on each of 10 surfaces in each is 334 MiB"
        )
    );
    let plain = "summary = \"s\"\nsize = \"1 GB\"\n[constant]\nlatency = \"1 ms\"\nservers = 1\n\
                 queue_depth = 1\n[estimated]\n";
    assert_eq!(
        wrong(&format!("{plain}latncy = [\"1 ms\", \"2 ms\"]\n")),
        "devices/mine.toml:8:10: estimated.latncy: unknown key `latncy`; did you mean \
         `latency`?"
    );
    assert_eq!(
        wrong(&format!("{plain}latency = [\"1 ms\"]\n")),
        "devices/mine.toml:8:11: estimated.latency: expected the two ends of its range, such as \
         [\"1 ms\", \"2 ms\"]"
    );
    assert_eq!(
        wrong(&format!("{plain}latency = [true, 1]\n")).lines().next(),
        Some(
            "devices/mine.toml:8:11: estimated.latency: expected the two ends of its range, such \
             as [\"1 ms\", \"2 ms\"]"
        )
    );
}
