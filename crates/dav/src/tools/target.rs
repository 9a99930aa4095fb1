//! Which entry a call means: by the name that a list gave it, or by words of its title.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use crate::account::{Account, AccountVisibility, Accounts, Failed, entries_of};
use crate::client::{Kind, Resource, WritePrecondition};
use crate::discovery::Collection;
use crate::edit::{self, SeriesPart, Signature};
use crate::entry::{self, Entry, EntryId};
use crate::error::DavError;
use crate::lines::Component;
use crate::reading;
use crate::rule::Effort;
use crate::series::Window;
use crate::tools::begun::{PendingChange, begin, begun};
use crate::tools::relocate::NewCalendar;
use crate::tools::{accounts, failures, reader, tainting};
use crate::when::{When, Zones};
use hob_tools::{Invocation, Outcome};

/// So far ahead an entry is looked for by its words.
const AHEAD: SignedDuration = SignedDuration::from_hours(24 * 400);
/// So far back.
const BACK: SignedDuration = SignedDuration::from_hours(24);
/// The most entries that are named where several fit.
const NAMED_MAX: usize = 8;
/// The most lines of an entry that is changed: zones that it names are looked for among all of them.
const LINES_MAX: usize = 10_000;
/// So often a change is tried that others come before.
const TRIES: usize = 3;
/// What a call answers that finds itself done.
const DONE: &str = "It was done already, by this same call before it was cut off. Nothing was done twice.";

/// What a call answers that was cut off, and finds nothing to change.
const VANISHED: &str = "There is no such entry any more: this same call may have called it off before it was cut off.";

/// How a call names an entry.
#[derive(Debug, Clone)]
pub(super) struct NamedEntry {
    /// Its name, or words of its title.
    pub(super) entry: String,
    /// The day on which it is now.
    pub(super) on: Option<Date>,
    /// The whole of a series.
    pub(super) whole: bool,
    /// Who takes part, as the call names them.
    pub(super) tells: Vec<String>,
}

/// An entry that was found.
pub(super) struct Target {
    pub(super) account: Arc<Account>,
    pub(super) collection: Collection,
    pub(super) entry: Entry,
    pub(super) calendar: Component,
    /// The same, as it was when it was fetched.
    pub(super) before: Component,
    /// What of it is meant.
    pub(super) what: SeriesPart,
    /// The addresses of the account's people.
    pub(super) own: Vec<String>,
    href: String,
    etag: String,
}

/// What becomes of it.
pub(super) enum EntryChange {
    Written,
    /// It is taken away.
    Removed,
}

/// The name of the entry, if it is the only one.
pub(super) async fn resolve(
    known_accounts: &Accounts,
    invocation: &Invocation,
    called: &NamedEntry,
) -> Result<EntryId, Outcome> {
    if let Some(id) = EntryId::parse(&called.entry) {
        return Ok(id);
    }
    let (now, home) = (invocation.now, &known_accounts.home);
    let seen = accounts(known_accounts, invocation, AccountVisibility::Whole).await?;
    let window = match called.on {
        None => around(now, BACK, AHEAD),
        Some(day) => {
            let end = day.tomorrow().unwrap_or(day);
            Window { from: crate::when::start_of(day, home), to: crate::when::start_of(end, home) }
        }
    };
    let (all, failed) = entries_of(&seen, window, reader(home, now)).await;
    if let Some((name, error)) = failed.first() {
        return Err(error.outcome(name));
    }
    let words = called.entry.trim().to_lowercase();
    let fits = |entry: &Entry| {
        let is_ahead = called.on.is_some() || entry.end.instant(home) >= now;
        !words.is_empty() && entry.said.title.to_lowercase().contains(&words) && is_ahead
    };
    let fitting: Vec<&Entry> = all.iter().map(|(_, entry)| entry).filter(|entry| fits(entry)).collect();
    let is_same = |one: &EntryId, other: &EntryId| {
        (&one.account, &one.calendar, &one.resource) == (&other.account, &other.calendar, &other.resource)
    };
    if let Some(first) = fitting.first().filter(|first| fitting.iter().all(|one| is_same(&one.id, &first.id))) {
        return Ok(first.id.clone());
    }
    let reader = reader(home, now);
    let lines = fitting.iter().take(NAMED_MAX).map(|entry| format!("{} [{}]", reader.line(entry), entry.id));
    let told = match fitting.len() {
        0 => format!(
            "No entry ahead has {:?} in its title{}. Nothing was changed.",
            called.entry,
            if called.on.is_some() { " on that day" } else { "" }
        ),
        many => format!(
            "{many} entries have {:?} in their title; nothing was changed. Call again with the one that is meant:\n{}",
            called.entry,
            lines.collect::<Vec<_>>().join("\n")
        ),
    };
    let none = fitting.is_empty();
    Err(if none { Outcome::Error(told) } else { tainting(Outcome::Error(told), &seen) })
}

/// The window from so long before a moment to so long after it.
fn around(at: Timestamp, back: SignedDuration, ahead: SignedDuration) -> Window {
    // No further than there is time.
    let shifted = |by: SignedDuration, end: Timestamp| at.checked_add(by).unwrap_or(end);
    Window { from: shifted(-back, Timestamp::MIN), to: shifted(ahead, Timestamp::MAX) }
}

/// The entry of this name, if it still is what was seen by it. `begun`: the call was about to change it before.
pub(super) async fn open(
    known_accounts: &Accounts,
    invocation: &Invocation,
    id: &EntryId,
    before: Option<&PendingChange>,
) -> Result<Target, Outcome> {
    let (now, home) = (invocation.now, &known_accounts.home);
    let gone = || match before {
        None => Outcome::Error("There is no such entry (any more): look at the calendar again.".to_owned()),
        Some(_) => Outcome::Text(VANISHED.to_owned()),
    };
    let seen = accounts(known_accounts, invocation, AccountVisibility::Whole).await?;
    let account = seen.iter().find(|account| account.settings.name == id.account).ok_or_else(gone)?;
    let failed = |error: DavError| error.outcome(&account.settings.name);
    let found = account.found(Kind::Calendar, now).await.map_err(failed)?;
    let collection = found.collections.iter().find(|collection| collection.key() == id.calendar).ok_or_else(gone)?;
    let href = format!("{}/{}", collection.href.trim_end_matches('/'), id.resource);
    let resource = account.client().fetch(Kind::Calendar, &collection.href, &[href]).await.map_err(failed)?;
    let Resource { href, etag, text } = resource.into_iter().next().ok_or_else(gone)?;
    // What is no series is whenever it is.
    let always = Window { from: Timestamp::MIN, to: Timestamp::MAX };
    let window = id
        .original
        .as_deref()
        .and_then(|key| moment(key, known_accounts))
        .map_or(always, |at| around(at, AHEAD, AHEAD));
    let own = account.addresses(&found);
    let (owner, path) = (account.owner(collection, &own, home), href.clone());
    let read = reading::read(move || {
        let calendar = Component::parse(&text, "VCALENDAR");
        let entries = |calendar: &Component| entry::entries_of(calendar, &path, &owner, window, &mut Effort::default());
        Ok(calendar.map(|calendar| (entries(&calendar), calendar)))
    });
    let (entries, calendar) = read.await.map_err(failed)?.ok_or_else(gone)?;
    if before.is_some_and(|before| edit::is_signed(&calendar, &before.mark)) {
        return Err(Outcome::Text(DONE.to_owned()));
    }
    // One that has become a series, or is none any more, is another.
    let entry = entries.into_iter().find(|entry| entry.id.original == id.original).ok_or_else(gone)?;
    if entry.id.digest != id.digest {
        let told = format!(
            "Somebody has changed this entry since it was looked at; nothing was done. It is now:\n{} [{}]\nCall again with that name if it is still wanted.",
            reader(home, now).line(&entry),
            entry.id
        );
        return Err(tainting(Outcome::Error(told), std::slice::from_ref(account)));
    }
    let (account, collection) = (Arc::clone(account), collection.clone());
    let as_fetched = calendar.clone();
    Ok(Target { account, collection, entry, calendar, before: as_fetched, what: SeriesPart::Whole, own, href, etag })
}

fn moment(key: &str, known_accounts: &Accounts) -> Option<Timestamp> {
    let line = crate::lines::Line::new("X", Vec::new(), key);
    Zones::of(&Component::new("VCALENDAR"), &known_accounts.home)
        .read(&line)
        .map(|when| when.instant(&known_accounts.home))
}

impl Target {
    /// The same, of which this is meant.
    pub(super) fn of(mut self, called: &NamedEntry, known_accounts: &Accounts) -> Result<Self, Outcome> {
        let unreadable = || Outcome::Error("This entry cannot be read whole, so it is not changed.".to_owned());
        if let Some(key) = self.entry.id.original.as_deref().filter(|_| !called.whole) {
            self.what = SeriesPart::Once(original_of(&self.calendar, key, known_accounts).ok_or_else(unreadable)?);
        }
        Ok(self)
    }

    /// Takes it away, as it was read.
    pub(super) async fn take_away(&self) -> Result<(), DavError> {
        self.account.client().delete(&self.href, &self.etag).await
    }

    /// Who may get a letter where it is changed or called off.
    pub(super) fn told(&self, known_accounts: &Accounts) -> Vec<String> {
        edit::told(&self.calendar, &Zones::of(&self.calendar, &known_accounts.home), &self.what, &self.own)
    }
}

/// The time of a series that is called so, in the series' own zone.
fn original_of(calendar: &Component, key: &str, known_accounts: &Accounts) -> Option<When> {
    let zones = Zones::of(calendar, &known_accounts.home);
    let read = zones.read(&crate::lines::Line::new("X", Vec::new(), key))?;
    let line = calendar.inner("VEVENT").find(|event| !crate::series::is_exception(event))?.line("DTSTART")?;
    Some(match read {
        When::Day(day) => When::Day(day),
        When::At(at) => When::At(at.with_time_zone(zones.of_line(line))),
    })
}

/// Finds the entry, has `edit` change it, and writes it, perhaps to another calendar. What others change in between is looked at anew;
/// where it changes what was seen, nothing is written.
pub(super) async fn write(
    known_accounts: &Accounts,
    invocation: &Invocation,
    called: &NamedEntry,
    to: Option<&NewCalendar>,
    edit: impl Fn(&mut Target, Signature<'_>) -> Result<EntryChange, Outcome>,
) -> Result<Target, Outcome> {
    let begun = match begun(known_accounts, invocation).await? {
        Some(begun) => begun,
        None => {
            begin(known_accounts, invocation, resolve(known_accounts, invocation, called).await?.to_string()).await?
        }
    };
    let unknown = || Outcome::Error("This entry cannot be called by its name, so it is not changed.".to_owned());
    // From now on it is this one, as it was seen.
    let id = EntryId::parse(&begun.entry).ok_or_else(unknown)?;
    let signature = Signature { call: &begun.mark, now: invocation.now, home: &known_accounts.home };
    for _try in 0..TRIES {
        let target = open(known_accounts, invocation, &id, Some(&begun).filter(|begun| begun.again)).await;
        if let (Err(Outcome::Text(_)), Some(to)) = (&target, to)
            && matches!(to.written(&id.resource, &begun.mark).await, Ok(Some(_)))
        {
            return Err(Outcome::Text(DONE.to_owned()));
        }
        let mut target = target?.of(called, known_accounts)?;
        let to = to.filter(|to| !to.is_of(&target));
        if !target.collection.writable {
            return Err(Outcome::Error("This calendar can only be read. Nothing was changed.".to_owned()));
        }
        if target.calendar.size() > LINES_MAX {
            return Err(Outcome::Error(
                "This entry is too large to be changed from here. Nothing was changed.".to_owned(),
            ));
        }
        let before = target.calendar.clone();
        tells_all(&target, called, known_accounts)?;
        to.map_or(Ok(()), |_to| can_go(&target, known_accounts))?;
        let fate = edit(&mut target, signature)?;
        let done = match (fate, to) {
            (EntryChange::Removed, _) => target.take_away().await,
            (EntryChange::Written, Some(to)) => to.receive(&target, &begun.mark).await,
            (EntryChange::Written, None) if before == target.calendar => Ok(()),
            (EntryChange::Written, None) => {
                let (client, guard) = (target.account.client(), WritePrecondition::As(&target.etag));
                client.put(&target.href, target.calendar.text(), guard).await
            }
        };
        match done {
            Ok(()) => return Ok(target),
            Err(DavError::Changed) => tracing::debug!("somebody else was first: the entry is looked at again"),
            Err(error) => return Err(error.outcome(&target.account.settings.name)),
        }
    }
    Err(Outcome::Transient("Others change this entry all the time; nothing was done.".to_owned()))
}

/// Can it go to another calendar? To a server that is the end of an entry, and the beginning of another one.
fn can_go(target: &Target, known_accounts: &Accounts) -> Result<(), Outcome> {
    let why = if target.what != SeriesPart::Whole {
        "A series goes to another calendar as a whole: call again with `whole_series`."
    } else if !target.told(known_accounts).is_empty() {
        "Others take part in this entry, and its server may tell them that it is called off: it does not go to another calendar from here."
    } else {
        return Ok(());
    };
    Err(Outcome::Error(format!("{why} Nothing was changed.")))
}

/// Does the call name all who take part? Whoever is asked about it must have seen who gets a letter.
fn tells_all(target: &Target, called: &NamedEntry, known_accounts: &Accounts) -> Result<(), Outcome> {
    let told = target.told(known_accounts);
    let mut named: Vec<String> = called.tells.iter().map(|address| address.trim().to_lowercase()).collect();
    named.sort();
    named.dedup();
    if named == told {
        return Ok(());
    }
    let words = if told.is_empty() {
        "Nobody else takes part in this entry, so nobody gets a letter: call again without `tells`. Nothing was changed.".to_owned()
    } else {
        format!(
            "Others take part in this entry and may get a letter. Nothing was changed: call again with `tells` {told:?}; a person is asked first.",
        )
    };
    let account = std::slice::from_ref(&target.account);
    Err(if told.is_empty() { Outcome::Error(words) } else { tainting(Outcome::Error(words), account) })
}

/// What is said of letters after a change.
pub(super) async fn letters(target: &Target, called: &NamedEntry) -> String {
    letters_of(&target.account, &target.collection, &called.tells).await
}

/// The same of those that take part in what was written to a calendar.
pub(super) async fn letters_of(account: &Account, collection: &Collection, told: &[String]) -> String {
    if told.is_empty() {
        return String::new();
    }
    match account.client().writes_letters(&collection.href).await {
        Ok(true) => format!(" The server writes to {}.", told.join(", ")),
        Ok(false) => " This server writes to nobody: those who take part have to be told otherwise.".to_owned(),
        Err(error) => format!(" Whether the server writes to those who take part is not known: {error}."),
    }
}

/// Accounts that do not answer, as an outcome.
pub(super) fn all_failed(failed: &Failed) -> Outcome {
    match failed.as_slice() {
        [(name, error)] => error.outcome(name),
        _ => Outcome::Error(failures(failed)),
    }
}
