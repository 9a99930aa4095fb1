//! The window of a run's last calls: whether the next one, or the last, goes in a circle (rows B2, A11).
//!
//! A call *brings something new* when its result has not been seen from its tool, or when it is a deed that was not
//! done before. A failure brings something new only where the same call failed otherwise before: what is tried again
//! moves on. News ends every suspicion, so that long honest work is never stopped, however often it repeats itself.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;

use serde::Serialize;

use crate::machine::digest::Digest;
use crate::machine::note::{EscalationStep, LoopKind};
use crate::machine::policy::GuardPolicy;
use hob_core::domain::text::one_line;
use hob_model::provider::ToolChoice;

/// The scheme of the hashes in the window; they are never stored.
const SCHEME: &str = "guard1";
/// After a warning so many failures or repetitions more are let through before a call of that tool is blocked.
const MISSES_MAX: u32 = 2;

/// What the guards know of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CircleDetector {
    /// The last calls, oldest first.
    calls: VecDeque<ObservedCall>,
    /// Every call that was made, by tool and arguments.
    made: BTreeSet<Digest>,
    /// Every result that was seen, by tool and text.
    results: BTreeSet<Digest>,
    /// The words of the last replies, since there was news.
    words: VecDeque<Digest>,
    /// What the model has been warned of, since there was news.
    warnings: Vec<CircleWarning>,
    /// The deeds that were warned of because they were repeated, though each brought news.
    told: BTreeSet<Digest>,
    /// How far it has gone (row B3).
    pub(super) step: Option<EscalationStep>,
    /// What goes in the circle, in words, for the person who is asked.
    pub(super) what: String,
    /// What the model is told beside its next results.
    pub(super) word: Option<String>,
    /// A person was asked because of a circle.
    pub(super) asked: bool,
    /// What the next model call must call.
    pub(super) force: Option<ToolChoice>,
    /// The calls under way were forced: what they bring is no news of the model's own.
    pub(super) under_force: bool,
}

/// A call, as far as circles are concerned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ObservedCall {
    tool: String,
    key: Digest,
    words: BTreeSet<String>,
    result: Digest,
    news: bool,
    /// It failed, or was made before: such a miss weighs more than a fresh look that found nothing.
    grave: bool,
}

/// What the model has been warned of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct CircleWarning {
    circle: LoopKind,
    tools: BTreeSet<String>,
    key: Digest,
    misses: u32,
}

/// A call that is done.
#[derive(Debug, Clone, Copy)]
pub struct FinishedCall<'a> {
    pub tool: &'a str,
    /// The arguments, as the model wrote them.
    pub arguments: &'a str,
    /// What came of it.
    pub result: &'a str,
    pub is_error: bool,
    /// Its tool changes something outside.
    pub changes: bool,
}

/// A circle that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedCircle {
    pub circle: LoopKind,
    /// The tool that goes in it, if one does.
    pub tool: Option<String>,
    /// How often, in the window.
    pub seen: u32,
}

impl CircleDetector {
    /// Takes a call that is done; answers the circle that it closes, where the model has not been warned of it.
    pub fn observe(&mut self, policy: &GuardPolicy, made: &FinishedCall<'_>) -> Option<DetectedCircle> {
        let seen = self.describe(made);
        let (tool, key, news, grave) = (seen.tool.clone(), seen.key.clone(), seen.news, seen.grave);
        self.calls.push_back(seen);
        let span = [policy.window_calls, policy.stall_max, policy.ping_pong_max, policy.identical_max];
        let span = span.into_iter().max().unwrap_or_default();
        while self.calls.len() > width(span) {
            self.calls.pop_front();
        }
        if news {
            self.progress();
            return self.repeated_deed(policy, made.changes);
        }
        if grave {
            let concerned = self.warnings.iter_mut().filter(|warning| warning.tools.contains(&tool));
            concerned.for_each(|warning| warning.misses += 1);
        }
        let found = self.circle(policy)?;
        let tools: BTreeSet<String> = match found.circle {
            LoopKind::PingPong => self.last(2).map(|seen| seen.tool.clone()).collect(),
            LoopKind::Identical | LoopKind::Pattern | LoopKind::Stall | LoopKind::RepeatedReply => {
                BTreeSet::from([tool])
            }
        };
        let warning = CircleWarning { circle: found.circle, tools, key, misses: 0 };
        if self.warnings.iter().any(|known| known.covers(&warning)) {
            return None;
        }
        self.warnings.push(warning);
        Some(found)
    }

    /// Whether a call that is about to be made would go on with a circle that the model has been warned of. `beside` is
    /// how often the same reply has wanted the very same call already.
    pub(crate) fn forbids(
        &self,
        policy: &GuardPolicy,
        tool: &str,
        arguments: &str,
        beside: u32,
    ) -> Option<DetectedCircle> {
        let found = |circle, seen| Some(DetectedCircle { circle, tool: Some(tool.to_owned()), seen });
        if beside >= policy.identical_max {
            return found(LoopKind::Identical, beside + 1);
        }
        let key = key(tool, arguments);
        let warning = self.warnings.iter().find(|warning| match warning.circle {
            LoopKind::Identical => warning.key == key,
            LoopKind::Pattern | LoopKind::Stall | LoopKind::PingPong => {
                warning.tools.contains(tool) && warning.misses >= MISSES_MAX
            }
            LoopKind::RepeatedReply => false,
        })?;
        let seen = self.calls.iter().filter(|seen| match warning.circle {
            LoopKind::Identical => seen.key == key,
            LoopKind::Pattern | LoopKind::Stall | LoopKind::PingPong | LoopKind::RepeatedReply => {
                warning.tools.contains(&seen.tool)
            }
        });
        found(warning.circle, count(seen) + 1)
    }

    /// Takes a reply's words; answers whether they were said so often that they are a circle.
    pub(crate) fn observe_words(&mut self, policy: &GuardPolicy, words: &str) -> Option<DetectedCircle> {
        let words = one_line(words).to_lowercase();
        if words.is_empty() {
            return None;
        }
        let words = Digest::of(SCHEME, &[words.as_bytes()]);
        self.words.push_back(words.clone());
        while self.words.len() > width(policy.window_calls.max(policy.replies_max)) {
            self.words.pop_front();
        }
        let seen = count(self.words.iter().filter(|said| **said == words));
        (seen >= policy.replies_max).then_some(DetectedCircle { circle: LoopKind::RepeatedReply, tool: None, seen })
    }

    /// The tool that the next model call must call, if one.
    pub fn force(&self) -> Option<&ToolChoice> {
        self.force.as_ref()
    }

    /// A call was blocked: one more of its tool is let through, unless it is the very same.
    pub(crate) fn forgive_one(&mut self) {
        for warning in &mut self.warnings {
            warning.misses = warning.misses.min(MISSES_MAX - 1);
        }
    }

    /// A person has said how to go on: a fresh start.
    pub fn reset(&mut self) {
        self.calls.clear();
        self.words.clear();
        self.warnings.clear();
        (self.step, self.force, self.under_force) = (None, None, false);
    }

    fn progress(&mut self) {
        if !self.under_force {
            self.words.clear();
            self.warnings.clear();
            (self.step, self.force) = (None, None);
        }
    }

    fn describe(&mut self, made: &FinishedCall<'_>) -> ObservedCall {
        let key = key(made.tool, made.arguments);
        let fresh = self.made.insert(key.clone());
        let result = Digest::of(SCHEME, &[made.tool.as_bytes(), made.result.as_bytes()]);
        let unseen = self.results.insert(result.clone());
        let news = if made.is_error { !fresh && unseen } else { unseen || (made.changes && fresh) };
        let (tool, grave) = (made.tool.to_owned(), made.is_error || !fresh);
        ObservedCall { tool, key, words: words(made.arguments), result, news, grave }
    }

    /// The last calls, the latest first.
    fn last(&self, calls: u32) -> impl Iterator<Item = &ObservedCall> {
        self.calls.iter().rev().take(width(calls))
    }

    /// The circle that the last call closes.
    fn circle(&self, policy: &GuardPolicy) -> Option<DetectedCircle> {
        let last = self.calls.back()?;
        let one = |circle, seen| DetectedCircle { circle, tool: Some(last.tool.clone()), seen };
        let identical =
            self.last(policy.window_calls).filter(|seen| seen.key == last.key && seen.result == last.result);
        let identical = count(identical);
        if identical >= policy.identical_max {
            return Some(one(LoopKind::Identical, identical));
        }
        let stalled = self.calls.iter().rev().take_while(|seen| seen.is_like(last));
        let stalled = count(stalled);
        if stalled >= policy.stall_max {
            return Some(one(LoopKind::Stall, stalled));
        }
        let pattern = self.last(policy.window_calls).filter(|seen| seen.tool == last.tool && !seen.news);
        let pattern = count(pattern);
        if pattern >= policy.pattern_max {
            return Some(one(LoopKind::Pattern, pattern));
        }
        let swings = self.swings();
        (swings >= policy.ping_pong_max).then(|| DetectedCircle { tool: None, ..one(LoopKind::PingPong, swings) })
    }

    /// How many of the last calls swing between two tools with nothing new.
    fn swings(&self) -> u32 {
        let mut latest = self.calls.iter().rev();
        let (Some(one), Some(other)) = (latest.next(), latest.next()) else {
            return 0;
        };
        if one.tool == other.tool {
            return 0;
        }
        let turn = [&one.tool, &other.tool];
        let swings =
            self.calls.iter().rev().enumerate().take_while(|(at, seen)| !seen.news && seen.tool == *turn[at % 2]);
        u32::try_from(swings.count()).unwrap_or(u32::MAX)
    }

    /// The very same deed, one after another, though each time something else came of it: worth a word, once. It may
    /// be a job that is looked after, so nothing more comes of it.
    fn repeated_deed(&mut self, policy: &GuardPolicy, changes: bool) -> Option<DetectedCircle> {
        let last = self.calls.back()?;
        let again = count(self.calls.iter().rev().take_while(|seen| seen.key == last.key));
        if !changes || again < policy.identical_max || self.told.contains(&last.key) {
            return None;
        }
        let found = DetectedCircle { circle: LoopKind::Identical, tool: Some(last.tool.clone()), seen: again };
        self.told.insert(last.key.clone());
        Some(found)
    }
}

impl ObservedCall {
    /// The same tool with similar arguments, and nothing new either.
    fn is_like(&self, other: &Self) -> bool {
        !self.news && self.tool == other.tool && similar(&self.words, &other.words)
    }
}

impl CircleWarning {
    /// A tool that was warned of in one way is not warned of in the other.
    fn covers(&self, other: &Self) -> bool {
        match other.circle {
            LoopKind::Identical => self.circle == LoopKind::Identical && self.key == other.key,
            LoopKind::Pattern | LoopKind::Stall => {
                matches!(self.circle, LoopKind::Pattern | LoopKind::Stall) && self.tools == other.tools
            }
            LoopKind::PingPong | LoopKind::RepeatedReply => self.circle == other.circle && self.tools == other.tools,
        }
    }
}

fn width(calls: u32) -> usize {
    usize::try_from(calls).unwrap_or(usize::MAX)
}

fn count<'a, T: 'a>(all: impl Iterator<Item = &'a T>) -> u32 {
    u32::try_from(all.count()).unwrap_or(u32::MAX)
}

/// The call by tool and arguments, whatever the order of keys and the spaces between them.
pub(crate) fn key(tool: &str, arguments: &str) -> Digest {
    Digest::of(SCHEME, &[tool.as_bytes(), canonical(arguments).as_bytes()])
}

/// JSON with sorted keys and no spaces; what is not JSON, trimmed.
fn canonical(arguments: &str) -> String {
    let arguments = arguments.trim();
    let arguments = if arguments.is_empty() { "{}" } else { arguments };
    serde_json::from_str::<Value>(arguments).map_or_else(|_| arguments.to_owned(), |value| sorted(&value))
}

/// `serde_json` keeps the keys' order where some crate in the tree asks for it: they are sorted here.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            let fields = fields.into_iter().map(|(name, value)| format!("{name:?}:{}", sorted(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// The words of the arguments; numbers do not tell them apart.
fn words(arguments: &str) -> BTreeSet<String> {
    let words = arguments.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Whether most of the words are the same.
fn similar(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let (shared, all) = (one.intersection(other).count(), one.union(other).count());
    shared * 3 >= all * 2
}

#[cfg(test)]
mod tests;
