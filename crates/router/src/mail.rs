//! Letters on their way out: nobody new is written to before an owner has said so, and nobody too often (row N14).
//!
//! A letter can come from anybody and ask to be answered to anybody. So it is the recipients of an answer that count, never
//! what a letter says of its sender.
//! Start at `gate`.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use hob_agent::projection::owner_questions::{self, LetterThread, OwnerMatter, OwnerWords};
use hob_agent::projection::write::OutgoingText;
use hob_core::domain::email_envelope::Envelope;
use hob_core::domain::ids::{OutboxId, SessionId, UserId};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::outgoing::Choice;
use hob_core::domain::principal::{Principal, Role};
use hob_core::domain::text::{cut, grouped, one_line};
use hob_core::policy::access::AccessList;
use hob_core::render::RenderedPiece;
use hob_store::error::StoreError;
use hob_store::outbox::{self, NewChunk, PendingChunk};
use hob_store::quarantined_mail::{self, NewQuarantinedMail, QuarantinedMail};
use hob_store::{Tx, millis};

/// After so long a letter is not sent any more.
const HELD_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Letters are counted over this time.
const COUNTED: SignedDuration = SignedDuration::from_hours(1);
/// So much of a letter is shown to owners.
const SHOWN_CHARS: usize = 1_500;
/// So much of it is shown in a list.
const LISTED_CHARS: usize = 80;

/// Whom letters go to unasked, and how often.
#[derive(Debug, Clone, Default)]
pub struct EmailPolicy {
    /// Those whom the config names are known.
    pub access: Arc<AccessList>,
    /// How many letters somebody gets within an hour, by account.
    pub per_hour_max: BTreeMap<String, u32>,
}

/// Whether a letter may go out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SendDecision {
    /// It may; in these sessions owners are asked whether others may have it, too.
    Open(Vec<SessionId>),
    /// It waits for its time, or for an owner; in these sessions owners are asked.
    Shut(Vec<SessionId>),
}

/// Looks at a letter that was taken from the outbox. Of those to whom it would go, those who are known do not wait for what
/// an owner says of the others.
pub(super) async fn check_recipients(
    tx: &mut Tx,
    waiting: &mut PendingChunk,
    rules: &EmailPolicy,
    now: Timestamp,
) -> Result<SendDecision, StoreError> {
    let place = waiting.message.destination.conversation.clone();
    // What there is nobody for, the channel refuses with its reason.
    let Some(envelope) = waiting.message.envelope.as_deref().and_then(Envelope::decode) else {
        return Ok(SendDecision::Open(Vec::new()));
    };
    if place.channel != ChannelKind::Email {
        return Ok(SendDecision::Open(Vec::new()));
    }
    let (mut recipients, mut strangers) = (Vec::new(), Vec::new());
    for address in envelope.recipients() {
        let is_known = is_known(tx, &rules.access, &place, address).await?;
        if is_known { &mut recipients } else { &mut strangers }.push(address);
    }
    let mut asked = Vec::new();
    if !strangers.is_empty() {
        let theirs = envelope.only(&strangers);
        if recipients.is_empty() {
            return ask_first(tx, waiting, &theirs, rules, now).await.map(SendDecision::Shut);
        }
        if let Some(apart) = split_letter(tx, waiting, &theirs, now).await? {
            asked = ask_first(tx, &apart, &theirs, rules, now).await?;
        }
        waiting.message.envelope = envelope.only(&recipients).encode();
        if let Some(envelope) = &waiting.message.envelope {
            quarantined_mail::set_taken_envelope(tx, waiting.message.id, envelope).await?;
        }
    }
    let most = rules.per_hour_max.get(&place.account).copied().map_or(i64::MAX, i64::from);
    let since = time_before(now, COUNTED);
    quarantined_mail::drop_old_counts(tx, since).await?;
    let mut until = None;
    for address in &recipients {
        let hour = since..now.saturating_add(COUNTED).unwrap_or(Timestamp::MAX);
        let counted = quarantined_mail::counted(tx, &place.account, address, waiting.message.id, hour).await?;
        until = until.max(counted.and_then(|(count, oldest)| oldest.filter(|_| count >= most)));
    }
    if let Some(oldest) = until {
        tracing::warn!(outbox = %waiting.message.id, "a letter waits: its recipient has had {most} within an hour; mind a loop");
        let hour = i64::try_from(COUNTED.as_millis()).unwrap_or(i64::MAX);
        quarantined_mail::postpone(tx, waiting.message.id, oldest.saturating_add(hour)).await?;
        return Ok(SendDecision::Shut(asked));
    }
    for address in &recipients {
        quarantined_mail::count(tx, &place.account, address, waiting.message.id, now).await?;
    }
    Ok(SendDecision::Open(asked))
}

/// A copy of a letter for some of those to whom it would go.
async fn split_letter(
    tx: &mut Tx,
    waiting: &PendingChunk,
    envelope: &Envelope,
    now: Timestamp,
) -> Result<Option<PendingChunk>, StoreError> {
    let message = &waiting.message;
    let (key, envelope) = (format!("mail:{}:apart", message.id), envelope.encode());
    let chunk = NewChunk {
        key: &key,
        session: waiting.session,
        run: message.run,
        destination: &message.destination,
        piece: &RenderedPiece { text: message.text.clone(), markup: message.markup.clone() },
        choices: &[],
        file: message.file.as_ref().map(|file| file.id),
        part: outbox::ChunkRole::Words,
    };
    outbox::add(tx, &chunk, now).await?;
    let id = quarantined_mail::set_envelope(tx, &key, envelope.as_deref().unwrap_or_default()).await?;
    Ok(id.map(|id| {
        let mut apart = waiting.clone();
        apart.message.id = id;
        apart.message.envelope = envelope;
        apart
    }))
}

async fn is_known(tx: &mut Tx, access: &AccessList, place: &Conversation, address: &str) -> Result<bool, StoreError> {
    let door = access.doors.get(&(place.channel, place.account.clone()));
    if door.is_some_and(|door| door.roles.contains_key(address)) {
        return Ok(true);
    }
    quarantined_mail::is_known(tx, &place.account, address).await
}

/// Holds the letter, and puts it before the owners unless another one to the same people is before them already.
async fn ask_first(
    tx: &mut Tx,
    waiting: &PendingChunk,
    envelope: &Envelope,
    rules: &EmailPolicy,
    now: Timestamp,
) -> Result<Vec<SessionId>, StoreError> {
    let message = &waiting.message;
    let place = &message.destination.conversation;
    let names = envelope.recipients().collect::<Vec<_>>().join(", ");
    let new =
        NewQuarantinedMail { id: message.id, account: &place.account, recipients: &names, subject: &envelope.subject };
    quarantined_mail::expire(tx, time_before(now, HELD_MAX), now).await?;
    if !quarantined_mail::hold(tx, &new, now).await? {
        return Ok(Vec::new());
    }
    let text = owner_question_text(message.id, &names, &envelope.subject, &message.text);
    let choice = |label: &str, send: bool| Choice {
        label: label.to_owned(),
        token: MailButtonPress { id: message.id, send }.token(),
    };
    let choices = [choice("Send it", true), choice("Do not send", false)];
    let (thread, subject) = (format!("{}@held.invalid", message.id), format!("May I answer {names}?"));
    let matter = OwnerMatter { here: place, thread: LetterThread { root: &thread, subject: &subject } };
    let mut asked = Vec::new();
    for context in owner_questions::owner_inboxes(tx, &rules.access, matter, now).await? {
        let key = format!("mail:{}:{}", message.id, context.session);
        let text = OutgoingText { choices: &choices, ..OutgoingText::note(&text) };
        owner_questions::say_to_owner(tx, &context, OwnerWords { key: &key, run: message.run, text }, now).await?;
        asked.push(context.session);
    }
    if asked.is_empty() {
        tracing::warn!(outbox = %message.id, "a first letter to somebody new waits, and no owner can be asked: /mail shows it");
    }
    Ok(asked)
}

/// What owners are asked.
fn owner_question_text(id: OutboxId, names: &str, subject: &str, text: &str) -> String {
    let shown = cut(text, SHOWN_CHARS);
    let rest = match text.chars().count().saturating_sub(SHOWN_CHARS) {
        0 => String::new(),
        rest => format!("\n(Its other {} characters are not shown here.)", grouped(rest as u64)),
    };
    format!(
        "May I answer {names} by e-mail? I have never written to them before.\nIt is about: {subject}\n\n{shown}{rest}\n\n\
         /mail yes {id} sends it and lets me answer them from now on, /mail no {id} does not send it."
    )
}

fn time_before(now: Timestamp, span: SignedDuration) -> Timestamp {
    now.saturating_sub(span).unwrap_or(Timestamp::MIN)
}

/// A button under the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailButtonPress {
    /// Which letter.
    pub id: OutboxId,
    /// Whether it goes out.
    pub send: bool,
}

impl MailButtonPress {
    fn token(self) -> String {
        format!("mail:{}:{}", self.id, if self.send { "yes" } else { "no" })
    }

    /// The press that a token stands for.
    pub fn parse(token: &str) -> Option<Self> {
        let (id, word) = token.strip_prefix("mail:")?.split_once(':')?;
        let send = match word {
            "yes" => true,
            "no" => false,
            _ => return None,
        };
        Some(Self { id: OutboxId(id.parse().ok()?), send })
    }
}

/// What `/mail` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailCommand {
    /// Show what is held.
    List,
    Decide(MailButtonPress),
}

impl MailCommand {
    /// What the words after `/mail` ask for.
    pub fn parse(words: &[&str]) -> Option<Self> {
        match words {
            [] => Some(Self::List),
            [word, id] => MailButtonPress::parse(&format!("mail:{id}:{}", word.to_lowercase())).map(Self::Decide),
            _ => None,
        }
    }
}

/// What was decided, in words, and who has something to send now.
pub(super) struct MailDecisionOutcome {
    pub(super) text: String,
    pub(super) released: Vec<SessionId>,
}

impl MailDecisionOutcome {
    fn nothing(text: impl Into<String>) -> Self {
        Self { text: text.into(), released: Vec::new() }
    }
}

/// Who may not.
pub(super) const OWNERS_ONLY: &str = "Only an owner can say whom I write to.";
/// Nothing to decide.
const TOO_LATE: &str = "That letter does not wait any more.";

/// Carries out what an owner asks for; nobody else may.
pub(super) async fn carry_out(
    tx: &mut Tx,
    principal: &Principal,
    order: MailCommand,
    now: Timestamp,
) -> Result<MailDecisionOutcome, StoreError> {
    if principal.role != Role::Owner {
        return Ok(MailDecisionOutcome::nothing(OWNERS_ONLY));
    }
    quarantined_mail::expire(tx, time_before(now, HELD_MAX), now).await?;
    match order {
        MailCommand::List => Ok(MailDecisionOutcome::nothing(listed(&quarantined_mail::list(tx).await?, now))),
        MailCommand::Decide(press) => match quarantined_mail::find(tx, press.id).await? {
            Some(letter) => decide(tx, &letter, press.send, principal.user, now).await,
            None => Ok(MailDecisionOutcome::nothing(TOO_LATE)),
        },
    }
}

async fn decide(
    tx: &mut Tx,
    letter: &QuarantinedMail,
    send: bool,
    by: UserId,
    now: Timestamp,
) -> Result<MailDecisionOutcome, StoreError> {
    let released = quarantined_mail::decide(tx, letter, send, by, now).await?;
    if !send {
        return Ok(MailDecisionOutcome::nothing(format!("Not sent to {}.", letter.recipients)));
    }
    for address in letter.recipients.split(", ") {
        quarantined_mail::add_correspondent(tx, &letter.account, address, by, now).await?;
    }
    let text = format!("It goes out. From now on I answer {} without asking.", letter.recipients);
    Ok(MailDecisionOutcome { text, released })
}

fn listed(held: &[QuarantinedMail], now: Timestamp) -> String {
    if held.is_empty() {
        return "No letter waits for an owner.".to_owned();
    }
    let line = |letter: &QuarantinedMail| {
        let hours = (millis(now) - letter.held_at).max(0) / 3_600_000;
        let text = cut(&one_line(&letter.text), LISTED_CHARS);
        format!("{}: to {}, about {}, for {hours} h: {text}", letter.id, letter.recipients, letter.subject)
    };
    let lines: Vec<String> = held.iter().map(line).collect();
    format!("These letters wait for an owner (/mail yes N, /mail no N):\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n14_a_button_names_its_letter_and_the_decision() {
        for press in
            [MailButtonPress { id: OutboxId(12), send: true }, MailButtonPress { id: OutboxId(3), send: false }]
        {
            assert_eq!(MailButtonPress::parse(&press.token()), Some(press));
        }
        for token in ["", "mail:", "mail:x:yes", "mail:1:maybe", "mail:1", "q:1:1:1"] {
            assert_eq!(MailButtonPress::parse(token), None, "{token}");
        }
    }

    #[test]
    fn n14_what_mail_asks_for() {
        let decide = |send| Some(MailCommand::Decide(MailButtonPress { id: OutboxId(7), send }));
        for (words, expected) in [
            (&[][..], Some(MailCommand::List)),
            (&["yes", "7"], decide(true)),
            (&["No", "7"], decide(false)),
            (&["7"], None),
            (&["yes", "seven"], None),
        ] {
            assert_eq!(MailCommand::parse(words), expected, "{words:?}");
        }
    }

    #[test]
    fn n14_what_owners_read() {
        insta::assert_snapshot!(owner_question_text(OutboxId(7), "eve@x.example", "Tea", "At five."), @"
        May I answer eve@x.example by e-mail? I have never written to them before.
        It is about: Tea

        At five.

        /mail yes 7 sends it and lets me answer them from now on, /mail no 7 does not send it.
        ");
        let long = owner_question_text(OutboxId(7), "eve@x.example", "Tea", &"5".repeat(2_700));
        assert!(long.contains("55…\n(Its other 1,200 characters are not shown here.)"), "{long}");
        let letter = QuarantinedMail {
            id: OutboxId(7),
            session: SessionId(1),
            account: "default".to_owned(),
            recipients: "eve@x.example".to_owned(),
            subject: "Tea".to_owned(),
            text: "At\nfive.".to_owned(),
            held_at: 0,
        };
        let now = Timestamp::from_second(2 * 3600).unwrap();
        insta::assert_snapshot!(listed(&[letter], now), @"
        These letters wait for an owner (/mail yes N, /mail no N):
        7: to eve@x.example, about Tea, for 2 h: At five.
        ");
        insta::assert_snapshot!(listed(&[], now), @"No letter waits for an owner.");
    }
}
