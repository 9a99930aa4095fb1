//! Servers, good and bad.

use std::path::Path;
use std::time::Duration;

use crate::domain::principal::Role;
use crate::tool::mcp::settings::{Settings, Way};

/// A server that is this program.
pub(super) fn program(vector: &[&str]) -> Settings {
    let way = Way::Program {
        vector: vector.iter().map(|part| (*part).to_owned()).collect(),
        environment: Vec::new(),
        dir: Path::new("/").to_owned(),
    };
    Settings {
        name: "s".to_owned(),
        way,
        trusted: false,
        role: Role::User,
        approval: None,
        allow: Vec::new(),
        deny: Vec::new(),
        start_within: Duration::from_secs(20),
        call_within: Duration::from_secs(20),
        idle: Duration::from_secs(600),
    }
}
