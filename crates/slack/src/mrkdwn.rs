//! Slack's way of writing, as text for people: mentions, links, entities. Pure.

use std::collections::BTreeMap;

/// The names of people, by their ids.
pub(super) type UserNames = BTreeMap<String, String>;

/// The people that a text mentions and does not name.
pub(super) fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    signs(text).filter_map(|sign| sign.strip_prefix('@')).filter(|id| !id.contains('|'))
}

pub(super) fn mentions(text: &str, person: &str) -> bool {
    signs(text).any(|sign| person_of(sign).is_some_and(|id| id == person))
}

/// The text behind a mention of this person at its beginning.
pub(super) fn without_mention<'a>(text: &'a str, person: &str) -> &'a str {
    let start = text.trim_start();
    let Some((sign, rest)) = start.strip_prefix('<').and_then(|inner| inner.split_once('>')) else {
        return text;
    };
    if person_of(sign) != Some(person) {
        return text;
    }
    rest.trim_start().trim_start_matches([',', ':']).trim_start()
}

/// The text as people read it.
pub(super) fn readable(text: &str, names: &UserNames) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once('<') {
        out.push_str(&unescaped(before));
        let Some((sign, after)) = inner.split_once('>') else {
            out.push('<');
            rest = inner;
            continue;
        };
        out.push_str(&sign_text(sign, names));
        rest = after;
    }
    out.push_str(&unescaped(rest));
    out
}

/// Text without Slack's entities.
pub(super) fn unescaped(text: &str) -> String {
    // The ampersand last, lest what was written out becomes a sign.
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Text in which nothing is a sign of Slack's.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// What stands between `<` and `>`.
fn signs(text: &str) -> impl Iterator<Item = &str> {
    text.split('<').skip(1).filter_map(|inner| inner.split_once('>')).map(|(sign, _)| sign)
}

fn person_of(sign: &str) -> Option<&str> {
    let sign = sign.strip_prefix('@')?;
    Some(sign.split_once('|').map_or(sign, |(id, _)| id))
}

/// What a sign says: `@U07`, `#C07|general`, `!here`, `https://…|label`.
fn sign_text(sign: &str, names: &UserNames) -> String {
    let (target, label) = match sign.split_once('|') {
        Some((target, label)) => (target, Some(unescaped(label)).filter(|label| !label.is_empty())),
        None => (sign, None),
    };
    let said = |mark: &str, name: &str| format!("{mark}{}", name.trim_start_matches(mark));
    if let Some(id) = target.strip_prefix('@') {
        return said("@", names.get(id).cloned().or(label).as_deref().unwrap_or(id));
    }
    if let Some(id) = target.strip_prefix('#') {
        return said("#", label.as_deref().unwrap_or(id));
    }
    if let Some(command) = target.strip_prefix('!') {
        // `subteam^S07`, `date^1392734382^{date}`, `here`.
        let is_date = command.starts_with("date^");
        let name = label.unwrap_or_else(|| command.split('^').next().unwrap_or_default().to_owned());
        return if is_date { name } else { said("@", &name) };
    }
    let address = unescaped(target);
    let bare = address.strip_prefix("mailto:").unwrap_or(&address);
    let bare = bare.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
    match label {
        Some(label) if label.trim_end_matches('/').ends_with(bare) => label,
        Some(label) => format!("{label} ({address})"),
        None => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_signs_become_words() {
        let names = UserNames::from([("U1".to_owned(), "Ada".to_owned())]);
        let table = [
            ("Hi <@U1>", "Hi @Ada"),
            ("Hi <@U2>", "Hi @U2"),
            ("Hi <@U2|bob>", "Hi @bob"),
            ("in <#C1|general> and <#C2>", "in #general and #C2"),
            ("<!here> <!channel|@channel> <!subteam^S1|@cooks>", "@here @channel @cooks"),
            ("<!date^1392734382^{date}|18 February>", "18 February"),
            ("see <https://a.example/x?a=1&amp;b=2>", "see https://a.example/x?a=1&b=2"),
            ("see <https://a.example|our page>", "see our page (https://a.example)"),
            ("<http://a.example|a.example>", "a.example"),
            ("<mailto:a@b.example|a@b.example>", "a@b.example"),
            ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
            ("&amp;lt;", "&lt;"),
            ("a < b", "a < b"),
            ("", ""),
        ];
        for (written, expected) in table {
            assert_eq!(readable(written, &names), expected, "{written}");
        }
    }

    #[test]
    fn k2_a_mention_at_the_beginning_is_no_part_of_the_words() {
        let table = [
            ("<@UHOB> what's up", "what's up"),
            ("<@UHOB>: /stop", "/stop"),
            ("  <@UHOB|hob>, hi", "hi"),
            ("<@UADA> <@UHOB>", "<@UADA> <@UHOB>"),
            ("hi <@UHOB>", "hi <@UHOB>"),
            ("<@UHOB>", ""),
        ];
        for (written, expected) in table {
            assert_eq!(without_mention(written, "UHOB"), expected, "{written}");
        }
        assert!(mentions("hi <@UHOB|hob>", "UHOB") && !mentions("hi <@UHOBX>", "UHOB") && !mentions("@UHOB", "UHOB"));
        assert_eq!(mentioned("<@U1> <@U2|x> <#C1> <@U3").collect::<Vec<_>>(), ["U1"]);
    }

    #[test]
    fn k2_what_is_written_out_comes_back() {
        for text in ["a < b & c > d", "<!channel>", "&lt;", "plain"] {
            assert!(!escaped(text).contains('<'));
            assert_eq!(unescaped(&escaped(text)), text);
        }
    }
}
