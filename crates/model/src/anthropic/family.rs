//! What each family of Claude takes in a request, as data (of November 2026).
//!
//! Start at [`Family::of`].

use std::borrow::Cow;

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It cannot.
    Never,
    /// With a budget of tokens, if asked.
    Budget,
    /// As it sees fit, if asked.
    Adaptive,
    /// As it sees fit, unless told not to.
    AdaptiveUnlessDisabled,
    /// As it sees fit, always; then no tool can be forced on it.
    AlwaysAdaptive,
}

/// What a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Family {
    /// How it is told to think.
    pub(super) mode: Mode,
    /// Whether it takes a temperature.
    pub(super) temperature: bool,
}

const fn family(mode: Mode, temperature: bool) -> Family {
    Family { mode, temperature }
}

/// Names without the date at their end.
const FAMILIES: &[(&str, Family)] = &[
    ("claude-3-opus", family(Mode::Never, true)),
    ("claude-3-haiku", family(Mode::Never, true)),
    ("claude-3-5-haiku", family(Mode::Never, true)),
    ("claude-3-5-sonnet", family(Mode::Never, true)),
    ("claude-3-7-sonnet", family(Mode::Budget, true)),
    ("claude-sonnet-4", family(Mode::Budget, true)),
    ("claude-sonnet-4-0", family(Mode::Budget, true)),
    ("claude-opus-4", family(Mode::Budget, true)),
    ("claude-opus-4-0", family(Mode::Budget, true)),
    ("claude-opus-4-1", family(Mode::Budget, true)),
    ("claude-haiku-4-5", family(Mode::Budget, true)),
    ("claude-sonnet-4-5", family(Mode::Budget, true)),
    ("claude-opus-4-5", family(Mode::Budget, true)),
    ("claude-sonnet-4-6", family(Mode::Adaptive, true)),
    ("claude-opus-4-6", family(Mode::Adaptive, true)),
    ("claude-opus-4-7", family(Mode::Adaptive, false)),
    ("claude-opus-4-8", family(Mode::Adaptive, false)),
    ("claude-sonnet-5", family(Mode::AdaptiveUnlessDisabled, false)),
    ("claude-opus-5", family(Mode::AdaptiveUnlessDisabled, false)),
];

/// A Claude that is newer than the table: the latest ones (Opus 5.5, Fable, Mythos) are all like this.
const NEWEST: Family = family(Mode::AlwaysAdaptive, false);
/// Others' models behind this API follow what it was at first.
const FOREIGN: Family = family(Mode::Budget, true);

impl Family {
    /// What `model` takes. Gateways write `anthropic/claude-opus-4.6`, clouds `claude-opus-4-6@20260205`.
    pub(super) fn of(model: &str) -> Self {
        let Some(start) = model.find("claude-") else { return FOREIGN };
        let name = normalized_name(&model[start..]);
        FAMILIES.iter().find(|(known, _)| *known == name).map_or(NEWEST, |(_, family)| *family)
    }
}

/// The name without date or version, and with hyphens for dots.
fn normalized_name(name: &str) -> Cow<'_, str> {
    let name = name.split(['@', ':']).next().unwrap_or(name);
    let name = name.strip_suffix("-latest").unwrap_or(name);
    let name = match name.rsplit_once('-') {
        Some((front, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => front,
        _ => name,
    };
    if name.contains('.') { Cow::Owned(name.replace('.', "-")) } else { Cow::Borrowed(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_with_date_prefix_and_dots() {
        let table = [
            ("claude-3-5-haiku-latest", Mode::Never),
            ("claude-opus-4-20250514", Mode::Budget),
            ("claude-sonnet-4-5@20250929", Mode::Budget),
            ("anthropic/claude-opus-4.6", Mode::Adaptive),
            ("claude-opus-5-20260724", Mode::AdaptiveUnlessDisabled),
            ("claude-opus-5-5", Mode::AlwaysAdaptive),
            ("claude-fable-5-1", Mode::AlwaysAdaptive),
            ("claude-sonnet-9", Mode::AlwaysAdaptive),
            ("kimi-k2", Mode::Budget),
        ];
        for (name, mode) in table {
            assert_eq!(Family::of(name).mode, mode, "{name}");
        }
    }
}
