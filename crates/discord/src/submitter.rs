//! What came is handed in, one after the other; only then does the session move past it.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, info, warn};

use crate::Discord;
use crate::author_cache::AuthorCache;
use crate::call::{Api, CallError, Request};
use crate::connection::Dispatch;
use crate::convert::{self, ConversionContext, PlaceKind};
use crate::gateway::SessionHandle;
use crate::session::Session;
use crate::wire::{
    ChannelInfo, Frame, Guild, Id, Interaction, Message, MessageDelete, MessageDeleteBulk, Ready, ThreadList,
};
use crate::{catch_up, commands};
use hob_core::domain::backoff::Backoff;
use hob_core::domain::channel::{Intake, IntakeError};
use hob_core::domain::inbound::{ChannelKind, Cursor, Inbound};

/// Why what came cannot be handed in for now.
#[derive(Debug, thiserror::Error)]
pub(super) enum SubmitError {
    #[error(transparent)]
    NotStored(#[from] IntakeError),
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Hands in. It lives as long as the adapter runs, over all connections.
pub(super) struct Submitter<'a> {
    pub(super) discord: &'a Discord,
    pub(super) intake: &'a dyn Intake,
    /// The client of this connection.
    pub(super) api: Api,
    /// The bot's application.
    pub(super) application: Option<Id>,
    me: Option<Id>,
    places: HashMap<Id, PlaceKind>,
    /// What this session has told of. The rest may be threads that were put away before it began.
    listed: HashSet<Id>,
    /// The servers that this session has still to tell of.
    awaited: HashSet<Id>,
    /// The servers of which nothing is missing any more.
    caught_up: HashSet<Id>,
    authors: AuthorCache,
}

impl<'a> Submitter<'a> {
    pub(super) fn new(discord: &'a Discord, intake: &'a dyn Intake) -> Self {
        Self {
            discord,
            intake,
            api: discord.api.clone(),
            application: None,
            me: None,
            places: HashMap::new(),
            listed: HashSet::new(),
            awaited: HashSet::new(),
            caught_up: HashSet::new(),
            authors: AuthorCache::default(),
        }
    }

    /// Hands in what is in line, for ever; dropped to end it.
    pub(super) async fn submit_all(
        &mut self,
        mut line: mpsc::Receiver<Dispatch>,
        session: &SessionHandle,
    ) -> Infallible {
        let mut waits = Backoff::default();
        while let Some(mut dispatch) = line.recv().await {
            while let Err(trouble) = self.submit_dispatch(&mut dispatch).await {
                self.back_off(&trouble, &mut waits).await;
            }
            waits.reset();
            commit(&dispatch, session);
        }
        // Who hears is at its end, and with it the connection.
        std::future::pending().await
    }

    async fn back_off(&self, trouble: &SubmitError, waits: &mut Backoff) {
        let (pace, health) = (&self.discord.settings.pace, &self.discord.health);
        let mut delay = waits.next(pace.retry_min, pace.retry_max, self.discord.rng.as_ref());
        match trouble {
            SubmitError::NotStored(error) => health.stuck(error.to_string()),
            SubmitError::Call(error) => {
                delay = delay.max(error.after().unwrap_or(Duration::ZERO));
                health.troubled(format!("Discord cannot be asked: {error}"));
            }
        }
        warn!(channel = "discord", %trouble, delay_ms = delay.as_millis(), "Discord: {trouble}; again in {delay:?}");
        tokio::time::sleep(delay).await;
    }

    async fn submit_dispatch(&mut self, dispatch: &mut Dispatch) -> Result<(), SubmitError> {
        let frame = &dispatch.frame;
        match dispatch.event.as_str() {
            "READY" => self.on_ready(frame).await,
            "GUILD_CREATE" => self.guild(frame).await,
            "GUILD_DELETE" => self.no_guild(frame),
            event @ ("CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE") => {
                self.place(event, frame).await
            }
            "CHANNEL_DELETE" | "THREAD_DELETE" => self.no_place(frame),
            "THREAD_LIST_SYNC" => self.threads(frame).await,
            "MESSAGE_CREATE" => self.on_message(frame).await,
            "MESSAGE_UPDATE" => self.edited(frame).await,
            "MESSAGE_DELETE" => self.deleted(frame).await,
            "MESSAGE_DELETE_BULK" => self.deleted_at_once(frame).await,
            "INTERACTION_CREATE" => {
                let deferred = &mut dispatch.deferred;
                let handed_in = self.interaction(&dispatch.frame, deferred).await;
                if handed_in.is_ok()
                    && let Some(Err(())) = dispatch.accepted.take().map(|accepted| accepted.send(()))
                {
                    debug!(channel = "discord", "nobody waits for a press to be stored");
                }
                handed_in
            }
            _ => Ok(()),
        }
    }

    /// As whom Hob hears; none before it is told.
    pub(super) fn view(&self) -> Option<ConversionContext<'a>> {
        Some(ConversionContext { account: &self.discord.settings.account, me: self.me?, now: self.discord.clock.now() })
    }

    /// A session begins: what was said in private meanwhile is fetched first.
    async fn on_ready(&mut self, frame: &Frame) -> Result<(), SubmitError> {
        let Some(ready) = read::<Ready>(frame, "READY") else { return Ok(()) };
        self.me = Some(ready.user.id);
        self.caught_up.clear();
        self.listed.clear();
        self.awaited = ready.guilds.iter().map(|guild| guild.id).collect();
        self.discord.health.identified(&format!("@{}", ready.user.username));
        catch_up::private(self).await?;
        if let Some(application) = self.application {
            let (api, guilds) = (self.discord.api.clone(), self.discord.settings.command_guilds.clone());
            let joined: Vec<String> = ready.guilds.iter().map(|guild| guild.id.to_string()).collect();
            let pace = self.discord.settings.pace;
            self.discord.spawn(async move { commands::register(&api, application, &guilds, &joined, pace).await });
        }
        info!(channel = "discord", bot.username = %ready.user.username, "on Discord as @{}", ready.user.username);
        Ok(())
    }

    /// A server can be seen: what was said there meanwhile is fetched.
    async fn guild(&mut self, frame: &Frame) -> Result<(), SubmitError> {
        let Some(guild) = read::<Guild>(frame, "GUILD_CREATE") else { return Ok(()) };
        for place in guild.channels.iter().chain(&guild.threads) {
            self.remember_place(place);
            self.listed.insert(place.id);
        }
        catch_up::guild(self, &guild).await?;
        if self.awaited.iter().eq([&guild.id]) {
            // All that is listed anywhere is known now.
            catch_up::catch_up_archived_threads(self).await?;
        }
        self.awaited.remove(&guild.id);
        self.caught_up.insert(guild.id);
        Ok(())
    }

    fn no_guild(&mut self, frame: &Frame) -> Result<(), SubmitError> {
        #[derive(Deserialize)]
        struct LeftGuild {
            id: Id,
        }
        if let Some(LeftGuild { id }) = read(frame, "GUILD_DELETE") {
            self.caught_up.remove(&id);
        }
        Ok(())
    }

    fn remember_place(&mut self, place: &ChannelInfo) {
        if let Some(kind) = PlaceKind::of(place.kind, place.parent_id) {
            self.places.insert(place.id, kind);
        }
    }

    pub(super) fn is_listed(&self, place: Id) -> bool {
        self.listed.contains(&place)
    }

    async fn place(&mut self, event: &str, frame: &Frame) -> Result<(), SubmitError> {
        let Some(place) = read::<ChannelInfo>(frame, "a channel") else { return Ok(()) };
        let is_new = place.newly_created || (event == "CHANNEL_CREATE" && place.last_message_id.is_none());
        self.add_places(place.guild_id, &[place], is_new).await
    }

    /// Places of a server, that may be told of for the first time.
    async fn add_places(&mut self, guild: Option<Id>, places: &[ChannelInfo], is_new: bool) -> Result<(), SubmitError> {
        places.iter().for_each(|place| self.remember_place(place));
        let is_met = places.iter().all(|place| self.is_listed(place.id));
        if is_met || !guild.is_some_and(|guild| self.caught_up.contains(&guild)) {
            return Ok(());
        }
        catch_up::begin(self, places, is_new).await?;
        if is_new || self.awaited.is_empty() {
            self.listed.extend(places.iter().map(|place| place.id));
        }
        Ok(())
    }

    fn no_place(&mut self, frame: &Frame) -> Result<(), SubmitError> {
        if let Some(place) = read::<ChannelInfo>(frame, "a channel") {
            self.places.remove(&place.id);
        }
        Ok(())
    }

    async fn threads(&mut self, frame: &Frame) -> Result<(), SubmitError> {
        let Some(list) = read::<ThreadList>(frame, "THREAD_LIST_SYNC") else { return Ok(()) };
        self.add_places(list.guild_id, &list.threads, false).await
    }

    /// What kind of place it is, asked for where it is not known; none: nothing can be said of it, so nothing is heard.
    async fn kind(&mut self, place: Id, guild: Option<Id>) -> Result<Option<PlaceKind>, SubmitError> {
        if guild.is_none() {
            return Ok(Some(PlaceKind::Private));
        }
        if let Some(kind) = self.places.get(&place) {
            return Ok(Some(*kind));
        }
        match self.api.call(Request::get(["channels", &place.to_string()])).await {
            Ok(answer) => {
                if let Ok(place) = answer.parse::<ChannelInfo>() {
                    self.remember_place(&place);
                }
            }
            Err(error) if error.is_transient() => return Err(error.into()),
            Err(error) => {
                warn!(channel = "discord", place = %place, %error, "a message from an unknown channel is ignored")
            }
        }
        Ok(self.places.get(&place).copied())
    }

    async fn on_message(&mut self, frame: &Frame) -> Result<(), SubmitError> {
        let Some(message) = read::<Message>(frame, "a message") else { return Ok(()) };
        let Some(kind) = self.kind(message.channel_id, message.guild_id).await? else { return Ok(()) };
        // A thread that was put away, and is spoken in again, may not have been sought yet.
        let is_sought = self.awaited.is_empty() || self.is_listed(message.channel_id);
        let is_whole = message.guild_id.is_none_or(|guild| is_sought && self.caught_up.contains(&guild));
        self.submit_message(&message, kind, is_whole).await.map(drop)
    }

    /// Hands a new message in; whether it was anything that a person said. While older ones are missing it moves no cursor.
    pub(super) async fn submit_message(
        &mut self,
        message: &Message,
        kind: PlaceKind,
        is_whole: bool,
    ) -> Result<bool, SubmitError> {
        let Some(view) = self.view() else { return Ok(false) };
        let Some(mut inbound) = convert::inbound_from_message(message, kind, &view) else { return Ok(false) };
        self.authors.remember_author(message.id, &inbound.sender);
        inbound.metadata.cursor = is_whole.then(|| convert::cursor(message.channel_id, kind, message.id));
        self.accept(inbound).await?;
        Ok(true)
    }

    async fn edited(&mut self, frame: &Frame) -> Result<(), SubmitError> {
        let Some(message) = read::<Message>(frame, "an edit") else { return Ok(()) };
        let Some(kind) = self.kind(message.channel_id, message.guild_id).await? else { return Ok(()) };
        let Some(view) = self.view() else { return Ok(()) };
        match convert::edited(&message, kind, &view) {
            Some(inbound) => self.accept(inbound).await,
            None => Ok(()),
        }
    }

    async fn deleted(&mut self, frame: &Frame) -> Result<(), SubmitError> {
        let Some(MessageDelete { id, channel_id, guild_id }) = read(frame, "a deletion") else { return Ok(()) };
        self.submit_deletion(&[id], channel_id, guild_id).await
    }

    async fn deleted_at_once(&mut self, frame: &Frame) -> Result<(), SubmitError> {
        let Some(MessageDeleteBulk { ids, channel_id, guild_id }) = read(frame, "a deletion") else { return Ok(()) };
        self.submit_deletion(&ids, channel_id, guild_id).await
    }

    async fn submit_deletion(&mut self, messages: &[Id], place: Id, guild: Option<Id>) -> Result<(), SubmitError> {
        let Some(kind) = self.kind(place, guild).await? else { return Ok(()) };
        for message in messages {
            let Some(sender) = self.authors.of(*message) else {
                debug!(channel = "discord", message.id = %message, "whose deleted message it was is not known");
                continue;
            };
            let place = convert::conversation(&self.discord.settings.account, place, kind);
            self.accept(convert::deleted(*message, sender, place, self.discord.clock.now())).await?;
        }
        Ok(())
    }

    async fn interaction(
        &mut self,
        frame: &Frame,
        deferred: &mut Option<oneshot::Receiver<()>>,
    ) -> Result<(), SubmitError> {
        let Some(interaction) = read::<Interaction>(frame, "an interaction") else { return Ok(()) };
        let told = interaction.channel.as_ref().and_then(|place| PlaceKind::of(place.kind, place.parent_id));
        let kind = match (told, interaction.channel_id) {
            (Some(kind), _) => kind,
            (None, Some(place)) => match self.kind(place, interaction.guild_id).await? {
                Some(kind) => kind,
                None => return Ok(()),
            },
            (None, None) => return Ok(()),
        };
        let Some(view) = self.view() else { return Ok(()) };
        let Some(inbound) = convert::interaction(&interaction, kind, &view) else { return Ok(()) };
        self.accept(inbound).await?;
        if convert::is_command(&interaction)
            && let Some(deferred) = deferred.take()
        {
            self.discord.spawn(delete_deferred(self.discord.api.clone(), interaction, deferred));
        }
        Ok(())
    }

    async fn accept(&self, inbound: Inbound) -> Result<(), SubmitError> {
        let id = inbound.external_id.clone();
        let accepted = self.intake.accept(inbound).await?;
        self.discord.health.message(self.discord.clock.now());
        debug!(channel = "discord", message.id = %id, ?accepted, "message {id} handed in");
        Ok(())
    }

    /// Moves a cursor past what is not a message for Hob.
    pub(super) async fn advance(&self, cursor: Cursor) -> Result<(), SubmitError> {
        let account = &self.discord.settings.account;
        Ok(self.intake.advance(ChannelKind::Discord, account, cursor).await?)
    }
}

/// The answer to a command comes as a message: the one that was deferred goes.
async fn delete_deferred(api: Api, interaction: Interaction, deferred: oneshot::Receiver<()>) {
    if deferred.await.is_err() {
        return;
    }
    let application = interaction.application_id.to_string();
    let path = ["webhooks", &application, &interaction.token, "messages", "@original"];
    if let Err(error) = api.call(Request::new(Method::DELETE, path).open()).await {
        debug!(channel = "discord", %error, "a deferred answer was not taken back: {error}");
    }
}

/// The event is handed in: the session resumes behind it.
fn commit(dispatch: &Dispatch, session: &SessionHandle) {
    let mut session = session.lock();
    if dispatch.event == "READY" {
        *session = dispatch.frame.data::<Ready>().map(|ready| Session {
            id: ready.session_id,
            address: ready.resume_gateway_url,
            seq: dispatch.seq,
        });
    } else if let Some(session) = session.as_mut() {
        session.seq = session.seq.max(dispatch.seq);
    }
}

/// What the event says, if it can be read.
fn read<'f, T: Deserialize<'f>>(frame: &'f Frame, what: &str) -> Option<T> {
    let read = frame.data();
    if read.is_none() {
        warn!(channel = "discord", "{what} is of an unknown shape; passed over");
    }
    read
}
