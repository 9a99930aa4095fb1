//! `[state]`: where Hob keeps its data.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{shape, values};
use hob_core::domain::secret::Secret;

/// Where Hob keeps its data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<StateConfig>)]
pub struct StateConfig {
    /// The data directory, as an absolute path; $HOB_HOME goes before it. Without both: $XDG_DATA_HOME/hob, else
    /// ~/.local/share/hob.
    #[schemars(length(min = 1, max = 4000), example = &"/var/lib/hob")]
    pub dir: Option<PathBuf>,
    /// The database of a PostgreSQL server, 15 or later, in place of the file hob.db. Files stay in the data directory.
    /// docs/several.md says more.
    #[schemars(length(min = 1, max = 4000), example = &"postgres://hob:password@db.example/hob")]
    pub url: Option<Secret>,
}

impl StateConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let dir = self.dir.iter().filter_map(|dir| values::absolute_path("dir", dir));
        dir.chain(self.url.iter().filter_map(|url| check_url(url.expose()))).collect()
    }
}

fn check_url(text: &str) -> Option<Finding> {
    let is_one = url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "postgres" | "postgresql"));
    (!is_one).then(|| {
        let why = "is not the URL of a PostgreSQL database, expected one that begins with postgres://";
        Finding::new("url", why, "for example `postgres://hob@db.example/hob`, or without it for the file hob.db")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n15_the_state_is_on_one_postgresql_by_its_url() {
        for (url, fine) in [
            ("postgres://hob@db.example/hob", true),
            ("postgresql://hob:hunter2@[::1]:5433/hob?sslmode=require", true),
            ("postgres:///hob?host=/run/postgresql", true),
            ("mysql://hob:hunter2@db.example/hob", false),
            ("db.example/hunter2", false),
            ("host=db.example password=hunter2", false),
        ] {
            let state = StateConfig { url: Some(Secret::new(url.to_owned())), ..StateConfig::default() };
            let found = state.validate();
            assert_eq!(found.is_empty(), fine, "{url}: {found:?}");
            assert!(!format!("{found:?}{state:?}").contains("hunter2"));
        }
    }
}
