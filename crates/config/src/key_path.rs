//! Dotted paths: how a place in the document is named to the user (`provider.fallbacks[1].model`).

/// The longest key that is shown whole, in characters.
const KEY_CHARS_MAX: usize = 64;

/// A key as one step of a path: bare if TOML lets it be bare, quoted and shortened otherwise.
pub(super) fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match name.char_indices().nth(KEY_CHARS_MAX) {
        Some((cut, _)) => format!("{:?}", format!("{}…", &name[..cut])),
        None if bare => name.to_owned(),
        None => format!("{name:?}"),
    }
}

/// The place of `name` in the table at `parent`.
pub(super) fn child(parent: &str, name: &str) -> String {
    if parent.is_empty() { key(name) } else { format!("{parent}.{}", key(name)) }
}

/// One step from a table or a list to what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathStep {
    /// A key of a table.
    Key(String),
    /// An item of a list, from 0.
    Item(usize),
}

/// The place that these steps lead to.
pub(super) fn of(steps: &[PathStep]) -> String {
    steps.iter().fold(String::new(), |at, step| match step {
        PathStep::Key(name) => child(&at, name),
        PathStep::Item(index) => item(&at, *index),
    })
}

/// The place of the item `index` (from 0, shown from 1) in the list at `parent`.
pub(super) fn item(parent: &str, index: usize) -> String {
    format!("{parent}[{}]", index + 1)
}

/// Whether `inner` is `outer` or lies in it.
pub(super) fn contains(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The place around this one, if it is not the document itself.
pub(super) fn parent(place: &str) -> Option<&str> {
    place.rfind(['.', '[']).map(|cut| &place[..cut])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_bare_quoted_or_shortened() {
        assert_eq!(child("", "agent"), "agent");
        assert_eq!(child("tools", "a.b\n"), r#"tools."a.b\n""#);
        assert_eq!(item("provider.fallbacks", 0), "provider.fallbacks[1]");
        assert_eq!(key(&"ä".repeat(65)), format!("\"{}…\"", "ä".repeat(64)));
    }

    #[test]
    fn places_nest() {
        for (outer, inner, expected) in
            [("a", "a", true), ("a", "a.b", true), ("a", "a[1]", true), ("a", "ab", false), ("a.b", "a", false)]
        {
            assert_eq!(contains(outer, inner), expected, "{outer} {inner}");
        }
        assert_eq!(parent("a.b[2]"), Some("a.b"));
        assert_eq!(parent("a"), None);
    }
}
