//! Laws of `model::legal` over histories much worse than any that Hob writes: always legal, the same when done twice,
//! nothing lost that could be kept.

mod validators;

use std::collections::HashSet;

use hob_core::domain::ids::CallId;
use hob_model::legal::{
    ANTHROPIC, CONTINUE, EMPTY_MESSAGE, GEMINI, HistoryRules, HistoryTarget, INTERRUPTED, LegalHistory, NO_OUTPUT,
    NameStart, OLLAMA, OMITTED, OPENAI, UNSEEN_IMAGE, hidden_picture_note, legalize,
};
use hob_model::message::{Image, Message, ReplyPart, ToolCall, ToolResult, UserPart};
use hob_testkit::histories::{MODELS, histories, switched, trimmed};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value};

fn targets() -> impl Strategy<Value = HistoryTarget<'static>> {
    let rules: &[&'static HistoryRules] = &[&OPENAI, &ANTHROPIC, &GEMINI, &OLLAMA];
    (select(rules), select(MODELS), any::<bool>()).prop_map(|(rules, model, sees_images)| HistoryTarget {
        rules,
        model,
        sees_images,
    })
}

fn any_history() -> impl Strategy<Value = Vec<Message>> {
    prop_oneof![3 => histories(14), 1 => trimmed(14), 1 => switched(4)]
}

fn blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control())
}

/// What is illegal in a history, by rules that know nothing of how it was made.
fn check(history: &[Message], target: &HistoryTarget<'_>) -> Result<(), String> {
    if !matches!(history.first(), Some(Message::User { .. })) {
        return Err("must start with the user".into());
    }
    if matches!(history.last(), Some(Message::Assistant { .. })) {
        return Err("must not end with the model".into());
    }
    let mut ids = HashSet::new();
    let mut owed: Vec<&ToolCall> = Vec::new();
    let mut before = "";
    for message in history {
        if !matches!(message, Message::Tool(_)) && !owed.is_empty() {
            return Err(format!("unanswered: {owed:?}"));
        }
        let role = match message {
            Message::User { parts } => {
                check_user(parts, target)?;
                "user"
            }
            Message::Assistant { parts } => {
                check_reply(parts, target)?;
                owed = message.calls().collect();
                if !owed.iter().all(|call| ids.insert(&call.id)) {
                    return Err("an id twice".into());
                }
                "model"
            }
            Message::Tool(result) => {
                let call = if owed.is_empty() { return Err("orphan".into()) } else { owed.remove(0) };
                if result.call != call.id || result.name != call.name || blank(&result.text) {
                    return Err(format!("{result:?} is not an answer to {call:?}"));
                }
                "tool"
            }
        };
        if role == before && role != "tool" {
            return Err(format!("two of {role}"));
        }
        before = role;
    }
    if owed.is_empty() { Ok(()) } else { Err(format!("unanswered: {owed:?}")) }
}

fn check_user(parts: &[UserPart], target: &HistoryTarget<'_>) -> Result<(), String> {
    let fits = |part: &UserPart| match part {
        UserPart::Text { text } => !blank(text),
        UserPart::Image(image) => seen(image, target),
        // A reference is for Hob alone.
        UserPart::Picture(_) => false,
    };
    if !parts.is_empty() && parts.iter().all(fits) { Ok(()) } else { Err(format!("{parts:?}")) }
}

fn check_reply(parts: &[ReplyPart], target: &HistoryTarget<'_>) -> Result<(), String> {
    let fits = |part: &ReplyPart| match part {
        ReplyPart::Text { text } => !blank(text),
        ReplyPart::Sealed(sealed) => sealed.model == target.model,
        ReplyPart::Call(call) => {
            let word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            let start = target.rules.name_start == NameStart::Any
                || call.name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            call.id.0.len() == 9
                && call.id.0.chars().all(|c| c.is_ascii_alphanumeric())
                && (1..=target.rules.name_len_max).contains(&call.name.len())
                && word(&call.name)
                && start
                && serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok()
        }
    };
    let says = parts.iter().any(|part| !matches!(part, ReplyPart::Sealed(_)));
    if says && parts.iter().all(fits) { Ok(()) } else { Err(format!("{parts:?}")) }
}

fn seen(image: &Image, target: &HistoryTarget<'_>) -> bool {
    target.sees_images && target.rules.images.contains(&image.media_type) && !image.base64.as_str().is_empty()
}

fn says(message: &Message) -> bool {
    match message {
        Message::User { parts } => parts.iter().any(|part| !matches!(part, UserPart::Text { text } if blank(text))),
        Message::Assistant { parts } => parts.iter().any(|part| match part {
            ReplyPart::Text { text } => !blank(text),
            ReplyPart::Call(_) => true,
            ReplyPart::Sealed(_) => false,
        }),
        Message::Tool(_) => true,
    }
}

fn spoken(text: &str) -> Vec<String> {
    if blank(text) { Vec::new() } else { text.split_whitespace().map(str::to_owned).collect() }
}

/// Everything a person said, word by word.
fn by_users(history: &[Message], target: &HistoryTarget<'_>) -> Vec<String> {
    let last = history.iter().rposition(|message| matches!(message, Message::User { .. }));
    let said = |(at, message): (usize, &Message)| match message {
        Message::User { .. } if !says(message) && Some(at) == last => spoken(EMPTY_MESSAGE),
        Message::User { parts } => {
            let words = |part: &UserPart| match part {
                UserPart::Text { text } => spoken(text),
                UserPart::Image(image) if seen(image, target) => vec![format!("{image:?}")],
                UserPart::Image(_) => spoken(UNSEEN_IMAGE),
                UserPart::Picture(picture) => spoken(&hidden_picture_note(&picture.name)),
            };
            parts.iter().flat_map(words).collect()
        }
        Message::Assistant { .. } | Message::Tool(_) => Vec::new(),
    };
    history.iter().enumerate().flat_map(said).collect()
}

/// Everything the model said that the target may read: words, calls and seals in their order.
fn by_model(history: &[Message], target: &HistoryTarget<'_>) -> Vec<String> {
    let words = |part: &ReplyPart| match part {
        ReplyPart::Text { text } => spoken(text),
        ReplyPart::Call(call) => vec![format!("call {}", target.rules.legal_name(&call.name))],
        ReplyPart::Sealed(sealed) if sealed.model == target.model => vec![format!("{sealed:?}")],
        ReplyPart::Sealed(_) => Vec::new(),
    };
    let replies = history.iter().filter(|message| says(message)).filter_map(|message| match message {
        Message::Assistant { parts } => Some(parts),
        Message::User { .. } | Message::Tool(_) => None,
    });
    replies.flatten().flat_map(words).collect()
}

/// Of each call, its result: of the same id, behind it, and before the model spoke to the user again.
fn results(history: &[Message]) -> Vec<String> {
    let last_user = history.iter().rposition(|message| matches!(message, Message::User { .. }));
    let mut answers: Vec<Option<&ToolResult>> = Vec::new();
    let mut open: Vec<(usize, usize, &CallId)> = Vec::new();
    let mut user_spoke = false;
    for (at, message) in history.iter().enumerate() {
        match message {
            Message::User { .. } => user_spoke |= says(message) || Some(at) == last_user,
            Message::Assistant { .. } if !says(message) => {}
            Message::Assistant { .. } => {
                if user_spoke {
                    open.clear();
                }
                user_spoke = false;
                for call in message.calls() {
                    open.push((at, answers.len(), &call.id));
                    answers.push(None);
                }
            }
            Message::Tool(result) => {
                let latest = open.iter().filter(|(.., id)| **id == result.call).map(|(said, ..)| *said).max();
                let place = open.iter().position(|(said, _, id)| Some(*said) == latest && **id == result.call);
                if let Some(place) = place {
                    answers[open.remove(place).1] = Some(result);
                }
            }
        }
    }
    let told = |answer: Option<&ToolResult>| match answer {
        None => INTERRUPTED.to_owned(),
        Some(result) if blank(&result.text) => NO_OUTPUT.to_owned(),
        Some(result) => result.text.clone(),
    };
    answers.into_iter().map(told).collect()
}

/// Without the frame that the history did not have.
fn unframed(messages: &[Message]) -> &[Message] {
    let start = usize::from(messages.first() == Some(&Message::user(OMITTED)));
    let end = messages.len() - usize::from(messages.last() == Some(&Message::user(CONTINUE)));
    &messages[start..end]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a9_any_history_becomes_legal(history in any_history(), target in targets()) {
        let messages = legalize(&history, 0, &target).messages;
        prop_assert_eq!(check(&messages, &target), Ok(()), "{:?}", messages);
    }

    #[test]
    fn a9_a_legal_history_comes_back_as_it_is(history in any_history(), target in targets(), cut in any::<Index>()) {
        let once = legalize(&history, cut.index(history.len() + 1), &target);
        prop_assert_eq!(legalize(&once.messages, once.stable, &target), once);
    }

    #[test]
    fn a9_nothing_is_lost_that_could_be_kept(history in any_history(), target in targets()) {
        let messages = legalize(&history, 0, &target).messages;
        let kept = unframed(&messages);
        prop_assert_eq!(by_users(kept, &target), by_users(&history, &target));
        prop_assert_eq!(by_model(kept, &target), by_model(&history, &target));
        let told: Vec<_> = kept.iter().filter(|message| matches!(message, Message::Tool(_))).map(Message::text).collect();
        prop_assert_eq!(told, results(&history));
    }

    #[test]
    fn the_last_user_message_is_always_there(history in any_history(), target in targets()) {
        let messages = legalize(&history, 0, &target).messages;
        let last = |messages: &[Message]| messages.iter().rposition(|message| matches!(message, Message::User { .. }));
        if let Some(at) = last(&history) {
            let expected = by_users(&history[at..=at], &target);
            let kept = unframed(&messages);
            let said = by_users(&kept[last(kept).unwrap()..], &target);
            prop_assert!(said.ends_with(&expected), "{:?} has not {:?}", said, expected);
        }
    }

    #[test]
    fn what_is_stable_is_never_changed_by_what_follows(
        history in any_history(), more in histories(6), target in targets(), cut in any::<Index>(),
    ) {
        let stable = cut.index(history.len() + 1);
        let before = legalize(&history, stable, &target);
        let longer = [history.as_slice(), &more].concat();
        for stable in [stable, history.len(), longer.len()] {
            let after = legalize(&longer, stable, &target);
            prop_assert!(after.stable >= before.stable, "{} < {}", after.stable, before.stable);
            prop_assert_eq!(&after.messages[..before.stable], &before.messages[..before.stable]);
        }
        prop_assert_eq!(legalize(&history, 0, &target).stable, 0);
    }

    #[test]
    fn a_conversation_in_good_order_is_stable_up_to_what_is_asked_now(history in switched(4), target in targets()) {
        let now = [history.as_slice(), &[Message::user("now")]].concat();
        let LegalHistory { messages, stable } = legalize(&now, history.len(), &target);
        prop_assert_eq!((messages.len(), stable), (now.len(), history.len()));
    }
}
