//! Hooks: the operator's own programs that are asked before a tool call, and told after it (row E7).
//!
//! Each gets the call as JSON on its standard input and answers by its exit code: 0 lets it through, 2 blocks it with the
//! reason on standard output. Whatever else it does is not a verdict: it ended otherwise, it is missing, it took too long.
//!
//! | | before the call | after it |
//! |---|---|---|
//! | 0 | the call is made | the result is shown |
//! | 2 | the call is not made; the model reads the reason | the model reads the reason in place of the result, as an error |
//! | no verdict | not made, unless `on_failure = "allow"` | logged; the result is shown |
//!
//! Never: a word of a hook to a person, or an effect of its own on the run.
//! Start at [`Hooks`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::Invocation;
use crate::process::{self, ProcessSpec};
use crate::process_reaper::ProcessReaper;
use crate::sandbox::confinement::Confinement;
use hob_config::hooks::HookMoment;
use hob_core::domain::origin::OriginSource;
use hob_core::domain::principal::Role;

/// The exit code that blocks.
const BLOCKED: i32 = 2;
/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 1_000;
/// What is read of a hook's output, in bytes.
const OUTPUT_BYTES_MAX: usize = 16_384;

/// One hook, as configured and validated.
#[derive(Debug, Clone)]
pub struct Hook {
    pub moment: HookMoment,
    /// For which tools: names, or beginnings of names with a `*` behind; none: all.
    pub tools: Vec<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether a call goes on where a hook before it gave no verdict.
    pub allows_on_failure: bool,
    /// Its sandbox; none: the owner wants none.
    pub confinement: Option<Confinement>,
}

impl Hook {
    fn is_for(&self, moment: HookMoment, tool: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => tool.starts_with(start),
            None => tool == pattern,
        };
        self.moment == moment && (self.tools.is_empty() || self.tools.iter().any(fits))
    }

    /// What it is called to the operator and the model.
    fn name(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }
}

/// All hooks of this Hob.
#[derive(Debug, Clone)]
pub struct Hooks {
    hooks: Vec<Hook>,
    dir: PathBuf,
    leftovers: ProcessReaper,
}

/// What a hook reads.
#[derive(Serialize)]
struct HookPayload<'a> {
    event: &'static str,
    tool: &'a str,
    arguments: &'a Value,
    call: &'a str,
    attempt: u32,
    run: i64,
    session: &'a str,
    user: HookUser<'a>,
    untrusted: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
}

#[derive(Serialize)]
struct HookUser<'a> {
    name: &'a str,
    role: Role,
}

enum Verdict {
    Allow,
    Block(String),
    None(String),
}

impl Hooks {
    /// These, run in the data directory and marked as its own.
    pub fn new(hooks: Vec<Hook>, data_dir: &Path) -> Self {
        Self { hooks, dir: data_dir.to_owned(), leftovers: ProcessReaper::of(data_dir) }
    }

    /// Asks the hooks before a call, one after another: why it is blocked, for the model, if one of them blocks it.
    pub async fn block_reason(&self, tool: &str, call: &Invocation) -> Option<String> {
        for hook in self.hooks.iter().filter(|hook| hook.is_for(HookMoment::BeforeTool, tool)) {
            match self.ask(hook, &hook_payload("before_tool", tool, call, None)).await {
                Verdict::Allow => {}
                Verdict::Block(reason) => return Some(format!("Blocked by the hook {}: {reason}", hook.name())),
                Verdict::None(why) if hook.allows_on_failure => {
                    tracing::warn!(hook = hook.name(), tool, why, "tool.hook_failed: the call goes on");
                }
                Verdict::None(why) => {
                    tracing::warn!(hook = hook.name(), tool, why, "tool.hook_failed: the call is blocked");
                    return Some(format!("Blocked: the hook {} gave no verdict ({why}).", hook.name()));
                }
            }
        }
        None
    }

    /// Tells the hooks of a call and what came of it: why that is withheld, for the model, if one of them withholds it.
    pub async fn withhold_reason(&self, tool: &str, call: &Invocation, result: (&str, bool)) -> Option<String> {
        for hook in self.hooks.iter().filter(|hook| hook.is_for(HookMoment::AfterTool, tool)) {
            match self.ask(hook, &hook_payload("after_tool", tool, call, Some(result))).await {
                Verdict::Allow => {}
                Verdict::Block(reason) => {
                    let name = hook.name();
                    return Some(format!("The call was made, but the hook {name} withholds its result: {reason}"));
                }
                Verdict::None(why) => tracing::warn!(hook = hook.name(), tool, why, "tool.hook_failed"),
            }
        }
        None
    }

    async fn ask(&self, hook: &Hook, told: &HookPayload<'_>) -> Verdict {
        let input = match serde_json::to_vec(told) {
            Ok(input) => input,
            Err(error) => return Verdict::None(format!("the call cannot be written as JSON: {error}")),
        };
        let errand = ProcessSpec {
            vector: hook.command.clone(),
            dir: hook.confinement.as_ref().and_then(Confinement::home).unwrap_or(&self.dir).to_owned(),
            environment: Vec::new(),
            input: Some(input),
            bytes_max: OUTPUT_BYTES_MAX,
            leftovers: self.leftovers.clone(),
            confinement: hook.confinement.clone(),
        };
        // What the sandbox can be is found out in nobody's time.
        let _sandbox = errand.ready().await;
        match tokio::time::timeout(hook.timeout, Box::pin(process::run(errand))).await {
            Ok(Ok(ended)) if ended.status.success() => Verdict::Allow,
            Ok(Ok(ended)) if ended.status.code() == Some(BLOCKED) => Verdict::Block(reason(&ended.out)),
            Ok(Ok(ended)) => Verdict::None(ended.status.to_string()),
            Ok(Err(error)) => Verdict::None(format!("it could not be run: {error}")),
            Err(_elapsed) => Verdict::None(format!("stopped after {} s", hook.timeout.as_secs())),
        }
    }
}

fn hook_payload<'a>(
    event: &'static str,
    tool: &'a str,
    call: &'a Invocation,
    result: Option<(&'a str, bool)>,
) -> HookPayload<'a> {
    HookPayload {
        event,
        tool,
        arguments: &call.arguments,
        call: &call.call.0,
        attempt: call.attempt,
        run: call.run.0,
        session: &call.session.0,
        user: HookUser { name: &call.principal.name, role: call.principal.role },
        untrusted: call.is_tainted(),
        sources: call.taint.sources().map(OriginSource::to_string).collect(),
        result: result.map(|(text, _)| text),
        is_error: result.map(|(_, is_error)| is_error),
    }
}

/// The reason as a hook printed it, bounded.
fn reason(printed: &str) -> String {
    let printed = printed.trim();
    if printed.is_empty() {
        return "it gave no reason.".to_owned();
    }
    let end = printed.char_indices().nth(REASON_CHARS_MAX).map_or(printed.len(), |(at, _)| at);
    let dots = if end < printed.len() { "…" } else { "" };
    format!("{}{dots}", &printed[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::UserId;
    use hob_core::domain::origin::Origin;
    use hob_core::domain::principal::{Principal, Trust};

    fn hook(moment: HookMoment, tools: &[&str], script: &str) -> Hook {
        Hook {
            moment,
            tools: tools.iter().map(|name| (*name).to_owned()).collect(),
            command: vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()],
            timeout: Duration::from_secs(20),
            allows_on_failure: false,
            confinement: None,
        }
    }

    fn call() -> Invocation {
        Invocation {
            principal: Principal { user: UserId(3), name: "Ada".to_owned(), role: Role::User, trust: Trust::Untrusted },
            attempt: 2,
            taint: [OriginSource::new(Origin::Web, "https://a.example/")].into_iter().collect(),
            ..Invocation::for_trial(serde_json::json!({ "room": "kitchen" }))
        }
    }

    async fn before(hook: Hook) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        Hooks::new(vec![hook], dir.path()).block_reason("light", &call()).await
    }

    #[test]
    fn e7_names_beginnings_and_nothing_choose_tools() {
        for (tools, fits) in [
            (&[][..], true),
            (&["light"][..], true),
            (&["lamp", "light"][..], true),
            (&["lamp"][..], false),
            (&["ligh"][..], false),
            (&["ligh*"][..], true),
            (&["light*"][..], true),
            (&["lights*"][..], false),
            (&["*"][..], true),
        ] {
            assert_eq!(
                hook(HookMoment::BeforeTool, tools, "").is_for(HookMoment::BeforeTool, "light"),
                fits,
                "{tools:?}"
            );
            assert!(!hook(HookMoment::BeforeTool, tools, "").is_for(HookMoment::AfterTool, "light"));
        }
    }

    #[test]
    fn e7_reasons_are_bounded() {
        assert_eq!(reason(" not today\n"), "not today");
        assert_eq!(reason(" \n"), "it gave no reason.");
        assert_eq!(reason(&"ä".repeat(1_000)), "ä".repeat(1_000));
        assert_eq!(reason(&"ä".repeat(1_001)), format!("{}…", "ä".repeat(1_000)));
    }

    #[tokio::test]
    async fn e7_a_verdict_is_an_exit_code() {
        assert_eq!(before(hook(HookMoment::BeforeTool, &[], "exit 0")).await, None);
        let blocked = before(hook(HookMoment::BeforeTool, &[], "echo not after ten; exit 2")).await.unwrap();
        insta::assert_snapshot!(blocked, @"Blocked by the hook /bin/sh: not after ten");
        let broken = before(hook(HookMoment::BeforeTool, &[], "echo oh; exit 1")).await.unwrap();
        insta::assert_snapshot!(broken, @"Blocked: the hook /bin/sh gave no verdict (exit status: 1).");
        let allowed = Hook { allows_on_failure: true, ..hook(HookMoment::BeforeTool, &[], "exit 1") };
        assert_eq!(before(allowed).await, None);
        let still_blocks = Hook { allows_on_failure: true, ..hook(HookMoment::BeforeTool, &[], "exit 2") };
        assert!(before(still_blocks).await.is_some());
        let missing = Hook { command: vec!["/nonexistent/hook".to_owned()], ..hook(HookMoment::BeforeTool, &[], "") };
        insta::assert_snapshot!(before(missing).await.unwrap(), @"Blocked: the hook /nonexistent/hook gave no verdict (it could not be run: No such file or directory (os error 2)).");
        let hangs =
            Hook { timeout: Duration::from_millis(50), ..hook(HookMoment::BeforeTool, &[], "sleep 600 & wait") };
        insta::assert_snapshot!(before(hangs).await.unwrap(), @"Blocked: the hook /bin/sh gave no verdict (stopped after 0 s).");
    }

    #[tokio::test]
    async fn e7_a_hook_reads_the_call_and_its_result() {
        let dir = tempfile::tempdir().unwrap();
        let read = |moment| hook(moment, &[], "cat; exit 2");
        let hooks = Hooks::new(vec![read(HookMoment::BeforeTool), read(HookMoment::AfterTool)], dir.path());
        let before = hooks.block_reason("light", &call()).await.unwrap();
        insta::assert_snapshot!(before, @r#"Blocked by the hook /bin/sh: {"event":"before_tool","tool":"light","arguments":{"room":"kitchen"},"call":"1.0","attempt":2,"run":12,"session":"7","user":{"name":"Ada","role":"user"},"untrusted":true,"sources":["the web (https://a.example/)"]}"#);
        let after = hooks.withhold_reason("light", &call(), ("on", false)).await.unwrap();
        insta::assert_snapshot!(after, @r#"The call was made, but the hook /bin/sh withholds its result: {"event":"after_tool","tool":"light","arguments":{"room":"kitchen"},"call":"1.0","attempt":2,"run":12,"session":"7","user":{"name":"Ada","role":"user"},"untrusted":true,"sources":["the web (https://a.example/)"],"result":"on","is_error":false}"#);
        let broken = Hooks::new(vec![hook(HookMoment::AfterTool, &[], "exit 1")], dir.path());
        assert_eq!(broken.withhold_reason("light", &call(), ("on", false)).await, None, "a result is not lost to it");
    }

    #[tokio::test]
    async fn e7_a_hook_need_not_read_what_it_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let hooks = Hooks::new(vec![hook(HookMoment::AfterTool, &[], "exit 0")], dir.path());
        assert_eq!(hooks.withhold_reason("light", &call(), (&"x".repeat(1_000_000), false)).await, None);
    }
}
