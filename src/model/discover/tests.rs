use super::*;

fn nowhere() -> OllamaAddress {
    OllamaAddress::parse("127.0.0.1:1").unwrap()
}

fn configured(kind: ProviderKind) -> Configured {
    Configured { kind, base_url: None, api_key: None, model: None }
}

fn environment(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> + Sync {
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    move |name| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

fn taken(configured: Option<&Configured>, set: &[(&str, &str)]) -> Found {
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
    openai/gpt-5-mini answers, as OPENAI_API_KEY is set. To change it, fill in [provider] in config.toml.
    anthropic/claude-haiku-4-5 answers, as ANTHROPIC_API_KEY is set. To change it, fill in [provider] in config.toml.
    gemini/gemini-2.5-flash answers, as GEMINI_API_KEY is set. To change it, fill in [provider] in config.toml.
    openrouter/auto answers, as OPENROUTER_API_KEY is set. To change it, fill in [provider] in config.toml.
    ");
    let found = taken(None, &[("OPENAI_API_KEY", " "), ("GEMINI_API_KEY", " k\n")]);
    let Backend::OpenAi { api_key, base_url, .. } = found.backend else { panic!("{found:?}") };
    assert_eq!(api_key, Some(Secret::new("k".to_owned())));
    assert_eq!(base_url, "https://generativelanguage.googleapis.com/v1beta/openai/");
}

#[test]
fn the_config_comes_first() {
    let keys = [("OPENAI_API_KEY", "a"), ("ANTHROPIC_API_KEY", "b")];
    let found = taken(Some(&configured(ProviderKind::Anthropic)), &keys);
    assert_eq!((found.source, found.label.as_str()), (Source::Config, "anthropic/claude-haiku-4-5"));
    assert!(matches!(found.backend, Backend::OpenAi { api_key: Some(key), .. } if key.expose() == "b"));
    let own = Configured {
        kind: ProviderKind::OpenAiCompatible,
        base_url: Some("http://10.0.0.2:8000/v1".to_owned()),
        api_key: None,
        model: Some("qwen3".to_owned()),
    };
    let said = [
        taken(Some(&own), &keys),
        taken(Some(&Configured { kind: ProviderKind::Ollama, ..own.clone() }), &keys),
        taken(Some(&configured(ProviderKind::Offline)), &keys),
        Found::at_ollama(&nowhere(), "llama3.2".to_owned(), Source::Ollama),
        Found::offline(Source::Fallback),
    ];
    insta::assert_snapshot!(said.map(|found| found.to_string()).join("\n"), @"
    openai-compatible/qwen3 answers, as config.toml says. To change it, edit [provider] there.
    ollama/qwen3 answers, as config.toml says. To change it, edit [provider] there.
    The built-in offline model answers, as config.toml says. To change it, edit [provider] there.
    ollama/llama3.2 answers, as an Ollama was found. To change it, fill in [provider] in config.toml.
    The built-in offline model answers; it knows a few sentences. To connect a model, set OPENAI_API_KEY (or ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY), or fill in [provider] in config.toml, or run Ollama on this machine; then start Hob again.
    ");
}

#[test]
fn a_config_that_lacks_something_is_not_passed_over() {
    let fails = |configured: &Configured| decide(Some(configured), &environment(&[]), &nowhere()).unwrap_err();
    let no_model =
        Configured { base_url: Some("http://h/v1".to_owned()), ..configured(ProviderKind::OpenAiCompatible) };
    let errors = [
        fails(&configured(ProviderKind::OpenAiCompatible)),
        fails(&no_model),
        fails(&configured(ProviderKind::OpenRouter)),
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
    assert_eq!(asked(&[]), Decision::Ask(nowhere(), Source::Ollama));
    let there = OllamaAddress::parse("127.0.0.1:8080").unwrap();
    assert_eq!(asked(&[("OLLAMA_HOST", ":8080")]), Decision::Ask(there, Source::Ollama));
}

#[tokio::test]
async fn without_anything_the_built_in_model_answers() {
    let found = discover(None, &environment(&[]), &nowhere()).await.unwrap();
    assert_eq!(found, Found::offline(Source::Fallback));
    assert_eq!(found.provider(Deadlines::default()).unwrap().label(), "offline/built-in");
    let ollama = configured(ProviderKind::Ollama);
    let error = discover(Some(&ollama), &environment(&[]), &nowhere()).await.unwrap_err();
    assert_eq!(error, DiscoverError::NoOllama);
}
