//! Which call of a model a run makes next, what is in it, and what it costs.

use crate::machine::compaction;
use crate::machine::declared_loop;
use crate::machine::digest::Digest;
use crate::machine::effect::{FallbackChain, ModelCall, ModelCallPurpose};
use crate::machine::state::{ActiveState, Phase};
use crate::machine::transcript::{REQUEST_SCHEME, canonical};
use hob_core::domain::money::Money;
use hob_model::message::{Completion, Message, Usage};
use hob_model::price::{self, Rates};
use hob_model::provider::ToolChoice;
use hob_model::tokens;

impl ActiveState {
    /// The model call that is due now: for work, or to wrap up when a limit is reached.
    pub(crate) fn call_model(&self) -> ModelCall {
        let purpose = if self.soft_limit {
            ModelCallPurpose::WrapUpTime
        } else if declared_loop::declared_loop(self).is_none() && self.iterations >= self.limits.iterations {
            ModelCallPurpose::WrapUpIterations
        } else {
            ModelCallPurpose::Work
        };
        self.call_for(purpose)
    }

    /// A model call for `purpose`.
    pub fn call_for(&self, purpose: ModelCallPurpose) -> ModelCall {
        let label = self.models.get(self.model).cloned().unwrap_or_default();
        let choice = match (self.guard.force(), purpose) {
            (Some(choice), ModelCallPurpose::Work) => choice.clone(),
            (
                Some(_) | None,
                ModelCallPurpose::Work
                | ModelCallPurpose::WrapUpTime
                | ModelCallPurpose::WrapUpIterations
                | ModelCallPurpose::Summary,
            ) => ToolChoice::Auto,
        };
        let (aside, check, blind) = (self.truth.aside(), self.truth.is_open(), self.blind.contains(&self.model));
        let counted = self.counted() + aside.iter().map(tokens::message).sum::<u64>();
        let input_estimate = self.calibrated(counted);
        let digest = self.request_digest(purpose, &label, &choice, &aside);
        ModelCall {
            purpose,
            choice,
            check,
            blind,
            model: self.model,
            label,
            delay_ms: 0,
            failures: 0,
            chain: FallbackChain::default(),
            digest,
            counted,
            input_estimate,
            reserve: self.rates(self.model).map(|rates| price::most(input_estimate, self.billing.reply_tokens, &rates)),
        }
    }

    /// The hash of everything that determines the request. What is usual adds nothing to it.
    fn request_digest(&self, purpose: ModelCallPurpose, label: &str, choice: &ToolChoice, aside: &[Message]) -> Digest {
        let (context, purpose) = (canonical(&self.context), format!("{purpose:?}"));
        let (choice, aside) = (Some(choice).filter(|choice| **choice != ToolChoice::Auto), Some(aside));
        let choice = choice.map(canonical);
        let aside = aside.filter(|aside| !aside.is_empty()).map(canonical);
        let said = self.transcript.digest().0.as_bytes();
        let mut parts: Vec<&[u8]> = vec![&context, said, purpose.as_bytes(), label.as_bytes()];
        let view = (!self.view.is_whole()).then(|| canonical(&self.view));
        let notes = self.notebook.message().map(|notes| canonical(&notes));
        let blind = self.blind.contains(&self.model).then(|| b"without pictures".to_vec());
        parts.extend([&view, &notes, &choice, &aside, &blind].into_iter().filter_map(|part| part.as_deref()));
        Digest::of(REQUEST_SCHEME, &parts)
    }

    /// The tokens that the next request has, as counted here.
    fn counted(&self) -> u64 {
        let notes = self.notebook.message().map_or(0, |notes| tokens::message(&notes));
        if self.view.is_whole() {
            return self.billing.context_tokens + self.transcript.tokens() + notes;
        }
        compaction::size::request(self, &self.view) + notes
    }

    /// The same, as the model asked now counts (row B14).
    pub(crate) fn calibrated(&self, counted: u64) -> u64 {
        self.calibrated_by(self.model, counted)
    }

    /// The same, as the run's `model`th model counts.
    pub(crate) fn calibrated_by(&self, model: usize, counted: u64) -> u64 {
        self.billing.models.get(model).map_or(counted, |bill| counted.saturating_mul(bill.per_mille) / 1000)
    }

    /// What `usage` costs with the run's `model`th model; none: nobody knows.
    pub fn price(&self, model: usize, usage: &Usage) -> Option<Money> {
        self.rates(model).map(|rates| price::cost(usage, &rates))
    }

    /// Are the prices of all its models known?
    pub fn is_priced(&self) -> bool {
        (0..self.models.len()).all(|model| self.rates(model).is_some())
    }

    pub(super) fn rates(&self, model: usize) -> Option<Rates> {
        self.billing.models.get(model)?.rates
    }

    /// What a reply is billed for: what its provider reports. Where it reports nothing, what the call was estimated to
    /// read, and what came: such a reply is not free.
    pub fn billed(&self, call: &ModelCall, completion: &Completion) -> Usage {
        let usage = completion.usage;
        if usage.input_tokens > 0 {
            return usage;
        }
        let written = tokens::message(&Message::Assistant { parts: completion.parts.clone() });
        Usage { input_tokens: call.input_estimate, output_tokens: usage.output_tokens.max(written), ..usage }
    }

    /// Nobody will learn what the model call in flight cost: its estimate stands in.
    pub(crate) fn lose_call(&mut self) {
        if let Phase::Calling(call) = &self.phase {
            let lost = Usage { input_tokens: call.input_estimate, ..Usage::default() };
            self.cost = self.cost.plus(self.price(call.model, &lost).unwrap_or_default());
            self.usage.add(lost);
        }
    }

    /// What is set aside for the model call in flight.
    pub fn open_reserve(&self) -> Option<Money> {
        self.open_call()?.reserve
    }

    /// The model call in flight.
    pub(crate) fn open_call(&self) -> Option<&ModelCall> {
        match &self.phase {
            Phase::Calling(call) => Some(call),
            Phase::Acting(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => None,
        }
    }
}
