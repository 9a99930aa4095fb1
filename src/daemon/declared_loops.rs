//! From a persona's declared loop to what a run goes by (rows D1, D2).

use crate::daemon::error::StartError;
use hob_agent::machine::policy::{DeclaredLoop, Termination};
use hob_config::declared_loop::{LoopConfig, TerminateConfig, TerminateWhen};
use hob_core::domain::choices::ContextStrategy;
use hob_tools::registry::Registry;

/// The loop, and how its context is kept: the strategy and the window's tokens, where they are set.
pub fn declared(config: &LoopConfig) -> (DeclaredLoop, Option<ContextStrategy>, Option<u64>) {
    let terminate = config.terminate.iter().map(termination).collect();
    (DeclaredLoop { max_cycles: config.max_cycles, terminate }, config.strategy, config.context_tokens)
}

fn termination(config: &TerminateConfig) -> Termination {
    let TerminateConfig { when, text, tool, exit_code, contains } = config.clone();
    match when {
        TerminateWhen::TextIncludes => Termination::TextIncludes { text: text.unwrap_or_default() },
        TerminateWhen::ToolResult => Termination::ToolResult { tool, exit_code, contains },
        TerminateWhen::BudgetExhausted => Termination::BudgetExhausted,
    }
}

/// Refuses a condition that none of `tools` can fulfil; `at` is the loop's key in the config.
///
/// # Errors
/// When a tool is named that is not there.
pub fn check_tools(at: &str, config: &LoopConfig, tools: &Registry) -> Result<(), StartError> {
    for (index, condition) in config.terminate.iter().enumerate() {
        let Some(name) = &condition.tool else { continue };
        let key = format!("{at}.terminate[{}].tool", index + 1);
        if tools.get(name).is_none() {
            let known = tools.names().join(", ");
            return Err(StartError::Config(format!("{key}: there is no tool {name:?}; there are: {known}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use hob_tools::ask_human::AskHuman;

    fn config(terminate: &str) -> LoopConfig {
        toml::from_str(&format!("max_cycles = 7\nstrategy = 'rolling-window'\ncontext_tokens = 9000\n{terminate}"))
            .unwrap()
    }

    #[test]
    fn d1_the_declaration_reaches_the_run() {
        let config = config(
            "terminate = [{ when = 'text-includes', text = 'DONE' }, { when = 'tool-result', tool = 'x', exit_code = 0 },
             { when = 'tool-result', contains = 'ok' }, { when = 'budget-exhausted' }]",
        );
        let terminate = vec![
            Termination::TextIncludes { text: "DONE".to_owned() },
            Termination::ToolResult { tool: Some("x".to_owned()), exit_code: Some(0), contains: None },
            Termination::ToolResult { tool: None, exit_code: None, contains: Some("ok".to_owned()) },
            Termination::BudgetExhausted,
        ];
        let expected = DeclaredLoop { max_cycles: 7, terminate };
        assert_eq!(declared(&config), (expected, Some(ContextStrategy::RollingWindow), Some(9_000)));
    }

    #[test]
    fn d1_a_tool_that_cannot_fulfil_its_condition_is_refused() {
        let tools = Registry::default().with(Arc::new(AskHuman::default()));
        let refused = |condition: &str| {
            let config = config(&format!("terminate = [{{ when = 'tool-result', {condition} }}]"));
            check_tools("personas.tester.loop", &config, &tools).err().map(|error| error.to_string())
        };
        assert_eq!(refused("contains = 'ok'"), None);
        assert_eq!(refused("tool = 'ask_human', contains = 'yes'"), None);
        insta::assert_snapshot!(refused("tool = 'run_tests', exit_code = 0").unwrap(), @r#"personas.tester.loop.terminate[1].tool: there is no tool "run_tests"; there are: ask_human"#);
    }
}
