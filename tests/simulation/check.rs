//! What must be true, whatever happened.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hob_agent::machine::event::RunReply;
use hob_agent::machine::fingerprint::fingerprint;
use hob_agent::projection::buttons::UndoPress;
use hob_agent::projection::failure::AfterFailure;
use hob_core::domain::inbound::InboundEvent;
use hob_core::domain::money::Money;
use hob_store::{Store, Tx};

use crate::journals::{self, ReplayedRun};
use crate::life::{HOUR_USD, PLACES, RUN_USD};
use crate::plan::{MEMBERS, OWNER};
use crate::remembered;
use crate::spoken;
use crate::tools::effect_name;
use crate::world::{AcceptedMessage, DuplicateProtection, State, ToolEffect, VisibleMessage, World};

/// What must be true of the database at every moment.
pub(crate) fn between_lives(path: &Path) -> Vec<String> {
    on(path, async |tx| {
        let mut wrong = Vec::new();
        let all = journals::list(tx).await;
        for told in &all {
            let (row, fold) = (&told.row, told.state.status());
            if let Some(mismatch) = &told.mismatch {
                wrong.push(format!("run {}: {mismatch}", row.id));
            }
            let folded = fingerprint(&told.state).0;
            if row.state_hash.as_ref() != Some(&folded) {
                wrong.push(format!("run {} has the hash {:?}, its journal {folded}", row.id, row.state_hash));
            }
            // A claim is not an event: it gives the lane to a run whose first event comes next.
            let claimed = row.state == "running" && ["queued", "waiting"].contains(&fold.as_str());
            if row.state != fold.as_str() && !claimed {
                wrong.push(format!("run {} is {}, its journal says {}", row.id, row.state, fold.as_str()));
            }
        }
        let is_led = |told: &&ReplayedRun| told.row.state == "running" && told.row.lease_owner.is_some();
        let led = all.iter().filter(is_led).count();
        if led > PLACES {
            wrong.push(format!("{led} runs count as being at work, and there are {PLACES} places"));
        }
        wrong.extend(remembered::memories(tx).await);
        wrong
    })
}

/// What must be true when everything has come to rest.
pub(crate) fn at_rest(world: &World, path: &Path) -> Vec<String> {
    on(path, async |tx| {
        let told = journals::list(tx).await;
        let mut wrong: Vec<String> = told.iter().flat_map(run).collect();
        wrong.extend(outcomes(world, tx, &told).await);
        wrong.extend(outbox(world, tx).await);
        wrong.extend(effects(world, &told));
        wrong.extend(remembered::history(tx, &told).await);
        wrong.extend(overspent(tx).await);
        wrong.extend(over_quota(world, tx).await);
        wrong.extend(spoken::voices(world, tx).await);
        wrong.extend(leftovers(tx).await);
        wrong
    })
}

/// What must be true when all that can be let go was let go: nothing refers to what is gone, and the conversations are whole.
pub(crate) fn let_go(path: &Path) -> Vec<String> {
    on(path, async |tx| {
        let mut wrong = Vec::new();
        let checks = [
            (
                "events of runs that are over",
                "SELECT count(*) FROM run_events e JOIN runs r ON r.id = e.run_id WHERE r.ended_at IS NOT NULL",
            ),
            ("texts that nothing refers to", "SELECT count(*) FROM blobs"),
            (
                "runs that are over and not marked",
                "SELECT count(*) FROM runs WHERE ended_at IS NOT NULL AND let_go_at IS NULL",
            ),
            ("tool calls", "SELECT count(*) FROM tool_calls"),
            // The newest of each table stays: its number must not be given again.
            ("more than the newest in the outbox", "SELECT max(count(*) - 1, 0) FROM outbox"),
            (
                "more than the newest command",
                "SELECT max(count(*) - 1, 0) FROM inbound i WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.inbound_id = i.id)",
            ),
            (
                "runs without their messages",
                "SELECT count(*) FROM runs r WHERE NOT EXISTS (SELECT 1 FROM inbound i WHERE i.id = r.inbound_id)",
            ),
            ("rows that refer to nothing", "SELECT count(*) FROM pragma_foreign_key_check"),
        ];
        for (what, sql) in checks {
            let count: i64 = sqlx::query_scalar(sql).fetch_one(&mut *tx).await.unwrap();
            if count != 0 {
                wrong.push(format!("upkeep left {count} {what}"));
            }
        }
        let whole: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut *tx).await.unwrap();
        if whole != "ok" {
            wrong.push(whole);
        }
        wrong
    })
}

fn on(path: &Path, check: impl AsyncFnOnce(&mut Tx) -> Vec<String>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut connection = Store::raw(path).await.unwrap();
        let wrong = check(&mut connection).await;
        connection.close().await.unwrap();
        wrong
    })
}

/// One run: one end, one last word, and the authority of its own sender.
fn run(told: &ReplayedRun) -> Vec<String> {
    let (id, state) = (told.row.id, told.row.state.as_str());
    let mut wrong = Vec::new();
    let mut must = |ok: bool, what: String| {
        if !ok {
            wrong.push(format!("run {id} ({state}): {what}; {:?}", told.kinds));
        }
    };
    must(told.ends == 1, format!("{} ends", told.ends));
    must(told.row.lease_owner.is_none(), "it has a lease".to_owned());
    must(told.row.user_id == told.row.sender_id, "its user is not its message's sender".to_owned());
    must(told.principal == Some(told.row.sender_id), "it has another's authority".to_owned());
    must(told.answers_ignored == 0, format!("{} answers were ignored", told.answers_ignored));
    must(told.started_after_cancel.is_empty(), format!("after its cancel: {:?}", told.started_after_cancel));
    must(told.started_unasked.is_empty(), format!("started: {:?}", told.started_unasked));
    let replies = told.replies.len();
    let answered = matches!(told.replies.first(), Some((_, RunReply::Answer { .. } | RunReply::Silence)));
    let noticed = matches!(told.replies.first(), Some((_, RunReply::Notice { .. })));
    match state {
        // What a run has taken back is told as a notice: no model said it.
        "completed" => {
            must(replies == 1 && (answered || noticed && told.undoes.is_some()), format!("{replies} replies"))
        }
        // A run that fails in the middle of its answer gives what there is of it.
        "failed" => must(replies == 1 && (noticed || told.is_unfinished()), format!("{replies} notices")),
        "cancelled" => must(replies == 0 || (replies == 1 && noticed), format!("{:?}", told.replies)),
        "withdrawn" | "joined" => must(replies == 0, format!("{replies} replies")),
        other => must(false, format!("it is still {other}")),
    }
    wrong
}

#[derive(Debug, sqlx::FromRow)]
struct Inbound {
    id: i64,
    account: String,
    chat: String,
    external_id: String,
    disposition: String,
    text: String,
}

/// Every acknowledged message was stored once and came to exactly one outcome.
async fn outcomes(world: &World, tx: &mut Tx, told: &[ReplayedRun]) -> Vec<String> {
    let rows: Vec<Inbound> =
        sqlx::query_as("SELECT id, account, chat, external_id, disposition, text FROM inbound ORDER BY id")
            .fetch_all(&mut *tx)
            .await
            .unwrap();
    let said: Vec<(String, Option<i64>)> =
        sqlx::query_as("SELECT key, run_id FROM outbox ORDER BY id").fetch_all(&mut *tx).await.unwrap();
    let notes: Vec<(i64, String)> =
        sqlx::query_as("SELECT session_id, text FROM outbox WHERE key LIKE 'note:%' AND key NOT LIKE '%budget%' ORDER BY session_id, id")
            .fetch_all(&mut *tx)
            .await
            .unwrap();
    let mut wrong = Vec::new();
    for acked in &world.state().acked {
        let (place, who) = (&acked.conversation, acked.sender.external_id.as_str());
        let stored = rows
            .iter()
            .any(|row| row.account == place.account && row.chat == place.chat && row.external_id == acked.external_id);
        let new = matches!(acked.happening, InboundEvent::Posted { .. } | InboundEvent::Pressed { .. });
        if new && stored != (who == OWNER || MEMBERS.contains(&who)) {
            wrong.push(format!("{} was acknowledged; stored: {stored}", acked.external_id));
        }
    }
    let mut answers = 0;
    for row in &rows {
        let runs = told.iter().filter(|told| told.row.inbound_id == row.id).count();
        let replies = said.iter().filter(|(key, _)| key.starts_with(&format!("inbound:{}:0", row.id))).count();
        let right = match row.disposition.as_str() {
            // Its acknowledgement is the only word besides the run's own.
            "run" => runs == 1 && replies <= 1,
            // What was decided about a failed run shows where it failed, and what follows is a run's of its own.
            "command" if AfterFailure::named(&row.text).is_some() => runs == 0 && replies <= 1,
            // What is taken back is told by a run of its own.
            "command" if UndoPress::parse(&row.text).is_some() => runs == 0 && replies <= 1,
            "command" | "refused" => runs == 0 && replies == 1,
            "answer" => runs == 0 && replies == 0,
            _ => false,
        };
        answers += usize::from(row.disposition == "answer");
        if !right {
            wrong.push(format!("message {} ({}): {runs} runs, {replies} replies", row.external_id, row.disposition));
        }
    }
    let heard: usize = told.iter().map(|told| told.answers).sum();
    if heard != answers {
        wrong.push(format!("{answers} messages were taken as answers, {heard} were heard"));
    }
    for one in told {
        wrong.extend(words(one, &said));
        wrong.extend(agents(one, told, &said));
    }
    // That another model stands in is told once, and so is its end.
    wrong.extend(notes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| format!("told twice: {:?}", pair[0])));
    wrong
}

/// What a run said is in the outbox, and nothing else is.
fn words(told: &ReplayedRun, said: &[(String, Option<i64>)]) -> Vec<String> {
    let is_agent = told.row.parent_run.is_some();
    // An agent's last words go to the run that waits for it, or late to the person.
    let spoken =
        told.replies.iter().filter(|(_, reply)| !is_agent && !matches!(reply, RunReply::Silence)).map(|(seq, _)| *seq);
    let expected: BTreeSet<i64> = spoken.chain(told.questions.iter().copied()).collect();
    let prefix = format!("run:{}:", told.row.id);
    let found: BTreeSet<i64> =
        said.iter().filter_map(|(key, _)| key.strip_prefix(&prefix)?.split(':').next()?.parse().ok()).collect();
    let late = told.end_seq.filter(|_| is_agent);
    let found: BTreeSet<i64> = found.into_iter().filter(|seq| Some(*seq) != late).collect();
    let mut wrong = Vec::new();
    if expected != found {
        wrong.push(format!("run {} said {expected:?}, queued {found:?}", told.row.id));
    }
    // What its tools wanted delivered is queued once for each call, and nothing else is.
    let prefix = format!("call:{}:", told.row.id);
    let queued: BTreeSet<String> =
        said.iter().filter_map(|(key, _)| Some(key.strip_prefix(&prefix)?.strip_suffix(":0")?.to_owned())).collect();
    if told.delivers != queued {
        wrong.push(format!("run {} wanted delivered {:?}, queued {queued:?}", told.row.id, told.delivers));
    }
    wrong
}

/// Each task that was handed on is one run; its end is heard once, by the run that waits for it or by the person, unless
/// somebody has stopped them.
fn agents(told: &ReplayedRun, all: &[ReplayedRun], said: &[(String, Option<i64>)]) -> Vec<String> {
    let id = told.row.id;
    let mut wrong = Vec::new();
    let children = all.iter().filter(|other| other.row.parent_run == Some(id)).count();
    if children != told.spawned {
        wrong.push(format!("run {id} handed {} tasks on, {children} runs work for it", told.spawned));
    }
    let Some(parent) = all.iter().find(|other| Some(other.row.id) == told.row.parent_run) else {
        return wrong;
    };
    let heard = parent.heard.iter().filter(|run| **run == id).count();
    let late = [told.end_seq.map(|seq| format!("run:{id}:{seq}:0")), Some(format!("agent:{id}:0"))];
    let late = said.iter().filter(|(key, _)| late.iter().flatten().any(|late| late == key)).count();
    let stopped = parent.cancelled || ["cancelled", "withdrawn"].contains(&told.row.state.as_str());
    if heard + late != 1 && !(stopped && heard + late == 0) {
        wrong.push(format!("agent {id} ({}): heard {heard} times, told {late} times", told.row.state));
    }
    wrong
}

#[derive(Debug, sqlx::FromRow)]
struct OutboxRow {
    id: i64,
    account: String,
    chat: String,
    text: String,
    state: String,
    key: String,
    replaces_key: Option<String>,
    error: Option<String>,
}

/// Each chunk arrived once, or again with a mark because nobody knew; in order.
async fn outbox(world: &World, tx: &mut Tx) -> Vec<String> {
    let rows: Vec<OutboxRow> =
        sqlx::query_as("SELECT id, account, chat, text, state, key, replaces_key, error FROM outbox ORDER BY id")
            .fetch_all(&mut *tx)
            .await
            .unwrap();
    let state = world.state();
    let mut wrong = Vec::new();
    for row in &rows {
        let taken: Vec<&AcceptedMessage> = state.taken.iter().filter(|taken| taken.outbox == row.id).collect();
        let right = match row.state.as_str() {
            // What was to take the place of a message that never arrived is done without.
            "delivered" if row.replaces_key.is_some() && taken.is_empty() => {
                rows.iter().any(|other| row.replaces_key.as_ref() == Some(&other.key) && other.state == "failed")
            }
            "delivered" => !taken.is_empty(),
            "failed" => state.refused.contains(&row.id),
            // What is told to a stranger by letter waits for an owner, whom nobody plays here.
            "abandoned" => row.key.starts_with("stranger:email@") && taken.is_empty(),
            _ => false,
        };
        if !right {
            wrong.push(format!("this was taken {} times ({:?}): {row:?}", taken.len(), row.error));
        }
        let strange = |taken: &&&AcceptedMessage| {
            taken.text != row.text || taken.chat != row.chat || taken.account != row.account
        };
        if taken.iter().any(|taken| strange(&taken)) {
            wrong.push(format!("outbox {} arrived as something else, or elsewhere", row.id));
        }
        for pair in taken.windows(2) {
            let [first, again] = pair else { continue };
            // Told, and yet unknown: only if that life ended before it committed anything more.
            let unheard = first.told.is_none_or(|(life, commits)| state.past.get(life) == Some(&commits));
            if !again.may_repeat || !unheard || state.contract(&row.account) != DuplicateProtection::Marked {
                wrong.push(format!("outbox {} arrived again: {first:?} {again:?}", row.id));
            }
        }
    }
    wrong.extend(screen(&state, &rows));
    let mut newest: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for taken in state.taken.iter().filter(|taken| seen.insert(taken.outbox)) {
        let last = newest.entry((&taken.account, &taken.chat)).or_insert(0);
        if *last > taken.outbox {
            wrong.push(format!("outbox {} arrived after {last} in {}", taken.outbox, taken.chat));
        }
        *last = taken.outbox;
    }
    wrong
}

/// What people see in the end: each chunk in its final form, and nothing that is still growing.
fn screen(state: &State, rows: &[OutboxRow]) -> Vec<String> {
    let mut wrong = state.wrong.clone();
    // A reply that the platform refused may have arrived before: then its draft is left where it is.
    let given_up = |shown: &VisibleMessage| {
        rows.iter().any(|row| row.state == "failed" && row.chat == shown.chat && row.account == shown.account)
    };
    for (name, shown) in &state.shown {
        match shown.outbox.and_then(|id| rows.iter().find(|row| row.id == id)) {
            Some(row) if row.text == shown.text && row.chat == shown.chat && row.account == shown.account => {}
            Some(row) => wrong.push(format!("p{name} shows something else than outbox {}: {shown:?}", row.id)),
            // Its posting was cut off, or the process ended before its name was on record: nobody knows of it.
            None if shown.told.is_none() || given_up(shown) => {}
            None if shown
                .told
                .is_some_and(|(life, commits)| state.past.get(life).is_some_and(|all| *all <= commits + 2)) => {}
            None => wrong.push(format!("p{name} was left in the middle of a reply: {shown:?}")),
        }
    }
    for row in rows.iter().filter(|row| row.state == "delivered") {
        let replaced = rows.iter().find(|other| other.replaces_key.as_ref() == Some(&row.key));
        let replaced = replaced.is_some_and(|other| state.taken.iter().any(|taken| taken.outbox == other.id));
        let taken = state.taken.iter().filter(|taken| taken.outbox == row.id).count();
        let shown = state.shown.values().filter(|shown| shown.outbox == Some(row.id)).count();
        // What was sent again because nobody knew is there as often; a change is one however often it was made.
        let right = if taken == 0 || replaced { shown <= taken } else { (1..=taken).contains(&shown) };
        if !right {
            wrong.push(format!("outbox {} was taken {taken} times and is shown {shown} times", row.id));
        }
    }
    wrong
}

/// A side effect happens once, unless a person wanted it again.
fn effects(world: &World, told: &[ReplayedRun]) -> Vec<String> {
    let state = world.state();
    let mut count: BTreeMap<(i64, &str), usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for effect in state.effects.iter() {
        let Some(told) = told.iter().find(|told| told.row.id == effect.run) else {
            wrong.push(format!("an effect of no run: {effect:?}"));
            continue;
        };
        if told.row.user_id != effect.user {
            wrong.push(format!("an effect with another's authority: {effect:?}"));
        }
        if told.refused.contains(&effect.call) {
            wrong.push(format!("a call that was refused was made: {effect:?}"));
        }
        if effect.idempotent {
            continue;
        }
        let times = count.entry((effect.run, &effect.call)).or_default();
        *times += 1;
        if *times > 1 + told.run_again.get(&effect.call).copied().unwrap_or(0) {
            wrong.push(format!("a side effect happened {times} times: {effect:?}"));
        }
    }
    wrong.extend(undone(&state.effects, told));
    wrong
}

/// What is taken back is an effect that there was, once, and by whose run it was or by an owner.
fn undone(effects: &[ToolEffect], told: &[ReplayedRun]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut wrong = Vec::new();
    for run in told {
        let Some(order) = &run.undoes else { continue };
        let effect = effects.iter().find(|effect| effect.run == order.run.0 && effect.call == order.call.0);
        let owner = told.iter().find(|told| told.row.id == order.run.0).map(|told| told.row.user_id);
        if effect.is_none() || !order.inverse.arguments.contains(&effect_name(order.run.0, &order.call.0)) {
            wrong.push(format!("run {} takes back what was not: {order:?}", run.row.id));
        }
        if !taken.insert((order.run.0, &order.call.0)) {
            wrong.push(format!("run {} takes back anew: {order:?}", run.row.id));
        }
        let is_own = owner == Some(run.row.user_id);
        if !is_own && !run.is_of_an_owner {
            wrong.push(format!("run {} takes back what another has done: {order:?}", run.row.id));
        }
    }
    wrong
}

/// No run with all its agents, and no hour, cost more than it may: however many ran at once, and wherever the process died.
async fn overspent(tx: &mut Tx) -> Vec<String> {
    let nanos = |usd| Money::from_usd(usd).nanos();
    let runs: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT coalesce(r.root_run, r.id) AS root, sum(c.cost) FROM model_calls c JOIN runs r ON r.id = c.run_id
             GROUP BY root HAVING sum(c.cost) > $1",
    )
    .bind(nanos(RUN_USD))
    .fetch_all(&mut *tx)
    .await
    .unwrap();
    let hours: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT c.asked_at, (SELECT sum(b.cost) FROM model_calls b
                             WHERE b.asked_at > c.asked_at - 3600000 AND b.asked_at <= c.asked_at) AS spent
         FROM model_calls c WHERE spent > $1",
    )
    .bind(nanos(HOUR_USD))
    .fetch_all(&mut *tx)
    .await
    .unwrap();
    let sums: (i64, i64, i64, i64) = sqlx::query_as(
        "SELECT coalesce((SELECT sum(cost) FROM model_calls), 0), coalesce((SELECT sum(cost) FROM spend), 0),
                coalesce((SELECT sum(input_tokens + output_tokens) FROM model_calls WHERE state <> 'asked'), 0),
                coalesce((SELECT sum(input_tokens + output_tokens) FROM spend), 0)",
    )
    .fetch_one(&mut *tx)
    .await
    .unwrap();
    let unequal = (sums.0 != sums.1).then(|| format!("the calls cost {}, the sums say {}", sums.0, sums.1));
    let tokens = (sums.2 != sums.3).then(|| format!("the calls took {} tokens, the sums say {}", sums.2, sums.3));
    let runs = runs.into_iter().map(|(run, cost)| format!("run {run} cost {cost}"));
    let hours = hours.into_iter().map(|(at, cost)| format!("the hour to {at} cost {cost}"));
    runs.chain(hours).chain(unequal).chain(tokens).collect()
}

/// Nobody made more tool calls in any minute than they may.
async fn over_quota(world: &World, tx: &mut Tx) -> Vec<String> {
    let most = i64::from(world.state().tool_calls_per_minute);
    let minutes: Vec<(i64, i64, i64)> = sqlx::query_as(
        "SELECT c.user_id, c.started_at, (SELECT count(*) FROM tool_calls b WHERE b.user_id = c.user_id AND b.attempts = 1
                             AND b.started_at > c.started_at - 60000 AND b.started_at <= c.started_at) AS made
         FROM tool_calls c WHERE c.attempts = 1 AND made > $1",
    )
    .bind(most)
    .fetch_all(&mut *tx)
    .await
    .unwrap();
    let told =
        |(user, at, made)| format!("person {user} made {made} tool calls in the minute to {at}, {most} are the most");
    minutes.into_iter().map(told).collect()
}

/// Nothing is left lying about.
async fn leftovers(tx: &mut Tx) -> Vec<String> {
    let checks = [
        ("runs still open", "SELECT count(*) FROM runs WHERE ended_at IS NULL"),
        ("questions that are over and would expire", "SELECT count(*) FROM runs WHERE waits_until IS NOT NULL"),
        ("drafts on record", "SELECT count(*) FROM drafts"),
        ("outbox rows still open", "SELECT count(*) FROM outbox WHERE ended_at IS NULL"),
        ("model calls of which nobody knows", "SELECT count(*) FROM model_calls WHERE state = 'asked'"),
        (
            "signals not taken",
            "SELECT count(*) FROM signals s JOIN runs r ON r.id = s.run_id WHERE s.taken = 0 AND r.ended_at IS NULL",
        ),
        (
            "runs that went on to their end after somebody had ended them",
            "SELECT count(*) FROM signals s JOIN runs r ON r.id = s.run_id
             WHERE s.body LIKE '%\"signal\":\"cancel\"%' AND r.state IN ('completed', 'joined', 'withdrawn')",
        ),
    ];
    let mut wrong = Vec::new();
    for (what, query) in checks {
        let count: i64 = sqlx::query_scalar(query).fetch_one(&mut *tx).await.unwrap();
        if count > 0 {
            wrong.push(format!("{count} {what}"));
        }
    }
    wrong
}
