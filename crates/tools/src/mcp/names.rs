//! What a server's tools are called here: `server__tool`, in the characters that every provider takes.

use std::collections::BTreeSet;

/// Between a server's name and its tool's.
const BETWEEN: &str = "__";
/// The longest name of a tool, in characters.
const NAME_CHARS_MAX: usize = 64;

/// The name of each of a server's tools here, in their order; of those that would be called the same, all but the first
/// are numbered. `server` is in those characters, and leaves room.
pub(super) fn offered(server: &str, tools: &[&str]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    // Those that keep their name come first, so that no other's number can take it.
    let plain: Vec<String> = tools.iter().map(|tool| cut(server, tool, "")).collect();
    let mut names = vec![String::new(); tools.len()];
    let exact = |index: usize| plain[index] == format!("{server}{BETWEEN}{}", tools[index]);
    let (kept, changed): (Vec<usize>, Vec<usize>) = (0..tools.len()).partition(|index| exact(*index));
    for index in kept.into_iter().chain(changed) {
        let numbered = (2..).map(|number: usize| cut(server, tools[index], &format!("_{number}")));
        let mut candidates = std::iter::once(plain[index].clone()).chain(numbered);
        names[index] = candidates.find(|name| taken.insert(name.clone())).unwrap_or_default();
    }
    names
}

/// The name with this ending, no longer than may be.
fn cut(server: &str, tool: &str, ending: &str) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let room = NAME_CHARS_MAX.saturating_sub(server.len() + BETWEEN.len() + ending.len());
    let tool: String = tool.chars().map(clean).take(room).collect();
    format!("{server}{BETWEEN}{tool}{ending}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_cleaned_and_numbered_where_they_clash() {
        let long = "x".repeat(80);
        for (tools, expected) in [
            (vec!["echo", "get-sum"], vec!["s__echo", "s__get-sum"]),
            (vec!["a.b", "a/b", "a_b"], vec!["s__a_b_2", "s__a_b_3", "s__a_b"]),
            (vec!["a b", "a_b_2", "a_b"], vec!["s__a_b_3", "s__a_b_2", "s__a_b"]),
            (vec!["größe"], vec!["s__gr__e"]),
            (vec!["same", "same"], vec!["s__same", "s__same_2"]),
        ] {
            assert_eq!(offered("s", &tools), expected, "{tools:?}");
        }
        let names = offered("s", &[&long, &long]);
        assert_eq!(names[0], format!("s__{}", "x".repeat(61)));
        assert_eq!(names[1], format!("s__{}_2", "x".repeat(59)));
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_providers_take_and_no_two_are_the_same(
            server in "[a-z][a-z0-9-]{0,31}",
            tools in proptest::collection::vec(".{1,80}", 0..12),
        ) {
            let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
            let names = offered(&server, &tools);
            prop_assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), tools.len());
            for name in names {
                prop_assert!(name.len() <= 64 && name.starts_with(&server));
                prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{}", name);
            }
        }
    }
}
