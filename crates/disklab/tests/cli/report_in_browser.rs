//! Tests reports in Debian's chromium. `crates/report/tests/browser` opens the pages made here,
//! tries everything on them, and leaves screenshots in `target/browser-tests/screenshots`. Without
//! chromium, node or npm the tests are skipped, unless DISKLAB_NEED_BROWSER is set, as in `make
//! test`.

#[path = "../../../report/tests/report/synthetic.rs"]
mod synthetic;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use disklab_config::{Lab, Suite};
use disklab_record::Record;

use crate::{HOME, guests, host_in_guest, run};

/// Texts that would act if they were taken for markup or code.
const MARKUP: &str = "</script></style><img src=x onerror=alert(1)>\"'&$x^2$";
const ESCAPE: &str = "\u{1b}[2J\u{9b}31m\u{202e}";
const ESCAPE_SHOWN: &str = "\\u{1b}[2J\\u{9b}31m\\u{202e}";

/// Browsers at a time. A browser mostly waits, and other tests measure time meanwhile.
const BROWSERS: usize = 2;

#[test]
fn reports_hold_in_a_browser() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("browser-tests");
    if let Err(reason) = programs().and_then(|()| install(&place)) {
        assert!(
            std::env::var_os("DISKLAB_NEED_BROWSER").is_none(),
            "DISKLAB_NEED_BROWSER is set, and {reason}"
        );
        disklab_testkit::skipped(reason);
        return;
    }
    let here = tempfile::tempdir().expect("a folder");
    let old = scripts().with_file_name("records/old");
    // The longest test goes first.
    let mut pages = vec![
        page(here.path(), "large", &large(here.path()), &["p99.9 of 405 requests".to_owned()]),
        page(here.path(), "old", &old, &["no request ended for 60 s".to_owned()]),
        page(
            here.path(),
            "hostile",
            &hostile(here.path(), &old),
            &[format!("{MARKUP}{ESCAPE_SHOWN}")],
        ),
        page(
            here.path(),
            "damaged",
            &damaged(here.path(), &old),
            &["line 4: not the outcome".to_owned()],
        ),
        page(
            here.path(),
            "sweep",
            &sweep(here.path()),
            &["pid is first everywhere, from 1 to 4".to_owned()],
        ),
        page(
            here.path(),
            "nine-disks",
            &nine_disks(here.path()),
            &["1 write at 256 GiB".to_owned()],
        ),
    ];
    pages.extend(on_host(here.path()).map(|record| of_real_disks(here.path(), &record)));
    let screenshots = place.join("screenshots");
    let _ = fs::remove_dir_all(&screenshots);
    let (place, screenshots, pages) = (&place, &screenshots, &pages);
    let browse = |page: &PathBuf| {
        let mut node = Command::new("node");
        node.arg(scripts().join("report.test.js")).arg(screenshots).arg(page);
        node.env("NODE_PATH", place.join("node_modules"))
            .stdin(Stdio::null())
            .output()
            .expect("node starts")
    };
    let next = AtomicUsize::new(0);
    let next = || pages.get(next.fetch_add(1, Ordering::Relaxed));
    let done: Vec<Output> = std::thread::scope(|scope| {
        let start = |_| scope.spawn(|| std::iter::from_fn(next).map(browse).collect::<Vec<_>>());
        let all: Vec<_> = (0..BROWSERS).map(start).collect();
        all.into_iter().flat_map(|browser| browser.join().expect("its output")).collect()
    });
    for Output { status, stdout, stderr } in done {
        let said = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
        let _ = writeln!(std::io::stderr(), "{}", opened(&said));
        assert!(status.success(), "{}", failed(&said));
        assert!(said.contains("\n# fail 0\n"), "node ran no test: {said}");
    }
}

/// Returns node's output about the failed tests, or all of its output if it names none.
fn failed(said: &str) -> String {
    let mut is_of_one = false;
    let is_told = |line: &&str| {
        is_of_one = (is_of_one && !line.starts_with("ok ")) || line.starts_with("not ok ");
        is_of_one
    };
    let told: Vec<&str> = said.lines().filter(is_told).collect();
    if told.is_empty() { said.to_owned() } else { told.join("\n") }
}

fn scripts() -> PathBuf {
    Path::new(HOME).join("crates/report/tests/browser")
}

/// Checks that the programs which npm cannot install exist. An error names the missing ones.
fn programs() -> Result<(), String> {
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    for (program, package) in [(chromium.as_str(), "chromium"), ("node", "nodejs"), ("npm", "npm")]
    {
        let started = Command::new(program).arg("--version").stdin(Stdio::null()).output();
        if !started.is_ok_and(|output| output.status.success()) {
            return Err(format!("{program} does not run here; install Debian's package {package}"));
        }
    }
    Ok(())
}

/// Lets npm fetch the scripts' packages into `place`, unless they exist. npm's own configuration
/// names the source.
fn install(place: &Path) -> Result<(), String> {
    let wanted = fs::read(scripts().join("package.json")).expect("a file of this work tree");
    let installed = place.join("installed.json");
    if fs::read(&installed).is_ok_and(|known| known == wanted) {
        return Ok(());
    }
    fs::create_dir_all(place).expect("a folder");
    fs::write(place.join("package.json"), &wanted).expect("a file");
    let npm = Command::new("npm")
        .args(["install", "--no-package-lock", "--no-audit", "--no-fund"])
        .current_dir(place)
        .stdin(Stdio::null())
        .output();
    let npm = npm.map_err(|error| format!("npm does not start: {error}"))?;
    if !npm.status.success() {
        return Err(format!(
            "npm cannot install playwright-core and axe-core: {}",
            String::from_utf8_lossy(&npm.stderr)
        ));
    }
    fs::write(installed, wanted).expect("a file");
    Ok(())
}

/// Makes the page of `record`, on which each of `shows` must be visible.
fn page(here: &Path, name: &str, record: &Path, shows: &[String]) -> PathBuf {
    let page = here.join(format!("{name}.html"));
    let arguments = ["report", record.to_str().expect("text"), "-o", page.to_str().expect("text")];
    let done = run(here, &arguments);
    assert_eq!(done.status, Some(0), "{}", done.err);
    fs::write(page.with_extension("shows"), shows.join("\n")).expect("a file");
    page
}

fn copy(here: &Path, name: &str, record: &Path) -> PathBuf {
    let copy = here.join(name);
    let copied = Command::new("cp").arg("-R").args([record, &copy]).status().expect("cp starts");
    assert!(copied.success());
    copy
}

/// Makes a record with such texts at every place where a record has text.
fn hostile(here: &Path, record: &Path) -> PathBuf {
    let folder = copy(here, "hostile", record);
    let record = Record::open(record).expect("a record");
    let (mut lines, mut chain) = (String::new(), record.manifest().chain());
    for outcome in record.lines() {
        let mut outcome = outcome.clone();
        outcome.reason = outcome.reason.map(|_| format!("{MARKUP}{ESCAPE}"));
        for (axis, value) in &mut outcome.cell.0 {
            match axis.as_str() {
                "policy" if value == "queue" => *value = format!("queue{MARKUP}{ESCAPE}"),
                "array" => value.push_str(MARKUP),
                _ => {}
            }
        }
        for device in outcome.sample.iter_mut().flat_map(|sample| &mut sample.devices) {
            device.name.push_str(MARKUP);
        }
        lines += &outcome.to_line(&mut chain).expect("plain data");
    }
    fs::write(folder.join("trials.jsonl"), lines).expect("a file");
    let mut manifest = record.manifest().clone();
    manifest.command = vec!["disklab".to_owned(), format!("{MARKUP}{ESCAPE}")];
    manifest.kernels[0].version = format!("{MARKUP}{ESCAPE}");
    MARKUP.clone_into(&mut manifest.tools[0].value);
    fs::write(folder.join("manifest.toml"), manifest.to_toml().expect("plain data"))
        .expect("a file");
    folder
}

/// Axes with as many cells as the suite read-policy.
const READ_POLICY: [(&str, &[&str]); 5] = [
    ("array", &["hdd-raid1", "hdd-8-mixed", "ssd-raid10"]),
    ("background", &["none", "defrag"]),
    ("workload", &["randread-4k-qd1", "randread-4k-qd32", "seqread-1m-qd16"]),
    ("jobs", &["1", "4"]),
    ("policy", &["pid", "round-robin", "latency", "latency-rr", "queue"]),
];

/// Makes a record as large as that suite with four seeds.
fn large(here: &Path) -> PathBuf {
    let place = here.join("large");
    synthetic::write_record(&place, &READ_POLICY, 4, 8).expect("a record");
    place
}

/// Makes a record of sweeps over two ranges, one of which has widely spaced values.
fn sweep(here: &Path) -> PathBuf {
    let place = here.join("sweep");
    let ratios: &[&str] = &["1", "1.414", "2", "2.828", "4"];
    let policies: &[&str] = &["pid", "round-robin:4096", "latency", "queue"];
    let axes = [
        ("workload", &["randread-4k-qd32"][..]),
        ("disk.2.seek", ratios),
        ("memory", &["256MiB", "1GiB", "64GiB"]),
        ("policy", policies),
    ];
    synthetic::write_record(&place, &axes, 1, 2).expect("a record");
    place
}

/// Makes a record with more disks than colours, and with the longest names.
fn nine_disks(here: &Path) -> PathBuf {
    let place = here.join("nine-disks");
    let policies: &[&str] = &["pid", "round-robin:4096", "latency-rr:margin=120,burst=100"];
    let workloads: &[&str] = &["randread-4k-qd32"];
    let axes =
        [("array", &["hdd-8-mixed-bcache"][..]), ("workload", workloads), ("policy", policies)];
    synthetic::write_record(&place, &axes, 3, 9).expect("a record");
    place
}

const ON_HOST: &str = r#"
question = "What do disks of a machine show?"
seeds = 2
memory = "256 MiB"
runtime = { rotational = "100ms", solid_state = "100ms" }
baseline = { scheduler = "none" }
[axes]
array = ["constant-raid1"]
workload = ["smoke-randread"]
jobs = [1, 4]
scheduler = ["none", "bfq"]
"#;

/// Makes a record of `run --on host` in a guest, so that it is the same each time. Returns None if
/// there are no guests.
fn on_host(here: &Path) -> Option<PathBuf> {
    let _place = guests::place()?;
    let lab = Lab::load(&Path::new(HOME).join("lab")).expect("the lab");
    let suite = Suite::of_text("mine", "mine.toml", ON_HOST, &[]).expect("a suite");
    let trials = suite.trials(&lab).expect("trials");
    let folder = here.join("guest");
    fs::create_dir(&folder).expect("a folder");
    host_in_guest::in_guest(&folder, &trials[0], ON_HOST);
    Some(folder.join("record"))
}

/// Makes the page of that record, which lacks no panel.
fn of_real_disks(here: &Path, record: &Path) -> PathBuf {
    let own = page(here, "on-host", record, &["Disks of a machine, in its own time".to_owned()]);
    let text = fs::read_to_string(&own).expect("a page");
    let missing =
        text.split("class=\"missing\">").skip(1).filter_map(|rest| rest.split('<').next());
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
    own
}

/// Damages a record: a malformed line, and raw output that is missing, truncated or replaced.
fn damaged(here: &Path, record: &Path) -> PathBuf {
    let folder = copy(here, "damaged", record);
    let lines = fs::read_to_string(folder.join("trials.jsonl")).expect("text");
    let lines =
        lines.lines().enumerate().map(|(at, line)| if at == 3 { &line[..99] } else { line });
    fs::write(folder.join("trials.jsonl"), lines.collect::<Vec<_>>().join("\n") + "\n")
        .expect("a file");
    let raw = fs::read_dir(folder.join("raw")).expect("a folder");
    let mut raw: Vec<PathBuf> = raw.map(|entry| entry.expect("an entry").path()).collect();
    raw.sort();
    for (at, trial) in raw.iter().enumerate() {
        let change = |name: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
            if let Ok(bytes) = fs::read(trial.join(name)) {
                fs::write(trial.join(name), change(bytes)).expect("a file");
            }
        };
        change("requests.trace", &|bytes| bytes[..bytes.len() / 2].to_vec());
        match at % 3 {
            0 => fs::remove_dir_all(trial).expect("removed"),
            1 => change("fio.json", &|bytes| bytes[..bytes.len() / 2].to_vec()),
            _ => change("fio.json", &|_| b"\x1b[2J<script>".to_vec()),
        }
    }
    folder
}

/// Returns the time that each page took to open, one line each.
fn opened(said: &str) -> String {
    said.lines().filter(|line| line.contains(": opened in ")).collect::<Vec<_>>().join("\n")
}
