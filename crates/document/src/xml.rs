//! XML as a row of events, as deep as it may be. Entities that it declares are refused, and none is ever expanded.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::{DocumentError, Limits, damaged, text};

/// One thing in it.
pub(crate) enum Node<'a> {
    /// An element begins.
    Open(&'a Element<'a>),
    /// It ends.
    Close(&'a str),
    /// Words.
    Text(&'a str),
}

/// The beginning of an element.
pub(crate) struct Element<'a>(BytesStart<'a>);

impl Element<'_> {
    /// Its name, without the prefix.
    pub(crate) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// What it says under this name, prefix or not.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        let mut all = attributes.with_checks(false).flatten();
        let found = all.find(|attribute| attribute.key.local_name().into_inner() == name)?;
        let value = found.normalized_value(XmlVersion::Implicit1_0);
        Some(value.map_or_else(|_| found.value.to_string(), |value| value.into_owned()))
    }

    /// All that it says under this name, whatever the prefix.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        let mut attributes = self.0.attributes();
        let all = attributes.with_checks(false).flatten();
        let named = all.filter(|attribute| attribute.key.local_name().into_inner() == name);
        named.map(|attribute| attribute.value.into_owned()).collect()
    }

    /// Whether it says one of these under this name.
    pub(crate) fn says(&self, name: &str, values: &[&str]) -> bool {
        self.get(name).is_some_and(|value| values.contains(&value.as_str()))
    }
}

/// Goes through all of it, in its order.
pub(crate) fn walk(
    xml: &[u8],
    limits: &Limits,
    mut each: impl FnMut(Node<'_>) -> Result<(), DocumentError>,
) -> Result<(), DocumentError> {
    let text = text::decoded(xml);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().expand_empty_elements = true;
    let mut depth = 0_usize;
    loop {
        match reader.read_event().map_err(|error| damaged(&error))? {
            Event::Start(start) => {
                depth += 1;
                if depth > limits.depth {
                    let most = limits.depth;
                    return Err(DocumentError::TooMuch(format!(
                        "its elements stand more than {most} deep in each other"
                    )));
                }
                each(Node::Open(&Element(start)))?;
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                each(Node::Close(end.local_name().into_inner()))?;
            }
            Event::Text(words) => each(Node::Text(&words.xml10_content()))?,
            Event::CData(words) => each(Node::Text(&words.xml10_content()))?,
            Event::GeneralRef(reference) => {
                let name = reference.xml10_content();
                each(Node::Text(&entity(&name, reference.resolve_char_ref().ok().flatten())))?;
            }
            Event::DocType(words) if words.xml10_content().contains("<!ENTITY") => {
                return Err(DocumentError::TooMuch(
                    "it declares XML entities of its own, which are not expanded".to_owned(),
                ));
            }
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof => return Ok(()),
        }
    }
}

/// What a reference stands for.
fn entity(name: &str, character: Option<char>) -> String {
    match (name, character) {
        (_, Some(character)) => character.to_string(),
        ("lt", None) => "<".to_owned(),
        ("gt", None) => ">".to_owned(),
        ("amp", None) => "&".to_owned(),
        ("quot", None) => "\"".to_owned(),
        ("apos", None) => "'".to_owned(),
        (other, None) => format!("&{other};"),
    }
}
