//! Which refusals are the same, and when what was refused is tried again. Pure.

use std::time::Duration;

use tokio::time::Instant;

use crate::daemon::reload::LOOK_EVERY;
use hob_config::load::LoadedConfig;

/// Nothing rests longer.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// Why a config is not taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusalReason {
    /// For people.
    pub(super) words: String,
    /// What is the same each time that it fails like this.
    kind: RefusalKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RefusalKind {
    /// Something cannot be made of it: for the same reason as long as it says so in the same words.
    Made(String),
    /// The model was asked. How it refuses is in words of others: how long to wait, a request's number.
    Model,
    /// A platform was asked.
    Channel,
}

impl From<String> for RefusalReason {
    fn from(words: String) -> Self {
        Self { kind: RefusalKind::Made(words.clone()), words }
    }
}

impl RefusalReason {
    /// The model did not answer.
    pub(super) fn model(words: String) -> Self {
        Self { words, kind: RefusalKind::Model }
    }

    /// A platform did not answer.
    pub(super) fn channel(words: String) -> Self {
        Self { words, kind: RefusalKind::Channel }
    }
}

/// What was refused though it can be read.
#[derive(Debug)]
pub(super) struct Refusal {
    loaded: LoadedConfig,
    why: RefusalReason,
    /// How often in a row.
    times: u32,
    /// Then it is tried again, though nothing of it has changed.
    again_at: Instant,
}

impl Refusal {
    /// This one, after another or none; and whether it says nothing new.
    pub(super) fn after(former: Option<Self>, loaded: LoadedConfig, why: RefusalReason, now: Instant) -> (Self, bool) {
        let same = former.filter(|former| former.loaded == loaded && former.why.kind == why.kind);
        let times = same.as_ref().map_or(0, |same| same.times).saturating_add(1);
        (Self { loaded, why, times, again_at: now + wait(times) }, same.is_some())
    }

    /// Why, if this is still the same, and it is too soon to ask others about it again.
    pub(super) fn still_refused(&self, loaded: &LoadedConfig, now: Instant) -> Option<&RefusalReason> {
        (self.loaded == *loaded && now < self.again_at).then_some(&self.why)
    }
}

/// How long something rests that was refused so often.
fn wait(times: u32) -> Duration {
    LOOK_EVERY.saturating_mul(2_u32.saturating_pow(times)).min(WAIT_MAX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use hob_config::environment::Environment;
    use hob_config::load::load_text;

    fn loaded(text: &str) -> LoadedConfig {
        load_text(Path::new("config.toml"), text, &Environment::default()).unwrap()
    }

    #[test]
    fn k5_the_same_text_refused_for_the_same_kind_of_reason_is_nothing_new() {
        let (one, other) = ("[agent]\niterations_max = 1\n", "[agent]\niterations_max = 2\n");
        let model = |secs: u32| RefusalReason::model(format!("Try again in {secs}s"));
        let channel = |words: &str| RefusalReason::channel(words.to_owned());
        let made = |words: &str| RefusalReason::from(words.to_owned());
        for (before, after, expected) in [
            ((one, model(1)), (one, model(2)), true),
            ((one, model(1)), (other, model(1)), false),
            ((one, model(1)), (one, channel("timed out")), false),
            ((one, channel("timed out")), (one, channel("refused")), true),
            ((one, made("no model \"a\"")), (one, made("no model \"a\"")), true),
            ((one, made("no model \"a\"")), (one, made("no model \"b\"")), false),
            ((one, made("timed out")), (one, channel("timed out")), false),
        ] {
            let told = format!("{before:?} {after:?}");
            let now = Instant::now();
            let (before, is_known) = Refusal::after(None, loaded(before.0), before.1, now);
            assert!(!is_known);
            let (after, is_known) = Refusal::after(Some(before), loaded(after.0), after.1, now);
            assert_eq!((is_known, after.times), (expected, if expected { 2 } else { 1 }), "{told}");
        }
    }

    #[test]
    fn k5_what_was_refused_is_tried_again_less_and_less_often() {
        let (text, now) = ("[agent]\niterations_max = 1\n", Instant::now());
        let mut refusal = None;
        for minutes in [6, 12, 24, 48, 60, 60] {
            let (next, _) = Refusal::after(refusal, loaded(text), RefusalReason::model("no".to_owned()), now);
            let end = now + Duration::from_secs(minutes * 60);
            let before = end.checked_sub(Duration::from_millis(1)).unwrap();
            assert_eq!(
                next.still_refused(&loaded(text), before).map(|why| why.words.as_str()),
                Some("no"),
                "{minutes}"
            );
            assert_eq!(next.still_refused(&loaded(text), end), None, "{minutes}");
            assert_eq!(
                next.still_refused(&loaded("[agent]\niterations_max = 2\n"), now),
                None,
                "another is tried at once"
            );
            refusal = Some(next);
        }
        assert_eq!(wait(u32::MAX), WAIT_MAX);
    }
}
