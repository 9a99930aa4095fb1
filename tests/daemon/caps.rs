//! Caps of a person and of a persona beside the house's, on money and on tokens, whatever they go to (row C2).

use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_model::tokens;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde_json::json;

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::fake_transcription::FakeTranscription;
use hob_testkit::test_hob::{ADA, BOB, OWNER, TestHob};
use sqlx::AssertSqlSafe;

/// A token that is written costs a cent; a reply is seven.
const PRICED: &str =
    "[provider]\nmax_output_tokens = 1\n[models.'openai-compatible/fake']\ninput_usd = 0.0\noutput_usd = 10_000.0";

/// Ada and Bob talk with the cook.
const COOK: &str = "[telegram]\npersonas = { '7' = 'cook', '8' = 'cook' }\n[personas.cook]\nprompt = 'You cook.'\n";

/// An answer for which so many tokens are read.
fn read(tokens: u64) -> Reply {
    Script::default().text("Yes.").reads(tokens).finish("stop").into()
}

/// What the sums say: of whom, as which persona, how many tokens.
async fn sums(hob: &TestHob) -> Vec<(String, String, i64)> {
    let sums =
        "SELECT u.name, s.persona, sum(s.input_tokens + s.output_tokens) FROM spend s JOIN users u ON u.id = s.user_id
                GROUP BY 1, 2 ORDER BY 1, 2";
    hob.rows(sums).await
}

#[tokio::test]
async fn c2_a_persons_month_of_money_is_the_calendars_in_the_houses_zone() {
    // Where the next day begins first.
    let zone = TimeZone::get("Pacific/Kiritimati").unwrap();
    let settings = format!(
        "{PRICED}\n[agent]\ntime_zone = 'Pacific/Kiritimati'\n[budget]\nperson_month_usd = 1.0\nperson_hour_usd = 0.5"
    );
    let mut hob = TestHob::running(&settings).await;
    hob.ask(ADA, "Hello", Reply::text("Hi.")).await;
    hob.recorded(1).await;
    let begun = SystemClock.now().to_zoned(zone).first_of_month().unwrap().start_of_day().unwrap();
    let spend = async |hob: &TestHob, at: Timestamp| {
        let quarter = at.as_millisecond().div_euclid(900_000);
        let row = format!(
            "INSERT INTO spend SELECT {quarter}, user_id, 'else', '', 1, 0, 5, 5, 0, 0, 0, 950000000, 0 FROM identities
             WHERE external_id = '7'"
        );
        hob.execute(AssertSqlSafe(row)).await;
    };
    // The last quarter of an hour of the month before is none of this month's.
    spend(&hob, (&begun - 1.minute()).timestamp()).await;
    assert_eq!(hob.ask(ADA, "And now?", Reply::text("Hi.")).await, "Hi.");
    spend(&hob, begun.timestamp()).await;
    hob.say(ADA, "And now?");
    let told = hob.told(ADA, 3).await.pop().unwrap();
    let until = begun.checked_add(1.month()).unwrap().strftime("%A, %-d %B, %H:%M").to_string();
    assert!(told.starts_with("The budget for one person's month is used up: $1.09 of $1.00 are spent"), "{told}");
    assert!(
        told.contains(&format!("after {until}; or whoever runs me raises person_month_usd under [budget]")),
        "{told}"
    );
    // It is hers alone.
    assert_eq!(hob.ask(BOB, "Hello", Reply::text("Hi.")).await, "Hi.");
    assert_eq!(hob.model.requests().len(), 3);
}

#[tokio::test]
async fn c2_a_persons_hour_of_money_is_theirs() {
    let hob = TestHob::running(&format!("{PRICED}\n[budget]\nperson_hour_usd = 0.1")).await;
    hob.model.otherwise(|_asked| Reply::text("Hi."));
    for count in [1, 2] {
        hob.say(ADA, "Hello");
        hob.told(ADA, count).await;
    }
    let note = hob.told(ADA, 3).await.pop().unwrap();
    assert_eq!(note, "(The budget for one person's hour is nearly used up: $0.14 of $0.10 are spent.)");
    hob.say(ADA, "Hello");
    let told = hob.told(ADA, 4).await.pop().unwrap();
    assert!(told.starts_with("The budget for one person's hour is used up: $0.14 of $0.10"), "{told}");
    hob.say(BOB, "Hello");
    assert_eq!(hob.told(BOB, 1).await, ["Hi."]);
    hob.say(BOB, "/cost");
    let bill = hob.told(BOB, 2).await.pop().unwrap();
    assert!(bill.contains("\nBudgets: $0.07 of $0.10 for one person's hour"), "{bill}");
}

#[tokio::test]
async fn c2_a_personas_hour_of_tokens_is_everybodys_who_talks_with_it() {
    let hob = TestHob::running(&format!("{COOK}hour_tokens = 3000")).await;
    assert_eq!(hob.ask(ADA, "Soup?", read(2_293)).await, "Yes.");
    hob.say(BOB, &"Cake? ".repeat(400));
    let told = hob.told(BOB, 1).await.pop().unwrap();
    assert!(
        told.starts_with("The tokens for an hour as cook do not allow the next step: 2300 of 3000 are used"),
        "{told}"
    );
    assert!(told.contains("raises hour_tokens under [personas.cook] in config.toml."), "{told}");
    // Whoever Hob is for others has tokens of its own.
    assert_eq!(hob.ask(OWNER, "Hello", read(9_000)).await, "Yes.");
    hob.say(BOB, "/persona default");
    hob.told(BOB, 2).await;
    hob.say(ADA, "/cost");
    let bill = hob.told(ADA, 2).await.pop().unwrap();
    assert!(bill.contains("\nBudgets: 2300 of 3000 tokens for an hour as cook"), "{bill}");
    let expected = [("Person 1", "", 9_007), ("Person 7", "cook", 2_300)];
    assert_eq!(sums(&hob).await, expected.map(|(name, persona, tokens)| (name.into(), persona.into(), tokens)));
    hob.nothing_refused();
}

#[tokio::test]
async fn c2_a_personas_month_of_money_holds_for_runs_at_once() {
    // A call sets a reply of 4,096 tokens aside: $40.96.
    let prices = "[models.'openai-compatible/fake']\ninput_usd = 0.0\noutput_usd = 10_000.0\n";
    let hob = TestHob::running(&format!("{prices}{COOK}month_usd = 50.0")).await;
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).words("Yes.").finish("stop").into());
    hob.say(ADA, "Soup?");
    gate.reached().await;
    hob.say(BOB, "Cake?");
    let told = hob.told(BOB, 1).await.pop().unwrap();
    assert!(
        told.starts_with("The budget for a month as cook does not allow the next step: $40.96 of $50.00"),
        "{told}"
    );
    assert!(told.contains("raises month_usd under [personas.cook] in config.toml."), "{told}");
    gate.open();
    hob.told(ADA, 1).await;
    assert_eq!(hob.ask(BOB, "And now?", Reply::text("Yes.")).await, "Yes.", "what was not spent is free again");
}

#[tokio::test]
async fn c2_what_has_no_known_price_is_stopped_by_its_tokens() {
    let hob = TestHob::running("[budget]\nmonth_usd = 0.01\nmonth_tokens = 20_000").await;
    assert_eq!(hob.ask(OWNER, "Hello", read(15_000)).await, "Yes.", "money alone never stops it");
    hob.model.reply(read(3_000));
    hob.say(ADA, "Hello");
    let told = hob.told(ADA, 2).await;
    assert_eq!(told[1], "(The budget for a month is nearly used up: 18014 of 20000 tokens are spent.)");
    hob.say(OWNER, &"Hello ".repeat(2_000));
    let told = hob.told(OWNER, 2).await.pop().unwrap();
    assert!(
        told.starts_with("The house's tokens for a month do not allow the next step: 18014 of 20000 are used"),
        "{told}"
    );
    assert!(told.contains("raises month_tokens under [budget] in config.toml."), "{told}");
    assert_eq!(hob.model.requests().len(), 2);
}

#[tokio::test]
async fn c2_what_is_heard_counts_in_the_same_sums() {
    // As the service counts, or else ten tokens a second and those of the words.
    let words = i64::try_from(tokens::count("Soup, please")).unwrap();
    for (model, heard) in [("whisper-1", 120 + words), ("gpt-4o-transcribe", 14 + 9)] {
        let fake = FakeTranscription::start().await;
        fake.hears("Soup, please", 12);
        let service = format!("[transcription]\nmodel = '{model}'\nbase_url = '{}'", fake.base_url());
        let hob = TestHob::running(&format!("{COOK}{service}\n[quotas]\nhour_tokens = 9000")).await;
        let speak = |seconds: u32| {
            let mut voice = hob.telegram.look(|world| world.upload("", "audio/ogg", b"OggS\0\x02\0\0\0\0"));
            voice["duration"] = json!(seconds);
            hob.telegram.post(Post::new(ADA, ADA, "").with(json!({ "voice": voice })));
        };
        hob.model.reply(read(1_000));
        speak(12);
        hob.told(ADA, 1).await;
        // 1,000 and seven are the answer's.
        assert_eq!(sums(&hob).await, [("Person 7".to_owned(), "cook".to_owned(), heard + 1_007)]);
        // A quarter of an hour would be 9,000 of them: nobody is asked, and the message is answered all the same.
        hob.model.reply(read(1_000));
        speak(900);
        hob.told(ADA, 2).await;
        let asked = hob.model.requests();
        let said = asked[1].last_user();
        assert!(said.contains("not transcribed: the budget of 9000 tokens for an hour is used up;"), "{said}");
        assert_eq!(fake.asked(), 1);
        hob.nothing_refused();
    }
}

#[tokio::test]
async fn c2_what_memory_reads_counts_in_the_same_sums() {
    let mut hob = TestHob::running(&format!("{COOK}[quotas]\nhour_tokens = 20_000")).await;
    hob.ask(ADA, "My sister Berta works at the library in Graz", read(1_000)).await;
    hob.recorded(1).await;
    hob.stop().await;
    let a_day = "UPDATE memories SET at = at - 86400000;
                 UPDATE episodes SET began_at = began_at - 86400000, ended_at = ended_at - 86400000;
                 UPDATE messages SET at = at - 86400000;";
    hob.execute(a_day).await;
    let script = Script::default().fragment(0, Some("c"), Some("record_facts"), r#"{"facts": []}"#);
    hob.model.reply(script.reads(18_980).finish("tool_calls").into());
    hob.start().await;
    hob.process().until_logged("memory.extracted", 1).await;
    assert_eq!(sums(&hob).await, [("Person 7".to_owned(), "cook".to_owned(), 1_007 + 18_987)]);
    hob.say(ADA, "Where does she work?");
    let told = hob.told(ADA, 2).await.pop().unwrap();
    assert!(told.starts_with("Your tokens for an hour do not allow the next step: 19994 of 20000 are used"), "{told}");
    hob.nothing_refused();
}
