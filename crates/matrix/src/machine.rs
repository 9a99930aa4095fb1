//! The keys at work: what the crypto machine wants asked, who gets a room's key, and what comes out of a sealed message.

use std::ops::Deref;
use std::time::Duration;

use matrix_sdk_common::deserialized_responses::{VerificationLevel, VerificationState};
use matrix_sdk_crypto::store::CryptoStoreError;
use matrix_sdk_crypto::types::requests::{
    AnyOutgoingRequest, OutgoingRequest, OutgoingVerificationRequest, ToDeviceRequest,
};
use matrix_sdk_crypto::{
    CrossSigningBootstrapRequests, DecryptionSettings, EncryptionSettings, EncryptionSyncChanges, MegolmError,
    OlmError, TrustRequirement,
};
use ruma::api::client::keys::{get_keys, upload_signatures};
use ruma::api::client::message::send_message_event;
use ruma::api::client::sync::sync_events::v3::Response;
use ruma::api::client::to_device::send_event_to_device;
use ruma::events::MessageLikeEventContent as _;
use ruma::serde::Raw;
use ruma::{OwnedEventId, OwnedUserId, RoomId, TransactionId, UserId};
use serde_json::{Value, json};
use tracing::info;

use crate::call::CallError;
use crate::rooms::Room;
use crate::session::Session;
use hob_core::domain::inbound::SenderProof;
use hob_core::domain::secret::Secret;

/// Keys could not be exchanged, or not be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum MachineError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the keys cannot be kept: {0}")]
    Store(#[from] CryptoStoreError),
    #[error("the keys: {0}")]
    Olm(#[from] OlmError),
    #[error("the message could not be encrypted: {0}")]
    Megolm(#[from] MegolmError),
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// What a sealed message turned out to be.
pub(super) enum Opened {
    Read {
        event: Value,
        proof: SenderProof,
    },
    /// Its key is not here, or not yet.
    Unreadable {
        why: String,
    },
}

/// Reads from everybody: whose words count for what, the proof says.
pub(super) fn reading() -> DecryptionSettings {
    DecryptionSettings { sender_device_trust_requirement: TrustRequirement::Untrusted }
}

/// What a sync says of keys. Its token is not among it: that is kept when all is handed in.
pub(super) fn changes(answer: &Response) -> EncryptionSyncChanges<'_> {
    EncryptionSyncChanges {
        to_device_events: answer.to_device.events.clone(),
        changed_devices: &answer.device_lists,
        one_time_keys_counts: &answer.device_one_time_keys_count,
        unused_fallback_keys: answer.device_unused_fallback_key_types.as_deref(),
        next_batch_token: None,
    }
}

impl Session {
    /// Asks the homeserver whatever the machine wants asked, until there is nothing left.
    pub(super) async fn exchange_keys(&self) -> Result<(), MachineError> {
        for said in self.ask_for_keys().await? {
            self.ask_for_machine(&said).await?;
        }
        Ok(())
    }

    /// The same but for what is to be said in rooms, where a key must be given out first; that is returned.
    async fn ask_for_keys(&self) -> Result<Vec<OutgoingRequest>, MachineError> {
        let _alone = self.exchanging.lock().await;
        loop {
            let wanted = self.machine.outgoing_requests().await?;
            let is_said = |request: &OutgoingRequest| matches!(request.request(), AnyOutgoingRequest::RoomMessage(_));
            let (said, wanted): (Vec<_>, Vec<_>) = wanted.into_iter().partition(is_said);
            if wanted.is_empty() {
                return Ok(said);
            }
            for request in &wanted {
                self.ask_server(request).await?;
            }
        }
    }

    pub(super) async fn ask_for_machine(&self, wanted: &OutgoingRequest) -> Result<(), MachineError> {
        let AnyOutgoingRequest::RoomMessage(request) = wanted.request() else {
            return self.ask_server(wanted).await;
        };
        let (kind, content) = (request.content.event_type().to_string(), serde_json::to_value(&request.content)?);
        let event = self.send_in_room(&request.room_id, &kind, &request.txn_id, &content).await?;
        // The machine wants to know that it went out, and not as what.
        let Ok(event) = OwnedEventId::try_from(event) else { return Ok(()) };
        let answer = send_message_event::v3::Response::new(event);
        Ok(self.machine.mark_request_as_sent(wanted.request_id(), &answer).await?)
    }

    async fn ask_server(&self, wanted: &OutgoingRequest) -> Result<(), MachineError> {
        let (api, machine, id, wait) = (&self.api, &self.machine, wanted.request_id(), Duration::ZERO);
        match wanted.request() {
            AnyOutgoingRequest::KeysUpload(request) => {
                machine.mark_request_as_sent(id, &api.ask(request.clone(), wait).await?).await?;
            }
            AnyOutgoingRequest::KeysQuery(request) => {
                let mut query = get_keys::v3::Request::new();
                query.device_keys = request.device_keys.clone();
                machine.mark_request_as_sent(id, &api.ask(query, wait).await?).await?;
            }
            AnyOutgoingRequest::KeysClaim(request) => {
                machine.mark_request_as_sent(id, &api.ask(request.clone(), wait).await?).await?;
            }
            AnyOutgoingRequest::ToDeviceRequest(request) => self.send_to_devices(request).await?,
            AnyOutgoingRequest::SignatureUpload(request) => {
                machine.mark_request_as_sent(id, &api.ask(request.clone(), wait).await?).await?;
            }
            // It is said by `ask_for_machine`.
            AnyOutgoingRequest::RoomMessage(_) => {}
        }
        Ok(())
    }

    /// Learns which devices those have who are in a room.
    pub(super) async fn know_devices(&self, people: &Room) -> Result<(), MachineError> {
        let joined: Vec<OwnedUserId> = people.joined().map(UserId::to_owned).collect();
        self.machine.update_tracked_users(joined.iter().map(Deref::deref)).await?;
        self.ask_for_keys().await.map(drop)
    }

    async fn send_to_devices(&self, request: &ToDeviceRequest) -> Result<(), MachineError> {
        let (kind, id, messages) = (request.event_type.clone(), request.txn_id.clone(), request.messages.clone());
        let sent = send_event_to_device::v3::Request::new_raw(kind, id, messages);
        let answer = self.api.ask(sent, Duration::ZERO).await?;
        Ok(self.machine.mark_request_as_sent(&request.txn_id, &answer).await?)
    }

    /// What a verification wants said.
    pub(super) async fn say_in_verification(&self, request: OutgoingVerificationRequest) -> Result<(), MachineError> {
        self.ask_for_machine(&request.into()).await
    }

    pub(super) async fn upload_signatures(&self, request: upload_signatures::v3::Request) -> Result<(), MachineError> {
        self.ask_for_machine(&request.into()).await
    }

    /// Gives the room's key to the devices of all who are in it.
    async fn share_key(&self, room: &RoomId, people: &Room) -> Result<(), MachineError> {
        let _alone = self.sharing.lock().await;
        self.know_devices(people).await?;
        let joined: Vec<OwnedUserId> = people.joined().map(UserId::to_owned).collect();
        if let Some((id, claim)) = self.machine.get_missing_sessions(joined.iter().map(Deref::deref)).await? {
            let answer = self.api.ask(claim, Duration::ZERO).await?;
            self.machine.mark_request_as_sent(&id, &answer).await?;
        }
        let shared =
            self.machine.share_room_key(room, joined.iter().map(Deref::deref), EncryptionSettings::default()).await?;
        for request in shared {
            self.send_to_devices(&request).await?;
        }
        Ok(())
    }

    /// Sends an event under this transaction: sent again, it is the same event, and gives the same id.
    pub(super) async fn send_in_room(
        &self,
        room: &RoomId,
        kind: &str,
        transaction: &TransactionId,
        content: &Value,
    ) -> Result<String, MachineError> {
        let people = self.rooms.get(self, room).await?;
        // Reactions and redactions are shown by servers: no client seals them.
        let sealed = if people.is_encrypted && kind != "m.reaction" {
            self.share_key(room, &people).await?;
            let raw = Raw::from_json_string(content.to_string())?;
            let sealed = self.machine.encrypt_room_event_raw(room, kind, &raw).await?;
            Some(serde_json::from_str::<Value>(sealed.content.json().get())?)
        } else {
            None
        };
        let (kind, content) = sealed.as_ref().map_or((kind, content), |sealed| ("m.room.encrypted", sealed));
        let path = ["client", "v3", "rooms", room.as_str(), "send", kind, transaction.as_str()];
        let answer = self.api.put(&path, content).await?;
        Ok(answer["event_id"].as_str().unwrap_or_default().to_owned())
    }

    /// Opens a sealed message.
    pub(super) async fn unseal(&self, room: &RoomId, sealed: &Value) -> Result<Opened, MachineError> {
        let raw = Raw::from_json_string(sealed.to_string())?;
        let opened = match self.machine.decrypt_room_event(&raw, room, &reading()).await {
            Ok(opened) => opened,
            Err(MegolmError::Store(error)) => return Err(error.into()),
            Err(error) => return Ok(Opened::Unreadable { why: error.to_string() }),
        };
        let event = serde_json::from_str(opened.event.json().get())?;
        Ok(Opened::Read { event, proof: proof(&opened.encryption_info.verification_state) })
    }

    /// Makes the account's cross-signing keys, if it has none, and signs this device with them.
    pub(super) async fn sign_device(&self, password: &Secret, replaces: bool) -> Result<(), MachineError> {
        if self.machine.cross_signing_status().await.is_complete() && !replaces {
            return Ok(());
        }
        if !replaces && self.machine.get_identity(&self.me, None).await?.is_some() {
            let what = "another device made this account's cross-signing keys: `hob matrix verify`, with Hob stopped, has it sign this one";
            info!(channel = "matrix", "{what}");
            return Ok(());
        }
        let CrossSigningBootstrapRequests { upload_keys_req, upload_signing_keys_req, upload_signatures_req } =
            self.machine.bootstrap_cross_signing(replaces).await?;
        if let Some(request) = &upload_keys_req {
            self.ask_for_machine(request).await?;
        }
        let keys = json!({
            "master_key": upload_signing_keys_req.master_key,
            "self_signing_key": upload_signing_keys_req.self_signing_key,
            "user_signing_key": upload_signing_keys_req.user_signing_key,
        });
        self.upload_signing_keys(keys, password).await?;
        self.upload_signatures(upload_signatures_req).await
    }

    /// The server may want the password once more.
    async fn upload_signing_keys(&self, mut keys: Value, password: &Secret) -> Result<(), MachineError> {
        let path = ["client", "v3", "keys", "device_signing", "upload"];
        let session = match self.api.post(&path, &keys).await {
            Err(CallError::Refused { code, body, .. }) if code == "M_UIA" => body["session"].clone(),
            answer => return Ok(answer.map(drop)?),
        };
        keys["auth"] = json!({
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": self.me},
            "password": password.expose(),
            "session": session,
        });
        Ok(self.api.post(&path, &keys).await.map(drop)?)
    }

    /// Are the keys that the server shows of this device the ones that are here? None: it shows none.
    pub(super) async fn keys_match(&self) -> Result<Option<bool>, MachineError> {
        let (me, device) = (self.me.as_str(), self.machine.device_id().as_str());
        let shown = self.api.post(&["client", "v3", "keys", "query"], &json!({"device_keys": {me: [device]}})).await?;
        let shown = shown["device_keys"][me][device]["keys"][format!("ed25519:{device}")].as_str().map(str::to_owned);
        let own = self.machine.identity_keys().ed25519.to_base64();
        Ok(shown.map(|shown| shown == own))
    }
}

/// How sure it is whose words a sealed message holds. That a device is not verified says nothing against its owner.
fn proof(state: &VerificationState) -> SenderProof {
    match state {
        VerificationState::Verified
        | VerificationState::Unverified(VerificationLevel::UnverifiedIdentity | VerificationLevel::UnsignedDevice) => {
            SenderProof::Platform
        }
        VerificationState::Unverified(
            level @ (VerificationLevel::VerificationViolation
            | VerificationLevel::None(_)
            | VerificationLevel::MismatchedSender),
        ) => SenderProof::Nobody { why: level.to_string() },
    }
}
