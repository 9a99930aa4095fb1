//! `contacts_find`: who somebody is, how they are reached, and whose birthday comes.

use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt as _;
use jiff::ToSpan as _;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::account::{Account, AccountVisibility, Accounts, Failed, of_each};
use crate::client::{Kind, Resource};
use crate::contact::Contact;
use crate::error::DavError;
use crate::reading;
use crate::tools::target::all_failed;
use crate::tools::{accounts, failures, looks, reader, tainting};
use crate::words::{Reader, one_line};
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, Outcome, Tool, ToolResult, ToolSpec};

/// The most people that are told at once.
const PEOPLE_MAX: usize = 20;
/// What every card has.
const NAMED: &str = "<a:prop-filter name=\"FN\"/>";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Words of a name, an address or a number.
    words: Option<String>,
    /// Instead of words: whose birthday is within so many days.
    birthdays_within_days: Option<i64>,
}

/// The tool.
pub(super) struct ContactsFind {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl ContactsFind {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let about = "Finds people in the address books of whoever asks: addresses, telephones, birthdays.";
        Self { spec: looks(spec_of::<Arguments>("contacts_find", about, true)), accounts }
    }

    async fn find(&self, invocation: &Invocation, arguments: Arguments) -> Result<Outcome, Outcome> {
        let now = invocation.now;
        let seen = accounts(&self.accounts, invocation, AccountVisibility::Whole).await?;
        let (all, failed) = contacts(&seen, now).await;
        if failed.len() == seen.len() {
            return Err(all_failed(&failed));
        }
        let reader = reader(&self.accounts.home, now);
        let today = now.to_zoned(self.accounts.home.clone()).date();
        let found: Vec<String> = match (arguments.birthdays_within_days, arguments.words.as_deref()) {
            (Some(days), _) => birthdays(&all, today, days.clamp(0, 366), &reader),
            (None, Some(words)) if !words.trim().is_empty() => {
                all.iter().filter(|contact| contact.has(words)).map(|contact| line(contact, &reader, today)).collect()
            }
            (None, _) => return Err(Outcome::Error("It needs words to look for, or a number of days.".to_owned())),
        };
        let mut lines: Vec<String> = found.iter().take(PEOPLE_MAX).cloned().collect();
        if lines.is_empty() {
            lines.push("Nobody was found.".to_owned());
        }
        if found.len() > PEOPLE_MAX {
            lines.push(format!("And {} more: use more words.", found.len() - PEOPLE_MAX));
        }
        if !failed.is_empty() {
            lines.push(format!("Not looked at, so there may be more:\n{}", failures(&failed)));
        }
        Ok(tainting(Outcome::Text(lines.join("\n")), &seen))
    }
}

/// Everybody in the address books of these, and which of them do not answer. An account without address books has none.
pub(crate) async fn contacts(seen: &[Arc<Account>], now: jiff::Timestamp) -> (Vec<Contact>, Failed) {
    let asked = seen.iter().map(|account| of_account(account, now).boxed()).collect();
    let (all, failed) = of_each(seen, asked).await;
    let mut all: Vec<Contact> = all.into_iter().map(|(_, contact)| contact).collect();
    all.sort_by(|one, two| one.name.cmp(&two.name));
    (all, failed)
}

async fn of_account(account: &Account, now: jiff::Timestamp) -> Result<Vec<Contact>, DavError> {
    let found = match account.found(Kind::Cards, now).await {
        Ok(found) => found,
        Err(DavError::Nothing(_) | DavError::Gone) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let books = account.query(Kind::Cards, &found, NAMED).await?;
    let cards: Vec<Resource> = books.into_iter().flat_map(|(_, cards)| cards).collect();
    let read = move || {
        let all = cards.iter().filter_map(|card| Contact::parse(&card.text));
        Ok(all.filter(|contact| !contact.group).collect())
    };
    reading::read(read).await
}

/// Whose birthday is within so many days, in their order.
pub(crate) fn birthdays(all: &[Contact], today: Date, days: i64, reader: &Reader<'_>) -> Vec<String> {
    let last = today.checked_add(days.days()).unwrap_or(today);
    let coming = all.iter().filter_map(|contact| {
        let birthday = contact.birthday?;
        Some((birthday.next(today).filter(|day| *day <= last)?, birthday, contact))
    });
    let mut coming: Vec<_> = coming.collect();
    coming.sort_by_key(|(day, _, contact)| (*day, contact.name.clone()));
    let line = |(day, birthday, contact): (Date, crate::contact::Birthday, &Contact)| {
        let age = birthday.year.map(|year| format!(" ({})", day.year() - year)).unwrap_or_default();
        format!("{}: birthday of {}{age}", reader.day(day), one_line(&contact.name))
    };
    coming.into_iter().map(line).collect()
}

fn line(contact: &Contact, reader: &Reader<'_>, today: Date) -> String {
    let mut parts: Vec<String> = contact.organization.iter().map(|org| one_line(org)).collect();
    parts.extend(contact.emails.iter().chain(&contact.phones).chain(&contact.places).map(|part| one_line(part)));
    let birthday = contact.birthday.and_then(|birthday| Some((birthday.next(today)?, birthday.year)));
    parts.extend(birthday.map(|(day, year)| {
        let born = year.map(|year| format!(", born {year}")).unwrap_or_default();
        format!("birthday next on {}{born}", reader.day(day))
    }));
    format!("{}: {}", one_line(&contact.name), parts.join("; "))
}

#[async_trait]
impl Tool for ContactsFind {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.find(&invocation, parse(&self.spec, invocation.arguments.clone())?).await
    }
}
