//! What a change of the config means for what runs. Pure.
//!
//! Whatever is not named here is exchanged in place: it is made anew, and nobody notices.

use crate::daemon::channels::SharedConnector;
use crate::daemon::config_mapping;
use hob_config::Config;
use hob_config::memory::EmbeddingKind;
use hob_core::domain::inbound::ChannelKind;

/// An account on a platform.
pub(in crate::daemon) type AccountAddress = (ChannelKind, String);

/// What becomes of which account.
pub(in crate::daemon) type AccountSteps = Vec<(AccountAddress, AccountStep)>;

/// What becomes of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::daemon) enum AccountStep {
    /// It is not touched: its connection stays.
    Stays,
    /// It ends, and begins anew.
    Restarts,
    Begins,
    Ends,
}

/// Whether the models are made anew, and the first of them is asked before anything changes.
pub(in crate::daemon) fn rebuilds_models(before: &Config, after: &Config) -> bool {
    let capped = |config: &Config| config_mapping::budget(config).caps_money();
    (&before.provider, &before.models, &before.aliases) != (&after.provider, &after.models, &after.aliases)
        // Under a budget a reply has a limit where the owner sets none.
        || capped(before) != capped(after)
}

/// Whether what draws facts from talk begins anew.
pub(in crate::daemon) fn restarts_extraction(before: &Config, after: &Config) -> bool {
    let idle = |config: &Config| {
        let memory = &config.memory;
        (memory.extract, memory.extract_model.clone())
    };
    rebuilds_models(before, after)
        || idle(before) != idle(after)
        || (config_mapping::budget(before), &before.agent.time_zone)
            != (config_mapping::budget(after), &after.agent.time_zone)
}

/// Whether what makes vectors begins anew: it is another, or what it may cost is.
pub(in crate::daemon) fn restarts_embedding(before: &Config, after: &Config) -> bool {
    let (old, new) = (&before.memory.embedding, &after.memory.embedding);
    let is_paid = new.kind == EmbeddingKind::OpenaiCompatible;
    old != new
        || is_paid
            && (config_mapping::budget(before), &before.agent.time_zone, &before.models)
                != (config_mapping::budget(after), &after.agent.time_zone, &after.models)
}

/// What becomes of each account, in the order of the config; those that end come last.
pub(in crate::daemon) fn channels(before: &[SharedConnector], after: &[SharedConnector]) -> AccountSteps {
    let find = |all: &'_ [SharedConnector], address: &AccountAddress| {
        all.iter().position(|connector| connector.address() == *address)
    };
    let step =
        |connector: &SharedConnector| match find(before, &connector.address()).and_then(|index| before.get(index)) {
            None => AccountStep::Begins,
            Some(known) if known.is_same_connection(&**connector) => AccountStep::Stays,
            Some(_) => AccountStep::Restarts,
        };
    let here = after.iter().map(|connector| (connector.address(), step(connector)));
    let gone = before.iter().map(|connector| connector.address()).filter(|address| find(after, address).is_none());
    here.chain(gone.map(|address| (address, AccountStep::Ends))).collect()
}

/// The keys that are not what the process began with, and cannot change without a new one.
pub(in crate::daemon) fn keys_needing_restart(began: &Config, now: &Config) -> Vec<String> {
    let keys = [
        ("state", began.state != now.state),
        ("server", began.server != now.server),
        ("daemon.log", began.daemon.log != now.daemon.log),
        ("daemon.log_format", began.daemon.log_format != now.daemon.log_format),
        ("telemetry", began.telemetry != now.telemetry),
        ("upkeep", began.upkeep != now.upkeep),
        ("skills", began.skills != now.skills),
        ("terminal.bubblewrap", began.terminal.bubblewrap != now.terminal.bubblewrap),
        ("workspace.keep_files_days", began.workspace.keep_files_days != now.workspace.keep_files_days),
        ("memory.retention_days", began.memory.retention_days != now.memory.retention_days),
    ];
    keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::daemon::channels::connectors;

    const USUAL: &str = "
        [provider]
        kind = 'offline'
        [telegram]
        bot_token = '1:a'
        [slack]
        bot_token = 'xoxb-1'
        app_token = 'xapp-1'
        [discord]
        bot_token = 'd'";

    fn config(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn k5_only_the_account_whose_way_has_changed_is_touched() {
        let steps = |from: &str, to: &str| {
            let after = USUAL.replace(from, to);
            let all = |text: &str| connectors(&config(text), false, Path::new("/")).unwrap();
            let steps = channels(&all(USUAL), &all(&after));
            let told = steps.into_iter().filter(|(_, step)| *step != AccountStep::Stays);
            told.map(|((kind, account), step)| format!("{kind} {account}: {step:?}")).collect::<Vec<_>>().join(", ")
        };
        for (from, to, expected) in [
            ("'1:a'", "'1:a'\nallowed_user_ids = [1]\npersona = 'cook'", ""),
            ("'xapp-1'", "'xapp-1'\nowner_user_ids = ['U1']", ""),
            ("'1:a'", "'1:b'", "telegram default: Restarts"),
            ("'1:a'", "'1:a'\npoll_timeout_secs = 9", "telegram default: Restarts"),
            ("'xapp-1'", "'xapp-2'", "slack default: Restarts"),
            ("'d'", "'d'\n[discord_accounts.work]\nbot_token = 'e'", "discord work: Begins"),
            ("[discord]", "[discord_accounts.work]", "discord work: Begins, discord default: Ends"),
        ] {
            assert_eq!(steps(from, to), expected, "{from} → {to}");
        }
    }

    #[test]
    fn k5_models_are_asked_only_when_something_of_theirs_has_changed() {
        let of = |more: &str| {
            let after = config(&format!("{USUAL}\n{more}"));
            (rebuilds_models(&config(USUAL), &after), restarts_extraction(&config(USUAL), &after))
        };
        for (more, expected) in [
            ("[agent]\nsystem_prompt = 'x'", (false, false)),
            ("[aliases]\nbig = 'offline/hob'", (true, true)),
            ("[budget]\nday_usd = 1.0", (true, true)),
            ("[memory]\nmax_facts = 3", (false, false)),
            ("[memory]\nextract = false", (false, true)),
            ("[agent]\ntime_zone = 'UTC'", (false, true)),
        ] {
            assert_eq!(of(more), expected, "{more}");
        }
        let (one, other) = (config("[budget]\nday_usd = 1.0"), config("[budget]\nday_usd = 2.0"));
        assert!(!rebuilds_models(&one, &other), "the cap is in place");
    }

    #[test]
    fn k5_what_only_a_new_process_can_take_up_is_named() {
        let of = |more: &str| keys_needing_restart(&config(USUAL), &config(&format!("{USUAL}\n{more}"))).join(" ");
        for (more, expected) in [
            ("[agent]\nsystem_prompt = 'x'", ""),
            ("[daemon]\nlog = 'debug'\ndrain_secs = 3", "daemon.log"),
            ("[server]\nlisten = '127.0.0.1:1'", "server"),
            ("[upkeep]\njournals_days = 3", "upkeep"),
            ("[state]\nurl = 'postgres://hob@db/hob'", "state"),
            ("[telemetry]\nsample_ratio = 0.5", "telemetry"),
            ("[memory]\nretention_days = 3\nmax_facts = 9", "memory.retention_days"),
            ("[terminal]\nbubblewrap = 'off'\nnetwork = true", "terminal.bubblewrap"),
            ("[daemon]\nruns_parallel_max = 3", ""),
        ] {
            assert_eq!(of(more), expected, "{more}");
        }
    }
}
