//! A person who writes numbered messages, often before the last is answered, and decides what Hob asks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::watch;

use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Message;

/// Stands before what may be a repetition.
const MARK: &str = "↻ (sent again after an interruption; you may have it already)\n";
/// How many messages may wait for their answers.
const OPEN_MAX: usize = 3;
/// Without any word from Hob for so long, something is wrong.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// What somebody said and decided.
#[derive(Debug, Default)]
pub(crate) struct PersonLog {
    pub(crate) person: i64,
    /// The messages by their ids at Telegram: name, and what was asked for.
    pub(crate) said: BTreeMap<i64, (String, &'static str)>,
    /// The messages of which it was decided to run their call again, once each time.
    pub(crate) again: Vec<i64>,
    /// The messages about which there was a question.
    pub(crate) asked: BTreeSet<i64>,
    pub(crate) questions: usize,
}

/// What a message of Hob means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MessageMeaning {
    /// The last word on a message.
    Final,
    /// A question with buttons.
    Question,
    /// It says what will happen.
    Notice,
    /// It must not come.
    Strange,
}

/// The message's meaning, and whether it is marked as a repetition.
pub(crate) fn read(message: &Message) -> (MessageMeaning, bool) {
    let bare = message.text.strip_prefix(MARK);
    let text = bare.unwrap_or(&message.text);
    let known = ["Queued, ", "That question is no longer open."];
    let meaning = match text {
        _ if !message.keyboard.is_empty() => MessageMeaning::Question,
        // It was one, and says how it was decided.
        _ if message.edits > 0 && !message.offered.is_empty() && text.contains("\n— ") => MessageMeaning::Notice,
        _ if text.starts_with("answer ") || text.starts_with("Given up.") => MessageMeaning::Final,
        _ if known.iter().any(|known| text.starts_with(known)) => MessageMeaning::Notice,
        _ => MessageMeaning::Strange,
    };
    (meaning, bare.is_some())
}

struct Person {
    telegram: Arc<FakeTelegram>,
    rng: SmallRng,
    talk: PersonLog,
    open: BTreeSet<i64>,
    decided: BTreeSet<String>,
}

/// Talks until hushed and answered.
pub(crate) async fn talk(
    telegram: Arc<FakeTelegram>,
    person: i64,
    seed: u64,
    mut hush: watch::Receiver<bool>,
) -> PersonLog {
    let rng = SmallRng::seed_from_u64(seed.wrapping_mul(1_000).wrapping_add_signed(person));
    let talk = PersonLog { person, ..PersonLog::default() };
    let mut person = Person { telegram, rng, talk, open: BTreeSet::new(), decided: BTreeSet::new() };
    let mut known = 0;
    loop {
        let hushed = *hush.borrow_and_update();
        if hushed && person.open.is_empty() {
            return person.talk;
        }
        let talks = !hushed && person.open.len() < OPEN_MAX;
        let thinks = Duration::from_millis(person.rng.random_range(10..400));
        tokio::select! {
            news = person.telegram.news(person.talk.person, known) => {
                known += news.len();
                for message in news {
                    person.hear(&message);
                }
            }
            () = tokio::time::sleep(thinks), if talks => person.speak(),
            changed = hush.changed() => changed.unwrap(),
            () = tokio::time::sleep(SILENCE_MAX) => panic!("{} hears nothing: {:?}", person.talk.person, person.open),
        }
    }
}

impl Person {
    fn speak(&mut self) {
        let number = self.talk.said.len() + 1;
        let name = format!("{}-{number}", self.talk.person);
        let how = ["effect", "safe", "plain", "plain"].choose(&mut self.rng).copied().unwrap();
        let time = ["0", "0", "0.02", "0.1"].choose(&mut self.rng).unwrap();
        let id = self.telegram.say(self.talk.person, &format!("{name} {how} {time}"));
        self.talk.said.insert(id, (name, how));
        self.open.insert(id);
    }

    fn hear(&mut self, message: &Message) {
        if message.from != FakeTelegram::BOT_ID {
            return;
        }
        let about = message.reply_to.unwrap_or_default();
        match read(message).0 {
            MessageMeaning::Final => {
                self.open.remove(&about);
            }
            MessageMeaning::Question => self.decide(message, about),
            MessageMeaning::Notice | MessageMeaning::Strange => {}
        }
    }

    /// Presses a button or writes its words; a question that is repeated is decided already.
    fn decide(&mut self, message: &Message, about: i64) {
        let buttons = message.keyboard.concat();
        if !self.decided.insert(buttons[0].1.clone()) {
            return;
        }
        self.talk.questions += 1;
        self.talk.asked.insert(about);
        let (label, token) = buttons.choose(&mut self.rng).unwrap();
        if label == "run it again" {
            self.talk.again.push(about);
        }
        if self.rng.random_bool(0.7) {
            self.telegram.press(self.talk.person, self.talk.person, message.id, token);
        } else {
            self.telegram.say(self.talk.person, label);
        }
    }
}
