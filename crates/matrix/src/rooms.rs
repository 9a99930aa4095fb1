//! What is known of rooms: who is in them, how they are called there, and whether what is said is sealed.
//!
//! It is asked for when it is needed, and again once the sync tells of a change. That a room is sealed is kept for good: no server
//! can take it back.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ruma::{OwnedRoomId, OwnedUserId, RoomId, UserId};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::call::CallError;
use crate::key_store::Kind;
use crate::machine::MachineError;
use crate::session::Session;
use hob_core::domain::text::chosen_name;

/// How many rooms are known at a time.
const ROOMS_MAX: usize = 1_000;

/// Somebody in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    name: Option<String>,
    /// Not only invited.
    has_joined: bool,
}

/// A room.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    members: BTreeMap<OwnedUserId, Member>,
    pub(super) is_encrypted: bool,
}

impl Room {
    /// From the answer to `/members`.
    pub(super) fn of(answer: &Value, is_encrypted: bool) -> Self {
        let member = |event: &Value| {
            let membership = event["content"]["membership"].as_str()?;
            let name = event["content"]["displayname"].as_str().filter(|name| !name.is_empty());
            let id = UserId::parse(event["state_key"].as_str()?).ok()?;
            let member = Member { name: name.map(chosen_name), has_joined: membership == "join" };
            matches!(membership, "join" | "invite").then_some((id, member))
        };
        Self { members: answer["chunk"].as_array().into_iter().flatten().filter_map(member).collect(), is_encrypted }
    }

    /// Does one person alone talk with Hob here?
    pub(super) fn is_private(&self) -> bool {
        self.members.len() <= 2
    }

    /// Those who are in it.
    pub(super) fn joined(&self) -> impl Iterator<Item = &UserId> {
        self.members.iter().filter(|(_, member)| member.has_joined).map(|(id, _)| &**id)
    }

    /// How somebody is called here.
    pub(super) fn name_of(&self, user: &str) -> String {
        let known = UserId::parse(user).ok().and_then(|id| self.members.get(&id)?.name.clone());
        known.unwrap_or_else(|| user.to_owned())
    }
}

/// Those that were needed of late.
#[derive(Default)]
pub(super) struct Rooms(Mutex<HashMap<OwnedRoomId, Arc<Room>>>);

impl Rooms {
    pub(super) async fn get(&self, session: &Session, room: &RoomId) -> Result<Arc<Room>, MachineError> {
        let mut known = self.0.lock().await;
        if let Some(found) = known.get(room) {
            return Ok(Arc::clone(found));
        }
        let is_encrypted = is_encrypted(session, room).await?;
        let members = session.api.get(&["client", "v3", "rooms", room.as_str(), "members"]).await?;
        let found = Arc::new(Room::of(&members, is_encrypted));
        if known.len() >= ROOMS_MAX {
            known.clear();
        }
        known.insert(room.to_owned(), Arc::clone(&found));
        drop(known);
        if found.is_encrypted {
            // Whose devices are not known, of them nobody can tell whose words are theirs.
            session.know_devices(&found).await?;
        }
        Ok(found)
    }

    /// Something in it has changed.
    pub(super) async fn forget(&self, room: &RoomId) {
        self.0.lock().await.remove(room);
    }
}

async fn is_encrypted(session: &Session, room: &RoomId) -> Result<bool, MachineError> {
    let name = format!("encrypted:{room}");
    let unkept = |error: crate::key_store::KeyStoreError| MachineError::Store(error.into());
    if session.keys.get::<bool>(Kind::Own.named(&name)).await.map_err(unkept)?.is_some() {
        return Ok(true);
    }
    match session.api.get(&["client", "v3", "rooms", room.as_str(), "state", "m.room.encryption", ""]).await {
        Ok(_) => {
            session.keys.set(Kind::Own.named(&name), &true).await.map_err(unkept)?;
            Ok(true)
        }
        Err(error @ CallError::Refused { .. }) if error.code() == Some("M_NOT_FOUND") => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn f11_who_is_there_decides_whether_it_is_private() {
        let member = |id: &str, membership: &str, name: Option<&str>| json!({"state_key": id, "content": {"membership": membership, "displayname": name}});
        let two = [
            member("@hob:x", "join", Some("Hob")),
            member("@ada:x", "join", Some("Ada\n")),
            member("@eve:x", "leave", None),
        ];
        let room = Room::of(&json!({"chunk": two}), true);
        assert!(room.is_private() && room.is_encrypted);
        assert_eq!((room.name_of("@ada:x"), room.name_of("@eve:x")), ("Ada".to_owned(), "@eve:x".to_owned()));
        // Who is only invited may come in at any time, but gets no keys before.
        let three = [&two[0], &two[1], &member("@bob:x", "invite", None)];
        let room = Room::of(&json!({"chunk": three}), false);
        assert!(!room.is_private());
        assert_eq!(room.joined().map(UserId::as_str).collect::<Vec<_>>(), ["@ada:x", "@hob:x"]);
    }
}
