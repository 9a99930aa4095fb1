//! Makes everything that is of a config anew, tries it out, and exchanges it.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::try_join_all;

use crate::daemon::assembly::{ConfigServices, channels, delivery_config, serves};
use crate::daemon::channels::{ConnectedAccount, LiveAccount, SharedConnector, build_adapter, connectors};
use crate::daemon::error::StartError;
use crate::daemon::reload::plan::{self, AccountAddress, AccountStep, AccountSteps};
use crate::daemon::reload::refusal::RefusalReason;
use crate::daemon::reload::report_text::AppliedChanges;
use crate::daemon::reload::running::RunningConfig;
use crate::daemon::reload::{Reloader, canary};
use crate::daemon::triggers::{self, PreparedTriggers};
use crate::daemon::{Blueprint, memory, toolset};
use hob_config::diff;
use hob_config::load::LoadedConfig;
use hob_config::remarks;
use hob_config::switched_off::{self, SectionOff};

/// Everything new, ready to take its place.
struct PreparedReload {
    blueprint: Blueprint,
    made: ConfigServices,
    begins: PreparedTriggers,
    steps: AccountSteps,
    /// Every account of the new config; those that stay with the adapter that they have.
    connected: Vec<ConnectedAccount>,
    /// What of the file is off, as it lacks a secret.
    off: Vec<SectionOff>,
}

impl Reloader {
    /// Takes the config over, as a whole or not at all.
    pub(super) async fn apply(&mut self, loaded: LoadedConfig) -> Result<AppliedChanges, RefusalReason> {
        let ready = self.ready(loaded).await?;
        let (before, mends) = (self.blueprint.source.clone(), self.is_refused());
        let channels = ready.steps.clone();
        // From here on nothing waits, and nothing fails.
        self.exchange(ready);
        Ok(AppliedChanges {
            changes: diff::changes_between(before.expose(), self.blueprint.source.expose()),
            channels,
            waits: plan::keys_needing_restart(&self.began.config, &self.made.config),
            mends,
        })
    }

    /// Makes and tries it; what runs knows nothing of it.
    async fn ready(&self, loaded: LoadedConfig) -> Result<PreparedReload, RefusalReason> {
        let learnt = self.blueprint.redactor.add_secrets(&loaded.secrets(&self.blueprint.environment));
        learnt.map_err(|error| error.to_string())?;
        let LoadedConfig { config, source, mut off, .. } = loaded;
        let blueprint = Blueprint { config, source, ..self.blueprint.clone() };
        let made =
            ConfigServices::of(&blueprint, &self.roots, Some(&self.made)).await.map_err(|error| error.to_string())?;
        let (steps, connected) = self.connected(&blueprint)?;
        if plan::rebuilds_models(&self.made.config, &made.config) {
            canary::model(&made.ports.models).await?;
        }
        let tried = connected.iter().filter(|connected| {
            let step = steps.iter().find(|(address, _)| *address == connected.connector.address());
            step.is_some_and(|(_, step)| matches!(step, AccountStep::Begins | AccountStep::Restarts))
        });
        try_join_all(tried.map(canary::channel)).await?;
        let begins = triggers::prepare(&blueprint, &self.roots.store).await.map_err(|error| error.to_string())?;
        if blueprint.stays {
            // The timer takes up the rows that it finds: they are the only thing that is written.
            let synced = self.router.sync_schedules(begins.declared.clone()).await;
            synced.map_err(|error| format!("the schedules could not be stored: {error}"))?;
        }
        off.extend(made.keyless.iter().cloned());
        Ok(PreparedReload { blueprint, made, begins, steps, connected, off })
    }

    /// What becomes of each account, and the adapters of all that there will be.
    fn connected(&self, blueprint: &Blueprint) -> Result<(AccountSteps, Vec<ConnectedAccount>), String> {
        if !blueprint.serves.is_configured() {
            return Ok((Vec::new(), Vec::new()));
        }
        // Hob listens, or does not, as it began.
        let is_served = self.roots.own.page.is_some();
        let after = connectors(&blueprint.config, is_served, &blueprint.data_dir).map_err(|error| error.to_string())?;
        let before: Vec<_> = self.live.iter().map(|live| live.connected.connector.clone()).collect();
        let steps = plan::channels(&before, &after);
        let connected = after.into_iter().map(|connector| match known(&self.live, &connector) {
            Some(live) => Ok(live.connected.clone()),
            None => Ok(ConnectedAccount { adapter: build_adapter(&connector, blueprint)?, connector }),
        });
        let connected: Result<_, StartError> = connected.collect();
        Ok((steps, connected.map_err(|error| error.to_string())?))
    }

    /// The one step: from the next message, claim and delivery on everything goes by the new config.
    fn exchange(&mut self, ready: PreparedReload) {
        let PreparedReload { blueprint, made, begins, steps, connected, off } = ready;
        switched_off::update_conditions(&off, &blueprint.conditions, blueprint.clock.now());
        remarks::update_conditions(&made.config, &blueprint.conditions, blueprint.clock.now());
        let before = std::mem::replace(&mut self.made, made);
        self.blueprint = blueprint;
        let (ports, config) = (Arc::clone(&self.made.ports), Arc::clone(&self.made.config));
        let all = toolset::mcp::all(&self.blueprint);
        self.servers = self.servers.reconfigured(all, &ports.tools, self.blueprint.stays);
        let reach = channels(&connected, &self.roots.own);
        let served = serves(&reach);
        let intake_config = self.made.intake_config(&self.roots, &self.servers, &self.blueprint);
        self.roots.delivery.exchange(delivery_config(&config, reach));
        self.router.config.store(Arc::new(intake_config));
        self.router.lanes.exchange(ports, served, config.daemon.runs_parallel_max);
        self.move_channels(connected, &steps);
        self.begin_these(begins);
        if plan::restarts_extraction(&before.config, &config) {
            self.draw_facts();
        }
        if plan::restarts_embedding(&before.config, &config) {
            memory::keep_up(&mut self.embedding, &self.shutdown, &self.made, &self.blueprint);
        }
        let (source, at) = (self.blueprint.source.clone(), self.blueprint.clock.now());
        drop(self.running.send_replace(Arc::new(RunningConfig { config, source, at })));
    }

    /// Those that stay are not touched; in the place of one that ends the new one begins.
    fn move_channels(&mut self, connected: Vec<ConnectedAccount>, steps: &[(AccountAddress, AccountStep)]) {
        let live = std::mem::take(&mut self.live);
        let mut before: BTreeMap<AccountAddress, LiveAccount> =
            live.into_iter().map(|live| (live.connected.connector.address(), live)).collect();
        for connected in connected {
            let address = connected.connector.address();
            let stays = steps.iter().any(|(known, step)| *known == address && *step == AccountStep::Stays);
            let next = match before.remove(&address) {
                Some(live) if stays => live,
                former => LiveAccount::begin(connected, former, &self.router, &self.shutdown),
            };
            self.live.push(next);
        }
        before.into_values().for_each(|gone| drop(gone.end()));
    }
}

/// The account that is reached like this, and need not be touched.
fn known<'a>(live: &'a [LiveAccount], connector: &SharedConnector) -> Option<&'a LiveAccount> {
    live.iter().find(|live| live.connected.connector.is_same_connection(&**connector))
}
