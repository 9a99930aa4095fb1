//! What is on today, for `/today`: entries and birthdays, without a model.

use jiff::{Timestamp, ToSpan as _};

use crate::account::{AccountVisibility, Accounts, entries_of};
use crate::series::Window;
use crate::tools::{birthdays, contacts, failures};
use crate::when::start_of;
use crate::words::Reader;
use hob_core::domain::principal::Principal;
use hob_store::error::StoreError;

/// The most entries that are told.
const ENTRIES_MAX: usize = 40;

/// What is on today for somebody; none: no account is theirs.
///
/// # Errors
/// When the database does not say who somebody is.
pub async fn today(accounts: &Accounts, reader: &Principal, now: Timestamp) -> Result<Option<String>, StoreError> {
    let seen = accounts.of(reader, AccountVisibility::Whole).await?;
    if seen.is_empty() {
        return Ok(None);
    }
    let home = &accounts.home;
    let reader = Reader { home, now };
    let day = now.to_zoned(home.clone()).date();
    let next = day.checked_add(1.day()).unwrap_or(day);
    let window = Window { from: start_of(day, home), to: start_of(next, home) };
    let (all, mut failed) = entries_of(&seen, window, reader).await;
    let (people, unread) = contacts(&seen, now).await;
    let mut lines: Vec<String> = all.iter().take(ENTRIES_MAX).map(|(_, entry)| reader.line(entry)).collect();
    if all.len() > ENTRIES_MAX {
        lines.push(format!("And {} more.", all.len() - ENTRIES_MAX));
    }
    lines.extend(birthdays(&people, day, 0, &reader));
    // An account that does not answer is told of once.
    let is_new = |name: &str| failed.iter().all(|(known, _)| known != name);
    let more: Vec<_> = unread.into_iter().filter(|(name, _)| is_new(name)).collect();
    failed.extend(more);
    if lines.is_empty() && failed.is_empty() {
        lines.push(format!("Nothing is on today, {}.", reader.day(day)));
    }
    lines.extend((!failed.is_empty()).then(|| failures(&failed)));
    Ok(Some(lines.join("\n")))
}
