use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn disk(serial: Option<&str>) -> Disk {
    Disk {
        named: "/dev/sdb".into(),
        name: "sdb".to_owned(),
        number: (8, 16),
        bytes: Bytes::gib(1),
        rotational: true,
        model: Some("a \"model\"".to_owned()),
        serial: serial.map(str::to_owned),
    }
}

/// Pretends that these paths lead to sdb and sdc.
fn behind(path: &Path) -> Option<(u32, u32)> {
    match path.to_str().unwrap() {
        "/dev/disk/by-id/b" | "/dev/sdb" => Some((8, 16)),
        "/dev/sdc" => Some((8, 32)),
        _ => None,
    }
}

fn parse(text: &str) -> Result<Allow, Error> {
    Allow::parse(Path::new("allow.toml"), text)
}

fn permits(text: &str, disk: &Disk) -> Result<(), Why> {
    parse(text).unwrap().permits_by(disk, behind)
}

fn listed(path: &str, serial: &str) -> String {
    format!("[[device]]\npath = \"{path}\"\nserial = \"{serial}\"\n")
}

#[test]
fn format_has_the_keys_of_an_entry() {
    let read = |text: &str| {
        let read = |top: &TomlTable<'_, '_>| top.tables("device").iter().map(entry).collect();
        let entries: Vec<AllowedDevice> = TomlReader::new("file", text).read(read)?;
        Ok(format!("{entries:?}"))
    };
    let file = listed("/dev/sdb", "ABC") + "size = \"1 GiB\"";
    disklab_testkit::format::compare("## The allow file", &[&file], &read);
}

#[test]
fn a_disk_is_permitted_by_its_path_and_its_serial() {
    let disk = disk(Some("S1"));
    assert_eq!(permits(&listed("/dev/disk/by-id/b", "S1"), &disk), Ok(()));
    let with_size =
        |size: u64| listed("/dev/sdb", "S1") + &format!("size = \"{size}\"\nnote = \"mine\"\n");
    assert_eq!(permits(&with_size(1 << 30), &disk), Ok(()));
    let why = permits(&with_size(5), &disk).unwrap_err();
    assert!(matches!(why, Why::WrongSize { given: Bytes(5), .. }), "{why}");
    for (text, absent) in
        [("", true), (&listed("/dev/sdc", "S1"), true), (&listed("/dev/gone", "S1"), true)]
    {
        assert_eq!(matches!(permits(text, &disk), Err(Why::NotAllowed { .. })), absent, "{text}");
    }
    // The path led to another disk when the file was written.
    let why = permits(&listed("/dev/sdb", "S2"), &disk).unwrap_err();
    assert!(
        why.to_string().contains("gives the serial `S2` for /dev/sdb, but the disk there has `S1`"),
        "{why}"
    );
    // A single right entry is enough, in any order.
    let both = [listed("/dev/sdb", "S2"), listed("/dev/disk/by-id/b", "S1")];
    assert_eq!(permits(&both.concat(), &disk), Ok(()));
    assert_eq!(permits(&[both[1].clone(), both[0].clone()].concat(), &disk), Ok(()));
}

#[test]
fn one_without_a_serial_is_told_by_its_size() {
    let sized = |size: u64| listed("/dev/sdb", "none") + &format!("size = \"{size}\"\n");
    assert_eq!(permits(&sized(1 << 30), &disk(None)), Ok(()));
    assert!(matches!(permits(&sized((1 << 30) + 512), &disk(None)), Err(Why::WrongSize { .. })));
    assert!(matches!(permits(&sized(1 << 30), &disk(Some("S1"))), Err(Why::WrongSerial { .. })));
    assert!(matches!(
        permits(&listed("/dev/sdb", "S1"), &disk(None)),
        Err(Why::WrongSerial { .. })
    ));
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = "[[device]]\npath = \"sdb\"\nserial = \"S1\"\n\n[[device]]\npath = \
        \"/dev/sdc\"\nserial = \"none\"\n\n\
                [[device]]\npath = \"/dev/sdd\"\nserail = \"S1\"\n\n[[device]]\npath = \
                \"/dev/sde\"\nserial = \" \"\n\
                \n[[device]]\npath = \"/dev/sdf\"\nserial = \"S\"\nsize = \"5 XB\"\n[devices]\n";
    let said = parse(text).unwrap_err().to_string();
    for part in [
        "allow.toml:2:8: device.path: it must begin with `/`",
        "allow.toml:7:10: device.serial: without a serial, the disk is identified by its exact",
        "allow.toml:11:1: device.serail: unknown key; did you mean `serial`?",
        "allow.toml:15:10: device.serial: it is empty",
        "device.size: ",
        "devices: unknown key; did you mean `device`?",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(parse("device = 1").is_err() && parse("[[device").is_err());
    assert_eq!(parse("").unwrap().entries, []);
}

#[test]
fn the_lines_for_a_disk_permit_it() {
    let without = Disk { bytes: Bytes(4_000_787_030_016), ..disk(None) };
    for disk in [disk(Some("S1")), disk(Some("loop:254:0:7:/a \"b\" \\c'\n")), without] {
        assert_eq!(permits(&lines(&disk), &disk), Ok(()), "{}", lines(&disk));
    }
    assert!(
        lines(&disk(Some("S1"))).starts_with("[[device]]\npath = \"/dev/sdb\"\nserial = \"S1\"\n")
    );
}

#[test]
fn a_file_that_others_can_write_is_not_believed() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("devices.toml");
    fs::write(&file, listed("/dev/sdb", "S1")).unwrap();
    let mode =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let read = || Allow::load(Some(&file)).map(|allow| allow.entries.len());
    mode(&file, 0o644);
    assert_eq!(read().unwrap(), 1);
    for (bits, said) in
        [(0o664, "others may write it (mode 664)"), (0o646, "others may write it (mode 646)")]
    {
        mode(&file, bits);
        let error = read().unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("chmod go-w"), "{error}");
    }
    mode(&file, 0o600);
    mode(place.path(), 0o777);
    assert!(read().unwrap_err().to_string().contains("others may write its folder"));
    mode(place.path(), 0o1777);
    assert_eq!(read().unwrap(), 1, "others cannot replace it there");
    mode(place.path(), 0o700);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&file, Some(12_345), None).unwrap();
        assert!(read().unwrap_err().to_string().contains("it belongs to user 12345"));
    } else {
        disklab_testkit::skipped_without_root("only root gives files away");
    }
}

#[test]
fn what_is_no_file_is_no_list() {
    let place = tempfile::tempdir().unwrap();
    let error = Allow::load(Some(place.path())).unwrap_err().to_string();
    assert!(error.contains("cannot be read: it is not a file"), "{error}");
    let error = Allow::load(Some(&place.path().join("none"))).unwrap_err().to_string();
    assert!(error.contains("none: cannot be read: No such file"), "{error}");
    let pipe = place.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert!(Allow::load(Some(&pipe)).unwrap_err().to_string().contains("it is not a file"));
    let long = place.path().join("long");
    fs::write(&long, vec![b'#'; (1 << 20) + 1]).unwrap();
    assert!(Allow::load(Some(&long)).unwrap_err().to_string().contains("longer than 1 MiB"));
}

#[test]
fn the_usual_place_is_in_the_users_configuration() {
    let at = |config: &str, home: &str| usual(Some(config.into()), Some(home.into())).ok();
    assert_eq!(at("/c", "/h"), Some("/c/disklab/devices.toml".into()));
    assert_eq!(at("relative", "/h"), Some("/h/.config/disklab/devices.toml".into()));
    assert_eq!(at("", ""), None);
    assert!(usual(None, None).unwrap_err().to_string().contains("--allow"));
}
