//! Each rule of the validators refuses something: a good body, one thing changed, and what is said of it.

use serde_json::{Value, json};

use hob_testkit::validate::{anthropic, gemini, ollama, openai, sample};

type Validator = fn(&Value) -> Result<(), String>;

/// The good body passes; each change of it is refused, in these words.
#[track_caller]
fn refuses(validator: Validator, good: &Value, table: &[(&str, Value, &str)]) {
    assert_eq!(validator(good), Ok(()));
    for (at, value, why) in table {
        let mut body = good.clone();
        set(&mut body, at, value.clone());
        let said = validator(&body).err().unwrap_or_else(|| panic!("{at} = {value} is taken"));
        assert!(said.contains(why), "{at} = {value}: {said}");
    }
}

#[track_caller]
fn takes(validator: Validator, good: &Value, table: &[(&str, Value)]) {
    for (at, value) in table {
        let mut body = good.clone();
        set(&mut body, at, value.clone());
        assert_eq!(validator(&body), Ok(()), "{at} = {value}");
    }
}

/// Sets the value at a path such as `/messages/0/role`; null takes it away.
fn set(body: &mut Value, at: &str, value: Value) {
    let (parent, key) = at.rsplit_once('/').unwrap();
    match body.pointer_mut(parent).unwrap() {
        Value::Object(fields) if value.is_null() => drop(fields.remove(key)),
        Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        Value::Array(values) if value.is_null() => drop(values.remove(key.parse().unwrap())),
        Value::Array(values) if key == "-" => values.push(value),
        Value::Array(values) => values[key.parse::<usize>().unwrap()] = value,
        other => panic!("{other} has no {key}"),
    }
}

fn words(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn marked() -> Value {
    json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}})
}

fn to_anthropic() -> Value {
    json!({
        "model": "claude", "max_tokens": 4096, "system": [marked()],
        "messages": [
            {"role": "user", "content": words("look")},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "call00000", "name": "look", "input": {}},
                {"type": "tool_use", "id": "call00001", "name": "look", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call00001", "content": "y", "is_error": true},
                {"type": "tool_result", "tool_use_id": "call00000", "content": words("x")},
                {"type": "text", "text": "and?"},
            ]},
        ],
        "tools": [{"name": "look", "description": "x", "input_schema": {"type": "object"}}],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    })
}

#[test]
fn anthropics_rules() {
    let picture = |kind: &str, data: &str| json!([{"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}]);
    let image = |kind: &str| picture(kind, sample(kind));
    let (good, marked) = (to_anthropic(), marked());
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    refuses(
        anthropic::request,
        &good,
        &[
            ("/frobnicate", json!(1), "frobnicate: Extra inputs are not permitted"),
            ("/model", Value::Null, "model: Field required"),
            ("/max_tokens", Value::Null, "max_tokens: Field required"),
            ("/max_tokens", json!(0), "greater than or equal to 1"),
            ("/max_tokens", json!(1024), "`max_tokens` must be greater than `thinking.budget_tokens`"),
            ("/system", json!(" "), "non-whitespace"),
            ("/messages", json!([]), "at least one message"),
            ("/messages/0/role", json!("system"), "top-level `system`"),
            ("/messages/0/role", json!("robot"), "messages.0.role"),
            ("/messages/0/role", json!("assistant"), "first message must use"),
            ("/messages/1/role", json!("user"), "roles must alternate"),
            ("/messages/0/content", json!([]), "non-empty content"),
            ("/messages/0/content", json!(""), "must be non-empty"),
            ("/messages/0/content", words("\n"), "non-whitespace"),
            ("/messages/0/content", image("image/bmp"), "media_type"),
            ("/messages/0/content", picture("image/png", sample("image/gif")), "does not match"),
            ("/messages/0/content", picture("image/png", &"A".repeat(6 << 20)), "exceeds 5 MB"),
            ("/messages/1/content", image("image/png"), "Input tag"),
            ("/messages/0/content", json!([{"type": "image", "source": {"type": "url", "url": "http://x"}}]), "HTTPS"),
            ("/messages/0/content", json!([{"type": "tool_use", "id": "a", "name": "b", "input": {}}]), "Input tag"),
            ("/messages/0/content", json!([result("call00000")]), "unexpected `tool_use_id`"),
            ("/messages/1/content/0/signature", json!(""), "signature: Field required"),
            ("/messages/1/content/0/cache_control", marked["cache_control"].clone(), "Extra inputs"),
            ("/messages/1/content/0", Value::Null, "must start with a thinking block"),
            ("/messages/1/content/1/id", json!("call.0"), "^[a-zA-Z0-9_-]+$"),
            ("/messages/1/content/1/id", json!("call00001"), "must be unique"),
            ("/messages/1/content/1/name", json!("a b"), "tool_use.name"),
            ("/messages/1/content/1/input", json!("{}"), "valid dictionary"),
            ("/messages/2", Value::Null, "call00000, call00001"),
            ("/messages/2/content", json!("words alone"), "without `tool_result` blocks"),
            ("/messages/2/content/0", Value::Null, "without `tool_result` blocks immediately after: call00001"),
            ("/messages/2/content/0", json!({"type": "text", "text": "first"}), "without `tool_result`"),
            ("/messages/2/content/-", result("call00000"), "must come first"),
            ("/messages/2/content/1", result("call00001"), "unexpected `tool_use_id`"),
            ("/messages/2/content/1/content", json!(" "), "non-whitespace"),
            ("/messages/-", json!({"role": "assistant", "content": "so "}), "trailing whitespace"),
            ("/messages/-", json!({"role": "assistant", "content": words("so ")}), "trailing whitespace"),
            (
                "/messages/2/content",
                json!([result("call00001"), result("call00000"), marked, marked, marked, marked]),
                "Found 5",
            ),
            ("/tools", Value::Null, "must define tools"),
            ("/tools/-", good["tools"][0].clone(), "must be unique"),
            ("/tools/0/name", json!("a b"), "tools.0.custom.name"),
            ("/tools/0/input_schema", json!({}), "input_schema.type"),
            ("/tool_choice", json!({"type": "any"}), "tool_choice forces tool use"),
            ("/tool_choice", json!({"type": "tool", "name": "hear"}), "Tool 'hear' not found"),
            ("/tool_choice", json!({"type": "must"}), "Input should be 'auto'"),
            ("/temperature", json!(0.5), "may only be set to 1"),
            ("/temperature", json!(2), "range"),
            ("/thinking/budget_tokens", json!(1023), "greater than or equal to 1024"),
            ("/thinking/type", json!("deep"), "thinking.type"),
        ],
    );
    takes(
        anthropic::request,
        &good,
        &[
            ("/messages/0/content", image("image/gif")),
            ("/messages/-", json!({"role": "assistant", "content": "so"})),
            ("/thinking", json!({"type": "adaptive"})),
            ("/tool_choice", json!({"type": "none"})),
        ],
    );
    assert_eq!(anthropic::request_signed(&good, &["s"]), Ok(()));
    assert!(anthropic::request_signed(&good, &["t"]).unwrap_err().contains("Invalid `signature`"));
    let alone = json!({"model": "c", "max_tokens": 1, "messages": [{"role": "user", "content": "a"}]});
    refuses(anthropic::request, &alone, &[("/tool_choice", json!({"type": "auto"}), "while providing tools")]);
}

fn to_gemini() -> Value {
    let call = json!({"functionCall": {"name": "look", "args": {}, "id": "call00000"}, "thoughtSignature": "c2ln"});
    let result = json!({"functionResponse": {"name": "look", "response": {"output": "x"}, "id": "call00000"}});
    let said = |text: &str| json!({"text": text});
    json!({
        "systemInstruction": {"parts": [said("s")]},
        "contents": [
            {"role": "user", "parts": [said("look"), {"inlineData": {"mimeType": "image/png", "data": sample("image/png")}}]},
            {"role": "model", "parts": [said("so"), call, {"functionCall": {"name": "look"}}]},
            {"role": "user", "parts": [result, {"functionResponse": {"name": "look", "response": {}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "look", "parameters": {
            "type": "object", "properties": {"at": {"type": "STRING", "enum": ["a"]}}, "required": ["at"],
        }}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}},
    })
}

#[test]
fn geminis_rules() {
    let good = to_gemini();
    let parts = |content: usize, part: usize| good["contents"][content]["parts"][part].clone();
    let (call, result) = (parts(1, 1), parts(2, 0));
    let said = |text: &str| json!({"text": text});
    let model = |part: Value| json!({"role": "model", "parts": [part]});
    let at = "/tools/0/functionDeclarations/0";
    let path = |rest: &str| format!("{at}{rest}");
    refuses(
        gemini::request,
        &good,
        &[
            ("/messages", json!([]), "Unknown name \"messages\""),
            ("/systemInstruction/parts", json!([]), "must not be empty"),
            ("/contents", json!([]), "contents is not specified"),
            ("/contents/0/role", json!("assistant"), "valid role: user, model"),
            ("/contents/0/role", json!("model"), "alternate between user and model"),
            ("/contents/0/parts", json!([]), "must not be empty"),
            ("/contents/0/parts/0", said(" "), "must have a text parameter"),
            ("/contents/0/parts/0", json!({}), "oneof field 'data'"),
            ("/contents/0/parts/0", json!({"text": "a", "functionCall": {}}), "oneof field 'data'"),
            ("/contents/0/parts/0/type", json!("text"), "Unknown name \"type\""),
            ("/contents/0/parts/1/inlineData/mimeType", json!("image/gif"), "Unsupported MIME type"),
            ("/contents/0/parts/1/inlineData/mimeType", json!("image/webp"), "Unable to process"),
            ("/contents/0/parts/1/inlineData/data", json!("data:;"), "Base64 decoding failed"),
            ("/contents/0/parts/0", call.clone(), "of role model"),
            ("/contents/1/parts/1/functionCall/name", json!("3d"), "Invalid function name"),
            ("/contents/1/parts/1/functionCall/args", json!("{}"), "must be a Struct"),
            ("/contents/2/parts/0/functionResponse/response", json!("x"), "must be a Struct"),
            ("/contents/2/parts/0", Value::Null, "number of function response parts"),
            ("/contents/2/parts/0/functionResponse/name", json!("hear"), "do not match"),
            ("/contents/2/parts/0/functionResponse/id", json!("call00001"), "do not match"),
            ("/contents/2/parts", json!([said("first"), result, result]), "do not match"),
            ("/contents/1/parts", json!([said("so")]), "immediately after a function call turn"),
            ("/contents/0", Value::Null, "immediately after a user turn"),
            ("/contents/2", model(said("more")), "alternate between"),
            ("/contents/-", model(said("more")), "end with a user role"),
            (&path("/name"), json!("-look"), "Invalid function name"),
            (&path("/parameters/additionalProperties"), json!(false), "Unknown name \"additionalProperties\""),
            (&path("/parameters/properties/at/$ref"), json!("#"), "Unknown name \"$ref\""),
            (&path("/parameters/properties/at"), json!({"type": ["string", "null"]}), "Invalid value"),
            (&path("/parameters/properties/at"), json!({"type": "integer", "enum": ["1"]}), "only allowed for STRING"),
            (&path("/parameters/properties/at"), json!({"type": "string", "enum": [""]}), "cannot be empty"),
            (&path("/parameters/properties/at"), json!({"type": "array"}), "items: missing field"),
            (&path("/parameters/properties/at"), json!({"type": "object"}), "non-empty for OBJECT"),
            (&path("/parameters/required"), json!(["by"]), "property is not defined"),
            (&path("/parameters/type"), json!("string"), "of type OBJECT"),
            ("/tools/0/functionDeclarations/-", json!({"name": "look"}), "Duplicate function declaration"),
            ("/tools", Value::Null, "without function_declarations"),
            ("/toolConfig/functionCallingConfig/mode", json!("any"), "function_calling_config.mode"),
            ("/toolConfig/functionCallingConfig/mode", json!("AUTO"), "only be set when"),
            ("/toolConfig/functionCallingConfig/allowedFunctionNames", json!(["hear"]), "is not declared"),
            ("/generationConfig/thinkingConfig/thinkingBudget", json!(1), "only set one"),
        ],
    );
    takes(
        gemini::request,
        &good,
        &[
            ("/contents/2/parts/-", said("and?")),
            ("/contents/1/parts/-", json!({"text": "", "thoughtSignature": "c2ln"})),
            (at, json!({"name": "look", "parametersJsonSchema": {"type": "object", "additionalProperties": false}})),
        ],
    );
    let three: Validator = |body| gemini::request_for("gemini-3-pro-preview", body);
    let unsigned = [("/contents/1/parts/1/thoughtSignature", Value::Null, "call `default_api:look`, position 2")];
    refuses(three, &good, &unsigned);
    takes(|body| gemini::request_for("gemini-2.5-flash", body), &good, &[(unsigned[0].0, Value::Null)]);
    let mut later = good.clone();
    set(&mut later, unsigned[0].0, Value::Null);
    takes(three, &later, &[("/contents/2/parts/-", said("another turn"))]);
}

#[test]
fn ollamas_rules() {
    let call = json!({"function": {"name": "look", "arguments": {}}});
    let good = json!({
        "model": "llama", "stream": true, "think": "low", "options": {"num_ctx": 8192, "temperature": 1},
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "look", "images": [sample("image/png")]},
            {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call]},
            {"role": "tool", "content": "x", "tool_name": "look"},
        ],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
    });
    refuses(
        ollama::request,
        &good,
        &[
            ("/max_tokens", json!(1), "unknown field \"max_tokens\""),
            ("/model", Value::Null, "model is required"),
            ("/stream", json!("yes"), "of type bool"),
            ("/messages", json!([]), "messages are required"),
            ("/messages/0/name", json!("x"), "unknown field \"name\""),
            ("/messages/0/role", json!("developer"), "invalid role: developer"),
            ("/messages/1/content", json!([{"type": "text"}]), "of type string"),
            ("/messages/1/images/0", json!("data:image/png;base64,AAAA"), "illegal base64"),
            ("/messages/1/images/0", json!(sample("image/gif")), "Failed to load image"),
            ("/messages/0/content", json!(" "), "says nothing"),
            ("/messages/1/tool_calls", json!([call]), "somebody else"),
            ("/messages/2/tool_calls/0/function/arguments", json!("{}"), "ToolCallFunctionArguments"),
            ("/messages/2/tool_calls/0/function/name", json!(""), "without a name"),
            ("/messages/3", Value::Null, "calls without result: look"),
            ("/messages/3/tool_name", json!("hear"), "a result of no call"),
            ("/messages/3/role", json!("user"), "calls without result: look"),
            ("/options/num_ctx", json!("8192"), "must be of type integer"),
            ("/options/num_ctx", json!(0), "must be positive"),
            ("/options/temperature", json!("1"), "must be of type float32"),
            ("/options/max_tokens", json!(1), "invalid option"),
            ("/options", json!([]), "map[string]interface"),
            ("/tools/0/type", json!("tool"), "not a function"),
            ("/tools/0/function/name", json!(""), "without a name"),
            ("/tools/0/function/parameters", json!({}), "object"),
            ("/tools/-", good["tools"][0].clone(), "offered twice"),
            ("/think", json!("hard"), "invalid think value"),
        ],
    );
}

#[test]
fn openais_rules() {
    let image = |url: &str| json!([{"type": "image_url", "image_url": {"url": url}}]);
    let good = json!({
        "model": "gpt", "stream": true, "max_tokens": 1, "tool_choice": "auto", "parallel_tool_calls": true,
        "messages": [{"role": "user", "content": image("data:image/png;base64,iVBORw0KGgo=")}, {"role": "assistant", "content": "a"},
                     {"role": "user", "content": [{"type": "text", "text": "b"}]}],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
    });
    let named = |name: &str| json!({"type": "function", "function": {"name": name}});
    refuses(
        openai::request,
        &good,
        &[
            ("/max_completion_tokens", json!(1), "at the same time"),
            ("/model", json!("gpt-5-mini"), "Use 'max_completion_tokens' instead"),
            ("/tools", Value::Null, "only allowed when 'tools' are specified"),
            ("/tool_choice", json!("any"), "Supported values are"),
            ("/tool_choice", named("hear"), "no function named 'hear'"),
            ("/messages/0/content", json!([]), "empty array"),
            ("/messages/0/content", json!([{"type": "text", "text": " "}]), "non-empty"),
            ("/messages/0/content", json!([{"type": "image"}]), "Supported values are"),
            ("/messages/0/content", image("file:///x"), "Invalid image URL"),
            ("/messages/0/content", image("data:image/bmp;base64,AAAA"), "Invalid MIME type"),
            ("/messages/0/content", image("data:image/png;base64,A"), "Invalid base64"),
            ("/messages/0/content", image("data:image/jpeg;base64,iVBORw0KGgo="), "unsupported image"),
            ("/messages/1/content", image("data:image/png;base64,AAAA"), "only allowed for messages with role 'user'"),
        ],
    );
    takes(openai::request, &good, &[("/tool_choice", named("look")), ("/max_tokens", Value::Null)]);
    let reasoning = json!({"model": "o3", "stream": true, "messages": [{"role": "user", "content": "a"}]});
    refuses(openai::request, &reasoning, &[("/temperature", json!(0.2), "does not support 0.2")]);
}
