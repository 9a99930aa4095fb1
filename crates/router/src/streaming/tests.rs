use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng};
use tokio_util::sync::CancellationToken;

use async_trait::async_trait;

use super::*;
use crate::delivery::config::{DeliveryConfig, DeliveryLimits};
use crate::delivery::tests::{PlatformCall, PlatformHarness, conversation};
use crate::delivery::{Delivery, DeliveryPorts};
use hob_agent::ports::RunWatcher;
use hob_core::domain::clock::Clock;
use hob_core::domain::ids::SessionId;
use hob_core::domain::rng::Rng;
use hob_core::render::{RenderedPiece, TextFormat, pieces};
use hob_store::Tx;
use hob_store::contents::Contents;
use hob_store::outbox::{ChunkRole, NewChunk, add};
use hob_store::writer::Boundary;
use hob_store::{SchedulingMode, sessions};

struct FrozenClock;

/// Time stands still while the database works. When commits are late, others go on meanwhile.
#[derive(Default)]
struct Commits {
    late: AtomicBool,
}

#[async_trait]
impl Boundary for Commits {
    async fn before_commit(&self) {
        if self.late.load(Ordering::Relaxed) {
            for _ in 0..20_000 {
                tokio::task::yield_now().await;
            }
        }
    }
    async fn after_commit(&self) {}
}

impl Clock for FrozenClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

impl Rng for FrozenClock {
    fn next_u64(&self) -> u64 {
        4
    }
}

struct Harness {
    context: PlatformHarness,
    delivery: Delivery,
    store: Store,
    raw: Tx,
    session: SessionId,
    commits: Arc<Commits>,
    /// Ends the process.
    stop: CancellationToken,
    _home: tempfile::TempDir,
}

/// The conversation's own session.
const HOME: &str = "telegram:5";

/// Queues words of a run, or of nobody.
#[derive(Clone)]
struct EnqueueText {
    session: &'static str,
    key: String,
    run: Option<RunId>,
    text: String,
    reply: bool,
}

impl EnqueueText {
    async fn run(&self, tx: &mut Tx) -> Result<SessionId, StoreError> {
        let destination = place();
        let session = sessions::ensure(tx, self.session, ChannelKind::Telegram, Timestamp::UNIX_EPOCH).await?.id;
        for (index, piece) in words(&self.text, self.reply).iter().enumerate() {
            let new = NewChunk {
                key: &format!("{}:{index}", self.key),
                session,
                run: self.run,
                destination: &destination,
                piece,
                choices: &[],
                file: None,
                part: if self.reply && index == 0 { ChunkRole::Reply } else { ChunkRole::Words },
            };
            add(tx, &new, Timestamp::UNIX_EPOCH).await?;
        }
        Ok(session)
    }
}

fn words(text: &str, reply: bool) -> Vec<RenderedPiece> {
    pieces(text, if reply { TextFormat::Markdown } else { TextFormat::Plain }, ChannelKind::Telegram)
}

fn place() -> Destination {
    Destination { conversation: conversation(), reply_to: Some("7".to_owned()) }
}

fn delivery(context: &PlatformHarness, stop: &CancellationToken, store: &Store, stream: StreamSettings) -> Delivery {
    let config = DeliveryConfig {
        channels: vec![Arc::clone(&context.platform) as _],
        limits: DeliveryLimits {
            attempts_max: 3,
            age_max: Duration::from_secs(60),
            backoff_base: Duration::from_secs(1),
            backoff_max: Duration::from_secs(10),
        },
        stream,
        reactions: false,
        speaks: false,
        letters: Arc::default(),
    };
    Delivery::new(
        DeliveryPorts {
            store: store.clone(),
            clock: Arc::new(FrozenClock),
            rng: Arc::new(FrozenClock),
            contents: Contents::of(std::path::Path::new("/nowhere")),
            redactor: Redactor::default(),
            stop: stop.clone(),
            tracker: context.channels.tracker.clone(),
            idle: Arc::default(),
            meters: Arc::default(),
        },
        config,
    )
}

fn settings() -> StreamSettings {
    StreamSettings { on: true, every: Duration::from_millis(1_500), off: BTreeSet::new() }
}

impl Harness {
    async fn new() -> Self {
        Self::with(settings()).await
    }

    async fn with(stream: StreamSettings) -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("hob.db");
        let commits = Arc::new(Commits::default());
        let store = Store::open(&path, SchedulingMode::Lockstep(Arc::clone(&commits) as _)).await.unwrap();
        let mut raw = Store::raw(&path).await.unwrap();
        sqlx::query("PRAGMA foreign_keys = OFF").execute(&mut raw).await.unwrap();
        let first =
            EnqueueText { session: HOME, key: "hello".to_owned(), run: None, text: "hello".to_owned(), reply: false };
        let session = store.write(async move |tx| first.run(tx).await).await.unwrap();
        let (context, stop) = (PlatformHarness::new(), CancellationToken::new());
        let delivery = delivery(&context, &stop, &store, stream);
        let mut bench = Self { context, delivery, store, raw, session, commits, stop, _home: home };
        bench.delivery.wake(session);
        bench.context.rest().await;
        bench.context.clear();
        bench.begin(1).await;
        bench
    }

    /// The process dies, and the next one starts.
    async fn restart(&mut self) {
        self.stop.cancel();
        self.stop = CancellationToken::new();
        self.delivery = delivery(&self.context, &self.stop, &self.store, settings());
        self.delivery.sweep().await.unwrap();
        self.context.rest().await;
    }

    async fn begin(&mut self, run: i64) {
        let begin = "INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at) VALUES ($1, $2, $1, 1, 'running', 0)";
        sqlx::query(begin).bind(run).bind(self.session).execute(&mut self.raw).await.unwrap();
    }

    /// It is on record that a run is over.
    async fn over(&mut self, run: i64) {
        let end = "UPDATE runs SET state = 'completed', ended_at = 1 WHERE id = $1";
        sqlx::query(end).bind(run).execute(&mut self.raw).await.unwrap();
    }

    async fn end(&mut self, run: i64, ended: IdleReason) {
        self.over(run).await;
        self.hear(run, Progress::Idle(ended));
        self.context.rest().await;
    }

    fn hear(&self, run: i64, progress: Progress) {
        self.delivery.progress(&place(), RunId(run), progress);
    }

    fn write(&self, text: &str) {
        self.hear(1, Progress::Delta(text.to_owned()));
    }

    async fn say(&self, key: &str, run: Option<i64>, text: &str, reply: bool) {
        let (key, run, text) = (key.to_owned(), run.map(RunId), text.to_owned());
        self.store
            .write(async move |tx| EnqueueText { session: HOME, key, run, text, reply }.run(tx).await)
            .await
            .unwrap();
        self.delivery.wake(self.session);
    }

    async fn answer(&mut self, text: &str) {
        self.say("run:1:9", Some(1), text, true).await;
        self.end(1, IdleReason::Done).await;
    }

    fn texts(&self) -> Vec<String> {
        self.context.shown().into_iter().map(|(text, _)| text).collect()
    }

    fn drawn(&self) -> Vec<PlatformCall> {
        let calls = self.context.calls();
        calls.into_iter().filter(|call| !matches!(call, PlatformCall::Sign(_))).collect()
    }

    async fn drafts(&mut self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM drafts").fetch_one(&mut self.raw).await.unwrap()
    }
}

async fn pass(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

const LONG: &str = "A sentence that is long enough to be worth a draft.";

#[tokio::test(start_paused = true)]
async fn a_short_answer_comes_whole() {
    let mut bench = Harness::new().await;
    bench.write("Half past");
    pass(5_000).await;
    bench.write(" five.");
    pass(5_000).await;
    bench.answer("Half past five.").await;
    assert_eq!((bench.texts(), bench.drawn()), (vec!["Half past five.".to_owned()], vec![]));
    let mut bench = Harness::new().await;
    bench.write(LONG);
    pass(900).await;
    bench.answer(LONG).await;
    assert_eq!((bench.texts(), bench.drawn()), (vec![LONG.to_owned()], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_grows_in_one_message_and_ends_exact() {
    let mut bench = Harness::new().await;
    let mut text = String::new();
    for word in 0..100 {
        let more = format!("**word{word}** ");
        bench.write(&more);
        text.push_str(&more);
        pass(100).await;
    }
    let calls = bench.drawn();
    assert!((6..=8).contains(&calls.len()), "once in one and a half seconds: {calls:?}");
    assert!(
        calls
            .iter()
            .skip(1)
            .all(|call| matches!(call, PlatformCall::Draft { posts: false, text } if text.ends_with('…')))
    );
    assert_eq!((bench.context.shown().len(), bench.drafts().await), (1, 1));
    bench.answer(&text).await;
    let whole = words(&text, true).into_iter().map(|piece| (piece.text, piece.markup)).collect::<Vec<_>>();
    assert_eq!((bench.context.shown(), bench.drafts().await), (whole, 0));
}

#[tokio::test(start_paused = true)]
async fn what_no_longer_fits_the_first_message_is_not_rendered_with_each_word() {
    const WORDS: usize = 100;
    let bench = Harness::new().await;
    bench.write(&LONG.repeat(100));
    pass(5_000).await;
    let (drawn, before) = (bench.drawn(), bench.context.asked());
    for _word in 0..WORDS {
        bench.write("word ");
        pass(100).await;
    }
    assert_eq!(bench.drawn(), drawn, "there is nothing new to show");
    // Each word asks twice by itself: whether a reply can grow there, and how work is shown.
    let asked = bench.context.asked() - before - 2 * WORDS;
    assert!(asked < WORDS / 5, "{asked} times for {WORDS} words in ten seconds");
}

#[tokio::test(start_paused = true)]
async fn where_streaming_is_off_replies_come_whole() {
    let off = BTreeSet::from([ChannelKind::Telegram]);
    for stream in [StreamSettings { on: false, ..settings() }, StreamSettings { off, ..settings() }] {
        let mut bench = Harness::with(stream).await;
        bench.write(LONG);
        pass(9_000).await;
        bench.answer(LONG).await;
        assert_eq!((bench.texts(), bench.drawn()), (vec![LONG.to_owned()], vec![]));
    }
}

#[tokio::test(start_paused = true)]
async fn flood_limits_are_waited_for_and_a_refusal_ends_the_drawing() {
    let mut bench = Harness::new().await;
    let later = DeliveryError::Retry { after: Some(Duration::from_secs(20)), why: String::new() };
    bench.context.answer_drafts(vec![Ok(()), Err(later)]);
    bench.write(LONG);
    pass(1_100).await;
    bench.write(LONG);
    pass(20_000).await;
    assert_eq!(bench.drawn().len(), 2);
    pass(2_000).await;
    assert_eq!(bench.drawn().len(), 3, "not before its time, and then the newest");
    bench.context.answer_drafts(vec![Err(DeliveryError::Refused { why: String::new() })]);
    bench.write(" one");
    pass(2_000).await;
    bench.write(" two");
    pass(9_000).await;
    assert_eq!((bench.drawn().len(), bench.context.shown().len()), (4, 1), "what is there stays");
    bench.answer(LONG).await;
    assert_eq!(bench.texts(), [LONG]);
}

#[tokio::test(start_paused = true)]
async fn a_draft_whose_posting_nobody_knows_of_is_not_posted_again() {
    let mut bench = Harness::new().await;
    bench.context.answer_drafts(vec![Err(DeliveryError::Unknown { why: String::new() })]);
    bench.write(LONG);
    pass(2_000).await;
    bench.write(LONG);
    pass(9_000).await;
    assert_eq!(bench.drawn().len(), 1);
    bench.answer(LONG).await;
    assert_eq!(bench.texts(), [LONG]);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_meanwhile_stands_above_the_reply() {
    let mut bench = Harness::new().await;
    bench.write(LONG);
    pass(2_000).await;
    assert_eq!(bench.texts(), [format!("{LONG} …")]);
    bench.say("note", None, "Budget is near.", false).await;
    pass(4_000).await;
    assert_eq!(bench.texts(), ["Budget is near.".to_owned(), format!("{LONG} …")], "it goes on below");
    bench.hear(1, Progress::Waiting);
    bench.say("run:1:5", Some(1), "May I?", false).await;
    bench.context.rest().await;
    assert_eq!(bench.texts(), ["Budget is near.", "May I?"]);
    bench.answer("Done.").await;
    assert_eq!(bench.texts(), ["Budget is near.", "May I?", "Done."]);
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_became_the_answer_is_nobodys_to_take_back() {
    let mut bench = Harness::new().await;
    bench.write(LONG);
    pass(2_000).await;
    bench.context.hold_deliveries();
    bench.say("run:1:9", Some(1), LONG, true).await;
    pass(100).await;
    // An agent's session speaks in the same conversation, and waits while the answer is on its way.
    let (key, text) = ("note".to_owned(), "Budget is near.".to_owned());
    let note = EnqueueText { session: "sub-1", key, run: None, text, reply: false };
    let sub = bench.store.write(async move |tx| note.run(tx).await).await.unwrap();
    bench.delivery.wake(sub);
    pass(100).await;
    bench.commits.late.store(true, Ordering::Relaxed);
    bench.context.release_deliveries();
    bench.end(1, IdleReason::Done).await;
    assert_eq!(bench.texts(), [LONG, "Budget is near."]);
    assert!(!bench.drawn().contains(&PlatformCall::Retract));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_says_nothing_leaves_nothing() {
    let mut bench = Harness::new().await;
    bench.write(LONG);
    pass(2_000).await;
    bench.end(1, IdleReason::Quietly).await;
    assert_eq!((bench.texts(), bench.drafts().await), (vec![], 0));
}

#[tokio::test(start_paused = true)]
async fn f4_how_far_a_call_is_stands_in_one_message_until_the_reply_does() {
    let mut bench = Harness::new().await;
    bench.write("I copy.");
    bench.hear(1, Progress::Doing("using copy".to_owned()));
    for page in 1..=40 {
        bench.hear(1, Progress::Step(format!("using copy: [page](https://evil.example) {page:02} of 40")));
        pass(200).await;
    }
    let calls = bench.drawn();
    assert!((4..=7).contains(&calls.len()), "once in one and a half seconds: {calls:?}");
    let expected = |page: &str| format!("using copy: [page](https://evil.example) {page} of 40 …");
    pass(2_000).await;
    // As it was said: a server's words are no markup.
    assert_eq!(bench.context.shown(), [(expected("40"), None)]);
    assert_eq!(bench.drafts().await, 1, "on record once");
    bench.hear(1, Progress::Working);
    bench.write("All **forty** pages are copied, and nothing else was.");
    pass(3_000).await;
    assert_eq!(bench.texts(), ["All forty pages are copied, and nothing else was. …"]);
    bench.answer("All forty pages are copied.").await;
    assert_eq!((bench.texts(), bench.drafts().await), (vec!["All forty pages are copied.".to_owned()], 0));
    // A call that is soon done shows nothing, and one that is stopped leaves nothing.
    for (millis, drawn) in [(800, 0), (3_000, 1)] {
        let mut bench = Harness::new().await;
        bench.hear(1, Progress::Step("using copy: 1 of 2".to_owned()));
        pass(millis).await;
        assert_eq!(bench.drawn().len(), drawn);
        bench.end(1, IdleReason::Quietly).await;
        assert_eq!((bench.texts(), bench.drafts().await), (vec![], 0));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_crash_left_is_found_at_the_start() {
    let mut bench = Harness::new().await;
    bench.write(LONG);
    pass(2_000).await;
    bench.restart().await;
    assert_eq!(bench.texts(), [format!("{LONG} …")], "its run is not over");
    bench.write(&format!("Again: {LONG}"));
    pass(2_000).await;
    assert_eq!(bench.texts(), [format!("Again: {LONG} …")], "the same message");
    let end = "UPDATE runs SET state = 'cancelled', ended_at = 1";
    sqlx::query(end).execute(&mut bench.raw).await.unwrap();
    bench.restart().await;
    assert_eq!((bench.texts(), bench.drafts().await), (vec![], 0));
}

/// However the words come, and whatever the platform says of drafts: the chat shows at last what it would show without them.
#[tokio::test(start_paused = true)]
async fn the_final_form_is_the_same_however_it_came() {
    const PARTS: &[&str] = &[
        "# A heading\n\n",
        "Some **bold** words and `code`, ",
        "a [link](https://example.org/a).\n\n",
        "```rust\nfn main() {}\n```\n\n",
        "- one\n- two\n  1. nested\n\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
        "> quoted\n\n",
        "Ünïcödé 🦀 and on it goes, for a while yet. ",
    ];
    let mut bench = Harness::new().await;
    sqlx::query("UPDATE runs SET state = 'completed', ended_at = 1").execute(&mut bench.raw).await.unwrap();
    for seed in 0..100_u64 {
        let run = i64::try_from(seed).unwrap() + 2;
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut below = |end: u64| rng.next_u64() % end;
        bench.context.clear();
        bench.begin(run).await;
        let parts = below(60);
        let text: String = (0..parts).map(|_| PARTS[usize::try_from(below(PARTS.len() as u64)).unwrap()]).collect();
        let mut expected = Vec::new();
        let errors = (0..below(6)).map(|_| match below(4) {
            0 => Err(DeliveryError::Retry { after: Some(Duration::from_secs(3)), why: String::new() }),
            1 => Err(DeliveryError::Refused { why: String::new() }),
            2 => Err(DeliveryError::Unknown { why: String::new() }),
            _ => Ok(()),
        });
        let errors = errors.collect();
        bench.context.answer_drafts(errors);
        let mut left: Vec<char> = text.chars().collect();
        while !left.is_empty() {
            let some = usize::try_from(below(200)).unwrap().min(left.len());
            let delta: String = left.drain(..some).collect();
            bench.hear(run, Progress::Delta(delta));
            pass(below(900)).await;
            match below(40) {
                0 => bench.hear(run, Progress::Restart),
                1 => {
                    let note = format!("note {seed} {}", left.len());
                    bench.say(&note, None, &note, false).await;
                    expected.push((note.clone(), None));
                }
                _ => {}
            }
        }
        let answers = below(5) > 0;
        if answers {
            bench.say(&format!("run:{run}:9"), Some(run), &text, true).await;
            expected.extend(words(&text, true).into_iter().map(|piece| (piece.text, piece.markup)));
        }
        bench.end(run, if answers { IdleReason::Done } else { IdleReason::Quietly }).await;
        assert_eq!((bench.context.shown(), bench.drafts().await), (expected, 0), "seed {seed}");
    }
}
