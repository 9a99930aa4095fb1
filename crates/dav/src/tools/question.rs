//! What whoever is asked about a change sees: which entry it is about, when that is, and who takes part.
//!
//! Words of a title and names choose an entry, and words of somebody else's may have chosen those: a question that repeats them alone
//! does not say what would happen.

use crate::account::Accounts;
use crate::edit::SeriesPart;
use crate::tools::target::{NamedEntry, open, resolve};
use crate::tools::{assessed, reader};
use crate::words::one_line;
use hob_core::domain::tools::{Assessment, DangerGrade, GrantScope};
use hob_tools::{Invocation, Outcome};

/// So many of those who take part are named.
const PEOPLE_MAX: usize = 5;

/// What is to be known of a call that changes an entry. Where nobody will be asked, nothing is looked up.
pub(super) async fn assessed_change(
    known_accounts: &Accounts,
    invocation: &Invocation,
    called: Result<NamedEntry, Outcome>,
) -> Assessment {
    let mut known = assessed(invocation, "tells");
    // One that does not fit fails by itself.
    let Ok(called) = called else { return known };
    if !invocation.is_tainted() && called.tells.is_empty() {
        return known;
    }
    // The same words may mean another entry tomorrow.
    known.always = GrantScope::Never;
    match subject(known_accounts, invocation, &called).await {
        Ok(ChangeSummary { entry, people }) => {
            known.about = entry;
            known.reasons.extend(people);
        }
        Err(_) => {
            known.grade = known.grade.max(DangerGrade::High);
            known.reasons.push("which entry it is about could not be looked up".to_owned());
        }
    }
    known
}

/// What a change is about, in words for people.
struct ChangeSummary {
    entry: String,
    people: Option<String>,
}

async fn subject(
    known_accounts: &Accounts,
    invocation: &Invocation,
    called: &NamedEntry,
) -> Result<ChangeSummary, Outcome> {
    let id = resolve(known_accounts, invocation, called).await?;
    let target = open(known_accounts, invocation, &id, None).await?.of(called, known_accounts)?;
    let entry = &target.entry;
    let span = reader(&known_accounts.home, invocation.now).span(&entry.start, &entry.end);
    let how = match (entry.repeats, &target.what) {
        (false, _) => "",
        (true, SeriesPart::Whole) => " (the whole series)",
        (true, SeriesPart::Once(_)) => " (this time of a series)",
    };
    let told = target.told(known_accounts);
    let named = told.iter().take(PEOPLE_MAX).map(|one| one_line(one)).collect::<Vec<_>>().join(", ");
    let more = told.len().saturating_sub(PEOPLE_MAX);
    let people = match (told.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(format!("these take part: {named}")),
        (false, more) => Some(format!("these take part: {named} and {more} more")),
    };
    let calendar = format!("{}/{}", entry.id.account, one_line(&entry.id.calendar));
    Ok(ChangeSummary { entry: format!("{span}: {}{how}, in {calendar}", one_line(&entry.said.title)), people })
}
