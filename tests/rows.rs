//! `docs/rows.md`: what Hob must do, and the tests that prove it, by the ids that the tests' names begin with.
//!
//! `UPDATE_ROWS=1` writes it anew.

#![expect(clippy::unwrap_used, reason = "a test ends with what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use hob_config::environment::Environment;

/// Where rows are proven.
const ROOMS: [&str; 3] = ["crates", "src", "tests"];

/// A row: its id and its words.
type Row = (String, String);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The groups of rows in their order, each with its title.
fn groups() -> Vec<(String, Vec<Row>)> {
    let text = fs::read_to_string(root().join("docs/rows.toml")).unwrap();
    let all: toml::Table = text.parse().unwrap();
    // The order of the file is the order of the page.
    let mut found = Vec::new();
    for letter in text.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')) {
        let group = all[letter].as_table().unwrap();
        let mut rows: Vec<Row> = group
            .iter()
            .filter(|(id, _)| *id != "title")
            .map(|(id, words)| (id.clone(), words.as_str().unwrap().to_owned()))
            .collect();
        rows.sort_by_key(|(id, _)| id[1..].parse::<u32>().unwrap());
        found.push((format!("{letter}. {}", group["title"].as_str().unwrap()), rows));
    }
    found
}

/// The names of the tests in a file, be they functions or laws within `proptest!`.
fn tests_in(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut marked = false;
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
        } else if marked && let Some(name) = function(line) {
            names.push(name.to_owned());
            marked = false;
        }
    }
    names
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    let rest = rest.strip_prefix("async ").unwrap_or(rest).strip_prefix("fn ")?;
    let end = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_')?;
    Some(&rest[..end])
}

/// The rows that a test's name says it proves: `a5_d4_…` is about two.
fn proven<'a>(name: &str, known: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let ids = name.split('_').map_while(|part| known.get(part.to_uppercase().as_str()).copied());
    ids.collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The tests of each row: id to (file, name).
fn proofs(known: &BTreeSet<&str>) -> BTreeMap<String, Vec<(String, String)>> {
    let mut files = Vec::new();
    for room in ROOMS {
        sources(&root().join(room), &mut files);
    }
    let mut proofs: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    // What this file holds are texts about tests.
    for path in files.into_iter().filter(|path| !path.ends_with(file!())) {
        let file = path.strip_prefix(root()).unwrap().display().to_string();
        for name in tests_in(&fs::read_to_string(&path).unwrap()) {
            for id in proven(&name, known) {
                proofs.entry(id.to_owned()).or_default().push((file.clone(), name.clone()));
            }
        }
    }
    proofs
}

fn page() -> String {
    let groups = groups();
    let known: BTreeSet<&str> = groups.iter().flat_map(|(_, rows)| rows).map(|(id, _)| id.as_str()).collect();
    let proofs = proofs(&known);
    let mut page = String::from(
        "# What Hob must do, and what proves it\n\n\
         Made from `docs/rows.toml` and the names of the tests by `tests/rows.rs` (`UPDATE_ROWS=1` writes it anew).\n",
    );
    let mut open = Vec::new();
    for (title, rows) in &groups {
        writeln!(page, "\n## {title}").unwrap();
        for (id, words) in rows {
            writeln!(page, "\n**{id}** {words}.\n").unwrap();
            let Some(tests) = proofs.get(id) else {
                open.push(id.as_str());
                writeln!(page, "- no test yet").unwrap();
                continue;
            };
            let files: BTreeSet<&String> = tests.iter().map(|(file, _)| file).collect();
            for file in files {
                let names = tests.iter().filter(|(of, _)| of == file).map(|(_, name)| format!("`{name}`"));
                writeln!(page, "- {file}: {}", names.collect::<Vec<_>>().join(", ")).unwrap();
            }
        }
    }
    writeln!(page, "\n## Not covered yet\n").unwrap();
    let open = if open.is_empty() { "Nothing".to_owned() } else { open.join(", ") };
    writeln!(page, "{open}.").unwrap();
    page
}

#[test]
fn the_page_is_what_the_tests_say() {
    let path = root().join("docs/rows.md");
    let page = page();
    if Environment::of_process().get("UPDATE_ROWS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == page, "docs/rows.md is stale: UPDATE_ROWS=1 cargo nextest run --test rows");
}

#[test]
fn tests_are_found_by_their_marks() {
    let source = "
        #[test]
        fn a1_plain() {}
        fn a2_helper() {}
        #[tokio::test(start_paused = true)]
        #[expect(clippy::x, reason = \"y\")]
        async fn a3_waits() {}
        proptest! {
            /// A law.
            #[test]
            fn a4_law(x in 0..3) {}
        }
        // #[test]
        fn a5_no_test() {}
        #[test]
        pub fn nothing<T>() {}";
    assert_eq!(tests_in(source), ["a1_plain", "a3_waits", "a4_law", "nothing"]);
}

#[test]
fn ids_match_whole() {
    let known = BTreeSet::from(["B1", "B12", "A5"]);
    let table: [(&str, &[&str]); 7] = [
        ("b1_retries", &["B1"]),
        ("b12_notes", &["B12"]),
        ("b123_nothing", &[]),
        ("b1", &["B1"]),
        ("a5_b1_both", &["A5", "B1"]),
        ("the_b1_later", &[]),
        ("a5x_b1", &[]),
    ];
    for (name, expected) in table {
        assert_eq!(proven(name, &known), expected, "{name}");
    }
}
