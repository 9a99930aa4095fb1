//! Hob's tools for a home: against a real Home Assistant, and against one that lies.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod fake;
mod lies;
mod real;
#[expect(dead_code, reason = "the tests of the page use the rest")]
mod server;
mod watch;

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use hob_core::domain::clock::SystemClock;
use hob_core::domain::ids::{CallId, RunId, UserId};
use hob_core::domain::inbound::{ChannelKind, DEFAULT_ACCOUNT};
use hob_core::domain::origin::Origin;
use hob_core::domain::principal::{Principal, Role};
use hob_core::domain::secret::Secret;
use hob_core::domain::tools::{Assessment, DangerGrade, Risk};
use hob_core::domain::undo::InverseCall;
use hob_core::policy::net::AllowedPlaces;
use hob_home::client::Client;
use hob_home::exposure::Exposure;
use hob_home::home::{Home, Settings};
use hob_home::tools;
use hob_store::users::{Identity, ensure};
use hob_store::{SchedulingMode, Store};
use hob_tools::net::EgressGuard;
use hob_tools::net::resolve::SystemResolver;
use hob_tools::schedule::ScheduleKeeper;
use hob_tools::{Invocation, Outcome, Tool};

/// What a tool said.
#[derive(Debug)]
struct ToolOutput {
    text: String,
    failed: bool,
    tainted: bool,
    /// What takes it back.
    back: Option<InverseCall>,
}

fn tool_output(outcome: Outcome) -> ToolOutput {
    match outcome {
        Outcome::Text(text) => ToolOutput { text, failed: false, tainted: false, back: None },
        Outcome::Error(text) | Outcome::Transient(text) => {
            ToolOutput { text, failed: true, tainted: false, back: None }
        }
        Outcome::Undoable(back, inner) => ToolOutput { back: Some(*back), ..tool_output(*inner) },
        Outcome::From(source, inner) => {
            assert_eq!((source.origin, source.to_string().contains("Home Assistant")), (Origin::Tool, true));
            ToolOutput { tainted: true, ..tool_output(*inner) }
        }
        other => panic!("{other:?}"),
    }
}

/// The run in which she asks.
const RUN: [&str; 3] = [
    "INSERT INTO sessions (id, key, channel, created_at) VALUES (7, '7', 'telegram', 0)",
    "INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance, disposition, sent_at,
       received_at) VALUES (1, 7, 1, 'telegram', 'default', '7', '1', 'hi', 0, 'run', 0, 0)",
    "INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at) VALUES (1, 7, 1, 1, 'running', 0)",
];

/// Ada's tools, with what they work on.
struct Kit {
    _dir: TempDir,
    home: Arc<Home>,
    keeper: ScheduleKeeper,
    tools: Vec<Arc<dyn Tool>>,
    user: UserId,
    calls: std::cell::Cell<usize>,
}

fn client(url: &str, token: &str) -> Client {
    let guard = EgressGuard::new(AllowedPlaces::default(), Arc::new(SystemResolver));
    Client::new(&guard, Url::parse(url).unwrap(), Secret::new(token.to_owned())).unwrap()
}

impl Kit {
    async fn of(url: &str, token: &str, entities: &[&str], critical: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let user = store
            .write(async move |tx| {
                let (channel, account, name) = (ChannelKind::Telegram, DEFAULT_ACCOUNT, "ada");
                let of = Identity { channel, account, external_id: name, name, role: Role::User, others: Vec::new() };
                let user = ensure(tx, &of, Timestamp::UNIX_EPOCH).await?;
                for row in RUN {
                    sqlx::query(row).execute(&mut *tx).await?;
                }
                Ok(user)
            })
            .await
            .unwrap();
        let listed = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let exposure = Exposure::new(listed(entities), listed(critical));
        let settings = Settings { clock: Arc::new(SystemClock), exposure, role: Role::User };
        let home = Arc::new(Home::new(client(url, token), settings));
        let keeper = ScheduleKeeper { store, zone: TimeZone::UTC, alarm: Arc::default() };
        let tools = tools::all(&home, keeper.clone());
        Self { _dir: dir, home, keeper, tools, user, calls: 0.into() }
    }

    fn invocation(&self, arguments: Value) -> Invocation {
        self.calls.set(self.calls.get() + 1);
        let invocation = Invocation::for_trial(arguments);
        Invocation {
            principal: Principal { user: self.user, ..invocation.principal },
            run: RunId(1),
            call: CallId::new(1, self.calls.get()),
            now: "2026-11-26T12:00:00Z".parse().unwrap(),
            ..invocation
        }
    }

    fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().schema.name == name).unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        tool_output(Outcome::of(self.tool(tool).call(self.invocation(arguments)).await))
    }

    async fn look(&self, arguments: Value) -> ToolOutput {
        self.call("home_look", arguments).await
    }

    async fn order(&self, service: &str, entities: &[&str], data: Value) -> ToolOutput {
        self.call("home_do", json!({ "service": service, "entities": entities, "data": data })).await
    }

    async fn grade(&self, service: &str, entities: &[&str]) -> (DangerGrade, String) {
        let invocation = self.invocation(json!({ "service": service, "entities": entities }));
        let known = self.tool("home_do").assess(&invocation, &|_| false).await;
        let Assessment { risk, grade, reasons, .. } = known;
        assert_eq!(risk, Risk::Execute, "it has an effect");
        (grade, reasons.join("; "))
    }
}
