//! What Google refuses about a request, in Google's words where they are known. Where models differ, the strictest
//! counts: what passes here, all take.

use serde_json::{Map, Value};

/// What Google documents for calls whose signature is not at hand.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";
const NAME_LEN_MAX: usize = 64;
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
    let known = ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"];
    let body = fields(body, &known, "request")?;
    if let Some(system) = body.get("systemInstruction") {
        ensure(text_of(&system["parts"][0]).is_some_and(|text| !text.trim().is_empty()), || {
            "systemInstruction must have one of: text".into()
        })?;
    }
    let names = body.get("tools").map_or(Ok(Vec::new()), tools)?;
    body.get("toolConfig").map_or(Ok(()), |config| tool_config(config, &names))?;
    body.get("generationConfig").map_or(Ok(()), |config| generation_config(config, model))?;
    let contents = body.get("contents").and_then(Value::as_array).ok_or("contents is not specified")?;
    self::contents(contents, model.starts_with("gemini-3"), signatures)
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

fn contents(contents: &[Value], signed: bool, signatures: &[String]) -> Result<(), String> {
    ensure(contents.first().is_some_and(|first| first["role"] == "user"), || {
        "Please ensure that the conversation starts with a user turn.".into()
    })?;
    let mut calls: Vec<&Value> = Vec::new();
    let mut before = "";
    for content in contents {
        let fields = fields(content, &["role", "parts"], "contents[]")?;
        let parts = fields.get("parts").and_then(Value::as_array).filter(|parts| !parts.is_empty());
        let parts = parts.ok_or("contents.parts must not be empty.")?;
        let role = fields.get("role").and_then(Value::as_str).unwrap_or_default();
        ensure(matches!(role, "user" | "model"), || "Please use a valid role: user, model.".into())?;
        ensure(role != before, || "Please ensure that roles alternate.".into())?;
        for part in parts {
            self::part(part, role, signatures)?;
        }
        let responses = of_kind(parts, "functionResponse");
        let leading = parts.iter().take_while(|part| part.get("functionResponse").is_some()).count();
        ensure(leading == responses.len(), || "Please ensure that function responses come first.".into())?;
        answers(&calls, &responses)?;
        calls = of_kind(parts, "functionCall");
        let first = parts.iter().find(|part| part.get("functionCall").is_some());
        ensure(!signed || first.is_none_or(|part| part.get("thoughtSignature").is_some()), || {
            "Function call is missing a thought_signature in functionCall parts.".into()
        })?;
        before = role;
    }
    ensure(before == "user", || "Please ensure that the conversation ends with a user turn.".into())
}

fn of_kind<'a>(parts: &'a [Value], kind: &str) -> Vec<&'a Value> {
    parts.iter().filter_map(|part| part.get(kind)).collect()
}

/// Each call has its response, in their order, under its name and id.
fn answers(calls: &[&Value], responses: &[&Value]) -> Result<(), String> {
    ensure(calls.len() == responses.len(), || {
        "Please ensure that the number of function response parts is equal to the number of function call parts of the \
         function call turn."
            .into()
    })?;
    let matches = calls
        .iter()
        .zip(responses)
        .all(|(call, response)| call["name"] == response["name"] && call.get("id") == response.get("id"));
    ensure(matches, || "Please ensure that function response turn comes immediately after a function call turn.".into())
}

fn part(part: &Value, role: &str, signatures: &[String]) -> Result<(), String> {
    let known = ["text", "inlineData", "functionCall", "functionResponse", "thoughtSignature"];
    let fields = fields(part, &known, "parts[]")?;
    let signature = fields.get("thoughtSignature").and_then(Value::as_str);
    let known = signature.is_none_or(|one| one == NO_SIGNATURE || signatures.iter().any(|known| known == one));
    ensure(known && (signature.is_none() || role == "model"), || "Corrupted thought signature.".into())?;
    let data: Vec<_> = fields.iter().filter(|(name, _)| *name != "thoughtSignature").collect();
    let [(kind, data)] = data.as_slice() else {
        return Err("contents.parts must have one initialized field 'data'.".into());
    };
    match (kind.as_str(), role) {
        ("text", _) => {
            let text = data.as_str().unwrap_or_default();
            ensure(!text.trim().is_empty() || signature.is_some(), || "it must have a text parameter".into())
        }
        ("inlineData", "user") => inline_data(data),
        ("functionCall", "model") => call(data, "args"),
        ("functionResponse", "user") => call(data, "response"),
        (kind, role) => Err(format!("{kind} is not allowed for the role {role}.")),
    }
}

fn call(data: &Value, object: &str) -> Result<(), String> {
    let fields = fields(data, &["id", "name", object], "parts[]")?;
    name(fields)?;
    ensure(fields.get(object).is_some_and(Value::is_object), || format!("{object} must be a Struct"))?;
    ensure(fields.get("id").is_none_or(|id| id.as_str().is_some_and(|id| !id.is_empty())), || "an empty id".into())
}

fn inline_data(data: &Value) -> Result<(), String> {
    let fields = fields(data, &["mimeType", "data"], "inlineData")?;
    let kind = fields.get("mimeType").and_then(Value::as_str).unwrap_or_default();
    ensure(matches!(kind, "image/png" | "image/jpeg" | "image/webp" | "image/heic" | "image/heif"), || {
        format!("Unsupported MIME type: {kind}")
    })?;
    let base64 = fields.get("data").and_then(Value::as_str).unwrap_or_default();
    let fits = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=');
    ensure(!base64.is_empty() && base64.len() % 4 == 0 && base64.bytes().all(fits), || "Base64 decoding failed.".into())
}

/// The names on offer.
fn tools(tools: &Value) -> Result<Vec<&str>, String> {
    let mut names = Vec::new();
    for declaration in tools[0]["functionDeclarations"].as_array().ok_or("tools[] must have one of its fields")? {
        let known = ["name", "description", "parametersJsonSchema"];
        let fields = fields(declaration, &known, "function_declarations[]")?;
        let name = name(fields)?;
        ensure(!names.contains(&name), || format!("Duplicate function declaration found: {name}"))?;
        ensure(fields.get("description").is_some_and(Value::is_string), || "a function without description".into())?;
        let schema = fields.get("parametersJsonSchema").ok_or("a function without parameters")?;
        ensure(schema["type"] == "object", || format!("functionDeclaration `{name}`: schema must be an object."))?;
        self::schema(schema)?;
        names.push(name);
    }
    ensure(!names.is_empty() && tools.as_array().is_some_and(|tools| tools.len() == 1), || "empty tools".into())?;
    Ok(names)
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

fn tool_config(config: &Value, names: &[&str]) -> Result<(), String> {
    ensure(!names.is_empty(), || "Function calling config is set without function_declarations.".into())?;
    let known = ["mode", "allowedFunctionNames"];
    let fields = fields(&config["functionCallingConfig"], &known, "function_calling_config")?;
    let mode = fields.get("mode").and_then(Value::as_str).unwrap_or_default();
    ensure(matches!(mode, "AUTO" | "ANY" | "NONE"), || format!("Invalid value at mode: {mode:?}"))?;
    let Some(allowed) = fields.get("allowedFunctionNames") else { return Ok(()) };
    ensure(mode == "ANY", || "allowed_function_names should only be set when the mode is ANY.".into())?;
    let known = allowed
        .as_array()
        .is_some_and(|all| all.iter().all(|name| name.as_str().is_some_and(|name| names.contains(&name))));
    ensure(known, || "Allowed function names are not a subset of the declarations.".into())
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

fn name(fields: &Map<String, Value>) -> Result<&str, String> {
    let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'));
    ensure(begins && fits && name.len() <= NAME_LEN_MAX, || {
        format!("Invalid function name {name:?}. Must start with a letter or an underscore.")
    })?;
    Ok(name)
}

fn text_of(part: &Value) -> Option<&str> {
    part["text"].as_str()
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
