//! What `hob config …` says, as text.

use std::path::Path;

use crate::config::environment::Environment;
use crate::config::load::{self, LoadError, Loaded};

/// The good news of `hob config check`: which file is fine, or where none was found.
///
/// # Errors
/// With every problem there is.
pub fn check(named: Option<&Path>, env: &Environment) -> Result<String, LoadError> {
    let Loaded { path, .. } = load::load(named, env)?;
    Ok(match path {
        Some(path) => format!("{}: no problems\n", path.display()),
        None => {
            let places: Vec<String> = load::usual_places(env).iter().map(|place| place.display().to_string()).collect();
            format!("no config file ({}): every setting has its default\n", places.join(", "))
        }
    })
}
