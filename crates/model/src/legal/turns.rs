//! Groups a history into turns: what one side said, with the results that belong to it.
//!
//! Never: a message more than the history has; the frame around it is [`super::legal`]'s.
//! Start at [`Turns::of`].

use std::collections::HashMap;

use crate::legal::fit::{self, blank};
use crate::legal::{EMPTY_MESSAGE, HistoryTarget, INTERRUPTED, NO_OUTPUT};
use crate::message::{Message, ReplyPart, ToolCall, ToolResult, UserPart};
use hob_core::domain::ids::CallId;

/// One side's part of the conversation.
pub(super) enum Turn<'h> {
    User(User),
    Assistant(Assistant<'h>),
}

pub(super) struct User {
    parts: Vec<UserPart>,
    /// Where in the history its newest message stands.
    newest: usize,
    /// It is there only because nothing was said after it: it goes when something is.
    placeholder: bool,
}

pub(super) struct Assistant<'h> {
    parts: Vec<ReplyPart>,
    /// Where in the history its first message stands.
    oldest: usize,
    /// Where in the history its newest message stands.
    newest: usize,
    /// Of each call in order: its result, and where in the history that stands.
    pub(super) results: Vec<Option<(usize, &'h ToolResult)>>,
}

/// A history in turns, of which no two neighbours could be one.
pub(super) struct Turns<'h> {
    pub(super) list: Vec<Turn<'h>>,
    calls: usize,
    /// The unanswered calls since a user last spoke before the model, by their old ids: turn and place in it.
    open: HashMap<&'h CallId, Vec<(usize, usize)>>,
    /// The last user message says nothing.
    ends_blank: bool,
}

impl<'h> Turns<'h> {
    /// Groups the history; merges neighbours of one role, and drops what has no place.
    pub(super) fn of(history: &'h [Message], target: &HistoryTarget<'_>) -> Self {
        let last_user = history.iter().rposition(|message| matches!(message, Message::User { .. }));
        let list = Vec::with_capacity(history.len());
        let mut turns = Self { list, calls: 0, open: HashMap::new(), ends_blank: false };
        for (position, message) in history.iter().enumerate() {
            match message {
                Message::User { parts } => {
                    let mut parts = fit::user_parts(parts, target);
                    let placeholder = parts.is_empty() && Some(position) == last_user;
                    if placeholder {
                        parts.push(UserPart::text(EMPTY_MESSAGE));
                    }
                    turns.add_user(User { parts, newest: position, placeholder });
                }
                Message::Assistant { parts } => turns.add_assistant(position, parts, target),
                Message::Tool(result) => turns.add_result(position, result),
            }
        }
        turns
    }

    fn add_user(&mut self, said: User) {
        if said.parts.is_empty() {
            return;
        }
        self.ends_blank = said.placeholder;
        let Some(Turn::User(before)) = self.list.last_mut() else {
            self.list.push(Turn::User(said));
            return;
        };
        before.newest = said.newest;
        for part in said.parts {
            match part {
                UserPart::Text { text } => fit::add_text(&mut before.parts, &text),
                UserPart::Image(_) | UserPart::Picture(_) => before.parts.push(part),
            }
        }
    }

    fn add_assistant(&mut self, position: usize, parts: &'h [ReplyPart], target: &HistoryTarget<'_>) {
        let says = |part: &ReplyPart| match part {
            ReplyPart::Text { text } => !blank(text),
            ReplyPart::Call(_) => true,
            ReplyPart::Sealed(_) => false,
        };
        if !parts.iter().any(says) {
            return;
        }
        let merges = match self.list.last_mut() {
            // What stands after a call stays after its result.
            Some(Turn::Assistant(before)) => before.results.is_empty(),
            Some(Turn::User(_)) | None => {
                self.open.clear();
                false
            }
        };
        let turn = if merges { self.list.len() - 1 } else { self.list.len() };
        let mut kept = Vec::with_capacity(parts.len());
        let mut slots = 0;
        for part in parts {
            match part {
                ReplyPart::Text { text } if blank(text) => {}
                ReplyPart::Sealed(sealed) if sealed.model != target.model => {}
                ReplyPart::Text { .. } | ReplyPart::Sealed(_) => kept.push(part.clone()),
                ReplyPart::Call(call) => {
                    self.open.entry(&call.id).or_default().push((turn, slots));
                    kept.push(ReplyPart::Call(ToolCall {
                        id: fit::id(self.calls),
                        name: fit::name(&call.name, target.rules),
                        arguments: fit::arguments(&call.arguments),
                    }));
                    self.calls += 1;
                    slots += 1;
                }
            }
        }
        match self.list.last_mut() {
            Some(Turn::Assistant(before)) if merges => before.merge(kept, slots, position),
            _ => self.list.push(Turn::Assistant(Assistant {
                parts: kept,
                oldest: position,
                newest: position,
                results: vec![None; slots],
            })),
        }
    }

    /// Gives the result to its call, even if the user spoke in between. A later reply to the user settles what was open:
    /// else an answer come late would change what every cache holds.
    fn add_result(&mut self, position: usize, result: &'h ToolResult) {
        let Some(open) = self.open.get_mut(&result.call) else { return };
        // Of equal ids, those of the latest turn; there, the first.
        let Some(&(turn, _)) = open.last() else { return };
        let first = open.partition_point(|(before, _)| *before < turn);
        let (turn, slot) = open.remove(first);
        if let Some(Turn::Assistant(said)) = self.list.get_mut(turn)
            && let Some(place) = said.results.get_mut(slot)
        {
            *place = Some((position, result));
        }
    }

    /// How many of the turns' messages stem wholly from the first `stable` of the history and stay whatever follows.
    pub(super) fn stable(&self, stable: usize) -> usize {
        let end = self.lasting();
        let opens = |at: &usize| {
            matches!(self.list.get(*at), Some(Turn::Assistant(said)) if said.oldest < stable)
                && at.checked_sub(1).is_none_or(|before| matches!(self.list.get(before), Some(Turn::User(_))))
        };
        // Before this turn, no call waits for its result any more.
        let settled = (0..=end).rev().find(opens).unwrap_or(0);
        let mut count = 0;
        for (at, turn) in self.list.iter().enumerate().take(end) {
            let (newest, merges, results) = match turn {
                Turn::User(said) => (said.newest, true, &[][..]),
                Turn::Assistant(said) => (said.newest, said.results.is_empty(), said.results.as_slice()),
            };
            if newest >= stable || (merges && at + 1 == self.list.len()) {
                return count;
            }
            let lasts = |result: &&Option<(usize, _)>| match result {
                Some((position, _)) => *position < stable,
                None => at < settled,
            };
            let lasting = results.iter().take_while(lasts).count();
            count += 1 + lasting;
            if lasting < results.len() {
                return count;
            }
        }
        count
    }

    /// How many turns are there whatever follows: a last user message that says nothing goes when another comes, and
    /// words before and after it then meet.
    fn lasting(&self) -> usize {
        if !self.ends_blank {
            return self.list.len();
        }
        let holder = self.list.iter().rposition(|turn| matches!(turn, Turn::User(_))).unwrap_or(0);
        let vanishes = matches!(self.list.get(holder), Some(Turn::User(User { placeholder: true, .. })));
        let before = holder.checked_sub(1).and_then(|at| self.list.get(at));
        match before {
            Some(Turn::Assistant(said)) if vanishes && said.results.is_empty() => holder - 1,
            _ => holder,
        }
    }
}

impl Assistant<'_> {
    /// Adds what the model said next, without anything between; a blank line keeps the words apart.
    fn merge(&mut self, parts: Vec<ReplyPart>, slots: usize, position: usize) {
        let last_words = self.parts.iter_mut().rev().find_map(|part| match part {
            ReplyPart::Text { text } => Some(text),
            ReplyPart::Call(_) | ReplyPart::Sealed(_) => None,
        });
        if let Some(text) = last_words
            && parts.iter().any(|part| matches!(part, ReplyPart::Text { .. }))
        {
            text.push_str("\n\n");
        }
        let mut parts = parts.into_iter();
        match (self.parts.last_mut(), parts.next()) {
            (Some(ReplyPart::Text { text }), Some(ReplyPart::Text { text: more })) => text.push_str(&more),
            (_, first) => self.parts.extend(first),
        }
        self.parts.extend(parts);
        self.results.resize(slots, None);
        self.newest = position;
    }
}

impl Turn<'_> {
    /// The turn's messages: the results follow the calls in their order.
    pub(super) fn into_messages(self, messages: &mut Vec<Message>) {
        let (parts, results) = match self {
            Turn::User(said) => return messages.push(Message::User { parts: said.parts }),
            Turn::Assistant(said) => (said.parts, said.results),
        };
        let at = messages.len();
        messages.push(Message::Assistant { parts });
        let answers: Vec<_> = messages
            .get(at)
            .into_iter()
            .flat_map(Message::calls)
            .zip(results)
            .map(|(call, result)| Message::Tool(answer(call, result.map(|(_, result)| result))))
            .collect();
        messages.extend(answers);
    }
}

fn answer(call: &ToolCall, result: Option<&ToolResult>) -> ToolResult {
    let (text, is_error) = match result {
        Some(result) if blank(&result.text) => (NO_OUTPUT.to_owned(), result.is_error),
        Some(result) => (result.text.clone(), result.is_error),
        None => (INTERRUPTED.to_owned(), true),
    };
    ToolResult { call: call.id.clone(), name: call.name.clone(), text, is_error }
}
