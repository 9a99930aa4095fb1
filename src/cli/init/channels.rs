//! The step for one channel: the token, a look whether it works, a place for it, and a real message of the owner.

use anyhow::Context as _;

use crate::cli::init::asker::{self, SetupError};
use crate::cli::init::context::SetupContext;
use crate::cli::init::guides::{ChannelGuide, FieldKind, GuideField};
use crate::cli::init::save::ConfigDraft;
use crate::cli::init::secret_place::{self, NamedSecret};
use crate::cli::init::setup_environment::{OwnerOutcome, SetupTrouble};
use hob_config::change::Edit;
use hob_core::domain::inbound::{ChannelKind, DEFAULT_ACCOUNT};
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;

/// What to paste where a Slack app is made.
const MANIFEST: &str = include_str!("../../../docs/slack-manifest.yaml");

/// An answer, as it is tried.
struct FieldEntry {
    field: &'static GuideField,
    said: Secret,
}

impl FieldEntry {
    fn edit(&self, value: &str) -> Edit {
        match self.field.what {
            FieldKind::Only => Edit::set_value(self.field.key, toml_edit::Array::from_iter([value])),
            FieldKind::Secret { .. } | FieldKind::Text { .. } => Edit::set_value(self.field.key, value),
        }
    }
}

/// Sets the channel up, or notes that nobody wants it.
pub(super) fn set_up(setup: &mut SetupContext<'_>, guide: &'static ChannelGuide) -> Result<(), SetupError> {
    let has_section = setup.draft.has(guide.section);
    let title = guide.title;
    let first = if has_section { "prove what is configured" } else { "set it up now" };
    let usual = usize::from(guide.channel != ChannelKind::Telegram && !has_section) * 2;
    let options = [first, "enter other tokens", "not now"];
    let options: &[&str] = if has_section { &options } else { &[options[0], options[2]] };
    let name = loop {
        let chosen = setup.choose(&format!("{title}:"), options, usual.min(options.len() - 1))?;
        let attempt = match chosen {
            _ if chosen + 1 == options.len() => ConnectAttempt::GivenUp,
            0 if has_section => connect_configured(setup, guide)?,
            _ => connect_new(setup, guide)?,
        };
        match attempt {
            ConnectAttempt::Connected(name) => break name,
            ConnectAttempt::Back => {}
            ConnectAttempt::GivenUp => {
                setup.progress.skipped.insert(guide.section.to_owned());
                return setup.keep_progress();
            }
        }
    };
    let heard = wait_for_owner(setup, guide, &name);
    // Whatever came of it, Hob is not to go on at work here.
    let hung_up = setup.environment.hang_up();
    heard?;
    hung_up
}

/// What came of connecting.
enum ConnectAttempt {
    /// Under this name.
    Connected(String),
    /// The person wants to be asked again what to do.
    Back,
    GivenUp,
}

/// With what the config says.
fn connect_configured(
    setup: &mut SetupContext<'_>,
    guide: &'static ChannelGuide,
) -> Result<ConnectAttempt, SetupError> {
    loop {
        setup.tell(&format!("Connecting to {} …", guide.title));
        let trouble = match setup.environment.connect(&setup.draft.clone(), guide.channel)? {
            Ok(name) => return Ok(ConnectAttempt::Connected(name)),
            Err(trouble) => trouble,
        };
        setup.tell(&format!("That does not work: {}", trouble.why));
        match setup.choose("What now?", &["try again", "enter other tokens", "go on without it"], 0)? {
            0 => {}
            1 => return connect_new(setup, guide),
            _ => return Ok(ConnectAttempt::GivenUp),
        }
    }
}

/// With what the person enters, which is saved once it works.
fn connect_new(setup: &mut SetupContext<'_>, guide: &'static ChannelGuide) -> Result<ConnectAttempt, SetupError> {
    setup.tell(&steps(setup, guide)?);
    let Some(mut entries) = enter(setup, guide)? else { return Ok(ConnectAttempt::Back) };
    let name = loop {
        setup.tell(&format!("Connecting to {} …", guide.title));
        let plain = |entry: &FieldEntry| entry.edit(entry.said.expose());
        let tried = setup.draft.with(&edits(setup, guide, entries.iter().map(plain).collect()));
        let trouble = match tried {
            Ok(draft) => match setup.environment.connect(&draft, guide.channel)? {
                Ok(name) => break name,
                Err(trouble) => trouble,
            },
            Err(error) => SetupTrouble { why: error.to_string(), of_key: true },
        };
        setup.tell(&format!("That does not work: {}", trouble.why));
        let usual = usize::from(!trouble.of_key);
        match setup.choose("What now?", &["enter it again", "try the same again", "go on without it"], usual)? {
            0 => match enter(setup, guide)? {
                Some(again) => entries = again,
                None => return Ok(ConnectAttempt::Back),
            },
            1 => {}
            _ => return Ok(ConnectAttempt::GivenUp),
        }
    };
    let called = if name.is_empty() { String::new() } else { format!(" as {name}") };
    setup.tell(&format!("Connected{called}."));
    let kept = store_secrets(setup, &entries);
    let saved = kept.and_then(|kept| {
        let edits = edits(setup, guide, kept);
        setup.save(&edits)
    });
    if let Err(halt) = saved {
        setup.environment.hang_up()?;
        return Err(halt);
    }
    setup.progress.skipped.remove(guide.section);
    setup.keep_progress()?;
    setup.tell(&format!("Saved in {}.", setup.draft.path.display()));
    Ok(ConnectAttempt::Connected(name))
}

/// What is to be done outside. The manifest that Slack wants is put where it can be found.
fn steps(setup: &SetupContext<'_>, guide: &ChannelGuide) -> Result<String, SetupError> {
    if guide.channel != ChannelKind::Slack {
        return Ok(format!("\n{}", guide.steps));
    }
    let path = setup.draft.data_dir()?.join("slack-manifest.yaml");
    std::fs::write(&path, MANIFEST).with_context(|| path.display().to_string())?;
    Ok(format!("\n{}", guide.steps.replace("MANIFEST", &path.display().to_string())))
}

/// Asks for all of it. Back is the question before; none: back from the first.
fn enter(setup: &mut SetupContext<'_>, guide: &'static ChannelGuide) -> Result<Option<Vec<FieldEntry>>, SetupError> {
    let mut entries: Vec<FieldEntry> = Vec::new();
    while let Some(field) = guide.fields.get(entries.len()) {
        let said = match field.what {
            FieldKind::Secret { .. } => asker::secret(setup.asker, field.ask)?,
            FieldKind::Only => asker::text(setup.asker, field.ask, None)?.map(Secret::new),
            FieldKind::Text { usual } => {
                let domain = entries.first().and_then(|entry| entry.said.expose().split_once('@')).map(|(_, at)| at);
                let usual = usual.zip(domain).map(|(begins, domain)| format!("{begins}{domain}"));
                asker::text(setup.asker, field.ask, usual.as_deref())?.map(Secret::new)
            }
        };
        match said {
            Some(said) => entries.push(FieldEntry { field, said }),
            None if entries.pop().is_none() => return Ok(None),
            None => {}
        }
    }
    Ok(Some(entries))
}

/// All changes: what was entered, and what goes with it.
fn edits(setup: &SetupContext<'_>, guide: &ChannelGuide, entered: Vec<Edit>) -> Vec<Edit> {
    let mut edits = entered;
    edits.extend(guide.api_url(&setup.given).map(|(key, url)| Edit::set_value(key, url)));
    if guide.channel == ChannelKind::Email && !setup.draft.has("email") {
        // Else nobody is believed to be who they say.
        edits.push(Edit::set_value("email.verify", true));
    }
    edits
}

/// Asks once where the secrets are to be kept, and gives the changes with what stands for them.
fn store_secrets(setup: &mut SetupContext<'_>, entries: &[FieldEntry]) -> Result<Vec<Edit>, SetupError> {
    let mut edits = Vec::new();
    for entry in entries {
        let value = match entry.field.what {
            FieldKind::Secret { variable, file } => {
                let what = match entry.field.key {
                    "slack.app_token" => "the app token",
                    "email.imap_password" | "matrix.password" => "the password",
                    _ => "the token",
                };
                secret_place::ask(setup, what, &NamedSecret { variable, file, secret: &entry.said })?
            }
            FieldKind::Text { .. } | FieldKind::Only => entry.said.expose().to_owned(),
        };
        edits.push(entry.edit(&value));
    }
    Ok(edits)
}

/// Waits until the owner has written and has an answer.
fn wait_for_owner(setup: &mut SetupContext<'_>, guide: &'static ChannelGuide, name: &str) -> Result<(), SetupError> {
    loop {
        let code = if guide.channel == ChannelKind::Email { String::new() } else { setup.environment.code()? };
        setup.tell(&format!("\nNow show that it is you. {}\n", guide.how_to_pair(name, &code)));
        setup.tell("Waiting for your message. Ctrl-C stops waiting …");
        let usual = match setup.environment.hear()? {
            OwnerOutcome::Owner { name } => {
                setup.tell(&format!("{name} is an owner, and has Hob's answer there. {} works.", guide.title));
                setup.progress.heard.insert(guide.section.to_owned());
                setup.progress.skipped.remove(guide.section);
                return setup.keep_progress();
            }
            OwnerOutcome::Mute { why } => {
                setup.tell(&format!("Your message came, and there is trouble with the answer: {why}."));
                0
            }
            OwnerOutcome::Nobody => {
                if guide.channel == ChannelKind::Email {
                    setup.tell(
                        "Where letters come and are not answered, their sender could not be proven: docs/email.md, \
                         \"Who is believed\".",
                    );
                }
                0
            }
        };
        if setup.choose("No message yet.", &["wait again", "later: `hob init` asks again"], usual)? == 1 {
            return Ok(());
        }
    }
}

/// Whether the config itself names an owner there.
pub(super) fn names_owner(draft: &ConfigDraft, channel: ChannelKind) -> bool {
    let mut firsts =
        draft.config.accounts().filter(|account| (account.channel, account.name) == (channel, DEFAULT_ACCOUNT));
    let names = |(role, ids): &(Role, Vec<String>)| *role == Role::Owner && !ids.is_empty();
    channel != ChannelKind::Email && firsts.any(|account| account.section.access().admitted.iter().any(names))
}
