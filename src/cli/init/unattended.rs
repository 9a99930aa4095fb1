//! The setup without questions: everything from flags, each step checked, proved and saved like the others.

use std::path::Path;

use anyhow::Context as _;

use crate::cli::init::arguments::InitArguments;
use crate::cli::init::context::SetupContext;
use crate::cli::init::guides::{ChannelGuide, GUIDES};
use crate::cli::init::model::{ProviderTrial, fingerprint, turn_text};
use crate::cli::init::providers::ProviderInfo;
use crate::cli::init::save::ConfigDraft;
use crate::cli::init::secret_place;
use crate::cli::init::setup_environment::SetupTrouble;
use crate::cli::init::steps::{closing_summary, enable_backup};
use crate::cli::next_step::{refusal, refuse};
use hob_config::Config;
use hob_config::change::Edit;
use hob_config::provider::ProviderKind;
use hob_core::domain::inbound::ChannelKind;

/// Sets up what the flags say.
pub(super) fn run(setup: &mut SetupContext<'_>, arguments: &InitArguments) -> anyhow::Result<()> {
    let missing = missing(arguments, &setup.draft);
    if !missing.is_empty() {
        refuse!("nothing was changed, for this is missing:\n  {}", missing.join("\n  "); "\nsay it as well; `hob init --help` has all flags");
    }
    let taken = conflicting_sections(arguments, &setup.draft.config);
    if !taken.is_empty() && !arguments.yes {
        refuse!(
            "nothing was changed: {} has {} already", setup.draft.path.display(), taken.join(", ");
            "--yes replaces that"
        );
    }
    if arguments.given.provider.is_some() {
        provider(setup, arguments)?;
    }
    for guide in &GUIDES {
        if let Some(edits) = section(guide, arguments)? {
            channel(setup, guide, edits)?;
        }
    }
    if let Some(service) = arguments.service {
        setup
            .environment
            .serve(service, &setup.draft.path.clone())
            .map_err(|trouble| failed("the service", &trouble))?;
        setup.progress.service = Some(service.as_str().to_owned());
        setup.keep_progress()?;
    }
    enable_backup(setup)?;
    let closing = closing_summary(setup)?;
    setup.tell(&closing);
    Ok(())
}

fn failed(what: &str, trouble: &SetupTrouble) -> anyhow::Error {
    refusal!("{what}: {}\nWhat came before it is saved.", trouble.why; "\nMend that, and run it again.").into()
}

/// The flags without which it cannot be done.
fn missing(arguments: &InitArguments, draft: &ConfigDraft) -> Vec<String> {
    let mut missing = Vec::new();
    let mut need = |flag: &str| missing.push(flag.to_owned());
    match arguments.given.provider.as_deref().and_then(ProviderInfo::named) {
        None if draft.config.provider.is_none() => need("--provider KIND, for the model"),
        None => {}
        Some(kind) => {
            let has_key = arguments.api_key_env.is_some() || arguments.api_key_file.is_some();
            let is_there = kind.variable().is_none_or(|variable| draft.env.text(variable).is_some());
            let is_own = arguments.given.base_url.is_some();
            if !has_key && !is_there && !is_own {
                need("--api-key-env VARIABLE or --api-key-file FILE, for the provider's key");
            }
            let has_model =
                kind.preset().is_none_or(|preset| preset.model.is_some()) || kind.kind == ProviderKind::Ollama;
            if !has_model && arguments.given.model.is_none() {
                need("--model NAME, as this provider has no usual one");
            }
            if kind.kind == ProviderKind::OpenaiCompatible && !is_own {
                need("--base-url URL, for the server's address");
            }
        }
    }
    if let Some(variable) = arguments.api_key_env.as_deref().filter(|name| draft.env.text(name).is_none()) {
        need(&format!("{variable} in the environment, as --api-key-env names it"));
    }
    match (&arguments.slack_bot_token_file, &arguments.slack_app_token_file) {
        (Some(_), None) => need("--slack-app-token-file FILE, as Slack wants both tokens"),
        (None, Some(_)) => need("--slack-bot-token-file FILE, as Slack wants both tokens"),
        (Some(_), Some(_)) | (None, None) => {}
    }
    if arguments.matrix_user.is_some() {
        let parts = [
            ("--matrix-homeserver URL", arguments.matrix_homeserver.is_some()),
            ("--matrix-password-file FILE", arguments.matrix_password_file.is_some()),
        ];
        parts
            .iter()
            .filter(|(_, there)| !there)
            .for_each(|(flag, _)| need(&format!("{flag}, for the account on Matrix")));
    }
    if arguments.email_address.is_some() {
        let parts = [
            ("--email-password-file FILE", arguments.email_password_file.is_some()),
            ("--imap-host HOST", arguments.imap_host.is_some()),
            ("--smtp-host HOST", arguments.smtp_host.is_some()),
        ];
        parts.iter().filter(|(_, there)| !there).for_each(|(flag, _)| need(&format!("{flag}, for the mailbox")));
    }
    if arguments.service.is_none() {
        need("--service user, system or none: how Hob is started from now on");
    }
    missing
}

/// The sections that are there already and would be changed.
fn conflicting_sections(arguments: &InitArguments, config: &Config) -> Vec<&'static str> {
    let all = [
        ("[provider]", arguments.given.provider.is_some() && config.provider.is_some()),
        ("[telegram]", arguments.telegram_token_file.is_some() && config.telegram.is_some()),
        ("[slack]", arguments.slack_bot_token_file.is_some() && config.slack.is_some()),
        ("[discord]", arguments.discord_token_file.is_some() && config.discord.is_some()),
        ("[matrix]", arguments.matrix_user.is_some() && config.matrix.is_some()),
        ("[email]", arguments.email_address.is_some() && config.email.is_some()),
    ];
    all.into_iter().filter(|(_, taken)| *taken).map(|(section, _)| section).collect()
}

fn provider(setup: &mut SetupContext<'_>, arguments: &InitArguments) -> anyhow::Result<()> {
    let name = arguments.given.provider.as_deref().unwrap_or_default();
    let kind = ProviderInfo::named(name)
        .with_context(|| refusal!("--provider: there is no kind {name}"; "`hob init --help` names them"))?;
    let variable = arguments.api_key_env.as_deref().or_else(|| kind.variable());
    let variable = variable.filter(|variable| setup.draft.env.text(variable).is_some());
    let api_key = match (&arguments.api_key_file, variable) {
        (Some(file), _) => Some(secret_place::file_reference(file)?),
        (None, variable) => variable.map(|variable| format!("${{{variable}}}")),
    };
    let (base_url, model) = (arguments.given.base_url.clone(), arguments.given.model.clone());
    let edits = ProviderTrial { kind, base_url, api_key, model }.edits(&setup.draft.config);
    let tried = setup.draft.with(&edits)?;
    if let Some(off) = tried.loaded()?.off.iter().find(|off| off.section == "provider") {
        refuse!("{off}"; "set it, and run it again");
    }
    if kind.kind != ProviderKind::Offline {
        setup.environment.offered(&tried)?.map_err(|trouble| failed("the provider", &trouble))?;
    }
    setup.save(&edits)?;
    let turn = setup.environment.turn(&tried)?.map_err(|trouble| failed("a real question", &trouble))?;
    setup.tell(&turn_text(&turn));
    if turn.tools.is_empty() {
        refuse!(
            "the model called no tool, and Hob works by tools";
            "name a larger one with --model, or one made for tools"
        );
    }
    setup.progress.answered = fingerprint(&setup.draft.config);
    Ok(setup.keep_progress()?)
}

/// The changes for a channel that the flags name.
fn section(guide: &ChannelGuide, arguments: &InitArguments) -> anyhow::Result<Option<Vec<Edit>>> {
    let secret = |key: &'static str, file: &Path| anyhow::Ok(Edit::set_value(key, secret_place::file_reference(file)?));
    let texts = |key: &'static str, all: &[String]| Edit::set_value(key, toml_edit::Array::from_iter(all));
    let numbers =
        |key: &'static str, all: &[i64]| Edit::set_value(key, toml_edit::Array::from_iter(all.iter().copied()));
    let mut edits = Vec::new();
    match guide.channel {
        ChannelKind::Telegram => {
            let Some(file) = &arguments.telegram_token_file else { return Ok(None) };
            edits.push(secret("telegram.bot_token", file)?);
            if !arguments.owner_telegram_id.is_empty() {
                edits.push(numbers("telegram.owner_user_ids", &arguments.owner_telegram_id));
            }
        }
        ChannelKind::Slack => {
            let (Some(bot), Some(app)) = (&arguments.slack_bot_token_file, &arguments.slack_app_token_file) else {
                return Ok(None);
            };
            edits.extend([secret("slack.bot_token", bot)?, secret("slack.app_token", app)?]);
            if !arguments.owner_slack_id.is_empty() {
                edits.push(texts("slack.owner_user_ids", &arguments.owner_slack_id));
            }
        }
        ChannelKind::Discord => {
            let Some(file) = &arguments.discord_token_file else { return Ok(None) };
            edits.push(secret("discord.bot_token", file)?);
            if !arguments.owner_discord_id.is_empty() {
                edits.push(numbers("discord.owner_user_ids", &arguments.owner_discord_id));
            }
        }
        ChannelKind::Matrix => {
            let InitArguments { matrix_user, matrix_homeserver, matrix_password_file, .. } = arguments;
            let (Some(user), Some(homeserver), Some(file)) = (matrix_user, matrix_homeserver, matrix_password_file)
            else {
                return Ok(None);
            };
            edits.push(Edit::set_value("matrix.homeserver", homeserver.as_str()));
            edits.push(Edit::set_value("matrix.user", user.as_str()));
            edits.push(secret("matrix.password", file)?);
            if !arguments.owner_matrix_id.is_empty() {
                edits.push(texts("matrix.owner_user_ids", &arguments.owner_matrix_id));
            }
        }
        ChannelKind::Email => {
            let InitArguments { email_address, email_password_file, imap_host, smtp_host, owner_email, .. } = arguments;
            let (Some(address), Some(file), Some(imap), Some(smtp)) =
                (email_address, email_password_file, imap_host, smtp_host)
            else {
                return Ok(None);
            };
            edits.push(Edit::set_value("email.address", address.as_str()));
            edits.push(Edit::set_value("email.imap_host", imap.as_str()));
            edits.push(Edit::set_value("email.smtp_host", smtp.as_str()));
            edits.extend([secret("email.imap_password", file)?, Edit::set_value("email.verify", true)]);
            edits.push(texts("email.owner_addresses", owner_email));
        }
        ChannelKind::Web | ChannelKind::Terminal | ChannelKind::Event => return Ok(None),
    }
    edits.extend(guide.api_url(&arguments.given).map(|(key, url)| Edit::set_value(key, url)));
    Ok(Some(edits))
}

/// Connects, and saves it once that works.
fn channel(setup: &mut SetupContext<'_>, guide: &ChannelGuide, edits: Vec<Edit>) -> anyhow::Result<()> {
    let tried = setup.draft.with(&edits)?;
    let connected = setup.environment.connect(&tried, guide.channel)?;
    setup.environment.hang_up()?;
    let name = connected.map_err(|trouble| failed(guide.title, &trouble))?;
    setup.save(&edits)?;
    setup.progress.skipped.remove(guide.section);
    setup.keep_progress()?;
    let called = if name.is_empty() { String::new() } else { format!(" as {name}") };
    setup.tell(&format!("{}: connected{called}.", guide.title));
    Ok(())
}
