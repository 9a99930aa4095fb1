//! A request's arguments: JSON, a form, or multipart, as the Bot API takes them.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

/// The arguments of a call. Forms carry strings; what should be a number or an object is read from them.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    fields: Map<String, Value>,
    /// What a form carries as files, by field.
    files: HashMap<String, Upload>,
}

/// A file in a form.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) bytes: Vec<u8>,
}

impl Arguments {
    /// Reads the body; `None` if it isn't what its content type says.
    pub(super) async fn read(request: Request) -> Option<Self> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let kind =
            request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
        let (mut fields, mut files) = (pairs(query.as_bytes()), HashMap::new());
        if kind.starts_with("multipart/form-data") {
            let mut form = Multipart::from_request(request, &()).await.ok()?;
            while let Some(field) = form.next_field().await.ok()? {
                let name = field.name()?.to_owned();
                if let Some(file) = field.file_name().map(str::to_owned) {
                    let kind = field.content_type()?.to_owned();
                    files.insert(name, Upload { name: file, kind, bytes: field.bytes().await.ok()?.to_vec() });
                    continue;
                }
                fields.insert(name, Value::String(field.text().await.ok()?));
            }
            return Some(Self { fields, files });
        }
        let body = Bytes::from_request(request, &()).await.ok()?;
        if kind.starts_with("application/json") {
            fields.extend(serde_json::from_slice::<Map<String, Value>>(&body).ok()?);
        } else {
            fields.extend(pairs(&body));
        }
        Some(Self { fields, files })
    }

    /// A field that says something.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        let value = self.fields.get(name).filter(|value| !value.is_null())?;
        let parsed = value.as_str().filter(|text| text.starts_with(['{', '['])).map(serde_json::from_str);
        Some(parsed.and_then(Result::ok).unwrap_or_else(|| value.clone()))
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.fields.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        number(self.fields.get(name)?)
    }

    /// A file of a form.
    pub(super) fn file(&self, name: &str) -> Option<&Upload> {
        self.files.get(name)
    }
}

/// A number, or a string that is one.
pub(super) fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// True, or a string that says so.
pub(super) fn truth(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| matches!(value.as_str(), Some("true" | "True" | "1")))
}

fn pairs(text: &[u8]) -> Map<String, Value> {
    url::form_urlencoded::parse(text)
        .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
        .collect()
}
