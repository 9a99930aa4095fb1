//! The order of the steps, which of them are open, and what is said between them.

use std::collections::BTreeSet;

use crate::cli::init::asker::SetupError;
use crate::cli::init::context::SetupContext;
use crate::cli::init::guides::{ChannelGuide, GUIDES};
use crate::cli::init::providers::ProviderInfo;
use crate::cli::init::save::{ConfigDraft, SetupProgress};
use crate::cli::init::setup_environment::{Service, SetupEnvironment};
use crate::cli::init::{channels, model, phone};
use hob_config::change::Edit;
use hob_core::domain::inbound::ChannelKind;

/// How often a house is backed up that was set up here.
const BACKUP_EVERY_HOURS: u32 = 24;

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Who answers.
    Model,
    /// A real question.
    Turn,
    Channel(&'static ChannelGuide),
    /// The page, on a phone.
    Phone,
    /// How Hob is started.
    Service,
}

/// How far a step is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepState {
    /// Done, with what is so now.
    Done(String),
    /// To be done.
    Open(&'static str),
    /// Not wanted.
    Skipped,
}

impl Step {
    /// All of them, in order.
    fn all(environment: &dyn SetupEnvironment) -> Vec<Self> {
        let channels = GUIDES.iter().filter(|guide| environment.is_built(guide.section)).map(Self::Channel);
        [Self::Model, Self::Turn].into_iter().chain(channels).chain([Self::Phone, Self::Service]).collect()
    }

    /// For people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::Turn => "A real question",
            Self::Channel(guide) => guide.title,
            Self::Phone => "The page on your phone",
            Self::Service => "Start at boot",
        }
    }

    /// How far it is.
    pub(super) fn state(
        self,
        draft: &ConfigDraft,
        progress: &SetupProgress,
        paired: &BTreeSet<ChannelKind>,
    ) -> StepState {
        let is_skipped = |name: &str| progress.skipped.contains(name);
        match self {
            Self::Model => model_state(draft),
            Self::Turn if model::has_answered(draft, progress.answered.as_deref()) => {
                StepState::Done("answered, with a tool".to_owned())
            }
            Self::Turn if is_skipped("turn") => StepState::Skipped,
            Self::Turn => StepState::Open("not asked yet"),
            Self::Channel(guide) => {
                let is_heard = progress.heard.contains(guide.section);
                let has_owner =
                    is_heard || paired.contains(&guide.channel) || channels::names_owner(draft, guide.channel);
                match (draft.has(guide.section), has_owner) {
                    (true, true) => StepState::Done("connected, with an owner".to_owned()),
                    _ if is_skipped(guide.section) => StepState::Skipped,
                    (true, false) => StepState::Open("configured, and no owner has written"),
                    (false, _) => StepState::Open("not set up"),
                }
            }
            Self::Phone => match phone::address(&draft.config) {
                Some(address) => StepState::Done(format!("at {address}")),
                None if is_skipped(phone::STEP) => StepState::Skipped,
                None => StepState::Open("from this machine alone"),
            },
            Self::Service => match progress.service.as_deref() {
                Some("none") => StepState::Skipped,
                Some(service) => StepState::Done(format!("as a {service} service")),
                None => StepState::Open("not decided"),
            },
        }
    }
}

fn model_state(draft: &ConfigDraft) -> StepState {
    let Some(provider) = &draft.config.provider else { return StepState::Open("not chosen") };
    let kind = ProviderInfo::of(provider.kind).map_or("", |kind| kind.name);
    let model = provider.models.primary.as_deref().unwrap_or("its usual model");
    StepState::Done(if kind == "offline" { "the built-in one".to_owned() } else { format!("{kind}, {model}") })
}

/// Every step with how far it is, a line each.
pub(super) fn overview(states: &[(Step, StepState)]) -> String {
    let line = |(step, state): &(Step, StepState)| {
        let told = match state {
            StepState::Done(what) => what,
            StepState::Open(what) => *what,
            StepState::Skipped => "not wanted",
        };
        format!("  {}: {told}", step.title())
    };
    states.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Leads through the open steps; where something is set already, the person says what to do.
pub(super) fn run_steps(setup: &mut SetupContext<'_>, is_new: bool) -> Result<(), SetupError> {
    setup.tell("Ctrl-C leaves at any time; what is done is kept, and `hob init` goes on from there.");
    let mut asks = !is_new;
    let mut behind = 0;
    loop {
        let states = states(setup)?;
        let next = next(&states, behind);
        if asks || next.is_none() {
            setup.tell(&format!("\n{}", overview(&states)));
            match menu(setup, next.map(|(_, step)| step))? {
                Menu::Next => asks = false,
                Menu::Change => change(setup, &states)?,
                Menu::End => break,
            }
            continue;
        }
        if let Some((index, step)) = next {
            run_step(setup, step)?;
            behind = index + 1;
            // One that is open still is not asked about again and again.
            let paired = paired(setup)?;
            asks = matches!(step.state(&setup.draft, &setup.progress, &paired), StepState::Open(_));
        }
    }
    enable_backup(setup)?;
    open_page(setup)?;
    let closing = closing_summary(setup)?;
    setup.tell(&closing);
    Ok(())
}

/// The link to the page, where Hob was started and a phone can reach it.
fn open_page(setup: &mut SetupContext<'_>) -> Result<(), SetupError> {
    let is_started = matches!(setup.progress.service.as_deref(), Some("user" | "system"));
    if !is_started || phone::address(&setup.draft.config).is_none() {
        return Ok(());
    }
    match setup.environment.page(&setup.draft.clone())? {
        Some(link) => {
            setup.tell("\nThe page, for your phone's camera:");
            setup.asker.show(&link);
        }
        None => setup
            .tell("\nHob does not serve its page yet: `hob web` shows the link once it does, the log says why not."),
    }
    Ok(())
}

/// The first open step from there on, or else of all.
fn next(states: &[(Step, StepState)], behind: usize) -> Option<(usize, Step)> {
    let is_open = |(_, (_, state)): &(usize, &(Step, StepState))| matches!(state, StepState::Open(_));
    let open = |from| states.iter().enumerate().skip(from).find(is_open).map(|(index, (step, _))| (index, *step));
    open(behind).or_else(|| open(0))
}

enum Menu {
    Next,
    Change,
    End,
}

fn menu(setup: &mut SetupContext<'_>, next: Option<Step>) -> Result<Menu, SetupError> {
    let Some(next) = next else {
        return Ok(match setup.choose("Everything is decided.", &["finish", "change something"], 0)? {
            0 => Menu::End,
            _ => Menu::Change,
        });
    };
    let first = format!("go on: {}", next.title());
    Ok(match setup.choose("What now?", &[&first, "change something", "finish"], 0)? {
        0 => Menu::Next,
        1 => Menu::Change,
        _ => Menu::End,
    })
}

fn change(setup: &mut SetupContext<'_>, states: &[(Step, StepState)]) -> Result<(), SetupError> {
    let mut titles: Vec<&str> = states.iter().map(|(step, _)| step.title()).collect();
    titles.push("nothing");
    let chosen = setup.choose("Change what?", &titles, states.len())?;
    match states.get(chosen) {
        Some((step, _)) => run_step(setup, *step),
        None => Ok(()),
    }
}

fn run_step(setup: &mut SetupContext<'_>, step: Step) -> Result<(), SetupError> {
    match step {
        Step::Model => model::choose(setup),
        Step::Turn => model::prove(setup),
        Step::Channel(guide) => channels::set_up(setup, guide),
        Step::Phone => phone::set_up(setup),
        Step::Service => service(setup),
    }
}

fn paired(setup: &mut SetupContext<'_>) -> Result<BTreeSet<ChannelKind>, SetupError> {
    setup.environment.paired(&setup.draft)
}

fn states(setup: &mut SetupContext<'_>) -> Result<Vec<(Step, StepState)>, SetupError> {
    let paired = paired(setup)?;
    let state = |step: Step| (step, step.state(&setup.draft, &setup.progress, &paired));
    Ok(Step::all(&*setup.environment).into_iter().map(state).collect())
}

/// How Hob is started from now on.
fn service(setup: &mut SetupContext<'_>) -> Result<(), SetupError> {
    if !setup.draft.config.has_channel() && phone::address(&setup.draft.config).is_none() {
        setup.tell("\nWithout a channel there is nothing to start at boot: `hob chat` starts what it needs.");
        setup.progress.service = Some(Service::None.as_str().to_owned());
        return setup.keep_progress();
    }
    let options = [
        "as a service of yours, from now on (`hob service install --user`)",
        "as a service of the machine (`hob service install --system`; needs root)",
        "by hand: `hob run`",
    ];
    let service = match setup.choose("How is Hob to be started?", &options, 0)? {
        0 => Service::User,
        1 => Service::System,
        _ => Service::None,
    };
    if let Err(trouble) = setup.environment.serve(service, &setup.draft.path.clone()) {
        setup.tell(&format!("That did not work: {}", trouble.why));
        return Ok(());
    }
    setup.progress.service = Some(service.as_str().to_owned());
    setup.keep_progress()
}

/// A house that was set up is backed up from then on, unless its config says something of that.
pub(super) fn enable_backup(setup: &mut SetupContext<'_>) -> Result<(), SetupError> {
    if setup.draft.config.provider.is_none() || setup.draft.has("backup") {
        return Ok(());
    }
    setup.save(&[Edit::set_value("backup.every_hours", i64::from(BACKUP_EVERY_HOURS))])?;
    setup.tell("\nFrom now on a backup is made each day, and seven are kept: [backup] in the config.");
    Ok(())
}

/// What was set up, what is still off, and what to do next: a line each.
pub(super) fn closing_summary(setup: &mut SetupContext<'_>) -> Result<String, SetupError> {
    let states = states(setup)?;
    let done =
        |(step, state): &(Step, StepState)| matches!(state, StepState::Done(_)).then(|| step.title().to_lowercase());
    let done: Vec<String> = states.iter().filter_map(done).collect();
    let set = if done.is_empty() { "Nothing is set up yet".to_owned() } else { format!("Set up: {}", done.join(", ")) };
    let is_reached = setup.draft.config.has_channel() || phone::address(&setup.draft.config).is_some();
    let talk = match (is_reached, setup.progress.service.as_deref()) {
        (true, Some("user" | "system")) => "Hob runs: write to it. `hob chat` talks with it here.",
        (true, _) => {
            "Start Hob: `hob run`, and write to it (`hob web` shows the page's link). Or talk with it here: `hob chat`."
        }
        (false, _) => "Talk with Hob: `hob chat`.",
    };
    Ok(format!(
        "\n{set}. The config: {}.\n{}\n{talk}\nFor more: `hob init` again, /help in the chat, `hob config example` for every key.",
        setup.draft.path.display(),
        disabled_features(&setup.draft, &states)
    ))
}

/// What is off unless it is asked for and the steps do not speak of; docs/off.md has all of it.
const OFF: [(&str, &str); 6] = [
    ("caps on money", "budget"),
    ("voice messages in words", "transcription"),
    ("answers by voice", "speech"),
    ("tasks at set times", "schedule"),
    ("looking by itself what is to do", "heartbeat"),
    ("MCP servers", "mcp"),
];

fn disabled_features(draft: &ConfigDraft, states: &[(Step, StepState)]) -> String {
    let is_off = |(_, state): &&(Step, StepState)| !matches!(state, StepState::Done(_));
    let steps = states.iter().filter(is_off).map(|(step, _)| step.title());
    let rest = OFF.iter().filter(|(_, section)| !draft.has(section)).map(|(told, _)| *told);
    let off: Vec<&str> = steps.chain(rest).collect();
    if off.is_empty() {
        "All of it is on.".to_owned()
    } else {
        format!("Still off: {} (`hob help off`).", off.join(", "))
    }
}
