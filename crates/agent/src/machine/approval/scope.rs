//! What "always" covers (row D6): never a whole tool, but calls like the one that was asked about.
//!
//! | the call | then "always" covers |
//! |---|---|
//! | can be named in a line | the very same call, where it is asked about for the same reasons |
//! | ran a program, by an old journal | this program, for the same reasons |
//! | any other | nothing: it is not offered |
//!
//! What people are told of a call may be told of another as well: `a.b` is a name, or a way. So the digest of what its tool gets
//! stands behind the words, and counts.

use hob_core::domain::tools::{Assessment, GrantScope};
use hob_core::policy::arguments::display::on_one_line;
use hob_model::message::ToolCall;

/// The longest name of what is granted, in characters: a person reads it.
const CHARS_MAX: usize = 300;
/// What stands before its digest.
const MARK: &str = " # ";

/// What "always" would cover, in words that also name the grant.
pub fn of(call: &ToolCall, known: &Assessment) -> Option<String> {
    let what = match &known.always {
        GrantScope::Never => return None,
        GrantScope::Program(program) => program.clone(),
        GrantScope::SameArguments | GrantScope::Call(_) => on_one_line(&call.arguments),
    };
    let mut reasons: Vec<&str> = known.reasons.iter().map(String::as_str).collect();
    reasons.sort_unstable();
    let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    let scope = format!("{} {what}{why}", call.name).trim_end().to_owned();
    let fits = scope.chars().count() <= CHARS_MAX && !scope.contains(char::is_control);
    fits.then(|| match &known.always {
        GrantScope::Call(digest) => format!("{scope}{MARK}{digest}"),
        GrantScope::SameArguments | GrantScope::Program(_) | GrantScope::Never => scope,
    })
}

/// What is granted, without its digest.
pub fn words(scope: &str) -> &str {
    scope.rsplit_once(MARK).map_or(scope, |(words, _)| words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::CallId;

    #[test]
    fn d6_always_covers_calls_like_this_one_and_no_tool_whole() {
        let of = |arguments: &str, known: Assessment| {
            let call = ToolCall { id: CallId::new(1, 0), name: "t".to_owned(), arguments: arguments.to_owned() };
            of(&call, &known)
        };
        let usual = Assessment::default;
        assert_eq!(of(r#"{"body":"x","to":"a@b"}"#, usual()).unwrap(), r#"t body="x" to="a@b""#);
        assert_eq!(of(r#"{"level":3}"#, usual()).unwrap(), r#"t level="3""#);
        assert_eq!(of("", usual()).unwrap(), "t");
        let exact = |digest: &str| Assessment { always: GrantScope::Call(digest.to_owned()), ..usual() };
        let one = of(r#"{"a.b":"1"}"#, exact("call1:aa")).unwrap();
        let other = of(r#"{"a":{"b":1}}"#, exact("call1:bb")).unwrap();
        assert_eq!((words(&one), one.as_str()), (r#"t a.b="1""#, r#"t a.b="1" # call1:aa"#));
        assert!(words(&one) == words(&other) && one != other, "told alike, and not the same");
        let reasons = vec!["it rains".to_owned(), "it deletes".to_owned()];
        let git = Assessment { always: GrantScope::Program("git".to_owned()), reasons, ..usual() };
        assert_eq!(of(r#"{"command":"git rm x"}"#, git.clone()).unwrap(), "t git (it deletes; it rains)");
        assert_eq!(of("{}", Assessment { always: GrantScope::Never, ..git }), None);
        assert_eq!(of(&format!(r#"{{"body":"{}"}}"#, "x".repeat(300)), usual()), None, "nobody reads that");
    }
}
