//! What a person sees, for whoever wants to look: `cargo nextest run --run-ignored only --no-capture -E 'test(by_hand)'`.
//!
//! Nothing is asserted but that it comes; each platform's messages are printed as they were sent.

use crate::channels::conversations::PAY;
use crate::channels::platform::{Platform, PlatformHarness};
use hob_testkit::fake_model::{Reply, Script};

/// Something of everything.
const ALL: &str = "# The week\n\n| Day | Who cooks | What |\n|---|---|---|\n| Monday | Ada | Soup with *leek* |\n| Tuesday | \
                   Bob | Pizza |\n\n1. Shopping\n   - milk\n   - **bread**, two of them\n     - rye\n     - `wheat`\n2. \
                   Cleaning\n\n> Nobody likes cleaning.\n\n```rust\nfn main() {\n    println!(\"a < b && c\");\n}\n```\n\nSee \
                   [the recipe](https://example.org/soup?a=1&b=2), ~~not~~ the other_file_name.txt. 3 * 4 * 5 = 60.";

#[expect(clippy::print_stdout, reason = "it is there to be looked at")]
async fn look(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, PAY).await;
    let kind = there.platform.kind();
    there.hob.model.reply(Reply::text(ALL));
    there.say("What is on this week?").await;
    there.until("the answer", |shown| !shown.is_empty()).await;
    there.hob.recorded(1).await;
    println!("==== {kind}: everything\n{}", there.platform.raw(&there.hob));
    there.hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#)).reply(Reply::text("Paid."));
    there.say("Pay Ben").await;
    there.until("the question", |shown| shown.len() == 2).await;
    println!("==== {kind}: an approval\n{}", there.platform.raw(&there.hob));
    there.say("1").await;
    there.until("the end", |shown| shown.iter().any(|shown| shown.text.contains("Paid."))).await;
    there.hob.model.reply(Script::default().words("The beginning of an answer").cut().into());
    there.hob.model.otherwise(|_| Reply::status(401));
    there.say("And now?").await;
    there.until("the error", |shown| shown.len() >= 4).await;
    println!("==== {kind}: after the approval, and an error\n{}", there.platform.raw(&there.hob));
}

#[tokio::test]
#[ignore = "prints what there is to be looked at"]
async fn telegram() {
    look(Box::new(crate::channels::telegram::platform().await)).await;
}

#[tokio::test]
#[ignore = "prints what there is to be looked at"]
async fn slack() {
    look(Box::new(crate::channels::slack::platform().await)).await;
}

#[tokio::test]
#[ignore = "prints what there is to be looked at"]
async fn discord() {
    look(Box::new(crate::channels::discord::platform().await)).await;
}

#[tokio::test]
#[ignore = "prints what there is to be looked at"]
async fn email() {
    look(Box::new(crate::channels::email::platform().await)).await;
}
