//! What people are called, asked once of each.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;
use tracing::debug;

use crate::call::{CallError, WebApi};
use crate::convert::text;
use crate::mrkdwn::UserNames;
use hob_core::domain::lock::lock;

/// How many names are kept; beyond that they are asked for anew.
const KEPT_MAX: usize = 2_000;
/// How many are asked for because of one message: it has to be answered in time.
const ASKED_MAX: usize = 8;
/// How long all of that may take.
const ASKED_FOR_MAX: Duration = Duration::from_millis(1_200);

/// The names that are known.
#[derive(Debug, Default)]
pub(super) struct NameCache(Mutex<BTreeMap<String, String>>);

impl NameCache {
    /// The names of these people, as far as they can be had in time.
    pub(super) async fn names(&self, web: &WebApi, wanted: &[String]) -> UserNames {
        let missing: Vec<&String> = wanted.iter().filter(|id| self.cached_name(id).is_none()).take(ASKED_MAX).collect();
        let asking = async {
            for id in missing {
                let asked = web.get("users.info", &[("user", id.clone())]).await;
                self.cache_answer(id, asked);
            }
        };
        if tokio::time::timeout(ASKED_FOR_MAX, asking).await.is_err() {
            debug!(channel = "slack", "names take too long; ids stand for them");
        }
        wanted.iter().filter_map(|id| Some((id.clone(), self.cached_name(id)?))).collect()
    }

    /// What Slack will not tell is not asked for with every message.
    fn cache_answer(&self, id: &str, asked: Result<Value, CallError>) {
        match asked {
            Ok(answer) => self.cache_name(id, name_of(&answer["user"]).unwrap_or(id)),
            Err(error) => {
                debug!(channel = "slack", %error, "a name is not known: {error}");
                if error.code().is_some() && error.retry_after().is_none() {
                    self.cache_name(id, id);
                }
            }
        }
    }

    fn cached_name(&self, id: &str) -> Option<String> {
        lock(&self.0).get(id).cloned()
    }

    fn cache_name(&self, id: &str, name: &str) {
        let mut known = lock(&self.0);
        if known.len() >= KEPT_MAX {
            known.clear();
        }
        known.insert(id.to_owned(), name.to_owned());
    }
}

/// How a person wants to be called, or is.
fn name_of(user: &Value) -> Option<&str> {
    let profile = &user["profile"];
    let shown = text(profile, "display_name").or_else(|| text(profile, "real_name"));
    shown.or_else(|| text(user, "real_name")).or_else(|| text(user, "name"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn k2_people_are_called_as_they_want() {
        let table = [
            (
                json!({"name": "ada", "profile": {"display_name": "Ada L.", "real_name": "Ada Lovelace"}}),
                Some("Ada L."),
            ),
            (
                json!({"name": "ada", "profile": {"display_name": "", "real_name": "Ada Lovelace"}}),
                Some("Ada Lovelace"),
            ),
            (json!({"name": "ada"}), Some("ada")),
            (json!(null), None),
        ];
        for (user, expected) in table {
            assert_eq!(name_of(&user), expected);
        }
    }
}
