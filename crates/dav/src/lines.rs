//! Content lines of calendars and cards (RFC 5545, RFC 6350): a text as components of lines, and back.
//!
//! What is not touched comes out byte for byte: programs keep things in an entry that nobody else knows.
//! Start at [`Component::parse`].

use std::fmt::Write as _;

/// A longer text is none that a person made.
const BYTES_MAX: usize = 2 << 20;
/// So deep components may stand in each other.
const DEPTH_MAX: usize = 6;
/// A line is folded after so many bytes.
const FOLD_BYTES: usize = 73;

/// What stands between `BEGIN` and `END`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Its name, in capitals.
    pub name: String,
    /// What is in it, in its order.
    pub parts: Vec<Part>,
}

/// One thing in a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Line(Line),
    Inner(Component),
}

/// A content line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// As it was written, folds and all.
    raw: String,
    /// Its name, in capitals and without its group.
    pub name: String,
    /// Its parameters, their names in capitals, without quotes.
    pub params: Vec<(String, String)>,
    /// What it says, as it is written.
    pub value: String,
}

impl Component {
    /// An empty one.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), parts: Vec::new() }
    }

    /// The first component of a text that is called so; none: it has none that is whole.
    pub fn parse(text: &str, name: &str) -> Option<Self> {
        let text = text.get(..text.len().min(BYTES_MAX)).filter(|head| head.len() == text.len())?;
        let mut open: Vec<Self> = Vec::new();
        for raw in unfolded(text) {
            let line = Line::read(raw);
            let bare = line.value.trim().to_ascii_uppercase();
            match line.name.as_str() {
                "BEGIN" if open.len() < DEPTH_MAX => open.push(Self::new(&bare)),
                "BEGIN" => return None,
                "END" => {
                    let done = open.pop().filter(|done| done.name == bare)?;
                    match open.last_mut() {
                        Some(outer) => outer.parts.push(Part::Inner(done)),
                        None if done.name == name => return Some(done),
                        None => {}
                    }
                }
                _ => open.last_mut()?.parts.push(Part::Line(line)),
            }
        }
        None
    }

    /// As it is sent.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        out.extend(["BEGIN:", &self.name, "\r\n"]);
        for part in &self.parts {
            match part {
                Part::Line(line) => out.extend([line.raw.as_str(), "\r\n"]),
                Part::Inner(inner) => inner.write(out),
            }
        }
        out.extend(["END:", &self.name, "\r\n"]);
    }

    /// How many lines are in it.
    pub fn size(&self) -> usize {
        let size = |part: &Part| if let Part::Inner(inner) = part { inner.size() } else { 1 };
        self.parts.iter().map(size).sum()
    }

    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.parts.iter().filter_map(|part| match part {
            Part::Line(line) => Some(line),
            Part::Inner(_) => None,
        })
    }

    /// Those that are called so.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Line> {
        self.lines().filter(move |line| line.name == name)
    }

    /// The first that is called so.
    pub fn line(&self, name: &str) -> Option<&Line> {
        self.lines().find(|line| line.name == name)
    }

    /// What it says, without its escapes.
    pub fn words(&self, name: &str) -> Option<String> {
        self.line(name).map(Line::words)
    }

    /// The components in it that are called so.
    pub fn inner<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.parts.iter().filter_map(move |part| match part {
            Part::Inner(inner) if inner.name == name => Some(inner),
            Part::Inner(_) | Part::Line(_) => None,
        })
    }

    /// The same, to be changed.
    pub(crate) fn inner_mut<'a>(&'a mut self, name: &'a str) -> impl Iterator<Item = &'a mut Self> {
        self.parts.iter_mut().filter_map(move |part| match part {
            Part::Inner(inner) if inner.name == name => Some(inner),
            Part::Inner(_) | Part::Line(_) => None,
        })
    }

    /// Has it say this, and nothing else under the name: where it said something, or else before what is in it.
    pub fn set(&mut self, line: Line) {
        let is_own = |part: &Part| matches!(part, Part::Line(known) if known.name == line.name);
        let first = self.parts.iter().position(is_own);
        let inner = self.parts.iter().position(|part| matches!(part, Part::Inner(_)));
        let name = line.name.clone();
        let at = first.or(inner).unwrap_or(self.parts.len());
        self.remove(&name);
        self.parts.insert(at.min(self.parts.len()), Part::Line(line));
    }

    /// Has it say this besides.
    pub fn add(&mut self, line: Line) {
        let inner = self.parts.iter().position(|part| matches!(part, Part::Inner(_)));
        self.parts.insert(inner.unwrap_or(self.parts.len()), Part::Line(line));
    }

    /// Has it say nothing under this name.
    pub fn remove(&mut self, name: &str) {
        self.parts.retain(|part| !matches!(part, Part::Line(line) if line.name == name));
    }

    /// Has each line that is called so be another.
    pub fn change(&mut self, name: &str, mut change: impl FnMut(&Line) -> Option<Line>) {
        for part in &mut self.parts {
            if let Part::Line(line) = part
                && line.name == name
                && let Some(new) = change(line)
            {
                *line = new;
            }
        }
    }
}

impl Line {
    /// A line whose value is written as it stands.
    pub fn new(name: &str, params: Vec<(String, String)>, value: &str) -> Self {
        let mut whole = name.to_owned();
        for (param, text) in &params {
            // A value that has one of these is quoted; quotes cannot be written in it at all.
            let text = text.replace(['"', '\r', '\n'], "");
            let quote = if text.contains([':', ';', ',']) { "\"" } else { "" };
            whole.extend([";", param, "=", quote, &text, quote]);
        }
        whole.extend([":", &value.replace(['\r', '\n'], "")]);
        Self { raw: folded(&whole), name: name.to_owned(), params, value: value.to_owned() }
    }

    /// A line of words, which are escaped.
    pub fn of_words(name: &str, words: &str) -> Self {
        let mut value = String::with_capacity(words.len());
        for c in words.chars() {
            match c {
                '\\' | ';' | ',' => value.extend(['\\', c]),
                '\n' => value.push_str("\\n"),
                c if c.is_control() && c != '\t' => {}
                c => value.push(c),
            }
        }
        Self::new(name, Vec::new(), &value)
    }

    fn read(raw: String) -> Self {
        let whole: String = raw.split("\r\n").flat_map(|part| part.split('\n')).enumerate().fold(
            String::new(),
            |mut whole, (index, part)| {
                whole.push_str(if index == 0 { part } else { part.get(1..).unwrap_or_default() });
                whole
            },
        );
        let (mut fields, mut quoted, mut from, mut value) = (Vec::new(), false, 0, "");
        for (at, c) in whole.char_indices() {
            match c {
                '"' => quoted = !quoted,
                ';' | ':' if !quoted => {
                    fields.push(&whole[from..at]);
                    from = at + 1;
                    if c == ':' {
                        value = &whole[from..];
                        break;
                    }
                }
                _ => {}
            }
        }
        let mut fields = fields.into_iter();
        let name = fields.next().unwrap_or_default();
        let name = name.rsplit('.').next().unwrap_or_default().to_ascii_uppercase();
        let param = |field: &str| {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            (name.to_ascii_uppercase(), value.replace('"', ""))
        };
        let params = fields.map(param).collect();
        let value = value.to_owned();
        Self { raw, name, params, value }
    }

    /// The parameter that is called so.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The same line with this parameter; none: without it.
    pub(crate) fn with_param(&self, name: &str, value: Option<&str>) -> Self {
        let mut params = self.params.clone();
        params.retain(|(known, _)| known != name);
        params.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        Self::new(&self.name, params, &self.value)
    }

    /// What it says, without its escapes.
    pub fn words(&self) -> String {
        unescaped(&self.value)
    }
}

/// Text without its escapes.
pub fn unescaped(value: &str) -> String {
    let mut words = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n' | 'N') => words.push('\n'),
                Some(other) => words.push(other),
                None => {}
            },
            c => words.push(c),
        }
    }
    words
}

/// The lines of a text, each with its folds.
fn unfolded(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match lines.last_mut() {
            Some(last) if line.starts_with([' ', '\t']) => {
                // A string takes whatever is written to it.
                let _always = write!(last, "\r\n{line}");
            }
            _ if line.trim().is_empty() => {}
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

fn folded(line: &str) -> String {
    let (mut out, mut on_line) = (String::with_capacity(line.len() + 8), 0);
    for c in line.chars() {
        if on_line + c.len_utf8() > FOLD_BYTES {
            out.push_str("\r\n ");
            on_line = 1;
        }
        out.push(c);
        on_line += c.len_utf8();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ODD: &str = "BEGIN:VCALENDAR\r\nPRODID:-//else//\r\nX-LONG;X-P=\"a:b;c\",d:one\r\n  two\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:a\\, b\r\n\
                       X-APPLE-STRUCTURED-LOCATION;VALUE=URI;X-TITLE=\"Main; 5\":geo:1,2\r\nBEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

    #[test]
    fn f3_what_is_not_touched_comes_out_byte_for_byte() {
        let mut calendar = Component::parse(ODD, "VCALENDAR").unwrap();
        assert_eq!(calendar.text(), ODD);
        assert_eq!(calendar.line("X-LONG").unwrap().value, "one two");
        let event = calendar.inner_mut("VEVENT").next().unwrap();
        assert_eq!(event.words("SUMMARY").unwrap(), "a, b");
        event.set(Line::of_words("SUMMARY", "c; d\ne"));
        event.set(Line::of_words("LOCATION", "here"));
        let (lost, new) = ("SUMMARY:a\\, b\r\n", "SUMMARY:c\\; d\\ne\r\n");
        let expected = ODD.replace(lost, new).replace("BEGIN:VALARM", "LOCATION:here\r\nBEGIN:VALARM");
        assert_eq!(calendar.text(), expected);
    }

    #[test]
    fn what_is_no_calendar_is_none() {
        let deep = "BEGIN:VCALENDAR\n".repeat(9) + &"END:VCALENDAR\n".repeat(9);
        for text in ["", "x", "BEGIN:VCALENDAR\r\nUID:1\r\n", "BEGIN:VCALENDAR\nEND:VEVENT\n", "END:VCALENDAR", &deep] {
            assert_eq!(Component::parse(text, "VCALENDAR"), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn words_come_back_as_they_went(words in "[^\r\\p{C}]{0,200}(\n[^\r\\p{C}]{0,90})?") {
            let mut card = Component::new("VEVENT");
            card.set(Line::of_words("SUMMARY", &words));
            let text = card.text();
            prop_assert!(text.split("\r\n").all(|line| line.len() <= 75));
            let back = Component::parse(&text, "VEVENT").unwrap();
            prop_assert_eq!(back.words("SUMMARY").unwrap(), words);
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "(BEGIN:V|END:V|[:;=\"\r\n A-Zé]){0,60}") {
            drop(Component::parse(&text, "V"));
        }
    }
}
