use super::*;
use crate::message::{Image, ReplyPart, Sealed, ToolCall, ToolResult, UserPart};
use hob_core::domain::ids::CallId;

const TARGET: HistoryTarget<'_> = HistoryTarget { rules: &OPENAI, model: "a/one", sees_images: true };

fn passes(history: &[Message]) -> Vec<Message> {
    legalize(history, 0, &TARGET).messages
}

fn user(text: &str) -> Message {
    Message::user(text)
}

fn model(text: &str, calls: &[&str]) -> Message {
    let calls = calls.iter().map(|id| call(id, "look", "{}")).collect();
    Message::assistant(text, calls)
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: CallId(id.to_owned()), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn result(id: &str, text: &str) -> Message {
    let (name, text) = ("look".to_owned(), text.to_owned());
    Message::Tool(ToolResult { call: CallId(id.to_owned()), name, text, is_error: false })
}

/// A history in short: `u:text`, `a:text[calls]`, `t:id=text`; of an id, the last digit.
fn short(history: &[Message]) -> String {
    let id = |id: &CallId| id.0.chars().last().into_iter().collect::<String>();
    let line = |message: &Message| match message {
        Message::User { .. } => format!("u:{}", message.text()),
        Message::Assistant { .. } => {
            let text = message.text();
            let calls: Vec<_> = message.calls().map(|call| id(&call.id)).collect();
            format!("a:{text}[{}]", calls.join(","))
        }
        Message::Tool(result) => format!("t:{}={}", id(&result.call), result.text),
    };
    history.iter().map(line).collect::<Vec<_>>().join(" | ")
}

#[test]
fn table() {
    let cases: &[(&str, Vec<Message>, String)] = &[
        ("nothing", vec![], format!("u:{CONTINUE}")),
        ("legal already", vec![user("a"), model("b", &[]), user("c")], "u:a | a:b[] | u:c".into()),
        ("same role", vec![user("a"), user("b"), model("c", &[]), model("d", &[]), user("e")], {
            "u:a\n\nb | a:c\n\nd[] | u:e".into()
        }),
        ("result without call", vec![user("a"), result("0.0", "x"), user("b")], "u:a\n\nb".into()),
        ("result of another call", vec![user("a"), model("", &["0.0"]), result("0.1", "x")], {
            format!("u:a | a:[0] | t:0={INTERRUPTED}")
        }),
        ("second result of one call", vec![user("a"), model("", &["0.0"]), result("0.0", "x"), result("0.0", "y")], {
            "u:a | a:[0] | t:0=x".into()
        }),
        ("call without result, then words", vec![user("a"), model("", &["0.0"]), user("b")], {
            format!("u:a | a:[0] | t:0={INTERRUPTED} | u:b")
        }),
        ("results in another order", vec![user("a"), model("", &["0", "1"]), result("1", "y"), result("0", "x")], {
            "u:a | a:[0,1] | t:0=x | t:1=y".into()
        }),
        ("the user between call and result", vec![user("a"), model("", &["0"]), user("b"), result("0", "x")], {
            "u:a | a:[0] | t:0=x | u:b".into()
        }),
        (
            "one id in two runs",
            { vec![user("a"), model("", &["0"]), user("b"), model("", &["0"]), result("0", "x")] },
            format!("u:a | a:[0] | t:0={INTERRUPTED} | u:b | a:[1] | t:1=x"),
        ),
        ("words, then a call", vec![user("a"), model("b", &[]), model("", &["0"]), result("0", "x")], {
            "u:a | a:b[0] | t:0=x".into()
        }),
        ("call, then words", vec![user("a"), model("", &["0"]), model("b", &[]), user("c")], {
            format!("u:a | a:[0] | t:0={INTERRUPTED} | a:b[] | u:c")
        }),
        ("words between call and result", vec![user("a"), model("", &["0"]), model("b", &["1"]), result("0", "x")], {
            format!("u:a | a:[0] | t:0=x | a:b[1] | t:1={INTERRUPTED}")
        }),
        (
            "a result come late",
            vec![user("a"), model("", &["0"]), user("b"), model("c", &[]), user("d"), result("0", "x")],
            format!("u:a | a:[0] | t:0={INTERRUPTED} | u:b | a:c[] | u:d"),
        ),
        ("one id twice in a message", vec![user("a"), model("", &["0", "0"]), result("0", "x"), result("0", "y")], {
            "u:a | a:[0,1] | t:0=x | t:1=y".into()
        }),
        ("empty words", vec![user("a"), model(" ", &[]), user("\n"), user("b")], "u:a\n\nb".into()),
        ("empty last message", vec![user("a"), model("b", &[]), user(" ")], format!("u:a | a:b[] | u:{EMPTY_MESSAGE}")),
        ("empty last message before a call", vec![user(""), model("", &["0"]), result("0", "")], {
            format!("u:{EMPTY_MESSAGE} | a:[0] | t:0={NO_OUTPUT}")
        }),
        ("starts with the model", vec![model("a", &[]), user("b")], format!("u:{OMITTED} | a:a[] | u:b")),
        ("ends with the model", vec![user("a"), model("b", &[])], format!("u:a | a:b[] | u:{CONTINUE}")),
        ("starts with a result", vec![result("0", "x"), model("a", &[]), user("b")], {
            format!("u:{OMITTED} | a:a[] | u:b")
        }),
    ];
    for (name, history, expected) in cases {
        assert_eq!(&short(&passes(history)), expected, "{name}");
    }
}

#[test]
fn names_and_arguments_are_made_to_fit() {
    let calls = vec![call("0", "a.b c", "{\"x\": 1}"), call("1", "", "[1"), call("2", &"é".repeat(70), " ")];
    let history = passes(&[user("a"), Message::assistant("", calls)]);
    let calls: Vec<_> = history[1].calls().collect();
    let seen: Vec<_> = calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    let long = "_".repeat(64);
    assert_eq!(seen, [("a_b_c", "{\"x\": 1}"), ("unnamed", "{\"not_json\":\"[1\"}"), (long.as_str(), "{}")]);
}
#[test]
fn names_follow_the_provider() {
    let long = "a".repeat(70);
    let table = [
        (OPENAI, "3-d", "3-d"),
        (GEMINI, "3-d", "_3-d"),
        (GEMINI, "-d", "_-d"),
        (GEMINI, "_d", "_d"),
        (ANTHROPIC, "mcp.server:tool", "mcp_server_tool"),
        (OLLAMA, long.as_str(), &long[..64]),
    ];
    for (rules, name, expected) in table {
        assert_eq!(rules.legal_name(name), expected);
        assert_eq!(rules.legal_name(expected), expected);
    }
}

#[test]
fn ids_are_nine_letters_and_digits() {
    let table = [(0, "call00000"), (99_999, "call99999"), (100_000, "cal100000"), (12_345_678, "c12345678")];
    for (place, expected) in table {
        assert_eq!(fit::id(place).0, expected);
    }
}

fn sealed(model: &str, data: &str) -> ReplyPart {
    ReplyPart::Sealed(Sealed { model: model.to_owned(), kind: "thinking".to_owned(), data: data.to_owned() })
}

#[test]
fn e12_what_is_sealed_goes_back_to_its_maker_alone() {
    let (mine, other) = (sealed("a/one", " x "), sealed("b/two", "y"));
    let said = |parts: &[ReplyPart]| Message::Assistant { parts: parts.to_vec() };
    let words = ReplyPart::text("w");
    let table = [
        (said(&[mine.clone(), words.clone(), other.clone()]), Some(said(&[mine.clone(), words.clone()]))),
        (said(&[other.clone(), words.clone(), mine.clone()]), Some(said(&[words.clone(), mine.clone()]))),
        (said(&[mine.clone(), ReplyPart::text(" "), words.clone()]), Some(said(&[mine.clone(), words]))),
        (said(&[mine, ReplyPart::text(" ")]), None),
        (said(&[other]), None),
    ];
    for (message, expected) in table {
        let seen = passes(&[user("a"), message, user("b")]);
        assert_eq!(seen.get(1).filter(|message| matches!(message, Message::Assistant { .. })), expected.as_ref());
    }
    let parts = [sealed("a/one", "1"), ReplyPart::text("c"), sealed("a/one", "2"), ReplyPart::text("d")];
    let seen = passes(&[user("a"), said(&parts[..2]), said(&parts[2..]), user("b")]);
    assert_eq!(seen[1].text(), "c\n\nd");
    let Message::Assistant { parts: merged } = &seen[1] else { panic!("{seen:?}") };
    assert_eq!([&merged[0], &merged[2]], [&parts[0], &parts[2]]);
}

#[test]
fn pictures_go_to_those_who_see_them() {
    let image = |media_type, base64: &str| UserPart::Image(Image::new(media_type, base64));
    let (png, gif) = (image(MediaType::Png, "AA=="), image(MediaType::Gif, "AA=="));
    let parts = vec![UserPart::text("a"), png.clone(), UserPart::text(" "), gif.clone(), image(MediaType::Png, "")];
    let blind = format!("a\n\n{UNSEEN_IMAGE}\n\n{UNSEEN_IMAGE}\n\n{UNSEEN_IMAGE}");
    let table = [
        (TARGET, vec![UserPart::text("a"), png.clone(), gif, UserPart::text(UNSEEN_IMAGE)]),
        (HistoryTarget { rules: &GEMINI, ..TARGET }, {
            vec![UserPart::text("a"), png, UserPart::text(format!("{UNSEEN_IMAGE}\n\n{UNSEEN_IMAGE}"))]
        }),
        (HistoryTarget { sees_images: false, ..TARGET }, vec![UserPart::text(blind)]),
    ];
    for (target, expected) in table {
        let history = [Message::User { parts: parts.clone() }];
        assert_eq!(legalize(&history, 0, &target).messages, [Message::User { parts: expected }]);
    }
}

#[test]
fn what_is_stable_stays_whatever_follows() {
    let asked = [user("a"), model("", &["0"]), result("0", "x")];
    let table: &[(&str, Vec<Message>, usize, usize)] = &[
        ("nothing", asked.to_vec(), 0, 0),
        ("a user's words may go on", asked.to_vec(), 1, 1),
        ("a call waits", asked.to_vec(), 2, 2),
        ("a call answered", asked.to_vec(), 3, 3),
        ("words may go on", vec![user("a"), model("b", &[])], 2, 1),
        ("words that ended", vec![user("a"), model("b", &[]), user("c")], 2, 2),
        ("half of a merged message", vec![user("a"), model("b", &[]), model("c", &[]), user("d")], 2, 1),
        ("the frame before it", vec![model("b", &[]), user("c")], 1, 2),
        ("a result may come", vec![user("a"), model("", &["0"]), user("b")], 3, 2),
        ("a result came too late", vec![user("a"), model("", &["0"]), user("b"), model("c", &[]), user("d")], 4, 5),
        (
            "a result came too late, and nothing was said since",
            vec![model("", &["0"]), user("b"), model("c", &[]), user("")],
            4,
            4,
        ),
        ("what stands for nothing", vec![user("a"), model("b", &[]), user(" "), model("c", &[])], 4, 1),
        ("more than there is", vec![user("a"), model("b", &[]), user("c")], 9, 2),
    ];
    for (name, history, stable, expected) in table {
        assert_eq!(legalize(history, *stable, &TARGET).stable, *expected, "{name}");
    }
}
