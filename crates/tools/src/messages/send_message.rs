//! `send_message`: words before the answer, or to somebody else.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::messages::addresses::Addresses;
use crate::messages::{HERE, MODULE};
use crate::registry::{parse, spec_of};
use crate::{Invocation, MentionCheck, Outcome, Request, Tool, ToolResult, ToolSpec};
use hob_core::domain::outgoing::DeliveryRequest;
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, DangerGrade, Risk, ToolFacts};

/// The most characters of one message.
const CHARS_MAX: usize = 20_000;
/// How much of it a question for approval shows.
const SHOWN_CHARS: usize = 120;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
    /// A name; without it: here.
    to: Option<String>,
}

/// The tool. It may be run twice: only what is recorded of it is sent, once.
pub struct SendMessage {
    spec: ToolSpec,
    addresses: Addresses,
}

impl SendMessage {
    /// Knows these destinations.
    pub fn new(addresses: Addresses) -> Self {
        let about = "Sends a message besides your answer; to others only for the owner.";
        let facts = ToolFacts { changes: true, risk: Risk::Send, ..ToolFacts::default() };
        let spec = spec_of::<Arguments>("send_message", about, true).of(MODULE, Role::User).with(facts).shown_on_need();
        Self { spec, addresses }
    }
}

#[async_trait]
impl Tool for SendMessage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_content(&self, argument: &str) -> bool {
        argument == "text"
    }

    fn settled(&self) -> Vec<String> {
        self.addresses.0.keys().cloned().collect()
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let word = |key| invocation.arguments.get(key).and_then(serde_json::Value::as_str);
        // Here it says no more than the answer could.
        let Some(to) = word("to") else {
            return Assessment::usual(Risk::Write);
        };
        if let Err(why) = self.addresses.find(&invocation.principal, to) {
            let reasons = vec![why.trim_end_matches('.').to_owned()];
            return Assessment { grade: DangerGrade::Refused, reasons, ..Assessment::usual(Risk::Send) };
        }
        let text: String = word("text").unwrap_or_default().chars().take(SHOWN_CHARS).collect();
        let reasons = vec![format!("It tells {to}: {text:?}")];
        Assessment { grade: DangerGrade::Medium, reasons, ..Assessment::usual(Risk::Send) }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { text, to } = parse(&self.spec, invocation.arguments)?;
        if text.trim().is_empty() || text.chars().count() > CHARS_MAX {
            return Err(Outcome::Error(format!("The text must have between 1 and {CHARS_MAX} characters.")));
        }
        let (to, name) = match to {
            None => (None, HERE.to_owned()),
            Some(name) => {
                let found = self.addresses.find(&invocation.principal, &name).map_err(Outcome::Error)?;
                (Some(found.clone()), name)
            }
        };
        Ok(Outcome::Request(Request::Deliver(Box::new(DeliveryRequest { to, name, text, file: None }))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use hob_core::domain::inbound::{ChannelKind, Conversation};
    use hob_core::domain::principal::Trust;

    fn invocation(role: Role, arguments: serde_json::Value) -> Invocation {
        let mut invocation = Invocation::for_trial(arguments);
        invocation.principal.role = role;
        invocation
    }

    fn tool() -> SendMessage {
        let (account, chat) = ("default".to_owned(), "-9".to_owned());
        let family = Conversation { channel: ChannelKind::Telegram, account, chat, thread: None };
        SendMessage::new(Addresses([("family".to_owned(), family)].into()))
    }

    #[tokio::test]
    async fn c5_only_the_owner_writes_to_others_and_only_to_named_ones() {
        let elsewhere = json!({ "text": "hi", "to": "Family" });
        let table = [
            (Role::User, json!({ "text": "hi" }), Risk::Write, DangerGrade::Safe, true),
            (Role::User, elsewhere.clone(), Risk::Send, DangerGrade::Refused, false),
            (Role::Admin, elsewhere.clone(), Risk::Send, DangerGrade::Refused, false),
            (Role::Owner, elsewhere.clone(), Risk::Send, DangerGrade::Medium, true),
            (Role::Owner, json!({ "text": "hi", "to": "12345" }), Risk::Send, DangerGrade::Refused, false),
        ];
        for (role, arguments, risk, grade, sent) in table {
            let asked = invocation(role, arguments.clone());
            let assessed = tool().assess(&asked, &|_| false).await;
            assert_eq!((assessed.risk, assessed.grade), (risk, grade), "{role:?} {arguments}");
            let outcome = Outcome::of(tool().call(asked).await);
            assert_eq!(matches!(outcome, Outcome::Request(Request::Deliver(_))), sent, "{outcome:?}");
        }
        let mut strange = invocation(Role::Owner, elsewhere);
        strange.principal.trust = Trust::Untrusted;
        assert!(
            matches!(Outcome::of(tool().call(strange).await), Outcome::Error(_)),
            "what comes from outside is nobody's word"
        );
    }
}
