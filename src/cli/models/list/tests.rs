//! What a person reads.

use super::*;
use hob_model::error::ErrorClass;

fn shown(label: &str, reach: Reachability) -> String {
    let config: Config = toml::from_str("aliases = { quick = 'openai/gpt-6.1-sol' }").unwrap();
    let table = ModelTable::new(&config.models).unwrap();
    ModelRow { reach, ..row("primary", label, &config, &table) }.to_string()
}

#[test]
fn a_model_is_a_few_lines() {
    let down = Reachability::Unreachable { why: "connection refused".to_owned() };
    let rows = [
        shown("openai/gpt-6.1-sol", Reachability::Reachable),
        shown("mistral/mistral-medium-3.5", Reachability::NotListed),
        shown("ollama/qwen3", down),
        shown("openai-compatible/own", Reachability::Untold),
        shown("offline/built-in", Reachability::BuiltIn),
    ];
    insta::assert_snapshot!(rows.join("\n"), @r#"
    primary: openai/gpt-6.1-sol (also quick)
      reachable: the server has the model
      a window of 1,050,000 tokens, at most 128,000 of them written, sees pictures
      per million tokens $2.00 read, $0.10 read from cache, $10.00 written; more for calls that read over 272,000 (list price of 2026-10-27)

    primary: mistral/mistral-medium-3.5
      NOT USABLE: the server answers, but its list does not have the model
      a window of 262,144 tokens, sees pictures
      per million tokens $1.50 read, $1.50 read from cache, $7.50 written (list price of 2026-10-06)

    primary: ollama/qwen3
      NOT REACHABLE: connection refused
      a window of unknown size
      costs nothing: it runs on your own machine

    primary: openai-compatible/own
      not known: the server tells nothing of its models without a call; `hob models test` makes one
      a window of unknown size
      price unknown: set it under [models."openai-compatible/own"] in config.toml

    primary: offline/built-in
      built in: needs no server
    "#);
}

#[test]
fn a_check_is_told_as_it_went() {
    let listed = |listed| Ok(ModelCheck { listed, context_tokens: None });
    let table = [
        (listed(Some(true)), Reachability::Reachable),
        (listed(Some(false)), Reachability::NotListed),
        (listed(None), Reachability::Untold),
        (Err(ModelError::new(ErrorClass::Auth, "no")), Reachability::Unreachable { why: "no".to_owned() }),
    ];
    for (answer, expected) in table {
        assert_eq!(reach(&answer), expected);
    }
}
