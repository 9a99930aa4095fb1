//! The port of `matrix-sdk-crypto` to where keys are kept: what each of its types is in the file.

use std::collections::HashMap;

use async_trait::async_trait;
use matrix_sdk_crypto::olm::{
    Account, Curve25519PublicKey, InboundGroupSession, OlmMessageHash, OutboundGroupSession, PickledAccount,
    PickledCrossSigningIdentity, PickledInboundGroupSession, PickledOutboundGroupSession, PickledSession,
    PrivateCrossSigningIdentity, SenderDataType, Session,
};
use matrix_sdk_crypto::store::types::{
    BackupKeys, Changes, DehydratedDeviceKey, PendingChanges, RoomKeyCounts, RoomKeyWithheldEntry,
    RoomPendingKeyBundleDetails, RoomSettings, StoredRoomKeyBundleData, TrackedUser,
};
use matrix_sdk_crypto::store::{CryptoStore, CryptoStoreError};
use matrix_sdk_crypto::{DeviceData, GossipRequest, SecretInfo, UserIdentityData};
use ruma::events::secret::request::SecretName;
use ruma::{DeviceId, OwnedDeviceId, RoomId, TransactionId, UserId};
use zeroize::Zeroizing;

use crate::key_store::{Batch, KeyStore, KeyStoreError, Kind};
use hob_core::domain::lock::lock;

/// Names of what there is one of.
const BACKUP_KEY: &str = "backup_key";
const BACKUP_VERSION: &str = "backup_version";
const DEHYDRATION_KEY: &str = "dehydration_key";
const NEXT_BATCH: &str = "next_batch";

type Result<T> = std::result::Result<T, KeyStoreError>;

fn inbound(pickle: PickledInboundGroupSession) -> Result<InboundGroupSession> {
    Ok(InboundGroupSession::from_pickle(pickle)?)
}

impl KeyStore {
    async fn inbound_sessions(&self, scope: Option<&str>) -> Result<Vec<InboundGroupSession>> {
        self.all(Kind::InboundSession, scope).await?.into_iter().map(inbound).collect()
    }

    async fn put_inbound(&self, batch: &mut Batch, sessions: &[InboundGroupSession]) -> Result<()> {
        for session in sessions {
            let entry = Kind::InboundSession.at(session.room_id().as_str(), session.session_id());
            self.put(batch, entry, &session.pickle().await)?;
        }
        Ok(())
    }

    async fn put_account(&self, batch: &mut Batch, account: Option<Account>) -> Result<()> {
        if let Some(account) = account {
            *lock(&self.own) = Some(account.static_data().clone());
            self.put(batch, Kind::Account.named(""), &account.pickle())?;
        }
        Ok(())
    }

    /// The keys themselves.
    async fn put_keys(&self, batch: &mut Batch, changes: &Changes) -> Result<()> {
        if let Some(identity) = &changes.private_identity {
            self.put(batch, Kind::Identity.named(""), &identity.pickle().await)?;
        }
        for session in &changes.sessions {
            let sender = session.sender_key.to_base64();
            self.put(batch, Kind::Session.at(&sender, session.session_id()), &session.pickle().await)?;
        }
        self.put_inbound(batch, &changes.inbound_group_sessions).await?;
        for session in &changes.outbound_group_sessions {
            self.put(batch, Kind::OutboundSession.named(session.room_id().as_str()), &session.pickle().await)?;
        }
        for secret in &changes.secrets {
            let name = secret.secret_name.as_str();
            self.put(batch, Kind::Secret.at(name, &secret.secret), &*secret.secret)?;
        }
        for (room, bundle) in changes.received_room_key_bundles.iter().map(|it| (&it.bundle_data.room_id, it)) {
            self.put(batch, Kind::KeyBundle.at(room.as_str(), bundle.sender_user.as_str()), bundle)?;
        }
        Ok(())
    }

    /// Who is who, and what was asked and said of keys.
    fn put_records(&self, batch: &mut Batch, changes: &Changes) -> Result<()> {
        for device in changes.devices.new.iter().chain(&changes.devices.changed) {
            self.put(batch, Kind::Device.at(device.user_id().as_str(), device.device_id().as_str()), device)?;
        }
        for device in &changes.devices.deleted {
            self.drop(batch, Kind::Device.at(device.user_id().as_str(), device.device_id().as_str()));
        }
        for identity in changes.identities.new.iter().chain(&changes.identities.changed) {
            self.put(batch, Kind::UserIdentity.named(identity.user_id().as_str()), identity)?;
        }
        for hash in &changes.message_hashes {
            self.put(batch, Kind::MessageHash.at(&hash.sender_key, &hash.hash), &())?;
        }
        for request in &changes.key_requests {
            self.put(batch, Kind::KeyRequest.named(request.request_id.as_str()), request)?;
        }
        for (room, withheld) in &changes.withheld_session_info {
            for (session, entry) in withheld {
                self.put(batch, Kind::Withheld.at(room.as_str(), session), entry)?;
            }
        }
        for (room, settings) in &changes.room_settings {
            self.put(batch, Kind::RoomSettings.named(room.as_str()), settings)?;
        }
        for room in &changes.room_key_backups_fully_downloaded {
            self.put(batch, Kind::DownloadedRoom.named(room.as_str()), &())?;
        }
        for (room, details) in &changes.rooms_pending_key_bundle {
            match details {
                Some(details) => self.put(batch, Kind::PendingBundle.named(room.as_str()), details)?,
                None => self.drop(batch, Kind::PendingBundle.named(room.as_str())),
            }
        }
        Ok(())
    }

    fn put_singles(&self, batch: &mut Batch, changes: &Changes) -> Result<()> {
        let mut single = |name, value: Option<serde_json::Value>| match value {
            Some(value) => self.put(batch, Kind::Single.named(name), &value),
            None => Ok(()),
        };
        single(BACKUP_KEY, changes.backup_decryption_key.as_ref().map(serde_json::to_value).transpose()?)?;
        single(BACKUP_VERSION, changes.backup_version.clone().map(Into::into))?;
        single(DEHYDRATION_KEY, changes.dehydrated_device_pickle_key.as_ref().map(serde_json::to_value).transpose()?)?;
        single(NEXT_BATCH, changes.next_batch_token.clone().map(Into::into))
    }

    /// The sessions that a backup has, by room and session.
    async fn is_backed_up(&self, session: &InboundGroupSession, version: &str) -> Result<bool> {
        let known = self.get::<String>(Kind::BackedUp.at(session.room_id().as_str(), session.session_id())).await?;
        Ok(known.as_deref() == Some(version))
    }
}

#[async_trait]
impl CryptoStore for KeyStore {
    type Error = KeyStoreError;

    async fn load_account(&self) -> Result<Option<Account>> {
        let Some(pickle) = self.get::<PickledAccount>(Kind::Account.named("")).await? else { return Ok(None) };
        let account = Account::from_pickle(pickle)?;
        *lock(&self.own) = Some(account.static_data().clone());
        Ok(Some(account))
    }

    async fn load_identity(&self) -> Result<Option<PrivateCrossSigningIdentity>> {
        let pickle = self.get::<PickledCrossSigningIdentity>(Kind::Identity.named("")).await?;
        let unreadable = |_| KeyStoreError::Crypto(CryptoStoreError::UnpicklingError);
        pickle.map(|pickle| PrivateCrossSigningIdentity::from_pickle(pickle).map_err(unreadable)).transpose()
    }

    async fn save_changes(&self, changes: Changes) -> Result<()> {
        let mut batch = Batch::default();
        self.put_keys(&mut batch, &changes).await?;
        self.put_records(&mut batch, &changes)?;
        self.put_singles(&mut batch, &changes)?;
        self.write(batch).await
    }

    async fn save_pending_changes(&self, changes: PendingChanges) -> Result<()> {
        let mut batch = Batch::default();
        self.put_account(&mut batch, changes.account).await?;
        self.write(batch).await
    }

    async fn save_inbound_group_sessions(
        &self,
        sessions: Vec<InboundGroupSession>,
        backed_up_to_version: Option<&str>,
    ) -> Result<()> {
        let mut batch = Batch::default();
        self.put_inbound(&mut batch, &sessions).await?;
        for (session, version) in sessions.iter().filter_map(|session| Some((session, backed_up_to_version?))) {
            let entry = Kind::BackedUp.at(session.room_id().as_str(), session.session_id());
            self.put(&mut batch, entry, &version)?;
        }
        self.write(batch).await
    }

    async fn get_sessions(&self, sender_key: &str) -> Result<Option<Vec<Session>>> {
        let pickles = self.all::<PickledSession>(Kind::Session, Some(sender_key)).await?;
        if pickles.is_empty() {
            return Ok(None);
        }
        let own = self.get_own_device().await?.as_device_keys().clone();
        let session = |pickle| {
            let unreadable = |_| KeyStoreError::Crypto(CryptoStoreError::UnpicklingError);
            Session::from_pickle(own.clone(), pickle).map_err(unreadable)
        };
        pickles.into_iter().map(session).collect::<Result<Vec<_>>>().map(Some)
    }

    async fn get_inbound_group_session(
        &self,
        room_id: &RoomId,
        session_id: &str,
    ) -> Result<Option<InboundGroupSession>> {
        self.get(Kind::InboundSession.at(room_id.as_str(), session_id)).await?.map(inbound).transpose()
    }

    async fn get_withheld_info(&self, room_id: &RoomId, session_id: &str) -> Result<Option<RoomKeyWithheldEntry>> {
        self.get(Kind::Withheld.at(room_id.as_str(), session_id)).await
    }

    async fn get_withheld_sessions_by_room_id(&self, room_id: &RoomId) -> Result<Vec<RoomKeyWithheldEntry>> {
        self.all(Kind::Withheld, Some(room_id.as_str())).await
    }

    async fn get_inbound_group_sessions(&self) -> Result<Vec<InboundGroupSession>> {
        self.inbound_sessions(None).await
    }

    async fn inbound_group_session_counts(&self, backup_version: Option<&str>) -> Result<RoomKeyCounts> {
        let total = self.all::<serde_json::Value>(Kind::InboundSession, None).await?.len();
        let known = self.all::<String>(Kind::BackedUp, None).await?;
        let backed_up = known.iter().filter(|version| Some(version.as_str()) == backup_version).count();
        Ok(RoomKeyCounts { total, backed_up })
    }

    async fn get_inbound_group_sessions_by_room_id(&self, room_id: &RoomId) -> Result<Vec<InboundGroupSession>> {
        self.inbound_sessions(Some(room_id.as_str())).await
    }

    async fn get_inbound_group_sessions_for_device_batch(
        &self,
        curve_key: Curve25519PublicKey,
        sender_data_type: SenderDataType,
        after_session_id: Option<String>,
        limit: usize,
    ) -> Result<Vec<InboundGroupSession>> {
        let mut sessions = self.inbound_sessions(None).await?;
        sessions.retain(|session| {
            session.sender_key() == curve_key
                && session.sender_data_type() == sender_data_type
                && after_session_id.as_deref().is_none_or(|after| session.session_id() > after)
        });
        sessions.sort_by_key(|session| session.session_id().to_owned());
        sessions.truncate(limit);
        Ok(sessions)
    }

    async fn inbound_group_sessions_for_backup(
        &self,
        backup_version: &str,
        limit: usize,
    ) -> Result<Vec<InboundGroupSession>> {
        let mut open = Vec::new();
        for session in self.inbound_sessions(None).await? {
            if open.len() < limit && !self.is_backed_up(&session, backup_version).await? {
                open.push(session);
            }
        }
        Ok(open)
    }

    async fn mark_inbound_group_sessions_as_backed_up(
        &self,
        backup_version: &str,
        room_and_session_ids: &[(&RoomId, &str)],
    ) -> Result<()> {
        for (room, id) in room_and_session_ids {
            if let Some(session) = self.get_inbound_group_session(room, id).await? {
                session.mark_as_backed_up();
                self.save_inbound_group_sessions(vec![session], Some(backup_version)).await?;
            }
        }
        Ok(())
    }

    async fn reset_backup_state(&self) -> Result<()> {
        // It is stored of which version each session is: another one is asked for by its own name.
        Ok(())
    }

    async fn load_backup_keys(&self) -> Result<BackupKeys> {
        let decryption_key = self.get(Kind::Single.named(BACKUP_KEY)).await?;
        Ok(BackupKeys { decryption_key, backup_version: self.get(Kind::Single.named(BACKUP_VERSION)).await? })
    }

    async fn load_dehydrated_device_pickle_key(&self) -> Result<Option<DehydratedDeviceKey>> {
        self.get(Kind::Single.named(DEHYDRATION_KEY)).await
    }

    async fn delete_dehydrated_device_pickle_key(&self) -> Result<()> {
        self.remove(Kind::Single.named(DEHYDRATION_KEY)).await
    }

    async fn get_outbound_group_session(&self, room_id: &RoomId) -> Result<Option<OutboundGroupSession>> {
        let pickle = self.get::<PickledOutboundGroupSession>(Kind::OutboundSession.named(room_id.as_str())).await?;
        let Some(pickle) = pickle else { return Ok(None) };
        let own = lock(&self.own).clone().ok_or(CryptoStoreError::AccountUnset)?;
        Ok(Some(OutboundGroupSession::from_pickle(own.device_id, own.identity_keys, pickle)?))
    }

    async fn load_tracked_users(&self) -> Result<Vec<TrackedUser>> {
        self.all(Kind::TrackedUser, None).await
    }

    async fn save_tracked_users(&self, users: &[(&UserId, bool)]) -> Result<()> {
        let mut batch = Batch::default();
        for (user, dirty) in users {
            let tracked = TrackedUser { user_id: (*user).to_owned(), dirty: *dirty };
            self.put(&mut batch, Kind::TrackedUser.named(user.as_str()), &tracked)?;
        }
        self.write(batch).await
    }

    async fn get_device(&self, user_id: &UserId, device_id: &DeviceId) -> Result<Option<DeviceData>> {
        self.get(Kind::Device.at(user_id.as_str(), device_id.as_str())).await
    }

    async fn get_user_devices(&self, user_id: &UserId) -> Result<HashMap<OwnedDeviceId, DeviceData>> {
        let devices = self.all::<DeviceData>(Kind::Device, Some(user_id.as_str())).await?;
        Ok(devices.into_iter().map(|device| (device.device_id().to_owned(), device)).collect())
    }

    async fn get_own_device(&self) -> Result<DeviceData> {
        let own = lock(&self.own).clone().ok_or(CryptoStoreError::AccountUnset)?;
        let device = self.get_device(&own.user_id, &own.device_id).await?;
        Ok(device.ok_or(CryptoStoreError::AccountUnset)?)
    }

    async fn get_user_identity(&self, user_id: &UserId) -> Result<Option<UserIdentityData>> {
        self.get(Kind::UserIdentity.named(user_id.as_str())).await
    }

    async fn is_message_known(&self, message_hash: &OlmMessageHash) -> Result<bool> {
        let known = self.get::<()>(Kind::MessageHash.at(&message_hash.sender_key, &message_hash.hash)).await?;
        Ok(known.is_some())
    }

    async fn get_outgoing_secret_requests(&self, request_id: &TransactionId) -> Result<Option<GossipRequest>> {
        self.get(Kind::KeyRequest.named(request_id.as_str())).await
    }

    async fn get_secret_request_by_info(&self, secret_info: &SecretInfo) -> Result<Option<GossipRequest>> {
        let all = self.all::<GossipRequest>(Kind::KeyRequest, None).await?;
        Ok(all.into_iter().find(|request| request.info == *secret_info))
    }

    async fn get_unsent_secret_requests(&self) -> Result<Vec<GossipRequest>> {
        let all = self.all::<GossipRequest>(Kind::KeyRequest, None).await?;
        Ok(all.into_iter().filter(|request| !request.sent_out).collect())
    }

    async fn delete_outgoing_secret_requests(&self, request_id: &TransactionId) -> Result<()> {
        self.remove(Kind::KeyRequest.named(request_id.as_str())).await
    }

    async fn get_secrets_from_inbox(&self, secret_name: &SecretName) -> Result<Vec<Zeroizing<String>>> {
        let secrets = self.all::<String>(Kind::Secret, Some(secret_name.as_str())).await?;
        Ok(secrets.into_iter().map(Zeroizing::new).collect())
    }

    async fn delete_secrets_from_inbox(&self, secret_name: &SecretName) -> Result<()> {
        let mut batch = Batch::default();
        for secret in self.get_secrets_from_inbox(secret_name).await? {
            self.drop(&mut batch, Kind::Secret.at(secret_name.as_str(), &secret));
        }
        self.write(batch).await
    }

    async fn get_room_settings(&self, room_id: &RoomId) -> Result<Option<RoomSettings>> {
        self.get(Kind::RoomSettings.named(room_id.as_str())).await
    }

    async fn get_received_room_key_bundle_data(
        &self,
        room_id: &RoomId,
        user_id: &UserId,
    ) -> Result<Option<StoredRoomKeyBundleData>> {
        self.get(Kind::KeyBundle.at(room_id.as_str(), user_id.as_str())).await
    }

    async fn get_pending_key_bundle_details_for_room(
        &self,
        room_id: &RoomId,
    ) -> Result<Option<RoomPendingKeyBundleDetails>> {
        self.get(Kind::PendingBundle.named(room_id.as_str())).await
    }

    async fn get_all_rooms_pending_key_bundles(&self) -> Result<Vec<RoomPendingKeyBundleDetails>> {
        self.all(Kind::PendingBundle, None).await
    }

    async fn has_downloaded_all_room_keys(&self, room_id: &RoomId) -> Result<bool> {
        Ok(self.get::<()>(Kind::DownloadedRoom.named(room_id.as_str())).await?.is_some())
    }

    async fn get_custom_value(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.get(Kind::Custom.named(key)).await
    }

    async fn set_custom_value(&self, key: &str, value: Vec<u8>) -> Result<()> {
        self.set(Kind::Custom.named(key), &value).await
    }

    async fn remove_custom_value(&self, key: &str) -> Result<()> {
        self.remove(Kind::Custom.named(key)).await
    }

    async fn try_take_leased_lock(&self, lease_ms: u32, key: &str, holder: &str) -> Result<Option<u64>> {
        // Whoever opens the file holds the data directory's lock: there is nobody to share with.
        let _unused = (lease_ms, key, holder);
        Ok(Some(1))
    }

    async fn next_batch_token(&self) -> Result<Option<String>> {
        self.get(Kind::Single.named(NEXT_BATCH)).await
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }

    async fn reopen(&self) -> Result<()> {
        Ok(())
    }

    async fn get_size(&self) -> Result<Option<usize>> {
        Ok(None)
    }
}
