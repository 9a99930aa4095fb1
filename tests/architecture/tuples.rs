//! A function that takes several things as one tuple slips past clippy's limit of arguments, and nothing says what the things are
//! together: they are arguments, or a struct with a name.

use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{FnArg, Pat, Signature};

use crate::sources;

/// Counts parameters that are taken apart where they are declared.
#[derive(Default)]
struct Tuples {
    found: usize,
}

impl<'ast> Visit<'ast> for Tuples {
    fn visit_signature(&mut self, signature: &'ast Signature) {
        let is_tuple = |input: &&FnArg| matches!(input, FnArg::Typed(typed) if matches!(*typed.pat, Pat::Tuple(_)));
        self.found += signature.inputs.iter().filter(is_tuple).count();
        visit::visit_signature(self, signature);
    }
}

fn tuples(source: &str) -> usize {
    let mut tuples = Tuples::default();
    tuples.visit_file(&syn::parse_file(source).expect("a source is Rust"));
    tuples.found
}

#[test]
fn no_parameter_is_a_tuple() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        sources(&root.join(folder), &mut files);
    }
    let text = |file: &PathBuf| std::fs::read_to_string(file).expect("a source can be read");
    files.retain(|file| tuples(&text(file)) > 0);
    assert!(files.is_empty(), "name what belongs together, in {files:?}");
}

#[test]
fn a_tuple_parameter_is_seen_in_functions_methods_and_traits() {
    assert_eq!(tuples("fn f((a, b): (u8, u8), c: (u8, u8)) { let g = |(d, e): (u8, u8)| d; }"), 1);
    assert_eq!(tuples("impl T { fn f(&self, (a, b): (u8, u8)) {} } trait U { fn g((a, b): (u8, u8)) {} }"), 2);
    assert_eq!(tuples("fn f(Point { x, y }: Point) { fn g((a,): (u8,)) {} }"), 1);
}
