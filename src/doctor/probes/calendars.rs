//! People's calendars and address books: each account is asked what it has.

use crate::doctor::DoctorInputs;
use crate::doctor::rules::finding::{Check, Finding};

#[cfg(feature = "dav")]
pub(in crate::doctor) async fn calendars(patient: &DoctorInputs) -> Vec<Finding> {
    use futures::future::join_all;

    use crate::daemon::toolset::dav::accounts;
    use crate::doctor::rules::network;
    use hob_dav::client::Kind;

    let Some(config) = patient.config() else { return Vec::new() };
    let looked = accounts(config).into_iter().map(|(name, account)| async move {
        let account = match account {
            Ok(account) => account,
            Err(why) => return network::calendars(name, &Err(why), None),
        };
        let now = patient.clock.now();
        let found = account.found(Kind::Calendar, now).await;
        let found = found.map(|found| found.collections.len()).map_err(|error| error.to_string());
        let books = match account.found(Kind::Cards, now).await {
            Ok(found) => Some(found.collections.len()),
            Err(error) => {
                tracing::debug!(%error, account = name, "no address book is found");
                None
            }
        };
        network::calendars(name, &found, books)
    });
    let found = join_all(looked).await;
    if found.is_empty() { vec![Finding::ok(Check::Calendars, "no account is configured")] } else { found }
}

#[cfg(not(feature = "dav"))]
pub(in crate::doctor) async fn calendars(patient: &DoctorInputs) -> Vec<Finding> {
    let named = patient.config().is_some_and(|config| !config.dav.is_empty());
    let built = "this Hob was built without calendars";
    vec![if named {
        Finding::fail(Check::Calendars, built, "install one with them, or remove [dav]")
    } else {
        Finding::ok(Check::Calendars, built)
    }]
}
