//! Every sentence about what is remembered. A list fits a screen; it says how many more there are.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::memory::{ENTRIES_MAX, MemoryView};
use hob_core::domain::memory::{RecallCause, Scope};
use hob_core::domain::text::{counted, cut_trimmed, one_line};
use hob_memory::embedding_service::EmbeddingStatus;
use hob_memory::forget::ForgetOutcome;
use hob_memory::item::MemoryItem;
use hob_memory::recall::SearchMode;
use hob_memory::why::{IMPORTANCE, PINNED};
use hob_store::answers::StoredAnswer;
use hob_store::memory_views::{FactWithSource, MemoryCounts, MemoryRow};

/// The first characters of what was said that are shown.
const WORDS_MAX: usize = 120;
/// The most of everything that a list of facts shows.
const FACTS_MAX: usize = 40;

/// `/forget` without a word.
pub(super) const FORGET_WHAT: &str = "Say what: /forget m12 or /forget f7, by the names that /memory and /facts show; \
     /forget WORDS shows what it could be; /forget everything forgets all of it.";
/// `/pin` without a name.
pub(super) const PIN_WHAT: &str = "Say what: /pin m12 or /pin f7, by the names that /memory and /facts show.";
/// `/forget everything`, where it is not only the caller's.
pub(super) const NOT_ALL_YOURS: &str = "What was said here is not yours alone: an admin or an owner can have all of it forgotten. /forget m12 forgets one thing.";
/// `/why`, and nothing was said yet.
pub(super) const NO_ANSWER_YET: &str = "I have not answered anything here yet.";
/// How memories were looked for, where it should be otherwise.
const BY_WORDS_FOR_NOW: &str = "by words alone for now; /status says why";

/// A memory or a fact in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListEntry(pub(super) String);

/// Why a memory was recalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecallReason {
    /// What brought it up.
    pub(super) leg: RecallCause,
    /// In thousandths.
    pub(super) score: i64,
    /// The strongest signals, with what each brought, in thousandths.
    pub(super) strongest: Vec<(String, i64)>,
}

impl MemoryView<'_> {
    fn zone(&self) -> &TimeZone {
        &self.context.services.budget_guard.zone
    }

    fn day(&self, millis: i64) -> String {
        day(millis, self.zone())
    }

    /// How it was looked for, or would be.
    pub(super) fn how(&self) -> &'static str {
        match (
            self.context.looked.memories.as_ref().map(|looked| looked.means),
            self.context.services.memory.embedding_service.status(),
        ) {
            (Some(SearchMode::WordsAndMeaning), _) | (None, EmbeddingStatus::Ready { .. }) => {
                SearchMode::WordsAndMeaning.as_str()
            }
            (_, EmbeddingStatus::Off) => SearchMode::Words.as_str(),
            (
                _,
                EmbeddingStatus::Ready { .. } | EmbeddingStatus::Starting { .. } | EmbeddingStatus::Degraded { .. },
            ) => BY_WORDS_FOR_NOW,
        }
    }

    fn speaker(&self, user: Option<hob_core::domain::ids::UserId>, name: &str) -> String {
        if user == Some(self.caller.principal.user) { "you".to_owned() } else { name.to_owned() }
    }

    /// Something said: who, where, when.
    pub(super) fn memory_entry(&self, row: &MemoryRow) -> ListEntry {
        let by = self.speaker(row.user, &row.speaker);
        let place = match (&row.session, row.scope) {
            (None, _) => ", brought in from elsewhere".to_owned(),
            (Some(session), _) if *session == self.caller.session.id => String::new(),
            (_, Scope::House) => ", for the house".to_owned(),
            _ => row.channel.as_ref().map(|channel| format!(", on {channel}")).unwrap_or_default(),
        };
        let pinned = if row.pinned { ", pinned" } else { "" };
        let (day, age) = (self.day(row.at), age(self.context.now, row.at));
        ListEntry(format!("m{} “{}” – {by}, {day} ({age}){place}{pinned}", row.id, cut(&row.text)))
    }

    /// Something that Hob answered.
    pub(super) fn answer_entry(&self, row: &StoredAnswer) -> ListEntry {
        ListEntry(format!("“{}” – I said so, {} ({})", cut(&row.text), self.day(row.at), age(self.context.now, row.at)))
    }

    /// Something known: since when, by whom.
    pub(super) fn fact_entry(&self, row: &FactWithSource) -> ListEntry {
        let by = self.speaker(row.user, &row.speaker);
        let rests = row.memory.map(|memory| format!(" in m{memory}")).unwrap_or_default();
        let how = match row.source.as_str() {
            "import" => "brought in from elsewhere".to_owned(),
            _ => format!("said by {by}{rests}"),
        };
        let house = if row.scope == Scope::House { ", for the house" } else { "" };
        let pinned = if row.pinned { ", pinned" } else { "" };
        let disputed = if row.disputed { ", contradicted: please tell me which is true" } else { "" };
        let since = self.day(row.created_at);
        ListEntry(format!(
            "f{} {}: {} (since {since}, {how}{house}{pinned}{disputed})",
            row.id,
            row.key,
            cut(&row.value)
        ))
    }

    /// A value of a fact, and when it was held for true.
    pub(super) fn past_value_line(&self, row: &FactWithSource) -> String {
        let until = row.superseded_at.map_or_else(|| "now".to_owned(), |until| self.day(until));
        let by = self.speaker(row.user, &row.speaker);
        format!("f{} {} – from {} until {until}, said by {by}", row.id, cut(&row.value), self.day(row.created_at))
    }
}

fn day(millis: i64, zone: &TimeZone) -> String {
    let at = Timestamp::from_millisecond(millis).unwrap_or_default();
    at.to_zoned(zone.clone()).strftime("%-d %B %Y").to_string()
}

/// How long ago, in the unit that suits it.
fn age(now: Timestamp, millis: i64) -> String {
    let minutes = now.as_millisecond().saturating_sub(millis).max(0) / 60_000;
    let of = |count: i64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
    match minutes {
        0 => "just now".to_owned(),
        1..60 => of(minutes, "minute"),
        60..1_440 => of(minutes / 60, "hour"),
        1_440..86_400 => of(minutes / 1_440, "day"),
        86_400..1_051_200 => of(minutes / 43_800, "month"),
        _ => of(minutes / 525_600, "year"),
    }
}

/// One line of at most so many characters.
fn cut(text: &str) -> String {
    cut_trimmed(&one_line(text), WORDS_MAX)
}

fn thousandths(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let hundredths = (value.abs() + 5) / 10;
    format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100)
}

fn lines(entries: &[ListEntry]) -> impl Iterator<Item = String> {
    entries.iter().map(|entry| format!("- {}", entry.0))
}

/// What `/memory` shows.
pub(super) struct MemoryOverview {
    pub(super) counts: Vec<(Scope, MemoryCounts)>,
    pub(super) pinned: Vec<ListEntry>,
    pub(super) newest: Vec<ListEntry>,
    pub(super) how: &'static str,
}

fn amount(counts: MemoryCounts) -> String {
    let said = counted(counts.memories, "thing that was said", "things that were said");
    format!("{said}, {}, {}", counted(counts.facts, "fact", "facts"), counted(counts.people, "person", "people"))
}

/// `/memory`.
pub(super) fn overview(overview: &MemoryOverview) -> String {
    let whose = |scope: &Scope| match scope {
        Scope::Person(_) => "Of you alone",
        Scope::Conversation(_) => "Of this conversation",
        Scope::House => "Of the house",
    };
    let filled = overview.counts.iter().filter(|(_, counts)| *counts != MemoryCounts::default());
    let counts = filled.map(|(scope, counts)| format!("{}: {}", whose(scope), amount(*counts)));
    let mut shown: Vec<String> = std::iter::once("What I remember".to_owned()).chain(counts).collect();
    if shown.len() == 1 {
        return format!(
            "I remember nothing here yet: what you tell me from now on. I look things up {}.",
            overview.how
        );
    }
    if !overview.pinned.is_empty() {
        shown.push("Pinned:".to_owned());
        shown.extend(lines(&overview.pinned));
    }
    if !overview.newest.is_empty() {
        shown.push("Newest:".to_owned());
        shown.extend(lines(&overview.newest));
    }
    shown.push(format!("I look things up {}.", overview.how));
    shown.push(
        "/memory WORDS searches, /facts shows what I know for a fact, /forget m12 forgets, /pin m12 pins.".to_owned(),
    );
    shown.join("\n")
}

/// `/memory WORDS`.
pub(super) fn found(words: &str, said: &[ListEntry], known: &[ListEntry], how: &str) -> String {
    if said.is_empty() && known.is_empty() {
        return format!("I remember nothing that fits “{}”. I looked {how}.", cut(words));
    }
    let mut shown = Vec::new();
    if !said.is_empty() {
        shown.push("What was said, the best first:".to_owned());
        shown.extend(lines(said));
    }
    if !known.is_empty() {
        shown.push("Facts:".to_owned());
        shown.extend(lines(known));
    }
    shown.push(format!("I looked {how}. /forget and the name at the beginning of a line forgets it."));
    shown.join("\n")
}

/// `/facts`: each with its category, in order.
pub(super) fn facts(known: &[(String, ListEntry)]) -> String {
    if known.is_empty() {
        return "I know nothing for a fact yet. Tell me “remember that …”.".to_owned();
    }
    let mut shown = Vec::new();
    let mut category = None;
    for (of, entry) in known.iter().take(FACTS_MAX) {
        if category != Some(of) {
            shown.push(format!("{of}:"));
            category = Some(of);
        }
        shown.push(format!("- {}", entry.0));
    }
    if known.len() > FACTS_MAX {
        shown.push(format!("{} more: /facts WORDS looks for some of them.", known.len() - FACTS_MAX));
    }
    shown.join("\n")
}

/// `/facts WORDS`.
pub(super) fn facts_like(words: &str, known: &[ListEntry]) -> String {
    if known.is_empty() {
        return format!("I know no fact that fits “{}”. /facts shows them all.", cut(words));
    }
    lines(known).collect::<Vec<_>>().join("\n")
}

/// `/facts history`.
pub(super) fn history(key: &str, values: &[String]) -> String {
    if values.is_empty() {
        return format!("I know nothing under “{}”. /facts shows the keys.", cut(key));
    }
    let mut shown = vec![format!("{}, the newest first:", cut(key))];
    shown.extend(values.iter().take(FACTS_MAX).map(|value| format!("- {value}")));
    if values.len() > FACTS_MAX {
        shown.push(format!("{} older ones are not shown.", values.len() - FACTS_MAX));
    }
    shown.join("\n")
}

/// `/forget WORDS`.
pub(super) fn which_to_forget(words: &str, said: &[ListEntry], known: &[ListEntry]) -> String {
    if said.is_empty() && known.is_empty() {
        return format!("I remember nothing that fits “{}”, so there is nothing to forget.", cut(words));
    }
    let head =
        "Nothing is forgotten yet. Which is it? Say /forget and the name at the beginning of its line:".to_owned();
    std::iter::once(head).chain(lines(said)).chain(lines(known)).collect::<Vec<_>>().join("\n")
}

/// An item that is not there, or not the caller's to see.
pub(super) fn no_such(item: MemoryItem) -> String {
    format!("There is no {item} here. /memory and /facts show what there is.")
}

/// An item that may be seen and not changed.
pub(super) fn told_by_another(item: MemoryItem) -> String {
    format!("{item} was told by somebody else: they, an admin or an owner can do that.")
}

/// `/forget` with a name. The words that are gone are not repeated.
pub(super) fn forgotten(item: MemoryItem, forgotten: &ForgetOutcome, rests_on: Option<MemoryItem>) -> String {
    let others = forgotten.facts.iter().map(|fact| MemoryItem::Fact(*fact)).filter(|fact| *fact != item);
    let others: Vec<String> = others.map(|fact| fact.to_string()).collect();
    let listed = match others.len() {
        0..=ENTRIES_MAX => others.join(", "),
        count => format!("{} and {} more", others[..ENTRIES_MAX].join(", "), count - ENTRIES_MAX),
    };
    let along = match (item, others.is_empty()) {
        (_, true) => None,
        (MemoryItem::Memory(_), false) => Some(format!("With it the facts that rested on it: {listed}.")),
        (MemoryItem::Fact(_), false) => Some(format!("With it what it was before: {listed}.")),
    };
    let said = rests_on
        .map(|memory| format!("It was said in {memory}, which I still remember: /forget {memory} forgets that too."));
    let later = forgotten
        .put_off
        .then(|| "I am still working with it: from the record of that it goes as soon as I am done.".to_owned());
    let head = format!("Forgotten for good: {item}.");
    std::iter::once(head).chain(along).chain(said).chain(later).collect::<Vec<_>>().join(" ")
}

/// `/forget everything`.
pub(super) fn everything(scope: Scope, counts: MemoryCounts) -> String {
    let whose = match scope {
        Scope::Person(_) => "of you alone",
        Scope::Conversation(_) | Scope::House => "of this conversation",
    };
    format!("That is all I remember {whose}: {}. /forget everything yes forgets it for good.", amount(counts))
}

/// `/forget everything yes`.
pub(super) fn everything_goes(counts: MemoryCounts) -> String {
    format!("I am forgetting all of it for good: {}.", amount(counts))
}

/// `/pin` and `/unpin`.
pub(super) fn pinned(item: MemoryItem, pinned: bool) -> String {
    if pinned {
        format!("{item} is pinned: I keep it at hand, and never let it fade. /unpin {item} undoes it.")
    } else {
        format!("{item} is no longer pinned.")
    }
}

/// `/why`, and nothing was recalled.
pub(super) fn nothing_recalled(standing: &str) -> String {
    format!("Nothing was recalled for my last answer. I look things up {standing}.")
}

/// What `/why` shows.
pub(super) struct RecallReport {
    pub(super) said: Vec<(ListEntry, RecallReason)>,
    pub(super) known: Vec<ListEntry>,
    pub(super) more_facts: usize,
    /// Not the caller's to see.
    pub(super) unseen: usize,
    pub(super) forgotten: usize,
    pub(super) means: Option<&'static str>,
}

/// `/why`.
pub(super) fn why(why: &RecallReport) -> String {
    let mut shown = Vec::new();
    if !why.said.is_empty() {
        shown.push("For my last answer I recalled what was said:".to_owned());
        for (entry, reason) in &why.said {
            shown.push(format!("- {}\n  {}", entry.0, reason_text(reason)));
        }
    }
    if !why.known.is_empty() {
        shown.push("Facts that I had before me:".to_owned());
        shown.extend(lines(&why.known));
        if why.more_facts > 0 {
            shown.push(format!("{} more facts; /facts shows them.", why.more_facts));
        }
    }
    if why.unseen > 0 {
        shown.push(format!("{} more cannot be shown here.", why.unseen));
    }
    if why.forgotten > 0 {
        shown.push(format!("{} more I have forgotten since, as I was told to.", why.forgotten));
    }
    shown.extend(why.means.map(|means| format!("I looked {means}.")));
    shown.join("\n")
}

fn reason_text(reason: &RecallReason) -> String {
    match reason.leg {
        RecallCause::Recency => "because it was said just before".to_owned(),
        RecallCause::Salience => match reason.strongest.first() {
            Some((why, _)) if why == PINNED => "because it is pinned".to_owned(),
            Some((why, part)) if why == IMPORTANCE => {
                format!("because who asked said it, and it matters much: {}", thousandths(*part))
            }
            Some(_) | None => "because it is pinned, or matters much".to_owned(),
        },
        RecallCause::Fact => "because it is a fact".to_owned(),
        RecallCause::Answer => "because you asked what I had said".to_owned(),
        RecallCause::Relevance => {
            let named = reason.strongest.iter().map(|(name, part)| format!("{name} {}", thousandths(*part)));
            let named = named.collect::<Vec<_>>().join(", ");
            let most = if named.is_empty() { named } else { format!(", most of it by {named}") };
            format!("because it fits what you wrote: score {}{most}", thousandths(reason.score))
        }
    }
}
