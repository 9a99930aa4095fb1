//! `hob eval from-run RUN`: a case that says what a recorded run was told, what its model answered, and how it went.

use std::path::Path;

use anyhow::Context as _;

use crate::cli::eval::case::{Case, Cases, Expectations, ScriptedCall, ScriptedReply};
use crate::cli::next_step::refuse;
use crate::cli::replay::{open, recorded};
use crate::cli::{load_running_config, runtime, show};
use hob_agent::machine::event::Event;
use hob_agent::replay::RecordedRun;
use hob_agent::replay::load;
use hob_agent::replay::tree::RunTree;
use hob_config::environment::Environment;
use hob_core::domain::ids::RunId;
use hob_core::domain::redactor::Redactor;
use hob_model::message::Completion;

/// Prints the case.
///
/// # Errors
/// When there is no such run, it cannot be read, or it is not over.
pub(super) fn run(run: i64, named: Option<&Path>) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let redactor = Redactor::new(&load_running_config(named, &environment)?.secrets(&environment))?;
    let found = runtime()?.block_on(async {
        let mut opened = open(named).await?;
        anyhow::Ok(opened.reader.read(async |tx| load::load(tx, RunId(run)).await).await?)
    })?;
    let recorded = recorded(run, found)?;
    let tree = RunTree::of(&recorded);
    match tree.evaluation.terminated_by.as_deref() {
        None => {
            refuse!("run {run} is not over, or its journal cannot be read to its end"; "choose one that came to an end, `hob runs` shows them")
        }
        Some(end @ ("stopped" | "interrupted" | "given_up")) => {
            refuse!(
                "a person ended run {run} ({end}), and in a case nobody does";
                "choose a run that came to an end by itself"
            )
        }
        Some(_) => {}
    }
    let (case, notes) = case(&recorded, &tree, &redactor);
    let text = toml::to_string(&Cases { judge: None, cases: vec![case] }).context("the case cannot be written")?;
    Ok(show(&format!("{notes}{text}"))?)
}

/// The case, and what has to be known of it, as comments. Pure.
fn case(recorded: &RecordedRun, tree: &RunTree, redactor: &Redactor) -> (Case, String) {
    let clean = |text: &str| redactor.redact(text).into_owned();
    let replies = recorded.events.iter().filter_map(|timed| match &timed.event {
        Event::ModelAnswered(completion) => Some(scripted(completion, &clean)),
        _ => None,
    });
    let persona = recorded.events.iter().find_map(|timed| match &timed.event {
        Event::Begun(begun) => begun.persona.as_ref().map(|persona| persona.name.clone()),
        _ => None,
    });
    let evaluation = &tree.evaluation;
    let asked = recorded.events.iter().any(|timed| matches!(timed.event, Event::HumanAnswered(_)));
    let case = Case {
        name: format!("run {}", recorded.run.0),
        prompt: Some(clean(&tree.message)),
        persona,
        script: replies.collect(),
        expect: Expectations {
            text_contains: evaluation.text.iter().map(|text| clean(text)).collect(),
            cycles_max: Some(evaluation.cycles),
            terminated_by: evaluation.terminated_by.clone(),
            ..Expectations::default()
        },
        ..Case::default()
    };
    let mut notes = format!("# Run {}, answered by {}.\n", recorded.run.0, tree.models.join(", "));
    for file in tree.message.lines().filter(|line| line.starts_with("[File ")) {
        notes.extend(["# It came with a file, which a case has not: ", clean(file).as_str(), "\n"]);
    }
    if asked {
        notes +=
            "# A person was asked in it. In a case nobody answers; `approve = true` approves what is to be approved.\n";
    }
    if let Some(result) = &evaluation.final_tool_result {
        let result = toml::Value::String(clean(result)).to_string().replace('\n', "\n# ");
        notes += "# Its last tool result was this. Tools that only look bring something else another day:\n";
        notes.extend(["# final_tool_result_contains = [", result.as_str(), "]\n"]);
    }
    (case, notes)
}

fn scripted(completion: &Completion, clean: &impl Fn(&str) -> String) -> ScriptedReply {
    let calls = completion.calls();
    let calls = calls.map(|call| ScriptedCall { tool: call.name.clone(), arguments: clean(&call.arguments) });
    ScriptedReply { text: clean(&completion.text()), calls: calls.collect() }
}
