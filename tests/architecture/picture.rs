//! The picture of the crates in docs/architecture.md is what cargo says of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use hob_config::environment::Environment;
use serde_json::Value;

const OPENS: &str = "<!-- crates: checked by tests/architecture -->\n```text\n";

/// Which crate of the workspace knows which.
fn known() -> BTreeMap<String, Vec<String>> {
    let cargo = Environment::of_process().text("CARGO").unwrap_or("cargo").to_owned();
    let told = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let told: Value = serde_json::from_slice(&told.stdout).expect("cargo answers in JSON");
    let name = |value: &Value| value["name"].as_str().expect("everything has a name").to_owned();
    let own = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("a list");
        let own = dependencies.iter().filter(|known| known["path"].is_string() && known["kind"].is_null());
        let mut own: Vec<String> = own.map(|known| name(known).trim_start_matches("hob-").to_owned()).collect();
        own.sort();
        own
    };
    let packages = told["packages"].as_array().expect("a list");
    packages.iter().map(|package| (name(package).trim_start_matches("hob-").to_owned(), own(package))).collect()
}

/// The crates from the lowest on, each with those that it knows.
fn drawn() -> String {
    let (mut known, mut lines, mut placed) = (known(), Vec::new(), Vec::new());
    while !known.is_empty() {
        let level: Vec<String> = known
            .iter()
            .filter(|(_, below)| below.iter().all(|name| placed.contains(name)))
            .map(|(name, _)| name.clone())
            .collect();
        assert!(!level.is_empty(), "cargo allows no circle");
        for name in level {
            let below = known.remove(&name).unwrap_or_default();
            lines.push(format!("{name:<10} {}", below.join(" ")).trim_end().to_owned());
            placed.push(name);
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_picture_is_of_these_crates() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(OPENS).expect("the picture is marked");
    let (shown, after) = rest.split_once("```").expect("the picture ends");
    let drawn = drawn();
    if shown != drawn && Environment::of_process().get("UPDATE_PICTURE").is_some() {
        std::fs::write(&path, format!("{before}{OPENS}{drawn}```{after}")).expect("the page can be written");
        return;
    }
    assert_eq!(shown, drawn, "docs/architecture.md: UPDATE_PICTURE=1 cargo nextest run --test architecture");
}
