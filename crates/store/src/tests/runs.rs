//! Who may claim a run.

use jiff::Timestamp;

use super::{on_both_engines, sql};
use crate::error::StoreError;
use crate::runs::{self, Lease};
use crate::{Store, Tx, parked};
use hob_core::domain::ids::{RunId, SessionId};

const ME: &str = "me";
const NOW: i64 = 1_000_000;

/// A session with one run that `ME` was driving a moment ago; its lease holds.
async fn driven(tx: &mut Tx) -> Result<(), StoreError> {
    for row in [
        "INSERT INTO users (id, name, role, created_at) VALUES (1, 'anna', 'user', 0)",
        "INSERT INTO sessions (id, key, channel, created_at) VALUES (1, 'terminal:1', 'terminal', 0)",
        "INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance,
           disposition, sent_at, received_at) VALUES (1, 1, 1, 'terminal', 'local', '1', '1', 'hi', 0, 'run', 0, 0)",
        "INSERT INTO runs (id, session_id, inbound_id, user_id, state, lease_owner, lease_until, created_at)
         VALUES (1, 1, 1, 1, 'running', 'me', 2000000, 0)",
    ] {
        sql(tx, row).await?;
    }
    Ok(())
}

/// The sessions that look due to `owner`, and the run that it then gets.
async fn look_and_claim(tx: &mut Tx, owner: &'static str) -> Result<(Vec<SessionId>, Option<RunId>), StoreError> {
    let now = Timestamp::UNIX_EPOCH + std::time::Duration::from_millis(NOW.unsigned_abs());
    let due = runs::queries::list_due(tx, owner, now).await?.into_iter().map(|due| due.session).collect();
    let lease = Lease { owner: owner.to_owned(), now, until: now + std::time::Duration::from_secs(90) };
    let session = SessionId(1);
    Ok((due, runs::claim(tx, session, &lease).await?.map(|claimed| claimed.id)))
}

async fn ask(store: &Store, owner: &'static str) -> (usize, bool) {
    let (due, claimed) = store.write(async move |tx| look_and_claim(tx, owner).await).await.unwrap();
    (due.len(), claimed.is_some())
}

/// Puts the run aside, or gives it back.
async fn aside(tx: &mut Tx, aside: bool) -> Result<(), StoreError> {
    if aside {
        parked::put_aside(tx, RunId(1), "it cannot be read").await?;
    } else {
        parked::take_up(tx, RunId(1), false).await?;
    }
    Ok(())
}

async fn list(tx: &mut Tx) -> Result<(usize, i64, Vec<String>), StoreError> {
    let open =
        runs::queries::count_open(tx).await?.into_iter().map(|row| format!("{} {}", row.count, row.state)).collect();
    Ok((parked::list(tx, Some(SessionId(1))).await?.len(), runs::queries::queue(tx).await?.count, open))
}

/// A question whose time has come; gives the runs that are told so.
async fn comes_due(tx: &mut Tx) -> Result<usize, StoreError> {
    let waits =
        "UPDATE runs SET state = 'waiting', waits_until = 5, lease_owner = NULL, lease_until = NULL WHERE id = 1";
    sql(tx, waits).await?;
    let now = Timestamp::from_millisecond(10).unwrap();
    let told = crate::open_runs::take_expired(tx, now).await?.len();
    parked::put_aside(tx, RunId(1), "it cannot be read").await?;
    parked::take_up(tx, RunId(1), true).await?;
    Ok(told + crate::open_runs::take_expired(tx, now).await?.len())
}

on_both_engines! {
    #[tokio::test]
    async fn b9_a_run_that_could_not_be_given_back_is_resumed_by_its_owner(store: Store) {
        store.write(driven).await.unwrap();
        assert_eq!(ask(&store, "another").await, (0, false));
        assert_eq!(ask(&store, ME).await, (1, true));
    }

    #[tokio::test]
    async fn b11_what_is_put_aside_is_claimed_by_nobody_until_it_is_taken_up(store: Store) {
        store.write(driven).await.unwrap();
        store.write(async move |tx| aside(tx, true).await).await.unwrap();
        assert_eq!(ask(&store, ME).await, (0, false), "its lane is free for others");
        assert_eq!(store.read(list).await.unwrap(), (1, 0, vec!["1 parked".to_owned()]));
        store.write(async move |tx| aside(tx, false).await).await.unwrap();
        assert_eq!(store.read(list).await.unwrap().0, 0);
        assert_eq!(ask(&store, "another").await, (1, true));
    }

    #[tokio::test]
    async fn b11_a_question_whose_time_came_while_its_run_was_put_aside_comes_up_again(store: Store) {
        store.write(driven).await.unwrap();
        assert_eq!(store.write(comes_due).await.unwrap(), 2);
    }
}
