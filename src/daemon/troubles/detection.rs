//! What counts as trouble with channels, models and memory. Pure.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use hob_core::domain::condition::SystemPart;
use hob_core::domain::health::{AccountHealth, ChannelHealth, Liveness};
use hob_core::domain::inbound::ChannelKind;
use hob_memory::embedding_service::EmbeddingStatus;
use hob_model::catalog::UnavailableModel;

/// A channel that does not hear for longer is in trouble; shorter than that is the network's way.
const OUTAGE: SignedDuration = SignedDuration::from_mins(2);

/// What is wrong, and what to do.
type Problem = Option<(String, String)>;

/// The channels that do not hear.
#[derive(Debug, Default)]
pub(super) struct ChannelOutages(BTreeMap<(ChannelKind, String), Option<Timestamp>>);

impl ChannelOutages {
    /// How each account is; one that is not there any more has no trouble.
    pub(super) fn look(&mut self, health: &[AccountHealth], now: Timestamp) -> Vec<(SystemPart, Problem)> {
        let mut before = std::mem::take(&mut self.0);
        let mut found = Vec::new();
        for AccountHealth { channel, account, health } in health {
            let address = (*channel, account.clone());
            let silent = channel_problem(health);
            let since = before.remove(&address).flatten().or(Some(now)).filter(|_| silent.is_some());
            let lasts = since.is_some_and(|since| now.duration_since(since) >= OUTAGE);
            found.push((part(&address), silent.filter(|_| lasts)));
            self.0.insert(address, since);
        }
        found.extend(before.into_keys().map(|address| (part(&address), None)));
        found
    }
}

fn part(address: &(ChannelKind, String)) -> SystemPart {
    SystemPart::Channel { kind: address.0, account: address.1.clone() }
}

fn channel_problem(health: &ChannelHealth) -> Problem {
    let look = "Hob tries again by itself; look at its token and at the network".to_owned();
    match &health.liveness {
        Liveness::Connected => None,
        Liveness::Connecting => Some(("it does not connect".to_owned(), look)),
        Liveness::Deaf => Some(("nothing has come back in time".to_owned(), look)),
        Liveness::Down { why } => Some((format!("it is not connected: {why}"), look)),
        Liveness::Closed { why } => Some((format!("it is closed: {why}"), look)),
    }
}

/// Whether nobody of this chain would be asked.
pub(super) fn model(chain: &[String], resting: &[UnavailableModel]) -> Problem {
    let rests = |label: &String| resting.iter().find(|state| state.label == *label);
    let all: Option<Vec<&UnavailableModel>> = chain.iter().map(rests).collect();
    let first = all.filter(|all| !all.is_empty())?;
    let why: Vec<String> = first.iter().map(|state| format!("{} ({})", state.label, state.why)).collect();
    let fix = "it is tried again by itself; look at the key, the bill and the network".to_owned();
    Some((format!("no model answers: {}", why.join(", ")), fix))
}

/// Whether what was said is found by its words alone, though it was found by its meaning before. What was never there is no
/// trouble that comes: `/status` says so at any time.
#[derive(Debug, Default)]
pub(super) struct SemanticSearchState {
    was_ready: bool,
}

impl SemanticSearchState {
    pub(super) fn look(&mut self, standing: &EmbeddingStatus) -> Problem {
        match standing {
            EmbeddingStatus::Degraded { why } if self.was_ready => {
                let fix = "what was said is found by its words until then".to_owned();
                Some((why.clone(), fix))
            }
            EmbeddingStatus::Ready { .. } => {
                self.was_ready = true;
                None
            }
            EmbeddingStatus::Degraded { .. } | EmbeddingStatus::Off | EmbeddingStatus::Starting { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use hob_model::error::ErrorClass;

    #[test]
    fn n9_a_channel_is_in_trouble_when_it_has_not_heard_for_two_minutes() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut outages = ChannelOutages::default();
        let mut look = |liveness: Option<Liveness>, second| {
            let health = liveness.map(|liveness| ChannelHealth::plain(liveness, at(second)));
            let (channel, account) = (ChannelKind::Slack, "default".to_owned());
            let all: Vec<_> = health.map(|health| AccountHealth { channel, account, health }).into_iter().collect();
            outages
                .look(&all, at(second))
                .into_iter()
                .map(|(part, found)| (part.to_string(), found.is_some()))
                .collect::<Vec<_>>()
        };
        let down = || Some(Liveness::Down { why: "refused".to_owned() });
        let told = |is_bad| [("slack (default)".to_owned(), is_bad)];
        assert_eq!(look(down(), 0), told(false));
        assert_eq!(look(down(), 119), told(false));
        assert_eq!(look(Some(Liveness::Deaf), 120), told(true));
        assert_eq!(look(Some(Liveness::Connected), 130), told(false));
        assert_eq!(look(down(), 140), told(false));
        assert_eq!(look(down(), 270), told(true));
        assert_eq!(look(None, 280), told(false), "it was taken out of the config");
        assert!(look(None, 290).is_empty());
    }

    #[test]
    fn n9_models_are_in_trouble_when_the_whole_chain_rests() {
        let state = |label: &str| UnavailableModel {
            label: label.to_owned(),
            why: ErrorClass::Auth,
            remaining: Duration::from_secs(9),
        };
        let chain = ["a/x".to_owned(), "b/y".to_owned()];
        assert_eq!(model(&chain, &[state("a/x")]), None);
        assert_eq!(model(&[], &[]), None);
        let (what, _) = model(&chain, &[state("b/y"), state("a/x")]).unwrap();
        assert!(what.starts_with("no model answers: a/x (") && what.contains("b/y"), "{what}");
    }

    #[test]
    fn n9_meaning_is_missed_once_it_was_there() {
        let (mut meaning, lost) =
            (SemanticSearchState::default(), EmbeddingStatus::Degraded { why: "no server".to_owned() });
        assert_eq!(meaning.look(&lost), None);
        assert_eq!(meaning.look(&EmbeddingStatus::Ready { model: "m".to_owned(), backlog: 0 }), None);
        assert_eq!(meaning.look(&lost).map(|(what, _)| what), Some("no server".to_owned()));
    }
}
