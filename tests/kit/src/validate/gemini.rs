//! What Gemini's generateContent takes (API reference "Generating content", `Schema`, `FunctionDeclaration`; guides
//! "Function calling", "Thought signatures"), in its words.

use serde_json::Value;

use super::{base64, content as content_of, ensure, list, text, twice, unknown, word};

const FIELDS: &[&str] =
    &["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent"];
/// Of a part, exactly one of these is set.
const DATA: &[&str] = &["text", "inlineData", "functionCall", "functionResponse"];
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
/// The longest picture: 20 MB are the most for all of a request.
const IMAGE_CHARS_MAX: usize = 20 << 20;
/// What of JSON Schema (in truth OpenAPI 3.0) `parameters` may use.
const SCHEMA: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "minimum",
    "maximum",
];
const TYPES: &[&str] = &["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];
const NAME_LEN_MAX: usize = 64;

/// What is wrong with the body.
pub fn request(body: &Value) -> Result<(), String> {
    let fields = body.as_object().ok_or("Invalid JSON payload received.")?;
    if let Some(field) = unknown(fields, FIELDS) {
        return Err(format!("Invalid JSON payload received. Unknown name {field:?}: Cannot find field."));
    }
    if let Some(system) = fields.get("systemInstruction") {
        let says = list(system, "parts").iter().all(|part| !text(part, "text").trim().is_empty());
        ensure(says && !list(system, "parts").is_empty(), || "system_instruction.parts must not be empty.".into())?;
    }
    let contents = list(body, "contents");
    ensure(!contents.is_empty(), || "* GenerateContentRequest.contents: contents is not specified".into())?;
    for (at, content) in contents.iter().enumerate() {
        let place = format!("* GenerateContentRequest.contents[{at}]");
        ensure(matches!(text(content, "role"), "user" | "model"), || "Please use a valid role: user, model.".into())?;
        let parts = list(content, "parts");
        ensure(!parts.is_empty(), || format!("{place}.parts: contents.parts must not be empty."))?;
        for (index, part) in parts.iter().enumerate() {
            self::part(part, text(content, "role")).map_err(|why| format!("{place}.parts[{index}]: {why}"))?;
        }
    }
    turns(contents)?;
    let names = tools(list(body, "tools"))?;
    choice(&body["toolConfig"]["functionCallingConfig"], &names)?;
    let thinking = &body["generationConfig"]["thinkingConfig"];
    ensure(thinking["thinkingBudget"].is_null() || thinking["thinkingLevel"].is_null(), || {
        "You can only set one of thinking budget and thinking level.".into()
    })
}

/// The same, of the model that the address names: Gemini 3 wants the calls of the current turn signed.
pub fn request_for(model: &str, body: &Value) -> Result<(), String> {
    request(body)?;
    if !model.trim_start_matches("models/").starts_with("gemini-3") {
        return Ok(());
    }
    let contents = list(body, "contents");
    let speaks = |content: &Value| {
        content["role"] == "user" && list(content, "parts").iter().any(|part| part["functionResponse"].is_null())
    };
    let start = contents.iter().rposition(speaks).unwrap_or(0);
    for (at, content) in contents.iter().enumerate().skip(start) {
        let Some(call) = list(content, "parts").iter().find(|part| !part["functionCall"].is_null()) else { continue };
        ensure(!text(call, "thoughtSignature").is_empty(), || {
            let name = text(&call["functionCall"], "name");
            format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
                 correctly, and missing thought_signature may lead to degraded model performance. Additional data, function \
                 call `default_api:{name}`, position {}.",
                at + 1
            )
        })?;
    }
    Ok(())
}

fn part(part: &Value, role: &str) -> Result<(), String> {
    let fields = part.as_object().ok_or("must be an object")?;
    let data: Vec<&str> = DATA.iter().copied().filter(|data| fields.contains_key(*data)).collect();
    let known = [DATA, &["thought", "thoughtSignature"]].concat();
    if let Some(field) = unknown(fields, &known) {
        return Err(format!("Unknown name {field:?}: Cannot find field."));
    }
    let [data] = data.as_slice() else {
        return Err("required oneof field 'data' must have one initialized field".into());
    };
    let value = &part[*data];
    match *data {
        // Streams end in a signature on no words at all, and so it goes back.
        "text" => {
            let signed = !text(part, "thoughtSignature").is_empty();
            let says = value.as_str().is_some_and(|text| !text.trim().is_empty());
            ensure(says || signed, || "Unable to submit request because it must have a text parameter.".into())
        }
        "inlineData" => {
            let kind = text(value, "mimeType");
            ensure(IMAGES.contains(&kind), || format!("Unsupported MIME type: {kind}"))?;
            let data = text(value, "data");
            ensure(base64(data), || "Base64 decoding failed".into())?;
            let is = content_of(data).is_some_and(|is| is == kind || kind.starts_with("image/hei"));
            ensure(is && data.len() <= IMAGE_CHARS_MAX, || "Unable to process input image.".into())
        }
        data => {
            let (by, content) = if data == "functionCall" { ("model", "args") } else { ("user", "response") };
            ensure(role == by, || format!("Please ensure that {data} parts are of role {by}."))?;
            ensure(name(text(value, "name")), || format!("{data}.name: Invalid function name."))?;
            let fits = value[content].is_object() || (content == "args" && value[content].is_null());
            ensure(fits, || format!("{data}.{content}: must be a Struct"))
        }
    }
}

fn turns(contents: &[Value]) -> Result<(), String> {
    let mut before = "";
    let mut calls: Vec<(&str, &str)> = Vec::new();
    for content in contents {
        let role = text(content, "role");
        let named = |field: &str| -> Vec<(&str, &str)> {
            let parts = list(content, "parts").iter().map(|part| &part[field]);
            parts.filter(|data| !data.is_null()).map(|data| (text(data, "name"), text(data, "id"))).collect()
        };
        let (called, answered) = (named("functionCall"), named("functionResponse"));
        ensure(called.is_empty() || before == "user", || {
            "Please ensure that function call turn comes immediately after a user turn or after a function response turn.".into()
        })?;
        ensure(answered.is_empty() || !calls.is_empty(), || {
            "Please ensure that function response turn comes immediately after a function call turn.".into()
        })?;
        ensure(role != before && !(before.is_empty() && role == "model"), || {
            "Please ensure that multiturn requests alternate between user and model.".into()
        })?;
        ensure(answered.len() == calls.len(), || {
            "Please ensure that the number of function response parts is equal to the number of function call parts of the \
             function call turn."
                .into()
        })?;
        ensure(answered == calls, || format!("function responses {answered:?} do not match the calls {calls:?}"))?;
        let leading = list(content, "parts").iter().take_while(|part| !part["functionResponse"].is_null()).count();
        ensure(leading == answered.len(), || "function response parts come first".into())?;
        (before, calls) = (role, called);
    }
    ensure(before == "user", || "Please ensure that multiturn requests end with a user role.".into())
}

fn name(name: &str) -> bool {
    word(name, NAME_LEN_MAX) && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

fn tools(tools: &[Value]) -> Result<Vec<&str>, String> {
    let mut names = Vec::new();
    for (at, function) in tools.iter().flat_map(|tool| list(tool, "functionDeclarations")).enumerate() {
        let place = format!("tools[0].function_declarations[{at}]");
        ensure(name(text(function, "name")), || {
            format!(
                "* GenerateContentRequest.{place}.name: Invalid function name. Must start with a letter or an underscore. Must \
                 be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length \
                 of 64."
            )
        })?;
        names.push(text(function, "name"));
        if !function["parameters"].is_null() {
            ensure(text(&function["parameters"], "type").eq_ignore_ascii_case("object"), || {
                format!("* GenerateContentRequest.{place}.parameters: schema should be of type OBJECT.")
            })?;
            schema(&function["parameters"], &format!("{place}.parameters"))?;
        }
    }
    match twice(names.iter().copied()) {
        Some(name) => Err(format!("Duplicate function declaration found: {name}")),
        None => Ok(names),
    }
}

fn schema(schema: &Value, place: &str) -> Result<(), String> {
    let fields = schema.as_object().ok_or_else(|| format!("Invalid value at '{place}'"))?;
    if let Some(field) = unknown(fields, SCHEMA) {
        return Err(format!("Invalid JSON payload received. Unknown name {field:?} at '{place}': Cannot find field."));
    }
    let whole = || format!("* GenerateContentRequest.{place}");
    let kind = text(schema, "type").to_ascii_uppercase();
    ensure(TYPES.contains(&kind.as_str()) || !schema["anyOf"].is_null(), || {
        format!("Invalid value at '{place}.type'")
    })?;
    ensure(schema["enum"].is_null() || kind == "STRING", || format!("{}.enum: only allowed for STRING type", whole()))?;
    ensure(list(schema, "enum").iter().all(|value| value.as_str().is_some_and(|value| !value.is_empty())), || {
        format!("{}.enum: cannot be empty", whole())
    })?;
    ensure(kind != "ARRAY" || schema["items"].is_object(), || format!("{}.items: missing field.", whole()))?;
    let properties = schema["properties"].as_object();
    ensure(kind != "OBJECT" || properties.is_some_and(|properties| !properties.is_empty()), || {
        format!("{}.properties: should be non-empty for OBJECT type", whole())
    })?;
    for required in list(schema, "required") {
        let defined =
            properties.is_some_and(|properties| required.as_str().is_some_and(|name| properties.contains_key(name)));
        ensure(defined, || format!("{}.required: property is not defined", whole()))?;
    }
    let inner = properties.into_iter().flatten().map(|(name, value)| (format!("{place}.properties[{name}]"), value));
    let items = Some(&schema["items"]).filter(|items| !items.is_null()).map(|items| (format!("{place}.items"), items));
    let any = list(schema, "anyOf").iter().map(|value| (format!("{place}.any_of"), value));
    inner.chain(items).chain(any).try_for_each(|(place, value)| self::schema(value, &place))
}

fn choice(config: &Value, names: &[&str]) -> Result<(), String> {
    let mode = text(config, "mode");
    ensure(config.is_null() || matches!(mode, "AUTO" | "ANY" | "NONE" | "VALIDATED"), || {
        format!("Invalid value at 'tool_config.function_calling_config.mode': {mode:?}")
    })?;
    ensure(!matches!(mode, "ANY" | "VALIDATED") || !names.is_empty(), || {
        "Function calling config is set without function_declarations.".into()
    })?;
    let allowed = list(config, "allowedFunctionNames");
    ensure(allowed.is_empty() || matches!(mode, "ANY" | "VALIDATED"), || {
        "Allowed function names should only be set when the function calling mode is ANY or VALIDATED.".into()
    })?;
    let offered = |name: &&Value| name.as_str().is_none_or(|name| !names.contains(&name));
    let unknown = allowed.iter().find(offered);
    unknown.map_or(Ok(()), |name| Err(format!("allowed_function_names: {name} is not declared")))
}
