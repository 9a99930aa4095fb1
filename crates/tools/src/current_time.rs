//! `current_time`: the date and the time of day, where the household lives.

use async_trait::async_trait;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registry::spec_of;
use crate::{Invocation, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::principal::Role;

#[derive(Deserialize, JsonSchema)]
struct Arguments {}

/// The tool.
pub struct CurrentTime {
    spec: ToolSpec,
    zone: TimeZone,
}

impl CurrentTime {
    /// Tells the time in `zone`.
    pub fn new(zone: TimeZone) -> Self {
        let about = "Tells the current date, time and time zone.";
        Self { spec: spec_of::<Arguments>("current_time", about, true).of("time", Role::Guest).shown_on_need(), zone }
    }
}

#[async_trait]
impl Tool for CurrentTime {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let local = invocation.now.to_zoned(self.zone.clone());
        let zone = local.time_zone().iana_name().unwrap_or("local time");
        Ok(Outcome::Text(format!("It is {} ({zone}).", local.strftime("%A, %-d %B %Y, %H:%M"))))
    }
}
