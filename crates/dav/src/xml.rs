//! What WebDAV servers say (RFC 4918): a tree of elements, and the answers in it. Entities of its own are refused.

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::error::DavError;

/// So deep elements may stand in each other.
const DEPTH_MAX: usize = 40;
/// So many there may be.
const ELEMENTS_MAX: usize = 400_000;

/// An element, without its prefix and attributes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) text: String,
    /// What `name` says, where it has such an attribute.
    pub(crate) label: Option<String>,
    pub(crate) inner: Vec<Self>,
}

/// What is said of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) href: String,
    /// What it is said to be.
    pub(crate) props: Element,
}

impl Element {
    /// The tree of a document.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, DavError> {
        let text = String::from_utf8_lossy(body);
        let mut reader = Reader::from_str(&text);
        reader.config_mut().expand_empty_elements = true;
        let unreadable = |why: &dyn std::fmt::Display| DavError::Unreadable(why.to_string());
        let (mut open, mut count) = (vec![Self::default()], 0_usize);
        loop {
            let Some(top) = open.last_mut() else { return Err(unreadable(&"it ends too often")) };
            match reader.read_event().map_err(|error| unreadable(&error))? {
                Event::Start(start) => {
                    count += 1;
                    if open.len() > DEPTH_MAX || count > ELEMENTS_MAX {
                        return Err(unreadable(&"it is too large"));
                    }
                    let name = start.local_name().into_inner().to_owned();
                    let mut attributes = start.attributes();
                    let mut all = attributes.with_checks(false).flatten();
                    let label = all.find(|attribute| attribute.key.local_name().into_inner() == "name");
                    let label = label.map(|attribute| attribute.value.into_owned());
                    open.push(Self { name, label, ..Self::default() });
                }
                Event::End(_) => {
                    let Some(done) = open.pop() else { return Err(unreadable(&"it ends too often")) };
                    open.last_mut().ok_or_else(|| unreadable(&"it ends too often"))?.inner.push(done);
                }
                Event::Text(words) => top.text.push_str(&words.xml10_content()),
                Event::CData(words) => top.text.push_str(&words.xml10_content()),
                Event::GeneralRef(reference) => {
                    let character = reference.resolve_char_ref().ok().flatten();
                    match (character, &*reference.xml10_content()) {
                        (Some(character), _) => top.text.push(character),
                        (None, "lt") => top.text.push('<'),
                        (None, "gt") => top.text.push('>'),
                        (None, "amp") => top.text.push('&'),
                        (None, "quot") => top.text.push('"'),
                        (None, "apos") => top.text.push('\''),
                        (None, other) => return Err(unreadable(&format!("it has an entity {other}"))),
                    }
                }
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
                Event::Eof => break,
            }
        }
        open.into_iter().next().and_then(|root| root.inner.into_iter().next()).ok_or_else(|| unreadable(&"it is empty"))
    }

    /// The first element on this way down.
    pub(crate) fn at(&self, way: &[&str]) -> Option<&Self> {
        way.iter().try_fold(self, |at, name| at.inner.iter().find(|inner| inner.name == *name))
    }

    /// Its words on this way down, without space around.
    pub(crate) fn words(&self, way: &[&str]) -> Option<&str> {
        self.at(way).map(|element| element.text.trim()).filter(|text| !text.is_empty())
    }

    /// Is there such an element on any way down?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.inner.iter().any(|inner| inner.name == name || inner.has(name))
    }
}

/// The things that an answer is about, each with what it was found to be.
pub(crate) fn answers(body: &[u8]) -> Result<Vec<Answer>, DavError> {
    let root = Element::parse(body)?;
    let responses = root.inner.into_iter().filter(|element| element.name == "response");
    let answer = |response: Element| {
        let href = response.words(&["href"])?.to_owned();
        let is_found = |stat: &Element| stat.words(&["status"]).is_none_or(|status| status.contains(" 2"));
        let found = response.inner.into_iter().filter(|inner| inner.name == "propstat").filter(is_found);
        let props = found.filter_map(|stat| stat.inner.into_iter().find(|inner| inner.name == "prop"));
        let inner = props.flat_map(|prop| prop.inner).collect();
        Some(Answer { href, props: Element { name: "prop".to_owned(), inner, ..Element::default() } })
    };
    Ok(responses.filter_map(answer).collect())
}

/// Text as it can stand in a document.
pub(crate) fn escaped(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_what_was_found_counts_and_nothing_else() {
        let body = br#"<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:c="urn:x"><d:response><d:href>/a%20b/</d:href>
            <d:propstat><d:prop><d:displayname>A &amp; B &#233;</d:displayname><d:resourcetype><c:calendar/></d:resourcetype></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>
            <d:propstat><d:prop><d:getetag/></d:prop><d:status>HTTP/1.1 404 Not Found</d:status></d:propstat></d:response></d:multistatus>"#;
        let found = answers(body).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].href, "/a%20b/");
        assert_eq!(found[0].props.words(&["displayname"]), Some("A & B \u{e9}"));
        assert!(found[0].props.has("calendar") && !found[0].props.has("getetag"));
    }

    #[test]
    fn what_is_hostile_or_broken_is_no_answer() {
        let deep = "<a>".repeat(100);
        for body in ["", "<a>", "<a>&own;</a>", "</a>", &deep] {
            assert!(matches!(answers(body.as_bytes()), Err(DavError::Unreadable(_))), "{body}");
        }
    }
}
