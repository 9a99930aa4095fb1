use proptest::prelude::*;

use super::*;
use crate::domain::ids::CallId;

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

/// A history in short: `u:text`, `a:text[calls]`, `t:id=text`.
fn short(history: &[Message]) -> String {
    let line = |message: &Message| match message {
        Message::User { .. } => format!("u:{}", message.text()),
        Message::Assistant { .. } => {
            let text = message.text();
            let calls: Vec<_> = message.calls().map(|call| call.id.to_string()).collect();
            format!("a:{text}[{}]", calls.join(","))
        }
        Message::Tool(result) => format!("t:{}={}", result.call, result.text),
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
            format!("u:a | a:[0.0] | t:0.0={INTERRUPTED}")
        }),
        ("second result of one call", vec![user("a"), model("", &["0.0"]), result("0.0", "x"), result("0.0", "y")], {
            "u:a | a:[0.0] | t:0.0=x".into()
        }),
        ("call without result, then words", vec![user("a"), model("", &["0.0"]), user("b")], {
            format!("u:a | a:[0.0] | t:0.0={INTERRUPTED} | u:b")
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
            format!("u:a | a:[0] | t:0={INTERRUPTED} | u:b | a:[0] | t:0=x"),
        ),
        ("words, then a call", vec![user("a"), model("b", &[]), model("", &["0"]), result("0", "x")], {
            "u:a | a:b[0] | t:0=x".into()
        }),
        ("call, then words", vec![user("a"), model("", &["0"]), model("b", &[]), user("c")], {
            format!("u:a | a:[0] | t:0={INTERRUPTED} | a:b[] | u:c")
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

/// Checks by rules of its own what [`legal`] promises.
fn check(history: &[Message]) -> Result<(), String> {
    let Some(Message::User { .. }) = history.first() else { return Err("must start with the user".into()) };
    if matches!(history.last(), Some(Message::Assistant { .. })) {
        return Err("must not end with the model".into());
    }
    let mut open: Vec<CallId> = Vec::new();
    let mut before = None;
    for message in history {
        if !matches!(message, Message::Tool(_)) && !open.is_empty() {
            return Err(format!("unanswered: {open:?}"));
        }
        match message {
            Message::User { .. } if message.text().trim().is_empty() => return Err("empty user".into()),
            Message::User { .. } if before == Some("user") => return Err("two users".into()),
            Message::Assistant { .. } if before == Some("model") => return Err("two models".into()),
            Message::Assistant { .. } if message.text().trim().is_empty() && message.calls().next().is_none() => {
                return Err("empty model".into());
            }
            Message::Assistant { .. } => open = message.calls().map(|call| call.id.clone()).collect(),
            Message::Tool(result) if open.first() != Some(&result.call) => return Err("orphan result".into()),
            Message::Tool(result) if result.text.trim().is_empty() => return Err("empty result".into()),
            Message::Tool(_) => {
                open.remove(0);
            }
            Message::User { .. } => {}
        }
        before = Some(match message {
            Message::User { .. } => "user",
            Message::Assistant { .. } => "model",
            Message::Tool(_) => "tool",
        });
    }
    if open.is_empty() { Ok(()) } else { Err(format!("unanswered: {open:?}")) }
}

fn any_message() -> impl Strategy<Value = Message> {
    let text = prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a-z]{1,3}"];
    let id = prop_oneof![Just("0.0"), Just("0.1"), Just("1.0")];
    let calls = proptest::collection::vec((id.clone(), ".{0,3}", ".{0,3}"), 0..3);
    prop_oneof![
        text.clone().prop_map(Message::user),
        (text.clone(), calls).prop_map(|(text, calls)| {
            let calls = calls.iter().map(|(id, name, arguments)| call(id, name, arguments)).collect();
            Message::assistant(text, calls)
        }),
        (id, text).prop_map(|(id, text)| result(id, &text)),
    ]
}

proptest! {
    #[test]
    fn any_history_becomes_legal_and_stays(history in proptest::collection::vec(any_message(), 0..12)) {
        let once = passes(&history);
        prop_assert_eq!(check(&once), Ok(()), "{:?}", once);
        prop_assert_eq!(passes(&once), once);
    }

    #[test]
    fn no_words_are_lost(history in proptest::collection::vec(any_message(), 0..12)) {
        let told = short(&passes(&history));
        for message in &history {
            if let Message::User { .. } | Message::Assistant { .. } = message {
                let text = message.text();
                prop_assert!(told.contains(text.trim()));
            }
        }
        let last = history.iter().rev().find_map(|message| match message {
            Message::User { .. } => Some(message.text().trim().to_owned()),
            Message::Assistant { .. } | Message::Tool(_) => None,
        });
        if last.as_deref() == Some("") {
            prop_assert!(told.contains(EMPTY_MESSAGE));
        }
    }
}
