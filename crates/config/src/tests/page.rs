//! `docs/config.md` is what the types say.

use std::path::Path;

use crate::environment::Environment;
use crate::reference_page::page;

/// Set to make the file again.
const UPDATE: &str = "UPDATE_EXAMPLE";

#[test]
fn n7_the_page_is_what_the_types_say() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("docs/config.md");
    if Environment::of_process().get(UPDATE).is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let file = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(file == page(), "docs/config.md is out of date: {UPDATE}=1 cargo nextest run --lib what_the_types_say");
}
