//! What a step of a run may not spend: budgets, quotas, and calls that nobody may make.

use std::collections::BTreeSet;

use super::{AdvanceTransaction, FoldedStep};
use crate::driver::offered_tools;
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::state::ActiveState;
use crate::machine::stop::{BudgetStop, QuotaScope, QuotaStop};
use crate::projection::ProjectionRow;
use crate::projection::write::{OutgoingText, RunRowTarget, say};
use hob_core::domain::ids::CallId;
use hob_core::domain::money::Money;
use hob_core::policy::budget::{CapAmount, CapScope, MoneyAndTokens};
use hob_model::budget_guard::{CallReservation, CapExceeded, FinishedCall, Spender};
use hob_store::Tx;
use hob_store::error::StoreError;

impl AdvanceTransaction {
    fn spender<'a>(&self, run: &'a ActiveState) -> Spender<'a> {
        let root = run.input.agent.as_ref().map_or(self.key.run, |agent| agent.root);
        let principal = &run.input.principal;
        let persona = run.persona.as_ref().map(|persona| persona.name.as_str());
        Spender { run: Some(root), user: principal.user, role: principal.role, persona }
    }

    /// The cap that the model call which would follow does not fit. Between this look and the call's own record there is no
    /// other transaction: there is one writer.
    pub(super) async fn refusal(&self, tx: &mut Tx, moved: &FoldedStep) -> Result<Option<Event>, StoreError> {
        let Some((run, call)) = moved.started_model_call() else {
            return Ok(None);
        };
        let usd = call.reserve.unwrap_or_default();
        let wanted = CallReservation {
            sum: MoneyAndTokens { usd, tokens: call.input_estimate },
            over: self.replaced_call(moved),
        };
        let refusal = self.budget_guard.refuses(tx, self.spender(run), wanted, self.at).await?;
        let persona = run.persona.as_ref().map(|persona| persona.name.clone());
        Ok(refusal.map(|refusal| reached(refusal, persona)))
    }

    /// The call that this one follows is still open on record, and has set something aside that is now spent or free.
    fn replaced_call(&self, moved: &FoldedStep) -> Option<FinishedCall> {
        let took = moved.rows.iter().find_map(|row| match row {
            ProjectionRow::ModelEnded(end) => Some(MoneyAndTokens {
                usd: Money::from_nanos(end.cost.unwrap_or(0)),
                tokens: end.input_tokens.saturating_add(end.output_tokens).unsigned_abs(),
            }),
            _ => None,
        })?;
        let open = self.state.active().and_then(ActiveState::open_call)?;
        Some(FinishedCall {
            aside: MoneyAndTokens { usd: open.reserve.unwrap_or_default(), tokens: open.counted },
            took,
        })
    }

    /// The run after `events`, to which the end of every tool call is added that nobody may make: what was not offered, and
    /// what is more than its person may have made in a minute (row E15). That stands in the journal beside the call's
    /// start, in one transaction, so that whoever takes the run up knows that the call was never made.
    pub(super) async fn settle_refused(
        &self,
        tx: &mut Tx,
        events: &mut Vec<Event>,
    ) -> Result<(FoldedStep, BTreeSet<CallId>), StoreError> {
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
                events.push(Event::ToolFinished { call, outcome, source: None, draft: None, undo: None });
            }
        }
    }

    /// The tool calls that this step starts, are not let through, and are not `known` for it. A call that is made again has
    /// its place in the quota already.
    async fn refused_calls(
        &self,
        tx: &mut Tx,
        moved: &FoldedStep,
        known: &BTreeSet<CallId>,
    ) -> Result<Vec<(CallId, ToolOutcome)>, StoreError> {
        let Some(run) = moved.state.active() else {
            return Ok(Vec::new());
        };
        let (mut refused, mut made) = (Vec::new(), Vec::new());
        for (call, attempt) in moved.started_tool_calls().filter(|(call, _)| !known.contains(&call.id)) {
            match offered_tools::refusal(run, call) {
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

    pub(super) async fn tell_of_budgets(
        &self,
        tx: &mut Tx,
        target: &RunRowTarget<'_>,
        seq: i64,
    ) -> Result<(), StoreError> {
        let Some(run) = self.state.active() else { return Ok(()) };
        for (index, note) in self.budget_guard.notes(tx, self.spender(run), self.at).await?.iter().enumerate() {
            say(tx, target, &format!("note:{}:{seq}:budget:{index}", self.key.run), OutgoingText::note(note)).await?;
        }
        Ok(())
    }
}

/// What stands in the journal about a cap.
fn reached(refusal: CapExceeded, persona: Option<String>) -> Event {
    let CapExceeded { cap, used, resets } = refusal;
    let persona = persona.filter(|_| matches!(cap.scope, CapScope::Persona(_)));
    match (cap.most, used) {
        (CapAmount::Tokens(most), CapAmount::Tokens(used)) => Event::QuotaReached(QuotaStop {
            name: cap.words,
            key: cap.key.to_owned(),
            cap: most,
            used,
            resets: resets.unwrap_or_default(),
            whose: match (cap.scope, persona) {
                (CapScope::Persona(_), Some(persona)) => QuotaScope::Persona(persona),
                (CapScope::House(_), _) => QuotaScope::House,
                (CapScope::Run | CapScope::Person(_) | CapScope::Persona(_), _) => QuotaScope::Person,
            },
        }),
        (most, used) => {
            let money = |amount| if let CapAmount::Usd(money) = amount { money } else { Money::ZERO };
            let (cap, used, scope) = (money(most), money(used), cap.scope);
            Event::BudgetReached(BudgetStop { scope, cap, used, resets, persona })
        }
    }
}
