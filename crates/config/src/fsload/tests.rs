use super::*;
use crate::read::TomlReader;
use crate::workload::Workload;

const PROXY: &str = r#"
summary = "a proxy"
[fsload]
scale = 50
[[fsload.files]]
name = "proxy"
count = 1000
there = 80
size = "gamma 1.5, mean 16 KiB"
[[fsload.threads]]
name = "proxy"
count = 100
loop = ["delete", "create", "append 0 B to 16 KiB", "close", "open", "read whole", "close"]
"#;

fn read(text: &str) -> Result<Workload, String> {
    TomlReader::new("w", text)
        .read(|table| Workload::read("w", table))
        .map_err(|wrong| wrong.to_string())
}

#[test]
fn a_proxy_is_read() {
    let workload = read(PROXY).unwrap();
    let load = workload.file_load().unwrap();
    assert_eq!(
        (load.operation, load.thread_count(), load.count(&load.files[0])),
        (Nanos::from_micros(50), 100, 500)
    );
    assert_eq!(workload.bytes(), Bytes::kib(16 * 400));
    assert_eq!(workload.full().unwrap().bytes(), Bytes::kib(16 * 800));
    let fewer = workload.with_numjobs(3);
    assert_eq!(fewer.file_load().map(|load| load.threads[0].count), Some(3));
    assert!(workload.fio().is_none());
}

#[test]
fn one_of_several_loops_is_drawn() {
    let text = PROXY.replace(
        "loop = [",
        "[[fsload.threads.either]]\nweight = 3\nloop = [\"stat\"]\n[[fsload.threads.either]]\nloop \
         = [",
    );
    let load = read(&text).unwrap().file_load().unwrap().clone();
    let weights: Vec<u32> = load.threads[0].loops.iter().map(|one| one.weight).collect();
    assert_eq!(weights, [3, 1]);
    let both = text.replace("count = 100\n", "count = 100\nloop = [\"stat\"]\n");
    assert!(read(&both).unwrap_err().contains("contradict each other"));
}

#[test]
fn mistakes_are_told_where_they_are() {
    let wrong = |from: &str, to: &str| read(&PROXY.replace(from, to)).unwrap_err();
    assert!(wrong("\"close\", \"open\"", "\"open\"").contains("`open`: close the file before"));
    assert!(wrong("count = 1000", "count = 0").contains("count: 0 is out of range"));
    assert!(wrong("there = 80", "there = 180").contains("there: 180"));
    assert!(
        wrong("count = 1000\nthere = 80", "count = 1000\nper_folder = 3")
            .contains("count: is of a set")
    );
    assert!(
        wrong("name = \"proxy\"\ncount = 1000", "name = \"a b\"\ncount = 1000")
            .contains("is not a name")
    );
    assert!(wrong("name = \"proxy\"\ncount = 100\n", "count = 100\n").contains("name: is missing"));
    assert!(wrong("scale = 50", "scales = 50").contains("did you mean `scale`"));
    assert!(wrong("[[fsload.threads]]", "[[fsload.thread]]").contains("thread"));
    assert!(wrong("size = \"gamma 1.5, mean 16 KiB\"", "size = \"gamma\"").contains("size"));
    assert!(
        wrong("summary = \"a proxy\"", "summary = \"a proxy\"\nbs = \"4k\"")
            .contains("bs: unknown key")
    );
}
