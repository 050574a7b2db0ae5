use disklab_units::{Bytes, Nanos, Rate};
use proptest::prelude::*;

use super::{Located, TomlReader, TomlTable};

fn mistakes<T: std::fmt::Debug>(
    source: &str,
    read: impl FnOnce(&TomlTable<'_, '_>) -> Option<T>,
) -> String {
    TomlReader::new("x.toml", source).read(read).unwrap_err().to_string()
}

#[test]
fn values_of_all_types_are_read() {
    let source = r#"
        text = "a"
        flag = true
        count = 0x10
        big = 18446744073709551615
        share = 0.5
        whole_share = 2
        time = "8.33 ms"
        size = "4k"
        rate = "210 MB/s"
        [inner]
        times = ["1us", "2us"]
    "#;
    let read = TomlReader::new("x.toml", source).read(|table| {
        let times = table.table("inner")?.list::<Nanos>("times");
        let times: Vec<_> = times.into_iter().map(|time| time.value).collect();
        assert_eq!(times, [Nanos(1000), Nanos(2000)]);
        assert_eq!(table.required::<String>("text")?, "a");
        assert!(table.required::<bool>("flag")?);
        assert_eq!(table.required::<u32>("count")?, 16);
        assert_eq!(table.required::<u64>("big")?, u64::MAX);
        assert!((table.required::<f64>("share")? - 0.5).abs() < 1e-9);
        assert!((table.required::<f64>("whole_share")? - 2.0).abs() < 1e-9);
        assert_eq!(table.required::<Nanos>("time")?, Nanos(8_330_000));
        assert_eq!(table.required::<Bytes>("size")?, Bytes(4096));
        assert_eq!(table.required::<Rate>("rate")?, Rate(210_000_000));
        assert_eq!(table.or::<u32>("absent", 7), 7);
        assert_eq!(table.optional::<u32>("absent"), None);
        Some(())
    });
    assert_eq!(read, Ok(()));
}

#[test]
fn all_mistakes_of_a_file_come_at_once_and_in_order() {
    let source = "\
name = 7
count = -1
time = \"20\"

[disk]
rmp = 7200
seek = \"8ms\"
list = \"a\"
colour = \"blue\"
";
    let found = mistakes(source, |table| {
        if let Some(disk) = table.table("disk") {
            disk.required::<u32>("rpm");
            disk.within("seek", Nanos(1)..=Nanos(1000));
            disk.list::<String>("list");
            disk.required::<bool>("cache");
        }
        table.required::<u32>("count");
        table.required::<Nanos>("time");
        table.required::<String>("name");
        table.required_table("runtime");
        Some(())
    });
    assert_eq!(
        found,
        "\
x.toml:1:1: runtime: is missing: a table
x.toml:1:8: name: expected a string, found a number
x.toml:2:9: count: expected a whole number from 0 to 18446744073709551615, found -1
x.toml:3:8: time: `20` has no unit: write `20s`, `8.33 ms` or `50us`
x.toml:5:1: disk.cache: is missing: true or false
x.toml:6:1: disk.rmp: unknown key; did you mean `rpm`?
x.toml:7:8: disk.seek: 8 ms is out of range (1 ns to 1 us)
x.toml:8:8: disk.list: expected a list in square brackets, each of it a string
x.toml:9:1: disk.colour: unknown key; known: rpm, seek, list, cache"
    );
}

#[test]
fn a_wrong_element_of_a_list_has_its_own_place() {
    let source = "times = [\n  \"1us\",\n  \"soon\",\n]";
    let found = mistakes(source, |table| Some(table.list::<Nanos>("times")));
    assert_eq!(found, "x.toml:3:3: times: `soon` is not a time: write `20s`, `8.33 ms` or `50us`");
}

#[test]
fn an_empty_list_is_not_enough_where_one_is_required() {
    let read = |table: &TomlTable<'_, '_>| Some(table.required_list::<Nanos>("times"));
    assert_eq!(mistakes("times = []", read), "x.toml:1:9: times: needs at least one element");
    assert_eq!(mistakes("", read), "x.toml:1:1: times: is missing: a list");
}

#[test]
fn a_value_where_a_table_belongs() {
    let found = mistakes("hdd = 3", |table| table.table("hdd").map(|_| ()));
    assert_eq!(found, "x.toml:1:7: hdd: expected a table, `[hdd]`");
}

#[test]
fn columns_count_characters() {
    let found = mistakes("a = [\"äöü\", 3]", |table| Some(table.list::<String>("a")));
    assert_eq!(found, "x.toml:1:13: a: expected a string, found a number");
}

#[test]
fn a_default_stands_in_only_for_what_is_absent() {
    let read = |table: &TomlTable<'_, '_>| table.within_or::<u32>("jobs", 1..=4, 9);
    assert_eq!(TomlReader::new("x.toml", "").read(read), Ok(9));
    assert_eq!(TomlReader::new("x.toml", "jobs = 2").read(read), Ok(2));
    assert_eq!(mistakes("jobs = 5", read), "x.toml:1:8: jobs: 5 is out of range (1 to 4)");
    assert_eq!(mistakes("job = 2", read), "x.toml:1:1: job: unknown key; did you mean `jobs`?");
}

#[test]
fn text_that_is_not_toml_is_said_with_its_place_and_nothing_else() {
    let found = mistakes("a = 1\nb = = 2\n", |table| table.required::<u32>("c"));
    assert!(found.starts_with("x.toml:2:5: not TOML: "), "{found}");
    assert!(!found.contains("missing"), "{found}");
    let found = mistakes("a = 1\na = 2\n", |_| Some(()));
    assert_eq!(found, "x.toml:2:1: not TOML: duplicate key");
}

#[test]
fn a_reader_that_gives_up_without_a_word_is_still_an_error() {
    assert_eq!(mistakes("", |_| None::<()>), "x.toml: cannot be read");
}

#[test]
fn places_are_kept_for_later() {
    let source = "a = 1\n[axes]\narray = [\"x\", \"y\"]";
    let read = TomlReader::new("x.toml", source).read(|table| {
        table.optional::<u32>("a");
        Some(table.table("axes")?.list::<String>("array"))
    });
    let [_, Located { place, .. }] = read.unwrap().try_into().unwrap();
    assert_eq!(place.diagnostic("is wrong").to_string(), "x.toml:3:15: axes.array: is wrong");
}

fn ask_everything(table: &TomlTable<'_, '_>) -> Option<Nanos> {
    let time = table.optional::<Nanos>("a");
    table.required_list::<String>("b");
    table.optional::<f64>("c");
    if let Some(inner) = table.table("d") {
        inner.within("a", 0..=7_u32);
        inner.list::<Rate>("b");
    }
    time
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = TomlReader::new("x.toml", &text).read(ask_everything);
    }

    /// Tests input that is nearly TOML, which gets further than random text.
    #[test]
    fn no_toml_panics(lines in prop::collection::vec("(a|b|c|d|d\\.a|\\[d\\]|ä) ?=? \
                                                      ?(1|-1|1e999|nan|\"[^\"]{0,3}\"?|\\[[1\", \
                                                      ]{0,4}\\]?|\\{a = \
                                                      1\\}|1979-05-27|0x[0-9a-f]{0,20})?", 0..6)) {
        let _ = TomlReader::new("x.toml", &lines.join("\n")).read(ask_everything);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for open in ["[", "{a = ", "a."] {
        let source = format!("a = {}", open.repeat(100_000));
        assert!(mistakes(&source, ask_everything).contains("not TOML"));
    }
}
