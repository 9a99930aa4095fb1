//! Holds what the compiler does not of `docs/architecture.md`: the pure rooms stay pure, and the picture is of these crates.

#![expect(clippy::expect_used, reason = "a helper that fails fails its test")]

use std::fmt;
use std::path::{Path, PathBuf};

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};

mod checker;
mod clocks;
mod modules;
mod picture;
mod top_level;
mod tuples;

/// Rooms that see no world: everything they need is an argument.
const PURE: &[&[&str]] = &[
    &["hob", "doctor", "rules"],
    &["hob_agent", "machine"],
    &["hob_core", "policy"],
    &["hob_core", "render"],
    &["hob_memory", "rank"],
    &["hob_memory", "vectors"],
];

/// What pure rooms speak of: terms and ports, which do nothing by themselves.
const TERMS: &[&str] = &["hob_core", "domain"];

/// What a pure room does not name.
const IMPURE: &[&[&str]] = &[
    &["tokio"],
    &["rand"],
    &["sqlx"],
    &["std", "time", "SystemTime"],
    &["std", "time", "Instant"],
    &["std", "fs"],
    &["std", "env"],
    &["std", "net"],
];

/// A rule broken.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    file: PathBuf,
    line: usize,
    what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// A path as it is written, and what it means.
struct Mention {
    written: Vec<String>,
    absolute: Vec<String>,
    /// It stands in a `use`, so that a part of a name may be what is named later.
    imported: bool,
}

/// Collects the paths of a file, those within macros' arguments too.
struct Mentions {
    /// The module that is being read, its crate first.
    module: Vec<String>,
    found: Vec<Mention>,
    /// `async` or `.await` is used.
    waits: bool,
}

impl Mentions {
    fn of(module: &[&str], source: &str) -> Self {
        let file = syn::parse_file(source).expect("the source compiles, so it parses");
        let module = module.iter().map(|&part| part.to_owned()).collect();
        let mut mentions = Self { module, found: Vec::new(), waits: false };
        mentions.visit_file(&file);
        mentions
    }

    fn note(&mut self, written: Vec<String>, imported: bool) {
        let mut parts = written.iter().map(String::as_str).peekable();
        let mut absolute: Vec<String> = match parts.peek() {
            Some(&"crate") => {
                parts.next();
                self.module.first().cloned().into_iter().collect()
            }
            Some(&"self" | &"super") => self.module.clone(),
            _ => Vec::new(),
        };
        for part in parts {
            match part {
                "self" => {}
                "super" => {
                    absolute.pop();
                }
                part => absolute.push(part.to_owned()),
            }
        }
        self.found.push(Mention { written, absolute, imported });
    }

    fn tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let with = |name: &str| [prefix, &[name.to_owned()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident.to_string()), &path.tree),
            syn::UseTree::Name(name) => self.note(with(&name.ident.to_string()), true),
            syn::UseTree::Rename(name) => self.note(with(&name.ident.to_string()), true),
            syn::UseTree::Glob(_) => self.note(prefix.to_vec(), true),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(prefix, tree)),
        }
    }

    fn tokens(&mut self, mut at: Cursor<'_>) {
        while !at.eof() {
            if let Some((inside, _, _, after)) = at.any_group() {
                self.tokens(inside);
                at = after;
            } else if let Some((ident, mut after)) = at.ident() {
                let mut written = vec![ident.to_string()];
                while let Some((ident, further)) = behind_colons(after) {
                    written.push(ident);
                    after = further;
                }
                self.waits |= written == ["async"] || written == ["await"];
                self.note(written, false);
                at = after;
            } else if let Some((_, after)) = at.token_tree() {
                at = after;
            }
        }
    }
}

fn behind_colons(at: Cursor<'_>) -> Option<(String, Cursor<'_>)> {
    let (first, at) = at.punct()?;
    let (second, at) = at.punct()?;
    let (ident, at) = at.ident()?;
    (first.as_char() == ':' && second.as_char() == ':').then(|| (ident.to_string(), at))
}

impl<'ast> Visit<'ast> for Mentions {
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.note(path.segments.iter().map(|segment| segment.ident.to_string()).collect(), false);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.tokens(TokenBuffer::new2(call.tokens.clone()).begin());
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.waits |= signature.asyncness.is_some();
        visit::visit_signature(self, signature);
    }

    fn visit_expr_async(&mut self, block: &'ast syn::ExprAsync) {
        self.waits = true;
        visit::visit_expr_async(self, block);
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.waits |= closure.asyncness.is_some();
        visit::visit_expr_closure(self, closure);
    }

    fn visit_expr_await(&mut self, wait: &'ast syn::ExprAwait) {
        self.waits = true;
        visit::visit_expr_await(self, wait);
    }
}

/// The module that a file holds, its crate first: `crates/agent/src/machine/mod.rs` holds `hob_agent::machine`.
fn module_of(file: &Path) -> Vec<String> {
    let parts: Vec<&str> = file.iter().map(|part| part.to_str().expect("sources have plain names")).collect();
    let (name, inside) = match parts.as_slice() {
        ["crates", name, "src", inside @ ..] => (format!("hob_{name}"), inside),
        ["src", inside @ ..] => ("hob".to_owned(), inside),
        _ => panic!("{} belongs to no crate", file.display()),
    };
    let (last, folders) = inside.split_last().expect("a file has a name");
    let last = last.strip_suffix(".rs").expect("a source ends in .rs");
    let mut module: Vec<String> =
        [name.as_str()].into_iter().chain(folders.iter().copied()).map(str::to_owned).collect();
    if last != "mod" && !(last == "lib" && folders.is_empty()) {
        module.push(last.to_owned());
    }
    module
}

/// Checks one file, named from the workspace's root.
fn check(file: &Path, source: &str) -> Vec<Violation> {
    let module = module_of(file);
    let module: Vec<&str> = module.iter().map(String::as_str).collect();
    if !is_pure(&module) {
        return Vec::new();
    }
    let mentions = Mentions::of(&module, source);
    let violation = |line: usize, what: String| Violation { file: file.to_owned(), line, what };
    let mut violations: Vec<Violation> = Vec::new();
    for mention in &mentions.found {
        let absolute: Vec<&str> = mention.absolute.iter().map(String::as_str).collect();
        let what = match absolute.as_slice() {
            [own, _, ..] if *own == module[0] => (!is_pure(&absolute) && !absolute.starts_with(TERMS)).then(|| {
                let (module, absolute) = (module.join("::"), absolute.join("::"));
                format!("pure `{module}` imports `{absolute}`: of its own crate it may know pure rooms alone")
            }),
            outside => impurity(&module, outside, mention.imported),
        };
        violations.extend(what.map(|what| violation(line_of(source, &mention.written), what)));
    }
    if mentions.waits {
        let line = source.lines().position(|line| line.contains("async") || line.contains(".await")).unwrap_or(0) + 1;
        violations.push(violation(
            line,
            format!("pure `{}` waits: return what is to be done, and let the caller await it", module.join("::")),
        ));
    }
    violations.dedup();
    violations
}

fn is_pure(module: &[&str]) -> bool {
    PURE.iter().any(|pure| module.starts_with(pure))
}

/// Whether a pure room names the world.
fn impurity(module: &[&str], path: &[&str], imported: bool) -> Option<String> {
    // Outside of a `use`, a single word is a variable as well as a crate.
    let whole = path.len() > 1 || imported;
    let named = IMPURE.iter().any(|world| path.starts_with(world) || (imported && world.starts_with(path)));
    (whole && named).then(|| {
        format!(
            "pure `{}` uses `{}`: what it tells must come in as an argument or an event",
            module.join("::"),
            path.join("::")
        )
    })
}

/// The line where the path is written, from 1; its parts may stand in a group: `use crate::{store::Db, …}`.
fn line_of(source: &str, written: &[String]) -> usize {
    let code = || source.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    for parts in (2..=written.len()).rev() {
        let joined = written[..parts].join("::");
        if let Some((line, _)) = code().find(|(_, line)| line.contains(&joined)) {
            let deepest = written.last().filter(|_| parts < written.len());
            let within = |(_, text): &(usize, &str)| deepest.is_some_and(|name| text.contains(name.as_str()));
            return code().skip_while(|(at, _)| *at < line).find(within).map_or(line, |(at, _)| at) + 1;
        }
    }
    let root = written.first().map(|root| format!("{root}::{{")).unwrap_or_default();
    let open = code().find(|(_, line)| line.contains(&root)).map_or(0, |(line, _)| line);
    let name = written.get(1).cloned().unwrap_or_default();
    code().skip_while(|(at, _)| *at < open).find(|(_, line)| line.contains(&name)).map_or(open, |(at, _)| at) + 1
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the sources are readable") {
        let path = entry.expect("the sources are readable").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The workspace's own sources, named from its root.
fn own_sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    for entry in std::fs::read_dir(root.join("crates")).expect("the crates are readable") {
        sources(&entry.expect("the crates are readable").path().join("src"), &mut files);
    }
    files.iter().map(|file| file.strip_prefix(root).expect("it was found there").to_owned()).collect()
}

#[test]
fn pure_rooms_are_pure() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = own_sources();
    files.sort();
    let of = |pure: &&[&str]| {
        files.iter().any(|file| module_of(file).iter().map(String::as_str).collect::<Vec<_>>().starts_with(pure))
    };
    assert!(PURE.iter().all(of), "a pure room was moved: name it in PURE as it is called now");
    let mut found = Vec::new();
    for file in &files {
        let source = std::fs::read_to_string(root.join(file)).expect("the sources are readable");
        found.extend(check(file, &source));
    }
    let report: Vec<String> = found.iter().map(Violation::to_string).collect();
    assert!(found.is_empty(), "the layout of docs/architecture.md is broken:\n{}", report.join("\n"));
}
