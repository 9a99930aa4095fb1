//! Whether the inverse that a tool has named is one that may be offered (row N16): known whole, callable as it stands, and telling
//! nobody anything.
//!
//! Never: an inverse of what failed, or one that holds a secret of this Hob's. Start at [`offer`].

use crate::driver::perform::tool::arguments;
use crate::ports::Ports;
use hob_core::domain::tools::Risk;
use hob_core::domain::undo::{InverseCall, UNDO_OFFERED_FOR, UndoOffer};
use hob_core::policy::undo::{is_outgoing, tells_nobody};
use hob_tools::registry::Registry;
use hob_tools::{Invocation, Outcome};

/// What a call has done.
pub(super) struct Effect<'a> {
    pub(super) tool: &'a str,
    pub(super) invocation: &'a Invocation,
    pub(super) outcome: &'a Outcome,
}

/// What is offered; none: it cannot be taken back.
pub(super) fn offer(
    ports: &Ports,
    tools: &Registry,
    effect: &Effect<'_>,
    inverse: InverseCall,
) -> Option<Box<UndoOffer>> {
    let is_done = matches!(effect.outcome, Outcome::Text(_) | Outcome::Exited { code: 0, .. });
    let back = tools.get(&inverse.tool)?;
    // What the operator's own settings name leads nobody on, though the id of a lamp looks like a host.
    let blanked = |written: String, named: &String| written.replace(&format!("{named:?}"), "\"\"");
    let written = tools.get(effect.tool)?.settled().iter().fold(effect.invocation.arguments.to_string(), blanked);
    let is_kind = tells_nobody(effect.tool, &written, Risk::Write)
        && !is_outgoing(&inverse.tool)
        && back.spec().facts.most() != Risk::Spend
        && !back.spec().facts.most().is_read();
    let fits =
        arguments(&inverse.arguments).is_ok_and(|arguments| tools.argument_errors(&inverse.tool, &arguments).is_none());
    let is_plain = ports.redactor.redact(&inverse.arguments) == inverse.arguments;
    let until = ports.clock.now() + UNDO_OFFERED_FOR;
    (is_done && is_kind && fits && is_plain).then(|| Box::new(UndoOffer { inverse, until }))
}
