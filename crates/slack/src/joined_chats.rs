//! Where Hob is: a slash command can be typed anywhere, and is answered only where Hob can write.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;
use tracing::debug;

use crate::call::{CallError, WebApi};
use hob_core::domain::lock::lock;

/// How long may be asked: a command has to be answered in time.
const ASKED_FOR_MAX: Duration = Duration::from_millis(1_200);

/// What is said to whoever types a command where Hob is not; they alone see it.
pub(super) const ELSEWHERE: &str = "I am not in this conversation. Invite me here, or write to me directly.";

/// The chats that Hob is in, as far as it was asked; as old as the connection.
#[derive(Debug, Default)]
pub(super) struct JoinedChats(Mutex<BTreeSet<String>>);

impl JoinedChats {
    /// Is Hob certainly not in this chat? Where Slack does not say so in time, it may be.
    pub(super) async fn is_elsewhere(&self, web: &WebApi, chat: &str) -> bool {
        if lock(&self.0).contains(chat) {
            return false;
        }
        let arguments = [("channel", chat.to_owned())];
        let Ok(asked) = tokio::time::timeout(ASKED_FOR_MAX, web.get("conversations.info", &arguments)).await else {
            return false;
        };
        let elsewhere = is_outsider(&asked);
        match asked {
            Ok(_) if !elsewhere => {
                lock(&self.0).insert(chat.to_owned());
            }
            // Whoever is told to invite Hob may do so: that is asked for anew each time.
            Ok(_) => {}
            Err(error) => debug!(channel = "slack", %error, "where a command was typed is not known: {error}"),
        }
        elsewhere
    }
}

/// A public channel says whether Hob is a member; what is others' alone is not there for it.
fn is_outsider(asked: &Result<Value, CallError>) -> bool {
    match asked {
        Ok(answer) => {
            let chat = &answer["channel"];
            chat["is_member"] == false && chat["is_im"] != true && chat["is_mpim"] != true
        }
        Err(error) => error.code() == Some("channel_not_found"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn k2_hob_is_elsewhere_only_where_slack_says_so() {
        let told = |chat: Value| Ok(json!({"ok": true, "channel": chat}));
        let refused = |code: &str| Err(CallError::Api { code: code.to_owned(), details: None, retry_after: None });
        let table = [
            (told(json!({"id": "C1", "is_channel": true, "is_member": true})), false),
            (told(json!({"id": "C1", "is_channel": true, "is_member": false})), true),
            (told(json!({"id": "D1", "is_im": true})), false),
            (told(json!({"id": "G1", "is_mpim": true})), false),
            (refused("channel_not_found"), true),
            (refused("missing_scope"), false),
            (refused("ratelimited"), false),
            (Err(CallError::Lost("cut".to_owned())), false),
        ];
        for (asked, expected) in table {
            assert_eq!(is_outsider(&asked), expected, "{asked:?}");
        }
    }
}
