//! The whole way through the daemon: letters in, the model, letters out; and owners who say whom Hob may write to.

use crate::harness;
use crate::servers::Servers;
use crate::support::fake_model::Reply;
use crate::support::house::{House, OWNER};

/// A household with a mailbox.
async fn house(servers: &Servers, settings: &str) -> House {
    let mailbox = format!("{}allowed_addresses = ['ada@example.org']\n{settings}", servers.settings());
    let mut house = House::with(&mailbox).await;
    house.start().await;
    house.hob().until_logged("is watched", 1).await;
    house
}

/// A letter of somebody whose server has said that it is theirs.
fn letter(number: usize, from: &str, text: &str) -> Vec<u8> {
    [PROVEN, &harness::letter(number, from, text)].concat()
}

/// What Hob's own server says of letters from there.
const PROVEN: &[u8] = b"Authentication-Results: mx.home.example; dmarc=pass header.from=example.org\r\n";

/// An owner who has talked with Hob by themselves can be asked there.
async fn meet_the_owner(house: &House) {
    house.ask(OWNER, "hello", Reply::text("Hello.")).await;
}

#[tokio::test]
async fn n14_a_letter_is_answered_and_its_thread_is_a_session() {
    let servers = Servers::start();
    let mut house = house(&servers, "").await;
    house.model.reply(Reply::text("At **five**."));
    servers.put(&letter(1, "ada@example.org", "Shall we have tea?"));
    let got = servers.until_got("ada", 1).await.remove(0);
    assert!(got.contains("Subject: Re: Letter 1") && got.contains("In-Reply-To: <1@example.org>"), "{got}");
    assert!(got.contains("<strong>five</strong>") && got.contains("> Shall we have tea?"), "{got}");
    // It is killed, and what comes meanwhile belongs to the same conversation.
    house.recorded(1).await;
    house.crash().await;
    house.model.reply(Reply::text("Yes."));
    servers.put(
        b"Authentication-Results: mx.home.example; dmarc=pass header.from=example.org\r\n\
          From: ada@example.org\r\nTo: hob@home.example\r\nMessage-ID: <2@example.org>\r\nReferences: <1@example.org>\r\n\
          Subject: Re: Letter 1\r\n\r\nWith milk?\r\n\r\nOn Monday, Hob wrote:\r\n> At five.\r\n",
    );
    house.start().await;
    assert_eq!(servers.until_got("ada", 2).await.len(), 2);
    let requests = house.model.requests();
    let last = requests.last().unwrap();
    let said: String = last.messages().iter().map(ToString::to_string).collect();
    assert!(said.contains("Shall we have tea?") && said.contains("With milk?"), "{said}");
    house.nothing_refused();
    house.stop().await;
}

#[tokio::test]
async fn n14_the_first_answer_to_somebody_new_waits_for_an_owner() {
    let servers = Servers::start();
    let mut house = house(&servers, "allow_guests = true").await;
    meet_the_owner(&house).await;
    house.model.reply(Reply::text("It is at noon."));
    servers.put(&letter(1, "eve@example.org", "When is it?"));
    let asked = house.told(OWNER, 2).await.remove(1);
    assert!(asked.contains("May I answer eve@example.org by e-mail?") && asked.contains("It is at noon."), "{asked}");
    assert!(servers.got("eve").is_empty(), "nothing goes out before");
    house.press(OWNER, "Send it");
    let told = house.told(OWNER, 3).await.remove(2);
    assert_eq!(told, "It goes out. From now on I answer eve@example.org without asking.");
    assert!(servers.until_got("eve", 1).await[0].contains("It is at noon."));
    // Once is enough for a button, and for a correspondent.
    house.model.reply(Reply::text("Yes, it is."));
    servers.put(&letter(2, "eve@example.org", "Sure?"));
    assert_eq!(servers.until_got("eve", 2).await.len(), 2);
    house.say(OWNER, "/mail");
    assert_eq!(house.told(OWNER, 4).await[3], "No letter waits for an owner.");
    house.stop().await;
}

#[tokio::test]
async fn n14_what_an_owner_does_not_want_is_not_sent() {
    let servers = Servers::start();
    let mut house = house(&servers, "allow_guests = true").await;
    meet_the_owner(&house).await;
    house.model.reply(Reply::text("The code is 1234."));
    // A letter that asks for its answer to go elsewhere: those who would get it count.
    servers.put_file("forged-from");
    let asked = house.told(OWNER, 2).await.remove(1);
    assert!(asked.contains("May I answer owner@evil.example"), "{asked}");
    house.press(OWNER, "Do not send");
    assert_eq!(house.told(OWNER, 3).await[2], "Not sent to owner@evil.example.");
    house.say(OWNER, "/mail yes 2");
    assert_eq!(house.told(OWNER, 4).await[3], "That letter does not wait any more.");
    house.stop().await;
    assert!(servers.got("owner").is_empty());
}

#[tokio::test]
async fn n14_nobody_gets_more_letters_within_an_hour_than_is_allowed() {
    let servers = Servers::start();
    let mut house = house(&servers, "replies_per_hour_max = 2").await;
    for number in 1..=3 {
        house.model.reply(Reply::text("An answer."));
        servers.put(&letter(number, "ada@example.org", "And?"));
        house.ended(number).await;
    }
    house.hob().until_logged("mind a loop", 1).await;
    assert_eq!(servers.until_got("ada", 2).await.len(), 2);
    // A new start does not begin to count anew.
    house.restart().await;
    house.hob().until_logged("is watched", 1).await;
    house.say(OWNER, "/status");
    let status = house.told(OWNER, 1).await.remove(0);
    assert!(status.contains("1 pending"), "{status}");
    house.stop().await;
    assert_eq!(servers.got("ada").len(), 2);
}
