//! Which entry a call means: by the name that a list gave it, or by words of its title.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use crate::account::{Account, Accounts, Held, Sight, entries_of};
use crate::client::{Guard, Kind};
use crate::discovery::Collection;
use crate::edit::{self, Extent};
use crate::entry::{self, EntryId};
use crate::error::DavError;
use crate::lines::Component;
use crate::series::Window;
use crate::tools::{accounts, call_digest, failures, reader, tainting};
use crate::when::{When, Zones};
use hob_tools::{Invocation, Outcome};

/// So far ahead an entry is looked for by its words.
const AHEAD: SignedDuration = SignedDuration::from_hours(24 * 400);
/// So far back.
const BACK: SignedDuration = SignedDuration::from_hours(24);
/// The most entries that are named where several fit.
const NAMED_MAX: usize = 8;
/// So often a change is tried that others come before.
const TRIES: usize = 3;
/// What a call answers that finds itself done.
const DONE: &str = "It was done already, by this same call before it was cut off. Nothing was done twice.";

/// What a call answers that was cut off, and finds nothing to change.
const VANISHED: &str = "There is no such entry any more: this same call may have called it off before it was cut off.";

/// How a call names an entry.
#[derive(Debug, Clone)]
pub(super) struct Called {
    /// Its name, or words of its title.
    pub(super) entry: String,
    /// The day on which it is now.
    pub(super) on: Option<Date>,
    /// The whole of a series.
    pub(super) whole: bool,
    /// Who takes part, as the call names them.
    pub(super) tells: Vec<String>,
}

/// An entry that was found, to be changed.
pub(super) struct Target {
    pub(super) account: Arc<Account>,
    pub(super) held: Held,
    pub(super) calendar: Component,
    pub(super) what: Extent,
    /// The addresses of the account's people.
    pub(super) own: Vec<String>,
}

/// What becomes of it.
pub(super) enum Fate {
    /// It is written so.
    Written,
    /// It is taken away.
    Removed,
}

/// The entry, if it is the only one.
pub(super) async fn find(
    house: &Accounts,
    invocation: &Invocation,
    called: &Called,
) -> Result<(Arc<Account>, Held), Outcome> {
    let (now, home) = (invocation.now, &house.home);
    let seen = accounts(house, invocation, Sight::Whole).await?;
    if let Some(id) = EntryId::parse(&called.entry) {
        return named(&seen, id, house, invocation).await;
    }
    let window = match called.on {
        None => Window { from: now - BACK, to: now + AHEAD },
        Some(day) => {
            let end = day.tomorrow().unwrap_or(day);
            Window { from: crate::when::start_of(day, home), to: crate::when::start_of(end, home) }
        }
    };
    let (all, failed) = entries_of(&seen, window, reader(home, now)).await;
    if let Some((name, error)) = failed.first() {
        return Err(error.outcome(name));
    }
    if invocation.attempt > 1 {
        done_before(&seen, invocation, house).await?;
    }
    let words = called.entry.trim().to_lowercase();
    let fits = |held: &Held| {
        let is_ahead = called.on.is_some() || held.entry.end.instant(home) >= now;
        !words.is_empty() && held.entry.title.to_lowercase().contains(&words) && is_ahead
    };
    let mut fitting: Vec<(Arc<Account>, Held)> = all.into_iter().filter(|(_, held)| fits(held)).collect();
    let first = fitting.first().map(|(_, held)| held.resource.href.clone());
    if fitting.iter().all(|(_, held)| Some(&held.resource.href) == first.as_ref()) && !fitting.is_empty() {
        return Ok(fitting.swap_remove(0));
    }
    if fitting.is_empty() && invocation.attempt > 1 {
        return Err(Outcome::Text(VANISHED.to_owned()));
    }
    let reader = reader(home, now);
    let lines =
        fitting.iter().take(NAMED_MAX).map(|(_, held)| format!("{} [{}]", reader.line(&held.entry), held.entry.id));
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

/// Was it this call that changed something there before it was cut off?
async fn done_before(seen: &[Arc<Account>], invocation: &Invocation, house: &Accounts) -> Result<(), Outcome> {
    let window = Window { from: invocation.now - AHEAD, to: invocation.now + AHEAD };
    let (all, _failed) = entries_of(seen, window, reader(&house.home, invocation.now)).await;
    let call = call_digest(invocation);
    let is_signed = |held: &Held| {
        Component::parse(&held.resource.text, "VCALENDAR").is_some_and(|calendar| edit::is_signed(&calendar, &call))
    };
    if all.iter().any(|(_, held)| is_signed(held)) { Err(Outcome::Text(DONE.to_owned())) } else { Ok(()) }
}

/// The entry of this name, if it still is what was seen by it.
async fn named(
    seen: &[Arc<Account>],
    id: EntryId,
    house: &Accounts,
    invocation: &Invocation,
) -> Result<(Arc<Account>, Held), Outcome> {
    let (now, home) = (invocation.now, &house.home);
    let gone = || match invocation.attempt {
        1 => Outcome::Error("There is no such entry (any more): look at the calendar again.".to_owned()),
        _ => Outcome::Text(VANISHED.to_owned()),
    };
    let account = seen.iter().find(|account| account.settings.name == id.account).ok_or_else(gone)?;
    let failed = |error: DavError| error.outcome(&account.settings.name);
    let found = account.found(Kind::Calendar, now).await.map_err(failed)?;
    let collection = found.collections.iter().find(|collection| collection.key() == id.calendar).ok_or_else(gone)?;
    let href = format!("{}/{}", collection.href.trim_end_matches('/'), id.resource);
    let resource = account.client().fetch(Kind::Calendar, &collection.href, &[href]).await.map_err(failed)?;
    let resource = Arc::new(resource.into_iter().next().ok_or_else(gone)?);
    let calendar = Component::parse(&resource.text, "VCALENDAR").ok_or_else(gone)?;
    if edit::is_signed(&calendar, &call_digest(invocation)) {
        return Err(Outcome::Text(DONE.to_owned()));
    }
    let addresses = account.addresses(&found);
    let around = id.original.as_deref().and_then(|key| moment(key, house)).unwrap_or(now);
    let window = Window { from: around - AHEAD, to: around + AHEAD };
    let owner = account.owner(collection, &addresses, home);
    let entries = entry::entries(&resource, owner, window);
    // One that has become a series, or is none any more, is another.
    let now_is = entries.iter().find(|entry| entry.id.original == id.original).ok_or_else(gone)?;
    if now_is.id.digest != id.digest {
        let reader = reader(home, now);
        let told = format!(
            "Somebody has changed this entry since it was looked at; nothing was done. It is now:\n{} [{}]\nCall again with that name if it is still wanted.",
            reader.line(now_is),
            now_is.id
        );
        return Err(tainting(Outcome::Error(told), std::slice::from_ref(account)));
    }
    let entry = now_is.clone();
    Ok((Arc::clone(account), Held { collection: collection.clone(), resource, entry }))
}

fn moment(key: &str, house: &Accounts) -> Option<Timestamp> {
    let line = crate::lines::Line::new("X", Vec::new(), key);
    Zones::of(&Component::new("VCALENDAR"), &house.home).read(&line).map(|when| when.instant(&house.home))
}

/// Finds the entry, has `edit` change it, and writes it. What others change in between is looked at anew; where it changes what was
/// seen, nothing is written.
pub(super) async fn write(
    house: &Accounts,
    invocation: &Invocation,
    called: &Called,
    edit: impl Fn(&mut Target) -> Result<Fate, Outcome>,
) -> Result<Target, Outcome> {
    let mut named = called.clone();
    for _try in 0..TRIES {
        let (account, held) = find(house, invocation, &named).await?;
        // From now on it is this one, as it was seen.
        named.entry = held.entry.id.to_string();
        let mut target = target(house, invocation.now, account, held, called).await?;
        let before = target.calendar.clone();
        tells_all(&target, called, house)?;
        let fate = edit(&mut target)?;
        let Held { resource, .. } = &target.held;
        let client = target.account.client();
        let done = match fate {
            Fate::Removed => client.delete(&resource.href, &resource.etag).await,
            Fate::Written if before == target.calendar => Ok(()),
            Fate::Written => client.put(&resource.href, target.calendar.text(), Guard::As(&resource.etag)).await,
        };
        match done {
            Ok(()) => return Ok(target),
            Err(DavError::Changed) => tracing::debug!("somebody else was first: the entry is looked at again"),
            Err(error) => return Err(error.outcome(&target.account.settings.name)),
        }
    }
    Err(Outcome::Transient("Others change this entry all the time; nothing was done.".to_owned()))
}

async fn target(
    house: &Accounts,
    now: Timestamp,
    account: Arc<Account>,
    held: Held,
    called: &Called,
) -> Result<Target, Outcome> {
    let failed = |error: DavError| error.outcome(&account.settings.name);
    let found = account.found(Kind::Calendar, now).await.map_err(failed)?;
    if !held.collection.writable {
        return Err(Outcome::Error("This calendar can only be read. Nothing was changed.".to_owned()));
    }
    let own = account.addresses(&found);
    let unreadable = || Outcome::Error("This entry cannot be read whole, so it is not changed.".to_owned());
    let calendar = Component::parse(&held.resource.text, "VCALENDAR").ok_or_else(unreadable)?;
    let original = held.entry.id.original.as_deref().filter(|_| !called.whole);
    let what = match original {
        None => Extent::Whole,
        Some(key) => Extent::Once(original_of(&calendar, key, house).ok_or_else(unreadable)?),
    };
    Ok(Target { account, held, calendar, what, own })
}

/// The time of a series that is called so, in the series' own zone.
fn original_of(calendar: &Component, key: &str, house: &Accounts) -> Option<When> {
    let zones = Zones::of(calendar, &house.home);
    let read = zones.read(&crate::lines::Line::new("X", Vec::new(), key))?;
    let line = calendar.inner("VEVENT").find(|event| !crate::series::is_exception(event))?.line("DTSTART")?;
    Some(match read {
        When::Day(day) => When::Day(day),
        When::At(at) => When::At(at.with_time_zone(zones.of_line(line))),
    })
}

/// Does the call name all who take part? Whoever is asked about it must have seen who gets a letter.
fn tells_all(target: &Target, called: &Called, house: &Accounts) -> Result<(), Outcome> {
    let zones = Zones::of(&target.calendar, &house.home);
    let event = edit::component(&target.calendar, &zones, &target.what);
    let mut told = event.map(|event| edit::told(event, &target.own)).unwrap_or_default();
    if target.what == Extent::Whole {
        told = target.calendar.inner("VEVENT").flat_map(|event| edit::told(event, &target.own)).collect();
        told.sort();
        told.dedup();
    }
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
pub(super) async fn letters(target: &Target, called: &Called) -> String {
    letters_of(&target.account, &target.held.collection, &called.tells).await
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
pub(super) fn all_failed(failed: &[(String, DavError)]) -> Outcome {
    match failed {
        [(name, error)] => error.outcome(name),
        _ => Outcome::Error(failures(failed)),
    }
}
