//! What is reached over the network, or started: models, platforms, MCP servers, the embedding, the sandbox.

use std::time::Duration;

use crate::doctor::rules::finding::{Check, Finding};
use hob_model::error::{ErrorClass, ModelError};
use hob_tools::sandbox::Strength;

/// The oldest Home Assistant that Hob is tried with.
const HOME_OLDEST: (u32, u32) = (2024, 3);

/// What a model's server said.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelProbe {
    /// There is no server.
    BuiltIn,
    /// Its list has the model, so the key is good.
    Listed,
    /// It keeps no list, or says nothing without a call.
    Untold,
    /// Its list does not have the model.
    NotListed,
    Spoke(Duration),
    /// It did not answer, or refused.
    Failed(ModelError),
}

/// A model; `role` is `primary`, or what stands in for it.
pub fn model(role: &str, label: &str, reach: &ModelProbe) -> Finding {
    let name = format!("{label} ({role})");
    let bad = |what: String, fix: &str| {
        // Without the primary nothing goes; another one is missed only when it is needed.
        if role == "primary" {
            Finding::fail(Check::Models, what, fix)
        } else {
            Finding::warn(Check::Models, what, fix)
        }
    };
    match reach {
        ModelProbe::BuiltIn if role == "primary" => Finding::note(
            Check::Models,
            format!(
                "{name} is built in, and knows next to nothing: a real model takes a [provider], or a key in the environment"
            ),
        ),
        ModelProbe::BuiltIn => Finding::ok(Check::Models, format!("{name} is built in")),
        ModelProbe::Listed => Finding::ok(Check::Models, format!("{name} is there, and the key is accepted")),
        ModelProbe::Spoke(took) => {
            Finding::ok(Check::Models, format!("{name} spoke within {:.1} s", took.as_secs_f64()))
        }
        ModelProbe::Untold => Finding::note(
            Check::Models,
            format!("{name}: its server says nothing without a call; `hob doctor --live` makes one"),
        ),
        ModelProbe::NotListed => bad(
            format!("{name}: its server answers, and does not have it"),
            "`hob models` shows what there is; change the model in [provider]",
        ),
        ModelProbe::Failed(error) => bad(format!("{name}: {} ({error})", error.class), advice(error.class)),
    }
}

/// What to do about a failed call.
fn advice(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Auth => "the key is wrong or may not do this: make another with the provider",
        ErrorClass::Billing => "see to the account with the provider",
        ErrorClass::RateLimit | ErrorClass::Overloaded | ErrorClass::Server | ErrorClass::Resting => {
            "try again later; a fallback would stand in"
        }
        ErrorClass::UnknownModel => "`hob models` shows what there is; change the model in [provider]",
        ErrorClass::Timeout | ErrorClass::Network => {
            "look at the address in [provider], at the network, and whether a server of your own runs"
        }
        ErrorClass::ContextTooLong | ErrorClass::Refused | ErrorClass::BadRequest | ErrorClass::Malformed => {
            "look whether [provider] names the right kind and address"
        }
    }
}

/// A platform's account: who Hob is there, or why it is nobody.
pub fn channel(account: &str, answer: Result<String, String>) -> Finding {
    match answer {
        Ok(name) => Finding::ok(Check::Channels, format!("{account}: signed in as {name}")),
        Err(why) => Finding::fail(
            Check::Channels,
            format!("{account}: {why}"),
            "see to the account's section in config.toml, and to the network",
        ),
    }
}

/// No platform.
pub fn no_channel() -> Finding {
    Finding::note(Check::Channels, "no platform is connected")
}

/// What commands can be kept from; `is_wanted`: whether there is a terminal.
pub fn sandbox(strength: &Strength, is_wanted: bool) -> Finding {
    let fix = "docs/terminal.md, \"What holds it\", says what each restriction needs";
    match strength {
        Strength::Full { .. } => Finding::ok(Check::Sandbox, strength.to_string()),
        Strength::Partial { .. } | Strength::None { .. } if !is_wanted => {
            Finding::note(Check::Sandbox, format!("the terminal is off; {strength}"))
        }
        Strength::Partial { .. } | Strength::None { .. } => Finding::warn(Check::Sandbox, strength.to_string(), fix),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddingState {
    /// Nobody wants one.
    Off,
    /// It is to be fetched.
    Unfetched {
        /// What keeps it from being fetched; none: `hob run` fetches it.
        objection: Option<String>,
    },
    /// It loads, or its server answers.
    Ready { name: String },
    /// It does not.
    Broken { why: String },
}

/// Meaning in the memory's search.
pub fn embedding(embedding: &EmbeddingState) -> Finding {
    let by_words = "what is remembered is found by words alone";
    match embedding {
        EmbeddingState::Off => Finding::note(Check::Embeddings, format!("they are off: {by_words}")),
        EmbeddingState::Unfetched { objection: None } => Finding::note(
            Check::Embeddings,
            format!("the model is not here yet; `hob run` fetches it, and until then {by_words}"),
        ),
        EmbeddingState::Unfetched { objection: Some(objection) } => {
            Finding::warn(Check::Embeddings, by_words, objection.clone())
        }
        EmbeddingState::Ready { name } => Finding::ok(Check::Embeddings, format!("{name} is ready")),
        EmbeddingState::Broken { why } => {
            Finding::fail(Check::Embeddings, format!("{why}: {by_words}"), "see to [memory.embedding]")
        }
    }
}

/// An MCP server: how many tools it has, or what went wrong.
pub fn mcp(name: &str, looked: &Result<(usize, Duration), String>) -> Finding {
    match looked {
        Ok((tools, took)) => Finding::ok(
            Check::Mcp,
            format!("{name} answers after {:.1} s; tools on offer: {tools}", took.as_secs_f64()),
        ),
        Err(why) => Finding::fail(
            Check::Mcp,
            format!("{name}: {why}"),
            format!("see to [mcp.{name}]; `hob mcp test {name}` tries it alone"),
        ),
    }
}

/// An account of calendars: how many it has, or what went wrong; and how many address books, if any are found.
pub fn calendars(name: &str, found: &Result<usize, String>, books: Option<usize>) -> Finding {
    match found {
        Ok(count) => {
            let books = books.map_or_else(|| "none found".to_owned(), |books| books.to_string());
            Finding::ok(Check::Calendars, format!("{name} answers; calendars: {count}, address books: {books}"))
        }
        Err(why) => Finding::fail(Check::Calendars, format!("{name}: {why}"), format!("see to [dav.{name}]")),
    }
}

/// What came of a word that was to be spoken: how many bytes, or nothing.
pub fn speech(spoken: &Result<usize, String>) -> Finding {
    match spoken {
        Ok(bytes) => Finding::ok(Check::Speech, format!("a word was spoken, in {bytes} bytes")),
        Err(why) => Finding::fail(Check::Speech, format!("no word was spoken: {why}"), "see to [speech]"),
    }
}

/// Home Assistant: its version and how much of it is exposed, or what went wrong. Versions come each month, as year and month.
pub fn home(looked: &Result<(String, usize), String>) -> Finding {
    let (version, exposed) = match looked {
        Ok(found) => found,
        Err(why) => return Finding::fail(Check::Home, why.clone(), "see to [home_assistant]; docs/home-assistant.md"),
    };
    let parts: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).take(2).collect();
    if *exposed == 0 {
        return Finding::warn(
            Check::Home,
            format!("{version} answers, and has none of `entities`"),
            "list some of its entities",
        );
    }
    let told = format!("{version} answers; entities exposed: {exposed}");
    match parts.as_slice() {
        [year, month] if (*year, *month) < HOME_OLDEST => Finding::warn(
            Check::Home,
            format!("{told}; Hob is tried with {}.{} and later", HOME_OLDEST.0, HOME_OLDEST.1),
            "update Home Assistant",
        ),
        _ => Finding::ok(Check::Home, told),
    }
}

/// An MCP server that was not started.
pub fn mcp_known(name: &str, tools: Option<usize>) -> Finding {
    let known =
        tools.map_or_else(|| "its tools are not known yet".to_owned(), |tools| format!("{tools} tools are known"));
    Finding::note(Check::Mcp, format!("{name}: {known}; `hob doctor --live` starts it"))
}

/// An MCP server that has asked for a login.
pub fn mcp_needs_login(name: &str) -> Finding {
    Finding::warn(Check::Mcp, format!("{name}: needs a login"), format!("hob mcp login {name}"))
}

/// Somebody's mailbox: the folders whose role is known, and whether those for drafts and for what was sent are among them.
pub fn mailbox(account: &str, known: Result<(Vec<String>, [bool; 2]), String>) -> Finding {
    match known {
        Ok((roles, [true, true])) => {
            Finding::ok(Check::Mail, format!("{account}: both servers let it in; {}", roles.join(", ")))
        }
        Ok((roles, [drafts, _])) => {
            let key = if drafts { "sent" } else { "drafts" };
            let roles = if roles.is_empty() { "no folder with a role".to_owned() } else { roles.join(", ") };
            let what = format!("{account}: both servers let it in, and do not say which folder is for {key} ({roles})");
            Finding::warn(Check::Mail, what, format!("name it under [mail.{account}]: {key} = \"…\""))
        }
        Err(why) => {
            let fix = format!("see to [mail.{account}]; many providers want a password made for programs");
            Finding::fail(Check::Mail, format!("{account}: {why}"), fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_models() {
        let failed = |class, said: &str| ModelProbe::Failed(ModelError::new(class, said));
        let all = [
            model("primary", "a/b", &ModelProbe::Listed),
            model("primary", "a/b", &ModelProbe::Spoke(Duration::from_millis(840))),
            model("fast", "a/c", &ModelProbe::Untold),
            model("primary", "a/b", &ModelProbe::NotListed),
            model("fallback", "a/b", &ModelProbe::NotListed),
            model("primary", "a/b", &failed(ErrorClass::Auth, "401 invalid key")),
            model("fallback", "o/m", &failed(ErrorClass::Network, "connection refused")),
            model("primary", "offline/hob", &ModelProbe::BuiltIn),
        ];
        insta::assert_snapshot!(all.map(|finding| finding.to_string()).join("\n"), @r"
        ok   models: a/b (primary) is there, and the key is accepted
        ok   models: a/b (primary) spoke within 0.8 s
        note models: a/c (fast): its server says nothing without a call; `hob doctor --live` makes one
        fail models: a/b (primary): its server answers, and does not have it; `hob models` shows what there is; change the model in [provider]
        warn models: a/b (fallback): its server answers, and does not have it; `hob models` shows what there is; change the model in [provider]
        fail models: a/b (primary): no access (401 invalid key); the key is wrong or may not do this: make another with the provider
        warn models: o/m (fallback): network (connection refused); look at the address in [provider], at the network, and whether a server of your own runs
        note models: offline/hob (primary) is built in, and knows next to nothing: a real model takes a [provider], or a key in the environment
        ");
    }

    #[test]
    fn n12_platforms_servers_and_walls() {
        let weak = Strength::None { why: "no Landlock".to_owned() };
        let all = [
            channel("telegram (default)", Ok("@hob".to_owned())),
            channel("slack (work)", Err("Slack does not know the token".to_owned())),
            no_channel(),
            sandbox(&Strength::Full { namespaces: None }, true),
            sandbox(&weak, true),
            sandbox(&weak, false),
            mcp("notes", &Ok((3, Duration::from_millis(1_200)))),
            mcp("notes", &Err("it ended at once".to_owned())),
            mcp_known("notes", None),
            mcp_known("notes", Some(3)),
            mcp_needs_login("notes"),
        ];
        insta::assert_snapshot!(all.map(|finding| finding.to_string()).join("\n"), @r#"
        ok   channels: telegram (default): signed in as @hob
        fail channels: slack (work): Slack does not know the token; see to the account's section in config.toml, and to the network
        note channels: no platform is connected
        ok   sandbox: commands are confined (Landlock, seccomp)
        warn sandbox: commands cannot be confined, so each must be approved: no Landlock; docs/terminal.md, "What holds it", says what each restriction needs
        note sandbox: the terminal is off; commands cannot be confined, so each must be approved: no Landlock
        ok   mcp: notes answers after 1.2 s; tools on offer: 3
        fail mcp: notes: it ended at once; see to [mcp.notes]; `hob mcp test notes` tries it alone
        note mcp: notes: its tools are not known yet; `hob doctor --live` starts it
        note mcp: notes: 3 tools are known; `hob doctor --live` starts it
        warn mcp: notes: needs a login; hob mcp login notes
        "#);
    }

    #[test]
    fn n12_embeddings() {
        let all = [
            EmbeddingState::Off,
            EmbeddingState::Unfetched { objection: None },
            EmbeddingState::Unfetched { objection: Some("unset $HOB_NO_FETCH".to_owned()) },
            EmbeddingState::Ready { name: "all-MiniLM-L6-v2".to_owned() },
            EmbeddingState::Broken { why: "config.json is missing".to_owned() },
        ];
        insta::assert_snapshot!(all.map(|all| embedding(&all).to_string()).join("\n"), @r"
        note embeddings: they are off: what is remembered is found by words alone
        note embeddings: the model is not here yet; `hob run` fetches it, and until then what is remembered is found by words alone
        warn embeddings: what is remembered is found by words alone; unset $HOB_NO_FETCH
        ok   embeddings: all-MiniLM-L6-v2 is ready
        fail embeddings: config.json is missing: what is remembered is found by words alone; see to [memory.embedding]
        ");
    }
}
