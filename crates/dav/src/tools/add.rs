//! `calendar_add`: a new entry. Its id is written down before it is: called again, the same call finds it.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::ToSpan as _;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::account::{Account, AccountVisibility, Accounts};
use crate::client::{Kind, WritePrecondition};
use crate::discovery::Collection;
use crate::edit::{NewEntry, NewStart, Signature, created};
use crate::entry::{self, EntryId, is_mail};
use crate::error::DavError;
use crate::tools::begun::{begin, begun};
use crate::tools::target::letters_of;
use crate::tools::{accounts, assessed, changes, reader, start, tainting, undo};
use crate::when::When;
use hob_core::domain::tools::Assessment;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    pub(super) title: String,
    /// Local time, as 2026-12-03T14:00; or a day, as 2026-12-03.
    pub(super) start: String,
    /// How long; 60 without it.
    pub(super) minutes: Option<i64>,
    /// How many whole days.
    pub(super) days: Option<i64>,
    pub(super) place: Option<String>,
    pub(super) notes: Option<String>,
    /// An account, or account/calendar, if not the usual one.
    pub(super) calendar: Option<String>,
    /// Addresses of those who are invited, and get a letter.
    pub(super) invite: Option<Vec<String>>,
}

/// The tool.
pub(super) struct CalendarAdd {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl CalendarAdd {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let spec = spec_of::<Arguments>("calendar_add", "Adds an entry to a calendar of whoever asks.", true);
        Self { spec: changes(spec), accounts }
    }

    async fn add(&self, invocation: &Invocation, arguments: Arguments) -> Result<Outcome, Outcome> {
        let (now, home) = (invocation.now, &self.accounts.home);
        let seen = accounts(&self.accounts, invocation, AccountVisibility::Whole).await?;
        let known = begun(&self.accounts, invocation).await?;
        let named = known.as_ref().map(|known| known.entry.as_str()).or(arguments.calendar.as_deref());
        let (account, collection) = place(&seen, named, now).await?;
        let found = account.found(Kind::Calendar, now).await.map_err(|error| error.outcome(&account.settings.name))?;
        let (start, end) = times(&arguments, home)?;
        let call = match known {
            Some(known) => known.mark,
            None => {
                let goes = format!("{}/{}", account.settings.name, collection.key());
                begin(&self.accounts, invocation, goes).await?.mark
            }
        };
        let Arguments { title, place, notes, invite, calendar, .. } = arguments;
        let uid = format!("hob-{call}");
        let href = format!("{}/{uid}.ics", collection.href.trim_end_matches('/'));
        let invited: Vec<String> = invite.unwrap_or_default().iter().map(|one| one.trim().to_lowercase()).collect();
        let organizer = account.addresses(&found).into_iter().find(|one| is_mail(one));
        if organizer.is_none() && !invited.is_empty() {
            let told = "Nobody can be invited: the account has no address of its own (`addresses` in its section). Nothing was added.";
            return Err(Outcome::Error(told.to_owned()));
        }
        let new = NewEntry { uid, title, place, notes, start, end, organizer, invited };
        let made = created(&new, Signature { call: &call, now, home });
        let client = account.client();
        let added = client.put(&href, made.text(), WritePrecondition::New).await;
        let before = match added {
            Ok(()) => "Added",
            Err(DavError::Changed) => {
                match client.fetch(Kind::Calendar, &collection.href, std::slice::from_ref(&href)).await {
                    Ok(known) if known.iter().any(|known| known.text.contains(&new.uid)) => {
                        "It was added already, by this same call,"
                    }
                    Ok(_) => return Err(DavError::Changed.outcome(&account.settings.name)),
                    Err(error) => {
                        return Err(DavError::Unknown(error.to_string()).outcome(&account.settings.name));
                    }
                }
            }
            Err(error) => return Err(error.outcome(&account.settings.name)),
        };
        let letters = letters_of(&account, &collection, &new.invited).await;
        let when = reader(home, now).span(&new.start, &new.end);
        // Not what the calendar is called there: somebody else may share it.
        let named = calendar.unwrap_or_else(|| account.settings.name.clone());
        let told = Outcome::Text(format!("{before} to {named}: {when}.{letters}"));
        let id = EntryId {
            account: account.settings.name.clone(),
            calendar: collection.key().to_owned(),
            resource: format!("{}.ics", new.uid),
            original: None,
            digest: made.inner("VEVENT").next().map(entry::digest).unwrap_or_default(),
        };
        Ok(undo::offered(told, new.invited.is_empty().then(|| undo::of_added(&id)).flatten()))
    }
}

/// When it is, on the household's clock.
pub(super) fn times(arguments: &Arguments, home: &TimeZone) -> Result<(When, When), Outcome> {
    let no = |_error| Outcome::Error("This time is out of range.".to_owned());
    match start(&arguments.start)? {
        NewStart::Day(day) => {
            let days = arguments.days.unwrap_or(1).clamp(1, 400);
            Ok((When::Day(day), When::Day(day.checked_add(days.days()).map_err(no)?)))
        }
        NewStart::At(at) => {
            let minutes = match (arguments.minutes, arguments.days) {
                (Some(minutes), _) => minutes.clamp(0, 60 * 24 * 31),
                (None, Some(days)) => days.clamp(1, 31) * 24 * 60,
                (None, None) => 60,
            };
            let at = at.to_zoned(home.clone()).map_err(no)?;
            let end = at.checked_add(minutes.minutes()).map_err(no)?;
            Ok((When::At(at), When::At(end)))
        }
    }
}

#[async_trait]
impl Tool for CalendarAdd {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_content(&self, argument: &str) -> bool {
        matches!(argument, "title" | "notes")
    }

    fn settled(&self) -> Vec<String> {
        self.accounts.names()
    }

    fn undoable(&self, _arguments: &Value) -> bool {
        true
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        assessed(invocation, "invite")
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.add(&invocation, parse(&self.spec, invocation.arguments.clone())?).await
    }
}

/// Where an entry goes: what is named, or the account's usual calendar, or its first.
pub(super) async fn place(
    seen: &[Arc<Account>],
    named: Option<&str>,
    now: jiff::Timestamp,
) -> Result<(Arc<Account>, Collection), Outcome> {
    let (account, calendar) =
        match named.map(|named| named.split_once('/').map_or((named, None), |(of, name)| (of, Some(name)))) {
            None => (seen.first(), None),
            Some((of, calendar)) => {
                (seen.iter().find(|account| account.settings.name.eq_ignore_ascii_case(of.trim())), calendar)
            }
        };
    let known = || seen.iter().map(|account| account.settings.name.as_str()).collect::<Vec<_>>().join(", ");
    let account =
        account.ok_or_else(|| Outcome::Error(format!("There is no such account. There are: {}.", known())))?;
    let found = account.found(Kind::Calendar, now).await.map_err(|error| error.outcome(&account.settings.name))?;
    let mut all = found.collections.iter().filter(|collection| collection.writable);
    let wanted = calendar.map(str::trim).or(account.settings.calendar.as_deref());
    let is = |collection: &&Collection, wanted: &str| {
        collection.key() == wanted || collection.name.eq_ignore_ascii_case(wanted)
    };
    let collection = match wanted {
        Some(wanted) => all.find(|collection| is(collection, wanted)),
        None => all.next(),
    };
    let names = || found.collections.iter().map(Collection::key).collect::<Vec<_>>().join(", ");
    let collection = collection.cloned();
    collection.map(|collection| (Arc::clone(account), collection)).ok_or_else(|| {
        let told = format!("There is no such calendar to write to. There are: {}.", names());
        tainting(Outcome::Error(told), std::slice::from_ref(account))
    })
}
