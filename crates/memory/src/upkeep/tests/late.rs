//! What comes in behind the cursor, on a server.

use hob_testkit::postgres::{Cluster, Session};

use super::{SCOPE, say};
use crate::embedding::EmbeddingModel;
use crate::upkeep::late::LateMemories;
use crate::upkeep::statements::{NextBatch, next_batch, register};
use hob_core::domain::ids::MemoryId;
use hob_store::memories;
use hob_store::vectors::{self, NewVector};
use hob_store::{Store, Tx};

/// A long import gets its numbers first, and is committed last.
#[tokio::test(flavor = "multi_thread")]
async fn n15_what_is_committed_late_on_one_postgresql_is_not_missed() {
    let database = Cluster::shared().database();
    let store = Store::open_url(database.url()).await.unwrap();
    let begin = async |tx: &mut Tx| {
        let model = EmbeddingModel { name: "m".to_owned(), dimensions: 8, digest: "d".to_owned() };
        let (model, _others) = register(tx, &model, jiff::Timestamp::UNIX_EPOCH).await?;
        memories::begin_episode(tx, SCOPE, None, 0).await?;
        Ok((model.id, memories::begin_episode(tx, SCOPE, None, 0).await?))
    };
    let (model, talk) = store.write(begin).await.unwrap();
    let mut import = Session::begin(database.url());
    let insert = "INSERT INTO memories (episode_id, place, scope, speaker, text, origin, importance, at)
        VALUES (1, 1, 'house', 'Ada', 'Tea at five.', 'import', 0.5, 0) RETURNING id;";
    let imported = import.run(&format!("BEGIN; SELECT pg_current_xact_id(); {insert}"));
    let imported = MemoryId(imported.last().unwrap().parse().unwrap());
    let said = store.write(async move |tx| say(tx, talk, &["Good morning.".to_owned()]).await).await.unwrap();
    let done = async move |tx: &mut Tx| {
        vectors::put(tx, model, &NewVector { memory: said[0], vector: vec![1], binary_codes: None }).await?;
        vectors::move_to(tx, model, said[0]).await?;
        Ok(said[0])
    };
    let passed: MemoryId = store.write(done).await.unwrap();
    let mut late = LateMemories::new();
    let nothing_waits =
        async || matches!(store.read(async |tx| next_batch(tx, model).await).await, Ok(NextBatch::Nothing));
    for _ in 0..2 {
        late.look(&store, model).await.unwrap();
        assert!(nothing_waits().await, "it is not there yet");
    }
    import.run("COMMIT;");
    assert!(imported < passed);
    assert!(nothing_waits().await, "by the cursor alone it is missed");
    // Until no transaction of the server's is as old as the import, whoever's it is.
    while nothing_waits().await {
        late.look(&store, model).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let next = store.read(async |tx| next_batch(tx, model).await).await.unwrap();
    let NextBatch::Embed(waiting, through) = next else { panic!("nothing is to be embedded") };
    assert_eq!((waiting.len(), waiting[0].memory, through), (1, imported, passed));
    // And only once.
    store.write(async move |tx| vectors::move_to(tx, model, through).await).await.unwrap();
    for _ in 0..3 {
        late.look(&store, model).await.unwrap();
    }
    assert!(nothing_waits().await);
}
