//! `[telemetry]`: where traces of Hob's work go.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{key_path, shape, values};
use hob_core::domain::secret::Secret;

/// Where traces of Hob's work go.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<TelemetryConfig>)]
pub struct TelemetryConfig {
    /// The address of an OpenTelemetry collector that takes OTLP over HTTP, without `/v1/traces`. Without it: no traces.
    #[schemars(length(min = 1, max = 2000), example = &"http://127.0.0.1:4318")]
    #[schemars(extend("x-goes" = true))]
    pub otlp: Option<String>,
    /// Headers that are sent to it, e.g. with a key. The values are secrets.
    #[schemars(example = example_headers())]
    pub headers: BTreeMap<String, Secret>,
    /// What Hob is called in the traces.
    #[schemars(length(min = 1, max = 200))]
    pub service_name: String,
    /// Which share of the runs is traced.
    #[schemars(range(min = 0, max = 1))]
    pub sample_ratio: f64,
    /// Whether the traces hold what people, models and tools say. Without it they hold names, times and numbers alone.
    pub content: bool,
}

fn example_headers() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("X-Api-Key", "example-key")])
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self { otlp: None, headers: BTreeMap::new(), service_name: "hob".to_owned(), sample_ratio: 1.0, content: false }
    }
}

impl TelemetryConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found: Vec<Finding> = self.otlp.iter().filter_map(|url| values::check_http_url("otlp", url)).collect();
        for (name, value) in &self.headers {
            let key = key_path::child("headers", name);
            let is_word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            if !is_word {
                let why = "cannot name a header, expected letters, digits and `-`";
                found.push(Finding::new(&key, why, "rename it"));
            }
            found.extend(values::header_secret(&key, value.expose()));
        }
        found
    }
}
