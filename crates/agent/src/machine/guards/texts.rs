//! What the guards say: to the model beside a result, and to the person.

use crate::machine::guards::circle_detector::DetectedCircle;
use crate::machine::note::LoopKind;

/// What goes in the circle, after "I have" or "You have".
pub(super) fn what(found: &DetectedCircle) -> String {
    let tool = found.tool.as_deref().unwrap_or("a tool");
    let seen = found.seen;
    match found.circle {
        LoopKind::Identical => format!("called {tool} {seen} times with the same arguments"),
        LoopKind::Pattern => format!("called {tool} {seen} times lately, and nothing new came of it"),
        LoopKind::Stall => {
            format!("called {tool} {seen} times in a row with nearly the same arguments, and nothing new came of it")
        }
        LoopKind::PingPong => format!("gone back and forth between two tools {seen} times, and nothing new came of it"),
        LoopKind::RepeatedReply => format!("said the same words {seen} times"),
    }
}

/// For the model, under a result: the verdict is *warn*.
pub(super) fn warning(found: &DetectedCircle) -> String {
    format!(
        "[You have {}. Do not do it again: use what you have, try another way, ask the user, or say what does not work.]",
        what(found)
    )
}

/// For the model, in place of a result: the verdict is *block*.
pub(super) fn blocked(found: &DetectedCircle) -> String {
    format!(
        "Not run: you have {}, this one counted, and were warned. Try another way, ask the user, or say plainly what \
         does not work.",
        what(found)
    )
}

/// For the model, in place of a result: the run stops to ask a person.
pub(super) const NOT_RUN: &str = "Not run: this goes in circles, and a person has to say how to go on.";

/// For the model: a person lets it go on.
pub(in crate::machine) const CARRY_ON: &str = "[The user was told that you go in circles, and wants you to carry on. Take another way than \
     before.]";

/// For the person: the loop is ended.
pub(super) fn broken(what: &str, done: &str) -> String {
    format!(
        "I was going in circles again: I have {what}. So I have stopped here.\n{done}\nTo go on, write to me again, best \
         with a word on what to do differently."
    )
}
