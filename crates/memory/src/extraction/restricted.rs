//! What is never noted by itself: health, money, politics, religion. Pure; rather too much is left out than too little.
//!
//! A person may still tell Hob to remember such a thing.

use crate::rank::words::folded_words;
use hob_core::policy::restricted::restricted;

/// Beginnings of words that speak of these, in lower case and without accents, in English and German.
const BEGINNINGS: &[&str] = &[
    // Health
    "abort",
    "addict",
    "alcoholi",
    "alkoholi",
    "allerg",
    "anemi",
    "anxiety",
    "arthrit",
    "arznei",
    "arthrose",
    "asthma",
    "autis",
    "biops",
    "blutdruck",
    "blutwert",
    "blutzucker",
    "bulimi",
    "cancer",
    "chemo",
    "cholesterin",
    "cholesterol",
    "covid",
    "dement",
    "depress",
    "diabet",
    "diagnos",
    "disabilit",
    "disease",
    "epilep",
    "erkrank",
    "fieber",
    "gesundheit",
    "herzinfarkt",
    "hospital",
    "illness",
    "impf",
    "infarkt",
    "infect",
    "infekt",
    "insulin",
    "klinik",
    "krank",
    "krebs",
    "medicament",
    "medication",
    "medicin",
    "medikament",
    "medizin",
    "menopaus",
    "menstru",
    "migran",
    "migrain",
    "miscarr",
    "neurodermit",
    "operation",
    "pregnan",
    "prescri",
    "psych",
    "rezeptpflicht",
    "schizo",
    "schmerz",
    "schwanger",
    "sick",
    "surger",
    "symptom",
    "tablette",
    "therap",
    "tumor",
    "tumour",
    "vaccin",
    // Money
    "bankrupt",
    "bankverbind",
    "darlehen",
    "debt",
    "earns",
    "einkommen",
    "erbschaft",
    "gehalt",
    "gehalter",
    "geldsorg",
    "hypothek",
    "iban",
    "income",
    "inherit",
    "insolven",
    "kontonummer",
    "kontostand",
    "kredit",
    "loan",
    "mortgag",
    "overdraft",
    "rente",
    "salar",
    "schuld",
    "sozialhilfe",
    "sparkonto",
    "steuer",
    "uberschuld",
    "verdien",
    "vermogen",
    "wealth",
    // Politics
    "ballot",
    "bundestag",
    "conservativ",
    "demonstrat",
    "gewahlt",
    "gewerkschaft",
    "kommunis",
    "konservativ",
    "liberal",
    "parteimitglied",
    "politi",
    "republican",
    "socialis",
    "sozialdemokrat",
    "sozialis",
    "vote",
    "voting",
    "wahl",
    // Religion
    "agnosti",
    "atheis",
    "baptis",
    "beichte",
    "bible",
    "bibel",
    "buddhis",
    "catholic",
    "christianity",
    "christlich",
    "church",
    "confession",
    "evangelisch",
    "gebet",
    "gottesdienst",
    "hindu",
    "islam",
    "jehova",
    "jewish",
    "judais",
    "judisch",
    "katholi",
    "kirch",
    "konfession",
    "konfirmation",
    "koran",
    "minyan",
    "mosque",
    "moschee",
    "moslem",
    "muslim",
    "pray",
    "protestant",
    "quran",
    "ramadan",
    "relig",
    "synagog",
    "taufe",
    "theolog",
    "worship",
];

/// Words that speak of these as they stand, where their beginnings are those of others, too.
const WORDS: &[&str] = &[
    "adhd",
    "adhs",
    "chronic",
    "chronisch",
    "election",
    "elections",
    "elected",
    "greens",
    "hiv",
    "wage",
    "wages",
    "afd",
    "aids",
    "arzt",
    "arztin",
    "cdu",
    "csu",
    "clinic",
    "doctor",
    "faith",
    "fdp",
    "fever",
    "flu",
    "god",
    "gott",
    "glaube",
    "ill",
    "imam",
    "jew",
    "jude",
    "jews",
    "juden",
    "leftist",
    "lohn",
    "miete",
    "monk",
    "pain",
    "pension",
    "pfarrer",
    "pill",
    "pills",
    "pille",
    "priest",
    "rabbi",
    "rent",
    "savings",
    "schulden",
    "spd",
    "tax",
    "taxes",
    "tory",
    "tories",
    "zen",
    "earn",
    "earned",
    "finances",
    "finanzen",
    "nazi",
    "therapy",
    "sparbuch",
    "christ",
    "christin",
    "christians",
];

/// What stands within words that speak of these, as in "Kopfschmerzen".
const INSIDE: &[&str] = &["kirche", "krank", "medikament", "schmerz", "schwanger"];

/// Names of categories that are of this kind.
const CATEGORIES: &[&str] = &[
    "health",
    "medical",
    "money",
    "finance",
    "financial",
    "politic",
    "religi",
    "faith",
    "belief",
    "geld",
    "gesundheit",
    "glaube",
];

/// Whether a category is restricted: what nobody may tell unasked (`policy::restricted`), and whatever sounds like it.
pub(crate) fn is_category(category: &str) -> bool {
    restricted(category).is_some()
        || folded_words(category).any(|word| CATEGORIES.iter().any(|known| word.starts_with(known)))
}

/// Whether a text speaks of health, money, politics or religion.
pub(crate) fn is_restricted(text: &str) -> bool {
    folded_words(text).any(|word| {
        WORDS.contains(&word.as_str())
            || BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
            || INSIDE.iter().any(|part| word.contains(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n8_health_money_politics_and_religion_are_seen() {
        let restricted = [
            "I was diagnosed with diabetes",
            "Ich habe seit gestern Kopfschmerzen",
            "my blood pressure medication",
            "Anna ist schwanger",
            "sie nimmt Tabletten gegen Migräne",
            "I have a therapist",
            "he's in hospital",
            "I earn 4,000 a month",
            "mein Gehalt ist erhöht worden",
            "we still have debts",
            "unser Kredit läuft noch zehn Jahre",
            "I voted for the Greens",
            "ich wähle immer die SPD",
            "she is a socialist",
            "we go to church on Sundays",
            "wir sind katholisch",
            "he prays five times a day",
            "er ist Moslem geworden",
        ];
        for text in restricted {
            assert!(is_restricted(text), "{text}");
        }
    }

    #[test]
    fn n8_what_is_everyday_is_let_through() {
        let everyday = [
            "my sister is called Anna",
            "meine Schwester heißt Anna",
            "the birthday party is on 3 May",
            "I like green tea",
            "wir haben einen Hund, er heißt Rex",
            "the plumber comes on Tuesday",
            "ich arbeite bei der Bahn",
            "Christian lives next door",
            "der Hausschlüssel liegt unter der Matte",
            "we moved to Hamburg",
            "der Wagen steht beim Elektriker",
            "the electrician is patient",
        ];
        for text in everyday {
            assert!(!is_restricted(text), "{text}");
        }
    }

    #[test]
    fn n8_restricted_categories_have_many_names() {
        for category in
            ["health", "Medical history", "personal finances", "politics", "religious views", "Gesundheit", "Einkommen"]
        {
            assert!(is_category(category), "{category}");
        }
        for category in ["person", "preference", "home", "work", "plan"] {
            assert!(!is_category(category), "{category}");
        }
    }
}
