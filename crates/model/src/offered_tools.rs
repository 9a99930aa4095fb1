//! The tools that requests name. They are the same in one request after another, so what is counted of them is counted once.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::provider::ToolSchema;
use crate::tokens;

/// The tools on offer, in order.
#[derive(Debug, Clone, Default)]
pub struct OfferedTools(Arc<CountedTools>);

#[derive(Debug, Default)]
struct CountedTools {
    schemas: Vec<ToolSchema>,
    json: OnceLock<String>,
    tokens: OnceLock<u64>,
    chars: OnceLock<usize>,
}

impl OfferedTools {
    /// Their stored form: a list in JSON.
    #[expect(clippy::expect_used, reason = "texts and JSON encode")]
    pub fn json(&self) -> &str {
        self.0.json.get_or_init(|| serde_json::to_string(&self.0.schemas).expect("texts and JSON encode"))
    }

    /// The tokens that they add to a request.
    pub fn tokens(&self) -> u64 {
        *self.0.tokens.get_or_init(|| self.iter().map(tokens::tool).sum())
    }

    /// How many bytes of text they are, for estimates.
    pub fn chars(&self) -> usize {
        let chars = |tool: &ToolSchema| tool.description.len() + tool.parameters.to_string().len();
        *self.0.chars.get_or_init(|| self.iter().map(chars).sum())
    }
}

impl From<Vec<ToolSchema>> for OfferedTools {
    fn from(schemas: Vec<ToolSchema>) -> Self {
        Self(Arc::new(CountedTools { schemas, ..CountedTools::default() }))
    }
}

impl Deref for OfferedTools {
    type Target = [ToolSchema];

    fn deref(&self) -> &[ToolSchema] {
        &self.0.schemas
    }
}

impl PartialEq for OfferedTools {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.schemas == other.0.schemas
    }
}
