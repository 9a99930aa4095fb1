//! How people speak of what the one they talk with said before ("what did you recommend").
//!
//! In English, German, French, Spanish, Italian, Portuguese and Dutch. Words are in lower case and without accents.
//!
//! Never: what it was about. Start at [`asks_about_earlier_answer`].

/// A way to say it: one of `opens`, and within so many words after it one of `verbs`; and anywhere one of `with`, if there are any.
struct SpeechPattern {
    opens: &'static [&'static [&'static str]],
    within: usize,
    verbs: &'static [&'static str],
    with: &'static [&'static str],
}

const WAYS: &[SpeechPattern] = &[
    SpeechPattern {
        opens: &[&["you"], &["hob"]],
        within: 3,
        verbs: &[
            "advised",
            "answered",
            "explained",
            "found",
            "gave",
            "given",
            "listed",
            "mentioned",
            "named",
            "promised",
            "proposed",
            "recommended",
            "replied",
            "said",
            "showed",
            "shown",
            "suggested",
            "told",
        ],
        with: &[],
    },
    SpeechPattern {
        opens: &[&["did", "you"], &["did", "hob"]],
        within: 2,
        verbs: &[
            "advise",
            "answer",
            "explain",
            "find",
            "give",
            "list",
            "mention",
            "name",
            "promise",
            "propose",
            "recommend",
            "reply",
            "say",
            "show",
            "suggest",
            "tell",
        ],
        with: &[],
    },
    SpeechPattern {
        opens: &[&["your"]],
        within: 2,
        verbs: &[
            "advice",
            "answer",
            "answers",
            "explanation",
            "proposal",
            "recommendation",
            "recommendations",
            "suggestion",
            "suggestions",
            "tip",
            "tips",
        ],
        with: &["again", "ago", "before", "earlier", "last", "previous", "was", "were", "yesterday"],
    },
    // The participle stands at the end.
    SpeechPattern { opens: &[&["du"]], within: 14, verbs: GERMAN, with: &["hast", "hattest"] },
    SpeechPattern { opens: &[&["hat", "hob"], &["hob", "hat"]], within: 14, verbs: GERMAN, with: &[] },
    SpeechPattern {
        opens: &[&["dein"], &["deine"], &["deinem"], &["deinen"], &["deiner"]],
        within: 2,
        verbs: &[
            "antwort",
            "antworten",
            "empfehlung",
            "empfehlungen",
            "erklarung",
            "rat",
            "ratschlag",
            "tipp",
            "tipps",
            "vorschlag",
            "vorschlage",
        ],
        with: &["gestern", "letzte", "letzten", "letzter", "neulich", "nochmal", "vorhin", "war", "waren"],
    },
    SpeechPattern { opens: &[&["tu"]], within: 5, verbs: FRENCH, with: &["as", "avais"] },
    SpeechPattern { opens: &[&["vous"]], within: 5, verbs: FRENCH, with: &["avez", "aviez"] },
    SpeechPattern {
        opens: &[&["has"], &["habias"]],
        within: 3,
        verbs: &[
            "aconsejado",
            "contado",
            "dado",
            "dicho",
            "encontrado",
            "explicado",
            "mencionado",
            "propuesto",
            "recomendado",
            "respondido",
            "sugerido",
        ],
        with: &[],
    },
    SpeechPattern {
        opens: &[&["hai"], &["avevi"]],
        within: 4,
        verbs: &[
            "consigliato",
            "dato",
            "detto",
            "menzionato",
            "proposto",
            "raccomandato",
            "raccontato",
            "risposto",
            "spiegato",
            "suggerito",
            "trovato",
        ],
        with: &[],
    },
    SpeechPattern {
        opens: &[&["voce"], &["tu"]],
        within: 3,
        verbs: &[
            "aconselhou",
            "contou",
            "deu",
            "disse",
            "encontrou",
            "explicou",
            "mencionou",
            "propos",
            "recomendou",
            "respondeu",
            "sugeriu",
        ],
        with: &[],
    },
    SpeechPattern {
        opens: &[&["je"], &["jij"]],
        within: 14,
        verbs: &[
            "aanbevolen",
            "aangeraden",
            "geadviseerd",
            "geantwoord",
            "gegeven",
            "genoemd",
            "gevonden",
            "gezegd",
            "uitgelegd",
            "verteld",
            "voorgesteld",
        ],
        with: &["had", "heb", "hebt"],
    },
];

const GERMAN: &[&str] = &[
    "abgeraten",
    "angeraten",
    "aufgelistet",
    "aufgezahlt",
    "ausgerechnet",
    "beschrieben",
    "empfohlen",
    "erklart",
    "erwahnt",
    "erzahlt",
    "geantwortet",
    "gefunden",
    "gegeben",
    "gemeint",
    "genannt",
    "geraten",
    "gesagt",
    "gezeigt",
    "herausgefunden",
    "versprochen",
    "vorgeschlagen",
];

const FRENCH: &[&str] = &[
    "conseille",
    "dit",
    "donne",
    "explique",
    "indique",
    "mentionne",
    "propose",
    "raconte",
    "recommande",
    "repondu",
    "suggere",
    "trouve",
];

/// What says it in one word: to the one who is spoken with, of what was.
const WHOLE: &[&str] = &[
    "aconselhaste",
    "aconsejaste",
    "contaste",
    "dijiste",
    "disseste",
    "empfahlst",
    "erklartest",
    "erwahntest",
    "erzahltest",
    "explicaste",
    "meintest",
    "mencionaste",
    "nanntest",
    "propusiste",
    "recomendaste",
    "respondiste",
    "rietest",
    "rietst",
    "sagtest",
    "schlugst",
    "sugeriste",
];

/// Whether a text, word by word, asks for what the one who reads it said before, or speaks of it.
pub fn asks_about_earlier_answer(words: &[String]) -> bool {
    words.iter().any(|word| WHOLE.contains(&word.as_str())) || WAYS.iter().any(|way| way.is_in(words))
}

/// Whether a word only says that something was said: it tells nothing about what.
pub fn is_saying(word: &str) -> bool {
    WHOLE.contains(&word) || WAYS.iter().any(|way| way.verbs.contains(&word))
}

impl SpeechPattern {
    fn is_in(&self, words: &[String]) -> bool {
        let has = |list: &[&str], words: &[String]| words.iter().any(|word| list.contains(&word.as_str()));
        let says = |open: &&[&str], at: usize| {
            let (opening, after) = words[at..].split_at(open.len().min(words.len() - at));
            opening == *open && has(self.verbs, &after[..self.within.min(after.len())])
        };
        let opens = || (0..words.len()).any(|at| self.opens.iter().any(|open| says(open, at)));
        (self.with.is_empty() || has(self.with, words)) && opens()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    }

    #[test]
    fn e5_what_was_said_is_asked_for_in_several_languages() {
        for text in [
            "What did you recommend last week?",
            "what was it that you once told me about the roses",
            "Have you already suggested a plumber?",
            "the soup you gave me in May",
            "did Hob mention a price",
            "What was your advice on the boiler?",
            "Was hast du mir letzte Woche fur den Garten empfohlen?",
            "das Rezept, das du mir gegeben hast",
            "was sagtest du zum Ofen",
            "Was hat Hob zur Heizung gesagt",
            "wie war dein Vorschlag",
            "Qu'est-ce que tu m'as conseille pour le jardin ?",
            "Que m'avez-vous dit hier ?",
            "Que me recomendaste la semana pasada?",
            "que me has dicho del horno",
            "Cosa mi hai consigliato ieri?",
            "O que voce me disse sobre o forno?",
            "Wat heb je me vorige week aangeraden?",
        ] {
            assert!(asks_about_earlier_answer(&words(text)), "{text}");
        }
    }

    #[test]
    fn e5_what_is_asked_for_now_or_of_others_is_something_else() {
        for text in [
            "What do you recommend for the garden?",
            "can you tell me what Anna said",
            "Could you suggest a plumber",
            "I told you so",
            "Tell Anna that I said hello to you",
            "what is your advice on the boiler?",
            "Was empfiehlst du fur den Garten?",
            "Hat Anna dir gesagt, wann sie kommt?",
            "ich habe dir gesagt, dass ich komme",
            "je vous ai dit que non",
            "Anna has a dog",
            "",
        ] {
            assert!(!asks_about_earlier_answer(&words(text)), "{text}");
        }
        assert!(is_saying("recommend") && is_saying("gesagt") && !is_saying("garden"));
    }
}
