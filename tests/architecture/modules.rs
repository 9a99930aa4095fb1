//! A source that no other one names is compiled by nothing: its tests say nothing, and nobody notices.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Expr, ItemMod, Lit, Meta};

use crate::sources;

/// What cargo compiles by itself: `lib.rs`, `main.rs`, and what stands in a folder of tests, benches or targets.
fn is_root(file: &Path) -> bool {
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
    let name = file.file_name().unwrap_or_default();
    name == "lib.rs" || name == "main.rs" || ["tests", "benches", "fuzz_targets"].iter().any(|roots| folder == *roots)
}

/// The files that the modules of a file may be in.
struct Modules {
    /// Where a module without a path of its own is.
    inside: PathBuf,
    /// What a path is relative to.
    beside: PathBuf,
    named: BTreeSet<PathBuf>,
}

impl Modules {
    fn of(file: &Path, source: &str) -> BTreeSet<PathBuf> {
        let beside = file.parent().expect("a file is in a folder").to_path_buf();
        let has_folder = is_root(file) || file.file_name().is_some_and(|name| name == "mod.rs");
        let inside = if has_folder { beside.clone() } else { file.with_extension("") };
        let mut modules = Self { inside, beside, named: BTreeSet::new() };
        modules.visit_file(&syn::parse_file(source).expect("a source is Rust"));
        modules.named
    }
}

impl<'ast> Visit<'ast> for Modules {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let name = module.ident.to_string();
        if module.content.is_some() {
            self.inside.push(&name);
            visit::visit_item_mod(self, module);
            self.inside.pop();
            return;
        }
        let path = module.attrs.iter().find_map(|attribute| match &attribute.meta {
            Meta::NameValue(path) if path.path.is_ident("path") => match &path.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(path) => Some(self.beside.join(path.value())),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        });
        match path {
            Some(path) => self.named.extend(path.canonicalize()),
            None => self.named.extend([self.inside.join(format!("{name}.rs")), self.inside.join(&name).join("mod.rs")]),
        }
    }
}

#[test]
fn every_source_is_a_module_of_something() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        sources(&root.join(folder), &mut files);
    }
    let text = |file: &PathBuf| std::fs::read_to_string(file).expect("a source can be read");
    let named: BTreeSet<PathBuf> = files.iter().flat_map(|file| Modules::of(file, &text(file))).collect();
    files.retain(|file| !is_root(file) && !named.contains(file));
    assert!(files.is_empty(), "name them, or let them go: {files:?}");
}

#[test]
fn a_module_is_found_where_rust_looks_for_it() {
    let of = |file: &str, source: &str| {
        let named = Modules::of(Path::new(file), source);
        named.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of("/x/src/lib.rs", "pub mod a;"), "/x/src/a/mod.rs /x/src/a.rs");
    assert_eq!(of("/x/src/a.rs", "mod b;"), "/x/src/a/b/mod.rs /x/src/a/b.rs");
    assert_eq!(of("/x/src/a/mod.rs", "mod b;"), "/x/src/a/b/mod.rs /x/src/a/b.rs");
    assert_eq!(of("/x/tests/a/main.rs", "mod b;"), "/x/tests/a/b/mod.rs /x/tests/a/b.rs");
    assert_eq!(of("/x/src/a.rs", "mod b { mod c; }"), "/x/src/a/b/c/mod.rs /x/src/a/b/c.rs");
}
