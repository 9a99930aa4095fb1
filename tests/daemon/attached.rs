//! `hob chat` and `hob ask` beside a running Hob: windows onto the same hob.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};

use crate::typed::Person;
use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fifo::Fifo;
use hob_testkit::process::{HobProcess, hob_command, within};
use hob_testkit::test_hob::{ADA, TestHob};

async fn echoing(settings: &str) -> TestHob {
    let mut hob = TestHob::with(settings).await;
    hob.model.otherwise(|asked| Reply::text(&format!("You said {}", asked.last_text().lines().last().unwrap())));
    hob.start().await;
    hob
}

/// A window with a script at it.
struct Window {
    process: HobProcess,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Window {
    fn open(hob: &TestHob, arguments: &[&str]) -> Self {
        let mut command = hob_command(hob.home.path(), &[&["chat"], arguments].concat());
        command.stdin(Stdio::piped());
        let mut process = HobProcess::start(command);
        let (stdin, lines) = (process.stdin(), process.stdout().lines());
        Self { process, stdin, lines }
    }

    async fn says(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn hears(&mut self) -> String {
        within("line in a window", self.lines.next_line()).await.unwrap().unwrap()
    }
}

/// A tool with an effect that takes its time.
const EFFECT: &str = r#"
[tools.effect]
sandbox = false
trusted_output = true
description = "Has an effect."
command = ["/bin/sh", "-c", "echo up > $HOME/up; read line < $HOME/go; echo did it"]
"#;

/// Asks one question; returns the exit code and what was printed.
async fn asked(hob: &TestHob, arguments: &[&str]) -> (Option<i32>, String) {
    let mut process = HobProcess::start(hob_command(hob.home.path(), &[&["ask"], arguments].concat()));
    let mut printed = String::new();
    within("end of the output", process.stdout().read_to_string(&mut printed)).await.unwrap();
    (process.ended().await.code(), printed)
}

#[tokio::test]
async fn f7_k2_two_windows_show_one_conversation_and_a_new_one_shows_its_own() {
    let hob = echoing("").await;
    let (mut one, mut two, mut other) =
        (Window::open(&hob, &[]), Window::open(&hob, &[]), Window::open(&hob, &["--new"]));
    one.says("first").await;
    assert_eq!(one.hears().await, "You said first");
    two.says("second").await;
    while two.hears().await != "You said second" {}
    assert_eq!(one.hears().await, "You said second");
    other.says("elsewhere").await;
    assert_eq!(other.hears().await, "You said elsewhere");
    one.says("third").await;
    assert_eq!(one.hears().await, "You said third", "what is said elsewhere is not shown here");
    drop(one.stdin);
    assert!(one.process.ended().await.success());
    // The daemon goes on.
    hob.say(ADA, "hello");
    assert_eq!(hob.told(ADA, 1).await, ["You said hello"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn f7_k2_a_window_approves_and_stops() {
    const PAY: &str = r#"
[tools.pay]
sandbox = false
trusted_output = true
description = "Pays."
command = ["/bin/sh", "-c", "echo paid >> $HOME/paid; echo paid"]
approval = "ask"
"#;
    let hob = echoing(PAY).await;
    hob.model.reply(Reply::call("pay", "{}"));
    hob.model.reply(Reply::text("Paid."));
    let mut window = Window::open(&hob, &[]);
    window.says("Pay Ben").await;
    while !window.hears().await.starts_with("1. ") {}
    assert_eq!(hob.lines("paid"), Vec::<String>::new());
    window.says("1").await;
    while window.hears().await != "Paid." {}
    assert_eq!(hob.lines("paid"), ["paid"]);

    let gate = Gate::default();
    hob.model.reply(Script::default().text("Let me").gate(&gate).text(" think.").finish("stop").into());
    window.says("Think hard").await;
    hob.asked(3).await;
    let mut second = Person::sit_down(&hob);
    second.sees("> ").await;
    second.types("/stop\r").await;
    within("dropped stream", hob.model.dropped(1)).await;
    second.sees("Stopped.").await;
    while window.hears().await != "Stopped." {}
    gate.open();
}

#[tokio::test]
async fn f7_k2_a_person_at_a_window_sees_a_reply_grow() {
    let mut hob = echoing("").await;
    let gate = Gate::default();
    hob.model.reply(Script::default().text("It is ").gate(&gate).text("noon.").finish("stop").into());
    let mut person = Person::sit_down(&hob);
    person.sees("a window onto the Hob that runs here").await;
    person.sees("> ").await;
    person.types("What time is it?\r").await;
    person.sees("It is").await;
    gate.open();
    person.sees("noon.").await;
    std::fs::write(hob.path("note.txt"), "the gate is green").unwrap();
    hob.model.reply(Reply::text("A note."));
    person.types("/attach note.txt what is it\r").await;
    person.sees("A note.").await;
    assert!(hob.model.requests().last().unwrap().last_text().contains("note.txt"));
    hob.stop().await;
    person.sees("the Hob that ran here has ended").await;
}

#[tokio::test]
async fn f7_k2_windows_open_onto_a_chat_without_a_service() {
    let hob = TestHob::new().await;
    hob.model.otherwise(|asked| Reply::text(&format!("You said {}", asked.last_text().lines().last().unwrap())));
    let mut first = Person::sit_down(&hob);
    first.sees("openai-compatible/fake answers").await;
    first.sees("> ").await;
    let mode = std::fs::metadata(hob.path("data/hob.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut second = Person::sit_down(&hob);
    second.sees("a window onto the Hob that runs here").await;
    second.sees("> ").await;
    second.types("hello\r").await;
    second.sees("You said hello").await;
    // As at a service, each shows what is asked and said in the other.
    first.sees("> hello").await;
    first.sees("You said hello").await;
    first.types("good day\r").await;
    first.sees("You said good day").await;
    second.sees("> good day").await;
    second.sees("You said good day").await;
    // A file, by whoever runs it; a question beside it; another conversation, of which neither hears.
    std::fs::write(hob.path("note.txt"), "the gate is green").unwrap();
    first.types("/attach note.txt what is it\r").await;
    second.sees("[note.txt] what is it").await;
    assert!(asked(&hob, &["by", "the", "way"]).await.1.contains("You said by the way"));
    second.sees("You said by the way").await;
    assert_eq!(asked(&hob, &["--new", "elsewhere"]).await, (Some(0), "You said elsewhere\n".to_owned()));
    second.types("bye\r").await;
    first.sees("You said bye").await;
    assert!(!first.has_seen("elsewhere"));
    // With the first, the Hob ends; the next runs one itself.
    first.types("\u{4}").await;
    second.sees("the Hob that ran here has ended: `hob chat` again").await;
    let mut next = Person::sit_down(&hob);
    next.sees("openai-compatible/fake answers").await;
    hob.nothing_refused();
}

#[tokio::test]
async fn f7_k2_windows_open_onto_a_script_and_onto_a_question() {
    let hob = TestHob::new().await;
    hob.model.otherwise(|asked| Reply::text(&format!("You said {}", asked.last_text().lines().last().unwrap())));
    let mut script = Window::open(&hob, &[]);
    script.says("first").await;
    assert_eq!(script.hears().await, "You said first");
    let mut person = Person::sit_down(&hob);
    person.sees("a window onto the Hob that runs here").await;
    person.sees("> ").await;
    person.types("second\r").await;
    assert_eq!(script.hears().await, "You said second");
    // What is asked elsewhere when the script is over is answered before its Hob ends.
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).words("Here you are.").finish("stop").into());
    let ends = async {
        hob.asked(3).await;
        drop(script.stdin);
        assert_eq!(within("end of the output", script.lines.next_line()).await.unwrap(), None);
    };
    let opens = async {
        hob.asked(3).await;
        gate.open();
    };
    let (asked_beside, ..) = tokio::join!(asked(&hob, &["--new", "elsewhere"]), ends, opens);
    assert_eq!(asked_beside, (Some(0), "Here you are.\n".to_owned()));
    assert!(script.process.ended().await.success());
    person.sees("the Hob that ran here has ended: `hob chat` again").await;

    // Two questions at once: one of them runs the Hob, and the other is asked there.
    let (one, two) = (Gate::default(), Gate::default());
    hob.model.reply(Script::default().gate(&one).words("Yes.").finish("stop").into());
    hob.model.reply(Script::default().gate(&two).words("Yes.").finish("stop").into());
    let opens = async {
        hob.asked(5).await;
        one.open();
        two.open();
    };
    let (first, second, ()) =
        tokio::join!(asked(&hob, &["--new", "is it"]), asked(&hob, &["--new", "is it not"]), opens);
    let yes = (Some(0), "Yes.\n".to_owned());
    assert_eq!((first, second), (yes.clone(), yes));
    hob.nothing_refused();
}

#[tokio::test]
async fn f7_k2_what_is_asked_in_one_window_stands_in_the_other() {
    let hob = echoing("").await;
    let mut person = Person::sit_down(&hob);
    person.sees("a window onto the Hob that runs here").await;
    person.sees("> ").await;
    let mut script = Window::open(&hob, &[]);
    script.says("first").await;
    person.sees("> first").await;
    person.sees("You said first").await;
    assert_eq!(script.hears().await, "You said first", "what the script itself asked is not told to it");
    person.types("second\r").await;
    assert_eq!(script.hears().await, "You said second", "a script reads answers alone");
    hob.nothing_refused();
}

#[tokio::test]
async fn f7_k2_what_nobody_was_there_to_read_waits_for_a_window() {
    let mut hob = echoing("").await;
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).words("Here you are.").finish("stop").into());
    let mut window = Window::open(&hob, &[]);
    window.says("Give me that").await;
    hob.asked(1).await;
    window.process.kill().await;
    gate.open();
    hob.process().until_log("nobody is at this terminal").await;
    let mut next = Window::open(&hob, &[]);
    assert_eq!(next.hears().await, "Here you are.");
    hob.restart().await;
}

#[tokio::test]
async fn f7_k2_one_question_has_one_answer_and_an_exit_code() {
    let mut hob = echoing("").await;
    assert_eq!(asked(&hob, &["how", "are you"]).await, (Some(0), "You said how are you\n".to_owned()));
    let (code, printed) = asked(&hob, &["--json", "--new", "hello"]).await;
    let told: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &told["reply"], &told["ended"]), (Some(0), &"You said hello".into(), &"done".into()));
    hob.model.reply(Reply::status(401));
    let (code, printed) = asked(&hob, &["hello"]).await;
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.starts_with("I could not get an answer"), "{printed}");
    // Where none runs, it is answered here.
    hob.stop().await;
    assert_eq!(asked(&hob, &["alone"]).await, (Some(0), "You said alone\n".to_owned()));
}

#[tokio::test]
async fn e3_one_question_waits_for_the_agents_that_it_is_handed_to() {
    let mut hob = TestHob::new().await;
    hob.model.otherwise(|asked| {
        if asked.last_role() == "tool" {
            return Reply::text("The report is in.");
        }
        if asked.system().contains("You are an agent of Hob's") {
            return Reply::text("It is dry.");
        }
        Reply::call("spawn_agent", r#"{"mission": "You dig.", "task": "Dig."}"#)
    });
    let answered = (Some(0), "The report is in.\n".to_owned());
    assert_eq!(asked(&hob, &["dig"]).await, answered, "alone");
    // The last line of a script is answered before the script is over.
    let mut script = Window::open(&hob, &[]);
    script.says("dig").await;
    drop(script.stdin);
    assert_eq!(within("line of a script", script.lines.next_line()).await.unwrap().unwrap(), "The report is in.");
    assert!(script.process.ended().await.success());
    hob.start().await;
    assert_eq!(asked(&hob, &["dig"]).await, answered, "beside a daemon");
    hob.nothing_refused();
}

#[tokio::test]
async fn b7_ctrl_c_twice_stops_at_once() {
    let hob = echoing(EFFECT).await;
    let (mut up, _go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    let mut asking = Person::sit_down(&hob);
    asking.sees("> ").await;
    let mut later = None;
    // In the window that asked, and in one that is opened while the tool runs.
    for in_another in [false, true] {
        hob.model.reply(Reply::call("effect", "{}"));
        asking.types("Go\r").await;
        up.line().await;
        let person = if in_another {
            let later = later.insert(Person::sit_down(&hob));
            later.sees("> ").await;
            later
        } else {
            &mut asking
        };
        person.types("\u{3}").await;
        person.sees("Stopping once").await;
        person.types("\u{3}").await;
        person.sees("under way").await;
    }
    hob.nothing_refused();
}
