//! What whoever is asked about a change sees: which entry it is about, when that is, and who takes part.
//!
//! Words of a title and names choose an entry, and words of somebody else's may have chosen those: a question that repeats them alone
//! does not say what would happen.

use crate::account::Accounts;
use crate::edit::Extent;
use crate::tools::target::{Called, open, resolve};
use crate::tools::{assessed, reader};
use crate::words::one_line;
use hob_core::domain::tools::{Assessment, DangerGrade, GrantScope};
use hob_tools::{Invocation, Outcome};

/// So many of those who take part are named.
const PEOPLE_MAX: usize = 5;

/// What is to be known of a call that changes an entry. Where nobody will be asked, nothing is looked up.
pub(super) async fn assessed_change(
    house: &Accounts,
    invocation: &Invocation,
    called: Result<Called, Outcome>,
) -> Assessment {
    let mut known = assessed(invocation, "tells");
    // One that does not fit fails by itself.
    let Ok(called) = called else { return known };
    if !invocation.is_tainted() && called.tells.is_empty() {
        return known;
    }
    // The same words may mean another entry tomorrow.
    known.always = GrantScope::Never;
    match subject(house, invocation, &called).await {
        Ok(Subject { entry, people }) => {
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
struct Subject {
    entry: String,
    people: Option<String>,
}

async fn subject(house: &Accounts, invocation: &Invocation, called: &Called) -> Result<Subject, Outcome> {
    let id = resolve(house, invocation, called).await?;
    let target = open(house, invocation, &id, None).await?.of(called, house)?;
    let entry = &target.entry;
    let span = reader(&house.home, invocation.now).span(&entry.start, &entry.end);
    let how = match (entry.repeats, &target.what) {
        (false, _) => "",
        (true, Extent::Whole) => " (the whole series)",
        (true, Extent::Once(_)) => " (this time of a series)",
    };
    let told = target.told(house);
    let named = told.iter().take(PEOPLE_MAX).map(|one| one_line(one)).collect::<Vec<_>>().join(", ");
    let more = told.len().saturating_sub(PEOPLE_MAX);
    let people = match (told.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(format!("these take part: {named}")),
        (false, more) => Some(format!("these take part: {named} and {more} more")),
    };
    let calendar = format!("{}/{}", entry.id.account, one_line(&entry.id.calendar));
    Ok(Subject { entry: format!("{span}: {}{how}, in {calendar}", one_line(&entry.said.title)), people })
}
