use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::provider::{NoSink, ToolSchema};

fn request(messages: Vec<Message>) -> Request {
    let tools = Tool::ALL.map(|tool| ToolSchema {
        name: tool.name().to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    });
    Request { messages, tools: tools.to_vec().into(), ..Request::default() }
}

fn user(text: &str) -> Message {
    Message::user(text)
}

fn ask(text: &str) -> Completion {
    futures::executor::block_on(Offline.complete(&request(vec![user(text)]), &NoSink)).unwrap()
}

/// What is answered to `text` once its call came to `result`.
fn told(text: &str, result: &str, is_error: bool) -> String {
    let call = ask(text).calls().next().cloned().unwrap();
    let (id, name) = (call.id.clone(), call.name.clone());
    let result = ToolResult { call: id, name, text: result.to_owned(), is_error };
    let model = Message::assistant("", vec![call]);
    let messages = vec![user("hi"), user(text), model, Message::Tool(result)];
    let completion = futures::executor::block_on(Offline.complete(&request(messages), &NoSink)).unwrap();
    assert!(completion.calls().next().is_none());
    completion.text().into_owned()
}

#[test]
fn sentences_become_calls() {
    let sentences = [
        "Remember that my sister's birthday is 3 May.",
        "please remember: the wifi password is hunter2!",
        "Hey Hob, can you remember that Anna likes tea",
        "don’t forget the bins go out on Monday",
        "note: shoe size = 43",
        "Remember the meeting is at 3 p.m.",
        "Merk dir, dass Anna gern Tee trinkt",
        "merk dir: Annas Geburtstag ist der 3. Mai",
        "What do you know about my sister?",
        "WHAT DO YOU KNOW ABOUT ME",
        "do you remember Anna?",
        "when is my sister's birthday?",
        "Was weißt du über Anna?",
        "what did I say about the garden?",
        "Was habe ich über den Garten gesagt?",
        "search for garden",
        "what is my cat called?",
        "Which day did we paint the fence",
        "Wie heißt meine Katze?",
        "remind me in 20 minutes to stretch",
        "please remind me to take the bins out every Monday at 19:00.",
        "remind me tomorrow at 9 that Anna comes",
        "what time is it",
        "Hob, what's the time please?",
        "time?",
        "Wie spät ist es?",
    ];
    let calls: Vec<_> = sentences
        .iter()
        .map(|sentence| {
            let calls = ask(sentence).calls().cloned().collect::<Vec<_>>();
            assert_eq!(calls.len(), 1, "{sentence}");
            format!("{sentence} → {} {}", calls[0].name, calls[0].arguments)
        })
        .collect();
    insta::assert_snapshot!(calls.join("\n"), @r#"
    Remember that my sister's birthday is 3 May. → remember_fact {"category":"birthday","key":"my sister's birthday","value":"3 May"}
    please remember: the wifi password is hunter2! → remember_fact {"category":"household","key":"the wifi password","value":"hunter2"}
    Hey Hob, can you remember that Anna likes tea → remember_fact {"category":"preference","key":"anna likes tea","value":"Anna likes tea"}
    don’t forget the bins go out on Monday → remember_fact {"category":"general","key":"the bins go out on","value":"the bins go out on Monday"}
    note: shoe size = 43 → remember_fact {"category":"general","key":"shoe size","value":"43"}
    Remember the meeting is at 3 p.m. → remember_fact {"category":"general","key":"the meeting","value":"at 3 p.m."}
    Merk dir, dass Anna gern Tee trinkt → remember_fact {"category":"general","key":"anna gern tee trinkt","value":"Anna gern Tee trinkt"}
    merk dir: Annas Geburtstag ist der 3. Mai → remember_fact {"category":"birthday","key":"Annas Geburtstag","value":"der 3. Mai"}
    What do you know about my sister? → recall {"query":"my sister","what":"all"}
    WHAT DO YOU KNOW ABOUT ME → recall {"query":"my","what":"all"}
    do you remember Anna? → recall {"query":"Anna","what":"all"}
    when is my sister's birthday? → recall {"query":"my sister's birthday","what":"all"}
    Was weißt du über Anna? → recall {"query":"Anna","what":"all"}
    what did I say about the garden? → recall {"query":"garden","what":"messages"}
    Was habe ich über den Garten gesagt? → recall {"query":"Garten","what":"messages"}
    search for garden → recall {"query":"garden","what":"all"}
    what is my cat called? → recall {"query":"cat called","what":"all"}
    Which day did we paint the fence → recall {"query":"day paint fence","what":"all"}
    Wie heißt meine Katze? → recall {"query":"heißt katze","what":"all"}
    remind me in 20 minutes to stretch → schedule {"action":"create","when":"in 20 minutes","task":"Remind me: stretch"}
    please remind me to take the bins out every Monday at 19:00. → schedule {"action":"create","when":"every Monday at 19:00","task":"Remind me: take the bins out"}
    remind me tomorrow at 9 that Anna comes → schedule {"action":"create","when":"tomorrow at 9","task":"Remind me: Anna comes"}
    what time is it → current_time {}
    Hob, what's the time please? → current_time {}
    time? → current_time {}
    Wie spät ist es? → current_time {}
    "#);
}

/// What is said to each, without a call.
fn said(sentences: &[&str]) -> String {
    let said = sentences.iter().map(|sentence| {
        let completion = ask(sentence);
        assert!(completion.calls().next().is_none(), "{sentence}");
        format!("> {}\n{}", sentence.escape_debug(), completion.text())
    });
    said.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_it_can_do_is_listed_for_whoever_asks_or_is_lost() {
    insta::assert_snapshot!(said(&["help", "hilfe"]), @r#"
    > help
    No language model is connected, so I understand only a few sentences:
    - remember that my sister's birthday is 3 May
    - what do you know about my sister?
    - what did I say about the garden?
    - search for garden
    - remind me in 20 minutes to stretch
    - remind me to take the bins out every Monday at 19:00
    - what time is it?

    Any other question I look up in what you told me.

    To connect a model, set OPENAI_API_KEY (or ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY), or fill in [provider] in config.toml, or run Ollama on this machine; then start Hob again.
    > hilfe
    Es ist kein Sprachmodell angeschlossen, daher verstehe ich nur wenige Sätze:
    - merk dir: der Geburtstag meiner Schwester ist der 3. Mai
    - was weißt du über meine Schwester?
    - was habe ich über den Garten gesagt?
    - suche nach Garten
    - remind me in 20 minutes to stretch (Erinnerungen nur auf Englisch)
    - wie spät ist es?

    Jede andere Frage schlage ich in dem nach, was du mir gesagt hast.

    Um ein Modell anzuschließen, setze OPENAI_API_KEY (oder ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY), oder trage es unter [provider] in config.toml ein, oder starte Ollama auf diesem Rechner; starte Hob danach neu.
    "#);
    let help = ask("help").text().into_owned();
    let lost = ["?", "Write me a poem", "remember", "do you"];
    insta::assert_snapshot!(said(&lost).replace(&help, "[help]"), @r"
    > ?
    [help]
    > Write me a poem
    I keep that, and find it again when you ask. More of it I did not understand. [help]
    > remember
    I keep that, and find it again when you ask. More of it I did not understand. [help]
    > do you
    I keep that, and find it again when you ask. More of it I did not understand. [help]
    ");
}

#[test]
fn courtesies_and_reminders_are_answered() {
    let sentences = [
        "Hello!",
        "Guten Morgen",
        "Thanks a lot!",
        "Danke.",
        " \n",
        "remind me to stretch",
        "please forget that Eve lives in Bergen.",
        "Vergiss die PIN",
        "[Schedule 3, once. Due today at 9:00.]\nRemind me: stretch",
    ];
    insta::assert_snapshot!(said(&sentences), @r#"
    > Hello!
    Hello! I am Hob, without a language model for now. Say "help" to see what I can do.
    > Guten Morgen
    Hallo! Ich bin Hob, im Moment ohne Sprachmodell. Sag „Hilfe“, um zu sehen, was ich kann.
    > Thanks a lot!
    You're welcome.
    > Danke.
    Gern geschehen.
    >  \n
    Your message is empty. Say "help" to see what I can do.
    > remind me to stretch
    When? Say it like: remind me in 20 minutes to stretch.
    > please forget that Eve lives in Bergen.
    Nothing is forgotten yet. /forget Eve lives in Bergen shows what that could be.
    > Vergiss die PIN
    Noch ist nichts vergessen. /forget die PIN zeigt, was das sein kann.
    > [Schedule 3, once. Due today at 9:00.]\nRemind me: stretch
    Reminder: stretch
    "#);
}

#[test]
fn results_are_told() {
    let found = "- my sister: Anna\n- my sister's birthday: 3 May\n(2 of 2)";
    let told = [
        told("remember that my sister's birthday is 3 May", "Remembered.", false),
        told("remember that Anna likes tea", "Remembered.", false),
        told("merk dir: Annas Geburtstag ist der 3. Mai", "Remembered.", false),
        told("remember that x is y", "The database is full.\n\n[Say so plainly.]", true),
        told("what do you know about my sister?", found, false),
        told("what do you know about me?", found, false),
        told("what do you know about ghosts?", "Nothing found.", false),
        told("what is my cat called?", "- 2026-05-03: \"remember that my cat is called Miso\"", false),
        told("what is my cat called?", "- my cat: called Miso (2026-05-03)", false),
        told("what did I say about the garden?", "- 2 May: the garden needs water", false),
        told("what did I say about ghosts?", "Nothing found.", false),
        told("what do you know about bins?", "- 2026-05-03: \"bins go out on Tuesday\"\n- 2026-05-03: \"hi\"", false),
        told("was weißt du über Geister?", "Nothing found.", false),
        told("was habe ich über den Garten gesagt?", "- der Garten ist trocken", false),
        told("what time is it?", "It is Monday, 3 May 2027, 12:00.", false),
        told("what time is it?", " ", true),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    I will remember: my sister's birthday – 3 May.
    I will remember: Anna likes tea.
    Ich merke mir: Annas Geburtstag – der 3. Mai.
    That did not work (remember_fact): The database is full.
    This is what I know about "my sister":
    - my sister: Anna
    - my sister's birthday: 3 May
    This is what I know about you:
    - my sister: Anna
    - my sister's birthday: 3 May
    I know nothing about "ghosts" yet.
    You told me on 3 May 2026: my cat is called Miso
    You told me on 3 May 2026: my cat: called Miso
    This is what was said about "garden":
    - 2 May: the garden needs water
    I found nothing that you said about "ghosts".
    This is what I know about "bins":
    - 2026-05-03: "bins go out on Tuesday"
    Ich weiß noch nichts über „Geister“.
    Das wurde über „Garten“ gesagt:
    - der Garten ist trocken
    It is Monday, 3 May 2027, 12:00.
    That did not work (current_time): ?
    "#);
}

#[test]
fn what_it_can_do_is_listed_once_in_a_conversation() {
    let lost = ask("we need eggs").text().into_owned();
    let history = vec![user("we need eggs"), Message::assistant(&lost, Vec::new()), user("and milk")];
    let completion = futures::executor::block_on(Offline.complete(&request(history), &NoSink)).unwrap();
    assert!(lost.contains("- what time is it?"), "{lost}");
    insta::assert_snapshot!(completion.text(), @r#"I keep that, and find it again when you ask. More of it I did not understand. "help" lists what I can do."#);
}

#[test]
fn tools_that_are_not_on_offer_are_not_called() {
    let mut request = request(vec![user("what time is it?")]);
    request.tools = Vec::new().into();
    let completion = futures::executor::block_on(Offline.complete(&request, &NoSink)).unwrap();
    assert!(completion.calls().next().is_none());
    insta::assert_snapshot!(completion.text(), @"I understood that, but I would need the tool `current_time`, which I may not use here.");
}

#[test]
fn tools_that_are_shown_on_need_are_called() {
    let mut request = request(vec![user("what time is it?")]);
    let description = "Further tools. There are: current_time: What the time is.".to_owned();
    request.tools = vec![ToolSchema { name: "use_tool".to_owned(), description, parameters: json!({}) }].into();
    let completion = futures::executor::block_on(Offline.complete(&request, &NoSink)).unwrap();
    let call = completion.calls().next().unwrap();
    assert_eq!(
        (call.name.as_str(), call.arguments.as_str()),
        ("use_tool", r#"{"name":"current_time","arguments":{}}"#)
    );
}

#[test]
fn it_streams_by_words_what_it_answers() {
    struct RecordingSink(Mutex<Vec<String>>);
    impl Sink for RecordingSink {
        fn delta(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }
    let pieces = RecordingSink(Mutex::default());
    let completion = futures::executor::block_on(Offline.complete(&request(vec![user("thanks")]), &pieces)).unwrap();
    assert_eq!(*pieces.0.lock().unwrap(), ["You're ", "welcome."]);
    assert_eq!(completion.text(), "You're welcome.");
    assert_eq!(Offline.label(), LABEL);
}

proptest::proptest! {
    #[test]
    fn nothing_makes_it_panic_or_say_nothing(text in "(remember|what do you know about|merk dir|hob)?.{0,40}") {
        let completion = ask(&text);
        proptest::prop_assert!(!completion.text().is_empty() || completion.calls().count() == 1);
        proptest::prop_assert_eq!(&completion, &ask(&text));
        for call in completion.calls() {
            let value: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
            for argument in value.as_object().unwrap().values() {
                proptest::prop_assert!(!argument.as_str().unwrap().trim().is_empty());
            }
        }
    }
}
