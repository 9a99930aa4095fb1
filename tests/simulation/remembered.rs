//! What must be true of the history and of what is remembered.

use std::collections::BTreeMap;

use hob_model::message::Message;
use hob_store::Tx;

use crate::journals::ReplayedRun;
use crate::plan::is_shared;

/// Every call in the stored history has its result behind it, and what joined is there.
pub(crate) async fn history(tx: &mut Tx, told: &[ReplayedRun]) -> Vec<String> {
    let rows: Vec<(i64, i64, String)> =
        sqlx::query_as("SELECT session_id, run_id, body FROM messages ORDER BY session_id, ordinal")
            .fetch_all(&mut *tx)
            .await
            .unwrap();
    let mut wrong = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut texts: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for (session, run, body) in rows {
        match serde_json::from_str(&body).unwrap() {
            Message::Tool(result) if open.first() == Some(&result.call.0) => drop(open.remove(0)),
            Message::Tool(result) => wrong.push(format!("session {session}: a result without its call: {result:?}")),
            said @ Message::User { .. } if open.is_empty() => {
                texts.entry(run).or_default().push(said.text().into_owned());
            }
            said @ Message::Assistant { .. } if open.is_empty() => {
                open = said.calls().map(|call| call.id.0.clone()).collect();
            }
            other => wrong.push(format!("session {session}: {other:?} while {open:?} have no result")),
        }
    }
    if !open.is_empty() {
        wrong.push(format!("calls without a result at the end: {open:?}"));
    }
    for told in told {
        for (user, text) in &told.joined {
            if *user != told.row.user_id {
                wrong.push(format!("run {}: {text:?} of another person joined it", told.row.id));
            }
            if !texts.get(&told.row.id).is_some_and(|said| said.iter().any(|words| words.contains(text))) {
                wrong.push(format!("run {}: {text:?} joined it and is nowhere", told.row.id));
            }
        }
    }
    wrong
}

#[derive(Debug, sqlx::FromRow)]
struct RememberedMessage {
    id: Option<i64>,
    said: Option<String>,
    by: Option<i64>,
    channel: Option<String>,
    chat: Option<String>,
    session_id: Option<i64>,
    scope: Option<String>,
    text: Option<String>,
    speaker: Option<i64>,
    asked: Option<String>,
}

/// What a person said is in the history and in memory, once in each, for those alone who may see it; and nothing else is
/// remembered (row N8).
pub(crate) async fn memories(tx: &mut Tx) -> Vec<String> {
    let rows: Vec<RememberedMessage> = sqlx::query_as(
        "SELECT g.id, g.text AS said, coalesce(g.user_id, m.user_id) AS by, i.channel, i.chat, g.session_id, m.scope, m.text,
                m.user_id AS speaker, CASE WHEN g.user_id IS NULL THEN NULL ELSE m.asked END AS asked
         -- That something be taken back is nothing to remember.
         FROM (SELECT * FROM messages WHERE user_id IS NOT NULL AND trim(text) NOT IN ('', '/undo')
               -- What a person answered the model is the result of its call.
               UNION ALL SELECT a.* FROM messages a WHERE a.role = 'tool'
                 AND EXISTS (SELECT 1 FROM memories WHERE message_id = a.id)
                 AND EXISTS (SELECT 1 FROM tool_calls t WHERE t.run_id = a.run_id AND t.name = 'ask_human' AND t.result = a.text)) g
              FULL JOIN memories m ON m.message_id = g.id
              LEFT JOIN runs r ON r.id = g.run_id LEFT JOIN inbound i ON i.id = r.inbound_id",
    )
    .fetch_all(&mut *tx)
    .await
    .unwrap();
    let mut wrong = Vec::new();
    for row in rows {
        let (Some(by), Some(said), Some(session)) = (row.by, &row.said, row.session_id) else {
            wrong.push(format!("a memory of nothing that a person said: {row:?}"));
            continue;
        };
        let shared =
            row.channel.as_ref().zip(row.chat.as_ref()).is_some_and(|(channel, chat)| is_shared(channel, chat));
        let scope = if shared { format!("c{session}") } else { format!("p{by}") };
        // What joins another's run carries its name in the history, and not in memory.
        // In the history it may stand behind who said it, or behind what others said meanwhile.
        let is_it =
            |text: &String| said == text || ["] ", "\n"].iter().any(|ahead| said.ends_with(&format!("{ahead}{text}")));
        let same = row.text.as_ref().is_some_and(is_it);
        if !same || row.scope != Some(scope) || row.speaker != Some(by) {
            wrong.push(format!("it is not remembered as it was said: {row:?}"));
        }
        if row.asked.is_some_and(|asked| !asked.contains('?')) {
            wrong.push(format!("message {:?} answers what was no question", row.id));
        }
    }
    let places: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT e.turns, count(m.id) FROM episodes e LEFT JOIN memories m ON m.episode_id = e.id AND m.scope = e.scope
         GROUP BY e.id HAVING e.turns <> count(m.id)",
    )
    .fetch_all(&mut *tx)
    .await
    .unwrap();
    wrong.extend(places.iter().map(|(turns, found)| format!("an episode of {turns} turns holds {found} memories")));
    let lost: Vec<(i64,)> = sqlx::query_as("SELECT run_id FROM recalled WHERE memory_id IS NULL AND fact_id IS NULL")
        .fetch_all(&mut *tx)
        .await
        .unwrap();
    wrong.extend(lost.iter().map(|(run,)| format!("run {run} recalled nothing that there is")));
    wrong.extend(crossed(tx).await);
    wrong
}

#[derive(Debug, sqlx::FromRow)]
struct Recalled {
    run_id: i64,
    scope: String,
    channel: String,
    chat: String,
    session_id: i64,
    user_id: i64,
}

/// What was recalled for a run that its person may not see there.
async fn crossed(tx: &mut Tx) -> Vec<String> {
    let rows: Vec<Recalled> = sqlx::query_as(
        "SELECT r.run_id, m.scope, i.channel, i.chat, n.session_id, n.user_id
         FROM recalled r JOIN memories m ON m.id = r.memory_id JOIN runs n ON n.id = r.run_id
              JOIN inbound i ON i.id = n.inbound_id
         WHERE m.scope <> 'house'",
    )
    .fetch_all(&mut *tx)
    .await
    .unwrap();
    let crossed = |row: Recalled| {
        let shared = is_shared(&row.channel, &row.chat);
        let own = if shared { format!("c{}", row.session_id) } else { format!("p{}", row.user_id) };
        (own != row.scope).then(|| format!("run {} of {own} recalled what is {}'s", row.run_id, row.scope))
    };
    rows.into_iter().filter_map(crossed).collect()
}
