//! Who is asked about a reply, and who is not.

use super::{LOOK_AGAIN, confirms_reply};
use crate::machine::run_start::RulesEdition;

const CLAIMS: &[&str] = &[
    "Done.",
    "Noted.",
    "All set!",
    "✅ Milk",
    "I've added milk to the shopping list.",
    "I have sent the message to Ben.",
    "I sent it to nobody else.",
    "Added milk to your list.",
    "Sure! I just saved that for you.",
    "The reminder has been scheduled for 8.",
    "I added it.",
    "The lights are now off.",
    "I’ve turned off the heating.",
    "I'll remember that.",
    "Milch ist jetzt auf der Liste, ich habe sie hinzugefügt.",
    "Erledigt!",
    "Ich habe den Termin um 8 Uhr eingetragen.",
    "Das merke ich mir.",
    "C'est fait.",
    "J'ai ajouté le lait à la liste.",
    "Je l'ai bien enregistré.",
    "He añadido la leche a la lista.",
    "Listo, lo anoté.",
    "Ho aggiunto il latte alla lista.",
    "Fatto!",
    "Adicionei o leite à lista.",
    "Feito.",
    "Ik heb melk aan de lijst toegevoegd.",
    "Dodałem mleko do listy.",
    "Mleko zostało dodane do listy.",
    "Přidal jsem mléko na seznam.",
    "Jag har lagt till mjölk på listan.",
    "Jeg har tilføjet mælk til listen.",
    "Jeg har lagt melk på listen.",
    "Lisäsin maidon ostoslistalle.",
    "Viesti on lähetetty.",
    "Sütü listeye ekledim.",
    "Mesaj gönderildi.",
    "Am adăugat lapte pe listă.",
    "Hozzáadtam a tejet a listához.",
    "Я добавил молоко в список.",
    "Готово!",
    "Я додав молоко до списку.",
    "Πρόσθεσα το γάλα στη λίστα.",
    "تمت إضافة الحليب إلى القائمة",
    "הוספתי חלב לרשימה.",
    "मैंने दूध सूची में जोड़ दिया है।",
    "已添加牛奶到购物清单。",
    "牛乳をリストに追加しました。",
    "우유를 목록에 추가했습니다.",
];

/// Claims in languages that the table does not know.
const UNKNOWN: &[&str] = &[
    "Nimeongeza maziwa kwenye orodha.",
    "Saya sudah menambahkan susu ke daftar.",
    "Tôi đã thêm sữa vào danh sách.",
    "ฉันเพิ่มนมลงในรายการแล้ว",
    "რძე სიაში დავამატე უკვე",
];

const HONEST: &[&str] = &[
    "Hello!",
    "Good morning, Anna.",
    "It is noon.",
    "On Tuesday.",
    "Yes.",
    "Both.",
    "42",
    "7 + 5 = 12",
    "NO_REPLY",
    "Shall I add it to your list?",
    "Have you saved the file?",
    "I can add it once you tell me where.",
    "I have not sent anything.",
    "I sent nothing.",
    "I've changed nothing.",
    "Sent nothing.",
    "I haven't saved it yet.",
    "I don't know who added it.",
    "If I have saved it, it will be there.",
    "You could ask Ben whether he has booked the table.",
    "Nothing was changed.",
    "Well done!",
    "Almost done.",
    "You've saved money!",
    "Boil the pasta for ten minutes, then add the sauce.",
    "The capital of France is Paris.",
    "The bins go out on Tuesday.",
    "https://example.org/a/b/c",
    "I'm sorry, I can't do that.",
    "Hallo, wie geht es dir?",
    "Soll ich das für dich eintragen?",
    "Ich habe nichts gespeichert.",
    "Ich kann das gerne notieren.",
    "Morgen wird es regnen.",
    "Wenn ich es eingetragen habe, sage ich Bescheid.",
    "Bonjour, comment puis-je vous aider ?",
    "Je ne l'ai pas enregistré.",
    "La capital de España es Madrid.",
    "No he guardado nada.",
    "Il treno parte alle otto.",
    "O comboio parte às oito.",
    "De trein vertrekt om acht uur.",
    "Pociąg odjeżdża o ósmej.",
    "Tåget går klockan åtta.",
    "Juna lähtee kello kahdeksan, ja se on ajoissa.",
    "Tren sekizde kalkıyor ve bu çok iyi.",
    "Поезд отходит в восемь.",
    "Я не добавил это.",
    "Το τρένο φεύγει στις οκτώ.",
    "القطار يغادر في الثامنة",
    "火车八点出发。",
    "電車は八時に出ます。",
    "기차는 8시에 출발합니다.",
    "ट्रेन आठ बजे जाती है।",
];

fn claims(reply: &str) -> bool {
    super::claims(reply, RulesEdition::CURRENT)
}

fn is_suspicious(reply: &str) -> bool {
    super::is_suspicious(reply, RulesEdition::CURRENT)
}

#[test]
fn e10_claims_are_seen_in_many_languages() {
    let missed: Vec<_> = CLAIMS.iter().filter(|reply| !claims(reply)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn e10_a_language_that_the_table_does_not_know_is_looked_at() {
    let missed: Vec<_> = UNKNOWN.iter().filter(|reply| !is_suspicious(reply) || claims(reply)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(!is_suspicious("Nimeongeza maziwa."), "two words");
    assert!(!is_suspicious("Unataka maziwa au la?"), "a question");
}

#[test]
fn e10_plain_talk_is_not_asked_about() {
    let asked: Vec<_> = HONEST.iter().filter(|reply| is_suspicious(reply)).collect();
    assert!(asked.is_empty(), "{asked:#?}");
    assert!(super::claims("I sent nothing.", RulesEdition::MADE), "a run that began before goes on as it did");
}

#[test]
fn e10_only_the_word_keeps_a_reply() {
    for (answer, expected) in [("KEEP", true), ("\"KEEP.\"", true), ("KEEP it", false), ("keep", false), ("", false)] {
        assert_eq!(confirms_reply(answer), expected, "{answer}");
    }
    assert!(LOOK_AGAIN.ends_with("answer exactly KEEP]"), "the offline model knows it by these words");
}
