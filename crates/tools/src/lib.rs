//! Tools: what the model can have done, a file for each. They answer with data; what concerns others is a request to the machine.
//!
//! Never: a message sent, a run started or a person asked from within a tool.
//! Start at [`Tool`], then [`registry`]; commands run in the [`sandbox`], [`changes`] says what they did in a copy of the workspace,
//! [`mcp`] has other programs' tools, [`net`] what may be reached.

pub mod agent_send;
pub mod ask_human;
pub mod ask_reader;
pub mod audience;
pub mod changes;
pub mod cli_agent;
pub mod command;
pub mod current_time;
pub mod dialogue;
pub mod draft_workspace;
pub mod files;
pub mod forget;
pub mod hook;
pub mod http_request;
pub mod keep_changes;
pub mod logins;
pub mod manage_config;
pub mod manage_people;
pub mod mcp;
mod memory_tools;
pub mod mention;
pub mod messages;
pub mod net;
pub mod plan;
mod process;
pub mod process_reaper;
pub mod read_result;
pub mod recall;
pub mod registry;
pub mod registry_handle;
pub mod remember_fact;
pub mod request_more_iterations;
pub mod results;
pub mod run_journal;
pub mod sandbox;
pub mod schedule;
mod schema_check;
pub mod skills;
pub mod spawn_agent;
pub mod speech;
pub mod system_info;
pub mod terminal;
mod tool;
pub mod use_tool;
#[cfg(test)]
mod visibility_tests;
pub mod web_fetch;
pub mod web_search;
pub mod workspace;

pub use tool::{
    Invocation, MentionCheck, Outcome, OutputFile, Request, Timeout, Timeouts, Tool, ToolResult, ToolRuntime, ToolSpec,
};
