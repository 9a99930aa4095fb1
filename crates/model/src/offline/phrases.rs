//! Everything the offline model says.
//!
//! Never: a promise that it cannot keep.
//! Start at `Phrases`.

use crate::message::ToolResult;
use crate::offline::fact::Fact;
use crate::offline::intent::Language;
use crate::offline::recalled::RecalledLine;
use crate::offline::{Recall, Tool};

/// How a person connects a real model.
pub const HOW_TO_CONNECT: &str = "To connect a model, set OPENAI_API_KEY (or ANTHROPIC_API_KEY, GEMINI_API_KEY, \
    OPENROUTER_API_KEY), or fill in [provider] in config.toml, or run Ollama on this machine; then start Hob again.";

const HOW_TO_CONNECT_GERMAN: &str = "Um ein Modell anzuschließen, setze OPENAI_API_KEY (oder ANTHROPIC_API_KEY, \
    GEMINI_API_KEY, OPENROUTER_API_KEY), oder trage es unter [provider] in config.toml ein, oder starte Ollama auf \
    diesem Rechner; starte Hob danach neu.";

/// The texts in one language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phrases(pub(super) Language);

impl Phrases {
    fn pick(self, english: &str, german: &str) -> String {
        match self.0 {
            Language::English => english.to_owned(),
            Language::German => german.to_owned(),
        }
    }

    pub(super) fn greeting(self) -> String {
        self.pick(
            "Hello! I am Hob, without a language model for now. Say \"help\" to see what I can do.",
            "Hallo! Ich bin Hob, im Moment ohne Sprachmodell. Sag „Hilfe“, um zu sehen, was ich kann.",
        )
    }

    pub(super) fn thanks(self) -> String {
        self.pick("You're welcome.", "Gern geschehen.")
    }

    pub(super) fn nothing(self) -> String {
        self.pick("Your message is empty. Say \"help\" to see what I can do.", "Deine Nachricht ist leer.")
    }

    pub(super) fn help(self) -> String {
        let can = self.pick(
            "No language model is connected, so I understand only a few sentences:\n\
             - remember that my sister's birthday is 3 May\n\
             - what do you know about my sister?\n\
             - what did I say about the garden?\n\
             - search for garden\n\
             - remind me in 20 minutes to stretch\n\
             - remind me to take the bins out every Monday at 19:00\n\
             - what time is it?\n\n\
             Any other question I look up in what you told me.",
            "Es ist kein Sprachmodell angeschlossen, daher verstehe ich nur wenige Sätze:\n\
             - merk dir: der Geburtstag meiner Schwester ist der 3. Mai\n\
             - was weißt du über meine Schwester?\n\
             - was habe ich über den Garten gesagt?\n\
             - suche nach Garten\n\
             - remind me in 20 minutes to stretch (Erinnerungen nur auf Englisch)\n\
             - wie spät ist es?\n\n\
             Jede andere Frage schlage ich in dem nach, was du mir gesagt hast.",
        );
        format!("{can}\n\n{}", self.pick(HOW_TO_CONNECT, HOW_TO_CONNECT_GERMAN))
    }

    /// It is lost: that, and what it can do, unless the conversation has the list already.
    pub(super) fn lost(self, sorry: &str, has_list: bool) -> String {
        let help = match has_list {
            true => self.pick("\"help\" lists what I can do.", "„Hilfe“ zählt auf, was ich kann."),
            false => self.help(),
        };
        format!("{sorry} {help}")
    }

    /// Whether an answer lists what it can do, in whichever language.
    pub(super) fn is_list(text: &str) -> bool {
        [Language::English, Language::German].iter().any(|language| text.ends_with(&Self(*language).help()))
    }

    pub(super) fn unknown(self, has_list: bool) -> String {
        let sorry = self.pick(
            "I keep that, and find it again when you ask. More of it I did not understand.",
            "Das behalte ich, und finde es wieder, wenn du fragst. Mehr davon habe ich nicht verstanden.",
        );
        self.lost(&sorry, has_list)
    }

    /// A reminder that says no time.
    pub(super) fn when(self) -> String {
        self.pick(
            "When? Say it like: remind me in 20 minutes to stretch.",
            "Wann? Zum Beispiel: remind me in 20 minutes to stretch.",
        )
    }

    /// Words that are to be forgotten.
    pub(super) fn forget(self, what: &str) -> String {
        self.pick(
            &format!("Nothing is forgotten yet. /forget {what} shows what that could be."),
            &format!("Noch ist nichts vergessen. /forget {what} zeigt, was das sein kann."),
        )
    }

    /// A reminder that is due.
    pub(super) fn reminder(self, what: &str) -> String {
        format!("Reminder: {what}")
    }

    /// What answers a question, as it was told; or that nothing does.
    pub(super) fn told(self, told: &[RecalledLine<'_>], has_list: bool) -> String {
        if told.is_empty() {
            let sorry = self.pick("You have told me nothing about that.", "Darüber hast du mir nichts gesagt.");
            return self.lost(&sorry, has_list);
        }
        let line = |told: &RecalledLine<'_>| {
            let day = told.day.map(|day| day.strftime("%-d %B %Y").to_string());
            let tag = told.day.map(|day| day.strftime("%-d.%-m.%Y").to_string());
            let (on, am) = (day.map(|day| format!(" on {day}")), tag.map(|day| format!(" am {day}")));
            let (on, am, words) = (on.unwrap_or_default(), am.unwrap_or_default(), told.words);
            match told.by {
                Some(by) => self.pick(&format!("{by} said{on}: {words}"), &format!("{by} hat{am} gesagt: {words}")),
                None => self.pick(&format!("You told me{on}: {words}"), &format!("Du hast mir{am} gesagt: {words}")),
            }
        };
        told.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The tool that it takes may not be used here.
    pub(super) fn not_on_offer(self, tool: Tool) -> String {
        let name = tool.name();
        self.pick(
            &format!("I understood that, but I would need the tool `{name}`, which I may not use here."),
            &format!(
                "Das habe ich verstanden, aber dafür bräuchte ich das Werkzeug `{name}`, das ich hier nicht habe."
            ),
        )
    }

    pub(super) fn remembered(self, fact: Option<&Fact>) -> String {
        match fact {
            Some(fact) if fact.is_whole_sentence() => {
                let value = &fact.value;
                self.pick(&format!("I will remember: {value}."), &format!("Ich merke mir: {value}."))
            }
            Some(Fact { key, value, .. }) => {
                self.pick(&format!("I will remember: {key} – {value}."), &format!("Ich merke mir: {key} – {value}."))
            }
            None => self.pick("I will remember that.", "Ich merke es mir."),
        }
    }

    pub(super) fn recalled(self, recall: Option<&Recall>, lines: &[&str], said: bool) -> String {
        let about = match recall.map(|recall| recall.query.as_str()) {
            Some("my") => "you".to_owned(),
            Some("mein") => "dich".to_owned(),
            Some(query) => self.pick(&format!("\"{query}\""), &format!("„{query}“")),
            None => self.pick("that", "das"),
        };
        match (lines.is_empty(), said) {
            (true, true) => self.pick(
                &format!("I found nothing that you said about {about}."),
                &format!("Ich habe nichts gefunden, was du über {about} gesagt hast."),
            ),
            (true, false) => {
                self.pick(&format!("I know nothing about {about} yet."), &format!("Ich weiß noch nichts über {about}."))
            }
            (false, true) => {
                let head = self
                    .pick(&format!("This is what was said about {about}:"), &format!("Das wurde über {about} gesagt:"));
                format!("{head}\n{}", lines.join("\n"))
            }
            (false, false) => {
                let head =
                    self.pick(&format!("This is what I know about {about}:"), &format!("Das weiß ich über {about}:"));
                format!("{head}\n{}", lines.join("\n"))
            }
        }
    }

    /// A tool that failed: told as that.
    pub(super) fn failed(self, result: &ToolResult) -> String {
        // What stands in brackets is said to a model.
        let why = result.text.split("\n\n[").next().unwrap_or_default().trim();
        let (name, why) = (&result.name, if why.is_empty() { "?" } else { why });
        self.pick(&format!("That did not work ({name}): {why}"), &format!("Das hat nicht geklappt ({name}): {why}"))
    }
}
