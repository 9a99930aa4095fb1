//! `GET /health` and `GET /metrics`: whether Hob hears and is heard (row N11).
//!
//! Never: words that anybody said, ids of people or chats, or why a platform refuses: whoever asks has proved nothing.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router as Routes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Timestamp;
use serde::Serialize;

use crate::domain::health::{ChannelHealth, Liveness};
use crate::domain::inbound::ChannelKind;
use crate::router::intake::Router;
use crate::store::error::StoreError;
use crate::store::{Statement, Tx, outbox};

/// A database that takes longer than that does not answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// The routes.
pub fn routes(router: Arc<Router>) -> Routes {
    Routes::new().route("/health", get(health)).route("/metrics", get(metrics)).with_state(router)
}

/// How Hob fares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Report {
    /// The process answers.
    live: bool,
    /// The database answers, and every channel hears.
    ready: bool,
    channels: Vec<ChannelReport>,
    /// None: the database does not answer.
    outbox: Option<OutboxReport>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ChannelReport {
    channel: &'static str,
    account: String,
    state: &'static str,
    /// Seconds since the platform was last heard.
    heard_age_secs: Option<i64>,
    /// Seconds since a message last came.
    message_age_secs: Option<i64>,
    /// What comes in cannot be stored.
    stuck: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct OutboxReport {
    /// Chunks that are not delivered yet.
    open: i64,
    /// How long the oldest of them has waited, in seconds.
    oldest_age_secs: i64,
}

struct Open;

#[async_trait]
impl Statement for Open {
    type Output = outbox::Open;

    async fn run(&self, tx: &mut Tx) -> Result<outbox::Open, StoreError> {
        outbox::open(tx).await
    }
}

async fn look(router: &Router) -> Report {
    let open = match tokio::time::timeout(ANSWERS_WITHIN, router.store.read(Open)).await {
        Ok(Ok(open)) => Some(open),
        Ok(Err(error)) => {
            tracing::warn!(%error, "health: the database does not answer");
            None
        }
        Err(_) => {
            tracing::warn!("health: the database does not answer in time");
            None
        }
    };
    report(&router.delivery.health(), open, router.clock.now())
}

fn report(channels: &[(ChannelKind, String, ChannelHealth)], open: Option<outbox::Open>, now: Timestamp) -> Report {
    let channel = |(kind, account, health): &(ChannelKind, String, ChannelHealth)| {
        let age = |at: Timestamp| health.now.duration_since(at).as_secs().max(0);
        ChannelReport {
            channel: kind.as_str(),
            account: account.clone(),
            state: health.liveness.as_str(),
            heard_age_secs: health.heard_at.map(age),
            message_age_secs: health.message_at.map(age),
            stuck: health.stuck.is_some(),
        }
    };
    let hears = channels.iter().all(|(_, _, health)| health.liveness == Liveness::Connected && health.stuck.is_none());
    let waited = |oldest: i64| (now.as_millisecond() - oldest).max(0) / 1_000;
    Report {
        live: true,
        ready: open.is_some() && hears,
        channels: channels.iter().map(channel).collect(),
        outbox: open.map(|open| OutboxReport { open: open.count, oldest_age_secs: open.oldest.map_or(0, waited) }),
    }
}

async fn health(State(router): State<Arc<Router>>) -> Response {
    let report = look(&router).await;
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    match serde_json::to_string(&report) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text + "\n").into_response(),
        Err(error) => {
            tracing::error!(%error, "health: the report has no form");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

async fn metrics(State(router): State<Arc<Router>>) -> Response {
    let text = exposition(&look(&router).await);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

/// The report in Prometheus's text format.
fn exposition(report: &Report) -> String {
    let mut page = Page::default();
    page.metric("hob_ready", "Whether the database answers and every channel hears.");
    page.sample("hob_ready", "", i64::from(report.ready));
    page.metric("hob_channel_connected", "Whether a channel hears.");
    for channel in &report.channels {
        page.sample("hob_channel_connected", &labels(channel), i64::from(channel.state == "connected"));
    }
    page.metric("hob_channel_heard_age_seconds", "Since when the platform was not heard, from the receive path.");
    for channel in &report.channels {
        let age = channel.heard_age_secs;
        age.iter().for_each(|age| page.sample("hob_channel_heard_age_seconds", &labels(channel), *age));
    }
    page.metric("hob_channel_message_age_seconds", "Since when no message came.");
    for channel in &report.channels {
        let age = channel.message_age_secs;
        age.iter().for_each(|age| page.sample("hob_channel_message_age_seconds", &labels(channel), *age));
    }
    if let Some(outbox) = report.outbox {
        page.metric("hob_outbox_open", "Chunks that are not delivered yet.");
        page.sample("hob_outbox_open", "", outbox.open);
        page.metric("hob_outbox_oldest_age_seconds", "How long the oldest of them has waited.");
        page.sample("hob_outbox_oldest_age_seconds", "", outbox.oldest_age_secs);
    }
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn metric(&mut self, name: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} gauge"));
    }

    fn sample(&mut self, name: &str, labels: &str, value: i64) {
        self.line(format_args!("{name}{labels} {value}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if let Err(error) = writeln!(self.0, "{line}") {
            tracing::error!(%error, "metrics: a line has no form");
        }
    }
}

fn labels(channel: &ChannelReport) -> String {
    let account = channel.account.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{{channel=\"{}\",account=\"{account}\"}}", channel.channel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn seen(liveness: Liveness, heard: Option<i64>) -> ChannelHealth {
        ChannelHealth {
            name: Some("@hob_bot".to_owned()),
            heard_at: heard.map(at),
            message_at: heard.map(|heard| at(heard - 5)),
            ..ChannelHealth::plain(liveness, at(100))
        }
    }

    #[test]
    fn n11_the_report_tells_who_hears_and_nothing_of_people() {
        let down = Liveness::Down { why: "401: token 12345 of chat 7".to_owned() };
        let channels = [
            (ChannelKind::Telegram, "default".to_owned(), seen(Liveness::Connected, Some(97))),
            (ChannelKind::Slack, "wo\"rk".to_owned(), seen(down, None)),
        ];
        let open = outbox::Open { count: 2, oldest: Some(40_500) };
        let report = report(&channels, Some(open), at(100));
        insta::assert_snapshot!(serde_json::to_string(&report).unwrap(), @r#"{"live":true,"ready":false,"channels":[{"channel":"telegram","account":"default","state":"connected","heard_age_secs":3,"message_age_secs":8,"stuck":false},{"channel":"slack","account":"wo\"rk","state":"down","heard_age_secs":null,"message_age_secs":null,"stuck":false}],"outbox":{"open":2,"oldest_age_secs":59}}"#);
        insta::assert_snapshot!(exposition(&report), @r#"
        # HELP hob_ready Whether the database answers and every channel hears.
        # TYPE hob_ready gauge
        hob_ready 0
        # HELP hob_channel_connected Whether a channel hears.
        # TYPE hob_channel_connected gauge
        hob_channel_connected{channel="telegram",account="default"} 1
        hob_channel_connected{channel="slack",account="wo\"rk"} 0
        # HELP hob_channel_heard_age_seconds Since when the platform was not heard, from the receive path.
        # TYPE hob_channel_heard_age_seconds gauge
        hob_channel_heard_age_seconds{channel="telegram",account="default"} 3
        # HELP hob_channel_message_age_seconds Since when no message came.
        # TYPE hob_channel_message_age_seconds gauge
        hob_channel_message_age_seconds{channel="telegram",account="default"} 8
        # HELP hob_outbox_open Chunks that are not delivered yet.
        # TYPE hob_outbox_open gauge
        hob_outbox_open 2
        # HELP hob_outbox_oldest_age_seconds How long the oldest of them has waited.
        # TYPE hob_outbox_oldest_age_seconds gauge
        hob_outbox_oldest_age_seconds 59
        "#);
    }

    #[test]
    fn n11_it_is_ready_when_all_hear_and_the_database_answers() {
        let open = outbox::Open { count: 0, oldest: None };
        let ready = |liveness, open| {
            let channels = [(ChannelKind::Telegram, "default".to_owned(), seen(liveness, Some(99)))];
            report(&channels, open, at(100)).ready
        };
        assert!(ready(Liveness::Connected, Some(open)));
        assert!(!ready(Liveness::Connected, None));
        for liveness in [Liveness::Connecting, Liveness::Deaf, Liveness::Closed { why: String::new() }] {
            assert!(!ready(liveness, Some(open)));
        }
        let stuck = ChannelHealth { stuck: Some("full".to_owned()), ..seen(Liveness::Connected, Some(99)) };
        assert!(!report(&[(ChannelKind::Telegram, "default".to_owned(), stuck)], Some(open), at(100)).ready);
    }
}
