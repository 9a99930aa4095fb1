//! `recall`: finds facts, people, what was said, and what Hob answered, again.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::manage_people::render::card;
use crate::memory_tools::{day, line, remembered, stored_taint};
use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::origin::Taint;
use hob_core::domain::principal::Role;
use hob_core::policy::memory::visible_scopes;
use hob_memory::embedding_service::EmbeddingStatus;
use hob_memory::model_lookups;
use hob_memory::people::{LookUpPeople, PeopleError, PersonCard, PersonQuery};
use hob_memory::recall::answers::{HEAD, PastAnswer};
use hob_memory::recall::{Fragment, Memory, RecallLimits, RecallQuestion, Recollection, SearchMode};
use hob_store::error::StoreError;
use hob_store::facts::Fact;

/// The most facts, people, and messages, in one answer.
const LIMIT: usize = 10;
/// The most people.
const PEOPLE_MAX: usize = 3;
/// The most tokens of what people said, in one answer.
const TOKENS: u64 = 2_000;
/// The most characters shown of one message or value.
const SHOWN_MAX: usize = 400;
/// The most characters of what was said before it.
const BEFORE_MAX: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to look for, in a few words.
    query: String,
    /// Where to look: `facts` and people, `messages` of people, your own earlier `answers`; `all`: everything but those.
    #[serde(default)]
    what: What,
}

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
enum What {
    Facts,
    Messages,
    Answers,
    #[default]
    All,
}

pub struct RecallTool {
    spec: ToolSpec,
    memory: Memory,
}

/// What was found.
struct RecallResult {
    facts: Vec<Fact>,
    people: Vec<PersonCard>,
    said: Recollection,
}

impl RecallResult {
    /// What nobody vouches for in what is shown of it.
    fn taints(&self) -> Vec<Taint> {
        let on_cards = self.people.iter().flat_map(|card| &card.facts).map(|fact| stored_taint(fact.taint.as_ref()));
        let facts = self.facts.iter().map(|fact| stored_taint(fact.taint.as_ref()));
        let answers = self.said.answers.iter().map(|answer| answer.taint.clone());
        let said = self.said.fragments.iter().map(|fragment| fragment.taint.clone());
        on_cards.chain(facts).chain(said).chain(answers).collect()
    }
}

impl RecallTool {
    /// Recalls from `memory`.
    pub fn new(memory: Memory) -> Self {
        let about = "Looks up remembered facts, people, and what was said in earlier conversations.";
        Self { spec: spec_of::<Arguments>("recall", about, true).of("memory", Role::User), memory }
    }

    async fn look_up(&self, invocation: &Invocation, arguments: Arguments) -> Result<RecallResult, StoreError> {
        let (scopes, now) = (visible_scopes(&invocation.principal, invocation.place), invocation.now);
        let Arguments { query, what } = arguments;
        let mut found = RecallResult {
            facts: Vec::new(),
            people: Vec::new(),
            said: Recollection {
                fragments: Vec::new(),
                salient: Vec::new(),
                answers: Vec::new(),
                means: SearchMode::WordsAndMeaning,
            },
        };
        if matches!(what, What::Facts | What::All) {
            let who = PersonQuery::SpokenOf(query.clone());
            let people = self
                .memory
                .store
                .read(async |tx| LookUpPeople { scopes: scopes.clone(), who, now }.run(tx).await)
                .await?;
            found.people = match people {
                Ok(people) => people.into_iter().take(PEOPLE_MAX).collect(),
                Err(PeopleError::Store(error)) => return Err(error),
                // Whom the words do not name clearly is found by the facts about them.
                Err(_unclear) => Vec::new(),
            };
            found.facts = self
                .memory
                .store
                .read(async |tx| model_lookups::matching_facts(tx, &scopes, &query, LIMIT, now).await)
                .await?;
            let on_card =
                |fact: &Fact| found.people.iter().any(|card| card.facts.iter().any(|known| known.id == fact.id));
            found.facts.retain(|fact| !on_card(fact));
        }
        if what != What::Facts {
            let limits = RecallLimits { fragments: LIMIT + 1, tokens: TOKENS, ..self.memory.limits };
            let bill = invocation.bill();
            let question = RecallQuestion { text: query, scopes, turn: None, window: None, limits, now, bill };
            if what == What::Answers {
                found.said.answers = self.memory.answers(&question).await?;
                return Ok(found);
            }
            found.said = self.memory.recall(&question).await?;
            // The message that made the model look has the words as well, and tells it nothing.
            let asking =
                self.memory.store.read(async |tx| model_lookups::messages_of_run(tx, invocation.run).await).await?;
            found.said.fragments.retain(|fragment| !asking.contains(&fragment.memory));
        }
        Ok(found)
    }

    /// What is found and used matters more from now on; where that cannot be noted, it was found all the same.
    async fn mark_used(&self, found: &RecallResult, at: Timestamp) {
        let on_cards = found.people.iter().flat_map(|card| &card.facts).map(|fact| fact.id);
        let facts: Vec<_> = found.facts.iter().map(|fact| fact.id).chain(on_cards).collect();
        if facts.is_empty() {
            return;
        }
        if let Err(error) =
            self.memory.store.write(async move |tx| model_lookups::mark_used(tx, &facts, at).await).await
        {
            tracing::warn!(%error, "recall.unmarked: what was looked up could not be marked as used");
        }
    }

    fn show(&self, found: &RecallResult, invocation: &Invocation) -> String {
        let today = invocation.now.to_zoned(self.memory.zone.clone()).date();
        let people = found.people.iter().map(|found| card(found, today, &self.memory.zone));
        let facts = found.facts.iter().map(|fact| self.fact(fact));
        let said = found.said.fragments.iter().map(|fragment| self.fragment(fragment, &invocation.principal.name));
        let head = (!found.said.answers.is_empty()).then(|| HEAD.to_owned());
        let answers = head.into_iter().chain(found.said.answers.iter().map(|answer| self.answer(answer)));
        let mut lines: Vec<String> = people.chain(facts).chain(said).chain(answers).collect();
        if lines.is_empty() {
            lines.push("Nothing found.".to_owned());
        }
        if let Some(why) = self.degraded(found.said.means) {
            lines.push(why);
        }
        lines.join("\n")
    }

    fn fact(&self, fact: &Fact) -> String {
        let at = Timestamp::from_millisecond(fact.since).unwrap_or(Timestamp::UNIX_EPOCH);
        // A key that only begins the value says nothing more.
        let named = fact.value.to_lowercase().starts_with(&fact.key.to_lowercase());
        let about = if named { String::new() } else { format!("{}: ", line(&fact.key, SHOWN_MAX)) };
        let disputed = if fact.rival_of.is_some() { "; disputed" } else { "" };
        format!("- {about}{} ({}{disputed})", line(&fact.value, SHOWN_MAX), day(at, &self.memory.zone))
    }

    fn fragment(&self, fragment: &Fragment, asker: &str) -> String {
        let speaker =
            if fragment.speaker == asker { String::new() } else { format!(", {}", line(&fragment.speaker, 80)) };
        let before = fragment.before.as_deref().map(|before| format!(" (after: \"{}\")", line(before, BEFORE_MAX)));
        let (day, text) = (day(fragment.at, &self.memory.zone), line(&fragment.text, SHOWN_MAX));
        format!("- {day}{speaker}: \"{text}\"{}", before.unwrap_or_default())
    }

    /// As it stands in the context where a message asks for it.
    fn answer(&self, answer: &PastAnswer) -> String {
        let quoted = |text: &str, chars_max| format!("\"{}\"", line(text, chars_max).replace('"', "'"));
        let asked = answer.asked.as_deref().map(|asked| format!(" (to: {})", quoted(asked, BEFORE_MAX)));
        let (day, text) = (day(answer.at, &self.memory.zone), quoted(&answer.text, SHOWN_MAX));
        format!("- Hob said on {day}: {text}{}", asked.unwrap_or_default())
    }

    /// Says so where memory goes by words alone and should not.
    fn degraded(&self, means: SearchMode) -> Option<String> {
        let standing = self.memory.embedding_service.status();
        let wanted = matches!(standing, EmbeddingStatus::Starting { .. } | EmbeddingStatus::Degraded { .. });
        (means == SearchMode::Words && wanted)
            .then(|| "(Looked for by words alone for now: say it in other words if something is missing.)".to_owned())
    }
}

#[async_trait]
impl Tool for RecallTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let arguments: Arguments = parse(&self.spec, invocation.arguments.clone())?;
        let failed = |error| Outcome::of_store(&error, format!("The memory could not be searched: {error}."));
        let found = self.look_up(&invocation, arguments).await.map_err(failed)?;
        self.mark_used(&found, invocation.now).await;
        Ok(remembered(self.show(&found, &invocation), found.taints()))
    }
}
