//! `forget`: takes away what the person wants forgotten. What matches is listed first; then it goes by its short names.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::memory_tools::{day, line, remembered, stored_taint};
use crate::registry::{parse, spec_of};
use crate::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, Risk, ToolFacts};
use hob_core::policy::memory::visible_scopes;
use hob_memory::item::MemoryItem;
use hob_memory::model_lookups::{self, ForgetListed, ForgetListedOutcome};
use hob_memory::recall::{Memory, RecallLimits, RecallQuestion};
use hob_store::error::StoreError;

/// The most facts, and the most messages, that are listed.
const LIMIT: usize = 10;
/// The most tokens of the messages.
const TOKENS: u64 = 2_000;
/// The most characters shown of one.
const SHOWN_MAX: usize = 200;
/// The most that go at once.
const ITEMS_MAX: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What is to be forgotten, in a few words: lists what matches, with short names. Nothing is forgotten yet.
    query: Option<String>,
    /// The short names of what is to be forgotten, from that list: `f7` (a fact), `m12` (something said). It is gone for good.
    #[serde(default)]
    ids: Vec<String>,
}

/// The tool. What is forgotten already is not there any more: it is idempotent.
pub struct ForgetTool {
    spec: ToolSpec,
    memory: Memory,
}

impl ForgetTool {
    /// Forgets in `memory`.
    pub fn new(memory: Memory) -> Self {
        let about = "Forgets for good what the user wants forgotten. First call it with `query` and look which of the matches \
            are meant; then with their `ids`. Never forget what was not asked for.";
        let spec = spec_of::<Arguments>("forget", about, true).of("memory", Role::User).shown_on_need();
        let facts = ToolFacts { changes: true, risk: Risk::Write, ..spec.facts };
        Self { spec: ToolSpec { facts, ..spec }, memory }
    }

    async fn list(&self, invocation: &Invocation, query: String) -> Result<Outcome, StoreError> {
        let (scopes, now) = (visible_scopes(&invocation.principal, invocation.place), invocation.now);
        let facts = self
            .memory
            .store
            .read(async |tx| model_lookups::matching_facts(tx, &scopes, &query, LIMIT, now).await)
            .await?;
        let limits = RecallLimits { fragments: LIMIT, tokens: TOKENS, ..self.memory.limits };
        let bill = invocation.bill();
        let question = RecallQuestion { text: query, scopes, turn: None, window: None, limits, now, bill };
        let said = self.memory.recall(&question).await?;
        let show = |item: MemoryItem, text: &str, at: Timestamp| {
            format!("- {item}: {} ({})", line(text, SHOWN_MAX), day(at, &self.memory.zone))
        };
        let of_facts = facts.iter().map(|fact| stored_taint(fact.taint.as_ref()));
        let taints: Vec<_> = of_facts.chain(said.fragments.iter().map(|fragment| fragment.taint.clone())).collect();
        let facts = facts.iter().map(|fact| {
            let at = Timestamp::from_millisecond(fact.since).unwrap_or(Timestamp::UNIX_EPOCH);
            show(MemoryItem::Fact(fact.id), &format!("{}: {}", fact.key, fact.value), at)
        });
        let said = said.fragments.iter().map(|fragment| {
            show(
                MemoryItem::Memory(fragment.memory),
                &format!("{}: \"{}\"", fragment.speaker, fragment.text),
                fragment.at,
            )
        });
        let lines: Vec<String> = facts.chain(said).collect();
        Ok(if lines.is_empty() {
            Outcome::Text("Nothing found.".to_owned())
        } else {
            let lines = lines.join("\n");
            let told = format!("Nothing is forgotten yet. Call again with the ids of what is meant:\n{lines}");
            remembered(told, taints)
        })
    }

    async fn forget(&self, invocation: Invocation, items: Vec<MemoryItem>) -> Result<Outcome, StoreError> {
        let (caller, place) = (invocation.principal, invocation.place);
        let names = |items: &[MemoryItem]| items.iter().map(MemoryItem::to_string).collect::<Vec<_>>().join(", ");
        let forget = ForgetListed { items: items.clone(), caller, place };
        let done = self.memory.store.write(async move |tx| forget.run(tx).await).await?;
        Ok(match done {
            ForgetListedOutcome::Refused(others) => Outcome::Error(format!(
                "Nothing was forgotten: {} was told by others, and only they, an admin or an owner may have it forgotten; \
                 what everyone in the house knows, only in private.",
                names(&others)
            )),
            ForgetListedOutcome::Done { gone, memories, put_off } => {
                for (scope, memory) in memories {
                    self.memory.embedding_service.forget(scope, memory);
                }
                let missing: Vec<MemoryItem> = items.into_iter().filter(|item| !gone.contains(item)).collect();
                let mut told = Vec::new();
                if !gone.is_empty() {
                    told.push(format!("Forgotten: {}.", names(&gone)));
                }
                if !missing.is_empty() {
                    told.push(format!("Not there, or gone already: {}.", names(&missing)));
                }
                if put_off {
                    told.push("From the record of what is being worked on it goes when that is done.".to_owned());
                }
                Outcome::Text(told.join(" "))
            }
        })
    }
}

#[async_trait]
impl Tool for ForgetTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Whoever only asks what there is changes nothing.
    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let ids = invocation.arguments.get("ids").and_then(Value::as_array);
        let forgets = ids.is_some_and(|ids| !ids.is_empty());
        Assessment::usual(if forgets { Risk::Write } else { Risk::Read })
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { query, ids } = parse(&self.spec, invocation.arguments.clone())?;
        let query = query.map(|query| query.trim().to_owned()).filter(|query| !query.is_empty());
        let done = match (query, ids.as_slice()) {
            (_, ids) if ids.len() > ITEMS_MAX => {
                return Err(Outcome::Error(format!("At most {ITEMS_MAX} can be forgotten at once.")));
            }
            (Some(query), []) => self.list(&invocation, query).await,
            (None, []) => {
                return Err(Outcome::Error("Give a `query` first, then the `ids` of what is meant.".to_owned()));
            }
            (_, ids) => {
                let no_id = |id| Outcome::Error(format!("{id:?} is not an id from the list: they are like f7 or m12."));
                let items = ids.iter().map(|id| MemoryItem::parse(id.trim()).ok_or_else(|| no_id(id)));
                let items = items.collect::<Result<Vec<_>, _>>()?;
                self.forget(invocation, items).await
            }
        };
        done.map_err(|error| Outcome::of_store(&error, format!("Nothing was forgotten: {error}.")))
    }
}
