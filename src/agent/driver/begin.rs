//! How a run begins: what its requests are made of, whom it asks, what that costs. All of it is recorded in `run.begun`.

use crate::agent::driver::advance::Cause;
use crate::agent::driver::{Claimed, Driver, claim, perform};
use crate::agent::machine::begun::{Begun, Billing, Context, Limits, ModelBill, Rules};
use crate::agent::machine::event::{Accepted, Event};
use crate::agent::machine::notebook::Notebook;
use crate::agent::machine::state::Phase;
use crate::agent::prompt::{Material, Past, text_digest};
use crate::model::tokens::{Calibration, Sample};
use crate::policy::routing::{Around, Features, Tiers, route};
use crate::store::error::StoreError;
use crate::store::sessions::Session;

use std::sync::Arc;

impl Driver {
    /// Everything that a run begins with.
    pub(super) async fn begin(&mut self, accepted: &Accepted, claimed: &Claimed) -> Result<Begun, StoreError> {
        let Claimed { session, facts, notebook, .. } = claimed;
        let tail = self.ports.prompt.tail(self.ports.clock.now(), &accepted.principal, facts);
        let notes = notebook.as_ref().map(Notebook::handed_over);
        let tail = [tail].into_iter().chain(notes).collect::<Vec<_>>().join("\n");
        let from = self.history_from(session).await?;
        let through = session.last_ordinal;
        let history = claim::History { session: session.id, reader: accepted.principal.user, from, through };
        let (context, context_tokens) = self.context(tail, history).await?;
        let models = self.chain(session, &accepted.text).await?;
        let billing =
            Billing { models: self.bills(&models).await?, context_tokens, reply_tokens: self.ports.reply_tokens };
        let limits = &self.ports.limits;
        Ok(Begun {
            context,
            limits: Limits {
                iterations: limits.iterations,
                iterations_step: limits.iterations_step,
                iterations_cap: limits.iterations_cap,
            },
            models,
            idempotent_tools: self.ports.tools.idempotent(),
            rules: Rules::CURRENT,
            billing,
            policy: Some(Box::new(self.ports.limits.policy.clone())),
            tools: self.ports.tools.facts(),
            granted: Vec::new(),
            past: Vec::new(),
            notebook: notebook.clone().map(Box::new),
            at: self.ports.clock.now(),
        })
    }

    /// The first ordinal of the history that goes along.
    async fn history_from(&mut self, session: &Session) -> Result<i64, StoreError> {
        let (context_from, last) = (session.context_from, session.last_ordinal);
        let pruned = self.read(claim::Pruned { session: session.id, after: context_from }).await?;
        let kept = last - pruned;
        let from = self.ports.prompt.history_from(context_from, kept);
        if pruned == 0 {
            return Ok(from);
        }
        // So many of the newest that are still read go along, wherever they stand among those that are not.
        let window = claim::Window { session: session.id, after: context_from, newest: kept - from + 1 };
        Ok(self.read(window).await?.unwrap_or(last + 1))
    }

    /// The fixed part of the run's requests, and its tokens.
    async fn context(&mut self, tail: String, stretch: claim::History) -> Result<(Context, u64), StoreError> {
        let tools = self.ports.tools.schemas();
        let tools_text = perform::encode_tools(&tools)?;
        let (from, through) = (stretch.from, stretch.through);
        let past = if from > through { Past::default() } else { self.read(stretch).await? };
        let system = self.ports.prompt.base.clone();
        let material = Material { system, tools, tail, past };
        let context = Context {
            system: self.ports.prompt.system_digest(),
            tools: text_digest(&tools_text),
            tail: text_digest(&material.tail),
            history_from: from,
            history_through: through,
            chars: material.chars(),
        };
        self.blobs = vec![
            (context.system.0.clone(), material.system.clone()),
            (context.tools.0.clone(), tools_text),
            (context.tail.0.clone(), material.tail.clone()),
        ];
        let tokens = material.tokens();
        self.material = Some(Arc::new(material));
        Ok((context, tokens))
    }

    /// Whom to ask, in order: the session's choice, or the tier that the message's form needs (row A2).
    async fn chain(&mut self, session: &Session, text: &str) -> Result<Vec<String>, StoreError> {
        let models = Arc::clone(&self.ports.models);
        let chosen = models.chain(session.model.as_deref());
        let primary = chosen.first().cloned().unwrap_or_default();
        let tiers = Tiers { fast: models.by_role("fast"), primary: &primary, smart: models.by_role("smart") };
        if session.model.is_some() || !tiers.differ() {
            return Ok(chosen);
        }
        let recent = self.read(claim::Recent { session: session.id }).await?;
        let around = Around { attachments: 0, tool_calls: recent.tool_calls, failed: recent.failed };
        let tier = route(&Features::of(text, around));
        tracing::debug!(run = %self.key.run, ?tier, "model.routed");
        let first = tiers.model(tier).to_owned();
        let rest = chosen.into_iter().filter(|label| *label != first).collect::<Vec<_>>();
        Ok([vec![first], rest].concat())
    }

    /// What each model costs, and how it counts.
    async fn bills(&mut self, models: &[String]) -> Result<Vec<ModelBill>, StoreError> {
        let mut bills = Vec::with_capacity(models.len());
        for model in models {
            let calibration = match self.ports.counts.calibration(model) {
                Some(calibration) => calibration,
                None => self.load_counts(model).await?,
            };
            let facts = self.ports.table.facts(model);
            let (rates, window) = (facts.rates, facts.context_tokens);
            bills.push(ModelBill { rates, per_mille: calibration.apply(1_000), window });
        }
        Ok(bills)
    }

    /// How a model counts that no run of this process began with.
    async fn load_counts(&mut self, model: &str) -> Result<Calibration, StoreError> {
        let limit = i64::try_from(Calibration::SAMPLES_MAX).unwrap_or(i64::MAX);
        let counts = self.read(claim::Counts { model: model.to_owned(), limit }).await?;
        let samples = counts
            .iter()
            .map(|count| Sample { estimated: count.estimate.unsigned_abs(), reported: count.reported.unsigned_abs() });
        Ok(self.ports.counts.load(model, samples.collect()))
    }

    /// Remembers what a provider counted, now that its answer is stored.
    pub(super) fn remember_count(&self, cause: &Cause) {
        let Cause::Event(Event::ModelAnswered(completion)) = cause else { return };
        let Some(Phase::Calling(call)) = self.state.active().map(|active| &active.phase) else { return };
        let sample = Sample { estimated: call.counted, reported: completion.usage.input_tokens };
        self.ports.counts.add(&call.label, sample);
    }
}
