//! Tests JSON documents against their schemas: the real output of every verb is valid, and so are
//! errors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{Done, disklab, done, fixture, run};

const TRIAL: &str = "hdd-raid1+randread-4k-qd1+pid+s1";

/// Returns the errors of `value`, by the subset of JSON Schema that disklab's schemas use.
fn mistakes(schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let known = |name: &Value| name == kind || (name == "number" && kind == "integer");
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::Array(names) => names.iter().any(known),
        name => known(name),
    };
    if !fits {
        found.push(format!("{place}: {kind} and not {}", schema["type"]));
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
        found.push(format!("{place}: {value} is none of {words:?}"));
    }
    if !schema["const"].is_null() && schema["const"] != *value {
        found.push(format!("{place}: {value} and not {}", schema["const"]));
    }
    if let Value::Object(map) = value {
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().expect("a name");
            if !map.contains_key(name) {
                found.push(format!("{place}: lacks {name}"));
            }
        }
        for (name, value) in map {
            let own = &schema["properties"][name];
            let own = if own.is_null() { &schema["additionalProperties"] } else { own };
            match own {
                Value::Bool(false) => found.push(format!("{place}: {name} is unknown")),
                Value::Object(_) => found.extend(mistakes(own, value, &format!("{place}.{name}"))),
                _ => {}
            }
        }
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(mistakes(&schema["items"], item, &format!("{place}[{at}]")));
    }
    found
}

/// Returns the schema of a document, as the program prints it.
fn schema(here: &Path, name: &str) -> Value {
    let done = run(here, &["schema", name]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    serde_json::from_str(&done.out).expect("JSON")
}

/// Checks the document that a verb has printed, and returns its name.
pub fn checked(here: &Path, done: &Done) -> String {
    let document: Value = serde_json::from_str(&done.out)
        .unwrap_or_else(|error| panic!("one JSON document: {error}: {}{}", done.out, done.err));
    let name = document["schema"]["name"].as_str().expect("a name").to_owned();
    assert_eq!(document["schema"]["version"], 1, "{name}");
    // This serves to draft schemas only.
    if let Some(folder) = std::env::var_os("DISKLAB_DOCUMENTS") {
        let number = fs::read_dir(&folder).map_or(0, Iterator::count);
        let file = Path::new(&folder).join(format!("{name}.{number}.json"));
        fs::write(file, &done.out).expect("room");
        return name;
    }
    let schema = schema(here, &name);
    assert_eq!(mistakes(&schema, &document, &name), Vec::<String>::new(), "{}", done.out);
    name
}

#[test]
fn the_validator_finds_what_is_wrong() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": { "a": { "type": ["integer", "null"] },
                        "b": { "type": "array", "items": { "enum": ["x"] } } },
    });
    let wrong = |value: Value| mistakes(&schema, &value, "d");
    assert!(wrong(serde_json::json!({ "a": 1, "b": ["x"] })).is_empty());
    assert_eq!(wrong(serde_json::json!({ "a": 1.5 })).len(), 1);
    assert_eq!(wrong(serde_json::json!({ "b": ["y"] })).len(), 2);
    assert_eq!(wrong(serde_json::json!({ "a": null, "c": 1 })), ["d: c is unknown"]);
}

/// Arguments of a search of one round of three candidates.
const SEARCH: &[&str] = &[
    "search",
    "read-policy-quick",
    "--set",
    "array=hdd-raid1",
    "--set",
    "workload=randread-4k-qd1",
    "--seeds",
    "1",
    "--candidates",
    "2",
    "--policy",
    "streams",
    "--over",
    "piece=1MiB..64MiB",
];

#[test]
fn the_output_of_every_verb_is_valid() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    fixture::record(here);
    fixture::seeds_record(here, "before", 5, 1.0);
    fixture::seeds_record(here, "after", 5, 1.1);
    fixture::seeds_record(here, "twin", 5, 1.0);
    fixture::small_record(here, "other", 4096);
    let report = concat!(
        r#"{"fio version":"fio-3.39","jobs":[{"jobname":"rand","error":0,"read":{"total_ios":5,"#,
        r#""iops":5.0,"runtime":1000,"io_bytes":20480,"bw_bytes":20480,"#,
        r#""clat_ns":{"mean":2.0,"N":5}}}]}"#
    );
    fs::write(here.join("fio.json"), report).expect("room");
    fs::create_dir(here.join("drives")).expect("a folder");
    fs::write(here.join("drives/x.parv"), "no drive").expect("room");
    let matrix = "drive,device,rw,depth,iops\nx,constant-50us,randread,1,19000\n";
    fs::write(here.join("m.csv"), matrix).expect("room");
    let name = fixture::NAME;
    let mut names = BTreeSet::new();
    for arguments in [
        &["doctor"][..],
        &["kernel", "list"],
        &["list"],
        &["list", "runs"],
        &["plan", "read-policy-quick", "--set", "array=hdd-raid1"],
        &["show", name],
        &["show", "before"],
        &["show", name, TRIAL],
        &["show", name, "hdd-raid1+randread-4k-qd1+devid+s1"],
        &["compare", "before"],
        &["compare", "before", "after", "--metric", "iops,mean"],
        &["compare", name],
        &["history", "before", "after"],
        &["history", "quick", "--against", "previous"],
        &["history", "before", "after", "-o", "history.svg"],
        &["gate", "before", "--against", "before"],
        &["gate", "after", "--against", "before"],
        &["report", name, "-o", "page.html"],
        &["export", "before", "--flat", "--format", "csv", "-o", "tables"],
        &["import", "fio.json", "--out", "records/theirs"],
        &["audit", "fio.json", "records/before"],
        &["repair", "before"],
        &["same", name, name],
        &["same", name, "other"],
        &["merge", "before", "twin", "--out", "records/merged"],
        &["merge", name, "other", "--out", "records/conflict"],
        &["validate", "drives"],
        &["validate", "m.csv"],
        &["device", "new", "mine", "--size", "10TB", "--rpm", "7200", "-o", "mine.toml"],
        &["device", "new", "flash", "--size", "2TB", "--rate", "550MB/s", "-o", "flash.toml"],
        &["devices"],
        &["clean", "--dry-run"],
        SEARCH,
        &["schema"],
        &["array", "new", "--from-machine"],
        // These are mistaken.
        &["rnu"],
        &["run", "--seeds", "many"],
        &["show", "nothing"],
        &["trace", name, TRIAL],
        &["kernel", "path"],
    ] {
        let words: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let done = run(here, &words);
        names.insert(checked(here, &done));
    }
    for name in ["compare", "history", "show-trial", "merge-conflicts", "device-new", "error"] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    // Other tests check documents that need guests, a kernel tree or a disk to measure.
    let elsewhere = [
        "run",
        "predict",
        "bisect",
        "gather",
        "calibrate",
        "kernel-build",
        "kernel-patch",
        "kernel-path",
        "import",
    ];
    let all = run(here, &["schema"]);
    let without: Vec<&str> = all
        .out
        .lines()
        .filter(|name| !names.contains(*name) && !elsewhere.contains(name))
        .filter(|name| *name != "array-new")
        .collect();
    assert!(without.is_empty(), "schemas of documents that no verb printed: {without:?}");
}

/// The document of a real run is valid.
#[test]
fn the_document_of_a_run_is_valid() {
    let Some(place) = crate::guests::place() else { return };
    let here = place.path();
    let done = run(here, &["run", "./mine.toml", "--seeds", "1", "--out", "records/r", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert_eq!(checked(here, &done), "run");
    let path = run(here, &["kernel", "path", "--json"]);
    assert_eq!(checked(here, &path), "kernel-path");
}

fn error(done: &Done) -> Value {
    let document: Value = serde_json::from_str(&done.out).expect("one JSON document");
    document["error"].clone()
}

#[test]
fn errors_are_documents_on_standard_output() {
    let here = tempfile::tempdir().expect("a folder");
    let here = here.path();
    let mistyped = run(here, &["--json", "run", "--seds", "3"]);
    assert_eq!(mistyped.status, Some(2));
    let told = error(&mistyped);
    assert_eq!((&told["kind"], &told["exit_code"]), (&"mistaken".into(), &2.into()));
    let message = told["message"].as_str().expect("a message");
    assert!(message.starts_with("unexpected argument '--seds'"), "{message}");
    assert!(mistyped.err.contains("--seds"), "people read standard error: {}", mistyped.err);

    let unknown = run(here, &["show", "nothing", "--json"]);
    assert_eq!(unknown.status, Some(2));
    let message = error(&unknown)["message"].clone();
    assert!(message.as_str().is_some_and(|text| text.contains("no record `nothing`")), "{message}");

    fs::write(here.join("wrong.toml"), "question = 3\nsedes = 4\n").expect("room");
    let wrong = run(here, &["plan", "./wrong.toml", "--json"]);
    assert_eq!(wrong.status, Some(2));
    let details = error(&wrong)["details"].as_array().cloned().expect("details");
    assert!(details.len() >= 2, "{details:?}");
    let question = details.iter().find(|detail| detail["key"] == "question").expect("a detail");
    assert_eq!((&question["line"], &question["file"]), (&1.into(), &"./wrong.toml".into()));

    let plain = run(here, &["show", "nothing"]);
    assert_eq!((plain.status, plain.out.as_str()), (Some(2), ""), "{}", plain.err);
    let help = run(here, &["--json", "--help"]);
    assert!(help.status == Some(0) && help.out.contains("Usage"), "{}", help.out);
}

#[test]
fn an_interrupted_verb_leaves_a_document() {
    let here = tempfile::tempdir().expect("a folder");
    // This many drives take a minute.
    let row = |drive| format!("d{drive},desktop-2tb,randread,4k,32,1,60,93.6\n");
    let rows: Vec<String> = (0..20_000).map(row).collect();
    let table = "drive,device,rw,bs,depth,jobs,runtime_s,iops\n".to_owned() + &rows.concat();
    fs::write(here.path().join("many.csv"), table).expect("room");
    let child = disklab(here.path())
        .args(["--json", "validate", "many.csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    sleep(Duration::from_millis(500));
    let id = Pid::from_raw(child.id().cast_signed()).expect("an id");
    kill_process(id, Signal::INT).expect("it runs");
    let done = done(child.wait_with_output().expect("it ends"));
    assert_eq!(done.status, Some(130), "{}{}", done.out, done.err);
    let told = error(&done);
    assert_eq!((&told["kind"], &told["exit_code"]), (&"interrupted".into(), &130.into()));
}
