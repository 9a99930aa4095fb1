//! A scripted model: the message says what is to be done, chance says what goes wrong.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hob_core::domain::ids::CallId;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::{Completion, Message, StopReason, ToolCall, Usage};
use hob_model::provider::{Provider, Request, Sink, ToolChoice};
use tokio::time::sleep;

use crate::life::TOKENS_WRITTEN;
use crate::world::World;

pub(crate) struct Model {
    pub(crate) world: Arc<World>,
    pub(crate) label: &'static str,
}

#[async_trait]
impl Provider for Model {
    fn label(&self) -> &str {
        if std::mem::take(&mut self.world.state().label_panics) {
            panic!("simulated: the name of the model");
        }
        self.label
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let world = &self.world;
        sleep(Duration::from_millis(world.between(50, 3_000))).await;
        if !world.is_calm() {
            self.fail().await?;
        }
        let completion = self.follow(request);
        self.stream(&completion.text(), sink).await?;
        let wanted = completion.calls().next().map(|call| call.name.clone());
        match wanted.as_deref() {
            Some("stall") => std::future::pending().await,
            Some("boom") => panic!("simulated: the model panics"),
            Some(_) | None => Ok(completion),
        }
    }
}

impl Model {
    async fn fail(&self) -> Result<(), ModelError> {
        let world = &self.world;
        let class = match world.below(200) {
            0 => ErrorClass::Auth,
            1 => ErrorClass::UnknownModel,
            2 => ErrorClass::ContextTooLong,
            3 => ErrorClass::BadRequest,
            4..9 => ErrorClass::RateLimit,
            9..13 => ErrorClass::Network,
            13..16 => ErrorClass::Malformed,
            16 => panic!("simulated: the model panics"),
            17..20 => {
                world.note(format!("{} stalls", self.label));
                sleep(Duration::from_secs(7_200)).await;
                ErrorClass::Timeout
            }
            _ => return Ok(()),
        };
        world.note(format!("{} fails: {class:?}", self.label));
        let retry_after = world.chance(300).then(|| Duration::from_secs(world.between(1, 90)));
        Err(ModelError { class, message: "it went wrong".to_owned(), retry_after, parameter: None })
    }

    /// The words come in pieces, now and then not all of them.
    async fn stream(&self, text: &str, sink: &dyn Sink) -> Result<(), ModelError> {
        let world = &self.world;
        let breaks = !world.is_calm() && world.chance(30);
        let mut rest = text;
        while !rest.is_empty() {
            let most = usize::try_from(world.between(1, 900)).unwrap_or(1);
            let (now, later) = rest.split_at(rest.floor_char_boundary(most).max(rest.ceil_char_boundary(1)));
            sink.delta(now);
            rest = later;
            sleep(Duration::from_millis(world.below(900))).await;
            if breaks && world.chance(300) {
                world.note(format!("{} breaks off", self.label));
                let (message, class) = ("it broke off".to_owned(), ErrorClass::Network);
                return Err(ModelError { class, message, retry_after: None, parameter: None });
            }
        }
        Ok(())
    }

    fn follow(&self, request: &Request) -> Completion {
        let world = &self.world;
        let task = request.messages.iter().rposition(|message| script(message).is_some());
        let (steps, done) = match task {
            None => (Vec::new(), 0),
            Some(at) => {
                let acted = |message: &&Message| message.calls().next().is_some();
                let done = request.messages.iter().skip(at).filter(acted).count();
                (request.messages.get(at).and_then(script).unwrap_or_default(), done)
            }
        };
        let odd = !world.is_calm();
        if odd && world.chance(15) {
            return completion("", Vec::new());
        }
        match steps.get(done) {
            Some(step) if step == "hush" => completion("NO_REPLY", Vec::new()),
            Some(step) if !(request.tool_choice == ToolChoice::None || odd && world.chance(30)) => {
                let calls = step.split('+').enumerate().map(|(index, name)| self.call(index, name)).collect();
                completion("", calls)
            }
            _ if odd && world.chance(30) => completion(&"A long story. ".repeat(400), Vec::new()),
            _ if odd && world.chance(60) => {
                let part = format!("Part {} of it, and ", world.serial());
                Completion { stop: StopReason::MaxTokens, ..completion(&part, Vec::new()) }
            }
            _ => {
                let more = usize::try_from(world.below(40)).unwrap_or(0);
                completion(&format!("That was {}.{}", world.serial(), " It took a while.".repeat(more)), Vec::new())
            }
        }
    }

    /// An agent's task is a message that says what is to be done.
    fn mission(&self, task: Option<&str>) -> String {
        let world = &self.world;
        let any = || TASKS[usize::try_from(world.below(TASKS.len() as u64)).unwrap_or(0)];
        let task = task.unwrap_or_else(any);
        format!("{{\"mission\":\"You are an agent.\",\"task\":\"a{} do {task}\"}}", world.serial())
    }

    fn call(&self, index: usize, step: &str) -> ToolCall {
        let (name, arguments) = match step {
            "ask" => ("ask_human", format!("{{\"question\":\"Which one, {}?\"}}", self.world.serial())),
            "more" => ("request_more_iterations", "{\"reason\":\"much to do\"}".to_owned()),
            "spawn" => ("spawn_agent", self.mission(None)),
            "helper" => ("spawn_agent", self.mission(Some("look append"))),
            "chief" => ("spawn_agent", self.mission(Some("helper append"))),
            "plan" => ("plan", format!("{{\"steps\":[{{\"tool\":\"append\",\"arguments\":{KEPT}}}]}}")),
            // What can be taken back, at a place that is still to be read.
            "wall" => (
                "plan",
                "{\"steps\":[{\"tool\":\"stick\",\"arguments\":{\"to\":\"stuck\",\"place\":{\"from\":\"the page\"}}}]}"
                    .to_owned(),
            ),
            // Calls that may have been planned: by the word that the message has for each.
            "kept" => ("append", KEPT.to_owned()),
            "stuck" => ("stick", STUCK.to_owned()),
            "torn" => ("look", "{\"n\":".to_owned()),
            other => (other, format!("{{\"n\":{}}}", self.world.serial())),
        };
        // Providers are free to name calls as they like.
        ToolCall { id: CallId(format!("call_{index}")), name: name.to_owned(), arguments }
    }
}

/// The arguments of the call that is planned.
pub(crate) const KEPT: &str = "{\"to\":\"kept\"}";

/// Those of the other that is, with a place that the plan leaves open.
pub(crate) const STUCK: &str = "{\"to\":\"stuck\",\"place\":\"home\"}";

/// What agents are told to do.
const TASKS: [&str; 8] =
    ["look", "append", "look+append append", "nap", "pay", "spawn", "spawn+append", "crawl spawn+spawn"];

/// The steps that a message asks for: `m7 do look+append ask`.
fn script(message: &Message) -> Option<Vec<String>> {
    if !matches!(message, Message::User { .. }) {
        return None;
    }
    let text = message.text();
    let (_, steps) = text.split_once(" do ")?;
    Some(steps.split_whitespace().map(str::to_owned).collect())
}

fn completion(text: &str, calls: Vec<ToolCall>) -> Completion {
    let usage = Usage { input_tokens: 100, output_tokens: TOKENS_WRITTEN, ..Usage::default() };
    Completion { usage, ..Completion::from_text_and_calls(text, calls) }
}
