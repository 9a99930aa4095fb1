//! What is counted and traced of an attempt to deliver.

use std::time::Duration;

use jiff::Timestamp;
use tracing::{Span, field};

use hob_core::domain::inbound::Conversation;
use hob_core::domain::outgoing::Outgoing;
use hob_store::outbox::{DeliveryAttempt, PendingChunk};
use hob_telemetry::meters::{AnswerStage, Meters};

/// The span of an attempt.
pub(super) fn span(message: &Outgoing) -> Span {
    let place = &message.destination.conversation;
    let (channel, session) = (place.channel, place.session_key());
    let span =
        tracing::info_span!(parent: None, "outbox.send", %channel, %session, run = field::Empty, outbox = %message.id);
    message.run.iter().for_each(|run| {
        span.record("run", field::display(run));
    });
    span
}

/// Counts an attempt, and how long a chunk that went out had waited.
pub(super) fn count(meters: &Meters, waiting: &PendingChunk, attempt: &DeliveryAttempt, now: Timestamp) {
    let Conversation { channel, account, .. } = &waiting.message.destination.conversation;
    let outcome = match attempt {
        DeliveryAttempt::Delivered { .. } => "delivered",
        DeliveryAttempt::Again { unknown: true, .. } => "unknown",
        DeliveryAttempt::Again { .. } => "retry",
        DeliveryAttempt::Failed { .. } => "failed",
        DeliveryAttempt::Abandoned { .. } => "abandoned",
    };
    meters.deliveries.of(&[channel.as_str(), outcome]).inc();
    if matches!(attempt, DeliveryAttempt::Delivered { .. }) {
        let waited = now.as_millisecond().saturating_sub(waiting.created_at);
        meters.stage(AnswerStage::Sent, Duration::from_millis(u64::try_from(waited).unwrap_or(0)));
        meters.sent(*channel, account, now);
    }
}
