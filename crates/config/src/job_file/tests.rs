use super::*;

const MIXED: &str = "; readers beside a writer
[global]
bs=4k   # of both
size=8m
ioengine=libaio
direct=1

[readers]
rw=randread
bssplit=4k/60:64k/40
random_distribution=zipf:1.2
numjobs=2
iodepth=8
time_based

[writers]
rw=randwrite
blocksize=16k
rate_iops=100
offset=50%
size=4m
verify=crc32c
group_reporting
[last]
stonewall
name=check
";

fn parse(text: &str) -> Result<JobFile, String> {
    JobFile::parse(text, None).map_err(|mistakes| mistakes.join("\n"))
}

#[test]
fn sections_have_the_globals_before_them() {
    let file = parse(MIXED).unwrap();
    assert_eq!((file.file_size, groups(&file.sections)), (Bytes::mib(8), 2));
    let names: Vec<&str> = file.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, ["readers", "writers", "check"]);
    let readers = &file.sections[0];
    assert_eq!(
        readers.options,
        [
            "bs=4k",
            "ioengine=libaio",
            "direct=1",
            "rw=randread",
            "bssplit=4k/60:64k/40",
            "random_distribution=zipf:1.2",
            "numjobs=2",
            "iodepth=8"
        ]
    );
    assert!(readers.time_based && !readers.stonewall && file.sections[2].stonewall);
    assert_eq!((file.jobs[0].bs, file.jobs[0].depth()), (Bytes::kib(64), 8));
    let writers = &file.sections[1];
    assert!(writers.options.contains(&"bs=16k".to_owned()), "{writers:?}");
    assert!(!writers.options.contains(&"bs=4k".to_owned()), "{writers:?}");
    assert!(!writers.options.contains(&"group_reporting".to_owned()), "{writers:?}");
    assert_eq!(writers.size, Bytes::mib(4));
    // The offset is half of 8 MiB, in whole blocks.
    assert!(writers.options.contains(&"offset=4190208".to_owned()), "{writers:?}");
}

#[test]
fn the_workload_may_say_how_large_the_file_is() {
    let halves = "[a]\nsize=25%\n[b]\noffset=50%\n";
    assert!(parse(halves).unwrap_err().contains("nothing says how large"));
    let file = JobFile::parse(halves, Some(Bytes::mib(100))).unwrap();
    assert_eq!(file.sections[0].size, Bytes::mib(25));
    assert_eq!(file.sections[1].size, Bytes::mib(50));
    let small = JobFile::parse("[a]\nsize=2m\noffset=1m\n", Some(Bytes::mib(2))).unwrap_err();
    assert!(small[0].contains("works on 2 MiB from 1 MiB on, and the file has 2 MiB"), "{small:?}");
}

#[test]
fn what_is_no_data_is_refused_with_its_reason() {
    for (line, why) in [
        ("filename=/dev/sda", "line 3: `filename` is not supported: disklab lays one file out"),
        ("exec_prerun=reboot", "programs and files of others"),
        ("write_bw_log=x", "keeps the results"),
        ("runtime=60", "the suite's `runtime`"),
        ("ioengine=net", "`ioengine=net` is not supported"),
        ("rw=trim", "`rw=trim` is not supported"),
        ("bs=$ncpus", "read files and the environment"),
        ("size=${HOME}", "read files and the environment"),
        ("bs=`reboot`", "run programs"),
        ("buffer_pattern='/etc/shadow'", "read files"),
        ("random_distibution=zipf", "did you mean `random_distribution`"),
        ("bs=1", "blocks have from 512 bytes"),
        ("bs=4ki", "blocks have from 512 bytes"),
        ("numjobs=0", "out of range (1 to 256)"),
        ("numjobs=99999999999", "out of range (1 to 256)"),
        ("size=99999999999t", "a size is a number"),
        ("size=101%", "a size is a number"),
        ("[b", "a section is `[name]`"),
        ("[b c]", "a section's name has"),
        ("name=global", "a section's name has"),
        ("[a]", "is given twice"),
    ] {
        let said = parse(&format!("[a]\nsize=1m\n{line}\n")).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    assert!(parse("rw=read\n").unwrap_err().contains("line 1: `rw=read` is in no section"));
    assert!(parse("[global]\nsize=1m\n").unwrap_err().contains("no section besides [global]"));
    let many: Vec<String> = (0..5000).map(|number| format!("[s{number}]\nsize=1m\n")).collect();
    let many = many.concat();
    assert!(parse(&many).unwrap_err().contains("sections are out of range (1 to 64)"));
}

#[test]
fn each_key_has_one_fate() {
    let refused = REFUSED.iter().flat_map(|(keys, _)| keys.split(' '));
    let mut seen = BTreeSet::new();
    for key in TAKEN.iter().copied().chain(IGNORED.iter().copied()).chain(refused) {
        assert!(seen.insert(key), "{key} is given twice");
        assert_eq!(keys::usual(key), key, "another name");
    }
    assert!(TAKEN.is_sorted());
}

/// Tests that docs/FORMAT.md lists exactly the keys that are taken, ignored and refused here.
#[test]
fn the_documents_have_the_keys() {
    let format = include_str!("../../../../docs/FORMAT.md");
    let code =
        |keys: Vec<&str>| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let row = |keys: Vec<&str>, what: &str| format!("| {} | {what} |", code(keys));
    let rows = [row(TAKEN.to_vec(), "taken"), row(IGNORED.to_vec(), "taken, without effect")];
    let refused = REFUSED.iter().map(|(keys, why)| row(keys.split(' ').collect(), why));
    for row in rows.into_iter().chain(refused) {
        assert!(format.contains(&row), "docs/FORMAT.md lacks the row\n{row}");
    }
}

mod any_text {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Tests that each part of a file that is taken is a section of the file, in plain words,
        /// whatever the file holds.
        #[test]
        fn is_refused_or_plain(text in "(\\[[a-z\\]]{0,3}|[a-z_]{0,9}=?[0-9a-z%$`'/:.,-]{0,9}|\
                                        (size|bs|offset|numjobs|offset_increment|bssplit)\
                                        =[0-9]{1,20}[kmgt%]?|\\PC|\n){0,30}") {
            for given in [None, Some(Bytes::mib(64))] {
                let Ok(file) = JobFile::parse(&text, given) else { continue };
                for section in &file.sections {
                    prop_assert!(section.size.0 > 0 && section.size <= file.file_size);
                    for option in &section.options {
                        let key = option.split('=').next().unwrap_or_default();
                        prop_assert!(TAKEN.contains(&key));
                        prop_assert!(!option.contains(['$', '`', '\'', '"', ' ', '\\']));
                    }
                }
            }
        }
    }
}
