//! What the platforms make of a chunk: each refuses what its platform refuses, and answers what a reader would see.

#![expect(clippy::string_slice, reason = "what cannot be cut there is not valid, and the test fails")]

/// An entity's addresses and all else must stay below this, and there are at most a hundred.
const TELEGRAM_ENTITIES: (usize, usize) = (100, 9_500);

/// Telegram's HTML.
pub(super) fn telegram(markup: &str) -> Result<String, String> {
    let mut shown = String::new();
    let mut open: Vec<(String, usize)> = Vec::new();
    let (mut entities, mut bytes) = (0, 0);
    let mut rest = markup;
    while let Some(sign) = rest.chars().next() {
        if sign == '<' {
            let (tag, after) = rest[1..].split_once('>').ok_or("a tag without an end")?;
            rest = after;
            if let Some(name) = tag.strip_prefix('/') {
                let (last, start) = open.pop().ok_or(format!("</{name}> without its beginning"))?;
                if last != name {
                    return Err(format!("</{name}> ends <{last}>"));
                }
                if shown[start..].trim().is_empty() {
                    return Err(format!("an empty <{name}>"));
                }
                continue;
            }
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            let around: Vec<&str> = open.iter().map(|(name, _)| name.as_str()).collect();
            nested(name, attributes, &around)?;
            if !(name == "code" && around.last() == Some(&"pre")) {
                entities += 1;
                bytes += 20 + attributes.len();
            }
            open.push((name.to_owned(), shown.len()));
        } else if sign == '&' {
            let (entity, after) = rest[1..].split_once(';').ok_or("a bare &")?;
            shown.push(match entity {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                other => return Err(format!("unknown entity &{other};")),
            });
            rest = after;
        } else if sign == '>' {
            return Err("a bare >".to_owned());
        } else {
            shown.push(sign);
            rest = &rest[sign.len_utf8()..];
        }
    }
    if let Some((name, _)) = open.last() {
        return Err(format!("<{name}> has no end"));
    }
    if entities > TELEGRAM_ENTITIES.0 || bytes > TELEGRAM_ENTITIES.1 {
        return Err(format!("{entities} entities of {bytes} bytes"));
    }
    Ok(shown)
}

fn nested(name: &str, attributes: &str, around: &[&str]) -> Result<(), String> {
    let language = attributes.strip_prefix("class=\"language-").and_then(|rest| rest.strip_suffix('"'));
    let address = attributes.strip_prefix("href=\"").and_then(|rest| rest.strip_suffix('"'));
    let legal = match name {
        "b" | "i" | "s" => attributes.is_empty() && !around.contains(&"code") && !around.contains(&"pre"),
        "a" => {
            let web =
                address.is_some_and(|address| address.to_lowercase().starts_with("http") && !address.contains('"'));
            web && !around.iter().any(|name| ["a", "code", "pre"].contains(name))
        }
        "code" if around.last() == Some(&"pre") => {
            language.is_some_and(|name| name.chars().all(|sign| sign.is_ascii_alphanumeric() || "+-#._".contains(sign)))
        }
        "code" | "pre" => attributes.is_empty() && around.iter().all(|name| *name == "blockquote"),
        "blockquote" => attributes.is_empty() && around.is_empty(),
        _ => false,
    };
    if legal { Ok(()) } else { Err(format!("<{name} {attributes}> within {around:?}")) }
}

/// Slack's mrkdwn.
pub(super) fn slack(markup: &str) -> Result<String, String> {
    let mut shown = String::new();
    let mut fences = 0;
    for line in markup.split('\n') {
        let fence = line.matches("```").count();
        if fence > 1 || (fence == 1 && line != "```") {
            return Err(format!("a fence within a line: {line}"));
        }
        fences += fence;
        let text = line.strip_prefix('>').unwrap_or(line);
        if fences % 2 == 1 && text != line {
            return Err(format!("a quote within code: {line}"));
        }
        slack_line(text, &mut shown)?;
        shown.push('\n');
    }
    if fences % 2 == 1 { Err("code has no end".to_owned()) } else { Ok(shown) }
}

fn slack_line(line: &str, shown: &mut String) -> Result<(), String> {
    let mut rest = line;
    while let Some(sign) = rest.chars().next() {
        if sign == '<' {
            let (link, after) = rest[1..].split_once('>').ok_or("a link without an end")?;
            let (address, label) = link.split_once('|').unwrap_or((link, link));
            let known = ["http", "mailto:", "tel:"].iter().any(|scheme| address.to_lowercase().starts_with(scheme));
            if !known || address.contains([' ', '<', '"']) || label.contains('<') || label.is_empty() {
                return Err(format!("no link: <{link}>"));
            }
            slack_line(label, shown)?;
            rest = after;
        } else if sign == '&' {
            let entity =
                [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>')].into_iter().find(|(name, _)| rest.starts_with(name));
            let (name, sign) = entity.ok_or(format!("a bare &: {rest}"))?;
            shown.push(sign);
            rest = &rest[name.len()..];
        } else if sign == '>' {
            return Err(format!("a bare >: {line}"));
        } else {
            shown.push(sign);
            rest = &rest[sign.len_utf8()..];
        }
    }
    Ok(())
}

/// The texts of the sections in a message's `blocks`.
pub(super) fn sections(blocks: &str) -> Vec<String> {
    let blocks: serde_json::Value = serde_json::from_str(blocks).unwrap_or_default();
    assert!(blocks.is_array(), "no blocks: {blocks}");
    let section = |block: &serde_json::Value| {
        assert_eq!((block["type"].as_str(), block["text"]["type"].as_str()), (Some("section"), Some("mrkdwn")));
        block["text"]["text"].as_str().unwrap_or_default().to_owned()
    };
    blocks.as_array().into_iter().flatten().map(section).collect()
}

/// Discord's Markdown.
pub(super) fn discord(markup: &str) -> Result<String, String> {
    let mut shown = String::new();
    let mut prose = String::new();
    let (mut in_code, mut quoted) = (false, false);
    for line in markup.split('\n') {
        // Within code, only a quote's code has the quote's sign.
        let text = line.strip_prefix("> ").filter(|_| quoted || !in_code).unwrap_or(line);
        quoted = if in_code { quoted } else { text != line };
        if let Some(name) = text.strip_prefix("```") {
            if name.contains('`') || (in_code && !name.is_empty()) {
                return Err(format!("a fence within a line: {line}"));
            }
            in_code = !in_code;
            prose.push('\n');
        } else if in_code {
            if text.contains("```") {
                return Err(format!("a fence within code: {line}"));
            }
            discord_prose(&std::mem::take(&mut prose), &mut shown)?;
            shown.push_str(text);
            shown.push('\n');
        } else {
            prose.push_str(text);
            prose.push('\n');
        }
    }
    discord_prose(&prose, &mut shown)?;
    if in_code { Err("code has no end".to_owned()) } else { Ok(shown) }
}

/// Text outside of code: no sign is left over.
fn discord_prose(prose: &str, shown: &mut String) -> Result<(), String> {
    let (mut stars, mut waves) = (0, 0);
    let mut rest = prose;
    while let Some(sign) = rest.chars().next() {
        let mut taken = sign.len_utf8();
        match sign {
            '\\' => {
                let escaped = rest[1..].chars().next().ok_or("a backslash at the end")?;
                if !escaped.is_ascii_punctuation() {
                    return Err(format!("a backslash before {escaped:?}"));
                }
                shown.push(escaped);
                taken += 1;
            }
            '*' => stars += 1,
            '~' => waves += 1,
            '`' => {
                let ticks = rest.len() - rest.trim_start_matches('`').len();
                let fence = &rest[..ticks];
                let (code, _) = rest[ticks..].split_once(fence).ok_or("code within a line has no end")?;
                shown.push_str(code);
                taken = code.len() + ticks * 2;
            }
            '<' => {
                let (address, _) = rest[1..].split_once('>').ok_or("an address has no end")?;
                if !address.to_lowercase().starts_with("http") || address.contains([' ', '<']) {
                    return Err(format!("no address: <{address}>"));
                }
                shown.push_str(address);
                taken = address.len() + 2;
            }
            '|' | '_' => return Err(format!("a bare {sign}")),
            _ => shown.push(sign),
        }
        rest = &rest[taken..];
    }
    if stars % 2 == 1 || waves % 4 != 0 { Err(format!("{stars} stars, {waves} waves: {prose}")) } else { Ok(()) }
}

/// HTML: every tag is known and ended, and every address is safe.
pub(super) fn html(markup: &str) -> Result<String, String> {
    const KNOWN: &str = "p h1 h2 h3 h4 h5 h6 pre code blockquote ul ol li table thead tbody tr th td strong em del a";
    let mut shown = String::new();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = markup;
    while let Some((text, after)) = rest.split_once('<') {
        shown.push_str(&entities(text)?);
        let (tag, after) = after.split_once('>').ok_or("a tag without an end")?;
        rest = after;
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if let Some(name) = name.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> ends something else"));
            }
        } else if KNOWN.split(' ').any(|known| known == name) {
            let address =
                attributes.strip_prefix("href=\"").and_then(|rest| rest.split_once('"')).map(|(address, _)| address);
            let safe = |address: &str| {
                ["http:", "https:", "mailto:", "tel:"].iter().any(|known| address.to_lowercase().starts_with(known))
            };
            if name == "a" && !address.is_some_and(safe) {
                return Err(format!("an unsafe address: {attributes}"));
            }
            open.push(name);
        } else if name != "br" && name != "hr" {
            return Err(format!("unknown tag <{tag}>"));
        }
    }
    shown.push_str(&entities(rest)?);
    if open.is_empty() { Ok(shown) } else { Err(format!("no end: {open:?}")) }
}

fn entities(text: &str) -> Result<String, String> {
    let mut parts = text.split('&');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, after) = part.split_once(';').ok_or("a bare &")?;
        shown.push_str(match name {
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            "quot" => "\"",
            other => return Err(format!("unknown entity &{other};")),
        });
        shown.push_str(after);
    }
    Ok(shown)
}

#[test]
fn they_refuse_what_is_wrong() {
    for wrong in
        ["<b>a", "<b>a<i>b</b></i>", "<u>a</u>", "a & b", "&nbsp;", "a > b", "<code><b>a</b></code>", "<b></b>"]
    {
        assert!(telegram(wrong).is_err(), "{wrong}");
    }
    let nested = "<blockquote>a<blockquote>b</blockquote></blockquote>";
    assert!(telegram(nested).is_err());
    assert!(telegram(&"<b>a</b> ".repeat(101)).is_err());
    assert_eq!(telegram("<b>a <i>b</i></b> &lt;").as_deref(), Ok("a b <"));
    for wrong in ["a & b", "<!channel>", "```\na", "a > b", "a <https://e.x b"] {
        assert!(slack(wrong).is_err(), "{wrong}");
    }
    for wrong in ["```\na", "**a*", "a_b", "`a", "a\\", "<@1>", "~~a"] {
        assert!(discord(wrong).is_err(), "{wrong}");
    }
    for wrong in ["<script>a</script>", "<p>a", "<a href=\"javascript:a\">b</a>", "<img src=a>", "a & b"] {
        assert!(html(wrong).is_err(), "{wrong}");
    }
}
