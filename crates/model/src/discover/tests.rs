use std::collections::BTreeMap;

use super::*;
use crate::model_table::ModelTable;
use crate::refused_parameters::NoParameterStore;

fn nowhere() -> OllamaAddress {
    OllamaAddress::parse("127.0.0.1:1").unwrap()
}

fn configured(kind: ProviderKind) -> ConfiguredModel {
    ConfiguredModel::with_defaults(kind)
}

fn environment(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> + Sync {
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    move |name| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

fn taken(configured: Option<&ConfiguredModel>, set: &[(&str, &str)]) -> ModelDiscovery {
    match decide(configured, &environment(set), &nowhere()) {
        Ok(Decision::Take(found)) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_are_looked_for_in_order() {
    let all =
        [("OPENROUTER_API_KEY", "d"), ("GEMINI_API_KEY", "c"), ("ANTHROPIC_API_KEY", "b"), ("OPENAI_API_KEY", "a")];
    let said: Vec<_> = (0..4).rev().map(|last| taken(None, &all[..=last]).to_string()).collect();
    insta::assert_snapshot!(said.join("\n"), @"
    openai/gpt-6-luna answers, as OPENAI_API_KEY is set. To change it, fill in [provider] in config.toml.
    anthropic/claude-haiku-5-5 answers, as ANTHROPIC_API_KEY is set. To change it, fill in [provider] in config.toml.
    gemini/gemini-3.8-flash answers, as GEMINI_API_KEY is set. To change it, fill in [provider] in config.toml.
    openrouter/auto answers, as OPENROUTER_API_KEY is set. To change it, fill in [provider] in config.toml.
    ");
    let found = taken(None, &[("OPENAI_API_KEY", " "), ("GEMINI_API_KEY", " k\n")]);
    let Backend::Server(ModelServer { api_key, dialect, .. }) = found.backend else { panic!("{found:?}") };
    assert_eq!((api_key, dialect), (Some(Secret::new("k".to_owned())), Dialect::Gemini));
}

fn own_kind(own: &ConfiguredModel, kind: ProviderKind) -> ConfiguredModel {
    ConfiguredModel { kind, ..own.clone() }
}

#[test]
fn every_kind_has_its_preset_and_every_key_its_place() {
    let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    for preset in PRESETS {
        assert_eq!(Preset::of(preset.kind).map(|found| found.name), Some(preset.name));
        // What is found by its key alone needs an address and a model.
        assert!(preset.key_variable.is_none() || (preset.base_url.is_some() && preset.model.is_some()), "{preset:?}");
        let Some(base_url) = preset.base_url else { continue };
        let local = base_url.starts_with("http://127.0.0.1:");
        assert!(local != base_url.starts_with("https://") && local == preset.key_variable.is_none(), "{base_url}");
    }
}

#[test]
fn what_the_owner_sets_goes_with_the_model() {
    let tuning = Tuning { temperature: Some(0.3), ..Tuning::default() };
    let set = ConfiguredModel { tuning, context_tokens: Some(4096), ..configured(ProviderKind::Deepseek) };
    let found = taken(Some(&set), &[("DEEPSEEK_API_KEY", "k")]);
    let Backend::Server(server) = found.backend else { panic!("{}", found.label) };
    assert_eq!((server.tuning, server.context_tokens), (tuning, Some(4096)));
    assert_eq!((server.model.as_str(), server.base_url.as_str()), ("deepseek-flash", "https://api.deepseek.com"));
}

#[test]
fn f5_openai_itself_is_spoken_to_by_responses_and_all_others_by_chat_unless_told() {
    let dialect = |kind, base_url: Option<&str>, api| {
        let base_url = base_url.map(str::to_owned);
        let set = ConfiguredModel { base_url, api, model: Some("m".to_owned()), ..configured(kind) };
        let found = taken(Some(&set), &[("OPENAI_API_KEY", "k"), ("GROQ_API_KEY", "k")]);
        let Backend::Server(server) = found.backend else { panic!("{}", found.label) };
        server.dialect == Dialect::Responses
    };
    let (own, compatible) = (ProviderKind::Openai, ProviderKind::OpenaiCompatible);
    let elsewhere = Some("http://127.0.0.1:1/v1");
    let table = [
        (own, None, None, true),
        (own, None, Some(ApiConfig::Chat), false),
        (own, elsewhere, None, false),
        (own, elsewhere, Some(ApiConfig::Responses), true),
        (compatible, elsewhere, None, false),
        (compatible, elsewhere, Some(ApiConfig::Responses), true),
        (ProviderKind::Groq, None, None, false),
    ];
    for (kind, base_url, api, expected) in table {
        assert_eq!(dialect(kind, base_url, api), expected, "{kind:?} {base_url:?} {api:?}");
    }
}

#[test]
fn the_config_comes_first() {
    let keys = [("OPENAI_API_KEY", "a"), ("ANTHROPIC_API_KEY", "b")];
    let found = taken(Some(&configured(ProviderKind::Anthropic)), &keys);
    assert_eq!((found.source, found.label.as_str()), (DiscoverySource::Config, "anthropic/claude-haiku-5-5"));
    assert!(matches!(found.backend, Backend::Server(ModelServer { api_key: Some(key), .. }) if key.expose() == "b"));
    let own = ConfiguredModel {
        base_url: Some("http://10.0.0.2:8000/v1".to_owned()),
        model: Some("qwen3".to_owned()),
        ..configured(ProviderKind::OpenaiCompatible)
    };
    let said = [
        taken(Some(&own), &keys),
        taken(Some(&ConfiguredModel { kind: ProviderKind::Ollama, ..own.clone() }), &keys),
        taken(Some(&configured(ProviderKind::Offline)), &keys),
        ModelDiscovery::served_by_ollama(
            &nowhere(),
            "llama3.2".to_owned(),
            DiscoverySource::Ollama,
            &configured(ProviderKind::Ollama),
        ),
        taken(Some(&ConfiguredModel { base_url: None, ..own_kind(&own, ProviderKind::LmStudio) }), &keys),
        ModelDiscovery::offline(DiscoverySource::Fallback),
    ];
    insta::assert_snapshot!(said.map(|found| found.to_string()).join("\n"), @"
    openai-compatible/qwen3 answers, as config.toml says. To change it, edit [provider] there.
    ollama/qwen3 answers, as config.toml says. To change it, edit [provider] there.
    The built-in offline model answers, as config.toml says. To change it, edit [provider] there.
    ollama/llama3.2 answers, as an Ollama was found. To change it, fill in [provider] in config.toml.
    lm-studio/qwen3 answers, as config.toml says. To change it, edit [provider] there.
    The built-in offline model answers; it knows a few sentences. To connect a model, set OPENAI_API_KEY (or ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY), or fill in [provider] in config.toml, or run Ollama on this machine; then start Hob again.
    ");
}

#[test]
fn a_config_that_lacks_something_is_not_passed_over() {
    let fails = |configured: &ConfiguredModel| decide(Some(configured), &environment(&[]), &nowhere()).unwrap_err();
    let no_model =
        ConfiguredModel { base_url: Some("http://h/v1".to_owned()), ..configured(ProviderKind::OpenaiCompatible) };
    let errors = [
        fails(&configured(ProviderKind::OpenaiCompatible)),
        fails(&no_model),
        fails(&configured(ProviderKind::Openrouter)),
        DiscoverError::NoOllama,
    ];
    insta::assert_snapshot!(errors.map(|error| error.to_string()).join("\n"), @"
    this kind of provider needs an address: set `base_url` under [provider] in config.toml
    name the model: set `primary` under [provider.models] in config.toml
    this provider needs a key: set `api_key` under [provider] in config.toml, or OPENROUTER_API_KEY in the environment
    no model can be found at the configured Ollama: start it and pull a model, or set `primary` under [provider.models] in config.toml
    ");
}

#[test]
fn ollama_is_asked_last_and_where_the_environment_says() {
    let asked = |set: &[(&str, &str)]| decide(None, &environment(set), &nowhere()).unwrap();
    let ask = |address: OllamaAddress| {
        Decision::Ask(PendingOllama {
            address,
            source: DiscoverySource::Ollama,
            configured: configured(ProviderKind::Ollama),
        })
    };
    assert_eq!(asked(&[]), ask(nowhere()));
    let there = OllamaAddress::parse("127.0.0.1:8080").unwrap();
    assert_eq!(asked(&[("OLLAMA_HOST", ":8080")]), ask(there));
}

#[tokio::test]
async fn without_anything_the_built_in_model_answers() {
    let found = discover(None, &environment(&[]), &nowhere()).await.unwrap();
    assert_eq!(found, ModelDiscovery::offline(DiscoverySource::Fallback));
    let forget: Arc<dyn RefusedParameterStore> = Arc::new(NoParameterStore);
    assert_eq!(
        found.provider(Deadlines::default(), &forget, &ModelTable::new(&BTreeMap::new()).unwrap()).unwrap().label(),
        "offline/built-in"
    );
    let ollama = configured(ProviderKind::Ollama);
    let error = discover(Some(&ollama), &environment(&[]), &nowhere()).await.unwrap_err();
    assert_eq!(error, DiscoverError::NoOllama);
}
