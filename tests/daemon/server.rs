//! Hob with its state on PostgreSQL: a conversation, a death in the midst of it, commands beside it, and the way in and out.

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::postgres::Cluster;
use hob_testkit::process::{HobProcess, hob_command, within};
use hob_testkit::test_hob::{ADA, TestHob};

/// What a command says; it must succeed.
async fn says(hob: &TestHob, arguments: &[&str]) -> String {
    let output = within("end of the command", hob_command(hob.home.path(), arguments).output()).await.unwrap();
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {said}{error}");
    said.into_owned()
}

/// What a command says that fails.
async fn refuses(hob: &TestHob, arguments: &[&str]) -> String {
    let output = within("end of the command", hob_command(hob.home.path(), arguments).output()).await.unwrap();
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A household whose state is at this URL.
async fn at(url: &str) -> TestHob {
    let hob = TestHob::new().await;
    hob.keep_state_at(url);
    hob.configure("");
    hob
}

#[tokio::test]
async fn n15_one_hob_on_postgresql_is_killed_and_goes_on() {
    let cluster = Cluster::shared();
    let url = cluster.database().url().to_owned();
    let mut hob = at(&url).await;
    hob.start().await;
    assert_eq!(hob.ask(ADA, "My cat is called Zorro.", Reply::text("A fine name.")).await, "A fine name.");
    hob.recorded(1).await;
    hob.model.reply(Script::default().gate(&Gate::default()).text("Never.").finish("stop").into());
    hob.model.reply(Reply::text("Zorro."));
    hob.say(ADA, "What is my cat called?");
    hob.asked(2).await;
    hob.restart().await;
    assert_eq!(hob.told(ADA, 2).await, ["A fine name.", "Zorro."], "each once");
    let requests = hob.model.requests();
    assert_eq!(requests[1].body["messages"], requests[2].body["messages"], "the same is asked again");
    assert!(!hob.path("data/hob.db").exists(), "there is no file");
    // Commands beside it see the same.
    assert!(says(&hob, &["memory", "list"]).await.contains("Zorro"));
    assert!(says(&hob, &["memory", "search", "cat"]).await.contains("Zorro"));
    let shown = "postgres://hob@/house_";
    assert!(says(&hob, &["status"]).await.contains(&format!("\nstate: {shown}")));
    let doctor = says(&hob, &["doctor", "--only", "database"]).await;
    assert!(doctor.contains(&format!("ok   database: {shown}")) && doctor.contains("PostgreSQL 1"), "{doctor}");
    assert!(says(&hob, &["version", "--check"]).await.contains(", as this Hob has it"));
    assert!(says(&hob, &["runs"]).await.contains("What is my cat called?"));
    let stats = says(&hob, &["memory", "stats"]).await;
    assert!(stats.contains("database: ") && !stats.contains("database: 0 bytes"), "{stats}");
    let forgotten = says(&hob, &["memory", "forget", "m1"]).await;
    assert!(forgotten.contains("m1"), "{forgotten}");
    // A copy is refused while it works.
    let copy = hob.path("copy.db").display().to_string();
    let error = refuses(&hob, &["state", "copy", "--to", &copy]).await;
    assert!(error.contains("a Hob works with it"), "{error}");
    assert!(hob.stop().await.success());
    hob.nothing_refused();
}

#[tokio::test]
async fn n15_a_state_moves_from_a_file_to_postgresql_and_back() {
    let cluster = Cluster::shared();
    let mut hob = TestHob::new().await;
    if hob.path("state-url").exists() {
        return;
    }
    hob.start().await;
    hob.ask(ADA, "One", Reply::text("1")).await;
    hob.recorded(1).await;
    // A long result of a tool lies beside the file.
    std::fs::create_dir_all(hob.path("data/results/1")).unwrap();
    std::fs::write(hob.path("data/results/1/1.0.txt"), "All of it.").unwrap();
    let url = cluster.database().url().to_owned();
    let error = refuses(&hob, &["state", "copy", "--to", &url]).await;
    assert!(error.contains("another Hob (pid "), "{error}");
    assert!(hob.stop().await.success());
    let said = says(&hob, &["state", "copy", "--to", &url]).await;
    assert!(said.contains("the same as in") && said.contains("`url` under [state]"), "{said}");
    // On the server it is the same conversation.
    hob.keep_state_at(&url);
    hob.configure("");
    std::fs::rename(hob.path("data/hob.db"), hob.path("then.db")).unwrap();
    hob.start().await;
    hob.ask(ADA, "Two", Reply::text("2")).await;
    let asked = hob.model.requests().last().unwrap().body["messages"].to_string();
    assert!(asked.contains("One") && asked.contains("Two"), "{asked}");
    hob.recorded(1).await;
    let result = "SELECT count(*) FROM chunks WHERE name = 'result:1/1.0'";
    hob.until(|_hob| cluster.sql(&url, result) == "1").await;
    assert!(hob.stop().await.success());
    // And back: a backup first, as before any move.
    let folder = hob.path("backups").display().to_string();
    let made = says(&hob, &["backup", &folder]).await;
    assert!(made.contains("checked"), "{made}");
    let data = hob.path("data").display().to_string();
    says(&hob, &["state", "copy", "--to", &data]).await;
    std::fs::remove_file(hob.path("state-url")).unwrap();
    hob.configure("");
    hob.start().await;
    hob.ask(ADA, "Three", Reply::text("3")).await;
    let asked = hob.model.requests().last().unwrap().body["messages"].to_string();
    assert!(asked.contains("One") && asked.contains("Two") && asked.contains("Three"), "{asked}");
    hob.recorded(1).await;
    assert_eq!(hob.values::<String>("SELECT state FROM outbox ORDER BY id").await, ["delivered"; 3]);
    hob.nothing_refused();
}

#[tokio::test]
async fn n15_what_keeps_hob_from_postgresql_is_said_with_what_to_do() {
    let cluster = Cluster::shared();
    let latin = "test_latin";
    if cluster.sql(&cluster.url("postgres"), "SELECT count(*) FROM pg_database WHERE datname = 'test_latin'") == "0" {
        cluster.sql(
            &cluster.url("postgres"),
            "CREATE DATABASE test_latin ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
        );
    }
    let closed = cluster.database().url().to_owned();
    let guest = "DO $$ BEGIN CREATE ROLE guest_of_tests LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$";
    cluster.sql(&closed, guest);
    for (url, expected) in [
        (cluster.url("nowhere"), "make it: `createdb --owner=hob --encoding=UTF8 --template=template0 nowhere`"),
        (cluster.url(latin), "the database's encoding is SQL_ASCII, and UTF8 is needed; make another"),
        (
            closed.replace("hob@", "guest_of_tests@"),
            "as the database's owner: `GRANT CREATE ON SCHEMA public TO guest_of_tests`",
        ),
        ("postgres://hob:hunter2@127.0.0.1:1/hob".to_owned(), "look whether it runs and can be reached from here"),
    ] {
        let hob = at(&url).await;
        let mut process = HobProcess::start(hob_command(hob.home.path(), &["run"]));
        let status = process.ended().await;
        let log = process.log();
        assert!(log.contains("hob: the database server cannot be used: ") && log.contains(expected), "{url}: {log}");
        assert!(!log.contains("hunter2") && status.code() == Some(1), "{log}");
        let doctor = within("doctor", hob_command(hob.home.path(), &["doctor", "--only", "database"]).output()).await;
        let doctor = String::from_utf8_lossy(&doctor.unwrap().stdout).into_owned();
        assert!(doctor.starts_with("fail database: ") && doctor.contains(expected), "{doctor}");
    }
}
