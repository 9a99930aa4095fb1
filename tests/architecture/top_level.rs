//! What stands at the top level of the repository, and what its documents may not leave out or name in vain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What the card names.
const AGREED: [&str; 7] =
    ["Cargo.toml", "src", "migrations", "config.example.toml", "systemd", "Dockerfile", "README.md"];

/// What stands there besides (`docs/rows.toml`, K6).
const BESIDE: [&str; 13] = [
    "CHANGELOG.md",
    "Cargo.lock",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "benches",
    "clippy.toml",
    "crates",
    "docs",
    "fuzz",
    "proptest-regressions",
    "rustfmt.toml",
    "scripts",
    "tests",
];

/// What is made there and not kept.
const MADE: [&str; 1] = ["target"];

#[test]
fn k6_the_top_level_is_as_agreed_and_nothing_strange_stands_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let there = fs::read_dir(root).expect("the repository can be read");
    let names = there.map(|entry| entry.expect("an entry can be read").file_name().to_string_lossy().into_owned());
    let there: BTreeSet<String> = names.filter(|name| !name.starts_with('.')).collect();
    let known = || AGREED.iter().chain(&BESIDE);
    let missing: Vec<&&str> = known().filter(|name| !there.contains(**name)).collect();
    let is_known = |name: &String| known().chain(&MADE).any(|known| known == name);
    let strange: Vec<&String> = there.iter().filter(|name| !is_known(name)).collect();
    assert!(missing.is_empty() && strange.is_empty(), "missing: {missing:?}, strange: {strange:?}");
}

#[test]
fn no_section_is_off_in_silence() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(root.join(name)).expect("the repository has it");
    let (example, table) = (read("config.example.toml"), read("docs/off.md"));
    let rows: Vec<&str> =
        table.lines().filter(|line| line.starts_with("| ") && line.matches(" | ").count() == 2).collect();
    // In the example a section that is off begins with a hash.
    let off =
        example.lines().filter_map(|line| line.strip_prefix("#[")?.trim_start_matches('[').split([']', '.']).next());
    let off: BTreeSet<&str> = off.collect();
    assert!(off.len() > 15, "{off:?}");
    let is_told = |name: &&str| {
        rows.iter().any(|row| row.contains(&format!("`[{name}]`")) || row.contains(&format!("`[[{name}]]`")))
    };
    let untold: Vec<&&str> = off.iter().filter(|name| !is_told(name)).collect();
    assert!(untold.is_empty(), "docs/off.md does not say why these are off: {untold:?}");
}

#[test]
fn what_the_documents_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["docs", "docs/decisions"].into_iter().flat_map(|folder| {
        let there = fs::read_dir(root.join(folder)).expect("the documents can be read");
        there.map(|entry| entry.expect("an entry can be read").path())
    });
    let pages = pages.filter(|page| page.extension().is_some_and(|ending| ending == "md"));
    let mut named = 0;
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page is text");
        // Between backquotes stands every second piece.
        let paths = text.split('`').skip(1).step_by(2).filter(|code| {
            ["crates/", "src/", "tests/", "scripts/"].iter().any(|folder| code.starts_with(folder))
                && !code.contains([' ', '*', '{'])
        });
        for path in paths {
            named += 1;
            assert!(root.join(path).exists(), "{} names {path}", page.display());
        }
    }
    assert!(named > 100, "{named}");
}
