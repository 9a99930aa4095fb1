//! A platform is away for ten minutes, with the delays that Hob has outside of tests.

use std::time::Duration;

use hob_core::domain::inbound::ChannelKind;
use hob_store::Store;
use tokio::time::Instant;

use crate::channels::platform::{Platform, VisibleMessage};
use crate::channels::simulated::{Clock, Tries, start};
use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::test_hob::TestHob;

/// So long it is away.
const AWAY: Duration = Duration::from_secs(600);
/// What goes by with a turn of the clock while it is.
const FAST: Duration = Duration::from_millis(500);
/// The same while it comes back: what is under way must not seem to take for ever.
const BRISK: Duration = Duration::from_millis(40);
/// When somebody says something meanwhile.
const SAID: [(&str, u64); 3] = [("one", 5), ("two", 240), ("three", 590)];
/// The longest that answers may take once it is back: the longest wait of a channel, and of the outbox.
const BACK_WITHIN: Duration = Duration::from_secs(900);

/// The longest delay between tries, without its jitter.
fn longest(kind: ChannelKind) -> Duration {
    Duration::from_secs(if kind == ChannelKind::Email { 120 } else { 60 })
}

pub(crate) async fn conversation(mut platform: Box<dyn Platform>) {
    let settings = "[delivery]\nbackoff_base_ms = 1000";
    let mut hob = TestHob::with(&format!("{}\n{settings}", platform.settings())).await;
    let (tries, _listening) = Tries::listen();
    let clock = Clock::start();
    let daemon = start(&hob, &clock).await;
    hears(&mut *platform, &hob).await;
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).words("Late.").finish("stop").into());
    platform.say(&hob, "zero").await;
    hob.asked(1).await;
    platform.goes_down(&mut hob).await;
    let away = Instant::now();
    gate.open();
    hob.model.otherwise(|asked| {
        let said = asked.last_user().lines().last().unwrap_or_default();
        Reply::text(&format!("You said {said}."))
    });
    clock.goes_by(FAST);
    for (word, at) in SAID {
        tokio::time::sleep_until(away + Duration::from_secs(at)).await;
        platform.say(&hob, word).await;
    }
    tokio::time::sleep_until(away + AWAY).await;
    let delays = tries.since(away);
    clock.goes_by(BRISK);
    platform.comes_back(&mut hob).await;
    let shown = all_answered(&*platform, &hob).await;
    clock.goes_by(Duration::from_millis(1));
    let told: Vec<&str> = shown.iter().map(|shown| shown.text.as_str()).collect();
    let (waits, answers): (Vec<&str>, Vec<&str>) = told.into_iter().partition(|text| text.starts_with("Queued, "));
    assert_eq!(answers, ["Late.", "You said one.", "You said two.", "You said three."], "each once and in order");
    // What really waits behind another is told so, once each, and the first never does. The last may be first in the line when it
    // comes: whether its forerunner waits still or is being answered already hangs on which comes sooner, both are true.
    let known: [&[&str]; 4] =
        [&[], &["Queued, 1st."], &["Queued, 1st.", "Queued, 2nd."], &["Queued, 1st.", "Queued, 1st."]];
    assert!(known.contains(&waits.as_slice()), "{waits:?}");
    assert_eq!(waits, queued(&hob).await, "each that was told is one message's, and came once");
    assert_eq!(hob.model.requests().len(), 4);
    hob.nothing_refused();
    daemon.stop().await;
    is_patient(longest(platform.kind()), &delays);
}

/// What Hob decided to say of who waits: a message is told of once, by its key.
async fn queued(hob: &TestHob) -> Vec<String> {
    let mut database = Store::raw(&hob.path("data/hob.db")).await.unwrap();
    let said = sqlx::query_scalar("SELECT text FROM outbox WHERE text LIKE 'Queued, %' ORDER BY id");
    let said = said.fetch_all(&mut database).await.unwrap();
    database.close().await.unwrap();
    said
}

/// It tries again and again, each time after a longer wait, which has an end.
fn is_patient(longest: Duration, delays: &[Duration]) {
    let most = delays.iter().max().copied().unwrap_or_default();
    assert!(most >= longest, "the waits grow to {longest:?}: {delays:?}");
    assert!(most <= longest * 2, "and no further, but for jitter: {delays:?}");
    assert!((7..=25).contains(&delays.len()), "{delays:?}");
}

/// Waits until Hob receives.
async fn hears(platform: &mut dyn Platform, hob: &TestHob) {
    hob.telegram.until_true("a poll", |world| world.called("getUpdates") > 0).await;
    if platform.kind() != ChannelKind::Email {
        return platform.connected(hob).await;
    }
    // A mailbox that was looked at for the first time has a cursor.
    loop {
        let mut database = Store::raw(&hob.path("data/hob.db")).await.unwrap();
        let known = sqlx::query_scalar("SELECT count(*) FROM cursors WHERE channel = 'email'");
        let known: i64 = known.fetch_one(&mut database).await.unwrap();
        database.close().await.unwrap();
        if known > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until the last question is answered, and what else is under way has come to its end.
async fn all_answered(platform: &dyn Platform, hob: &TestHob) -> Vec<VisibleMessage> {
    let come = tokio::time::timeout(BACK_WITHIN, settled(platform, hob)).await;
    come.unwrap_or_else(|_late| panic!("all is answered"))
}

async fn settled(platform: &dyn Platform, hob: &TestHob) -> Vec<VisibleMessage> {
    let mut answered = None;
    loop {
        let shown = platform.until(hob, &|_| true).await;
        let is_answered = shown.iter().any(|shown| shown.text.contains("You said three."));
        let answered_at = *answered.get_or_insert_with(Instant::now);
        if !is_answered {
            answered = None;
        } else if answered_at.elapsed() > Duration::from_secs(30) {
            return shown;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
