//! Skills as people meet them: told of where they fit, read, changed while Hob runs, learnt from what is repeated.

use hob_testkit::fake_model::{ReceivedRequest, Reply};
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{ADA, OWNER, TestHob};

const TEA: &str = "---\nname: tea\ndescription: Makes tea at five.\ntriggers: cup of tea\n---\nBoil water.\n";

/// The lines about skills in the context of a request.
fn told_of(asked: &ReceivedRequest) -> Vec<String> {
    let mut contexts = asked.messages().iter().filter_map(|message| message["content"].as_str());
    let last = contexts.rfind(|text| text.contains("<context>")).unwrap_or_default().to_owned();
    last.lines()
        .skip_while(|line| !line.starts_with("skills"))
        .take_while(|line| *line != "</context>")
        .map(str::to_owned)
        .collect()
}

async fn skill(hob: &TestHob, arguments: &[&str]) -> String {
    let mut command = hob_command(hob.home.path(), &[&["--config", "config.toml", "skill"], arguments].concat());
    let output = within("end of the command", command.output()).await.unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn k4_a_skill_that_fits_is_told_of_and_read() {
    let mut hob = TestHob::with("[skills]\ndirs = [\"$HOME/own\"]").await;
    std::fs::create_dir_all(hob.path("own/tea")).unwrap();
    std::fs::write(hob.path("own/tea/SKILL.md"), TEA).unwrap();
    std::fs::write(hob.path("own/tea/kinds.md"), "Green, black.\n").unwrap();
    hob.start().await;
    hob.ask(ADA, "hi", Reply::text("Hello.")).await;
    assert!(told_of(&hob.model.requests()[0]).is_empty(), "nothing fits");
    hob.model.reply(Reply::call("use_skill", r#"{"name": "tea"}"#));
    hob.model.reply(Reply::call("use_skill", r#"{"name": "tea", "file": "kinds.md"}"#));
    hob.model.reply(Reply::call("use_skill", r#"{"name": "tea", "file": "../../config.toml"}"#));
    hob.ask(ADA, "A cup of tea, please", Reply::text("Here it is.")).await;
    let requests = hob.model.requests();
    assert_eq!(
        told_of(&requests[1]),
        ["skills that may fit (read one with use_skill before you begin):", "- tea: Makes tea at five."]
    );
    assert!(
        requests[2].last_text().starts_with("Skill tea:\n\nBoil water.\n\nIts files"),
        "{}",
        requests[2].last_text()
    );
    assert_eq!(requests[3].last_text(), "Green, black.\n");
    assert!(requests[4].last_text().starts_with("\"../../config.toml\" is outside of the skill tea"));
    let told = hob.telegram.until_sent(ADA, 2).await;
    assert_eq!(told.len(), 2);
    hob.say(ADA, "/skills");
    let list = hob.told(ADA, 3).await.remove(2);
    assert!(list.contains("research – Answers a question") && list.contains("tea – Makes tea at five."), "{list}");
    hob.nothing_refused();
}

#[tokio::test]
async fn k4_skills_come_and_change_while_hob_runs() {
    let mut hob = TestHob::running("").await;
    // From the first look on at what is watched.
    hob.process().until_logged("skills.loaded", 2).await;
    std::fs::create_dir_all(hob.path("from/tea")).unwrap();
    std::fs::write(hob.path("from/tea/SKILL.md"), TEA).unwrap();
    let from = hob.path("from/tea").display().to_string();
    assert!(skill(&hob, &["add", &from]).await.contains("Installed, and inert"));
    hob.process().until_logged("skills.loaded", 3).await;
    hob.ask(ADA, "A cup of tea, please", Reply::text("How?")).await;
    assert!(told_of(&hob.model.requests()[0]).is_empty(), "it is inert");
    skill(&hob, &["enable", "tea"]).await;
    hob.ask(ADA, "A cup of tea, please", Reply::text("So.")).await;
    assert_eq!(told_of(&hob.model.requests()[1])[1..], ["- tea (installed)"], "its words are nobody's word");
    hob.nothing_refused();
}

#[tokio::test]
async fn k4_what_went_well_five_times_is_offered_once_and_written_down_on_request() {
    let hob = TestHob::running("").await;
    let mut sent = 0;
    for (time, city) in ["Rome", "Oslo", "Bern", "Bonn", "Graz", "Linz"].iter().enumerate() {
        hob.model.reply(Reply::call("recall", &format!(r#"{{"query": "{city}"}}"#)));
        hob.model.reply(Reply::call("current_time", "{}"));
        hob.model.reply(Reply::call("recall", r#"{"query": "trains"}"#));
        hob.model.reply(Reply::text("By train."));
        hob.say(OWNER, &format!("Plan {city}"));
        let offered = usize::from(time == 4);
        sent += 1 + offered;
        let told = hob.told(OWNER, sent).await;
        if offered == 1 {
            insta::assert_snapshot!(told[sent - 1], @r#"I have now done this 5 times: recall, then current_time, then recall. Shall I keep it as a skill? Say "make a skill draft of it", or run `hob skill draft`. Nothing is kept by itself."#);
        }
    }
    hob.model.reply(Reply::call("use_tool", r#"{"name": "manage_skills", "arguments": {"action": "draft"}}"#));
    hob.ask(OWNER, "make a skill draft of it", Reply::text("Look at it.")).await;
    let draft = hob.path("data/skills/drafts/do-recall-current-time");
    let written = std::fs::read_to_string(draft.join("SKILL.md")).unwrap();
    assert!(
        written.contains(
            "1. Call recall with `query`: <query>.\n2. Call current_time.\n3. Call recall with `query`: \"trains\"."
        ),
        "{written}"
    );
    assert!(!skill(&hob, &["list"]).await.contains("do-recall"), "a draft is not a skill");
    let added = skill(&hob, &["add", &draft.display().to_string()]).await;
    assert!(added.contains("Installed, and inert"), "{added}");
    hob.nothing_refused();
}
