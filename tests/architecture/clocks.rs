//! No test asserts how long something took on a clock on the wall: on a busy machine it fails, and on a quick one it holds
//! whatever was done. Work is counted, time is virtual, or it is a bench.

use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// The assertions of a file that compare what a clock says.
#[derive(Default)]
struct Timed(Vec<String>);

impl<'ast> Visit<'ast> for Timed {
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        let name = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let said = call.tokens.to_string();
        let words: Vec<&str> = said.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        let is_timed = words.iter().any(|word| ["elapsed", "took", "duration_since"].contains(word));
        let compares = [" < ", " > ", " <= ", " >= "].iter().any(|sign| said.contains(sign));
        if name.starts_with("assert") && is_timed && compares {
            self.0.push(said);
        }
    }
}

fn timed(source: &str) -> Vec<String> {
    let mut timed = Timed::default();
    timed.visit_file(&syn::parse_file(source).expect("the source compiles, so it parses"));
    timed.0
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_test_asserts_what_a_clock_on_the_wall_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    sources(&root.join("crates"), &mut files);
    sources(&root.join("tests"), &mut files);
    // What is looked for stands here as examples.
    files.retain(|file| !file.ends_with("architecture/clocks.rs"));
    let found = files.iter().flat_map(|file| {
        let source = std::fs::read_to_string(file).expect("a source can be read");
        timed(&source).into_iter().map(move |said| format!("{}: {said}", file.display()))
    });
    let found: Vec<String> = found.collect();
    assert_eq!(found, Vec::<String>::new(), "count work, or stop the clock (`tokio::time::pause`)");
}

#[test]
fn an_assertion_about_time_is_known_by_its_words() {
    let of = |line: &str| timed(&format!("fn f() {{ {line} }}")).len();
    assert_eq!(of("assert!(began.elapsed() < Duration::from_secs(5));"), 1);
    assert_eq!(of("assert!(\ntook\n<= LIMIT, \"{took:?}\");"), 1);
    assert_eq!(of("assert!(then.duration_since(now) > LIMIT);"), 1);
    assert_eq!(of("assert_eq!(began.elapsed(), LIMIT);"), 0, "virtual time is exact");
    assert_eq!(of("assert!(steps < LIMIT); if began.elapsed() > LIMIT { return; }"), 0);
}
