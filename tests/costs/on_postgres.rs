//! What a turn costs beside a server: how often it waits for an answer of PostgreSQL's.

use hob_testkit::fake_model::Reply;
use hob_testkit::postgres::{Cluster, Database};
use hob_testkit::postgres_wire::Wire;
use hob_testkit::test_hob::{OWNER, TestHob};

use super::{HALL, QUESTION};

/// A house whose server is at the other end of a wire.
struct Wired {
    hob: TestHob,
    wire: Wire,
    delivered: usize,
}

impl Wired {
    async fn beside(database: &Database<'_>, settings: &str) -> Self {
        let wire = database.wire();
        let mut hob = TestHob::with("").await;
        hob.keep_state_at(&database.url_through(&wire));
        hob.configure(settings);
        hob.telegram.group(HALL, &[]);
        hob.start().await;
        let mut wired = Self { hob, wire, delivered: 0 };
        for _ in 0..3 {
            wired.turn("hi").await;
        }
        wired
    }

    /// A turn of the owner's, and what was asked of the server for it.
    async fn turn(&mut self, text: &str) -> Vec<String> {
        self.wire.asked();
        self.hob.ask(OWNER, text, Reply::text("Hello.")).await;
        self.delivered += 1;
        self.hob.recorded(self.delivered).await;
        self.hob.acknowledged().await;
        self.asked()
    }

    /// Without the signs of life that a daemon gives.
    fn asked(&self) -> Vec<String> {
        self.wire.asked().into_iter().filter(|asked| !asked.contains("daemon_beats")).collect()
    }
}

/// How often a turn waits for the server until its answer is sent, and how often in all. It is exact: who needs more raises it here and
/// says why, and who needs less lowers it.
#[tokio::test]
async fn n15_n17_the_round_trips_of_a_turn() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    let mut house = Wired::beside(&database, "").await;
    house.turn("The red jar stands on the shelf.").await;
    for _ in 0..2 {
        house.turn(QUESTION).await;
    }
    let mut counts = Vec::new();
    for text in ["hi", QUESTION] {
        let asked = house.turn(text).await;
        let delivered = asked.iter().position(|asked| asked.contains("SET state = 'delivered'")).unwrap();
        // The transaction that says so begins before it.
        counts.push((text, delivered - 1, asked.len()));
    }
    assert_eq!(counts, [("hi", 25, 28), (QUESTION, 27, 30)]);
}

/// Signs of life once in three seconds, and a look at what is due: not even once a second.
#[tokio::test]
async fn n15_n17_the_round_trips_of_an_idle_house() {
    const BEATS: usize = 3;
    let cluster = Cluster::shared();
    let database = cluster.database();
    let house = Wired::beside(&database, "").await;
    let (mut beats, mut asked) = (0, Vec::new());
    // What the last turn has left to do is over with the first.
    while beats <= BEATS {
        let news = house.wire.next().await;
        if news.contains("daemon_beats") {
            beats += 1;
        } else if beats > 0 {
            asked.push(news);
        }
    }
    let seconds = 3 * BEATS;
    assert!(BEATS + asked.len() <= seconds, "{asked:#?}");
}
