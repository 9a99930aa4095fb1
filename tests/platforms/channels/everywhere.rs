//! Every channel of one Hob, at once.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use crate::channels::platform::Platform;
use hob_testkit::fake_model::Reply;
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::TestHob;

#[tokio::test]
async fn k2_one_daemon_is_reached_by_every_channel() {
    let mut platforms: Vec<Box<dyn Platform>> = vec![
        Box::new(crate::channels::telegram::platform().await),
        Box::new(crate::channels::slack::platform().await),
        Box::new(crate::channels::discord::platform().await),
        Box::new(crate::channels::email::platform().await),
    ];
    let settings: String = platforms.iter().map(|platform| platform.settings()).collect();
    let mut hob = TestHob::with(&format!("{settings}\n[server]\nlisten = '127.0.0.1:0'")).await;
    hob.model.otherwise(|asked| Reply::text(&format!("Hob heard {}", asked.last_text().lines().last().unwrap())));
    hob.start().await;
    for platform in &mut platforms {
        platform.connected(&hob).await;
        let words = format!("the {:?} way", platform.kind());
        platform.say(&hob, &words).await;
        let told = format!("Hob heard {words}");
        platform.until(&hob, &|shown| shown.iter().any(|message| message.text.contains(&told))).await;
    }
    hob.process().until_logged("server.listening", 1).await;
    let log = hob.process().log();
    let line = log.lines().find(|line| line.contains("server.listening")).unwrap();
    let address = line.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
    let client = hob_http::client(Duration::from_secs(10)).unwrap();
    let page = client.get(format!("http://{address}/login")).send().await.unwrap();
    assert!(page.text().await.unwrap().contains("<!doctype html>"), "the page");
    let added =
        within("key", hob_command(hob.home.path(), &["web", "token", "add", "program"]).output()).await.unwrap();
    let key = String::from_utf8(added.stdout).unwrap().lines().next().unwrap().to_owned();
    let asked = client
        .post(format!("http://{address}/v1/chat/completions"))
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(r#"{"model": "hob", "messages": [{"role": "user", "content": "the web way"}]}"#);
    let told = within("answer on the web", asked.send()).await.unwrap().text().await.unwrap();
    assert!(told.contains("Hob heard the web way"), "{told}");
    let mut chat =
        hob_command(hob.home.path(), &["chat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = chat.stdin.take().unwrap();
    stdin.write_all(b"the terminal way\n").await.unwrap();
    drop(stdin);
    let said = within("end of the terminal", chat.wait_with_output()).await.unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("Hob heard the terminal way"), "{said}");
    // All of that was one process.
    assert!(hob.stop().await.success());
    hob.nothing_refused();
}
