//! What calls cost is known, and a budget holds, also for runs at once (rows C8, N10).

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::test_hob::{ADA, BOB, OWNER, TestHob};

/// The model's price: a million tokens read for a dollar, from its cache for ten cents, a token written for a cent.
const PRICED: &str = "[models.'openai-compatible/fake']
    input_usd = 1.0
    cached_usd = 0.1
    output_usd = 10_000.0";

#[tokio::test]
async fn c8_the_bill_is_known_by_time_model_and_person() {
    let hob = TestHob::running(PRICED).await;
    hob.ask(ADA, "Hello", Reply::text("Hi, Ada.")).await;
    hob.ask(ADA, "And again", Reply::text("Hi, Ada.")).await;
    hob.ask(BOB, "Hello", Reply::text("Hi, Bob.")).await;
    // 11 tokens read, 3 of them from the cache, and 7 written.
    hob.say(ADA, "/cost");
    let own = hob.told(ADA, 3).await.pop().unwrap();
    assert!(
        own.starts_with("Last 24 hours: $0.14 in 2 calls, 22 tokens read (27 % from cache), 14 written\n"),
        "{own}"
    );
    assert!(own.contains("\n- openai-compatible/fake: $0.14, 2 calls, 36 tokens"), "{own}");
    assert!(!own.contains("By person"), "others' bills are not theirs to see: {own}");
    hob.say(OWNER, "/cost");
    let all = hob.told(OWNER, 1).await.pop().unwrap();
    assert!(all.starts_with("Last 24 hours: $0.21 in 3 calls, "), "{all}");
    assert!(all.contains(": $0.14, 2 calls, 36 tokens") && all.contains(": $0.07, 1 call, 18 tokens"), "{all}");
}

#[tokio::test]
async fn what_no_price_is_known_for_is_told() {
    let hob = TestHob::running("").await;
    hob.ask(OWNER, "Hello", Reply::text("Hi.")).await;
    hob.say(OWNER, "/cost");
    let bill = hob.told(OWNER, 2).await.pop().unwrap();
    assert!(bill.contains("No price is known for 1 call "), "{bill}");
}

#[tokio::test]
async fn n10_runs_at_once_cannot_overshoot_a_budget_together() {
    // A call sets about 41 dollars aside: 4,096 tokens written.
    let hob = TestHob::running(&format!("{PRICED}\n[budget]\nday_usd = 50.0")).await;
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).words("Hi, Ada.").finish("stop").into());
    hob.say(ADA, "Hello");
    gate.reached().await;
    hob.say(BOB, "Hello");
    let told = hob.told(BOB, 1).await.pop().unwrap();
    assert!(told.starts_with("The budget for a day does not allow the next step: $40.96 of $50.00"), "{told}");
    assert!(told.contains("I have not begun with this. To go on, write to me again after "), "{told}");
    gate.open();
    assert_eq!(hob.told(ADA, 1).await, ["Hi, Ada."]);
    // What was set aside and not spent is free again.
    assert_eq!(hob.ask(BOB, "And now?", Reply::text("Hi, Bob.")).await, "Hi, Bob.");
    assert_eq!(hob.model.requests().len(), 2);
}

#[tokio::test]
async fn n10_at_the_cap_the_task_is_handed_back_with_what_was_done() {
    // The first call fits; what it costs and the second's reserve do not.
    let hob = TestHob::running(&format!("{PRICED}\n[budget]\nrun_usd = 41.0")).await;
    hob.model.reply(Reply::call("remember_fact", r#"{"category":"home","key":"colour","value":"red"}"#));
    hob.say(ADA, "Remember that the door is red");
    let told = hob.told(ADA, 1).await.pop().unwrap();
    assert!(told.starts_with("The budget for one task does not allow the next step: $0.07 of $41.00"), "{told}");
    assert!(told.contains("Done so far:\n- remember_fact\n"), "{told}");
    assert!(told.contains("Whoever runs me can raise run_usd under [budget] in config.toml.\n\nObjective: "), "{told}");
    assert_eq!(hob.model.requests().len(), 1);
    assert_eq!(hob.ask(ADA, "Is it red?", Reply::text("It is.")).await, "It is.", "the next task has its own");
}

#[tokio::test]
async fn n10_that_a_budget_is_nearly_used_up_is_told_once() {
    let hob = TestHob::running(&format!("{PRICED}\n[provider]\nmax_output_tokens = 1\n[budget]\nday_usd = 0.1")).await;
    hob.model.otherwise(|_asked| Reply::text("Hi."));
    // 7 cents are 70 % of the day's, 14 are more than all of it: the note comes with the call that goes beyond.
    hob.say(ADA, "Hello");
    hob.told(ADA, 1).await;
    hob.say(ADA, "Hello");
    let told = hob.told(ADA, 3).await;
    assert_eq!(told[1], "Hi.");
    assert_eq!(told[2], "(The budget for a day is nearly used up: $0.14 of $0.10 are spent.)");
    hob.say(ADA, "Hello");
    let told = hob.told(ADA, 4).await.pop().unwrap();
    assert!(told.starts_with("The budget for a day is used up: $0.14 of $0.10 are spent or set aside."), "{told}");
}

#[tokio::test]
async fn n10_a_crash_gives_nothing_back_that_may_be_spent() {
    let mut hob = TestHob::running(&format!("{PRICED}\n[budget]\nday_usd = 50.0")).await;
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).words("Lost.").finish("stop").into());
    hob.say(ADA, "Hello");
    gate.reached().await;
    hob.model.reply(Reply::text("Hi, Ada."));
    hob.restart().await;
    assert_eq!(hob.told(ADA, 1).await, ["Hi, Ada."], "its own reserve does not stand in its way");
    hob.stop().await;
    let calls: Vec<(String, bool, bool)> =
        hob.rows("SELECT state, cost > 0, user_id IS NOT NULL FROM model_calls ORDER BY asked_seq").await;
    let billed = |state: &str| (state.to_owned(), true, true);
    assert_eq!(calls, [billed("lost"), billed("answered")]);
}
