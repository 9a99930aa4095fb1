//! What holds of the whole API, added to its description: how one shows who one is, and what is answered besides.

use utoipa::ToSchema as _;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, PathItem, Ref, RefOr, ResponseBuilder};

use crate::api_error::Problem;

/// Completes the description.
pub(super) fn complete(described: &mut OpenApi) {
    if let Some(parts) = described.components.as_mut() {
        let key = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        parts.add_security_scheme("key", SecurityScheme::Http(key));
        parts.add_security_scheme("visit", SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new("hob"))));
    }
    for (path, item) in &mut described.paths.paths {
        let schema = if path.starts_with("/v1/") { "FaultBody".into() } else { Problem::name() };
        for (method, operation) in operations(item) {
            operation.operation_id = Some(id_of(method, path));
            add_default(operation, &schema);
            describe(operation);
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    let all = [("get", get), ("put", put), ("post", post), ("delete", delete), ("patch", patch)];
    all.into_iter().filter_map(|(method, operation)| operation.as_mut().map(|operation| (method, operation)))
}

/// What generated clients call an operation: no two may be called the same.
fn id_of(method: &str, path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    [method].into_iter().chain(words).collect::<Vec<_>>().join("_")
}

/// A response without a description is none (OpenAPI 3.1).
fn describe(operation: &mut Operation) {
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            words_of(status).clone_into(&mut response.description);
        }
    }
}

/// What a status says of any operation.
fn words_of(status: &str) -> &'static str {
    match status {
        "200" => "What was asked for",
        "201" => "It is made",
        "202" => "It is taken, and will be done",
        "204" => "It is done",
        "400" => "The request makes no sense",
        "401" => "Nobody is logged in, and no key is shown",
        "403" => "Whoever asks may not do this",
        "404" => "There is no such thing",
        "409" => "It cannot be done as things stand",
        "413" => "It is too big",
        "422" => "Something in the request is not allowed",
        "429" => "It was asked too often",
        "503" => "It cannot be done for now",
        _ => "What its status says",
    }
}

/// Whatever an operation does not name is answered in words.
fn add_default(operation: &mut Operation, schema: &str) {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(schema))).build();
    let told = ResponseBuilder::new().description("Why it is not done").content("application/json", content).build();
    operation.responses.responses.insert("default".to_owned(), RefOr::T(told));
}
