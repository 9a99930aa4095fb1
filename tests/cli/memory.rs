//! `hob memory`, run as people run it: what it prints, how it ends, and that it does no harm beside a running Hob.

use std::path::Path;
use std::process::{Output, Stdio};

use hob_testkit::fake_model::Reply;
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{ADA, TestHob};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;

/// Runs `hob …` to its end, with these lines on its standard input.
async fn ran(home: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = hob_command(home, arguments);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let write = async {
        // A command that does not read its input may be over by now.
        stdin.write_all(input.as_bytes()).await.unwrap_or_default();
        drop(stdin);
    };
    let (output, ()) = within("end of the command", async { tokio::join!(child.wait_with_output(), write) }).await;
    output.unwrap()
}

/// Runs `hob memory …`; it must succeed.
async fn memory(home: &TempDir, arguments: &[&str]) -> String {
    let output = ran(home.path(), &[&["memory"], arguments].concat(), "").await;
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs `hob memory …`; it must fail, and say this.
async fn fails(home: &TempDir, arguments: &[&str], why: &str) {
    let output = ran(home.path(), &[&["memory"], arguments].concat(), "").await;
    let code = if why.contains("cannot be read") { 65 } else { 1 };
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stdout));
    let said = text(&output.stderr).replace(&home.path().display().to_string(), "HOME");
    assert_eq!(said.trim_end(), why, "{arguments:?}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Without the times, which are other ones each time.
fn timeless(shown: &str) -> String {
    shown.lines().map(|line| format!("{}  TIME{}\n", &line[..6], &line[27..])).collect()
}

/// A home in which somebody talked with the offline model.
async fn talked() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let said = "remember that my sister's birthday is on 3 May\nthe bins go out on Tuesday\nwhen were the bins out?\n/pin m1\n";
    let output = ran(home.path(), &["chat"], said).await;
    assert!(text(&output.stdout).contains("I will remember: my sister's birthday – on 3 May."), "{output:?}");
    home
}

#[tokio::test]
async fn n8_what_is_remembered_is_listed_searched_counted_and_forgotten() {
    let home = talked().await;
    insta::assert_snapshot!(timeless(&memory(&home, &["list"]).await), @r"
        m3  TIME  p1     you: when were the bins out?
        m2  TIME  p1     you: the bins go out on Tuesday
        f1  TIME  p1     you: my sister's birthday = on 3 May
        m1  TIME  p1     you: remember that my sister's birthday is on 3 May (pinned)
    ");
    assert_eq!(timeless(&memory(&home, &["list", "--limit", "1"]).await).lines().count(), 1);
    insta::assert_snapshot!(timeless(&memory(&home, &["search", "when", "do", "the", "bins", "go"]).await), @r"
        m2  TIME  p1     you: the bins go out on Tuesday
        m3  TIME  p1     you: when were the bins out?
    ");
    let found: Value = serde_json::from_str(&memory(&home, &["search", "sister", "--json"]).await).unwrap();
    let told: Vec<_> = found.as_array().unwrap().iter().map(|row| (row["id"].as_str(), row["key"].as_str())).collect();
    assert_eq!(told, [(Some("m1"), None), (Some("f1"), Some("my sister's birthday"))]);
    assert_eq!(memory(&home, &["search", "zebra"]).await, "Nothing.\n");
    assert_eq!(memory(&home, &["search", "zebra", "--json"]).await, "[]\n");
    assert_eq!(memory(&home, &["search", "bins", "--person", "you"]).await.lines().count(), 2);
    fails(
        &home,
        &["list", "--person", "Zoe"],
        "hob: nobody called Zoe has talked with Hob: `hob memory stats` shows who has",
    )
    .await;

    let stats = memory(&home, &["stats"]).await;
    assert!(stats.starts_with("p1     you: 3 said, 1 fact, 0 people\n"), "{stats}");
    let stats: Value = serde_json::from_str(&memory(&home, &["stats", "--json"]).await).unwrap();
    assert_eq!((&stats["scopes"][0]["memories"], &stats["scopes"][0]["facts"]), (&3.into(), &1.into()));

    assert_eq!(memory(&home, &["forget", "m2"]).await, "forgotten: m2\n");
    fails(&home, &["forget", "m2"], "hob: there is no m2: `hob memory list` shows what there is").await;
    let nonsense =
        "hob: 12 is not a name of something remembered: m12 is something said, f7 a fact (`hob memory list`)";
    fails(&home, &["forget", "m3", "12"], nonsense).await;
    assert_eq!(memory(&home, &["search", "bins"]).await.lines().count(), 1, "nothing goes where one of them is wrong");
}

#[tokio::test]
async fn n8_what_is_brought_out_comes_into_another_house_once() {
    let (home, other) = (talked().await, talked().await);
    memory(&other, &["forget", "m1", "m2", "m3"]).await;
    let file = home.path().join("out.jsonl").display().to_string();
    assert_eq!(memory(&home, &["export", &file]).await, format!("4 lines in {file}\n"));
    let again = ran(home.path(), &["memory", "export", &file], "").await;
    assert_eq!(again.status.code(), Some(1), "a file that is there is not overwritten");
    assert_eq!(memory(&home, &["export"]).await, std::fs::read_to_string(&file).unwrap());

    memory(&other, &["import", &file]).await;
    assert!(memory(&other, &["search", "bins"]).await.contains("the bins go out on Tuesday"));
    let lines = |out: String| -> Vec<Value> { out.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let before = lines(memory(&other, &["export"]).await);
    let imported = memory(&other, &["import", &file]).await;
    assert_eq!(imported, "brought in: 0 said, 0 facts, 0 people; 4 were here already\n");
    assert_eq!(lines(memory(&other, &["export"]).await), before);

    let input = std::fs::read_to_string(&file).unwrap();
    let houses = ran(other.path(), &["memory", "import", "-", "--house"], &input).await;
    assert_eq!(houses.status.code(), Some(0), "{}", text(&houses.stderr));
    assert!(memory(&other, &["search", "bins", "--person", "you"]).await.contains("house"), "all may see it");
}

#[tokio::test]
async fn n8_a_file_with_a_bad_line_brings_nothing_in_and_each_is_named() {
    let home = talked().await;
    let good = memory(&home, &["export"]).await.lines().next().unwrap().replace("3 May", "4 June");
    let bad = ["{", r#"{"kind":"dream"}"#, &good.replace("\"text\"", "\"txt\"")].join("\n");
    let output = ran(home.path(), &["memory", "import", "-"], &format!("{good}\n{bad}\n")).await;
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.starts_with("hob: nothing was imported:\nline 2: "), "{said}");
    assert!(said.contains("\nline 3: ") && said.contains("\nline 4: ") && !said.contains("line 1:"), "{said}");
    let unknown = good.replace("terminal:local", "telegram:4711");
    let output = ran(home.path(), &["memory", "import", "-"], &unknown).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("line 1: "), "{}", text(&output.stderr));
    assert_eq!(memory(&home, &["search", "June"]).await, "Nothing.\n");
    let output = ran(home.path(), &["memory", "import", "nowhere.jsonl"], "").await;
    assert!(text(&output.stderr).starts_with("hob: nowhere.jsonl cannot be read"), "{}", text(&output.stderr));
}

#[tokio::test]
async fn n8_without_a_good_database_or_config_it_says_what_to_do() {
    let all: [&[&str]; 5] = [&["list"], &["search", "x"], &["stats"], &["forget", "m1"], &["export"]];
    let home = tempfile::tempdir().unwrap();
    for arguments in all {
        let why = "hob: there is no database at HOME/data/hob.db: nothing has run with this data directory yet (see `dir` \
                   in [state] of config.toml, and $HOB_HOME)\nnext: `hob run` starts Hob, `hob chat` talks with it here, `hob init` \
                   sets it up";
        fails(&home, arguments, why).await;
    }
    assert!(!home.path().join("data").exists(), "to look makes nothing");
    std::fs::create_dir(home.path().join("data")).unwrap();
    std::fs::write(home.path().join("data/hob.db"), "no database, ".repeat(2_000)).unwrap();
    for arguments in all {
        let why = "hob: the database cannot be read: error returned from database: (code: 26) file is not a database; \
                   restore a backup, or move the file away to begin afresh";
        fails(&home, arguments, why).await;
    }
    std::fs::write(home.path().join("config.toml"), "[memory]\nmax_fact = 3\n").unwrap();
    let output = ran(home.path(), &["memory", "stats"], "").await;
    assert_eq!(output.status.code(), Some(78));
    let said = text(&output.stderr);
    assert!(said.contains("config.toml:2: memory.max_fact") && said.contains("max_facts"), "{said}");
}

#[tokio::test]
async fn n8_it_works_beside_a_running_hob() {
    let hob = TestHob::running("").await;
    hob.ask(ADA, "The bins go out on Tuesday", Reply::text("I see.")).await;
    hob.ask(ADA, "The key hangs behind the door", Reply::text("I see.")).await;
    let found = memory(&hob.home, &["search", "bins"]).await;
    let name = found.split_whitespace().next().unwrap();
    let line = memory(&hob.home, &["export"]).await.lines().last().unwrap().replace("key", "lantern");
    let file = hob.path("in.jsonl");
    std::fs::write(&file, line).unwrap();
    let (forget, import) = (["forget", name], ["import", "in.jsonl"]);
    let (forgotten, imported) = tokio::join!(memory(&hob.home, &forget), memory(&hob.home, &import));
    assert!(forgotten.starts_with(&format!("forgotten: {name}")), "{forgotten}");
    assert_eq!(imported, "brought in: 1 said, 0 facts, 0 people; 0 were here already\n");
    // What it has in memory follows the file.
    hob.say(ADA, "/new");
    hob.told(ADA, 3).await;
    assert_eq!(hob.ask(ADA, "Where does the lantern hang?", Reply::text("Behind the door.")).await, "Behind the door.");
    let request = hob.model.requests().pop().unwrap().body.to_string();
    assert!(request.contains("The lantern hangs behind the door") && !request.contains("bins"), "{request}");
    hob.nothing_refused();
}
