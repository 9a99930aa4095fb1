//! The whole config: a field for each section.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::AgentConfig;
use crate::approvals::ApprovalsConfig;
use crate::backup::BackupConfig;
use crate::budget::BudgetConfig;
use crate::cli_agents::CliAgentConfig;
use crate::context::ContextConfig;
use crate::daemon::DaemonConfig;
use crate::dav::DavConfig;
use crate::delivery::DeliveryConfig;
use crate::destinations::DestinationConfig;
use crate::discord::DiscordConfig;
use crate::email::EmailConfig;
use crate::groups::GroupsConfig;
use crate::guards::GuardsConfig;
use crate::heartbeat::HeartbeatConfig;
use crate::home_assistant::HomeAssistantConfig;
use crate::hooks::HookConfig;
use crate::http::HttpConfig;
use crate::mail::MailConfig;
use crate::matrix::MatrixConfig;
use crate::mcp::McpConfig;
use crate::memory::MemoryConfig;
use crate::models::ModelConfig;
use crate::people::PersonConfig;
use crate::persona::PersonaConfig;
use crate::problem::Finding;
use crate::provider::ProviderConfig;
use crate::quotas::QuotaConfig;
use crate::schedule::ScheduleConfig;
use crate::skills::SkillsConfig;
use crate::slack::SlackConfig;
use crate::speech::SpeechConfig;
use crate::state::StateConfig;
use crate::telegram::TelegramConfig;
use crate::telemetry::TelemetryConfig;
use crate::terminal::TerminalConfig;
use crate::tools::ToolConfig;
use crate::transcription::TranscriptionConfig;
use crate::upkeep::UpkeepConfig;
use crate::web::WebConfig;
use crate::webhooks::{ServerConfig, WebhookConfig};
use crate::workspace::WorkspaceConfig;
use crate::{
    dav, destinations, home_assistant, http, key_path, mail, mcp, models, people, persona, schedule, shape, telegram,
    tools, webhooks,
};
use hob_core::domain::tools::BUILT_IN;

/// Everything that can be configured. Only `daemon` takes this whole; the others take their section.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<Config>)]
pub struct Config {
    /// Which model answers. Without this section Hob looks for one: a key in the environment (OPENAI_API_KEY,
    /// ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, GROQ_API_KEY, XAI_API_KEY,
    /// MOONSHOT_API_KEY, MISTRAL_API_KEY), then an Ollama on this machine, then the offline model.
    pub provider: Option<ProviderConfig>,
    /// What models can do and cost, where Hob's own table is wrong or has nothing; each under `provider/model`. `hob models`
    /// shows what is known.
    #[schemars(extend("x-name" = "openai/gpt-5-mini"))]
    pub models: BTreeMap<String, ModelConfig>,
    /// Short names of models, for `/model` and the command line: name = "provider/model". docs/models.md says more.
    #[schemars(example = &models::alias_example())]
    pub aliases: BTreeMap<String, String>,
    /// Who puts voice messages into words: a server that has OpenAI's /audio/transcriptions. Without this section nobody
    /// does, and Hob says so.
    pub transcription: Option<TranscriptionConfig>,
    /// Who says answers aloud: then a voice message is answered by voice as well, and `/voice` changes that for a conversation.
    /// Without this section nobody does. docs/files.md says more.
    pub speech: Option<SpeechConfig>,
    /// How much money models may cost, in US dollars. What is left out is not limited. Models without a known price count
    /// for nothing: `hob models` shows what is known.
    pub budget: BudgetConfig,
    /// How much each person may use.
    pub quotas: QuotaConfig,
    /// The Telegram bot. Without this section Hob is not on Telegram.
    pub telegram: Option<TelegramConfig>,
    /// More Telegram bots, each with its own people and personas.
    #[schemars(extend("x-name" = "work"))]
    pub telegram_accounts: BTreeMap<String, TelegramConfig>,
    /// The Slack app. Without this section Hob is not on Slack.
    pub slack: Option<SlackConfig>,
    /// More Slack apps, each under a name of its own: in other workspaces, say.
    #[schemars(extend("x-name" = "work"))]
    pub slack_accounts: BTreeMap<String, SlackConfig>,
    /// The Discord bot, and who may talk to it. docs/discord.md says how to make one.
    pub discord: Option<DiscordConfig>,
    /// Further bots of Hob's on Discord, each under a name of its own; as `[discord]`.
    #[schemars(extend("x-name" = "work"))]
    pub discord_accounts: BTreeMap<String, DiscordConfig>,
    /// Hob's account on Matrix. docs/matrix.md says how to make one; a Hob built without the feature `matrix` has no use for it.
    pub matrix: Option<MatrixConfig>,
    /// Further accounts on Matrix, each under a name of its own; as `[matrix]`.
    #[schemars(extend("x-name" = "work"))]
    pub matrix_accounts: BTreeMap<String, MatrixConfig>,
    /// Hob's mailbox. Without this section Hob reads and writes no letters.
    pub email: Option<EmailConfig>,
    /// Further mailboxes, each under a name of its own, with the same settings as `[email]`.
    #[schemars(extend("x-name" = "office"))]
    pub email_accounts: BTreeMap<String, EmailConfig>,
    /// People who have several names: one on Telegram and another there, or one there and the terminal. Whoever has only
    /// one is listed under `[telegram]`.
    #[schemars(extend("x-name" = "ada"))]
    pub people: BTreeMap<String, PersonConfig>,
    /// When Hob answers where several people talk.
    pub groups: GroupsConfig,
    /// Conversations that the owner can have Hob write to from elsewhere, by name: "tell the family that …".
    #[schemars(extend("x-name" = "family"))]
    pub destinations: BTreeMap<String, DestinationConfig>,
    /// Who Hob is, where it is to be somebody in particular: other instructions, another model, other tools. `/persona NAME`
    /// chooses one in a conversation, `[telegram]` for a chat, `[agent]` everywhere.
    #[schemars(extend("x-name" = "cook"))]
    pub personas: BTreeMap<String, PersonaConfig>,
    /// How a conversation runs.
    pub agent: AgentConfig,
    /// How a conversation is kept within the model's window.
    pub context: ContextConfig,
    /// What is remembered, for how long, and how it is found again.
    pub memory: MemoryConfig,
    /// What stops a model that goes in circles, or claims what it has not done.
    pub guards: GuardsConfig,
    /// Hob looks by itself, from time to time, whether there is something to do, and speaks only if there is. Without this
    /// section it does not.
    pub heartbeat: Option<HeartbeatConfig>,
    /// What Hob does by itself at times that stand here. People can ask for more in their chats; docs/schedules.md.
    #[schemars(length(max = 1_000))]
    pub schedule: Vec<ScheduleConfig>,
    /// Where Hob listens for HTTP. Put a server with TLS before it if it is to be reached from outside.
    pub server: ServerConfig,
    /// What may call in with `POST /hooks/NAME`, each under a name of its own; docs/schedules.md.
    #[schemars(extend("x-name" = "doorbell"))]
    pub webhooks: BTreeMap<String, WebhookConfig>,
    /// Where Hob's tools may read and write files. They reach nothing else; commands see the system's own folders besides,
    /// and cannot change them.
    pub workspace: WorkspaceConfig,
    /// The commands that the model may run in the workspace, in a sandbox. docs/terminal.md says more.
    pub terminal: TerminalConfig,
    /// What of the network Hob's tools may reach. Without this section: what is public, and nothing of the house.
    pub web: WebConfig,
    /// Credentials for HTTP APIs, each under a name of its own. The model uses them by that name and never sees them.
    #[schemars(extend("x-name" = "weather"))]
    pub http: BTreeMap<String, HttpConfig>,
    /// People's calendars and address books, each account under a name of its own. docs/calendar.md says more.
    #[schemars(extend("x-name" = "ada"))]
    pub dav: BTreeMap<String, DavConfig>,
    /// People's mailboxes, each under a name of its own; Hob's own is `[email]`. docs/mail.md says more.
    #[schemars(extend("x-name" = "ada"))]
    pub mail: BTreeMap<String, MailConfig>,
    /// The household's Home Assistant. docs/home-assistant.md says more.
    pub home_assistant: Option<HomeAssistantConfig>,
    /// Instructions for kinds of tasks, which the model reads when one fits (docs/skills.md).
    pub skills: SkillsConfig,
    /// Commands on this machine that the model may call as tools, each under a name of its own: a letter, then up to
    /// 63 letters, digits, `_` or `-`.
    #[schemars(extend("x-name" = "switch_light"))]
    pub tools: BTreeMap<String, ToolConfig>,
    /// MCP servers, each under a name of its own: a letter, then up to 31 letters, digits, `-` or single `_`. Their tools
    /// are called `NAME__TOOL`. docs/mcp.md says more.
    #[schemars(extend("x-name" = "notes"))]
    pub mcp: BTreeMap<String, McpConfig>,
    /// Coding agents that are installed here and that Hob may hand tasks to, each time after an approval. Those that Hob
    /// knows need no section: aider, claude, codex, cursor-agent, gemini, goose and opencode are found on PATH.
    #[schemars(extend("x-name" = "claude"))]
    pub cli_agents: BTreeMap<String, CliAgentConfig>,
    /// How questions for approval are put: what `approval` says under [tools].
    pub approvals: ApprovalsConfig,
    /// Programs that are asked before a tool call or told after it, in this order. Each reads the call as JSON on standard
    /// input and answers by its exit code: 0 lets it through, 2 blocks it with the reason on standard output.
    #[schemars(length(max = 64))]
    pub hooks: Vec<HookConfig>,
    /// Where Hob keeps its data.
    pub state: StateConfig,
    /// Backups that Hob makes by itself; `hob backup` makes one at any time. docs/backup.md says more.
    pub backup: BackupConfig,
    /// What is let go with time, and when the disk counts as low. docs/upkeep.md says more.
    pub upkeep: UpkeepConfig,
    /// How answers are delivered and tried again.
    pub delivery: DeliveryConfig,
    /// The background process.
    pub daemon: DaemonConfig,
    /// Where traces of Hob's work go; docs/telemetry.md says what can be watched besides.
    pub telemetry: TelemetryConfig,
}

impl Config {
    /// What the sections find wrong with their values, beyond what the types can say.
    pub fn validate(&self) -> Vec<Finding> {
        let mut all = Vec::new();
        let mut take = |section: &str, found: Vec<Finding>| all.extend(found.into_iter().map(|f| f.within(section)));
        if let Some(provider) = &self.provider {
            take("provider", provider.validate());
        }
        for (label, model) in &self.models {
            take("models", models::validate_label(label));
            take("models", model.validate().into_iter().map(|f| f.within(&key_path::key(label))).collect());
        }
        take("aliases", models::validate_aliases(&self.aliases));
        if let Some(transcription) = &self.transcription {
            take("transcription", transcription.validate());
        }
        if let Some(speech) = &self.speech {
            take("speech", speech.validate());
        }
        take("budget", self.budget.validate());
        take("quotas", self.quotas.validate());
        take("people", people::validate(&self.people));
        take("groups", self.groups.validate());
        take("destinations", destinations::validate(&self.destinations));
        take("agent", self.agent.validate());
        take("context", self.context.validate());
        take("memory", self.memory.validate());
        take("guards", self.guards.validate());
        if let Some(heartbeat) = &self.heartbeat {
            take("heartbeat", heartbeat.validate());
        }
        take("server", self.server.validate());
        take("workspace", self.workspace.validate());
        take("terminal", self.terminal.validate());
        take("web", self.web.validate());
        for (name, profile) in &self.http {
            take("http", http::validate_name(name).into_iter().collect());
            take("http", profile.validate().into_iter().map(|f| f.within(&key_path::key(name))).collect());
        }
        if let Some(home) = &self.home_assistant {
            take("home_assistant", home.validate());
        }
        take("skills", self.skills.validate());
        for (name, tool) in &self.tools {
            take("tools", tools::validate_name(name));
            take("tools", tool.validate().into_iter().map(|f| f.within(&key_path::key(name))).collect());
        }
        for (name, server) in &self.mcp {
            take("mcp", Vec::from_iter(mcp::validate_name(name)));
            take("mcp", server.validate().into_iter().map(|f| f.within(&key_path::key(name))).collect());
        }
        for (name, agent) in &self.cli_agents {
            take("cli_agents", agent.validate(name).into_iter().map(|f| f.within(&key_path::key(name))).collect());
        }
        take("approvals", self.approvals.validate());
        for (index, hook) in self.hooks.iter().enumerate() {
            take(&key_path::item("hooks", index), hook.validate());
        }
        take("state", self.state.validate());
        take("backup", self.backup.validate());
        take("upkeep", self.upkeep.validate());
        take("daemon", self.daemon.validate());
        take("telemetry", self.telemetry.validate());
        all.extend(schedule::validate(&self.schedule));
        all.extend(webhooks::validate(&self.webhooks, &self.server));
        all.extend(self.validate_accounts());
        all.extend(telegram::across(self));
        all.extend(self.validate_household_accounts());
        all.extend(self.validate_personas());
        all.extend(self.validate_across_sections());
        all
    }

    /// The accounts of people at services of their own.
    fn validate_household_accounts(&self) -> Vec<Finding> {
        let dav = dav::validate_accounts(&self.dav, &self.people).into_iter().map(|found| found.within("dav"));
        let mail = mail::validate_accounts(&self.mail, &self.people).into_iter().map(|found| found.within("mail"));
        dav.chain(mail).collect()
    }

    /// The personas, and where they are to be used.
    fn validate_personas(&self) -> Vec<Finding> {
        let modules = persona::modules(self.tools.values().map(|tool| tool.module.as_str()));
        let mut found = Vec::new();
        for (name, persona) in &self.personas {
            let at = |finding: Finding| finding.within(&key_path::key(name));
            found.extend(persona::validate_name(name));
            found.extend(persona.validate(&modules).into_iter().map(at));
        }
        let mut all: Vec<Finding> = found.into_iter().map(|finding| finding.within("personas")).collect();
        let guests = self.agent.default_guest_modules.as_deref().unwrap_or_default();
        all.extend(persona::validate_modules("agent.default_guest_modules", guests, &modules));
        let mut used = |key: &str, name: &str| all.extend(persona::validate_use(key, name, &self.personas));
        if let Some(name) = &self.agent.persona {
            used("agent.persona", name);
        }
        for (at, name) in self.personas_of_accounts() {
            used(&at, name);
        }
        all
    }

    /// What one section needs of another: somebody to speak to, tools that are there.
    fn validate_across_sections(&self) -> Vec<Finding> {
        let commands: BTreeSet<&str> = self.tools.keys().map(String::as_str).collect();
        let built_in = BUILT_IN.into_iter().chain(dav::TOOLS).chain(home_assistant::TOOLS).chain(mail::TOOLS);
        let mut known: BTreeSet<&str> = built_in.chain(commands.iter().copied()).collect();
        // Which tools a server has is known only when it has been asked.
        let hooked = self.hooks.iter().flat_map(|hook| &hook.tools);
        let declared = self.personas.values().filter_map(|persona| persona.declared.as_ref());
        let awaited = declared.flat_map(|declared| &declared.terminate).filter_map(|condition| condition.tool.as_ref());
        let is_served = |tool: &&String| tool.split_once("__").is_some_and(|(server, _)| self.mcp.contains_key(server));
        known.extend(hooked.chain(awaited).filter(is_served).map(String::as_str));
        let mut found = self.triggers_without_audience();
        found.extend(self.trigger_destination());
        for (index, hook) in self.hooks.iter().enumerate() {
            found.extend(hook.unknown(&key_path::item("hooks", index), &known));
        }
        for (name, persona) in &self.personas {
            let within = key_path::child(&key_path::child("personas", name), "loop");
            let declared = persona.declared.iter().flat_map(|declared| declared.unknown(&known, &commands));
            found.extend(declared.map(|finding| finding.within(&within)));
        }
        found
    }

    /// Whether people reach Hob by anything but the terminal.
    pub fn has_channel(&self) -> bool {
        !self.channels().is_empty()
    }

    /// Where what begins by itself is to be heard.
    fn trigger_destination(&self) -> Vec<Finding> {
        let heartbeat = self.heartbeat.iter().map(|it| ("heartbeat".to_owned(), it.to.as_deref(), it.telegram_chat));
        let schedules = self.schedule.iter().enumerate();
        let schedules =
            schedules.map(|(index, it)| (key_path::item("schedule", index), it.to.as_deref(), it.telegram_chat));
        let webhooks = self.webhooks.iter();
        let webhooks =
            webhooks.map(|(name, it)| (key_path::child("webhooks", name), it.to.as_deref(), it.telegram_chat));
        let all = heartbeat.chain(schedules).chain(webhooks);
        all.flat_map(|(at, to, chat)| destinations::validate_use(&at, to, chat, &self.destinations)).collect()
    }

    /// What begins by itself, and nobody would hear it. Whether there is an owner, the config alone does not say: one may
    /// have been paired.
    fn triggers_without_audience(&self) -> Vec<Finding> {
        let why = "has nobody to speak to, expected a channel with an owner";
        let fix = "set up `[telegram]`, `[slack]` or `[discord]`, or remove this section";
        let begins = [
            ("heartbeat", self.heartbeat.is_some()),
            ("schedule", !self.schedule.is_empty()),
            ("webhooks", !self.webhooks.is_empty()),
        ];
        let alone = begins.into_iter().filter(|(_, there)| *there && !self.has_channel());
        alone.map(|(section, _)| Finding::new(section, why, fix).with("telegram")).collect()
    }
}
