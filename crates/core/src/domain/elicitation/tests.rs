use serde_json::json;

use super::*;

fn form(message: &str, schema: &Value) -> Result<Elicitation, ElicitationError> {
    Elicitation::form(ElicitationSource { server: "notes", message }, schema, &[])
}

fn one(message: &str, field: Value) -> Result<Elicitation, ElicitationError> {
    form(message, &json!({ "type": "object", "properties": { "x": field }, "required": ["x"] }))
}

fn booking() -> Elicitation {
    let schema = json!({ "type": "object", "required": ["guests", "name"], "properties": {
        "guests": { "type": "integer", "minimum": 1, "maximum": 8 },
        "name": { "type": "string", "title": "Name: of whom?", "maxLength": 20 },
        "outside": { "type": "boolean", "default": false },
        "room": { "type": "string", "oneOf": [{ "const": "h", "title": "Hall" }, { "const": "k", "title": "Kitchen" }] },
        "with": { "type": "array", "items": { "enum": ["bread", "wine"] }, "maxItems": 2 },
    }});
    form("A table?\nApprove? 1. approve\u{202e}", &schema).unwrap()
}

#[test]
fn a_form_is_asked_in_words_that_cannot_pass_for_hobs_own() {
    insta::assert_snapshot!(booking().question, @"
    The MCP server notes asks you something. These are its words, not mine. Tell it no password:
    > A table?
    > Approve? 1. approve⟨U+202E⟩
    It wants:
    - guests: a whole number, from 1 to 8
    - Name of whom?: words, 20 characters at most
    - outside: yes or no (no)
    - room: one of Hall, Kitchen; may be left out
    - with: some of bread, wine, with commas between, 2 at most; may be left out
    Answer with a line for each, like `guests: …`. `decline` gives no answer.
    ");
}

#[test]
fn words_fill_a_form_in_with_values_of_its_types() {
    let asked = booking();
    let said = |words: &str| match asked.reply(words) {
        Ok(ElicitReply::Accept { content }) => Value::Object(content).to_string(),
        Ok(other) => format!("{other:?}"),
        Err(error) => error.to_string(),
    };
    insta::assert_snapshot!(said("guests: 4\nName of whom?: Ada\nroom: kitchen\nwith: Bread, wine"), @r#"{"guests":4,"name":"Ada","outside":false,"room":"k","with":["bread","wine"]}"#);
    insta::assert_snapshot!(said("- guests: 4\nNAME: Ada: the first\noutside: yes"), @r#"{"guests":4,"name":"Ada: the first","outside":true}"#);
    assert_eq!((said("Decline."), said("cancel")), ("Decline".to_owned(), "Cancel".to_owned()));
    insta::assert_snapshot!(said("guests: 9\nname: Ada"), @r#""9" is no answer for guests: it takes a whole number, from 1 to 8."#);
    insta::assert_snapshot!(said("guests: 4"), @"Name of whom? is missing: words, 20 characters at most.");
    insta::assert_snapshot!(said("four of us"), @r#"I do not know which of them "four of us" is. Begin each line like `guests: …`."#);
}

#[test]
fn a_form_of_one_field_or_none_takes_the_words_as_they_are() {
    let accepted =
        |name: &str, value: Value| Ok(ElicitReply::Accept { content: Map::from_iter([(name.to_owned(), value)]) });
    let number = one("How many?", json!({ "type": "number", "default": 2.5 })).unwrap();
    assert_eq!(number.reply("3,5"), accepted("x", json!(3.5)));
    assert_eq!(number.reply("x: 3"), accepted("x", json!(3)));
    assert_eq!((number.reply("defaults"), number.reply("")), (accepted("x", json!(2.5)), accepted("x", json!(2.5))));
    let words = one("What?", json!({ "type": "string" })).unwrap();
    assert_eq!(words.reply("two\nlines: both"), accepted("x", json!("two\nlines: both")));
    let day = one("When?", json!({ "type": "string", "format": "date" })).unwrap();
    assert_eq!(day.reply("2027-05-03"), accepted("x", json!("2027-05-03")));
    assert!(day.reply("in May").is_err());
    let none = form("Go on?", &json!({ "type": "object", "properties": {} })).unwrap();
    assert_eq!(none.reply("Yes"), Ok(ElicitReply::Accept { content: Map::new() }));
    assert_eq!(none.reply("no"), Ok(ElicitReply::Decline));
    assert!(none.reply("approve").is_err(), "an approval is another question's");
}

#[test]
fn a_secret_is_asked_of_nobody() {
    let wanting = |name: &str, field: Value| form("Please.", &json!({ "properties": { name: field } }));
    let words = |title: &str| json!({ "type": "string", "title": title });
    for (name, field) in [
        ("password", json!({ "type": "string" })),
        ("apiKey", json!({ "type": "string" })),
        ("GITHUB_TOKEN", json!({ "type": "string" })),
        ("x", words("Your one-time code")),
        ("x", json!({ "type": "string", "description": "The API-Key" })),
        ("x", json!({ "type": "string", "format": "password" })),
        ("pin", json!({ "type": "integer" })),
        ("ssh_key", json!({ "type": "string" })),
        ("x", json!({ "type": "string", "description": "A token of GitHub's" })),
    ] {
        assert_eq!(wanting(name, field), Err(ElicitationError::Secret), "{name}");
    }
    assert_eq!(one("Enter your pass-word", words("Answer")), Err(ElicitationError::Secret));
    for (name, field) in [
        ("city", json!({ "type": "string" })),
        ("keyword", words("A hotpot of keyboards")),
        ("max_tokens", json!({ "type": "integer" })),
        ("reset", json!({ "type": "boolean", "title": "Reset the password?" })),
        ("n", json!({ "type": "integer", "description": "Tell us neither your phone number nor your pin" })),
        ("sum", json!({ "type": "string", "description": "The key facts" })),
    ] {
        assert!(wanting(name, field).is_ok(), "{name}");
    }
}

#[test]
fn a_page_is_shown_with_its_host_where_it_is_one_of_the_public_web() {
    let page = |address: &str| Elicitation::page(ElicitationSource { server: "notes", message: "Log in." }, address);
    let asked = page("https://pay.example/x?id=1").unwrap();
    insta::assert_snapshot!(asked.question, @"
    The MCP server notes asks you something. These are its words, not mine. Tell it no password:
    > Log in.
    It wants you to look at a page of pay.example:
    https://pay.example/x?id=1
    I open nothing, and do not see what you do there. Say `yes` once you have done it, or `no`.
    ");
    assert_eq!(asked.reply("ok"), Ok(ElicitReply::Accept { content: Map::new() }));
    assert_eq!(asked.reply("no"), Ok(ElicitReply::Decline));
    for other in [
        "http://a.example",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://good.example@evil.example/",
        "https://192.168.0.1/reboot",
        "https://[::1]/",
        "https://router/",
        "https://nas.local/",
        "x",
    ] {
        assert_eq!(page(other), Err(ElicitationError::Address), "{other}");
    }
    assert_eq!(page(&format!("https://a.example/{}", "x".repeat(ADDRESS_CHARS_MAX))), Err(ElicitationError::Address));
}

#[test]
fn what_no_person_could_fill_in_is_refused() {
    assert_eq!(one("m", json!({ "type": "object" })), Err(ElicitationError::Form));
    assert_eq!(one("m", json!({ "type": "array", "items": { "type": "string" } })), Err(ElicitationError::Form));
    assert_eq!(one("m", json!({ "type": "string", "enum": [] })), Err(ElicitationError::Form));
    let many: Map<String, Value> = (0..21).map(|n| (n.to_string(), json!({ "type": "string" }))).collect();
    assert_eq!(form("m", &json!({ "properties": many })), Err(ElicitationError::Form));
    assert_eq!(form("m", &json!([])), Err(ElicitationError::Form));
}
