//! Functions that take several things as one tuple slip past clippy's limit of arguments, and nothing says what the things are
//! together. Those that are there may only become fewer: give what belongs together a struct with a name, or take fewer.

use std::path::Path;

use syn::visit::{self, Visit};
use syn::{FnArg, Pat, Signature};

use crate::sources;

/// As many as there were when this was last looked at. It may only fall.
const MOST: usize = 113;
/// So many fewer go unnoticed; then the number above is to be lowered.
const SLACK: usize = 12;

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
fn parameters_that_are_tuples_only_become_fewer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        sources(&root.join(folder), &mut files);
    }
    let found: usize =
        files.iter().map(|file| tuples(&std::fs::read_to_string(file).expect("a source can be read"))).sum();
    assert!(found <= MOST, "{found} parameters are tuples, and {MOST} may be: name what belongs together");
    assert!(found + SLACK > MOST, "only {found} parameters are tuples: write that down as the most that there may be");
}

#[test]
fn a_tuple_parameter_is_seen_in_functions_methods_and_traits() {
    assert_eq!(tuples("fn f((a, b): (u8, u8), c: (u8, u8)) { let g = |(d, e): (u8, u8)| d; }"), 1);
    assert_eq!(tuples("impl T { fn f(&self, (a, b): (u8, u8)) {} } trait U { fn g((a, b): (u8, u8)) {} }"), 2);
    assert_eq!(tuples("fn f(Point { x, y }: Point) { fn g((a,): (u8,)) {} }"), 1);
}
