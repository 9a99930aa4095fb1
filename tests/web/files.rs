//! Files that are sent on the page, and fetched from it.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json as object};

use crate::browser::{Browser, hob, json};
use hob_testkit::fake_model::Reply;
use hob_testkit::test_hob::ADA;

/// The file that goes with the message that says this.
fn file_of(timeline: &Value, text: &str) -> Value {
    let messages = timeline["messages"].as_array().unwrap();
    let found = messages.iter().find(|message| message["text"] == text);
    found.unwrap_or_else(|| panic!("nobody says {text:?}: {timeline:#}"))["files"][0].clone()
}

#[tokio::test]
async fn n8_files_of_the_page_are_saved_and_those_of_others_are_not_there() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let mut listening = browser.listen("k", None).await;
    hob.model.reply(Reply::text("Thank you."));
    let evil = "<script>alert(1)</script>";
    let sent = browser.form("k", "m1", "Look.", Some(("a<b>.html", evil)));
    json(sent.send().await.unwrap()).await;
    listening.answer().await;
    let write = object!({ "path": "plan.md", "content": "# Beds\n" }).to_string();
    let send = object!({ "path": "plan.md", "caption": "The plan" }).to_string();
    hob.model.reply(Reply::call("write_file", &write)).reply(Reply::call("send_file", &send));
    hob.model.reply(Reply::text("There it is."));
    browser.say("k", "m2", "Write a plan.").await;
    listening.says("There it is.").await;
    let timeline = browser.get("/api/chats/k/messages").await;
    let fetch = |file: &Value| browser.ask(Method::GET, &format!("/api/files/{}", file["id"])).send();

    let came = file_of(&timeline, "Look.");
    assert_eq!((&came["name"], &came["bytes"]), (&object!("a<b>.html"), &object!(evil.len())));
    let response = fetch(&came).await.unwrap();
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-disposition"), r#"attachment; filename="a<b>.html"; filename*=UTF-8''a%3Cb%3E.html"#);
    assert_eq!(
        (header("content-type"), header("x-content-type-options")),
        ("application/octet-stream".into(), "nosniff".into())
    );
    assert_eq!(response.text().await.unwrap(), evil);
    let went = file_of(&timeline, "The plan");
    assert_eq!(fetch(&went).await.unwrap().text().await.unwrap(), "# Beds\n");

    // What somebody sends elsewhere is not the page's.
    hob.model.reply(Reply::text("I have it."));
    hob.telegram.hand(ADA, "diary.txt", b"dear diary", "keep this");
    hob.told(ADA, 1).await;
    let next = went["id"].as_i64().unwrap() + 1;
    for id in [next.to_string(), "999999".to_owned()] {
        let response = browser.ask(Method::GET, &format!("/api/files/{id}")).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{id}");
    }
    let nobody = browser.bare(Method::GET, &format!("/api/files/{}", came["id"])).send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED);
    // The record is there, the content is not any more.
    std::fs::remove_dir_all(hob.path("data/files")).unwrap();
    assert_eq!(fetch(&came).await.unwrap().status(), StatusCode::NOT_FOUND);
    hob.nothing_refused();
}
