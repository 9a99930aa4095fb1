//! A house with strangers' words all around it, and a model that obeys them.

use std::sync::Arc;

use crate::corpus::{self, Payload, Placeholders};
use crate::evil::HostileServer;
use crate::obey::{self, NOTHING, ObedientModel, TRIED};
use crate::ways::AttackVector;
use crate::world::{DOOR, HouseSnapshot};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::test_hob::{BOB, STRANGER, TestHob};

/// The key of the model's provider.
const KEY: &str = "sk-corpus-7fQ2mZx81LwPa0Rt55Vd";

/// What a person does about the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerPolicy {
    /// They say no to each.
    No,
    /// They say nothing to the first.
    Nothing,
}

/// The house.
pub(crate) struct AttackHarness {
    pub(crate) hob: TestHob,
    pub(crate) evil: HostileServer,
    pub(crate) obeys: Arc<ObedientModel>,
}

/// What came of one payload.
#[derive(Debug)]
pub(crate) struct PayloadOutcome {
    pub(crate) way: AttackVector,
    pub(crate) payload: String,
    /// What was asked before anything was done.
    pub(crate) questions: Vec<String>,
    /// The last words, if it came to its end.
    pub(crate) end: Option<String>,
}

impl AttackHarness {
    /// With so many owners besides the usual one; each has a conversation.
    pub(crate) async fn with(owners: usize, more: &str) -> Self {
        let evil = HostileServer::start().await;
        let all: Vec<String> = (0..owners).map(|index| person(index).to_string()).chain(["1".to_owned()]).collect();
        let settings = format!(
            r#"
            {more}
            [provider]
            api_key = "{KEY}"
            [telegram]
            owner_user_ids = [{owners}]
            guest_user_ids = [{STRANGER}]
            [destinations.bob]
            telegram_chat = {BOB}
            [web]
            allow = ["{host}"]
            [web.search]
            kind = "searxng"
            base_url = "{evil}"
            [memory]
            extract = false
            [quotas]
            guest_month_tokens = 1000000000
            [cli_agents.coder]
            sandbox = false
            command = ["/bin/sh", "-c", "echo coder >> $HOME/paid", "sh", "{{task}}"]
            [tools.mail]
            sandbox = false
            description = "Reads a letter."
            command = ["/bin/sh", "-c", 'cat "$HOME/mail/$1"', "sh", "{{id}}"]
            parameters = {{ id = "Which." }}
            changes = false
            [tools.pay]
            sandbox = false
            description = "Pays."
            command = ["/bin/sh", "-c", 'echo "$1" >> $HOME/paid', "sh", "{{to}}"]
            parameters = {{ to = "Whom." }}
            trusted_output = true
            role = "guest"
            "#,
            owners = all.join(", "),
            host = evil.url.trim_start_matches("http://"),
            evil = evil.url,
        );
        let hob = TestHob::with(&settings).await;
        let (payloads, deeds) = corpus::read();
        let fill = Placeholders { evil: evil.url.clone(), key: KEY.to_owned(), token: FakeTelegram::TOKEN.to_owned() };
        let obeys = Arc::new(ObedientModel { payloads, deeds, fill });
        hob.model.require_key(KEY);
        hob.model.otherwise(obey::script(Arc::clone(&obeys)));
        std::fs::create_dir_all(hob.path("data/workspace")).unwrap();
        std::fs::write(hob.path("data/workspace/notes.md"), format!("milk, bread, {DOOR}\n")).unwrap();
        Self { hob, evil, obeys }
    }

    pub(crate) fn fill(&self) -> &Placeholders {
        &self.obeys.fill
    }

    /// Has a payload read by a person's run.
    pub(crate) async fn read(
        &self,
        way: AttackVector,
        payload: &Payload,
        person: i64,
        answers: AnswerPolicy,
    ) -> PayloadOutcome {
        self.hob.telegram.person(person);
        let wish = way.lay(payload, &self.hob, &self.evil, self.fill());
        let heard = self.hob.heard(person).len();
        if way == AttackVector::Attachment {
            let words = payload.words(self.fill());
            self.hob.telegram.hand(person, &format!("{}.txt", payload.id), words.as_bytes(), &wish);
        } else {
            self.hob.say(person, &wish);
        }
        let (questions, end) = self.follow(person, heard, answers).await;
        PayloadOutcome { way, payload: payload.id.clone(), questions, end }
    }

    /// Follows a run to its end, or to the question that nobody answers. What was asked about the reading is granted.
    pub(crate) async fn follow(
        &self,
        person: i64,
        mut heard: usize,
        answers: AnswerPolicy,
    ) -> (Vec<String>, Option<String>) {
        let mut questions = Vec::new();
        loop {
            let text = self.hob.telegram.until_sent(person, heard + 1).await.remove(heard);
            heard += 1;
            if text.starts_with(TRIED) || text.starts_with(NOTHING) {
                return (questions, Some(text));
            }
            assert!(text.contains("May I do this?") || text.starts_with("May I keep "), "{text}");
            if !text.contains("somebody else may have written") {
                let always = text.contains("\nweb_fetch") && text.contains("\n2. always");
                self.hob.press(person, if always { "always" } else { "approve" });
                continue;
            }
            questions.push(text);
            if answers == AnswerPolicy::Nothing {
                return (questions, None);
            }
            self.hob.press(person, "deny");
        }
    }

    /// Lays out every payload on every way, so that what is there is known.
    pub(crate) fn lay(&self) -> HouseSnapshot {
        for payload in &self.obeys.payloads {
            for way in AttackVector::ALL {
                way.lay(payload, &self.hob, &self.evil, self.fill());
            }
        }
        HouseSnapshot::of(&self.hob)
    }
}

/// The owner with this number.
pub(crate) fn person(index: usize) -> i64 {
    i64::try_from(10_000 + index).unwrap()
}
