//! Tests the rules that no compiler checks: the map of crates in docs/ARCHITECTURE.md agrees with
//! the manifests, lines are at most 100 columns wide, comments begin with a sentence, a name has
//! one meaning, and files from others are opened with care.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const COLUMNS: usize = 100;
/// Largest number of files that may define types with the same name.
const MEANINGS: usize = 3;
/// Beginnings of comments that are not sentences, because the subject is missing.
const FRAGMENTS: [&str; 29] = [
    "And ", "As ", "But ", "By ", "From ", "How ", "In bytes", "In ns", "It ", "Its ", "None ",
    "Not ", "Nothing ", "Of ", "One ", "Or ", "So ", "Such ", "That ", "Their ", "They ", "Those ",
    "Twice ", "What ", "Where ", "Which ", "Who ", "Whose ", "Why ",
];
/// The rows of the map stand between these two lines of docs/ARCHITECTURE.md.
const BEGIN: &str = "<!-- map of crates: written by `cargo test -p xtask` -->";
const END: &str = "<!-- end of the map -->";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above").to_owned()
}

/// Returns the text files that git tracks, by path, or none outside a checkout.
fn tracked() -> Vec<(String, String)> {
    let listed = Command::new("git").arg("-C").arg(repository()).args(["ls-files", "-z"]).output();
    let Ok(listed) = listed.map(|output| output.stdout) else { return Vec::new() };
    let paths = listed.split(|&byte| byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
    let read =
        |path: &str| Some((path.to_owned(), fs::read_to_string(repository().join(path)).ok()?));
    paths.filter(|path| !path.is_empty()).filter_map(read).collect()
}

/// Fails if a rule is broken, and says where.
fn assert_none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

/// A crate's row in the map.
struct Crate {
    folder: String,
    description: String,
    uses: BTreeSet<String>,
}

fn crates() -> BTreeMap<String, Crate> {
    let root = repository();
    let below = fs::read_dir(root.join("crates")).expect("crates/");
    let mut folders: Vec<PathBuf> = below.map(|entry| entry.expect("an entry").path()).collect();
    folders.extend([root.join("read-policies"), root.join("xtask"), root.join("fuzz")]);
    let read = |folder: &PathBuf| {
        let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        let manifest: toml::Table = text.parse().expect("a manifest");
        let package = &manifest["package"];
        let own = |name: &str| name.strip_prefix("disklab-").map(str::to_owned);
        let uses = manifest.get("dependencies").and_then(toml::Value::as_table);
        let name = package["name"].as_str().expect("a name").to_owned();
        let description = package.get("description").and_then(toml::Value::as_str);
        Some((
            own(&name).unwrap_or(name.clone()),
            Crate {
                folder: folder.strip_prefix(&root).expect("below").display().to_string(),
                description: description
                    .unwrap_or_else(|| panic!("{name}: no description"))
                    .to_owned(),
                uses: uses
                    .into_iter()
                    .flat_map(|uses| uses.keys().filter_map(|name| own(name)))
                    .collect(),
            },
        ))
    };
    folders.iter().filter_map(read).collect()
}

/// Returns the rows of the table. A crate comes after all crates that it uses.
fn map() -> String {
    let crates = crates();
    let mut floors: BTreeMap<&str, usize> = BTreeMap::new();
    while floors.len() < crates.len() {
        let before = floors.len();
        for (name, one) in &crates {
            let below: Option<Vec<usize>> =
                one.uses.iter().map(|name| floors.get(name.as_str()).copied()).collect();
            if let Some(below) = below {
                floors.insert(name, below.into_iter().max().map_or(0, |floor| floor + 1));
            }
        }
        assert!(floors.len() > before, "crates use one another in a circle");
    }
    let mut names: Vec<&str> = floors.keys().copied().collect();
    names.sort_by_key(|name| (floors[name], *name));
    let row = |name: &&str| {
        let Crate { folder, description, uses } = &crates[*name];
        let uses: Vec<&str> = uses.iter().map(String::as_str).collect();
        format!("| [`{name}`](../{folder}) | {description} | {} |\n", uses.join(", "))
    };
    let rows: String = names.iter().map(row).collect();
    format!("| crate | what it is | uses, of ours |\n| --- | --- | --- |\n{rows}")
}

/// Puts a table between its two lines of docs/ARCHITECTURE.md, and panics if another table was
/// there.
fn check_table(begin: &str, end: &str, table: &str) {
    let path = repository().join("docs/ARCHITECTURE.md");
    let text = fs::read_to_string(&path).expect("docs/ARCHITECTURE.md");
    let (before, rest) = text.split_once(begin).expect("the table's first line");
    let (_, after) = rest.split_once(end).expect("the table's last line");
    let new = format!("{before}{begin}\n\n{table}\n{end}{after}");
    if new != text {
        fs::write(&path, new).expect("docs/ARCHITECTURE.md can be written");
        panic!(
            "a table in docs/ARCHITECTURE.md was stale and is written anew: look at it, commit it"
        );
    }
}

#[test]
fn the_map_of_crates_is_that_of_the_manifests() {
    check_table(BEGIN, END, &map());
}

/// Lists the kernel files that each patch changes, and the first paragraph of its message.
fn changed_kernel_files() -> String {
    let mut rows = BTreeMap::new();
    for folder in ["guest-kernel/patches", "guest-kernel/btrfs/patches"] {
        let entries = fs::read_dir(repository().join(folder)).expect("patches");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            let is_patch = path.extension().is_some_and(|ending| ending == "patch");
            let Some(name) = path.file_name().filter(|_| is_patch) else { continue };
            let name = name.to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("a patch");
            let (message, _) = text.split_once("\n--- a/").expect("a patch with a message");
            // The first paragraph gives the reason; the subject alone does not.
            let paragraphs: Vec<&str> = message.split("\n\n").map(str::trim).collect();
            let why = if paragraphs[0].ends_with('.') { paragraphs[0] } else { paragraphs[1] };
            let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
            let files = text.lines().filter_map(|line| line.strip_prefix("+++ b/"));
            let files: Vec<String> = files.map(|file| format!("`{file}`")).collect();
            let (files, link) = (files.join(", "), format!("[`{name}`](../{folder}/{name})"));
            rows.insert((folder, name), format!("| {files} | {link} | {why} |\n"));
        }
    }
    let rows: String = rows.into_values().collect();
    format!("| files of the kernel | patch | why |\n| --- | --- | --- |\n{rows}")
}

#[test]
fn the_table_of_changed_kernel_files_is_that_of_the_patches() {
    check_table(
        "<!-- changed files of the kernel: written by `cargo test -p xtask` -->",
        "<!-- end of the changed files -->",
        &changed_kernel_files(),
    );
}

#[test]
fn lines_are_at_most_100_columns_wide() {
    let wide = |path: &str, text: &str| -> Vec<String> {
        let ending =
            Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let code = ["rs", "c", "h", "js", "py"].contains(&ending);
        let prose = ending == "md";
        // A fence in a page of results or a guide holds a program's output.
        let printed = ["docs/results", "docs/guides"].iter().any(|folder| path.starts_with(folder));
        let mut in_fence = false;
        let lines = text.lines().enumerate().filter(|(_, line)| {
            in_fence ^= line.starts_with("```");
            // Links and the rows of tables cannot be wrapped.
            let is_whole = line.contains("://") || line.trim_start().starts_with('|');
            line.chars().count() > COLUMNS && !is_whole && !(printed && in_fence)
        });
        let found = lines.map(|(number, _)| format!("{path}:{}", number + 1));
        if code || prose { found.collect() } else { Vec::new() }
    };
    let found: Vec<String> = tracked().iter().flat_map(|(path, text)| wide(path, text)).collect();
    assert_none(&found, "lines over 100 columns");
}

/// Returns the first lines of a file's doc comments, docstrings, or comments of scripts, each with
/// its number.
fn openings<'t>(path: &str, text: &'t str) -> Vec<(usize, &'t str)> {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    let marks: &[&str] = match ending {
        Some("rs") => &["///", "//!"],
        Some("py") => &["\"\"\""],
        Some("js") => &["//", "/** ", "* "],
        Some("sh" | "yml") | None => &["# "],
        _ => &[],
    };
    let lines = || text.lines().map(str::trim_start);
    let pairs = std::iter::once("").chain(lines()).zip(lines()).enumerate();
    let opening = |(index, (before, line)): (usize, (&str, &'t str))| {
        marks.iter().find_map(|mark| {
            let words = line.strip_prefix(mark)?.trim_start();
            (!before.starts_with(mark)).then_some((index + 1, words))
        })
    };
    pairs.filter_map(opening).collect()
}

#[test]
fn comments_begin_with_a_sentence() {
    let mut found = Vec::new();
    for (path, text) in tracked() {
        for (number, words) in openings(&path, &text) {
            if FRAGMENTS.iter().any(|fragment| words.starts_with(fragment)) {
                found.push(format!("{path}:{number}: {words}"));
            }
        }
    }
    assert_none(&found, "comments that begin with a fragment");
}

/// Imports of a crate's modules, by the module's path, with whether they are exported. The root is
/// the empty path.
type Imports = BTreeMap<Vec<String>, Vec<(Vec<String>, bool)>>;

/// Returns the paths of a `use` declaration, one for each leaf: `a::{b, c as d}` is `a::b` and
/// `a::c`.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let path = |text: &str| -> Vec<String> {
        let text = text.split(" as ").next().unwrap_or_default();
        text.split("::")
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect()
    };
    let Some((head, rest)) = tree.split_once('{') else { return vec![path(tree)] };
    let inside = rest.trim_end().strip_suffix('}').expect("a closing brace");
    let mut depth = 0;
    let parts = inside.split(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.trim().is_empty());
    parts.flat_map(leaves).map(|leaf| [path(head), leaf].concat()).collect()
}

/// Returns the text of a file without the items for tests.
fn without_tests(text: &str) -> String {
    let mut pieces = text.split("#[cfg(test)]\n");
    let first = pieces.next().unwrap_or_default();
    let rest = pieces.map(|piece| {
        let line = piece.lines().next().unwrap_or_default();
        let end = if line.ends_with('{') { "\n}" } else { "\n" };
        piece.split_once(end).map_or("", |(_, after)| after)
    });
    std::iter::once(first).chain(rest).collect()
}

/// Crates that read files from others open them with the crate `files` only.
#[test]
fn what_others_wrote_is_opened_with_care() {
    let readers =
        ["calibrate", "compare", "config", "disksim", "foreign", "report", "results", "stats"];
    let opens = ["File::open(", "fs::read(", "fs::read_to_string("];
    let careless = |(path, text): (String, String)| {
        let folder = path.strip_prefix("crates/")?.split_once("/src/")?.0;
        let opened = opens.iter().find(|open| without_tests(&text).contains(**open))?;
        (readers.contains(&folder) && !path.ends_with("/tests.rs"))
            .then(|| format!("{path}: {opened})"))
    };
    let found: Vec<String> = tracked().into_iter().filter_map(careless).collect();
    assert_none(&found, "files that are opened without disklab_files");
}

/// Reads the `use` declarations of all files of a crate except its tests.
fn imports(sources: &Path) -> Imports {
    let own = tracked().into_iter().filter_map(|(path, text)| {
        let path = repository().join(path);
        let path = path.strip_prefix(sources).ok()?.with_extension("");
        let mut names: Vec<String> =
            path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        names.pop_if(|name| ["mod", "lib", "main"].contains(&name.as_str()));
        let is_test = names.iter().any(|name| name == "tests");
        let text = without_tests(&text);
        let declared = text.match_indices("use ").filter_map(|(place, word)| {
            let before = text[..place].rsplit('\n').next().unwrap_or_default().trim();
            let is_declaration = before.is_empty() || before.starts_with("pub");
            let tree = text[place + word.len()..].split(';').next().filter(|_| is_declaration)?;
            Some(leaves(tree).into_iter().map(|leaf| (leaf, !before.is_empty())))
        });
        (!is_test).then(|| (names, declared.flatten().collect()))
    });
    own.collect()
}

/// Returns the module that defines a path as seen from `here`, following at most `steps` imports.
/// Returns None for a path of another crate.
fn home(imports: &Imports, here: &[String], path: &[String], steps: usize) -> Option<Vec<String>> {
    let mut at = here.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => at.clear(),
        "self" => {}
        "super" => drop(at.pop()),
        name => {
            at.push(name.to_owned());
            imports.get(&at)?;
        }
    }
    rest = &rest[1..];
    while let Some((name, further)) = rest.split_first() {
        let below = [&at[..], std::slice::from_ref(name)].concat();
        if name == "super" {
            at.pop();
        } else if imports.contains_key(&below) {
            at = below;
        } else {
            break;
        }
        rest = further;
    }
    let passed_on = rest.first().and_then(|name| {
        imports[&at].iter().find(|(import, _)| steps > 0 && import.last() == Some(name))
    });
    match passed_on {
        Some((import, _)) => home(imports, &at, import, steps - 1),
        None => Some(at),
    }
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for Crate { folder, .. } in crates().values() {
        let imports = imports(&repository().join(folder).join("src"));
        let mut uses: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
        for (name, paths) in &imports {
            let own = paths.iter().filter(|(_, is_exported)| !is_exported);
            let homes = own.filter_map(|(path, _)| home(&imports, name, path, 8));
            // All modules of a crate share its root.
            uses.insert(name, homes.filter(|home| home != name && !home.is_empty()).collect());
        }
        // A module that uses no remaining module is in no cycle.
        loop {
            let left: BTreeSet<Vec<String>> = uses.keys().map(|name| (*name).clone()).collect();
            uses.retain(|_, homes| !homes.is_disjoint(&left));
            if uses.len() == left.len() {
                break;
            }
        }
        let shown = uses.iter().map(|(name, homes)| format!("{folder} {name:?} uses {homes:?}"));
        circles.extend(shown);
    }
    assert_none(&circles, "files that use each other in a circle, and what uses them");
}

/// Returns the names of the types that a file defines.
fn types(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let mut word = words.next()?;
        if word == "pub" || word.starts_with("pub(") {
            word = words.find(|word| !word.ends_with(')'))?;
        }
        // An indented `type` belongs to a trait.
        let is_alias = word == "type" && !line.starts_with(' ');
        let is_type = is_alias || ["struct", "enum", "trait"].contains(&word);
        let name = is_type.then(|| words.next())??;
        name.split(|letter: char| !letter.is_alphanumeric()).next().filter(|name| !name.is_empty())
    })
}

#[test]
fn a_name_has_one_meaning() {
    let tracked = tracked();
    let rust = || {
        tracked
            .iter()
            .filter(|(path, _)| Path::new(path).extension().is_some_and(|ending| ending == "rs"))
    };
    let mut defined: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in rust() {
        for name in types(text) {
            defined.entry(name).or_default().insert(path);
        }
    }
    // Each crate has one Error and one Result, and each verb its Args.
    let is_many = |name: &str, files: &BTreeSet<&str>| {
        files.len() > MEANINGS && !["Error", "Result", "Args"].contains(&name)
    };
    defined.retain(|name, files| is_many(name, files));
    let many: Vec<String> =
        defined.iter().map(|(name, files)| format!("{name}: {files:?}")).collect();
    assert_none(&many, "types of one name in more than three files");

    let nameless = |line: &str| {
        let code = line.trim_start_matches(' ');
        let code = code.strip_prefix("pub").map_or(code, |rest| rest.trim_start_matches("(crate)"));
        let function = code.trim_start_matches(' ').strip_prefix("fn ").unwrap_or_default();
        ["of", "told", "at"].iter().any(|name| {
            function.strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', '<']))
        }) || [("|", "|"), ("|&", "|"), ("|", ":")]
            .iter()
            .any(|(before, after)| line.contains(&format!("{before}it{after}")))
    };
    let places = rust().flat_map(|(path, text)| {
        let lines = text.lines().enumerate().filter(|(_, line)| nameless(line));
        lines.map(move |(number, _)| format!("{path}:{}", number + 1))
    });
    let places: Vec<String> = places.collect();
    assert_none(&places, "functions called of, told or at; closures over `it`");
}
