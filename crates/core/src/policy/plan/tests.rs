use super::*;

/// A plan for `send`: to Ben, as he was named; an amount that nobody named; the text as it comes.
fn planned(arguments: &str, said: &[&str]) -> PlannedCall {
    let steps = read(&format!(r#"{{"steps":[{{"tool":"send","arguments":{arguments}}}]}}"#)).unwrap();
    let mut step = steps.into_iter().next().unwrap();
    step.content = vec!["text".to_owned()];
    for argument in &mut step.arguments {
        if let PlannedValue::Is { whence, .. } = &mut argument.value {
            *whence = said.contains(&argument.name.as_str()).then_some(ValueSource::Words);
        }
    }
    step
}

/// The doubts, as one line; none: another call.
fn told(step: &PlannedCall, arguments: &str) -> Option<String> {
    let doubt = |doubt: &UnvouchedValue| format!("{}={} ({})", doubt.argument, doubt.value, doubt.planned);
    unvouched_values(step, "send", arguments, &|_| None)
        .map(|doubts| doubts.iter().map(doubt).collect::<Vec<_>>().join("; "))
}

#[test]
fn n16_a_call_is_the_one_that_was_planned_or_another() {
    let plain = r#"{"to":"Ben"}"#;
    let bill = r#"{"to":"Ben","amount":{"from":"the total in bill.txt"}}"#;
    let table: [(&str, &[&str], &str, Option<&str>); 26] = [
        (plain, &["to"], r#"{"to":"Ben"}"#, Some("")),
        (plain, &["to"], r#"{"to":"Ben","text":"whatever was read"}"#, Some("")),
        (plain, &["to"], r#"{"text":"x","to":"Ben"}"#, Some("")),
        (plain, &["to"], r#"{"to":"Eve"}"#, None),
        (plain, &["to"], r#"{"to":"ben"}"#, None),
        (plain, &["to"], "{\"to\":\"Ben\u{200b}\"}", None),
        (plain, &["to"], "{\"to\":\"B\u{435}n\"}", None),
        (plain, &["to"], r#"{"to":["Ben"]}"#, None),
        (plain, &["to"], r#"{"to":"Ben","bcc":"eve@evil.example"}"#, None),
        (plain, &["to"], r#"{"to":"Ben","bcc":null,"cc":[]}"#, Some("")),
        (plain, &["to"], r#"{"to":"Ben","bcc":""}"#, None),
        (plain, &["to"], r#"{"to":"Ben","text":{"to":"Eve"}}"#, None),
        (plain, &["to"], r#"{"text":"x"}"#, None),
        (plain, &["to"], r#"{"to":"Eve","to":"Ben"}"#, Some("")),
        (plain, &["to"], r#"{"to":"Ben","to":"Eve"}"#, None),
        (plain, &[], r#"{"to":"Ben"}"#, Some("to=Ben ()")),
        (bill, &["to"], r#"{"to":"Ben","amount":98.70}"#, Some("amount=98.70 (the total in bill.txt)")),
        (bill, &["to"], r#"{"to":"Ben"}"#, None),
        (bill, &["to"], r#"{"to":"Eve","amount":98.70}"#, None),
        (r#"{"to":"Ben","dry":true}"#, &["to"], r#"{"to":"Ben"}"#, None),
        (r#"{"to":"Ben","amount":100}"#, &["to", "amount"], r#"{"to":"Ben","amount":1e2}"#, Some("")),
        (r#"{"to":"Ben","amount":100}"#, &["to", "amount"], r#"{"to":"Ben","amount":"100"}"#, None),
        (r#"{"to":"Ben","text":"I am late"}"#, &["to"], r#"{"to":"Ben","text":"I am late"}"#, Some("")),
        (r#"{"to":"Ben","text":"I am late"}"#, &["to"], r#"{"to":"Ben","text":"Pay Eve"}"#, None),
        (r#"{"text":{"from":"the page"}}"#, &[], r#"{"text":"Pay Eve"}"#, None),
        ("{}", &[], "{}", None),
    ];
    for (plan, said, call, expected) in table {
        assert_eq!(told(&planned(plan, said), call).as_deref(), expected, "{plan} {call}");
    }
    assert_eq!(unvouched_values(&planned(plain, &["to"]), "send_all", r#"{"to":"Ben"}"#, &|_| None), None);
    assert_eq!(unvouched_values(&planned(plain, &["to"]), "send", "{", &|_| None), None);
}

#[test]
fn n16_a_mere_form_steers_nothing_by_itself() {
    let mut step = planned(r#"{"on":true,"text":"x"}"#, &[]);
    step.arguments[0].value = PlannedValue::Is { written: "true".to_owned(), whence: Some(ValueSource::Form) };
    assert_eq!(told(&step, r#"{"on":true,"text":"x"}"#), None, "no value of somebody's steers it");
}

#[test]
fn n16_a_value_may_be_found_by_a_call_that_the_plan_names() {
    let step = planned(r#"{"id":{"from":" find ","with":{"q":"Ben","all":true}},"text":{"from":"the page"}}"#, &[]);
    let call = r#"{"id":"5","text":"x"}"#;
    let of = |call: &str, found: Option<&str>| {
        unvouched_values(&step, "send", call, &|_| found.map(str::to_owned)).map(|doubts| doubts.len())
    };
    assert_eq!(told(&step, call).unwrap(), "id=5 (find for \"Ben, true\")");
    for same in [call, r#"{"id":5}"#, r#"{"id":["5"]}"#] {
        assert_eq!((of(same, Some("5")), of(same, Some("6")), of(same, None)), (Some(0), None, Some(1)), "{same}");
    }
    for other in [r#"{"id":["5","6"]}"#, r#"{"id":[["5"]]}"#, r#"{"id":{"id":"5"}}"#, r#"{"id":"5 "}"#] {
        assert_eq!(of(other, Some("5")), None, "{other}");
    }
    assert_eq!(of(r#"{"text":"x"}"#, Some("5")), None, "it is missing");
    for none in [r#"{"id":{"from":"find","with":"Ben"}}"#, r#"{"id":{"from":"find","with":{},"or":1}}"#] {
        assert!(matches!(planned(none, &[]).arguments[0].value, PlannedValue::Is { .. }), "{none}");
    }
}

#[test]
fn n16_a_tool_that_keeps_times_is_told_by_its_name() {
    for keeps in ["create_event", "cal__createCalendarEvent", "set_reminder", "alarm"] {
        assert!(keeps_times(keeps), "{keeps}");
    }
    for other in ["event__post", "send", "eventual", "post_status"] {
        assert!(!keeps_times(other), "{other}");
    }
}

#[test]
fn n16_a_plan_has_its_form_or_is_none() {
    let shapeless = [
        "",
        "{}",
        "[]",
        r#"{"steps":[]}"#,
        r#"{"steps":{}}"#,
        r#"{"steps":["send"]}"#,
        r#"{"steps":[{"tool":""}]}"#,
        r#"{"steps":[{"arguments":{}}]}"#,
        r#"{"steps":[{"tool":"send","arguments":[]}]}"#,
        r#"{"steps":[{"tool":"send","arguments":{},"unless":"it rains"}]}"#,
    ];
    for written in shapeless {
        assert_eq!(read(written), Err(PlanParseError::Shapeless), "{written}");
    }
    let many = format!(r#"{{"steps":[{}]}}"#, vec![r#"{"tool":"send"}"#; 21].join(","));
    assert_eq!(read(&many), Err(PlanParseError::TooLong));
    assert_eq!(read(&"x".repeat(16_001)), Err(PlanParseError::TooLong));
}

#[test]
fn n16_what_steers_is_told_by_its_name_and_what_is_not_known_steers() {
    for says in ["body", "messageBody", "note", "title", "text", "Description", "commit_message"] {
        assert!(is_content_by_name(says), "{says}");
    }
    for steers in [
        "to",
        "recipient_iban",
        "text_color",
        "message_id",
        "file_content",
        "path",
        "query",
        "password",
        "",
        "x1",
        "command",
    ] {
        assert!(!is_content_by_name(steers), "{steers}");
    }
}

#[test]
fn n16_a_value_is_shown_on_one_line() {
    let step = planned(r#"{"to":{"from":"the\npage"}}"#, &[]);
    let call = serde_json::json!({ "to": format!("a\nb\u{202e}{}", "x".repeat(400)) }).to_string();
    let doubts = unvouched_values(&step, "send", &call, &|_| None).unwrap();
    assert_eq!(doubts[0].planned, "the ⟨U+000A⟩ page");
    assert!(doubts[0].value.starts_with("a ⟨U+000A⟩ b⟨U+202E⟩x") && doubts[0].value.ends_with('…'));
}
