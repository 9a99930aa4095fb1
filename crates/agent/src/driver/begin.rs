//! How a run begins: what its requests are made of, whom it asks, what that costs. All of it is recorded in `run.begun`.

use crate::driver::advance::AdvanceCause;
use crate::driver::recall::{fitting_skills, recall_context};
use crate::driver::{Driver, claim};
use crate::handover;
use crate::machine::accepted_input::AcceptedInput;
use crate::machine::agents::AgentTask;
use crate::machine::compaction::size::WINDOW_UNKNOWN;
use crate::machine::event::Event;
use crate::machine::policy::Policy;
use crate::machine::run_start::{
    Billing, CarriedSummary, ContextBudget, IterationLimits, ModelBill, RequestContext, RulesEdition, RunPersona,
    RunStart,
};
use crate::machine::state::Phase;
use crate::persona::Persona;
use crate::ports::Ports;
use crate::prompt::{self, HistorySlice, PromptInputs, system_digest, text_digest};
use crate::recalled_context::RenderedContext;
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::domain::tools::{CONTROL, PLAN, USE_SKILL};
use hob_core::policy::access::ToolAccess;
use hob_core::policy::memory::SpeakingPlace;
use hob_core::policy::routing::{MessageFeatures, RoutingContext, Tiers, route};
use hob_memory::embedding::Bill;
use hob_memory::recall::ContextWindow;
use hob_model::discover::preset::assumed_window;
use hob_model::message::{Message, Picture};
use hob_model::offered_tools::OfferedTools;
use hob_model::price;
use hob_model::tokens::{Calibration, Sample};
use hob_store::error::StoreError;
use hob_store::run_context::StoredRunContext;
use hob_store::sessions::Session;
use hob_store::unit::UnitOfWork;
use hob_store::{files, messages, model_calls, runs};
use hob_tools::ToolSpec;
use hob_tools::registry::is_offered_to;

use std::collections::BTreeSet;
use std::sync::Arc;

/// By the price of so many tokens, read and written, models that sum up are compared.
const SUMMED_UP_TOKENS: u64 = 20_000;
const SUMMARY_TOKENS: u64 = 600;

/// What every request of a run begins with, but for the history.
struct FixedPrompt {
    system: String,
    tools: OfferedTools,
    tail: String,
}

/// A run that is about to begin.
#[derive(Clone, Copy)]
pub(super) struct RunPreparation<'a> {
    pub(super) ports: &'a Ports,
    pub(super) session: &'a Session,
    pub(super) with: &'a StoredRunContext,
    pub(super) accepted: &'a AcceptedInput,
}

/// What it begins with.
pub(super) struct PreparedRun {
    /// As it is recorded.
    pub(super) begun: RunStart,
    /// The texts that the record refers to.
    pub(super) blobs: Vec<(String, String)>,
    /// What its requests are made of.
    pub(super) material: Arc<PromptInputs>,
}

impl RunPreparation<'_> {
    /// Everything that a run begins with.
    pub(super) async fn prepare(&self) -> Result<PreparedRun, StoreError> {
        let Self { ports, session, with, accepted } = *self;
        let notebook = handover::handover_for_run(session.id, with.run_journal.as_deref(), accepted);
        // A summary stands for what lies before it, as long as the conversation is the same.
        let summary = with.summary.as_ref().filter(|summary| summary.through > session.context_from);
        let known = summary.map_or(session.context_from, |summary| summary.through);
        let personas = Arc::clone(&self.ports.personas);
        let agent = accepted.agent.as_deref();
        let resolved = personas.resolve(&accepted.destination.conversation, session);
        let name = agent.map_or_else(|| resolved.name(), |agent| agent.persona.as_deref());
        let nobody = Persona::default();
        let persona = personas.get(name).unwrap_or(&nobody);
        let from = self.history_from(known, with.pruned, persona).await?;
        let carried = summary.map(|summary| CarriedSummary {
            text: summary.text.clone(),
            left_out: u32::try_from(from - known - 1).unwrap_or(0),
        });
        let (through, role) = (session.last_ordinal, accepted.principal.role);
        let bill = Bill::Asked { user: accepted.principal.user, persona: name.map(str::to_owned) };
        // Who reads for a run sees what it is to read and nothing of the house.
        let shown = match agent {
            Some(agent) if agent.reads => RenderedContext::default(),
            Some(_) | None => self.recall(&bill, from, through).await,
        };
        let RenderedContext { mut lines, recalled, mut taint } = shown;
        lines.extend(accepted.destination.conversation.is_aloud().then(|| prompt::ALOUD.to_owned()));
        let tail = self.ports.prompt.tail(self.ports.clock.now(), &accepted.principal, &lines);
        let notes = notebook.as_ref().map(|kept| kept.notebook.handed_over());
        let tail = [tail].into_iter().chain(notes).collect::<Vec<_>>().join("\n");
        let history = claim::HistoryRange { session: session.id, reader: accepted.principal.user, from, through };
        let reach = ToolAccess { role, modules: personas.modules(persona, role) };
        let handed_on = |name: &String| agent.is_none_or(|agent| agent.tools.contains(name));
        let plans = agent.is_none() && self.has_effects(&reach);
        let withheld = self.withheld_tools().await;
        let fits = |name: &String| (plans || name != PLAN) && handed_on(name) && !withheld.contains(name);
        let offer = ports.tools.offer(|tool| is_offered_to(&reach, tool) && fits(&tool.schema.name));
        let tools = &offer.tools;
        let has_skills = tools.get(USE_SKILL).is_some();
        let skills = if has_skills { fitting_skills(ports, accepted, &bill).await } else { Vec::new() };
        let tail = [vec![tail], skills].concat().join("\n");
        let fixed = FixedPrompt { system: system_of(ports, name, agent), tools: offer.shown.clone(), tail };
        let (context, blobs, material) = self.context(fixed, history).await?;
        let models = self.chain(session.model.as_deref().or(persona.model.as_deref())).await?;
        let reply_tokens = persona.max_output_tokens.unwrap_or(self.ports.reply_tokens);
        let summariser = summariser(ports, models.first().map(String::as_str).unwrap_or_default());
        let asked: Vec<String> = models.iter().chain(&summariser).cloned().collect();
        let billing = Billing { models: self.bills(&asked).await?, context_tokens: material.tokens(), reply_tokens };
        let (past, pins, fixed) = (material.past.sizes.clone(), material.past.pins(), material.fixed());
        // An event says itself which it is; the owner in whose name it is taken up is not its source.
        let names_itself = |speaker: &OriginSource| speaker.origin == Origin::Event && !accepted.taint.is_clean();
        let speaker = OriginSource::of_speaker(&accepted.principal, accepted.destination.conversation.channel);
        taint.join(&speaker.filter(|speaker| !names_itself(speaker)).into_iter().collect());
        taint.join(&accepted.taint);
        taint.join(&tools.description_taint());
        taint.join(&material.past.taint);
        let sees = models.iter().any(|label| self.ports.table.may_see(label));
        let before = material.past.messages.iter().flat_map(Message::pictures);
        let seen = before.chain(accepted.pictures.as_slice()).filter(|_| sees);
        taint.join(&seen.map(Picture::source).collect());
        taint.join(&summary.map(|summary| Taint::from_stored(summary.taint.as_deref())).unwrap_or_default());
        taint.join(&notebook.as_ref().map(|kept| kept.taint.clone()).unwrap_or_default());
        let begun = RunStart {
            context,
            limits: self.limits(persona),
            models,
            idempotent_tools: tools.idempotent(),
            rules: RulesEdition::CURRENT,
            billing,
            policy: Some(Box::new(self.policy(persona))),
            tools: tools.facts(),
            granted: with.granted.clone(),
            past,
            room: ContextBudget { fixed, carried, pins, summariser },
            persona: name
                .map(|name| RunPersona { name: name.to_owned(), max_output_tokens: persona.max_output_tokens }),
            notebook: notebook.as_ref().map(|kept| Box::new(kept.notebook.clone())),
            recalled,
            taint,
            sees,
            at: ports.clock.now(),
        };
        Ok(PreparedRun { begun, blobs, material })
    }

    async fn recall(&self, bill: &Bill, from: i64, through: i64) -> RenderedContext {
        let context = ContextWindow { session: self.session.id, from, through };
        recall_context(self.ports, self.accepted, bill, context).await
    }

    /// Can any tool that is offered have an effect? Where none has, and for an agent, there is nothing to plan.
    fn has_effects(&self, reach: &ToolAccess<'_>) -> bool {
        let acts =
            |tool: &ToolSpec| tool.module != CONTROL && !tool.facts.most().is_read() && is_offered_to(reach, tool);
        self.ports.tools.now().specs().any(acts)
    }

    /// How it is decided: as its persona has it. A persona's loop is for its own work, and a reader has one thing to say.
    fn policy(&self, persona: &Persona) -> Policy {
        let policy = persona.policy(&self.ports.limits.policy);
        let declared = policy.declared.filter(|_| !self.accepted.agent.as_ref().is_some_and(|agent| agent.reads));
        Policy { declared, ..policy }
    }

    /// The names of the tools that are for others, or not for here.
    async fn withheld_tools(&self) -> BTreeSet<String> {
        let accepted = self.accepted;
        let place = SpeakingPlace::of(accepted.home(self.session.id), &accepted.destination.conversation);
        self.ports.tools.now().withheld_from(&accepted.principal, place).await
    }

    /// The run's numbers: the persona's, as far as it has any; the cap holds in any case.
    fn limits(&self, persona: &Persona) -> IterationLimits {
        let limits = &self.ports.limits;
        let iterations_cap = persona.iterations_cap.unwrap_or(limits.iterations_cap);
        IterationLimits {
            iterations: persona.iterations.unwrap_or(limits.iterations).min(iterations_cap),
            iterations_step: limits.iterations_step,
            iterations_cap,
        }
    }

    /// The first ordinal, after `known`, of the history that goes along, where `pruned` messages are no longer read.
    async fn history_from(&self, known: i64, pruned: i64, persona: &Persona) -> Result<i64, StoreError> {
        let (session, last) = (self.session, self.session.last_ordinal);
        let kept = last - pruned;
        let from = self.ports.prompt.history_from(known, kept, persona.history_messages_max);
        if pruned == 0 {
            return Ok(from);
        }
        // So many of the newest that are still read go along, wherever they stand among those that are not.
        Ok(self
            .read(async |tx| messages::nth_newest(tx, session.id, known, kept - from + 1).await)
            .await?
            .unwrap_or(last + 1))
    }

    /// The fixed part of the run's requests, with the texts that it refers to, and what they are made of.
    async fn context(
        &self,
        fixed: FixedPrompt,
        stretch: claim::HistoryRange,
    ) -> Result<(RequestContext, Vec<(String, String)>, Arc<PromptInputs>), StoreError> {
        let FixedPrompt { system, tools, tail } = fixed;
        let (from, through) = (stretch.from, stretch.through);
        let past =
            if from > through { HistorySlice::default() } else { self.read(async |tx| stretch.load(tx).await).await? };
        let material = PromptInputs { system, tools, tail, past };
        let context = RequestContext {
            system: system_digest(&material.system),
            tools: text_digest(material.tools.json()),
            tail: text_digest(&material.tail),
            history_from: from,
            history_through: through,
            chars: material.chars(),
        };
        let blobs = vec![
            (context.system.0.clone(), material.system.clone()),
            (context.tools.0.clone(), material.tools.json().to_owned()),
            (context.tail.0.clone(), material.tail.clone()),
        ];
        Ok((context, blobs, Arc::new(material)))
    }

    /// Whom to ask, in order: the session's choice or the persona's, or the tier that the message's form needs (row A2).
    async fn chain(&self, choice: Option<&str>) -> Result<Vec<String>, StoreError> {
        let accepted = self.accepted;
        let models = Arc::clone(&self.ports.models);
        let chosen = models.chain(choice);
        let primary = chosen.first().cloned().unwrap_or_default();
        let tiers = Tiers { fast: models.by_role("fast"), primary: &primary, smart: models.by_role("smart") };
        if choice.is_some() || !tiers.differ() {
            return Ok(chosen);
        }
        let recent = self.read(async |tx| runs::queries::recent(tx, self.session.id).await).await?;
        let attachments = self.read(async |tx| Ok(files::of_message(tx, accepted.inbound).await?.len())).await?;
        let around = RoutingContext { attachments, tool_calls: recent.tool_calls, failed: recent.failed };
        let tier = route(&MessageFeatures::of(&accepted.text, around));
        tracing::debug!(?tier, "model.routed");
        let first = tiers.model(tier);
        // Who sends a picture is answered by a model that sees, where there is one.
        let blind = !accepted.pictures.is_empty() && !self.ports.table.may_see(first);
        let sighted = [Some(primary.as_str()), tiers.smart].into_iter().flatten();
        let first = sighted.filter(|_| blind).find(|label| self.ports.table.may_see(label)).unwrap_or(first).to_owned();
        let rest = chosen.into_iter().filter(|label| *label != first).collect::<Vec<_>>();
        Ok([vec![first], rest].concat())
    }

    /// What each model costs, and how it counts.
    async fn bills(&self, models: &[String]) -> Result<Vec<ModelBill>, StoreError> {
        let mut bills = Vec::with_capacity(models.len());
        for model in models {
            let calibration = match self.ports.counts.calibration(model) {
                Some(calibration) => calibration,
                None => self.load_counts(model).await?,
            };
            let facts = self.ports.table.facts(model);
            let (rates, window) = (facts.rates, facts.context_tokens);
            let assumed = assumed_window(model).filter(|_| window.is_none());
            bills.push(ModelBill { rates, per_mille: calibration.apply(1_000), window, assumed });
        }
        Ok(bills)
    }

    /// How a model counts that no run of this process began with.
    async fn load_counts(&self, model: &str) -> Result<Calibration, StoreError> {
        let limit = i64::try_from(Calibration::SAMPLES_MAX).unwrap_or(i64::MAX);
        let counts = self.read(async |tx| model_calls::latest_counts(tx, model, limit).await).await?;
        let samples = counts
            .iter()
            .map(|count| Sample { estimated: count.estimate.unsigned_abs(), reported: count.reported.unsigned_abs() });
        Ok(self.ports.counts.load(model, samples.collect()))
    }

    async fn read<T: Send>(&self, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
        self.ports.store.read(unit).await
    }
}

/// Row B4: who sums up: the model for simple work, else the cheapest that is configured and reads as much as the run's own. None:
/// that is the run's own, as it is where nobody knows what that costs: it may be on one's own machine.
fn summariser(ports: &Ports, own: &str) -> Option<String> {
    if let Some(fast) = ports.models.by_role("fast") {
        return Some(fast.to_owned());
    }
    let facts = |label: &str| ports.table.facts(label);
    let price = |label: &str| facts(label).rates.map(|rates| price::most(SUMMED_UP_TOKENS, SUMMARY_TOKENS, &rates));
    let reads = |label: &str| facts(label).context_tokens.or_else(|| assumed_window(label)).unwrap_or(WINDOW_UNKNOWN);
    let window = ports.limits.policy.context.window_tokens.map_or_else(|| reads(own), |most| most.min(reads(own)));
    let least = price(own)?;
    // What is there to be chosen by /model alone gets nothing to read unasked.
    let others = ports.models.labels().filter(|(role, label)| *role != "other" && *label != own);
    let priced =
        others.filter(|(_, label)| reads(label) >= window).filter_map(|(_, label)| Some((price(label)?, label)));
    let cheapest = priced.filter(|(price, _)| *price < least).min_by_key(|(price, _)| *price);
    cheapest.map(|(_, label)| label.to_owned())
}

/// The system prompt of a run as this persona, and perhaps as an agent.
pub(super) fn system_of(ports: &Ports, persona: Option<&str>, agent: Option<&AgentTask>) -> String {
    let system = ports.personas.system(&ports.prompt.base, persona);
    match agent {
        Some(agent) if agent.reads => agent.prompt(),
        Some(agent) => format!("{system}\n\n{}", agent.prompt()),
        None => system,
    }
}

impl Driver {
    /// Remembers what a provider counted, now that its answer is stored.
    pub(super) fn remember_count(&self, cause: &AdvanceCause) {
        let AdvanceCause::World(events) = cause else { return };
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
