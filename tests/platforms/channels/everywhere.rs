//! Every channel of one Hob, at once.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use crate::channels::platform::Platform;
use hob_testkit::fake_model::Reply;
use hob_testkit::house::House;
use hob_testkit::process::{hob, within};

#[tokio::test]
async fn k2_one_daemon_is_reached_by_every_channel() {
    let mut platforms: Vec<Box<dyn Platform>> = vec![
        Box::new(crate::channels::telegram::platform().await),
        Box::new(crate::channels::slack::platform().await),
        Box::new(crate::channels::discord::platform().await),
        Box::new(crate::channels::email::platform().await),
    ];
    let settings: String = platforms.iter().map(|platform| platform.settings()).collect();
    let mut house = House::with(&format!("{settings}\n[server]\nlisten = '127.0.0.1:0'")).await;
    house.model.otherwise(|asked| Reply::text(&format!("Hob heard {}", asked.last_text().lines().last().unwrap())));
    house.start().await;
    for platform in &mut platforms {
        platform.connected(&house).await;
        let words = format!("the {:?} way", platform.kind());
        platform.say(&house, &words).await;
        let told = format!("Hob heard {words}");
        platform.until(&house, &|shown| shown.iter().any(|message| message.text.contains(&told))).await;
    }
    house.hob().until_logged("server.listening", 1).await;
    let log = house.hob().log();
    let line = log.lines().find(|line| line.contains("server.listening")).unwrap();
    let address = line.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
    let client = hob_http::client(Duration::from_secs(10)).unwrap();
    let page = client.get(format!("http://{address}/login")).send().await.unwrap();
    assert!(page.text().await.unwrap().contains("<!doctype html>"), "the page");
    let added = within("key", hob(house.home.path(), &["web", "token", "add", "program"]).output()).await.unwrap();
    let key = String::from_utf8(added.stdout).unwrap().lines().next().unwrap().to_owned();
    let asked = client
        .post(format!("http://{address}/v1/chat/completions"))
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(r#"{"model": "hob", "messages": [{"role": "user", "content": "the web way"}]}"#);
    let told = within("answer on the web", asked.send()).await.unwrap().text().await.unwrap();
    assert!(told.contains("Hob heard the web way"), "{told}");
    let mut chat = hob(house.home.path(), &["chat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = chat.stdin.take().unwrap();
    stdin.write_all(b"the terminal way\n").await.unwrap();
    drop(stdin);
    let said = within("end of the terminal", chat.wait_with_output()).await.unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("Hob heard the terminal way"), "{said}");
    // All of that was one process.
    assert!(house.stop().await.success());
    house.nothing_refused();
}
