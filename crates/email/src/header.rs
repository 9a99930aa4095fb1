//! A letter's headers as they stand, for rules that ask whether one is there.

/// The headers of a letter, topmost first, unfolded.
pub(super) struct Headers(Vec<(String, String)>);

impl Headers {
    /// Those of a raw letter. What is no header is passed over.
    pub(super) fn of(raw: &[u8]) -> Self {
        let mut all: Vec<(String, String)> = Vec::new();
        for line in raw.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                break;
            }
            let text = String::from_utf8_lossy(line);
            if text.starts_with([' ', '\t']) {
                if let Some((_, value)) = all.last_mut() {
                    value.push(' ');
                    value.push_str(text.trim());
                }
            } else if let Some((name, value)) = text.split_once(':') {
                all.push((name.trim_end().to_owned(), value.trim().to_owned()));
            }
        }
        Self(all)
    }

    /// The topmost of this name.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// All of this name, topmost first.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Is there one of this name?
    pub(super) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// What the letter is, in lower case.
    pub(super) fn content_type(&self) -> String {
        self.value("Content-Type").unwrap_or_default().to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_unfolded_and_end_with_an_empty_line() {
        let headers = Headers::of(b"A: 1\r\n 2\r\nno header\r\na:\t3\nB : \xff4\r\n\r\nC: 5\r\n");
        assert_eq!(headers.values("a").collect::<Vec<_>>(), ["1 2", "3"]);
        assert_eq!(headers.value("b"), Some("\u{fffd}4"));
        assert!(!headers.has("C"));
    }
}
