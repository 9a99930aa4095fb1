//! What Google refuses about a request besides its published rules (`validate::gemini`): what depends on the model.
//!
//! And on what the server gave out: its signatures.

use serde_json::{Map, Value};

use crate::validate::gemini;

/// What Google documents for calls whose signature is not at hand.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";
/// The words of JSON Schema that are documented.
const SCHEMA_WORDS: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "enum",
    "required",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "items",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "prefixItems",
    "properties",
];

/// What is wrong with the body; `signatures` are those that were given out.
pub fn request(body: &Value, model: &str, signatures: &[String]) -> Result<(), String> {
    gemini::request_for(model, body)?;
    body.get("tools").map_or(Ok(()), tools)?;
    ensure(body.get("toolConfig").is_none() || body.get("tools").is_some(), || {
        "Function calling config is set without function_declarations.".into()
    })?;
    body.get("generationConfig").map_or(Ok(()), |config| generation_config(config, model))?;
    let contents = body["contents"].as_array().into_iter().flatten();
    let parts = contents.flat_map(|content| content["parts"].as_array().into_iter().flatten());
    let known = |signature: &str| signature == NO_SIGNATURE || signatures.iter().any(|known| known == signature);
    let mut signed = parts.filter_map(|part| part["thoughtSignature"].as_str());
    ensure(signed.all(known), || "Corrupted thought signature.".into())
}

/// The same with its fields in camel case: Google reads either spelling, and its own client mixes them. What a tool
/// takes and answers is nobody's field.
pub fn spelled(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(spelled).collect(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let mut words = name.split('_');
                let first = words.next().unwrap_or_default().to_owned();
                let name = words.fold(first, |name, word| {
                    let (head, tail) = word.split_at(word.len().min(1));
                    name + &head.to_uppercase() + tail
                });
                let own = matches!(name.as_str(), "args" | "response" | "parametersJsonSchema");
                (name, if own { value.clone() } else { spelled(value) })
            };
            Value::Object(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

/// Hob sends the parameters as JSON Schema, of which the published rules say little.
fn tools(tools: &Value) -> Result<(), String> {
    for declaration in tools[0]["functionDeclarations"].as_array().ok_or("tools[] must have one of its fields")? {
        let known = ["name", "description", "parametersJsonSchema"];
        let fields = fields(declaration, &known, "function_declarations[]")?;
        ensure(fields.get("description").is_some_and(Value::is_string), || "a function without description".into())?;
        let schema = fields.get("parametersJsonSchema").ok_or("a function without parameters")?;
        ensure(schema["type"] == "object", || "the schema of a function must be an object.".into())?;
        self::schema(schema)?;
    }
    ensure(tools.as_array().is_some_and(|tools| tools.len() == 1), || "more than one tool".into())
}

fn schema(schema: &Value) -> Result<(), String> {
    let Value::Object(words) = schema else { return ensure(schema.is_boolean(), || "a schema is an object".into()) };
    for (word, value) in words {
        ensure(SCHEMA_WORDS.contains(&word.as_str()), || format!("Unknown name \"{word}\": Cannot find field."))?;
        match (word.as_str(), value) {
            ("properties", Value::Object(all)) => all.values().try_for_each(self::schema)?,
            ("anyOf" | "oneOf" | "prefixItems", Value::Array(all)) => all.iter().try_for_each(self::schema)?,
            ("items" | "additionalProperties", one) => self::schema(one)?,
            _ => {}
        }
    }
    Ok(())
}

fn generation_config(config: &Value, model: &str) -> Result<(), String> {
    let known = ["temperature", "maxOutputTokens", "thinkingConfig"];
    let fields = fields(config, &known, "generation_config")?;
    let fits = fields.get("temperature").is_none_or(|t| t.as_f64().is_some_and(|t| (0.0..=2.0).contains(&t)));
    ensure(fits, || "temperature must be in the range [0.0, 2.0].".into())?;
    let Some(thinking) = fields.get("thinkingConfig") else { return Ok(()) };
    let thinking = self::fields(thinking, &["includeThoughts", "thinkingBudget", "thinkingLevel"], "thinking_config")?;
    match (thinking.get("thinkingBudget"), thinking.get("thinkingLevel")) {
        (Some(_), Some(_)) => Err("You can only set only one of thinking budget and thinking level.".into()),
        (Some(budget), None) => {
            let fits = budget.as_u64().is_some_and(|budget| (512..=24_576).contains(&budget));
            ensure(model.starts_with("gemini-2.5") && fits, || "The thinking budget is invalid.".into())
        }
        (None, Some(level)) => {
            let levels: &[&str] = match model {
                model if model.starts_with("gemini-3-pro") => &["low", "high"],
                model if model.starts_with("gemini-3") => &["minimal", "low", "medium", "high"],
                _ => return Err("Thinking level is not supported for this model.".into()),
            };
            let level = level.as_str().unwrap_or_default().to_lowercase();
            ensure(levels.contains(&level.as_str()), || {
                "Thinking level is not supported for this model. Please retry with other thinking level.".into()
            })
        }
        (None, None) => Ok(()),
    }
}

fn fields<'a>(value: &'a Value, known: &[&str], at: &str) -> Result<&'a Map<String, Value>, String> {
    let fields = value.as_object().ok_or_else(|| format!("Invalid value at '{at}'."))?;
    let unknown = fields.keys().find(|key| !known.contains(&key.as_str()));
    unknown.map_or(Ok(fields), |key| {
        Err(format!("Invalid JSON payload received. Unknown name \"{key}\" at '{at}': Cannot find field."))
    })
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
