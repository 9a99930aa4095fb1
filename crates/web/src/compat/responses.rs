//! The answers, as OpenAI's clients read them.

use serde::Serialize;

use hob_store::web_compat::ApiTokenUsage;

/// What Hob is called there.
pub(super) const MODEL: &str = "hob";
/// What Hob is called whose answers are read aloud.
pub(super) const ALOUD: &str = "hob-voice";

/// A whole answer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Completion {
    /// Its id; the same for the same request.
    pub(super) id: String,
    /// `chat.completion`.
    pub(super) object: &'static str,
    /// When the message came, in seconds since 1970.
    pub(super) created: i64,
    /// `hob`.
    pub(super) model: &'static str,
    /// One.
    pub(super) choices: Vec<Choice>,
    /// What it took.
    pub(super) usage: Usage,
    /// Hob chose to say nothing: that is not an answer that got lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) silent: bool,
}

/// What Hob says.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Choice {
    index: u32,
    message: Answer,
    logprobs: Option<()>,
    finish_reason: &'static str,
}

/// Hob's words.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Answer {
    /// `assistant`.
    role: &'static str,
    /// Markdown.
    content: String,
    /// Never.
    refusal: Option<String>,
}

impl Choice {
    /// The only one.
    pub(super) fn of(content: String) -> Self {
        let message = Answer { role: "assistant", content, refusal: None };
        Self { index: 0, message, logprobs: None, finish_reason: "stop" }
    }
}

/// A piece of an answer.
#[derive(Debug, Serialize)]
pub(super) struct Chunk<'a> {
    pub(super) id: &'a str,
    pub(super) object: &'static str,
    pub(super) created: i64,
    pub(super) model: &'static str,
    pub(super) choices: Vec<ChunkChoice>,
    /// Outer none: nobody asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Option<Usage>>,
    /// With the last piece: there were no words.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) silent: bool,
}

/// More of what Hob says.
#[derive(Debug, Serialize)]
pub(super) struct ChunkChoice {
    index: u32,
    delta: Delta,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}

#[derive(Debug, Default, Serialize)]
struct Delta {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

impl ChunkChoice {
    /// Who speaks.
    pub(super) fn begin() -> Self {
        Self::of(Delta { role: Some("assistant"), content: Some(String::new()) }, None)
    }

    pub(super) fn words(content: String) -> Self {
        Self::of(Delta { role: None, content: Some(content) }, None)
    }

    pub(super) fn end() -> Self {
        Self::of(Delta::default(), Some("stop"))
    }

    fn of(delta: Delta, finish_reason: Option<&'static str>) -> Self {
        Self { index: 0, delta, logprobs: None, finish_reason }
    }
}

/// Tokens, as the models of the run count them.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
pub(crate) struct Usage {
    prompt_tokens: i64,
    completion_tokens: i64,
    total_tokens: i64,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
}

/// Of the tokens read.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
pub(crate) struct PromptDetails {
    cached_tokens: i64,
}

/// Of the tokens written.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
pub(crate) struct CompletionDetails {
    reasoning_tokens: i64,
}

impl From<ApiTokenUsage> for Usage {
    fn from(used: ApiTokenUsage) -> Self {
        Self {
            prompt_tokens: used.input,
            completion_tokens: used.output,
            total_tokens: used.input.saturating_add(used.output),
            prompt_tokens_details: PromptDetails { cached_tokens: used.cached },
            completion_tokens_details: CompletionDetails { reasoning_tokens: used.reasoning },
        }
    }
}

/// A model on offer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Model {
    /// `hob`, or `hob-voice`.
    id: &'static str,
    /// `model`.
    object: &'static str,
    /// Nothing is said of when.
    created: i64,
    /// `hob`.
    owned_by: &'static str,
}

impl Model {
    /// Hob by each of its names.
    pub(super) fn all() -> Vec<Self> {
        [MODEL, ALOUD].map(|id| Self { id, object: "model", created: 0, owned_by: MODEL }).into()
    }

    /// Hob by this name; none: it has another.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|model| model.id == name)
    }
}

/// The models on offer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Models {
    /// `list`.
    pub(super) object: &'static str,
    /// Hob alone.
    pub(super) data: Vec<Model>,
}
