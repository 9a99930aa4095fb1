//! What goes where, in several languages.

use super::*;

fn routed(text: &str) -> Tier {
    route(&MessageFeatures::of(text, RoutingContext::default()))
}

#[test]
fn a2_small_talk_is_fast() {
    let table = [
        "",
        " ",
        "ok",
        "Thanks!",
        "Good morning",
        "How are you?",
        "lol 😂",
        "see you at 8",
        "What time is it?",
        "Danke dir, bis später!",
        "Wie spät ist es?",
        "Gute Nacht 🌙",
        "Merci beaucoup !",
        "Ça va ?",
        "¿Qué tal?",
        "Grazie mille",
        "Привет, как дела?",
        "Спасибо!",
        "ありがとう",
        "おはようございます",
        "谢谢你",
        "你好吗？",
        "고마워요",
        "شكرا جزيلا",
        "كيف حالك؟",
        "धन्यवाद",
        "תודה רבה",
        "tack så mycket",
    ];
    for text in table {
        assert_eq!(routed(text), Tier::Fast, "{text}");
    }
}

#[test]
fn a2_most_things_are_for_the_primary_model() {
    let table = [
        "Remind me tomorrow morning to take the bins out, please",
        "What is the difference between a virus and a bacterium?",
        "Erinnere mich bitte übermorgen an den Zahnarzttermin von Mia",
        "Peux-tu me résumer les nouvelles les plus importantes d'hier ?",
        "¿Puedes buscar una receta de paella para cuatro personas?",
        "Какая завтра погода в Москве, и нужен ли мне зонт вечером?",
        "明日の朝七時に起こしてください。それから天気も教えて。",
        "请帮我查一下明天从北京到上海的高铁票还有没有。",
        "내일 아침에 회의 자료를 정리해서 보내 달라고 말해 줘",
        "ما هي أفضل طريقة لتنظيف السجادة من بقع القهوة؟",
        "look: https://example.org/a?b=1+1",
        "(www.example.org)",
        "12 * 7 = x",
        "1+1",
        "call 0171 5550199",
        "Really? Why?",
        "- milk",
        "2. bread",
        "one\ntwo\nthree",
        "return x;",
    ];
    for text in table {
        assert_eq!(routed(text), Tier::Primary, "{text}");
    }
}

#[test]
fn a2_long_structured_and_code_is_for_the_smart_model() {
    let prose = "Write a letter to the landlord about the heating, and be firm. ".repeat(10);
    let chinese = "请写一封关于暖气的信给房东，语气要坚定，但也要有礼貌。".repeat(8);
    let lines = "a line\n".repeat(12);
    let numbers = "1234567890 ".repeat(6);
    let table = [
        prose.as_str(),
        &chinese,
        &lines,
        &numbers,
        "```\nx\n```",
        "why?\n```rust\nfn main() {}\n```\nand this?",
        "fn main() {\n  let x = 1;\n}",
        "for (;;) {\n x++;\n y--;\n}",
        "def f(x):\n  return x;\nclass A {",
        "- milk\n- bread\n- two lemons",
        "1. 计划\n2. 预算\n3. 时间",
        "１．計画\n２．予算\n３．時間",
        "一: Who? What? When? Where?",
        "∫x^2 = x^3÷3 + c",
    ];
    for text in table {
        assert_eq!(routed(text), Tier::Smart, "{text}");
    }
}

#[test]
fn a2_what_goes_before_counts() {
    let none = RoutingContext::default();
    let table = [
        (RoutingContext { attachments: 1, ..none }, Tier::Primary),
        (RoutingContext { attachments: 3, ..none }, Tier::Smart),
        (RoutingContext { tool_calls: 1, ..none }, Tier::Fast),
        (RoutingContext { tool_calls: 2, ..none }, Tier::Primary),
        (RoutingContext { tool_calls: 8, ..none }, Tier::Smart),
        (RoutingContext { failed: true, ..none }, Tier::Smart),
    ];
    for (around, tier) in table {
        assert_eq!(route(&MessageFeatures::of("go on", around)), tier, "{around:?}");
    }
}

#[test]
fn a2_it_is_off_when_there_is_one_model() {
    let tiers = |fast, smart| Tiers { fast, primary: "a/b", smart };
    assert!(!tiers(None, None).differ() && !tiers(Some("a/b"), Some("a/b")).differ());
    assert!(tiers(Some("a/c"), None).differ() && tiers(None, Some("a/c")).differ());
    let two = tiers(Some("a/c"), None);
    assert_eq!([Tier::Fast, Tier::Primary, Tier::Smart].map(|tier| two.model(tier)), ["a/c", "a/b", "a/b"]);
}

#[test]
fn the_documentation_shows_the_rules() {
    let shown = |tier: Tier| {
        let rules = RULES.iter().filter(|rule| rule.tier == tier);
        rules.map(|rule| format!("{} {}", name(rule.measure), rule.at_least)).collect::<Vec<_>>().join(", ")
    };
    let documentation = include_str!("../../../../../docs/models.md");
    for tier in [Tier::Smart, Tier::Primary] {
        let row = format!("| {} | {} |", tier.role(), shown(tier));
        assert!(documentation.contains(&row), "docs/models.md lacks this row:\n{row}");
    }
}

/// As docs/models.md calls it.
fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Length => "length",
        Measure::Lines => "lines",
        Measure::CodeBlocks => "code blocks",
        Measure::CodeLines => "code lines",
        Measure::Links => "links",
        Measure::Questions => "questions",
        Measure::ListItems => "list items",
        Measure::Digits => "digits",
        Measure::Maths => "signs",
        Measure::Attachments => "attachments",
        Measure::ToolCalls => "tool calls",
        Measure::Failed => "failed",
    }
}
