//! `hob replay RUN --what-if FILE --ask`: where the record ends, the model is asked.
//!
//! Never: a tool that is run, or a write; what it costs is told, and stands in no bill of Hob's.
//! Start at [`ContinuationRunner::go_on`].

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::cli::configured_models::{dollars, provider_by_name};
use hob_agent::machine::effect::{ModelCall, SummaryCall};
use hob_agent::prompt::PromptInputs;
use hob_agent::replay::what_if::RunTotals;
use hob_agent::replay::what_if::continuation::{AnsweredCall, ContinuedRun, NextStep};
use hob_core::domain::money::Money;
use hob_model::catalog::Catalog;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::{Completion, Usage};
use hob_model::model_table::ModelTable;
use hob_model::price;
use hob_model::price::Rates;
use hob_model::provider::{NoSink, Request};
use hob_model::tokens;

/// The most tokens of a reply, where the record names no other limit.
const REPLY_TOKENS: u64 = 4_096;

/// What `hob replay --what-if` is told of asking.
#[derive(Debug, Clone, Copy, PartialEq, Args)]
pub(super) struct AskArguments {
    /// Where the record ends, ask the model: tools answer from the record or not at all, and nothing is written
    #[arg(long, requires = "what_if")]
    ask: bool,
    /// The most that asking may cost, in dollars, where prices are known
    #[arg(long, default_value_t = 0.5, value_name = "USD", value_parser = dollars, requires = "ask")]
    max_usd: f64,
    /// The most tokens that asking may take from models without a known price
    #[arg(long, default_value_t = 100_000, value_name = "TOKENS", requires = "ask")]
    max_tokens: u64,
    /// The most model calls that asking may make
    #[arg(long, default_value_t = 20, value_name = "CALLS", requires = "ask")]
    max_calls: u32,
}

impl AskArguments {
    /// The most that asking may take; none: nobody is to be asked.
    pub(super) fn caps(self) -> Option<Caps> {
        let Self { ask, max_usd, max_tokens, max_calls } = self;
        ask.then(|| Caps { usd: Money::from_usd(max_usd), tokens: max_tokens, calls: max_calls })
    }
}

/// The most that all of it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caps {
    /// Money, for models whose price is known.
    pub(super) usd: Money,
    /// Tokens, for the others.
    pub(super) tokens: u64,
    /// Calls of a model.
    pub(super) calls: u32,
}

/// How the run went on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Continuation {
    /// What happened, in order.
    pub(super) steps: Vec<ContinuationStep>,
    /// Why it ended.
    pub(super) ended: String,
    /// What the calls took.
    #[serde(flatten)]
    pub(super) spent: Spent,
    pub(super) would_be: RunTotals,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(super) enum ContinuationStep {
    /// A model has answered.
    Answered {
        /// Which.
        model: String,
        text: String,
        /// What it took.
        usage: Usage,
        /// What it cost; none: nobody knows its price.
        #[serde(rename = "cost_nano_usd")]
        cost: Option<Money>,
    },
    /// A model has not answered.
    Failed {
        /// Which.
        model: String,
        why: String,
    },
    /// A tool was called.
    Called(AnsweredCall),
}

/// What was spent on asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Spent {
    /// Calls of a model.
    pub(super) calls: u32,
    /// Money, in nano-dollars, on models whose price is known.
    #[serde(rename = "spent_nano_usd")]
    pub(super) cost: Money,
    /// Tokens, on the others.
    pub(super) unpriced_tokens: u64,
}

/// Who asks, and within what.
pub(super) struct ContinuationRunner<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) table: &'a ModelTable,
    pub(super) material: &'a PromptInputs,
    pub(super) caps: Caps,
}

/// What one call reads and writes at most, as far as anybody knows before it is made.
#[derive(Debug, Clone, Copy)]
struct CallEstimate {
    input: u64,
    output: u64,
    rates: Option<Rates>,
}

impl ContinuationRunner<'_> {
    /// Lets the run go on until it is over, would wait for a person, or may take no more.
    pub(super) async fn continue_run(&self, mut going: ContinuedRun) -> Continuation {
        let (mut steps, mut spent) = (Vec::new(), Spent::default());
        let ended = loop {
            let next = going.next_step();
            steps.extend(going.take_calls().into_iter().map(ContinuationStep::Called));
            let (call, summary) = match next {
                NextStep::Over(why) => break why,
                NextStep::Ask(call) => (call, None),
                NextStep::Summarise(summary) => (summary.call.clone(), Some(summary)),
            };
            let Some(request) = self.request(&going, &call, summary.as_ref()) else {
                break "there is no request".to_owned();
            };
            let foreseen = self.foreseen(&request, &call);
            if let Err(why) = self.caps.allow(&spent, &foreseen) {
                break why;
            }
            let model = match provider_by_name(self.catalog, &call.label) {
                Ok(model) => model,
                Err(error) => break error.to_string(),
            };
            tokio::time::sleep(Duration::from_millis(call.delay_ms)).await;
            let answer = model.complete(&request, &NoSink).await;
            steps.push(spent.enter(&call.label, &foreseen, answer.as_ref()));
            match (summary, answer) {
                (Some(_), answer) => going.summed_up(answer.as_ref()),
                (None, Ok(completion)) => going.answered(completion),
                (None, Err(error)) => going.failed(&error),
            }
        };
        Continuation { steps, ended, spent, would_be: going.sum() }
    }

    fn request(&self, going: &ContinuedRun, call: &ModelCall, summary: Option<&SummaryCall>) -> Option<Request> {
        let mut request = match summary {
            Some(summary) => going.summary_request(self.material, summary)?,
            None => going.request(self.material, call)?,
        };
        let limit = going.reply_tokens().unwrap_or(REPLY_TOKENS);
        request.max_output_tokens =
            Some(self.table.facts(&call.label).max_output_tokens.map_or(limit, |most| most.min(limit)));
        Some(request)
    }

    fn foreseen(&self, request: &Request, call: &ModelCall) -> CallEstimate {
        let counted = tokens::estimate(&request.system, &[], &request.messages) + request.tools.tokens();
        CallEstimate {
            // A model may be known to count more than is counted here.
            input: counted.max(call.input_estimate),
            output: request.max_output_tokens.unwrap_or(REPLY_TOKENS),
            rates: self.table.facts(&call.label).rates,
        }
    }
}

impl Caps {
    /// Whether one more call fits.
    fn allow(&self, spent: &Spent, foreseen: &CallEstimate) -> Result<(), String> {
        let Self { usd, tokens, calls } = *self;
        let CallEstimate { input, output, rates } = *foreseen;
        if spent.calls >= calls {
            return Err(format!("--max-calls allows no more than {calls}"));
        }
        match rates {
            Some(rates) => {
                let most = price::most(input, output, &rates);
                let fits = spent.cost.plus(most) <= usd;
                let why =
                    || format!("the next call may cost {most}, and --max-usd leaves {}", remaining(usd, spent.cost));
                fits.then_some(()).ok_or_else(why)
            }
            None => {
                let most = input + output;
                let fits = spent.unpriced_tokens.saturating_add(most) <= tokens;
                let left = tokens.saturating_sub(spent.unpriced_tokens);
                let why =
                    || format!("the next call may take {most} tokens of unknown price, and --max-tokens leaves {left}");
                fits.then_some(()).ok_or_else(why)
            }
        }
    }
}

fn remaining(cap: Money, spent: Money) -> Money {
    Money::from_nanos(cap.nanos().saturating_sub(spent.nanos()).max(0))
}

impl Spent {
    /// Adds a call, and tells of it. Who did not answer may have worked all the same; who counts nothing is taken to have
    /// read what was foreseen.
    fn enter(
        &mut self,
        model: &str,
        foreseen: &CallEstimate,
        answer: Result<&Completion, &ModelError>,
    ) -> ContinuationStep {
        self.calls += 1;
        let read = Usage { input_tokens: foreseen.input, ..Usage::default() };
        let usage = match answer {
            Ok(completion) if completion.usage.input_tokens > 0 => completion.usage,
            Ok(_) => Usage { output_tokens: foreseen.output, ..read },
            Err(error) if may_have_worked(error.class) => read,
            Err(_) => Usage::default(),
        };
        let cost = foreseen.rates.map(|rates| price::cost(&usage, &rates));
        match cost {
            Some(cost) => self.cost = self.cost.plus(cost),
            None => self.unpriced_tokens += usage.input_tokens + usage.output_tokens,
        }
        let model = model.to_owned();
        match answer {
            Ok(completion) => ContinuationStep::Answered { model, text: completion.text().into_owned(), usage, cost },
            Err(error) => ContinuationStep::Failed { model, why: error.message.clone() },
        }
    }
}

fn may_have_worked(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Timeout | ErrorClass::Network | ErrorClass::Server | ErrorClass::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_model::price::Rate;

    const CAPS: Caps = Caps { usd: Money::from_nanos(1_000_000), tokens: 100, calls: 2 };

    fn foreseen(rates: Option<Rates>) -> CallEstimate {
        CallEstimate { input: 40, output: 10, rates }
    }

    fn priced() -> CallEstimate {
        let rate = Rate::from_micro_usd(10_000_000);
        foreseen(Some(Rates { input: rate, cached: rate, cache_write: rate, output: rate, long: None }))
    }

    #[test]
    fn n2_a_call_is_made_only_if_the_most_that_it_may_take_is_left() {
        let spent = Spent { calls: 1, cost: Money::from_nanos(500_000), unpriced_tokens: 50 };
        assert_eq!(CAPS.allow(&spent, &priced()), Ok(()));
        assert_eq!(CAPS.allow(&spent, &foreseen(None)), Ok(()));
        let more = Spent { cost: Money::from_nanos(600_000), unpriced_tokens: 51, ..spent };
        let why = [CAPS.allow(&more, &priced()), CAPS.allow(&more, &foreseen(None))].map(Result::unwrap_err);
        insta::assert_snapshot!(why.join("\n"), @"
        the next call may cost $0.0005, and --max-usd leaves $0.0004
        the next call may take 50 tokens of unknown price, and --max-tokens leaves 49
        ");
        insta::assert_snapshot!(CAPS.allow(&Spent { calls: 2, ..spent }, &priced()).unwrap_err(), @"--max-calls allows no more than 2");
    }

    #[test]
    fn n2_what_a_call_took_is_counted_though_nobody_told_it() {
        let mut spent = Spent::default();
        let mut said = Completion::from_text_and_calls("Yes.".to_owned(), Vec::new());
        let told = |went: ContinuationStep| match went {
            ContinuationStep::Answered { usage, cost, .. } => {
                (usage.input_tokens + usage.output_tokens, cost.map(Money::nanos))
            }
            ContinuationStep::Failed { .. } | ContinuationStep::Called(_) => (0, None),
        };
        said.usage = Usage::default();
        assert_eq!(told(spent.enter("a/b", &priced(), Ok(&said))), (50, Some(500_000)));
        said.usage = Usage { input_tokens: 3, output_tokens: 2, ..Usage::default() };
        assert_eq!(told(spent.enter("a/b", &priced(), Ok(&said))), (5, Some(50_000)));
        assert_eq!(told(spent.enter("a/b", &foreseen(None), Ok(&said))), (5, None));
        for class in [ErrorClass::Timeout, ErrorClass::Auth] {
            spent.enter("a/b", &priced(), Err(&ModelError::new(class, "no")));
        }
        assert_eq!(spent, Spent { calls: 5, cost: Money::from_nanos(950_000), unpriced_tokens: 5 });
    }
}
