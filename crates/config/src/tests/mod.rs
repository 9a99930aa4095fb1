//! Tests of the whole way from text to config.

mod example;
mod files;
mod off;
mod page;
mod problems;
mod renamed;
mod round_trip;
mod schema;
mod settled;
mod show;
mod syntax;

use std::path::Path;

use crate::environment::Environment;
use crate::problem::Problems;
use crate::{Config, load};

/// Parses `text` with a few variables set; `SECRET` holds what must never be shown.
fn parse(text: &str) -> Result<Config, Problems> {
    let env = Environment::of("/w", [("TOKEN", "123:token"), ("SECRET", "hunter2"), ("LINE", "key\n"), ("EMPTY", "")]);
    load::parse(Path::new("config.toml"), text, &env)
}

/// What the user reads about `text`.
fn told(text: &str) -> String {
    parse(text).map_or_else(|problems| problems.to_string(), |_| "no problems".to_owned())
}
