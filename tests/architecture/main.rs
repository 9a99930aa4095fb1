//! Holds the layout of `docs/architecture.md`: a module imports only lower ranks, and the pure rooms stay pure.

#![expect(clippy::expect_used, reason = "a helper that fails fails its test")]

use std::fmt;
use std::path::{Path, PathBuf};

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};

mod checker;
mod clocks;

/// The rank of every top-level module. A new module gets its rank here.
const RANKS: &[(&str, u8)] = &[
    ("domain", 0),
    ("policy", 1),
    ("render", 1),
    ("config", 1),
    ("telemetry", 1),
    ("store", 2),
    ("backup", 3),
    ("model", 3),
    ("memory", 4),
    ("tool", 5),
    ("skill", 5),
    ("agent", 6),
    ("router", 7),
    ("schedule", 7),
    ("channel", 8),
    ("web", 8),
    ("daemon", 9),
    // It looks at all that a daemon is built of, by the daemon's own code.
    ("doctor", 10),
    ("cli", 11),
    // One above the commands, of which it starts one.
    ("main", 12),
];

/// Rooms whose children do not know each other.
const STRANGERS_WITHIN: &[&str] = &["channel"];

/// Rooms that see no world: everything they need is an argument.
const PURE: &[&[&str]] = &[
    &["agent", "machine"],
    &["doctor", "rules"],
    &["memory", "rank"],
    &["memory", "vectors"],
    &["policy"],
    &["render"],
];

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
    /// The module that is being read, from the crate's root.
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
            Some(&"crate" | &"hob") => {
                parts.next();
                vec!["crate".to_owned()]
            }
            Some(&"self" | &"super") => ["crate".to_owned()].into_iter().chain(self.module.iter().cloned()).collect(),
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

/// The module that a file below `src/` holds: `a/b.rs` and `a/b/mod.rs` hold `a::b`, `lib.rs` the root.
fn module_of(file: &Path) -> Vec<&str> {
    let mut module: Vec<&str> = file.iter().map(|part| part.to_str().expect("sources have plain names")).collect();
    let name = module.pop().and_then(|name| name.strip_suffix(".rs")).expect("a source ends in .rs");
    if name != "mod" && !(name == "lib" && module.is_empty()) {
        module.push(name);
    }
    module
}

fn rank(module: &str) -> Option<u8> {
    RANKS.iter().find(|(name, _)| *name == module).map(|(_, rank)| *rank)
}

/// Checks one file, named from `src/`.
fn check(file: &Path, source: &str) -> Vec<Violation> {
    let module = module_of(file);
    let violation = |line: usize, what: String| Violation { file: Path::new("src").join(file), line, what };
    let Some((&room, below)) = module.split_first() else { return Vec::new() };
    let Some(own) = rank(room) else {
        let what = format!("`{room}` has no rank: give it one in tests/architecture.rs and docs/architecture.md");
        return vec![violation(1, what)];
    };
    let mentions = Mentions::of(&module, source);
    let mut violations: Vec<Violation> = Vec::new();
    let pure = is_pure(&module);
    for mention in &mentions.found {
        let absolute: Vec<&str> = mention.absolute.iter().map(String::as_str).collect();
        let what = match absolute.as_slice() {
            ["crate", target, further @ ..] => {
                edge(room, own, target).or_else(|| within(room, below, target, further)).or_else(|| {
                    (pure && *target == room && !is_pure(&absolute[1..])).then(|| {
                        format!(
                            "pure `{}` imports `{}`: only pure rooms and lower ranks are pure enough",
                            module.join("::"),
                            absolute[1..].join("::")
                        )
                    })
                })
            }
            outside if pure => impurity(&module, outside, mention.imported),
            _ => None,
        };
        violations.extend(what.map(|what| violation(line_of(source, &mention.written), what)));
    }
    if pure && mentions.waits {
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

/// Whether one top-level module may know another.
fn edge(room: &str, own: u8, target: &str) -> Option<String> {
    if room == target {
        return None;
    }
    let Some(other) = rank(target) else {
        return Some(format!(
            "`{room}` imports `{target}`, which has no rank: give it one in tests/architecture.rs, or name the module that owns it"
        ));
    };
    let edge = format!("`{room}` (rank {own}) imports `{target}` (rank {other})");
    match own.cmp(&other) {
        std::cmp::Ordering::Greater => None,
        std::cmp::Ordering::Equal => {
            Some(format!("{edge}: modules of one rank are strangers; move what both need to a lower one"))
        }
        std::cmp::Ordering::Less => {
            Some(format!("{edge}: only lower ranks may be imported; turn it round with a port in `domain`"))
        }
    }
}

/// Whether a child may know another child of the same room.
fn within(room: &str, below: &[&str], target: &str, further: &[&str]) -> Option<String> {
    let (own, other) = (below.first()?, further.first()?);
    let is_module = other.starts_with(char::is_lowercase);
    (room == target && STRANGERS_WITHIN.contains(&room) && own != other && is_module).then(|| {
        format!("`{room}::{own}` imports `{room}::{other}`: the children of `{room}` are strangers; move what both need to `domain`")
    })
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

#[test]
fn modules_import_only_lower_ranks_and_pure_rooms_are_pure() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();
    assert!(!files.is_empty());
    let mut found = Vec::new();
    for file in &files {
        let source = std::fs::read_to_string(file).expect("the sources are readable");
        found.extend(check(file.strip_prefix(&root).expect("it was found there"), &source));
    }
    let report: Vec<String> = found.iter().map(Violation::to_string).collect();
    assert!(found.is_empty(), "the layout of docs/architecture.md is broken:\n{}", report.join("\n"));
}
