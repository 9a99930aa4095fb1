//! `/status`: how Hob is, on one screen (row N11). What does not work comes first, what is always the same last.
//!
//! Never: what anybody said, but for the tasks of the agents at work here, and what was planned here.
//! Start at [`status`].

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::command_handlers::{Caller, CommandContext, config_line};
use crate::cost::with_unpriced;
use crate::intake::answers::waits_for_agents;
use crate::memory::why::planned;
use crate::workload::{Workload, listed};
use crate::{pause, pause_texts, persona, texts};
use hob_core::domain::health::{AccountHealth, ChannelHealth, Liveness};
use hob_core::domain::inbound::DEFAULT_ACCOUNT;
use hob_core::domain::money::Money;
use hob_core::domain::principal::Role;
use hob_core::domain::text::{counted, cut, one_line, span};
use hob_core::policy::budget::{CapAmount, CapPeriod, CapScope};
use hob_model::budget_guard::CapUsage;
use hob_store::agents::WorkingAgent;
use hob_store::daemons::RunningDaemon;
use hob_store::error::StoreError;
use hob_store::recall_reasons::last_answer;
use hob_store::spend::SpendTotals;
use hob_store::{Tx, agents, daemons, millis, runs, spend};

/// The most lines of one kind; what is left is counted.
const LINES_MAX: usize = 5;
/// The next jobs of which it is told when they come.
const JOBS_MAX: i64 = 3;

/// What `/status` shows.
#[derive(Debug, Clone)]
struct StatusReport {
    up: SignedDuration,
    troubles: Vec<String>,
    paused: Option<String>,
    here: Option<String>,
    waiting_here: i64,
    /// Why something was or was not asked, of the run at work here, or of the last answer.
    planned: Vec<String>,
    agents: Vec<WorkingAgent>,
    model: String,
    resting: Vec<String>,
    persona: Option<String>,
    house: Option<HouseholdUsage>,
    standing: Vec<String>,
    channels: Vec<AccountHealth>,
    memory: String,
    servers: Vec<String>,
    home: Option<String>,
    confinement: String,
    config: Option<String>,
    zone: TimeZone,
    now: Timestamp,
}

/// What the whole house does and uses; none of it is a guest's to know.
#[derive(Debug, Clone, Default)]
struct HouseholdUsage {
    work: Workload,
    caps: Vec<CapUsage>,
    spent: SpendTotals,
    /// Where several share a database.
    daemons: Vec<RunningDaemon>,
    workspace: Option<String>,
}

impl HouseholdUsage {
    async fn of(
        tx: &mut Tx,
        context: &CommandContext,
        caller: &Caller<'_>,
        caps: Vec<CapUsage>,
    ) -> Result<Option<Self>, StoreError> {
        let (budget_guard, now) = (&context.services.budget_guard, context.now);
        if caller.principal.role == Role::Guest {
            return Ok(None);
        }
        let day_ago = now - SignedDuration::from_hours(24);
        Ok(Some(Self {
            work: Workload::read(tx, &budget_guard.zone, now, JOBS_MAX).await?,
            caps,
            spent: spend::since(tx, millis(day_ago), None).await?,
            daemons: daemons::list(tx).await?,
            workspace: context.services.drafts.workspace().map(|folder| folder.display().to_string()),
        }))
    }
}

/// How Hob is, for whoever asks here.
pub(super) async fn status(tx: &mut Tx, context: &CommandContext, caller: &Caller<'_>) -> Result<String, StoreError> {
    let (services, now, session) = (&context.services, context.now, caller.session.id);
    let active = runs::find_active(tx, session).await?;
    let at_work = match active.as_ref().filter(|run| run.state == "waiting") {
        Some(run) => waits_for_agents(tx, run.id, caller.seen).await?,
        None => false,
    };
    let planned = match &active {
        _ if caller.principal.role == Role::Guest => Vec::new(),
        Some(run) => planned(tx, run.id).await?,
        None => match last_answer(tx, session).await? {
            Some(run) => planned(tx, run).await?,
            None => Vec::new(),
        },
    };
    let chosen = context.chosen_model(caller);
    let routed = chosen.is_none().then(|| services.tiers());
    let chain = services.models.chain(chosen);
    let zone = services.budget_guard.zone.clone();
    let caps = services.budget_guard.standing(tx, context.spender(caller), now).await?;
    let (own, caps): (Vec<_>, Vec<_>) = caps.into_iter().partition(|cap| !cap.window.is_told_ahead());
    let status = StatusReport {
        up: now.duration_since(services.started),
        troubles: services.conditions.all().iter().map(|(part, trouble)| format!("{part}: {trouble}")).collect(),
        paused: pause::active_pause(tx, session).await?.as_ref().map(pause_texts::status),
        here: if at_work { Some("running".to_owned()) } else { active.map(|run| run.state) },
        waiting_here: runs::count_queued(tx, session).await?,
        planned,
        agents: agents::at_work(tx, session).await?,
        model: texts::current(chain.first().map(String::as_str).unwrap_or_default(), routed.as_ref()),
        resting: services.models.states().iter().map(ToString::to_string).collect(),
        persona: persona::line(&services.personas, caller),
        house: HouseholdUsage::of(tx, context, caller, caps).await?,
        standing: own.iter().map(tokens_of).collect(),
        channels: context.channels.clone(),
        memory: services.memory.embedding_service.status().to_string(),
        servers: services.servers.standing(now),
        home: services.home.as_ref().map(|home| home(now)),
        confinement: services.confinement.words(),
        config: config_line(services),
        zone,
        now,
    };
    Ok(shown(&status))
}

/// The screen: pure.
fn shown(status: &StatusReport) -> String {
    let StatusReport { now, zone, .. } = status;
    let here = match status.here.as_deref() {
        Some("waiting") => "waiting for an answer",
        Some(_) => "working",
        None => "idle",
    };
    let agents: Vec<String> = status.agents.iter().map(agent).collect();
    let mut lines = vec![format!("Hob {}, up {}", env!("CARGO_PKG_VERSION"), span(status.up.as_secs()))];
    lines.extend(some_of("degraded: ", "that are degraded", &status.troubles));
    lines.extend(status.paused.clone());
    lines.push(format!("here: {here}, {} queued", status.waiting_here));
    lines.extend(some_of("", "agents", &agents));
    lines.extend(some_of("", "lines about what was planned: /why", &status.planned));
    lines.push(format!("model: {}", status.model));
    lines.extend(some_of("resting: ", "models that rest", &status.resting));
    lines.extend(status.persona.iter().map(|persona| format!("persona: {persona}")));
    if let Some(house) = &status.house {
        lines.push(format!("runs: {}", listed(&house.work.runs, "none")));
        lines.push(format!("outbox: {}", listed(&house.work.outbox, "empty")));
        let jobs = house.work.next.iter().map(|job| next_job_text(job.next_at, *now, zone));
        lines.push(format!("next jobs: {}", listed(jobs, "none")));
        lines.push(money(house));
        lines.push(tokens(&house.spent));
        let daemons: Vec<String> = house.daemons.iter().map(daemon).collect();
        lines.extend(some_of("daemon: ", "daemons", &daemons));
        // A folder is no machine's but its own unless they share it.
        lines.extend(house.workspace.iter().filter(|_| daemons.len() > 1).map(|folder| {
            format!("workspace: {folder} on the machine that leads; the others need the same folder (docs/several.md)")
        }));
    }
    lines.extend(status.standing.iter().cloned());
    lines.extend(channels(&status.channels));
    lines.push(format!("memory: {}", status.memory));
    lines.extend(some_of("", "MCP servers", &status.servers));
    lines.extend(status.home.iter().map(|home| format!("Home Assistant: {home}")));
    lines.push(format!("sandbox: {}", status.confinement));
    lines.extend(status.config.clone());
    lines.join("\n")
}

/// The first of them, and how many there are more.
fn some_of(head: &str, noun: &str, all: &[String]) -> Vec<String> {
    let shown = if all.len() > LINES_MAX { LINES_MAX - 1 } else { all.len() };
    let more = all.len() - shown;
    let more = (more > 0).then(|| format!("… and {more} more {noun}"));
    all.iter().take(shown).map(|line| format!("{head}{line}")).chain(more).collect()
}

/// When a job comes; its words are for those who asked for it (`/schedules`).
fn next_job_text(at: i64, now: Timestamp, zone: &TimeZone) -> String {
    let Ok(at) = Timestamp::from_millisecond(at) else { return "later".to_owned() };
    let (then, today) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()).date());
    if at <= now {
        "now".to_owned()
    } else if then.date() == today {
        then.strftime("%H:%M").to_string()
    } else {
        then.strftime("%a %-d %b %H:%M").to_string()
    }
}

/// What somebody has used of their own tokens.
fn tokens_of(CapUsage { window, used }: &CapUsage) -> String {
    let (cap, used) = (&window.cap, used.unwrap_or_default().tokens);
    let most = if let CapAmount::Tokens(most) = cap.most { most } else { 0 };
    let anew = window.resets.as_ref().filter(|_| cap.scope != CapScope::Person(CapPeriod::Hour));
    let anew = anew.map(|at| format!(", anew on {}", at.strftime("%A, %-d %B, %H:%M"))).unwrap_or_default();
    format!("your tokens: {used} of {most} for {}{anew}", cap.words)
}

/// What today cost, of how much, and which other cap is nearly used up.
fn money(HouseholdUsage { work: Workload { today, .. }, caps, .. }: &HouseholdUsage) -> String {
    let is_days = |cap: &&CapUsage| cap.is_of(CapScope::House(CapPeriod::Day), true);
    let spent = Money::from_nanos(today.cost);
    let of_day = match caps.iter().find(is_days) {
        Some(CapUsage { window, used }) => {
            let of = format!("{} of {}", used.map_or(spent, |used| used.usd), window.cap.most);
            with_unpriced(of, today.unpriced)
        }
        None => format!("{}, no cap for a day", with_unpriced(spent, today.unpriced)),
    };
    let near = caps.iter().filter(|cap| !is_days(cap)).filter_map(|CapUsage { window, used }| {
        let used = used.filter(|used| window.is_nearly_used(*used))?;
        Some(format!("; {} for {}", window.shown(used), window.cap.words))
    });
    format!("today: {of_day}{}", near.collect::<String>())
}

fn tokens(spent: &SpendTotals) -> String {
    let cached = match spent.input_tokens {
        0 => String::new(),
        input => format!(" ({} % from cache)", spent.cached_tokens.saturating_mul(100) / input),
    };
    format!(
        "last 24 h: {}, {} tokens in{cached}, {} out, {}",
        counted(spent.calls, "model call", "model calls"),
        spent.input_tokens,
        spent.output_tokens,
        with_unpriced(Money::from_nanos(spent.cost), spent.unpriced)
    )
}

/// A line for each account, those with trouble first; where there are many, those without it share one.
fn channels(all: &[AccountHealth]) -> Vec<String> {
    let name = |AccountHealth { channel, account, .. }: &AccountHealth| match account.as_str() {
        DEFAULT_ACCOUNT => channel.to_string(),
        named => format!("{channel} ({named})"),
    };
    let is_fine = |health: &ChannelHealth| health.liveness == Liveness::Connected && health.stuck.is_none();
    let (fine, troubled): (Vec<_>, Vec<_>) = all.iter().partition(|one| is_fine(&one.health));
    let line = |one: &&AccountHealth| format!("{}: {}", name(one), one.health);
    let mut lines: Vec<String> = troubled.iter().map(line).collect();
    if all.len() <= LINES_MAX {
        lines.extend(fine.iter().map(line));
    } else if !fine.is_empty() {
        let names: Vec<String> = fine.iter().map(|one| name(one)).collect();
        let heard = fine.iter().filter_map(|one| one.health.heard_at).min();
        let sent = fine.iter().filter_map(|one| one.health.sent_at).max();
        let now = fine.iter().map(|one| one.health.now).max().unwrap_or(Timestamp::UNIX_EPOCH);
        let ago = |at: Timestamp| span(now.duration_since(at).as_secs());
        let heard = heard.map(|at| format!("; each heard within {}", ago(at))).unwrap_or_default();
        let sent = sent.map(|at| format!("; last sent {} ago", ago(at))).unwrap_or_default();
        lines.push(format!("connected: {}{heard}{sent}", names.join(", ")));
    }
    lines
}

fn daemon(daemon: &RunningDaemon) -> String {
    let RunningDaemon { name, version, leads, is_alike } = daemon;
    let does = if *leads { "leads" } else { "stands by" };
    let unlike = if *is_alike { "" } else { ", and its config says something else about people or channels" };
    format!("{name} ({version}) {does}{unlike}")
}

fn agent(agent: &WorkingAgent) -> String {
    let task = cut(&one_line(&agent.task), 60);
    format!("agent {} (depth {}, {}): {task}", agent.id, agent.depth, agent.state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Backlog;
    use hob_core::domain::ids::{RunId, ScheduleId};
    use hob_core::domain::inbound::ChannelKind;
    use hob_core::policy::budget::{Cap, CapWindow, MoneyAndTokens};
    use hob_store::schedules::UpcomingSchedule;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn named(channel: ChannelKind, account: &str, liveness: Liveness) -> AccountHealth {
        let health = ChannelHealth::plain(liveness, at(90));
        let health = ChannelHealth { heard_at: Some(at(89)), sent_at: Some(at(80)), ..health };
        AccountHealth { channel, account: account.to_owned(), health }
    }

    fn quiet() -> StatusReport {
        StatusReport {
            up: SignedDuration::from_secs(4_000),
            troubles: Vec::new(),
            paused: None,
            here: None,
            waiting_here: 0,
            planned: Vec::new(),
            agents: Vec::new(),
            model: "offline/hob".to_owned(),
            resting: Vec::new(),
            persona: None,
            house: Some(HouseholdUsage::default()),
            standing: Vec::new(),
            channels: vec![named(ChannelKind::Telegram, DEFAULT_ACCOUNT, Liveness::Connected)],
            memory: "by words alone".to_owned(),
            servers: Vec::new(),
            home: None,
            confinement: "commands are confined".to_owned(),
            config: None,
            zone: TimeZone::UTC,
            now: at(90),
        }
    }

    fn backlog(count: i64, state: &str, oldest_age_secs: Option<i64>) -> Backlog {
        Backlog { state: state.to_owned(), count, oldest_age_secs }
    }

    fn due(next_at: i64) -> UpcomingSchedule {
        UpcomingSchedule { id: ScheduleId(1), name: None, task: String::new(), next_at }
    }

    fn cap(span: CapPeriod, most: f64, used: f64) -> CapUsage {
        let (scope, used) = (CapScope::House(span), MoneyAndTokens { usd: Money::from_usd(used), tokens: 0 });
        let most = CapAmount::Usd(Money::from_usd(most));
        let cap = Cap { scope, most, key: scope.usd_key(), words: scope.words(None) };
        CapUsage { window: CapWindow { cap, since: at(0), resets: None }, used: Some(used) }
    }

    #[test]
    fn n11_a_quiet_house_has_few_lines() {
        insta::assert_snapshot!(shown(&quiet()), @r"
        Hob 0.1.0, up 1 h 6 min
        here: idle, 0 queued
        model: offline/hob
        runs: none
        outbox: empty
        next jobs: none
        today: $0.00, no cap for a day
        last 24 h: 0 model calls, 0 tokens in, 0 out, $0.00
        telegram: connected; last heard 1 s ago; no message yet; last sent 10 s ago
        memory: by words alone
        sandbox: commands are confined
        ");
    }

    #[test]
    fn n11_a_guest_learns_nothing_of_what_the_house_does_and_spends() {
        insta::assert_snapshot!(shown(&StatusReport { house: None, ..quiet() }), @r"
        Hob 0.1.0, up 1 h 6 min
        here: idle, 0 queued
        model: offline/hob
        telegram: connected; last heard 1 s ago; no message yet; last sent 10 s ago
        memory: by words alone
        sandbox: commands are confined
        ");
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a screen that is full")]
    fn n11_a_full_house_fits_one_screen() {
        let agents = (1..=9).map(|id| WorkingAgent {
            id: RunId(id),
            depth: 1,
            state: "running".to_owned(),
            task: "Find\na train".to_owned(),
        });
        let down = || Liveness::Down { why: "401 Unauthorized".to_owned() };
        let full = StatusReport {
            troubles: (1..=7).map(|number| format!("disk: {number} MB are left; free some")).collect(),
            paused: Some("paused: everything, by Ada".to_owned()),
            here: Some("running".to_owned()),
            waiting_here: 2,
            agents: agents.collect(),
            resting: vec!["a/b for 42 s (overloaded)".to_owned()],
            persona: Some("cook, chosen here".to_owned()),
            house: Some(HouseholdUsage {
                work: Workload {
                    runs: vec![backlog(3, "queued", Some(60)), backlog(2, "running", None)],
                    outbox: vec![backlog(1, "pending", Some(90))],
                    today: SpendTotals { unpriced: 1, cost: 1_500_000_000, ..SpendTotals::default() },
                    next: [80_000, 3_600_000, 90_000_000].map(due).to_vec(),
                },
                caps: vec![
                    cap(CapPeriod::Day, 2.0, 1.6),
                    cap(CapPeriod::Month, 20.0, 19.0),
                    cap(CapPeriod::Hour, 9.0, 0.1),
                ],
                spent: SpendTotals {
                    calls: 3,
                    unpriced: 2,
                    input_tokens: 1_200,
                    cached_tokens: 600,
                    output_tokens: 80,
                    ..SpendTotals::default()
                },
                daemons: [("kitchen", true, true), ("cellar", false, false)]
                    .map(|(host, leads, is_alike)| RunningDaemon {
                        name: format!("{host}:/data"),
                        version: "0.1.0".to_owned(),
                        leads,
                        is_alike,
                    })
                    .to_vec(),
                workspace: Some("/srv/hob".to_owned()),
            }),
            standing: vec![
                "your tokens: 12 of 5000 for a guest's month, anew on Tuesday, 1 December, 00:00".to_owned(),
            ],
            channels: vec![
                named(ChannelKind::Telegram, DEFAULT_ACCOUNT, Liveness::Connected),
                named(ChannelKind::Telegram, "work", down()),
                named(ChannelKind::Slack, DEFAULT_ACCOUNT, Liveness::Connected),
                named(ChannelKind::Discord, DEFAULT_ACCOUNT, Liveness::Connected),
                named(ChannelKind::Email, DEFAULT_ACCOUNT, Liveness::Connected),
                named(ChannelKind::Email, "office", Liveness::Deaf),
            ],
            config: Some("config: loaded 14:03, 2 changes".to_owned()),
            servers: (1..=8).map(|number| format!("mcp notes{number}: idle, 9 tools")).collect(),
            ..quiet()
        };
        let text = shown(&full);
        insta::assert_snapshot!(text, @r"
        Hob 0.1.0, up 1 h 6 min
        degraded: disk: 1 MB are left; free some
        degraded: disk: 2 MB are left; free some
        degraded: disk: 3 MB are left; free some
        degraded: disk: 4 MB are left; free some
        … and 3 more that are degraded
        paused: everything, by Ada
        here: working, 2 queued
        agent 1 (depth 1, running): Find a train
        agent 2 (depth 1, running): Find a train
        agent 3 (depth 1, running): Find a train
        agent 4 (depth 1, running): Find a train
        … and 5 more agents
        model: offline/hob
        resting: a/b for 42 s (overloaded)
        persona: cook, chosen here
        runs: 3 queued (oldest 1 min), 2 running
        outbox: 1 pending (oldest 1 min)
        next jobs: now, 01:00, Fri 2 Jan 01:00
        today: $1.60 of $2.00 and 1 call of unknown price; $19.00 of $20.00 for a month
        last 24 h: 3 model calls, 1200 tokens in (50 % from cache), 80 out, $0.00 and 2 calls of unknown price
        daemon: kitchen:/data (0.1.0) leads
        daemon: cellar:/data (0.1.0) stands by, and its config says something else about people or channels
        workspace: /srv/hob on the machine that leads; the others need the same folder (docs/several.md)
        your tokens: 12 of 5000 for a guest's month, anew on Tuesday, 1 December, 00:00
        telegram (work): not connected: 401 Unauthorized; last heard 1 s ago; no message yet; last sent 10 s ago
        email (office): deaf: nothing has come back in time; last heard 1 s ago; no message yet; last sent 10 s ago
        connected: telegram, slack, discord, email; each heard within 1 s; last sent 10 s ago
        memory: by words alone
        mcp notes1: idle, 9 tools
        mcp notes2: idle, 9 tools
        mcp notes3: idle, 9 tools
        mcp notes4: idle, 9 tools
        … and 4 more MCP servers
        sandbox: commands are confined
        config: loaded 14:03, 2 changes
        ");
        assert!(text.lines().count() <= 37 && text.chars().count() < 2_000, "{}", text.lines().count());
    }
}
