//! The household's Home Assistant: it is asked who it is, and what of it is exposed.

use crate::doctor::DoctorInputs;
use crate::doctor::rules::finding::Finding;

#[cfg(feature = "home")]
pub(in crate::doctor) async fn home(patient: &DoctorInputs) -> Vec<Finding> {
    use crate::daemon::toolset::home::made;
    use crate::doctor::rules::network;

    let Some(config) = patient.config() else { return Vec::new() };
    let Some(own) = &config.home_assistant else { return Vec::new() };
    let looked = async {
        let home = made(own, config)?;
        let info = home.client.info().await.map_err(|error| error.to_string())?;
        let exposed = home.states(patient.clock.now()).await.map_err(|error| error.to_string())?;
        // What answers may be anything.
        Ok((hob_home::entity::one_line(&info.version, 40), exposed.len()))
    };
    vec![network::home(&looked.await)]
}

#[cfg(not(feature = "home"))]
pub(in crate::doctor) async fn home(patient: &DoctorInputs) -> Vec<Finding> {
    use crate::doctor::rules::finding::Check;

    let is_named = patient.config().is_some_and(|config| config.home_assistant.is_some());
    let built = "this Hob was built without Home Assistant";
    let finding = || Finding::fail(Check::Home, built, "install one with it, or remove [home_assistant]");
    is_named.then(finding).into_iter().collect()
}
