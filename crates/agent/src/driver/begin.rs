//! How a run begins: what its requests are made of, whom it asks, what that costs. All of it is recorded in `run.begun`.

use crate::driver::advance::Cause;
use crate::driver::known::{fitting_skills, look_back};
use crate::driver::{Claimed, Driver, claim, perform};
use crate::known::Shown;
use crate::machine::accepted::Accepted;
use crate::machine::begun::{Begun, Billing, Carried, Character, Context, Limits, ModelBill, Room, Rules};
use crate::machine::event::Event;
use crate::machine::state::Phase;
use crate::persona::Persona;
use crate::prompt::{Material, Past, system_digest, text_digest};
use hob_core::domain::origin::{Origin, Source, Taint};
use hob_core::domain::tools::USE_SKILL;
use hob_core::policy::access::Reach;
use hob_core::policy::routing::{Around, Features, Tiers, route};
use hob_model::message::{Message, Picture};
use hob_model::provider::ToolSchema;
use hob_model::tokens::{Calibration, Sample};
use hob_store::error::StoreError;
use hob_store::sessions::Session;

use std::sync::Arc;

/// What every request of a run begins with, but for the history.
struct Fixed {
    system: String,
    tools: Vec<ToolSchema>,
    tail: String,
}

impl Driver {
    /// Everything that a run begins with.
    pub(super) async fn begin(&mut self, accepted: &Accepted, claimed: &Claimed) -> Result<Begun, StoreError> {
        let Claimed { session, summary, notebook, .. } = claimed;
        // A summary stands for what lies before it, as long as the conversation is the same.
        let summary = summary.as_ref().filter(|summary| summary.through > session.context_from);
        let known = summary.map_or(session.context_from, |summary| summary.through);
        let from = self.history_from(session, (known, claimed.pruned)).await?;
        let carried = summary.map(|summary| Carried {
            text: summary.text.clone(),
            left_out: u32::try_from(from - known - 1).unwrap_or(0),
        });
        let through = session.last_ordinal;
        let Shown { lines, recalled, mut taint } = look_back(&self.ports, &self.key, accepted, (from, through)).await;
        let tail = self.ports.prompt.tail(self.ports.clock.now(), &accepted.principal, &lines);
        let notes = notebook.as_ref().map(|kept| kept.notebook.handed_over());
        let tail = [tail].into_iter().chain(notes).collect::<Vec<_>>().join("\n");
        let history = claim::History { session: session.id, reader: accepted.principal.user, from, through };
        let personas = Arc::clone(&self.ports.personas);
        let agent = accepted.agent.as_deref();
        let resolved = personas.resolve(&accepted.destination.conversation, session.persona.as_deref());
        let name = agent.map_or_else(|| resolved.name(), |agent| agent.persona.as_deref());
        let nobody = Persona::default();
        let persona = personas.get(name).unwrap_or(&nobody);
        let reach = Reach { role: accepted.principal.role, modules: &persona.modules };
        let tools = self.ports.tools.now().within(&reach);
        let tools = agent.map_or_else(|| tools.clone(), |agent| tools.among(&agent.tools)).disclosing();
        let skills =
            if tools.get(USE_SKILL).is_some() { fitting_skills(&self.ports, accepted).await } else { Vec::new() };
        let tail = [vec![tail], skills].concat().join("\n");
        let fixed = Fixed { system: self.system_of(name, agent), tools: tools.schemas(), tail };
        let (context, context_tokens) = self.context(fixed, history).await?;
        let models = self.chain(session.model.as_deref().or(persona.model.as_deref()), session, accepted).await?;
        let reply_tokens = persona.max_output_tokens.unwrap_or(self.ports.reply_tokens);
        let summariser = self.ports.models.by_role("fast").map(str::to_owned);
        let asked: Vec<String> = models.iter().chain(&summariser).cloned().collect();
        let billing = Billing { models: self.bills(&asked).await?, context_tokens, reply_tokens };
        let (past, pins, fixed) = self.material.as_ref().map_or_else(Default::default, |material| {
            (material.past.sizes.clone(), material.past.pins(), material.fixed())
        });
        let past_taint = self.material.as_ref().map(|material| material.past.taint.clone()).unwrap_or_default();
        // An event says itself which it is; the owner in whose name it is taken up is not its source.
        let names_itself = |speaker: &Source| speaker.origin == Origin::Event && !accepted.taint.is_clean();
        let speaker = Source::of_speaker(&accepted.principal, accepted.destination.conversation.channel);
        taint.join(&speaker.filter(|speaker| !names_itself(speaker)).into_iter().collect());
        taint.join(&accepted.taint);
        taint.join(&tools.words_of());
        taint.join(&past_taint);
        let sees = models.iter().any(|label| self.ports.table.may_see(label));
        let before = self.material.iter().flat_map(|material| &material.past.messages).flat_map(Message::pictures);
        let seen = before.chain(accepted.pictures.as_slice()).filter(|_| sees);
        taint.join(&seen.map(Picture::source).collect());
        taint.join(&summary.map(|summary| Taint::of_stored(summary.taint.as_deref())).unwrap_or_default());
        taint.join(&notebook.as_ref().map(|kept| kept.taint.clone()).unwrap_or_default());
        Ok(Begun {
            context,
            limits: self.limits(persona),
            models,
            idempotent_tools: tools.idempotent(),
            rules: Rules::CURRENT,
            billing,
            policy: Some(Box::new(persona.policy(&self.ports.limits.policy))),
            tools: tools.facts(),
            granted: Vec::new(),
            past,
            room: Room { fixed, carried, pins, summariser },
            persona: name.map(|name| Character { name: name.to_owned(), max_output_tokens: persona.max_output_tokens }),
            notebook: notebook.as_ref().map(|kept| Box::new(kept.notebook.clone())),
            recalled,
            taint,
            sees,
            at: self.ports.clock.now(),
        })
    }

    /// The run's numbers: the persona's, as far as it has any; the cap holds in any case.
    fn limits(&self, persona: &Persona) -> Limits {
        let limits = &self.ports.limits;
        let iterations_cap = persona.iterations_cap.unwrap_or(limits.iterations_cap);
        Limits {
            iterations: persona.iterations.unwrap_or(limits.iterations).min(iterations_cap),
            iterations_step: limits.iterations_step,
            iterations_cap,
        }
    }

    /// The first ordinal, after `known`, of the history that goes along, where `pruned` messages are no longer read.
    async fn history_from(&mut self, session: &Session, (known, pruned): (i64, i64)) -> Result<i64, StoreError> {
        let last = session.last_ordinal;
        let kept = last - pruned;
        let from = self.ports.prompt.history_from(known, kept);
        if pruned == 0 {
            return Ok(from);
        }
        // So many of the newest that are still read go along, wherever they stand among those that are not.
        let window = claim::Window { session: session.id, after: known, newest: kept - from + 1 };
        Ok(self.read(window).await?.unwrap_or(last + 1))
    }

    /// The fixed part of the run's requests, and its tokens.
    async fn context(&mut self, fixed: Fixed, stretch: claim::History) -> Result<(Context, u64), StoreError> {
        let Fixed { system, tools, tail } = fixed;
        let tools_text = perform::encode_tools(&tools)?;
        let (from, through) = (stretch.from, stretch.through);
        let past = if from > through { Past::default() } else { self.read(stretch).await? };
        let material = Material { system, tools, tail, past };
        let context = Context {
            system: system_digest(&material.system),
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

    /// Whom to ask, in order: the session's choice or the persona's, or the tier that the message's form needs (row A2).
    async fn chain(
        &mut self,
        choice: Option<&str>,
        session: &Session,
        accepted: &Accepted,
    ) -> Result<Vec<String>, StoreError> {
        let models = Arc::clone(&self.ports.models);
        let chosen = models.chain(choice);
        let primary = chosen.first().cloned().unwrap_or_default();
        let tiers = Tiers { fast: models.by_role("fast"), primary: &primary, smart: models.by_role("smart") };
        if choice.is_some() || !tiers.differ() {
            return Ok(chosen);
        }
        let recent = self.read(claim::Recent { session: session.id }).await?;
        let attachments = self.read(claim::Attachments { inbound: accepted.inbound }).await?;
        let around = Around { attachments, tool_calls: recent.tool_calls, failed: recent.failed };
        let tier = route(&Features::of(&accepted.text, around));
        tracing::debug!(run = %self.key.run, ?tier, "model.routed");
        let first = tiers.model(tier);
        // Who sends a picture is answered by a model that sees, where there is one.
        let blind = !accepted.pictures.is_empty() && !self.ports.table.may_see(first);
        let sighted = [Some(primary.as_str()), tiers.smart].into_iter().flatten();
        let first = sighted.filter(|_| blind).find(|label| self.ports.table.may_see(label)).unwrap_or(first).to_owned();
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
        let Cause::World(events) = cause else { return };
        let completion = events.iter().find_map(|event| match event {
            Event::ModelAnswered(completion) => Some(completion),
            _ => None,
        });
        let Some(completion) = completion else { return };
        let Some(Phase::Calling(call)) = self.state.active().map(|active| &active.phase) else { return };
        let sample = Sample { estimated: call.counted, reported: completion.usage.input_tokens };
        self.ports.counts.add(&call.label, sample);
    }
}
