//! `keep_changes`: what a run has changed in its draft of the workspace is taken over into it.
//!
//! The machine adds the call by itself and asks for each (`machine::draft`); a model may ask for it earlier.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::changes::{ChangesError, DraftId, Drafts};
use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::draft::DraftUse;
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Approval, CONTROL, KEEP_CHANGES, Risk, ToolFacts};

const ABOUT: &str =
    "Asks a person now to keep what you changed in the draft of the workspace; by itself that is asked at the end.";
const NOTHING: &str = "There is nothing to keep.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Leave it out.
    digest: Option<String>,
}

/// The tool.
pub struct KeepChanges {
    spec: ToolSpec,
    drafts: Drafts,
}

impl KeepChanges {
    /// Keeps these drafts.
    pub fn new(drafts: Drafts) -> Self {
        let facts = ToolFacts {
            changes: true,
            exclusive: true,
            approval: Approval::Critical,
            risk: Risk::Write,
            ..ToolFacts::default()
        };
        let spec = spec_of::<Arguments>(KEEP_CHANGES, ABOUT, true).of(CONTROL, Role::User).with(facts).shown_on_need();
        Self { spec, drafts }
    }
}

#[async_trait]
impl Tool for KeepChanges {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { digest } = parse(&self.spec, invocation.arguments)?;
        let (DraftUse::Open(number), Some(digest)) = (invocation.draft, digest) else {
            return Ok(Outcome::Text(NOTHING.to_owned()));
        };
        let (drafts, run, now) = (self.drafts.clone(), invocation.run, invocation.now);
        let kept = tokio::task::spawn_blocking(move || {
            let draft = drafts.find(run, &DraftId::Shared(number))?.ok_or(ChangesError::Gone)?;
            draft.keep(&digest, now)
        });
        match kept.await {
            Ok(Ok(kept)) => Ok(Outcome::Text(kept.to_string())),
            Ok(Err(ChangesError::Differs { .. })) => Err(Outcome::Error(
                "The draft has changed since it was agreed to, so nothing was kept; it is asked anew.".to_owned(),
            )),
            Ok(Err(error)) => Err(Outcome::Error(format!("Not kept: {error}."))),
            Err(error) => Err(Outcome::Error(format!("Not kept: {error}."))),
        }
    }
}
