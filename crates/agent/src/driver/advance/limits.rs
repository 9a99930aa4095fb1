//! What a step of a run may not spend: budgets, quotas, and calls that nobody may make.

use std::collections::BTreeSet;

use super::{Advance, Moved};
use crate::driver::gate;
use crate::machine::effect::ModelCall;
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::state::Active;
use crate::machine::stop::BudgetStop;
use crate::projection::Row;
use crate::projection::write::{Target, Words, say};
use crate::quota::Wanted;
use hob_core::domain::ids::CallId;
use hob_core::domain::money::Money;
use hob_model::purse::{Refusal, Spender};
use hob_store::Tx;
use hob_store::error::StoreError;

impl Advance {
    fn spender(&self, run: &Active) -> Spender {
        let root = run.input.agent.as_ref().map_or(self.key.run, |agent| agent.root);
        Spender { run: Some(root), user: run.input.principal.user }
    }

    /// The budget or quota that the model call which would follow does not fit. Between this look and the call's own
    /// record there is no other transaction: there is one writer.
    pub(super) async fn refusal(&self, tx: &mut Tx, moved: &Moved) -> Result<Option<Event>, StoreError> {
        let Some((run, call)) = moved.starts() else {
            return Ok(None);
        };
        if let Some(stop) = self.over_budget(tx, moved, (run, call)).await? {
            return Ok(Some(stop));
        }
        let ended = moved.rows.iter().find_map(|row| match row {
            Row::ModelEnded(end) => Some(end.input_tokens.saturating_add(end.output_tokens).unsigned_abs()),
            _ => None,
        });
        let open = self.state.active().and_then(Active::open_call).map_or(0, |call| call.counted);
        let closed = if ended.is_some() { open } else { 0 };
        let wanted = Wanted { tokens: call.input_estimate, unsummed: ended.unwrap_or(0), closed };
        let stop = self.meter.refuses(tx, &run.input.principal, wanted, self.at).await?;
        Ok(stop.map(Event::QuotaReached))
    }

    async fn over_budget(
        &self,
        tx: &mut Tx,
        moved: &Moved,
        (run, call): (&Active, &ModelCall),
    ) -> Result<Option<Event>, StoreError> {
        if self.purse.budget.is_unlimited() {
            return Ok(None);
        }
        // The call that this one follows is still open, and has set something aside that is now spent or free.
        let ended = moved.rows.iter().find_map(|row| match row {
            Row::ModelEnded(end) => Some(Money::from_nanos(end.cost.unwrap_or(0))),
            _ => None,
        });
        let open = self.state.active().and_then(Active::open_reserve).unwrap_or_default();
        let wanted = call.reserve.unwrap_or_default();
        let wanted = match ended {
            Some(spent) => Money::from_nanos(wanted.plus(spent).nanos().saturating_sub(open.nanos())),
            None => wanted,
        };
        let stop = self.purse.refuses(tx, self.spender(run), wanted, self.at).await?;
        Ok(stop
            .map(|Refusal { scope, cap, used, resets }| Event::BudgetReached(BudgetStop { scope, cap, used, resets })))
    }

    /// The run after `events`, to which the end of every tool call is added that nobody may make: what was not offered, and
    /// what is more than its person may have made in a minute (row E15). That stands in the journal beside the call's
    /// start, in one transaction, so that whoever takes the run up knows that the call was never made.
    pub(super) async fn settle_refused(
        &self,
        tx: &mut Tx,
        events: &mut Vec<Event>,
    ) -> Result<(Moved, BTreeSet<CallId>), StoreError> {
        let mut unmade = BTreeSet::new();
        loop {
            let moved = self.fold(events);
            // What one refusal settles may let others start.
            let refused = self.refused_calls(tx, &moved, &unmade).await?;
            if refused.is_empty() {
                return Ok((moved, unmade));
            }
            for (call, outcome) in refused {
                unmade.insert(call.clone());
                events.push(Event::ToolFinished { call, outcome, source: None, draft: None });
            }
        }
    }

    /// The tool calls that this step starts, are not let through, and are not `known` for it. A call that is made again has
    /// its place in the quota already.
    async fn refused_calls(
        &self,
        tx: &mut Tx,
        moved: &Moved,
        known: &BTreeSet<CallId>,
    ) -> Result<Vec<(CallId, ToolOutcome)>, StoreError> {
        let Some(run) = moved.state.active() else {
            return Ok(Vec::new());
        };
        let (mut refused, mut made) = (Vec::new(), Vec::new());
        for (call, attempt) in moved.calls().filter(|(call, _)| !known.contains(&call.id)) {
            match gate::refusal(run, call) {
                Some(outcome) => refused.push((call.id.clone(), outcome)),
                None if attempt == 1 => made.push(call.id.clone()),
                None => {}
            }
        }
        if let Some(allowed) = self.meter.tool_calls(tx, run.input.principal.user, made.len(), self.at).await? {
            let denied = |call| (call, ToolOutcome::Denied { reason: allowed.reason.clone() });
            refused.extend(made.into_iter().skip(allowed.calls).map(denied));
        }
        Ok(refused)
    }

    pub(super) async fn tell_of_budgets(&self, tx: &mut Tx, target: &Target<'_>, seq: i64) -> Result<(), StoreError> {
        let Some(run) = self.state.active().filter(|_| !self.purse.budget.is_unlimited()) else {
            return Ok(());
        };
        for (index, note) in self.purse.notes(tx, self.spender(run), self.at).await?.iter().enumerate() {
            say(tx, target, &format!("note:{}:{seq}:budget:{index}", self.key.run), Words::note(note)).await?;
        }
        Ok(())
    }
}
