//! Checks of single values that several sections share. None of them repeats the value, which may be a secret.

use std::path::Path;

use crate::problem::Finding;

/// Finds what keeps `text` from being the address of an HTTP server.
pub(super) fn check_http_url(key: &str, text: &str) -> Option<Finding> {
    let fix = "for example `http://127.0.0.1:8080`";
    let Ok(url) = url::Url::parse(text) else {
        return Some(Finding::new(key, "is not a URL, expected one that begins with http:// or https://", fix));
    };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Some(Finding::new(key, "is not the URL of a server, expected http:// or https:// and a host", fix));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some(Finding::new(
            key,
            "has a user name or password in it, expected a URL without",
            "remove what stands before the `@`",
        ));
    }
    (url.query().is_some() || url.fragment().is_some()).then(|| {
        Finding::new(key, "has a query or fragment, expected a base URL without", "remove what follows the `?` or `#`")
    })
}

/// Is it the address of a page?
pub(super) fn is_page(text: &str) -> bool {
    let is_open = |url: &url::Url| url.username().is_empty() && url.password().is_none();
    url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host() && is_open(&url))
}

/// Finds what keeps `secret` from being sent in an HTTP header.
pub(super) fn header_secret(key: &str, secret: &str) -> Option<Finding> {
    let plain = secret.chars().all(|c| c.is_ascii_graphic());
    (!plain).then(|| {
        Finding::new(
            key,
            "has a space, a line break or another character that no key has, expected visible ASCII characters",
            "copy it again; if it comes from a file, mind the line break at its end",
        )
    })
}

/// Finds what keeps `path` from being a place that does not depend on where Hob was started.
pub(super) fn absolute_path(key: &str, path: &Path) -> Option<Finding> {
    (!path.is_absolute() || path.as_os_str().as_encoded_bytes().contains(&0)).then(|| {
        Finding::new(key, "is not an absolute path, expected one that begins with `/`", "`${HOME}/…` works as well")
    })
}

/// Whether `name` can name a tool or a parameter: a letter, then up to 63 letters, digits, `_` or `-`.
pub(super) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && name.len() <= 64
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        for (text, fine) in [
            ("https://api.telegram.org", true),
            ("http://127.0.0.1:8081/v1", true),
            ("http://[::1]:80", true),
            ("api.telegram.org", false),
            ("ftp://example.org", false),
            ("http://", false),
            ("https://user:hunter2@example.org", false),
            ("https://example.org/?key=hunter2", false),
            ("file:///etc/passwd", false),
        ] {
            let found = check_http_url("base_url", text);
            assert_eq!(found.is_none(), fine, "{text}: {found:?}");
            assert!(!format!("{found:?}").contains("hunter2"));
        }
    }

    #[test]
    fn names() {
        for (name, fine) in
            [("a", true), ("A-b_9", true), ("", false), ("9a", false), ("a b", false), ("ä", false), ("a.b", false)]
        {
            assert_eq!(is_name(name), fine, "{name}");
        }
        assert!(is_name(&"a".repeat(64)) && !is_name(&"a".repeat(65)));
    }
}
