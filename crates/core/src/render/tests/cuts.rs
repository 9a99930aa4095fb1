//! Where texts are cut, and how they go on.

use crate::domain::capabilities::Capabilities;
use crate::domain::capabilities::{Limit, Unit};
use crate::domain::inbound::ChannelKind;
use crate::render::UNITS_MIN;
use crate::render::render;
use crate::render::tests::{discord, mail, slack, telegram};

fn small() -> Capabilities {
    Capabilities { limit: Some(Limit::new(UNITS_MIN, Unit::Chars)), ..discord() }
}

/// The chunks in Discord's Markdown, with the least room.
fn chunks(text: &str) -> Vec<String> {
    render(text, &small()).into_iter().map(|chunk| chunk.markup).collect()
}

fn sentence(words: usize) -> String {
    format!("Start{} end.", " word".repeat(words))
}

#[test]
fn k2_paragraphs_stay_whole_where_they_can() {
    let paragraph = sentence(40);
    let text = [paragraph.as_str(); 4].join("\n\n");
    let one = format!("{paragraph}\n\n{paragraph}\n\n{paragraph}");
    assert!(one.len() > UNITS_MIN);
    assert_eq!(chunks(&text), vec![format!("{paragraph}\n\n{paragraph}"); 2]);
}

#[test]
fn k2_long_paragraphs_are_cut_behind_sentences() {
    let text = vec![sentence(20); 8].join(" ");
    let all = chunks(&text);
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|chunk| chunk.starts_with("Start") && chunk.ends_with("end.")), "{all:#?}");
    assert_eq!(all.join(" "), text);
}

#[test]
fn k2_a_cut_within_bold_text_leaves_both_parts_bold() {
    let all = chunks(&format!("**{}**", "word ".repeat(150).trim()));
    assert!(
        all.len() == 2 && all.iter().all(|chunk| chunk.starts_with("**word") && chunk.ends_with("word**")),
        "{all:#?}"
    );
}

#[test]
fn k2_code_is_closed_and_reopened_with_its_language() {
    let lines: Vec<String> = (0..60).map(|line| format!("let line_{line} = {line};")).collect();
    let all = chunks(&format!("```rust\n{}\n```", lines.join("\n")));
    assert!(all.len() > 2);
    let inside = |chunk: &String| chunk.strip_prefix("```rust\n")?.strip_suffix("\n```").map(str::to_owned);
    let parts: Vec<String> = all.iter().filter_map(inside).collect();
    assert_eq!(parts.join("\n"), lines.join("\n"));
}

#[test]
fn k2_lists_go_on_with_their_numbers() {
    let items: Vec<String> = (5..25).map(|number| format!("{number}. item{}", " word".repeat(10))).collect();
    let all = chunks(&items.join("\n"));
    assert!(all.len() > 1);
    assert_eq!(all.join("\n"), items.join("\n"));
}

#[test]
fn k2_an_item_that_is_cut_goes_on_without_a_marker() {
    let all = chunks(&format!("1. one\n2. {}\n3. three", sentence(150)));
    let starts: Vec<&str> = all.iter().map(|chunk| chunk.split('w').next().unwrap()).collect();
    assert_eq!(starts, ["1. one\n2. Start ", "   "]);
    assert!(all[1].ends_with("end.\n3. three"));
}

#[test]
fn k2_quotes_stay_quotes() {
    let all = chunks(&format!("> {}\n>\n> > {}", sentence(90), sentence(120)));
    assert!(all.len() > 2);
    assert!(all.iter().flat_map(|chunk| chunk.lines()).all(|line| line.starts_with("> ")), "{all:#?}");
}

#[test]
fn k2_tables_repeat_their_header() {
    let rows: Vec<String> = (0..60).map(|row| format!("| row {row} | {} |", row * row)).collect();
    let all = chunks(&format!("| name | square |\n|---|--:|\n{}", rows.join("\n")));
    assert!(all.len() > 1);
    assert!(all.iter().all(|chunk| chunk.starts_with("```\nname   | square\n-------+-------\n")), "{all:#?}");
    let told: usize = all.iter().map(|chunk| chunk.matches("row ").count()).sum();
    assert_eq!(told, 60);
}

#[test]
fn k2_wide_tables_are_lists() {
    let text = format!("| name | what |\n|---|---|\n| a | {} |\n| b | **c** |", "long ".repeat(30));
    let telegram = render(&text, &telegram());
    let long = "long ".repeat(30);
    let list = format!("• <b>name</b>: a\n  <b>what</b>: {}\n• <b>name</b>: b\n  <b>what</b>: <b>c</b>", long.trim());
    assert_eq!(telegram[0].markup, list);
}

#[test]
fn k2_a_heading_goes_with_what_it_heads() {
    let all = chunks(&format!("{}\n\n# A\n\n## B\n\n{}", sentence(80), sentence(90)));
    assert_eq!(all.len(), 2);
    assert!(all[1].starts_with("# A\n\n## B\n\nStart"), "{all:#?}");
}

#[test]
fn k2_signs_of_many_chars_stay_whole() {
    let family = "👩‍👩‍👧‍👦";
    let all = chunks(&family.repeat(200));
    assert!(all.len() > 1 && all.iter().all(|chunk| chunk.replace(family, "").is_empty()), "{all:#?}");
}

/// A sign that alone is too long is cut; nothing else could be done.
#[test]
fn k2_a_sign_longer_than_a_message_is_cut() {
    let text = format!("a{}", "\u{301}".repeat(3 * UNITS_MIN));
    let all = chunks(&text);
    assert!(all.len() > 2);
    assert_eq!(all.concat(), text);
}

/// Telegram ignores markup beyond a hundred entities.
#[test]
fn k2_a_message_on_telegram_has_at_most_a_hundred_entities() {
    let all = render(&"**a** b ".repeat(250), &telegram());
    let entities: Vec<usize> = all.iter().map(|chunk| chunk.markup.matches("<b>").count()).collect();
    assert_eq!((entities.len(), entities.iter().sum::<usize>()), (3, 250));
    assert!(entities.iter().all(|count| *count <= 100));
}

#[test]
fn k2_only_safe_links_are_links() {
    let text = "[a](javascript:x) [b](https://e.example/\"onclick=) ![c](http://e.example/c.png) [d](#d) [e](mailto:e@e.example)";
    let telegram = &render(text, &telegram())[0].markup;
    assert_eq!(
        telegram,
        "a (javascript:x) <a href=\"https://e.example/%22onclick=\">b</a> <a href=\"http://e.example/c.png\">c</a> d (#d) \
         e &lt;mailto:e@e.example&gt;"
    );
    assert_eq!(
        chunks("[https://bank.example](https://evil.example)"),
        ["https://bank.example \\<https://evil.example>"]
    );
}

#[test]
fn k2_what_shows_nothing_is_no_message_and_what_only_defines_is_shown() {
    for text in ["", " \n\n", "\u{200b}", "\0"] {
        assert_eq!(chunks(text), Vec::<String>::new(), "{text:?}");
    }
    for (text, shown) in
        [("[a]: b", "\\[a\\]: b"), ("&nbsp;", "&nbsp;"), ("```\n\n```", "\\`\\`\\`\n\n\\`\\`\\`"), (">", "\\>")]
    {
        assert_eq!(chunks(text), [shown]);
    }
}

/// What would take quadratic time, or a deep stack, were it not bounded: the test is that it ends.
#[test]
fn k2_hostile_texts_are_rendered() {
    let all = [
        "*",
        "_",
        "~",
        "`",
        "[",
        "]",
        "![",
        "[](",
        "<",
        "&",
        "\\",
        "> ",
        ">",
        "- ",
        "1. ",
        "# ",
        "|",
        "|-",
        "\n",
        "**a*",
        "[a](",
        "![[a](b)",
        "https://",
        "https://[",
        "a\u{301}",
        "\u{301}",
        "👩\u{200d}",
        "```\n",
        "> - ",
        "|a|b|\n|-|-|\n",
        "**a** ",
        "`a` ",
        "[a](http://b) ",
    ];
    let platforms = [
        telegram(),
        slack(),
        discord(),
        mail(),
        *Capabilities::of(ChannelKind::Web),
        Capabilities::terminal(true, Some(80)),
    ];
    for part in all {
        let text = part.repeat(20_000 / part.len());
        for platform in &platforms {
            for chunk in render(&text, platform) {
                assert!(!chunk.plain.is_empty());
            }
        }
    }
}

#[test]
fn k2_links_in_a_row_are_links_of_their_own() {
    let slack = render("[a](http://x)**[b](http://x)**[c](http://x)", &Capabilities::slack_text());
    assert_eq!(slack[0].markup, "<http://x|a>\u{200b}*<http://x|b>*\u{200b}<http://x|c>");
}
