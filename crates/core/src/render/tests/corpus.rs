//! Markdown to try: texts as models write them, and noise.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Words with everything that counts otherwise than it looks.
fn word() -> impl Strategy<Value = String> {
    const ODD: &[&str] = &[
        "Straße",
        "übergroß",
        "👩‍👩‍👧‍👦",
        "🇩🇪🇫🇷",
        "👍🏽",
        "e\u{301}tude",
        "שלום",
        "مرحبا",
        "漢字かな。",
        "नमस्ते",
        "a<b",
        "R&D",
        "x_y_z",
        "2*3",
        "~30",
        "a|b",
        "[x]",
        "C:\\dir",
        "\"so\"",
        "don't",
        "1.",
        "#1",
        "-5",
        "+1",
        "`tick",
        "https://e.example/a_b?c=d&e=f",
        "end.",
        "Why?",
        "<div>",
        "&amp;",
        "@everyone",
    ];
    prop_oneof![3 => "[a-zäöü]{1,9}", 1 => select(ODD).prop_map(str::to_owned), 1 => "[a-z]{2,40}[.!?]?"]
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => word(),
        1 => vec(word(), 1..4).prop_map(|words| format!("**{}**", words.join(" "))),
        1 => vec(word(), 1..4).prop_map(|words| format!("*{}*", words.join(" "))),
        1 => (word(), word(), word()).prop_map(|(a, b, c)| format!("**{a} *{b}* ~~{c}~~**")),
        1 => (word(), word()).prop_map(|(a, b)| format!("{a}**{b}**{a}")),
        1 => vec(word(), 1..4).prop_map(|words| format!("`{}`", words.join(" "))),
        1 => word().prop_map(|label| format!("[{label} **b**](https://e.example/{}_(x)?q=1&r)", label.len())),
        1 => word().prop_map(|label| format!("[{label}](javascript:x)")),
        1 => Just("<mailto:anna@e.example> ![alt](https://e.example/i.png)".to_owned()),
    ];
    vec(piece, 1..40).prop_map(|pieces| pieces.join(" "))
}

fn leaf() -> BoxedStrategy<String> {
    let code = (select(&["", "rust", "c++", "python {x}"][..]), vec(vec(word(), 0..12), 0..30));
    let table = (1..5_usize, vec(vec(word(), 4), 0..20));
    prop_oneof![
        4 => text(),
        1 => vec(text(), 2..5).prop_map(|lines| lines.join("\n")),
        1 => (1..7_usize, text()).prop_map(|(level, text)| format!("{} {text}", "#".repeat(level))),
        1 => code.prop_map(|(language, lines)| {
            let lines: Vec<String> = lines.iter().map(|line| line.join(" ")).collect();
            format!("````{language}\n{}\n````", lines.join("\n"))
        }),
        1 => table.prop_map(|(columns, rows)| {
            let row = |cells: &[String]| {
                let cells: Vec<String> = cells.iter().take(columns).map(|cell| cell.replace('|', "\\|")).collect();
                format!("|{}|", cells.join("|"))
            };
            let header: Vec<String> = (0..columns).map(|column| format!("h{column}")).collect();
            let lines: Vec<String> = rows.iter().map(|cells| row(cells)).collect();
            format!("{}\n|{}\n{}", row(&header), "-:|".repeat(columns), lines.join("\n"))
        }),
        1 => Just("---".to_owned()),
    ]
    .boxed()
}

fn indented(text: &str, first: &str, rest: &str) -> String {
    let lines = text.split('\n').enumerate();
    let lines = lines.map(|(index, line)| format!("{}{line}", if index == 0 { first } else { rest }));
    lines.collect::<Vec<_>>().join("\n")
}

fn block() -> impl Strategy<Value = String> {
    leaf().prop_recursive(4, 24, 6, |inner| {
        let list =
            (vec(vec(inner.clone(), 1..3), 1..6), select(&["- ", "7. ", "- [x] "][..]), select(&["\n", "\n\n"][..]));
        prop_oneof![
            2 => list.prop_map(|(items, marker, between)| {
                let rest = " ".repeat(marker.len().min(3));
                let items = items.iter().map(|blocks| indented(&blocks.join("\n\n"), marker, &rest));
                items.collect::<Vec<_>>().join(between)
            }),
            1 => vec(inner, 1..4).prop_map(|blocks| indented(&blocks.join("\n\n"), "> ", "> ")),
        ]
    })
}

/// A reply as a model writes it.
pub(super) fn reply() -> impl Strategy<Value = String> {
    vec(block(), 1..8).prop_map(|blocks| blocks.join("\n\n"))
}

/// What nobody writes on purpose.
pub(super) fn noise() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        select(
            &[
                "*",
                "**",
                "_",
                "~~",
                "`",
                "```",
                "````\n",
                "[",
                "](",
                ")",
                "![",
                "<",
                ">",
                "> ",
                "- ",
                "1. ",
                "# ",
                "|",
                "|-|\n",
                "\n",
                "\n\n",
                "    ",
                "\t",
                "\\",
                "&",
                "&lt;",
                "&#27;",
                "&nbsp;",
                "http://",
                "<b>",
                "</b>",
                "<!channel>",
                "<@1>",
                "---\n",
                "\u{301}",
                "\u{200d}",
                "👩",
                "🇩",
                "\u{202e}",
                "\0",
                "\r\n",
                "[x]: http://y\n",
                "<https://e.example/a>",
                "- [ ] ",
                "\u{1b}[31m",
                "\u{feff}",
            ][..]
        )
        .prop_map(str::to_owned),
        "[a-z ]{1,12}",
        any::<char>().prop_map(String::from),
        "[a]{900,1200}",
    ];
    vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

/// Either.
pub(super) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![reply(), noise()]
}
