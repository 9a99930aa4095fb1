//! The JSON schema says what the loader says, as far as a schema can.

use std::path::Path;

use serde_json::Value as Json;

use crate::example::example;
use crate::schema::schema;

fn is_valid(text: &str) -> bool {
    let schema: Json = serde_json::from_str(&schema()).unwrap();
    let document: toml::Table = text.parse().unwrap();
    jsonschema::draft202012::new(&schema).unwrap().is_valid(&serde_json::to_value(document).unwrap())
}

#[test]
fn n7_the_schema_is_one_and_has_docs_defaults_and_limits() {
    let schema: Json = serde_json::from_str(&schema()).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let key = &schema["properties"]["agent"]["properties"]["iterations_max"];
    assert!(key["description"].as_str().unwrap().len() > 10);
    assert_eq!((&key["default"], &key["minimum"], &key["maximum"]), (&10.into(), &1.into(), &1000.into()));
    let text = schema.to_string();
    for word in ["x-order", "x-secret", "x-goes", "x-name", "\"null\"", "\"format\"", "$ref"] {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn n7_the_schema_takes_the_example_and_all_of_it() {
    assert!(is_valid(&example()));
    let on = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    let all: String = example().lines().map(on).collect();
    let schema: Json = serde_json::from_str(&schema()).unwrap();
    let document = serde_json::to_value(all.parse::<toml::Table>().unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn n7_the_schema_and_the_loader_agree() {
    for (text, expected) in [
        ("", true),
        ("[agent]\niterations_max = 7", true),
        ("[agent]\nqueue_mode = 'steer'", true),
        ("[telegram]\nbot_token = '1:a'\nallowed_user_ids = [1]", true),
        ("[provider]\nkind = '${KIND}'", true),
        ("[provider]\nkind = 'openai'\napi_key = '${KEY}'\ntemperature = 1", true),
        (
            "[server]\nlisten = '127.0.0.1:1'\n[webhooks.x]\nsecret = 'sixteen-or-more-x'\nprompt = 'x'\n[telegram]\nbot_token = '1:a'",
            true,
        ),
        ("[agent]\niterations_max = 0", false),
        ("[agent]\niterations_max = 'many'", false),
        ("[agent]\niteration_max = 7", false),
        ("[agent]\nqueue_mode = 'stear'", false),
        ("[agnet]", false),
        ("[telegram]\nallowed_user_ids = [1]", false),
        ("[telegram]\nbot_token = 1", false),
        ("[telegram]\nbot_token = ''", false),
        ("[provider]\nkind = 'opnai'", false),
        ("[provider]\nkind = 'openai'\ntemperature = 3", false),
        (
            "[server]\nlisten = '127.0.0.1:1'\n[webhooks.x]\nsecret = 'short'\nprompt = 'x'\n[telegram]\nbot_token = '1:a'",
            false,
        ),
    ] {
        assert_eq!(is_valid(text), expected, "schema: {text}");
        let env = crate::environment::Environment::of("/w", [("KEY", "k"), ("KIND", "offline")]);
        let loads = crate::load::parse(Path::new("config.toml"), text, &env);
        assert_eq!(loads.is_ok(), expected, "loader: {text}: {loads:?}");
    }
    // Shorter than the secret may be, but it stands elsewhere.
    assert!(is_valid("[webhooks.x]\nsecret = 'file:/x'\nprompt = 'x'"));
    assert!(!is_valid("[webhooks.x]\nsecret = 'sixteen-or-more-x'\nprompt = 'file:/x'\nheader = 1"));
}
