//! What was said while Hob did not hear: fetched from the channels' history, and handed in, oldest first.
//!
//! A cursor is kept for each channel: everything in it and in its threads up to there was handed in. One more for the
//! account stands in for channels that are new. A thread has no part in its channel's history, and Slack has no list of
//! threads: those are asked that Hob has a part in (a cursor for each says which), and those whose first message is not
//! older than [`LOOK_BACK`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tracing::{info, warn};

use crate::Slack;
use crate::call::{CallError, WebApi};
use crate::convert::{self, BotIdentity, list, micros, text, ts_of};
use crate::socket::{SocketError, is_lasting};
use hob_core::domain::channel::Intake;
use hob_core::domain::inbound::{Audience, ChannelKind, Cursor, Inbound, InboundEvent};

/// The account's own cursor.
const ACCOUNT: &str = "account";
/// How far before the cursor a thread may have begun, in microseconds: a day.
const LOOK_BACK: i64 = 24 * 3_600 * 1_000_000;
/// How long a thread that Hob has a part in is asked about, in microseconds: 30 days.
const THREAD_AGE_MAX: i64 = 30 * LOOK_BACK;
/// How many threads of a channel are asked about for that.
const THREADS_MAX: usize = 50;
/// How many messages a page has; Slack advises no more.
const PAGE: &str = "200";
/// How many pages of one list are read at most.
const PAGES_MAX: usize = 100;
/// How often what may pass by itself is tried.
const TRIES: u32 = 3;

/// Where something older may be missing: there no cursor moves on, lest it were passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HistoryGaps {
    /// Nothing is known yet, or Slack does not tell where Hob is.
    Everywhere,
    /// In these channels; none: nothing is missing.
    In(BTreeSet<String>),
}

impl HistoryGaps {
    /// May something be missing in this channel?
    pub(super) fn has_gap(&self, channel: &str) -> bool {
        match self {
            Self::Everywhere => true,
            Self::In(channels) => channels.contains(channel),
        }
    }

    /// Is nothing missing?
    pub(super) fn is_nowhere(&self) -> bool {
        match self {
            Self::Everywhere => false,
            Self::In(channels) => channels.is_empty(),
        }
    }
}

/// What is needed to catch up.
pub(super) struct CatchUp<'a> {
    pub(super) slack: &'a Slack,
    pub(super) intake: &'a dyn Intake,
    pub(super) web: &'a WebApi,
    pub(super) me: &'a BotIdentity,
}

/// The mark of a thread in which something was said to Hob.
pub(super) fn thread_of(inbound: &Inbound) -> Option<Cursor> {
    let said = matches!(inbound.happening, InboundEvent::Posted { .. }) && inbound.metadata.audience == Audience::Hob;
    let thread = inbound.conversation.thread.as_ref().filter(|_| said)?;
    let position = micros(&inbound.external_id)?;
    Some(Cursor { list: format!("{}:{thread}", inbound.conversation.chat), position })
}

/// Hands in what came since the cursors, where something may be missing; where that is so still.
///
/// One channel that Slack does not tell of holds up no other.
pub(super) async fn catch_up(missed: CatchUp<'_>, behind: &HistoryGaps) -> Result<HistoryGaps, SocketError> {
    let account = &missed.slack.settings.account;
    let cursors = missed.intake.cursors(ChannelKind::Slack, account).await?;
    let began = missed.slack.clock.now().as_microsecond();
    let mut still = BTreeSet::new();
    if let Some(everywhere) = cursors.get(ACCOUNT) {
        let channels = match behind {
            HistoryGaps::Everywhere => missed.channels().await?,
            HistoryGaps::In(channels) => Some(channels.iter().cloned().collect()),
        };
        let Some(channels) = channels else {
            return Ok(HistoryGaps::Everywhere);
        };
        for channel in channels {
            let since = cursors.get(&channel).copied().unwrap_or(*everywhere);
            if !missed.channel(&channel, since, &threads(&cursors, &channel, began), began).await? {
                // The account's cursor goes on, and no longer stands for this one.
                missed.advance(&channel, since).await?;
                still.insert(channel);
            }
        }
    }
    // At the very first start nothing is behind: what was said before Hob was there is not for it.
    if *behind == HistoryGaps::Everywhere {
        missed.advance(ACCOUNT, began).await?;
    }
    Ok(HistoryGaps::In(still))
}

/// The threads of a channel that Hob has a part in, the latest first.
fn threads(cursors: &BTreeMap<String, i64>, channel: &str, now: i64) -> Vec<String> {
    let of_channel = cursors.iter().filter_map(|(list, position)| {
        let thread = list.strip_prefix(channel)?.strip_prefix(':')?;
        (now - position <= THREAD_AGE_MAX).then_some((*position, thread))
    });
    let mut threads: Vec<(i64, &str)> = of_channel.collect();
    threads.sort_unstable_by(|one, other| other.cmp(one));
    threads.into_iter().take(THREADS_MAX).map(|(_, thread)| thread.to_owned()).collect()
}

/// The threads among a page's messages in which something was said after `since`.
fn active_thread(post: &Value, since: i64) -> Option<String> {
    let latest = text(post, "latest_reply").and_then(micros)?;
    text(post, "ts").filter(|_| latest > since).map(str::to_owned)
}

impl CatchUp<'_> {
    async fn advance(&self, list: &str, position: i64) -> Result<(), SocketError> {
        let cursor = Cursor { list: list.to_owned(), position };
        Ok(self.intake.advance(ChannelKind::Slack, &self.slack.settings.account, cursor).await?)
    }

    /// The channels that Hob is in; none: Slack does not tell.
    async fn channels(&self) -> Result<Option<Vec<String>>, SocketError> {
        let arguments =
            [("types", "public_channel,private_channel,mpim,im".to_owned()), ("exclude_archived", "true".to_owned())];
        let mut found = Vec::new();
        let mut take = |channel: &Value| found.extend(text(channel, "id").map(str::to_owned));
        let whole = self.pages("users.conversations", "channels", &arguments, &mut take).await?;
        Ok(whole.then_some(found))
    }

    /// Hands in what was said in one channel and its threads. False: there may be more, which is asked for again.
    async fn channel(&self, channel: &str, since: i64, known: &[String], now: i64) -> Result<bool, SocketError> {
        let mut posts: BTreeMap<i64, Value> = BTreeMap::new();
        let oldest = since.saturating_sub(LOOK_BACK);
        // What began later, the history tells of.
        let is_older = |thread: &&String| micros(thread).is_some_and(|began| began <= oldest);
        let mut asked: BTreeSet<String> = known.iter().filter(is_older).cloned().collect();
        let whole = [("channel", channel.to_owned()), ("oldest", ts_of(oldest))];
        let mut take = |post: &Value| {
            asked.extend(active_thread(post, since));
            if let Some(ts) = text(post, "ts").and_then(micros).filter(|ts| *ts > since) {
                posts.insert(ts, post.clone());
            }
        };
        let mut is_all = self.pages("conversations.history", "messages", &whole, &mut take).await?;
        for thread in asked {
            let part = [("channel", channel.to_owned()), ("ts", thread.clone()), ("oldest", ts_of(since))];
            let mut take = |post: &Value| {
                if let Some(ts) = text(post, "ts").and_then(micros).filter(|ts| *ts > since) {
                    posts.entry(ts).or_insert_with(|| post.clone());
                }
            };
            is_all &= self.pages("conversations.replies", "messages", &part, &mut take).await?;
        }
        // What Slack has not told for so long it is not waited for any more.
        let moves_on = is_all || now - since > THREAD_AGE_MAX;
        self.hand_in(channel, posts, moves_on).await?;
        Ok(moves_on)
    }

    async fn hand_in(&self, channel: &str, posts: BTreeMap<i64, Value>, moves_on: bool) -> Result<(), SocketError> {
        let Some(last) = posts.keys().next_back().copied() else {
            return Ok(());
        };
        info!(channel = "slack", messages = posts.len(), "{} messages came in a channel meanwhile", posts.len());
        for (position, post) in posts {
            let names = self.slack.people.names(self.web, &convert::people(&post)).await;
            let Some(mut inbound) = convert::inbound_from_message(&post, channel, self.me, &names) else { continue };
            inbound.metadata.server.clone_from(&self.me.workspace);
            inbound.metadata.cursor = moves_on.then(|| Cursor { list: channel.to_owned(), position });
            let thread = thread_of(&inbound);
            self.intake.accept(inbound).await?;
            self.slack.health.message(self.slack.clock.now());
            if let Some(thread) = thread {
                self.advance(&thread.list, thread.position).await?;
            }
        }
        if moves_on {
            // Over what no person said.
            self.advance(channel, last).await?;
        }
        Ok(())
    }

    /// Reads a list to its end. False: Slack does not tell all of it, and may another time.
    async fn pages(
        &self,
        method: &'static str,
        key: &str,
        arguments: &[(&str, String)],
        take: &mut (impl FnMut(&Value) + Send),
    ) -> Result<bool, SocketError> {
        let mut cursor = String::new();
        for _ in 0..PAGES_MAX {
            let mut arguments = arguments.to_vec();
            arguments.push(("limit", PAGE.to_owned()));
            if !cursor.is_empty() {
                arguments.push(("cursor", cursor));
            }
            let page = match self.page_with_retries(method, &arguments).await {
                Ok(page) => page,
                Err(error) => {
                    let blame = error_scope(&error);
                    if blame == ErrorScope::Account {
                        return Err(SocketError::Call { method, error });
                    }
                    warn!(channel = "slack", %error, "what was missed in one place cannot be fetched: {method}: {error}");
                    return Ok(blame == ErrorScope::Place);
                }
            };
            list(&page, key).for_each(&mut *take);
            cursor = text(&page["response_metadata"], "next_cursor").unwrap_or_default().to_owned();
            if cursor.is_empty() {
                return Ok(true);
            }
        }
        warn!(channel = "slack", method, "more was missed than is fetched: {PAGES_MAX} pages of {PAGE}");
        Ok(true)
    }

    /// One page; Slack's limits are waited out.
    async fn page_with_retries(&self, method: &str, arguments: &[(&str, String)]) -> Result<Value, CallError> {
        let mut tried = 1;
        loop {
            let error = match self.web.get(method, arguments).await {
                Ok(page) => return Ok(page),
                Err(error) => error,
            };
            let wait = match (&error, error.retry_after()) {
                (_, Some(after)) => after.max(Duration::from_millis(50)),
                _ if tried >= TRIES || !may_pass(&error) => return Err(error),
                _ => self.slack.settings.pace.retry_min * tried,
            };
            tried += u32::from(error.retry_after().is_none());
            tokio::time::sleep(wait).await;
        }
    }
}

/// What an error is about that did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorScope {
    /// The connection or the tokens: nothing is to be had before that is mended.
    Account,
    /// This one place, where nothing is to be had.
    Place,
    /// This one place, as far as Hob knows; another time there may be.
    PlaceNow,
}

fn error_scope(error: &CallError) -> ErrorScope {
    let nothing =
        ["channel_not_found", "not_in_channel", "thread_not_found", "is_archived", "missing_scope", "access_denied"];
    match error.code() {
        Some(code) if nothing.contains(&code) => ErrorScope::Place,
        Some(code) if !is_lasting(code) => ErrorScope::PlaceNow,
        Some(_) | None => ErrorScope::Account,
    }
}

/// Is it worth another try at once? No answer at all is, and a word that may mean anything.
fn may_pass(error: &CallError) -> bool {
    error.code().is_none() || error_scope(error) == ErrorScope::PlaceNow
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn n11_the_latest_threads_are_asked_about() {
        let day = LOOK_BACK;
        let lists =
            [("C1:1.0", 50 * day), ("C1:2.0", 60 * day), ("C1:3.0", day), ("C2:4.0", 60 * day), ("C1", 60 * day)];
        let cursors = lists.into_iter().map(|(list, position)| (list.to_owned(), position)).collect();
        assert_eq!(threads(&cursors, "C1", 61 * day), ["2.0", "1.0"]);
        assert_eq!(threads(&cursors, "C", 61 * day), Vec::<String>::new());
    }

    #[test]
    fn n11_a_thread_stirs_when_its_last_reply_is_new() {
        let post = json!({"ts": "1.000000", "latest_reply": "5.000000"});
        assert_eq!(active_thread(&post, 4_000_000).as_deref(), Some("1.000000"));
        assert_eq!(active_thread(&post, 5_000_000), None);
        assert_eq!(active_thread(&json!({"ts": "1.000000"}), 0), None);
    }

    #[test]
    fn n11_one_place_is_not_the_account() {
        let api = |code: &str| CallError::Api { code: code.to_owned(), details: None, retry_after: None };
        let table = [
            ("channel_not_found", ErrorScope::Place, false),
            ("missing_scope", ErrorScope::Place, false),
            ("internal_error", ErrorScope::PlaceNow, true),
            ("fatal_error", ErrorScope::PlaceNow, true),
            ("team_access_not_granted", ErrorScope::PlaceNow, true),
            ("ekm_access_denied", ErrorScope::PlaceNow, true),
            ("some_new_word", ErrorScope::PlaceNow, true),
            ("invalid_auth", ErrorScope::Account, false),
            ("token_revoked", ErrorScope::Account, false),
        ];
        for (code, expected, again) in table {
            assert_eq!((code, error_scope(&api(code)), may_pass(&api(code))), (code, expected, again));
        }
        for error in [CallError::Lost(String::new()), CallError::Foreign { status: 502 }] {
            assert_eq!((error_scope(&error), may_pass(&error)), (ErrorScope::Account, true), "{error:?}");
        }
    }
}
