//! What sets the many servers apart that speak OpenAI's chat completions: data, not code paths.
//!
//! Never: what one model alone refuses; that is learned (see [`crate::refused_parameters`]).
//! Start at [`Quirks`].

/// How a reply's limit is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputLimit {
    /// The old name, which most servers know.
    MaxTokens,
    /// OpenAI's new one.
    MaxCompletionTokens,
}

impl OutputLimit {
    /// Its name, and the one to try when that is refused.
    pub(crate) fn names(self) -> [&'static str; 2] {
        match self {
            Self::MaxTokens => ["max_tokens", "max_completion_tokens"],
            Self::MaxCompletionTokens => ["max_completion_tokens", "max_tokens"],
        }
    }
}

/// How the wish for more or less thinking is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortFormat {
    /// `reasoning_effort: "low"`.
    Word,
    /// OpenRouter's `reasoning: {"effort": "low"}`.
    Object,
}

/// Which thinking is kept and given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningReplay {
    /// None: it is dropped as it comes.
    Never,
    /// `reasoning_content`; a history is refused in which a reply has none (DeepSeek V4, where tools are on offer).
    Content,
    /// OpenRouter's `reasoning_details`, whole and in order.
    Details,
}

/// What sets one server apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    /// How a reply's limit is called.
    pub(crate) output_limit: OutputLimit,
    /// How the wish for thinking is written.
    pub effort: EffortFormat,
    /// Which thinking it wants back.
    pub reasoning: ReasoningReplay,
    /// Whether it must be asked to report the usage; others do so anyway, and refuse to be asked.
    pub(crate) usage_option: bool,
    /// Whether calls carry an `extra_content` that it wants back (Gemini 3 refuses a reply whose first call has none).
    pub(crate) signs_calls: bool,
    /// Whether it refuses a user who speaks right after the results of tools (Mistral: "Unexpected role 'user' after role
    /// 'tool'").
    pub(crate) speaks_after_results: bool,
}

/// A server of which nothing is known: what most of them take.
pub const PLAIN: Quirks = Quirks {
    output_limit: OutputLimit::MaxTokens,
    effort: EffortFormat::Word,
    reasoning: ReasoningReplay::Never,
    usage_option: true,
    signs_calls: false,
    speaks_after_results: false,
};
