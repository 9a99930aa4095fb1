//! `hob eval`: cases are run by the agent's own loop in data directories that are thrown away, and judged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::configured_models::{self, dollars, provider_by_name};
use crate::cli::eval::case::{Case, parse};
use crate::cli::eval::judge::{CriterionResult, Judge};
use crate::cli::eval::script::ScriptedModel;
use crate::cli::eval::trial::TrialContext;
use crate::cli::exit::{self, SilentExit};
use crate::cli::next_step::refuse;
use crate::cli::{load_running_config, runtime, show, show_data};
use hob_agent::replay::tree::Evaluation;
use hob_config::environment::Environment;
use hob_core::domain::money::Money;
use hob_core::domain::redactor::Redactor;
use hob_model::catalog::Catalog;
use hob_model::model_table::ModelTable;
use hob_model::provider::Provider;

mod case;
mod expect;
mod from_run;
mod judge;
mod render;
mod script;
mod trial;

/// The exit code for a file of cases that cannot be used.
const BAD_FILE: u8 = 2;

/// What `hob eval` is told.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct EvalArguments {
    /// The cases: docs/eval.md
    #[arg(required = true, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The most that all of them may cost together, in dollars, where prices are known
    #[arg(long, default_value_t = 1.0, value_name = "USD", value_parser = dollars)]
    max_usd: f64,
    /// Print JSON, one line per case
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    make: Option<CaseSource>,
}

/// What cases are made from.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
enum CaseSource {
    /// Print a case made from a recorded run
    FromRun {
        /// The run's number, as `hob runs` shows it
        run: i64,
    },
}

/// What became of a case.
#[derive(Debug, Serialize)]
struct CaseReport {
    name: String,
    passed: bool,
    /// What was expected and is not so.
    failures: Vec<String>,
    /// Why it could not be run or judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    evaluation: Evaluation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    judged: Vec<CriterionResult>,
    /// What the run and its judge cost, as far as prices are known.
    #[serde(rename = "cost_nano_usd")]
    cost: Money,
    /// The run asked a model without a known price.
    unpriced: bool,
}

/// Runs and judges the cases, or makes one.
///
/// # Errors
/// When a case has not passed, or the file cannot be used, as an exit code.
pub(super) fn run(arguments: EvalArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let EvalArguments { file, max_usd, json, make } = arguments;
    let file = match (make, file) {
        (Some(CaseSource::FromRun { run }), _) => return from_run::run(run, named),
        (None, Some(file)) => file,
        (None, None) => refuse!("no file of cases is named"; "`hob eval FILE`; `hob help eval` says what is in one"),
    };
    let read = std::fs::read_to_string(&file).map_err(|error| format!("it cannot be read: {error}"));
    let cases = match read.and_then(|text| parse(&text)) {
        Ok(cases) => cases,
        Err(why) => {
            eprintln!("hob: {}: {why}", file.display());
            return Err(SilentExit(BAD_FILE).into());
        }
    };
    let environment = Environment::of_process();
    let loaded = load_running_config(named, &environment)?;
    let redactor = Redactor::new(&loaded.secrets(&environment))?;
    let config = &loaded.config;
    let table = Arc::new(ModelTable::new(&config.models)?);
    let house = EvalContext {
        ground: TrialContext { config, environment: &environment, redactor: &redactor },
        table,
        judge: cases.judge.as_deref(),
    };
    let all = runtime()?.block_on(house.evaluate(&cases.cases, Money::from_usd(max_usd), json))?;
    if !json {
        show(&render::table(&all))?;
    }
    if all.iter().all(|judgement| judgement.passed) { Ok(()) } else { Err(SilentExit(exit::FAILED).into()) }
}

/// What cases are evaluated with.
struct EvalContext<'a> {
    ground: TrialContext<'a>,
    table: Arc<ModelTable>,
    judge: Option<&'a str>,
}

impl EvalContext<'_> {
    /// Runs the cases, one after another; with `json`, each is told when it is over.
    async fn evaluate(&self, cases: &[Case], max: Money, json: bool) -> anyhow::Result<Vec<CaseReport>> {
        let (mut all, mut spent) = (Vec::new(), Money::ZERO);
        for case in cases {
            let left = Money::from_nanos(max.nanos().saturating_sub(spent.nanos()));
            let judgement = self.clean(self.evaluate_case(case, left).await);
            spent = spent.plus(judgement.cost);
            if json {
                show_data(&(serde_json::to_string(&judgement)? + "\n"))?;
            }
            all.push(judgement);
        }
        Ok(all)
    }

    async fn evaluate_case(&self, case: &Case, left: Money) -> CaseReport {
        let mut judgement = CaseReport {
            name: case.name.clone(),
            passed: false,
            failures: Vec::new(),
            error: None,
            evaluation: Evaluation::default(),
            judged: Vec::new(),
            cost: Money::ZERO,
            unpriced: false,
        };
        if let Err(error) = self.judged(case, left, &mut judgement).await {
            judgement.error = Some(format!("{error:#}"));
        }
        judgement.passed = judgement.error.is_none() && judgement.failures.is_empty();
        judgement
    }

    async fn judged(&self, case: &Case, left: Money, judgement: &mut CaseReport) -> anyhow::Result<()> {
        // What is scripted is free.
        if left <= Money::ZERO && case.script.is_empty() {
            refuse!("it was not run: the cases before it have used up --max-usd"; "give more");
        }
        let model = self.model(case).await?;
        let came = Box::pin(trial::run(&self.ground, case, model, left)).await?;
        (judgement.cost, judgement.unpriced) = (came.cost, came.unpriced && case.script.is_empty());
        judgement.failures = expect::failures(&case.expect, &came.evaluation);
        judgement.evaluation = came.evaluation;
        if case.expect.rubric.is_empty() {
            return Ok(());
        }
        let left = Money::from_nanos(left.nanos().saturating_sub(judgement.cost.nanos()));
        let text = judgement.evaluation.text.clone().unwrap_or_default();
        let model = self.judge_of(case).await?;
        let judge = Judge { model: &*model, facts: self.table.facts(model.label()) };
        let (judged, cost) = judge.judge(&case.expect.rubric, &text, left).await;
        judgement.cost = judgement.cost.plus(cost);
        judgement.judged = judged.map_err(anyhow::Error::msg)?;
        let failed = judgement.judged.iter().filter(|judged| !judged.pass);
        judgement.failures.extend(failed.map(|judged| format!("{:?}: {}", judged.criterion, judged.reason)));
        Ok(())
    }

    /// Who answers instead of the configured models.
    async fn model(&self, case: &Case) -> anyhow::Result<Option<Arc<dyn Provider>>> {
        if !case.script.is_empty() {
            return Ok(Some(Arc::new(ScriptedModel::of(&case.script))));
        }
        match &case.model {
            Some(word) => Ok(Some(provider_by_name(&self.catalog().await?, word)?)),
            None => Ok(None),
        }
    }

    async fn judge_of(&self, case: &Case) -> anyhow::Result<Arc<dyn Provider>> {
        if let Some(text) = &case.judge_script {
            let reply = case::ScriptedReply { text: text.clone(), calls: Vec::new() };
            return Ok(Arc::new(ScriptedModel::of(&[reply])));
        }
        provider_by_name(&self.catalog().await?, self.judge.unwrap_or("primary"))
    }

    /// The configured models.
    async fn catalog(&self) -> anyhow::Result<Catalog> {
        let TrialContext { config, environment, redactor } = &self.ground;
        configured_models::catalog(config, environment, &self.table, redactor).await
    }

    /// The same without secrets.
    fn clean(&self, mut judgement: CaseReport) -> CaseReport {
        let redactor = self.ground.redactor;
        let evaluation = &mut judgement.evaluation;
        let texts = judgement.failures.iter_mut().chain(&mut judgement.error);
        let texts = texts.chain(&mut evaluation.text).chain(&mut evaluation.final_tool_result);
        texts.for_each(|text| redactor.redact_in_place(text));
        for judged in &mut judgement.judged {
            redactor.redact_in_place(&mut judged.reason);
        }
        judgement
    }
}
