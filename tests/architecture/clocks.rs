//! No test asserts how long something took on a clock on the wall: on a busy machine it fails, and on a quick one it holds
//! whatever was done. Work is counted, time is virtual, or it is a bench.
//!
//! What a clock says is followed through the names that it is given: an assertion that compares one of them is found too.

use std::collections::BTreeSet;
use std::path::Path;

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Token};

use crate::sources;

/// What has a `now`.
const CLOCKS: [&str; 7] = ["Instant", "SystemTime", "Timestamp", "Zoned", "Utc", "Local", "OffsetDateTime"];
/// What tells how long something took.
const SPANS: [&str; 3] = ["elapsed", "took", "duration_since"];

/// The assertions of a file that compare what a clock says.
#[derive(Default)]
struct Timed {
    found: Vec<String>,
    /// The names in sight that stand for what a clock said.
    known: BTreeSet<String>,
}

impl Timed {
    /// Is this what a clock says, or made of it?
    fn says_time(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| self.known.contains(&name.to_string())),
            Expr::Call(call) => {
                let Expr::Path(path) = &*call.func else { return false };
                let names: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                matches!(&names[..], [.., clock, now] if now == "now" && CLOCKS.contains(&clock.as_str()))
            }
            Expr::MethodCall(call) => {
                SPANS.contains(&call.method.to_string().as_str()) || self.says_time(&call.receiver)
            }
            Expr::Binary(two) => self.says_time(&two.left) || self.says_time(&two.right),
            Expr::Paren(inner) => self.says_time(&inner.expr),
            Expr::Reference(inner) => self.says_time(&inner.expr),
            Expr::Unary(inner) => self.says_time(&inner.expr),
            Expr::Cast(inner) => self.says_time(&inner.expr),
            Expr::Try(inner) => self.says_time(&inner.expr),
            _ => false,
        }
    }

    fn compares_time(&self, said: &syn::Macro) -> bool {
        let Ok(parts) = said.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) else { return false };
        let mut compared = Compared { timed: self, found: false };
        parts.iter().for_each(|part| compared.visit_expr(part));
        compared.found
    }
}

/// Looks for a comparison of time in an expression.
struct Compared<'a> {
    timed: &'a Timed,
    found: bool,
}

impl<'ast> Visit<'ast> for Compared<'_> {
    fn visit_expr_binary(&mut self, two: &'ast syn::ExprBinary) {
        visit::visit_expr_binary(self, two);
        let compares = matches!(two.op, BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_));
        self.found |= compares && (self.timed.says_time(&two.left) || self.timed.says_time(&two.right));
    }
}

impl<'ast> Visit<'ast> for Timed {
    fn visit_block(&mut self, block: &'ast syn::Block) {
        let outer = self.known.clone();
        visit::visit_block(self, block);
        self.known = outer;
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        visit::visit_local(self, local);
        let (syn::Pat::Ident(name), Some(init)) = (&local.pat, &local.init) else { return };
        if self.says_time(&init.expr) {
            self.known.insert(name.ident.to_string());
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        let name = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        if !name.starts_with("assert") {
            return;
        }
        let said = call.tokens.to_string();
        let words: Vec<&str> = said.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        let is_timed = words.iter().any(|word| SPANS.contains(word));
        let compares = [" < ", " > ", " <= ", " >= "].iter().any(|sign| said.contains(sign));
        if (is_timed && compares) || self.compares_time(call) {
            self.found.push(said);
        }
    }
}

fn timed(source: &str) -> Vec<String> {
    let mut timed = Timed::default();
    timed.visit_file(&syn::parse_file(source).expect("the source compiles, so it parses"));
    timed.found
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
fn an_assertion_about_time_is_known_by_its_words_and_by_what_they_stand_for() {
    let of = |line: &str| timed(&format!("fn f() {{ {line} }}")).len();
    assert_eq!(of("assert!(began.elapsed() < Duration::from_secs(5));"), 1);
    assert_eq!(of("assert!(\ntook\n<= LIMIT, \"{took:?}\");"), 1);
    assert_eq!(of("assert!(then.duration_since(now) > LIMIT);"), 1);
    assert_eq!(of("assert_eq!(began.elapsed(), LIMIT);"), 0, "virtual time is exact");
    for clock in ["Instant", "std::time::SystemTime", "Timestamp", "Zoned", "tokio::time::Instant"] {
        assert_eq!(of(&format!("assert!({clock}::now() < end);")), 1, "{clock}");
        let followed =
            format!("let then = {clock}::now(); let gone = then - begun; assert!(gone.as_secs() <= 5, \"late\");");
        assert_eq!(of(&followed), 1, "{clock}");
        let made = format!("let then = {clock}::now(); let made = work(then); assert!(made.len() < 5);");
        assert_eq!(of(&made), 0, "what is made at some time is no time: {clock}");
        assert_eq!(of(&format!("{{ let n = {clock}::now(); }} let n = 3; assert!(n < 5);")), 0, "{clock}");
    }
    assert_eq!(of("assert!(steps < LIMIT); if began.elapsed() > LIMIT { return; }"), 0);
}
