//! The step that chooses who answers: the provider, its key, the model; then a real question.

use crate::cli::init::asker::{self, SetupError, number, numbered};
use crate::cli::init::context::SetupContext;
use crate::cli::init::providers::{KINDS, ProviderInfo};
use crate::cli::init::save::ConfigDraft;
use crate::cli::init::secret_place::{self, NamedSecret};
use crate::cli::init::setup_environment::{SetupTrouble, TrialTurn};
use hob_config::Config;
use hob_config::change::Edit;
use hob_config::provider::ProviderKind;
use hob_core::domain::secret::Secret;
use hob_model::discover::label_of;
use hob_model::model_table::{ModelFacts, ModelTable, PriceSource};
use hob_model::price::Rates;
use hob_model::provider::OfferedModel;

/// So many models are shown at a time.
const SHOWN_MAX: usize = 12;

#[derive(Debug, Clone)]
enum ApiKey {
    /// The environment.
    Variable(&'static str),
    /// The person.
    Typed(Secret),
}

/// A provider that is being tried.
#[derive(Debug, Clone)]
pub(super) struct ProviderTrial {
    pub(super) kind: &'static ProviderInfo,
    pub(super) base_url: Option<String>,
    /// As the config is to say it.
    pub(super) api_key: Option<String>,
    pub(super) model: Option<String>,
}

impl ProviderTrial {
    /// The changes to the config that make it so; what belonged to another provider goes.
    pub(super) fn edits(&self, before: &Config) -> Vec<Edit> {
        let is_another = before.provider.as_ref().is_some_and(|provider| provider.kind != self.kind.kind);
        let mut edits = Vec::new();
        if is_another {
            let theirs = ["provider.models.fast", "provider.models.smart", "provider.models.others", "provider.effort"];
            edits.extend(theirs.map(Edit::unset));
        }
        edits.push(Edit::set_value("provider.kind", self.kind.name));
        let mut put = |key, value: &Option<String>| match value {
            Some(value) => edits.push(Edit::set_value(key, value.as_str())),
            None => edits.push(Edit::unset(key)),
        };
        put("provider.api_key", &self.api_key);
        put("provider.base_url", &self.base_url);
        put("provider.models.primary", &self.model);
        edits
    }
}

/// Asks until there is a model, and writes it down.
pub(super) fn choose(setup: &mut SetupContext<'_>) -> Result<(), SetupError> {
    loop {
        let kind = choose_kind(setup)?;
        let mut wanted = ProviderTrial { kind, base_url: setup.given.base_url.clone(), api_key: None, model: None };
        if kind.kind == ProviderKind::Offline {
            wanted.base_url = None;
            setup.save(&wanted.edits(&setup.draft.config.clone()))?;
            setup.tell("The built-in model answers. `hob init` connects another one at any time.");
            return Ok(());
        }
        if kind.keys.is_none() && wanted.base_url.is_none() {
            let usual = kind.preset().and_then(|preset| preset.base_url);
            let Some(address) = asker::text(setup.asker, "Its address", usual)? else { continue };
            wanted.base_url = Some(address).filter(|url| Some(url.as_str()) != usual);
        }
        let Some(key) = ask_key(setup, &wanted)? else { continue };
        let Some((key, offered)) = list_models(setup, &mut wanted, key)? else { continue };
        let Some(model) = choose_model(setup, kind, offered)? else { continue };
        wanted.model = Some(model);
        wanted.api_key = match &key {
            None => None,
            Some(ApiKey::Variable(variable)) => {
                let secret = Secret::new(setup.draft.env.text(variable).unwrap_or_default().to_owned());
                Some(keep_key(setup, kind, &secret)?)
            }
            Some(ApiKey::Typed(secret)) => Some(keep_key(setup, kind, secret)?),
        };
        let edits = wanted.edits(&setup.draft.config);
        setup.save(&edits)?;
        setup.tell(&format!("Saved in {}.", setup.draft.path.display()));
        return Ok(());
    }
}

fn choose_kind(setup: &mut SetupContext<'_>) -> Result<&'static ProviderInfo, SetupError> {
    setup.tell("\nWho is to think for Hob? Looking for what is here already …");
    let ollama = setup.environment.ollama()?;
    let env = setup.draft.env.clone();
    let found = |kind: &ProviderInfo| match kind.kind {
        ProviderKind::Ollama => ollama.as_ref().map(|model| format!("it answers, with {model}")),
        _ => kind.variable().filter(|variable| env.text(variable).is_some()).map(|name| format!("{name} is set")),
    };
    let (mut here, mut others): (Vec<&ProviderInfo>, Vec<&ProviderInfo>) =
        KINDS.iter().partition(|kind| found(kind).is_some());
    here.append(&mut others);
    let line = |kind: &&ProviderInfo| match found(kind) {
        Some(found) => format!("{} ({found})", kind.title),
        None => kind.title.to_owned(),
    };
    let lines: Vec<String> = here.iter().map(line).collect();
    let now = setup.draft.config.provider.as_ref().map(|provider| provider.kind);
    let wished = setup.given.provider.as_deref().and_then(ProviderInfo::named).map(|kind| kind.kind).or(now);
    let usual = here.iter().position(|kind| Some(kind.kind) == wished).unwrap_or(0);
    let chosen = asker::choose(setup.asker, "Which one?", &lines, usual)?;
    // `KINDS` has the same ones, for as long as the program runs.
    let name = here.get(chosen).map(|kind| kind.name).unwrap_or_default();
    Ok(ProviderInfo::named(name).unwrap_or(&KINDS[0]))
}

/// The key; none inside: it needs none. None outside: another provider.
fn ask_key(setup: &mut SetupContext<'_>, wanted: &ProviderTrial) -> Result<Option<Option<ApiKey>>, SetupError> {
    let kind = wanted.kind;
    let Some(variable) = kind.variable() else {
        if kind.kind != ProviderKind::OpenaiCompatible {
            return Ok(Some(None));
        }
        return Ok(match setup.choose("Does it want a key?", &["no", "yes", "back"], 0)? {
            0 => Some(None),
            1 => type_key(setup)?.map(Some),
            _ => None,
        });
    };
    if setup.draft.env.text(variable).is_some() {
        let options = [&format!("the one in {variable}"), "another one", "back"];
        match setup.choose("Which key?", &options, 0)? {
            0 => return Ok(Some(Some(ApiKey::Variable(variable)))),
            1 => {}
            _ => return Ok(None),
        }
    } else if let Some(keys) = kind.keys {
        setup.tell(&format!("\n{} gives you a key at {keys}", kind.title));
    }
    Ok(type_key(setup)?.map(Some))
}

/// None: back.
fn type_key(setup: &mut SetupContext<'_>) -> Result<Option<ApiKey>, SetupError> {
    Ok(asker::secret(setup.asker, "The key")?.map(ApiKey::Typed))
}

/// A provider's models, and the key that it was asked with.
type ListedModels = (Option<ApiKey>, Vec<OfferedModel>);

/// What the provider offers, asked with this key or a better one. None: another provider.
fn list_models(
    setup: &mut SetupContext<'_>,
    wanted: &mut ProviderTrial,
    key: Option<ApiKey>,
) -> Result<Option<ListedModels>, SetupError> {
    let mut key = key;
    loop {
        wanted.api_key = key.as_ref().map(|key| match key {
            ApiKey::Variable(variable) => format!("${{{variable}}}"),
            ApiKey::Typed(secret) => secret.expose().to_owned(),
        });
        setup.tell("Asking for its models …");
        let trouble = match setup.draft.with(&wanted.edits(&setup.draft.config)) {
            Ok(draft) => match setup.environment.offered(&draft)? {
                Ok(offered) => return Ok(Some((key, offered.unwrap_or_default()))),
                Err(trouble) => trouble,
            },
            Err(error) => SetupTrouble { why: error.to_string(), of_key: true },
        };
        setup.tell(&format!("That does not work: {}", trouble.why));
        let needs_key = key.is_some();
        let again = if needs_key { "enter the key again" } else { "enter the address again" };
        let usual = usize::from(!trouble.of_key);
        match setup.choose(
            "What now?",
            &[again, "try the same again", "another provider", "go on all the same"],
            usual,
        )? {
            0 if needs_key => match type_key(setup)? {
                Some(typed) => key = Some(typed),
                None => return Ok(None),
            },
            0 => {
                let usual = wanted.kind.preset().and_then(|preset| preset.base_url);
                wanted.base_url = asker::text(setup.asker, "Its address", usual)?.or(wanted.base_url.take());
            }
            1 => {}
            2 => return Ok(None),
            _ => return Ok(Some((key, Vec::new()))),
        }
    }
}

fn keep_key(setup: &mut SetupContext<'_>, kind: &ProviderInfo, secret: &Secret) -> Result<String, SetupError> {
    let variable = kind.variable().unwrap_or("HOB_MODEL_KEY");
    let file = format!("{}-key", kind.name.replace('_', "-"));
    secret_place::ask(setup, "the key", &NamedSecret { variable, file: &file, secret })
}

/// A model that can be chosen.
struct ModelChoice {
    name: String,
    told: String,
}

/// Asks which model; none: back.
fn choose_model(
    setup: &mut SetupContext<'_>,
    kind: &ProviderInfo,
    offered: Vec<OfferedModel>,
) -> Result<Option<String>, SetupError> {
    let usual = setup.given.model.clone().or_else(|| kind.preset()?.model.map(str::to_owned));
    if offered.is_empty() {
        setup.tell("It does not say which models it has.");
        return asker::text(setup.asker, "The model's name", usual.as_deref());
    }
    let table = ModelTable::new(&setup.draft.config.models).map_err(anyhow::Error::from)?;
    let all = ranked(kind, offered, &table, usual.as_deref());
    let mut part = String::new();
    loop {
        let fitting: Vec<&ModelChoice> =
            all.iter().filter(|choice| choice.name.to_lowercase().contains(&part)).collect();
        let shown: Vec<String> = fitting.iter().take(SHOWN_MAX).map(|choice| choice.told.clone()).collect();
        setup.tell(&format!("\nWhich model? It has {}.", all.len()));
        setup.tell(&numbered(&shown));
        if fitting.len() > shown.len() {
            setup.tell("Type a number, a name, or a part of a name to see others.");
        }
        let said = setup.asker.line("Model [1]: ")?;
        let chosen = if said.is_empty() { Some(0) } else { number(&said, shown.len()) };
        if let Some(choice) = chosen.and_then(|index| fitting.get(index)) {
            return Ok(Some(choice.name.clone()));
        }
        if let Some(choice) = all.iter().find(|choice| choice.name == said) {
            return Ok(Some(choice.name.clone()));
        }
        let said = said.to_lowercase();
        if all.iter().any(|choice| choice.name.to_lowercase().contains(&said)) {
            part = said;
        } else {
            setup.tell(&format!("It has no model with {said} in its name."));
        }
    }
}

/// What may be wanted first: the usual one, then those whose price is known, then the rest by name.
fn ranked(
    kind: &ProviderInfo,
    offered: Vec<OfferedModel>,
    table: &ModelTable,
    usual: Option<&str>,
) -> Vec<ModelChoice> {
    let mut all: Vec<(u8, ModelChoice)> = offered
        .into_iter()
        .map(|model| {
            let facts = table.facts(&label_of(kind.kind, &model.name));
            let is_usual = Some(model.name.as_str()) == usual;
            let rank = if is_usual { 0 } else { 1 + u8::from(facts.source == PriceSource::Unknown) };
            let told = described(&model, &facts, is_usual);
            (rank, ModelChoice { name: model.name, told })
        })
        .collect();
    all.sort_by(|(rank, one), (other, two)| rank.cmp(other).then_with(|| one.name.cmp(&two.name)));
    all.into_iter().map(|(_, choice)| choice).collect()
}

/// A model in a line: its name, its window, its price.
fn described(model: &OfferedModel, facts: &ModelFacts, is_usual: bool) -> String {
    let mut told = vec![if is_usual { format!("{} (usual)", model.name) } else { model.name.clone() }];
    if let Some(tokens) = model.context_tokens.or(facts.context_tokens) {
        told.push(if tokens >= 1000 { format!("{}k tokens", tokens / 1000) } else { format!("{tokens} tokens") });
    }
    match (&facts.source, &facts.rates) {
        (PriceSource::Own, _) => told.push("free".to_owned()),
        (_, Some(Rates { input, output, .. })) => {
            told.push(format!("{} read, {} written a million", input.per_million(), output.per_million()));
        }
        (_, None) => told.push("price unknown".to_owned()),
    }
    told.join(", ")
}

/// What a config calls its model, to know whether it is still the one that has answered.
pub(super) fn fingerprint(config: &Config) -> Option<String> {
    let provider = config.provider.as_ref()?;
    let kind = ProviderInfo::of(provider.kind).map_or("", |kind| kind.name);
    let model = provider.models.primary.as_deref().unwrap_or("usual");
    let at = provider.base_url.as_deref().map(|url| format!(" at {url}")).unwrap_or_default();
    Some(format!("{kind}/{model}{at}"))
}

/// Asks the model one real question; what goes wrong can be mended at once.
pub(super) fn prove(setup: &mut SetupContext<'_>) -> Result<(), SetupError> {
    loop {
        setup.tell("\nNow a real question, which needs a tool. A model on your own machine may take a minute.");
        let why = match setup.environment.turn(&setup.draft.clone())? {
            Ok(turn) if turn.tools.is_empty() => {
                setup.tell(&turn_text(&turn));
                "it called no tool. Hob works by tools: take a larger model, or one that is made for tools.".to_owned()
            }
            Ok(turn) => {
                setup.tell(&turn_text(&turn));
                setup.progress.answered = fingerprint(&setup.draft.config);
                setup.progress.skipped.remove("turn");
                return setup.keep_progress();
            }
            Err(trouble) => trouble.why,
        };
        setup.tell(&format!("That did not work: {why}"));
        match setup.choose("What now?", &["try again", "choose another model", "go on all the same"], 1)? {
            0 => {}
            1 => choose(setup)?,
            _ => {
                setup.progress.skipped.insert("turn".to_owned());
                return setup.keep_progress();
            }
        }
    }
}

/// How the turn went.
pub(super) fn turn_text(turn: &TrialTurn) -> String {
    let tools = if turn.tools.is_empty() { "no tool".to_owned() } else { turn.tools.join(", ") };
    let cost = turn.cost.map_or_else(|| "at an unknown price".to_owned(), |cost| format!("for {cost}"));
    format!(
        "  You: {}\n  Hob: {}\n  ({} called {tools}; {:.1} s, {cost})",
        turn.asked,
        turn.said.replace('\n', " "),
        turn.model,
        turn.took.as_secs_f64()
    )
}

/// Whether this draft's model has answered.
pub(super) fn has_answered(draft: &ConfigDraft, answered: Option<&str>) -> bool {
    answered.is_some() && fingerprint(&draft.config).as_deref() == answered
}
