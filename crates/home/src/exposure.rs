//! What of the home Hob may see and switch: the config's list, and nothing else. Pure.

use std::fmt;

use crate::classes::{self, EntityClass};
use hob_core::domain::tools::DangerGrade;

/// The most characters of an entity's id, as Home Assistant has it.
const ID_CHARS_MAX: usize = 255;

/// An entity's id: a domain, a dot and a name, of small letters, digits and `_`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(String);

impl EntityId {
    /// The id that a text is, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        let (domain, name) = text.split_once('.')?;
        (text.len() <= ID_CHARS_MAX && is_part(domain) && is_part(name)).then(|| Self(text.to_owned()))
    }

    /// As Home Assistant knows it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What kind of thing it is.
    pub fn domain(&self) -> &str {
        self.0.split_once('.').map_or("", |(domain, _)| domain)
    }

    /// What it is called among those of its kind.
    pub fn name(&self) -> &str {
        self.0.split_once('.').map_or("", |(_, name)| name)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The config's lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exposure {
    /// What may be seen and switched, with `*`.
    entities: Vec<String>,
    /// What of it is critical whatever its class is.
    critical: Vec<String>,
}

impl Exposure {
    pub fn new(entities: Vec<String>, critical: Vec<String>) -> Self {
        Self { entities, critical }
    }

    /// May it be seen?
    pub fn shows(&self, id: &EntityId) -> bool {
        self.entities.iter().any(|pattern| fits(pattern, id.as_str()))
    }

    /// Is it named by its very id, so that this id is the operator's word?
    pub fn names(&self, id: &EntityId) -> bool {
        self.entities.iter().any(|named| named == id.as_str())
    }

    /// Those that are named by their very ids.
    pub fn named(&self) -> impl Iterator<Item = EntityId> {
        self.entities.iter().filter_map(|named| EntityId::parse(named))
    }

    /// May any entity of this domain be seen?
    pub(crate) fn has_domain(&self, domain: &str) -> bool {
        let domains = self.entities.iter().filter_map(|pattern| pattern.split_once('.'));
        domains.into_iter().any(|(pattern, _)| fits(pattern, domain))
    }

    /// How grave it is to have something done with this; none: nothing is known of its kind.
    pub fn grade(&self, id: &EntityId, class: Option<&str>) -> Option<DangerGrade> {
        let is_marked = self.critical.iter().any(|pattern| fits(pattern, id.as_str()));
        let marked = is_marked.then_some(DangerGrade::Critical);
        marked.or_else(|| EntityClass { domain: id.domain(), device_class: class }.grade())
    }
}

/// Is there anything that can be done with entities of this domain?
pub(crate) fn is_switchable(id: &EntityId) -> bool {
    classes::domain(id.domain()).is_some()
}

/// Does a text fit a pattern, in which `*` stands for anything?
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut of, mut retry) = (0, 0, None);
    while at < text.len() {
        if pattern.get(of) == Some(&b'*') {
            retry = Some((of, at));
            of += 1;
        } else if pattern.get(of) == text.get(at) {
            (at, of) = (at + 1, of + 1);
        } else if let Some((star, from)) = retry {
            // The last star takes one more.
            retry = Some((star, from + 1));
            (at, of) = (from + 1, star + 1);
        } else {
            return false;
        }
    }
    pattern.iter().skip(of).all(|sign| *sign == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> EntityId {
        EntityId::parse(text).unwrap()
    }

    #[test]
    fn f9_an_entity_is_seen_only_if_it_is_listed() {
        let listed = ["light.kitchen", "sensor.*", "*.garage_*", "cover.b*d"].map(str::to_owned).to_vec();
        let exposure = Exposure::new(listed, vec!["light.gate*".to_owned()]);
        for (entity, seen, named) in [
            ("light.kitchen", true, true),
            ("light.kitchen_2", false, false),
            ("sensor.any", true, false),
            ("binary_sensor.any", false, false),
            ("lock.garage_door", true, false),
            ("lock.garage", false, false),
            ("cover.blind", true, false),
            ("cover.blinds", false, false),
        ] {
            assert_eq!((exposure.shows(&id(entity)), exposure.names(&id(entity))), (seen, named), "{entity}");
        }
        assert!(exposure.has_domain("lock") && exposure.has_domain("light"));
        assert!(!Exposure::new(vec!["light.*".to_owned()], Vec::new()).has_domain("lock"));
        assert_eq!(exposure.grade(&id("light.gate_motor"), None), Some(DangerGrade::Critical));
    }

    #[test]
    fn f9_what_is_no_id_is_none() {
        for text in
            ["", "light", "light.", ".x", "Light.x", "light.a b", "light.x.y", "light.*", "all", "light.a,lock.b"]
        {
            assert_eq!(EntityId::parse(text), None, "{text}");
        }
        assert_eq!(EntityId::parse(&format!("light.{}", "x".repeat(255))), None);
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, expected) in [
            ("*.*", "a.b", true),
            ("a*", "a", true),
            ("*a*b*", "xxaxxb", true),
            ("*a*b", "xbxa", false),
            ("", "", true),
            ("*", "", true),
            ("a", "", false),
            ("a*a*a*a*b", &"a".repeat(200), false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
