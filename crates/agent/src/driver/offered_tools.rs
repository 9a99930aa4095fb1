//! What a run may have called: only what it was offered when it began (row C5).

use crate::machine::event::ToolOutcome;
use crate::machine::state::ActiveState;
use hob_model::message::ToolCall;

/// What the model is told instead of a result; none: the call may be made.
pub(super) fn refusal(run: &ActiveState, call: &ToolCall) -> Option<ToolOutcome> {
    if run.tools.contains_key(&call.name) {
        return None;
    }
    let names: Vec<&str> = run.tools.keys().map(String::as_str).collect();
    let text = format!("There is no tool {:?}. There are: {}.", call.name, names.join(", "));
    Some(ToolOutcome::Text { text, is_error: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::run_start::RunStart;
    use crate::machine::tests::{accepted, begun};
    use hob_core::domain::ids::CallId;
    use hob_core::domain::tools::ToolFacts;

    #[test]
    fn c5_only_what_was_offered_may_be_called() {
        let call =
            |name: &str| ToolCall { id: CallId("1.0".to_owned()), name: name.to_owned(), arguments: String::new() };
        let tools = [("look".to_owned(), ToolFacts::default())].into();
        let current = ActiveState::begin(accepted(), RunStart { tools, ..begun() });
        assert_eq!(refusal(&current, &call("look")), None);
        let text = "There is no tool \"send\". There are: look.".to_owned();
        assert_eq!(refusal(&current, &call("send")), Some(ToolOutcome::Text { text, is_error: true }));
    }
}
