//! What CSS says of whether something can be seen: declarations of a `style`, and the simple rules of a style sheet.

/// The most rules of a page's own sheets that are looked at.
const RULES_MAX: usize = 500;
/// The most characters of a selector.
const SELECTOR_CHARS_MAX: usize = 100;
/// A colour that is longer is none: each element below keeps the one behind it.
const COLOR_CHARS_MAX: usize = 40;
/// From here on something is out of the page, in pixels.
const OUTSIDE_PX: f32 = 500.0;

/// Declarations, by name, in lower case and without spaces.
pub(super) struct Style(Vec<(String, String)>);

impl Style {
    /// What a `style` attribute or a rule's body says.
    pub(super) fn of(text: &str) -> Self {
        let text = without_comments(text).to_lowercase();
        let declaration = |one: &str| {
            let (name, value) = one.split_once(':')?;
            let value: String = value.chars().filter(|c| !c.is_whitespace()).collect();
            let value = value.trim_end_matches("!important").to_owned();
            Some((name.trim().to_owned(), value))
        };
        Self(text.split(';').filter_map(declaration).collect())
    }

    /// The last value that is given to this name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The colour that is behind the text, if it says so.
    pub(super) fn background(&self) -> Option<String> {
        self.get("background-color").or_else(|| self.get("background")).map(color)
    }

    /// The text's colour, if it says so.
    pub(super) fn color(&self) -> Option<String> {
        self.get("color").map(color)
    }

    /// Does it keep what it stands at from being seen?
    pub(super) fn hides(&self) -> bool {
        let is = |name: &str, values: &[&str]| self.get(name).is_some_and(|value| values.contains(&value));
        let px = |name: &str| self.get(name).and_then(pixels);
        let tiny = |name: &str| px(name).is_some_and(|size| size.abs() <= 1.0);
        let outside = |name: &str| px(name).is_some_and(|size| size <= -OUTSIDE_PX);
        let clipped = is("overflow", &["hidden", "clip"]) || is("overflow-y", &["hidden", "clip"]);
        let lifted = is("position", &["absolute", "fixed"]);
        let far = |name: &str| px(name).is_some_and(|size| size.abs() >= 5_000.0);
        let transparent = |value: &str| value == "transparent" || value.starts_with("rgba(") && value.ends_with(",0)");
        is("display", &["none"])
            || is("visibility", &["hidden", "collapse"])
            || is("content-visibility", &["hidden"])
            || self.get("opacity").and_then(number).is_some_and(|value| value < 0.05)
            || tiny("font-size")
            || clipped && ["width", "height", "max-height", "max-width"].into_iter().any(tiny)
            || outside("text-indent")
            || lifted
                && ["left", "top", "right", "bottom", "margin-left"].into_iter().any(|name| outside(name) || far(name))
            || self.get("clip").is_some_and(|value| value.starts_with("rect(0") || value.starts_with("rect(1px"))
            || self.get("clip-path").is_some_and(|value| value.contains("inset(50%") || value.contains("inset(100%"))
            || self.get("transform").is_some_and(|value| value.contains("scale(0)"))
            || self.get("color").is_some_and(transparent)
    }
}

/// The selectors of a style sheet whose rules hide something: plain names, classes and ids alone.
pub(super) fn hiding_selectors(sheet: &str) -> Vec<String> {
    let sheet = without_comments(sheet);
    let mut found = Vec::new();
    let mut rest = sheet.as_str();
    for _rule in 0..RULES_MAX {
        let Some((selectors, body)) = rest.split_once('{') else { break };
        if selectors.trim_start().starts_with('@') {
            // What holds under a condition is left aside, and what is behind it with it, up to the block's end.
            rest = after_block(body);
            continue;
        }
        let Some((body, after)) = body.split_once('}') else { break };
        if Style::of(body).hides() {
            found.extend(selectors.split(',').map(str::trim).filter(|one| is_simple(one)).map(str::to_owned));
        }
        rest = after;
    }
    found
}

fn after_block(body: &str) -> &str {
    let mut depth = 1;
    for (at, c) in body.char_indices() {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        if depth == 0 {
            return &body[at + 1..];
        }
    }
    ""
}

/// `.a`, `#b`, `p.c`: what names elements by themselves.
fn is_simple(selector: &str) -> bool {
    let named = selector.contains(['.', '#']);
    let plain = selector.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '#' | '-' | '_'));
    named && plain && selector.len() <= SELECTOR_CHARS_MAX
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

fn number(value: &str) -> Option<f32> {
    match value.strip_suffix('%') {
        Some(percent) => percent.parse::<f32>().ok().map(|value| value / 100.0),
        None => value.parse().ok(),
    }
}

/// A length, roughly in pixels.
fn pixels(value: &str) -> Option<f32> {
    let end = value.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(value.len());
    let (size, unit) = value.split_at(end);
    let factor = match unit {
        "em" | "rem" | "vw" | "vh" => 16.0,
        "%" => 10.0,
        _ => 1.0,
    };
    size.parse::<f32>().ok().map(|size| size * factor)
}

/// A colour in one spelling, as far as the usual ones go.
pub(super) fn color(value: &str) -> String {
    let value = value.split("url(").next().unwrap_or(value);
    let hex: String = value.strip_prefix('#').unwrap_or_default().chars().filter(char::is_ascii_hexdigit).collect();
    match (value, hex.len()) {
        ("white" | "rgb(255,255,255)" | "rgba(255,255,255,1)" | "hsl(0,0%,100%)", _) => "ffffff".to_owned(),
        ("black" | "rgb(0,0,0)" | "rgba(0,0,0,1)", _) => "000000".to_owned(),
        (_, 3 | 4) => hex.chars().take(3).flat_map(|c| [c, c]).collect(),
        (_, 6 | 8) => hex[..6].to_owned(),
        _ => value.chars().take(COLOR_CHARS_MAX).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_known_by_its_style() {
        for hidden in [
            "display:none",
            "DISPLAY : None !important",
            "color:red; display/**/:none",
            "visibility:hidden",
            "opacity:0",
            "opacity: .01",
            "opacity:0%",
            "font-size:0",
            "font-size:0px",
            "font-size: 1px",
            "font-size:0.01em",
            "width:1px;height:1px;overflow:hidden",
            "max-height:0;overflow:hidden",
            "position:absolute;left:-9999px",
            "position:fixed; top:-200em",
            "position:absolute;left:99999px",
            "text-indent:-9999px",
            "clip:rect(0 0 0 0)",
            "clip-path: inset(50%)",
            "transform:scale(0)",
            "color:transparent",
            "color:rgba(0,0,0,0)",
        ] {
            assert!(Style::of(hidden).hides(), "{hidden}");
        }
        for seen in [
            "",
            "display:block",
            "display:none;display:block",
            "opacity:0.5",
            "opacity:1",
            "font-size:12px",
            "font-size:1em",
            "width:1px",
            "height:0",
            "left:-9999px",
            "position:absolute;left:-10px",
            "text-indent:-20px",
            "color:rgba(0,0,0,0.5)",
        ] {
            assert!(!Style::of(seen).hides(), "{seen}");
        }
    }

    #[test]
    fn n6_a_sheet_names_what_it_hides() {
        let sheet = "/* x{} */ .a, p.b , div > .c{display:none} #d{color:red} #e{font-size:0}\
                     @media print { .f{display:none} .g{color:red} } .h{opacity:0} .i{display:none";
        assert_eq!(hiding_selectors(sheet), [".a", "p.b", "#e", ".h"]);
        assert_eq!(hiding_selectors("@media{"), Vec::<String>::new());
        assert_eq!((color("#fff"), color("#FFFFFF").to_lowercase()), (color("white"), color("white")));
    }
}
