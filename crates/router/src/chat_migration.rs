//! A chat that has another id from now on: its conversation goes on.

use crate::intake::Router;
use hob_core::domain::inbound::Conversation;
use hob_store::error::StoreError;
use hob_store::{Tx, chat_migration, sessions};

/// The chat of a place has this id now.
#[derive(Clone)]
struct ChatMigration {
    place: Conversation,
    chat: String,
}

impl ChatMigration {
    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        chat_migration::group_mode(tx, &self.place, &self.chat).await?;
        chat_migration::schedules(tx, &self.place, &self.chat).await?;
        let (key, new) = self.keys();
        sessions::rename(tx, &key, &new).await
    }

    /// The conversation's name, before and after.
    fn keys(&self) -> (String, String) {
        let new = Conversation { chat: self.chat.clone(), ..self.place.clone() };
        (self.place.session_key().0, new.session_key().0)
    }
}

impl Router {
    /// The conversation of a place goes on in another chat, with what was chosen for it and what is to be done there. What is
    /// still to be said goes to the old id, and the channel brings it to the new one.
    pub(super) async fn migrate_chat(&self, place: Conversation, chat: &str) -> Result<(), StoreError> {
        let moved = ChatMigration { place, chat: chat.to_owned() };
        let (key, new) = moved.keys();
        if self.store.write(async move |tx| moved.run(tx).await).await? {
            tracing::info!(was = key, session = new, "session.moved: the platform gave its chat another id");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::inbound::ChannelKind;
    use hob_store::{SchedulingMode, Store};

    const SCHEDULE: &str =
        "INSERT INTO schedules (source, name, user_id, channel, account, chat, task, rule, zone, asked,
        taint, state, grace_secs, coalesces, created_at) VALUES";

    #[tokio::test]
    async fn k2_what_was_chosen_for_a_group_and_is_to_be_done_there_moves_with_it() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let ask = async |sql: &str| {
            let sql = sql.to_owned();
            let ask = async move |tx: &mut Tx| -> Result<Vec<String>, StoreError> {
                Ok(sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_all(tx).await?)
            };
            store.write(ask).await.unwrap()
        };
        ask("INSERT INTO users (name, role, created_at) VALUES ('Ada', 'user', 1) RETURNING ''").await;
        ask("INSERT INTO sessions (key, channel, created_at) VALUES ('-77', 'telegram', 1) RETURNING ''").await;
        let modes = "('telegram', 'default', '-77', 'off'), ('telegram', 'work', '-77', 'all'),
            ('telegram', 'default', '-78', 'off'), ('telegram', 'default', '-10078', 'all')";
        ask(&format!("INSERT INTO group_modes (channel, account, chat, mode) VALUES {modes} RETURNING ''")).await;
        for (source, name, account) in
            [("chat", "NULL", "default"), ("config", "'c'", "default"), ("chat", "NULL", "work")]
        {
            let row = format!(
                "('{source}', {name}, 1, 'telegram', '{account}', '-77', '', '', '', '', '', 'active', 1, 1, 1)"
            );
            ask(&format!("{SCHEDULE} {row} RETURNING ''")).await;
        }
        let account = "default".to_owned();
        let place = |chat: &str| {
            let (channel, chat) = (ChannelKind::Telegram, chat.to_owned());
            Conversation { channel, account: account.clone(), chat, thread: None }
        };
        let moved = async |from: &str, to: &str| {
            let moved = ChatMigration { place: place(from), chat: to.to_owned() };
            store.write(async move |tx| moved.run(tx).await).await
        };
        assert!(moved("-77", "-10077").await.unwrap());
        assert!(!moved("-77", "-10077").await.unwrap(), "both chats tell");
        assert!(!moved("-78", "-10078").await.unwrap(), "nobody has talked there");
        let modes = ask("SELECT account || ' ' || chat || ' ' || mode FROM group_modes ORDER BY 1").await;
        // What was chosen in the new chat stands.
        let expected = ["default -10077 off", "default -10078 all", "default -78 off", "work -77 all"];
        assert_eq!(modes, expected);
        let schedules = ask("SELECT source || ' ' || account || ' ' || chat FROM schedules ORDER BY id").await;
        assert_eq!(schedules, ["chat default -10077", "config default -77", "chat work -77"]);
        assert_eq!(ask("SELECT key FROM sessions").await, ["-10077"]);
        store.close().await;
    }
}
