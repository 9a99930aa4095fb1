//! From a persona's declared loop to what a run goes by (rows D1, D2).

use crate::agent::machine::policy::{ContextStrategy, DeclaredLoop, Termination};
use crate::config::declared::{LoopConfig, LoopStrategy, TerminateConfig, TerminateWhen};
use crate::daemon::StartError;
use crate::tool::registry::Registry;

/// The loop, and how its context is kept: the strategy and the window's tokens, where they are set.
#[must_use]
pub fn declared(config: &LoopConfig) -> (DeclaredLoop, Option<ContextStrategy>, Option<u64>) {
    let terminate = config.terminate.iter().map(termination).collect();
    let strategy = config.strategy.map(|strategy| match strategy {
        LoopStrategy::Compact => ContextStrategy::Compact,
        LoopStrategy::RollingWindow => ContextStrategy::RollingWindow,
        LoopStrategy::PeriodicSummary => ContextStrategy::PeriodicSummary,
    });
    (DeclaredLoop { max_cycles: config.max_cycles, terminate }, strategy, config.context_tokens)
}

fn termination(config: &TerminateConfig) -> Termination {
    let TerminateConfig { when, text, tool, exit_code, contains } = config.clone();
    match when {
        TerminateWhen::TextIncludes => Termination::TextIncludes { text: text.unwrap_or_default() },
        TerminateWhen::ToolResult => Termination::ToolResult { tool, exit_code, contains },
        TerminateWhen::BudgetExhausted => Termination::BudgetExhausted,
    }
}

/// Refuses a condition that no tool of this Hob can fulfil; `at` is the loop's key in the config.
///
/// # Errors
/// When a tool is named that is not there, or an exit code is expected of one that has none.
pub fn check_tools(at: &str, config: &LoopConfig, tools: &Registry) -> Result<(), StartError> {
    for (index, condition) in config.terminate.iter().enumerate() {
        let Some(name) = &condition.tool else { continue };
        let key = format!("{at}.terminate[{}].tool", index + 1);
        let Some(tool) = tools.get(name) else {
            let known = tools.names().join(", ");
            return Err(StartError::Config(format!("{key}: there is no tool {name:?}; there are: {known}")));
        };
        if condition.exit_code.is_some() && tool.spec().module != "commands" {
            let why = "has no exit code: only commands have one";
            return Err(StartError::Config(format!("{key}: {name} {why}; remove exit_code or use contains")));
        }
    }
    Ok(())
}
