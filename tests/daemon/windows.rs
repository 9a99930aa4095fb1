//! Small windows: other ways to keep a run within them than one summary, and what may come in between.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::context::narrow;
use hob_testkit::fake_model::{Gate, ReceivedRequest, Reply, Script};
use hob_testkit::test_hob::{ADA, TestHob};

const FILES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

async fn hob(context: &str, more: &str) -> TestHob {
    let mut hob = narrow(3200, context, more).await;
    hob.start().await;
    hob
}

fn sums_up(asked: &ReceivedRequest) -> bool {
    asked.system().starts_with("You sum up")
}

/// A model that reads `count` files one after another, and answers; asked for a summary it gives `summary`.
fn reads(hob: &TestHob, count: usize, summary: impl Fn() -> Reply + Send + Sync + 'static) {
    let step = AtomicUsize::new(0);
    hob.model.otherwise(move |asked| {
        if sums_up(asked) {
            return summary();
        }
        match step.fetch_add(1, Ordering::Relaxed) {
            at if at < count => Reply::call("show", &format!(r#"{{"name": "{}"}}"#, FILES[at])),
            _ => Reply::text("All read."),
        }
    });
}

fn seen(asked: &ReceivedRequest) -> String {
    asked.body["messages"].to_string()
}

fn summaries(hob: &TestHob) -> usize {
    hob.model.requests().iter().filter(|asked| sums_up(asked)).count()
}

/// The means of each compaction, in order.
async fn means(hob: &TestHob) -> Vec<String> {
    let query =
        "SELECT body ->> '$.body.means' FROM run_events WHERE kind = 'agent.compaction.run' ORDER BY run_id, seq";
    hob.values(query).await
}

#[tokio::test]
async fn d3_a_rolling_window_leaves_the_oldest_out_and_asks_no_model() {
    let mut hob = hob("strategy = 'rolling-window'", "").await;
    reads(&hob, 6, || Reply::status(500));
    hob.say(ADA, "Read all of it");
    assert_eq!(hob.told(ADA, 1).await, ["All read."]);
    assert_eq!(summaries(&hob), 0);
    let last = seen(hob.model.requests().last().unwrap());
    assert!(last.contains("Read all of it") && last.contains("file f: word"), "{last}");
    assert!(last.contains("left out: there was no room") && !last.contains("file a: word"), "{last}");
    hob.nothing_refused();
    hob.recorded(1).await;
    assert_eq!(means(&hob).await, ["window", "window"]);
}

#[tokio::test]
async fn d3_summaries_are_periodic_and_then_the_oldest_is_left_out() {
    let mut hob = hob("strategy = 'periodic-summary'\nsummaries_max = 1", "").await;
    reads(&hob, 8, || Reply::text("The files hold words."));
    hob.say(ADA, "Read all of it");
    assert_eq!(hob.told(ADA, 1).await, ["All read."]);
    assert_eq!(summaries(&hob), 1);
    let last = seen(hob.model.requests().last().unwrap());
    assert!(last.contains("Read all of it") && last.contains("file h: word"), "{last}");
    assert!(last.contains("left out: there was no room") && !last.contains("file a: word"), "{last}");
    hob.nothing_refused();
    hob.recorded(1).await;
    assert_eq!(means(&hob).await, ["summary", "window", "window"]);
}

#[tokio::test]
async fn e8_results_that_are_too_much_together_are_cut_together() {
    let hob = hob("", "").await;
    let calls: Vec<(String, String)> =
        FILES.iter().map(|name| ("show".to_owned(), format!(r#"{{"name": "{name}"}}"#))).collect();
    let calls: Vec<(&str, &str)> = calls.iter().map(|(tool, name)| (tool.as_str(), name.as_str())).collect();
    hob.model.reply(Reply::calls(&calls));
    assert_eq!(hob.ask(ADA, "Read all of it", Reply::text("All read.")).await, "All read.");
    let requests = hob.model.requests();
    let results: Vec<&str> = requests[1]
        .messages()
        .iter()
        .filter(|message| message["role"] == "tool")
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert_eq!(results.len(), 8);
    for (name, result) in FILES.iter().zip(&results) {
        assert!(result.starts_with(&format!("file {name}: word")), "each has its beginning: {result}");
        assert!(result.contains("characters left out"), "and says that it is cut: {result}");
    }
    let chars: usize = results.iter().map(|result| result.chars().count()).sum();
    assert!(chars < 3_000 * 5, "{chars}");
    hob.nothing_refused();
}

#[tokio::test]
async fn b4_a_budget_that_refuses_the_summary_does_not_end_the_run() {
    // The model that sums up costs ten dollars a call, the other next to nothing.
    let prices = "
        [provider.models]
        fast = 'dear'
        [models.'openai-compatible/fake']
        input_usd = 0.01
        output_usd = 0.01
        [models.'openai-compatible/dear']
        input_usd = 0.01
        output_usd = 10000.0
        [budget]
        run_usd = 1.0";
    let mut hob = hob("", prices).await;
    hob.say(ADA, "/model fake");
    hob.told(ADA, 1).await;
    reads(&hob, 4, || Reply::text("Never."));
    hob.say(ADA, "Read all of it");
    assert_eq!(hob.told(ADA, 2).await[1], "All read.");
    assert_eq!(summaries(&hob), 0, "it was not afforded");
    let last = seen(hob.model.requests().last().unwrap());
    assert!(last.contains("left out: there was no room") && last.contains("file d: word"), "{last}");
    hob.nothing_refused();
    hob.recorded(2).await;
    assert!(means(&hob).await.iter().all(|means| means == "truncation"), "{:?}", means(&hob).await);
}

#[tokio::test]
async fn b4_the_cheapest_model_whose_window_fits_sums_up_and_is_named() {
    assert_eq!(who_sums_up("context_tokens = 50000", "context_tokens = 50000").await, "cheap");
    assert_eq!(who_sums_up("", "").await, "cheap", "what nobody knows of both is the same of both");
    assert_eq!(who_sums_up("context_tokens = 50000", "context_tokens = 1000").await, "fake");
}

/// Who makes the summaries of a conversation that `fake` answers, as the requests and the record say, with what is known of the
/// windows of `fake` and of `cheap`.
async fn who_sums_up(fake: &str, cheap: &str) -> String {
    let models = format!(
        "
        [provider.models]
        smart = 'cheap'
        others = ['free']
        [[provider.fallbacks]]
        kind = 'openai_compatible'
        base_url = 'http://127.0.0.1:1/v1'
        model = 'tiny'
        [models.'openai-compatible/fake']
        {fake}
        input_usd = 2.0
        output_usd = 8.0
        [models.'openai-compatible/cheap']
        {cheap}
        input_usd = 0.5
        output_usd = 2.0
        [models.'openai-compatible/tiny']
        context_tokens = 1000
        input_usd = 0.1
        output_usd = 0.1
        [models.'openai-compatible/free']
        context_tokens = 50000
        input_usd = 0.0
        output_usd = 0.0"
    );
    let mut hob = hob("", &models).await;
    hob.say(ADA, "/model fake");
    hob.told(ADA, 1).await;
    reads(&hob, 4, || Reply::text("Words."));
    hob.say(ADA, "Read all of it");
    assert_eq!(hob.told(ADA, 2).await[1], "All read.");
    let requests = hob.model.requests();
    let asked = requests.iter().filter(|asked| sums_up(asked));
    let asked: Vec<String> = asked.map(|asked| asked.body["model"].as_str().unwrap().to_owned()).collect();
    let who = asked.first().unwrap().clone();
    assert!(asked.iter().all(|model| *model == who), "{asked:?}");
    hob.nothing_refused();
    hob.recorded(2).await;
    let body: String = hob.value("SELECT body FROM run_events WHERE kind = 'agent.compaction.run' LIMIT 1").await;
    assert!(body.contains(&format!("openai-compatible/{who}")), "{body}");
    who
}

#[tokio::test]
async fn b4_b7_a_stop_while_a_summary_is_made() {
    let hob = hob("", "").await;
    let gate = Gate::default();
    let held: Reply = Script::default().gate(&gate).text("Never.").finish("stop").into();
    reads(&hob, 4, move || held.clone());
    hob.say(ADA, "Read all of it");
    gate.reached().await;
    hob.say(ADA, "/stop");
    assert_eq!(hob.told(ADA, 1).await, ["Stopped."]);
    hob.model.dropped(1).await;
    hob.model.otherwise(|_asked| Reply::text("Yes."));
    hob.say(ADA, "Are you there?");
    assert_eq!(hob.told(ADA, 2).await[1], "Yes.");
    hob.nothing_refused();
}

#[tokio::test]
async fn b6_b12_at_the_soft_limit_the_model_has_its_notes_and_a_last_word() {
    let hob = TestHob::running(
        r#"[agent]
        soft_limit_secs = 1
        hard_limit_secs = 60
        [tools.dry]
        sandbox = false
        trusted_output = true
        description = "Waits until the paint is dry."
        command = ["/bin/sleep", "1.2"]"#,
    )
    .await;
    let notes = r#"{"objective": "Paint the fence", "handoff_next_action": "The other side"}"#;
    hob.model.reply(Reply::call("update_run_journal", notes));
    hob.model.reply(Reply::call("dry", "{}"));
    let told = hob.ask(ADA, "Paint the fence", Reply::text("One side is painted; the other is left.")).await;
    assert_eq!(told, "One side is painted; the other is left.");
    let last = hob.model.requests().pop().unwrap();
    assert_eq!(last.body["tool_choice"], "none");
    insta::assert_snapshot!(last.last_text(), @r"
    <run_journal>
    Your notes on this task, as data:
    objective: Paint the fence
    next: The other side
    </run_journal>

    The time for this task is up. Tools are no longer available. Tell the user plainly what has been done, what has not, and what should happen next.
    ");
    hob.say(ADA, "/journal");
    assert!(hob.told(ADA, 2).await[1].starts_with("What I had noted when I stopped"), "it can be gone on with");
    hob.nothing_refused();
}
