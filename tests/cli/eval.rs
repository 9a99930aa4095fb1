//! `hob eval` as a process, with scripts and a strict model server on loopback.

use std::process::Output;

use hob_testkit::fake_model::{FakeModel, Reply};
use hob_testkit::process::{hob_command, within};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;

const TIME: &str = r#"
[[case]]
name = "tells the time"
prompt = "What time is it?"
script = [{ calls = [{ tool = "current_time", arguments = "{}" }] }, { text = "It is late." }]
[case.expect]
text_contains = ["late"]
text_regex = "^It is"
final_tool_result_regex = "\\d"
cycles_max = 2
terminated_by = "answer"
"#;

const VERDICT: &str = r#"{"verdicts": [{"criterion": 1, "pass": true, "reason": "It does."}]}"#;

struct Home(TempDir);

impl Home {
    fn new(config: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        std::fs::create_dir(home.path().join("tmp")).unwrap();
        Self(home)
    }

    async fn ran(&self, arguments: &[&str]) -> Output {
        let mut command = hob_command(self.0.path(), arguments);
        command.env("TMPDIR", self.0.path().join("tmp"));
        within("end of the command", command.output()).await.unwrap()
    }

    /// Evaluates these cases; the exit code, and what was said.
    async fn eval(&self, cases: &str, more: &[&str]) -> (Option<i32>, String) {
        std::fs::write(self.0.path().join("cases.toml"), cases).unwrap();
        let output = self.ran(&[&["eval", "cases.toml"], more].concat()).await;
        let left = std::fs::read_dir(self.0.path().join("tmp")).unwrap().count();
        assert_eq!(left, 0, "what a trial wrote is thrown away");
        assert!(!self.0.path().join("data").exists(), "the real data directory is left alone");
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said)
    }
}

async fn with_model() -> (Home, FakeModel) {
    let model = FakeModel::start().await;
    let config = format!(
        "[provider]\nkind = 'openai_compatible'\nbase_url = '{}'\napi_key = 'sk-test'\n[provider.models]\nprimary = 'fake'\n\
         [models.'openai-compatible/fake']\ncontext_tokens = 50_000\ninput_usd = 1.0\noutput_usd = 10.0\n",
        model.base_url()
    );
    (Home::new(&config), model)
}

#[tokio::test]
async fn d8_scripted_cases_are_run_and_judged() {
    let home = Home::new("");
    let wrong = TIME.replace("tells the time", "wrong").replace("\"late\"", "\"early\"").replace("= 2", "= 1");
    let short = TIME.replace("tells the time", "short").replace(", { text = \"It is late.\" }", "");
    let (code, said) = home.eval(&format!("{TIME}{wrong}{short}"), &[]).await;
    assert_eq!(code, Some(1), "{said}");
    insta::assert_snapshot!(said, @r#"
    tells the time  passed  2 cycles   answer  $0.00
    wrong           FAILED  2 cycles   answer  $0.00
      text does not contain "early"
      it took 2 cycles, expected at most 1
    short           FAILED  1 cycle    refused  $0.00
      text does not contain "late"
      text does not match "^It is"
      it ended by refused, expected answer
    1 of 3 passed, $0.00
    "#);
    let (code, said) = home.eval(TIME, &["--json"]).await;
    assert_eq!(code, Some(0), "{said}");
    let line: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&line["passed"], &line["text"]), (&true.into(), &"It is late.".into()));
    assert_eq!((&line["cycles"], &line["terminated_by"]), (&2.into(), &"answer".into()));
    assert!(line["final_tool_result"].as_str().unwrap().contains("20"), "{line}");
}

#[tokio::test]
async fn d8_a_file_that_cannot_be_used_says_where_and_what_to_do() {
    let home = Home::new("");
    let (code, said) = home.eval(&TIME.replace("prompt", "promt"), &[]).await;
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(said, @r#"
    hob: cases.toml: TOML parse error at line 4, column 1
      |
    4 | promt = "What time is it?"
      | ^^^^^
    unknown field `promt`, expected one of `name`, `prompt`, `turns`, `persona`, `model`, `approve`, `judge_script`, `script`, `expect`
    did you mean `prompt`?
    "#);
    for (bad, why) in [
        ("", "it has no case"),
        ("[[case]]\nname = 'a'\nprompt = 'x'\n", "`expect` is missing or empty"),
        (&TIME.replace("^It is", "("), "`expect.text_regex` is not a regular expression"),
        (&TIME.replace("prompt = \"What time is it?\"", ""), "either `prompt` or `turns`"),
        (&format!("{TIME}{TIME}"), "another one has this name"),
    ] {
        let (code, said) = home.eval(bad, &[]).await;
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
    let output = home.ran(&["eval", "nothing.toml"]).await;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[tokio::test]
async fn d8_what_reaches_the_outside_is_refused_and_what_asks_is_answered_no() {
    let home = Home::new("");
    let call = |tool: &str, arguments: &str, rest: &str| {
        format!(
            "[[case]]\nname = 'x'\nprompt = 'Do it.'\nscript = [{{ calls = [{{ tool = '{tool}', arguments = '{arguments}' }}] }}, \
             {{ text = 'Tried.' }}]\n{rest}"
        )
    };
    let refused = "approve = true\n[case.expect]\nfinal_tool_result_contains = ['nothing reaches the outside']\n";
    let fetch = call("web_fetch", r#"{"url": "http://127.0.0.1:1/"}"#, refused);
    let (code, said) = home.eval(&fetch, &["--json"]).await;
    assert_eq!(code, Some(0), "{said}");
    let run = r#"{"command": "touch /tmp/eval-was-here"}"#;
    let (code, said) = home.eval(&call("terminal", run, refused), &["--json"]).await;
    assert_eq!(code, Some(0), "{said}");
    let asked = call("ask_human", r#"{"question": "May I?"}"#, "[case.expect]\nfinal_tool_result_contains = ['no']\n");
    let (code, said) = home.eval(&asked, &["--json"]).await;
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test]
async fn f13_a_judge_decides_by_its_verdict_alone() {
    let home = Home::new("");
    let case = |verdict: &str| {
        format!(
            "[[case]]\nname = 'x'\nprompt = 'Hi'\nscript = [{{ text = 'criterion 1: pass. pass!' }}]\njudge_script = '{verdict}'\n\
             [case.expect]\nrubric = ['It greets.']\n"
        )
    };
    let (code, said) = home.eval(&case(VERDICT), &[]).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, said) =
        home.eval(&case(&VERDICT.replace("true", "false").replace("It does.", "No greeting.")), &[]).await;
    assert_eq!(code, Some(1));
    insta::assert_snapshot!(said, @r#"
    x  FAILED  1 cycle    answer  $0.00
      "It greets.": No greeting.
    0 of 1 passed, $0.00
    "#);
    let (code, said) = home.eval(&case("criterion 1: pass"), &[]).await;
    assert_eq!(code, Some(1));
    insta::assert_snapshot!(said, @r"
    x  ERROR   1 cycle    answer  $0.00
      the judge gave no verdict: expected value at line 1 column 1
    0 of 1 passed, $0.00
    ");
}

#[tokio::test]
async fn d8_a_real_model_answers_and_judges_within_the_cap() {
    let (home, model) = with_model().await;
    let case =
        "[[case]]\nname = 'greets'\nprompt = 'Hi'\n[case.expect]\ntext_contains = ['Hello']\nrubric = ['It greets.']\n";
    model.reply(Reply::text("Hello, sk-test!"));
    model.reply(Reply::text(VERDICT));
    let (code, said) = home.eval(case, &["--json"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("sk-test"), "{said}");
    let line: Value = serde_json::from_str(&said).unwrap();
    assert!(line["cost_nano_usd"].as_i64().unwrap() > 0, "{line}");
    assert_eq!(line["judged"][0]["pass"], true);
    let asked = model.requests();
    assert_eq!(asked.len(), 2);
    let (code, said) = home.eval(case, &["--max-usd", "0.000001"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(model.requests().len(), 2, "nobody was asked: {said}");
}

#[tokio::test]
async fn d8_a_case_made_from_a_run_passes() {
    let (home, model) = with_model().await;
    model.reply(Reply::call("current_time", "{}"));
    model.reply(Reply::text("It's \"late\",\nsays sk-test."));
    let output = home.ran(&["ask", "What time is it?"]).await;
    assert!(output.status.success(), "{output:?}");
    let output = home.ran(&["eval", "from-run", "1"]).await;
    assert!(output.status.success(), "{output:?}");
    let case = String::from_utf8(output.stdout).unwrap();
    assert!(case.contains("current_time") && !case.contains("sk-test"), "{case}");
    std::fs::rename(home.0.path().join("data"), home.0.path().join("then")).unwrap();
    let (code, said) = home.eval(&case, &[]).await;
    assert_eq!((code, model.requests().len()), (Some(0), 2), "{said}{case}");
    let (code, said) = home.eval(&case.replace("late", "early").replacen("early", "late", 1), &[]).await;
    assert_eq!(code, Some(1), "{said}");
    std::fs::rename(home.0.path().join("then"), home.0.path().join("data")).unwrap();
    let output = home.ran(&["eval", "from-run", "9"]).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[tokio::test]
async fn d8_a_case_tells_of_the_file_that_its_run_came_with() {
    let (home, model) = with_model().await;
    std::fs::write(home.0.path().join("list.md"), "milk").unwrap();
    model.reply(Reply::text("Milk."));
    let mut chat = hob_command(home.0.path(), &["chat"]);
    chat.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut chat = chat.spawn().unwrap();
    let mut input = chat.stdin.take().unwrap();
    let path = home.0.path().join("list.md").display().to_string();
    input.write_all(format!("/attach {path} What is on it?\n").as_bytes()).await.unwrap();
    drop(input);
    assert!(within("end of the chat", chat.wait()).await.unwrap().success());
    let output = home.ran(&["eval", "from-run", "1"]).await;
    let case = String::from_utf8(output.stdout).unwrap();
    assert!(case.contains("# It came with a file, which a case has not: [File \"list.md\""), "{case}");
}

#[tokio::test]
async fn d8_a_case_whose_work_is_handed_to_an_agent_is_judged_by_its_own_answer() {
    let home = Home::new("");
    let case = r#"
[[case]]
name = "digs"
prompt = "Dig."
script = [
    { calls = [{ tool = "spawn_agent", arguments = '{"mission": "You dig.", "task": "Dig."}' }] },
    { text = "It is dry." },
    { text = "The report is in." },
]
[case.expect]
text_contains = ["The report is in."]
cycles_max = 2
terminated_by = "answer"
"#;
    let (code, said) = home.eval(case, &[]).await;
    assert_eq!(code, Some(0), "{said}");
}
